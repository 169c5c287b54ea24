"""`PostbackReceiver`: its responses, the handlers that it calls, and their order."""

import logging
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway_async.errors import InvalidRequestError, PostbackRefusedError
from gateway_async.models.transactions import Transaction
from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox
from gateway_async.postbacks.handlers import Handlers

from .postback_requests import (
    CARD,
    HEADERS,
    PASSWORD,
    USER,
    MemoryInbox,
    basic,
    chunks,
    form,
    receiver,
    recording_receiver,
    sale,
)

pytestmark = pytest.mark.anyio


async def post(to: PostbackReceiver, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Return the response of a receiver to a POST."""
    response = await to.receive("POST", HEADERS if headers is None else headers, chunks(body))
    return response.status_code, response.body.decode()


# --- what is answered


async def test_a_postback_reaches_its_handler_and_is_acknowledged() -> None:
    """Typed, and 204 with nothing in it."""
    shop, received = recording_receiver("transaction")
    response = await shop.receive("POST", HEADERS, chunks(form()[:10], b"", form()[10:]))
    assert (response.status_code, response.body, dict(response.headers)) == (204, b"", {})
    assert [type(each.record) for each in received] == [Transaction]


async def test_what_no_handler_wants_is_acknowledged() -> None:
    """There is nothing to do, and no use in sending it again."""
    assert await post(receiver(), form()) == (204, "")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS", "DELETE", "post"])
async def test_only_post_is_taken(method: str) -> None:
    """The response names it; the body is not looked at."""
    response = await receiver().receive(method, HEADERS, unread())
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def unread() -> AsyncIterator[bytes]:
    """A body that must not be read."""
    pytest.fail("the body was read")
    yield b""


@pytest.mark.parametrize("headers", [{}, {"Authorization": basic(password="wrong")}])
async def test_a_stranger_is_asked_for_credentials(headers: dict[str, str]) -> None:
    """Credentials are checked before the body is read, so that strangers cannot fill the memory."""
    response = await receiver().receive("POST", headers, unread())
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Basic realm="postbacks", charset="UTF-8"'
    assert PASSWORD not in response.body.decode()


@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
async def test_header_names_are_taken_in_any_case(name: str) -> None:
    """As servers hand them out."""
    assert await post(receiver(), form(), {name: basic()}) == (204, "")


async def test_without_credentials_of_its_own_a_receiver_asks_for_none() -> None:
    """For a gateway that sends none, if the receiver says that it allows that."""
    assert await post(PostbackReceiver(allow_unauthenticated=True), form(), {}) == (204, "")


@pytest.mark.parametrize("options", [{}, {"username": None, "password": None}])
async def test_no_credentials_are_a_mistake(options: dict[str, Any]) -> None:
    """Such as two unset environment variables: anyone who finds the address could send postbacks."""
    with pytest.raises(InvalidRequestError, match="allow_unauthenticated=True"):
        PostbackReceiver(**options)


@pytest.mark.parametrize("options", [{"username": 7, "password": PASSWORD}, {"username": USER, "password": 7}])
async def test_credentials_that_are_not_text_are_a_mistake(options: dict[str, Any]) -> None:
    """Reject a number, such as a password that a settings file has without quotes."""
    with pytest.raises(InvalidRequestError, match="username, password: both must be given"):
        PostbackReceiver(**options)


async def test_credentials_are_checked_or_not() -> None:
    """Whether postbacks without credentials are accepted is never in doubt."""
    with pytest.raises(InvalidRequestError, match="allow_unauthenticated: not possible with"):
        receiver(allow_unauthenticated=True)


async def test_every_wrong_argument_is_named() -> None:
    """In one error, as for the client."""
    with pytest.raises(InvalidRequestError) as caught:
        PostbackReceiver("us:er", PASSWORD, max_bytes=0, inbox="inbox.db", allowed_networks=["nowhere"])  # type: ignore[arg-type]
    assert [*caught.value.fields] == ["max_bytes", "allowed_networks", "username", "inbox"]


async def test_a_refusal_says_in_plain_words_what_is_wrong() -> None:
    """Short, by the name of the field, and without what came."""
    response = await receiver().receive("POST", HEADERS, chunks(form({"id": {"card": CARD}})))
    assert (response.status_code, response.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert response.body == b"data.id: not a text\n"


async def test_a_refusal_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As a warning if it may be a payment's news, and not what anybody can cause who finds the address."""
    caplog.set_level(logging.INFO, "gateway_async")
    for body, headers in ((b"type=UPDATE", HEADERS), (form(), {})):
        await post(receiver(), body, headers)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "postback rejected with 400: data: must be a record, as a JSON text"),
        ("INFO", "postback rejected with 401: authorization: not the Basic credentials of this receiver"),
    ]


@pytest.mark.parametrize(
    "name", ["max_bytes", "max_attempts", "concurrency", "handler_seconds", "body_seconds", "max_per_second"]
)
@pytest.mark.parametrize("number", [0, -1, float("nan")])
async def test_numbers_that_make_no_sense(name: str, number: float) -> None:
    """With none at once, for one, nothing would ever be handled."""
    with pytest.raises(InvalidRequestError, match=f"{name}: must be a .*number.* above 0"):
        receiver(**{name: number})


async def test_the_name_of_a_file_is_no_inbox() -> None:
    """The error shows what to write instead."""
    with pytest.raises(InvalidRequestError, match="SqliteInbox"):
        receiver(inbox="inbox.db")


# --- who may send


async def test_during_a_rotation_both_passwords_are_accepted() -> None:
    """The config of the gateway can change at any time in between."""
    shop = PostbackReceiver(USER, ["new secret", PASSWORD])
    for password, status in (("new secret", 204), (PASSWORD, 204), ("wrong", 401)):
        assert (await post(shop, form(), {"Authorization": basic(password=password)}))[0] == status


async def test_a_peer_outside_the_networks_is_refused_unread() -> None:
    """403, even with the right credentials."""
    shop = receiver(allowed_networks=["203.0.113.0/24"])
    for peer in (None, "192.0.2.1"):
        assert (await shop.receive("POST", HEADERS, unread(), peer)).status_code == 403
    assert (await shop.receive("POST", HEADERS, chunks(form()), "203.0.113.9")).status_code == 204


async def test_too_many_postbacks_are_refused_unread() -> None:
    """429, with the seconds to wait."""
    shop = receiver(max_per_second=2)
    assert [await post(shop, form()) for _ in range(2)] == [(204, "")] * 2
    response = await shop.receive("POST", HEADERS, unread())
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")


async def test_strangers_do_not_use_up_the_rate() -> None:
    """Only requests with the right credentials count."""
    shop = receiver(max_per_second=1)
    for _ in range(50):
        assert (await post(shop, form(), {}))[0] == 401
    assert (await post(shop, form()))[0] == 204


# --- size


@pytest.mark.parametrize("length", ["1001", "9" * 5000, "0001001", " 1001 "])
async def test_a_body_that_says_it_is_too_large_is_not_read(length: str) -> None:
    """413, and not a byte of it."""
    response = await receiver(max_bytes=1000).receive("POST", {**HEADERS, "Content-Length": length}, unread())
    assert response.status_code == 413
    assert b"1000 bytes" in response.body


@pytest.mark.parametrize("length", [None, "10", "-5", "many", "", "²"])
async def test_a_body_that_is_too_large_is_not_read_to_its_end(length: str | None) -> None:
    """No more is read than the limit and the chunk that exceeds it."""
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(300)
            yield b"x" * 300

    headers = HEADERS if length is None else {**HEADERS, "Content-Length": length}
    assert (await receiver(max_bytes=1000).receive("POST", headers, endless())).status_code == 413
    assert sum(read) == 1200


async def test_a_body_of_just_the_limit_is_taken() -> None:
    """One byte more is not."""
    body = form()
    assert (await post(receiver(max_bytes=len(body)), body))[0] == 204
    assert (await post(receiver(max_bytes=len(body) - 1), body))[0] == 413


# --- handlers


async def test_all_handlers_that_it_fits_are_told_in_their_order() -> None:
    """By resource, by type, by both, by neither."""
    shop, received = receiver(), list[str]()
    wishes: list[tuple[str, tuple[str, ...]]] = [
        ("all", ()),
        ("sales", ("transaction",)),
        ("changed sales", ("transaction", "UPDATE")),
        ("new sales", ("transaction", "CREATE")),
        ("contacts", ("contact",)),
        ("coupons", ("coupon",)),
    ]
    for name, wish in wishes:
        shop.on(*wish)(partial(note, received, name))
    shop.on(type="DELETE")(partial(note, received, "deletions"))
    await post(shop, form())
    await post(shop, form({"id": "1"}, resource="coupon", type="DELETE"))
    assert received == ["all", "sales", "changed sales", "all", "coupons", "deletions"]


async def note(received: list[str], name: str, _: Postback[Any]) -> None:
    """A handler."""
    received.append(name)


async def test_an_unknown_resource_reaches_the_handler_of_everything() -> None:
    """With the record as it came."""
    shop, received = recording_receiver()
    await post(shop, form({"id": "7", "color": "red"}, resource="coupon", type="EXPIRE"))
    assert [(each.resource, each.type, each.record, each.raw) for each in received] == [
        ("coupon", "EXPIRE", None, {"id": "7", "color": "red"})
    ]


async def test_registering_returns_the_function_unchanged() -> None:
    """The decorated function can be registered twice, called and tested."""

    async def handle(postback: Postback[Any]) -> None:
        """A handler."""

    shop = receiver()
    assert shop.on("contact")(shop.on("transaction", "CREATE")(handle)) is handle


class Callable:
    """An object that is an async function, too."""

    def __init__(self) -> None:
        self.received = 0

    async def __call__(self, _: Postback[Any]) -> None:
        """A handler."""
        self.received += 1


async def test_a_handler_may_be_a_method_or_an_object() -> None:
    """Async functions, methods and objects are accepted."""
    shop, handler = receiver(), Callable()
    shop.on()(handler)
    shop.on()(handler.__call__)
    await post(shop, form())
    assert handler.received == 2


async def test_a_blocking_function_is_refused_when_it_is_registered() -> None:
    """A blocking handler would stop the whole server."""

    def handle(postback: Postback[Any]) -> None:
        """Not async."""

    with pytest.raises(InvalidRequestError, match=r"async function; it may await anyio\.to_thread\.run_sync"):
        receiver().on()(handle)  # type: ignore[type-var]


async def test_a_handler_without_parentheses_is_refused() -> None:
    """`@receiver.on` would take the function for a resource, and never call it."""
    with pytest.raises(InvalidRequestError, match="parentheses"):
        receiver().on(nothing)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.mark.parametrize("words", [("transactions",), ("Transaction",), ("contact", "update"), ("coupon", "CREATE")])
async def test_a_word_that_is_not_known_is_doubted(words: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """Unknown words are logged, because a typing error would silently drop postbacks."""
    receiver().on(*words)(nothing)
    (record,) = caplog.records
    assert (record.levelno, "unknown value (known: " in record.getMessage()) == (logging.WARNING, True)


async def test_known_words_are_not_doubted(caplog: pytest.LogCaptureFixture) -> None:
    """Nor is a handler of everything."""
    shop = receiver()
    for words in ((), ("transaction",), ("contact", "DELETE"), (None, "UPDATE")):
        shop.on(*words)(nothing)
    assert caplog.records == []


async def nothing(postback: Postback[Any]) -> None:
    """Do nothing."""


async def test_of_an_older_state_only_those_are_told_who_ask_for_it() -> None:
    """The worker of an inbox says that a newer one was handled."""
    handlers, received = Handlers(), list[str]()
    handlers.add("transaction", None, include_stale=False, handler=partial(note, received, "newest"))
    handlers.add("transaction", None, include_stale=True, handler=partial(note, received, "all"))
    handlers.add("contact", None, include_stale=True, handler=partial(note, received, "contacts"))
    await handlers.handle(receiver().parse(HEADERS, form()), superseded=True)
    assert received == ["all"]


# --- handlers that fail


async def fail(error: BaseException, _: Postback[Any]) -> None:
    """A handler."""
    raise error


async def test_a_failure_is_logged_without_card_numbers(caplog: pytest.LogCaptureFixture) -> None:
    """With its traceback, and by the postback's own names."""
    shop = receiver()
    shop.on()(partial(fail, ValueError(f"no order for {CARD}")))
    await post(shop, form())
    (logged,) = caplog.records
    assert (logged.levelno, logged.name) == (logging.ERROR, "gateway_async")
    text = caplog.text
    assert "ValueError: no order for ************1111" in text
    assert "11e936d6fc3bd9f0a5bfb0e0" in text
    assert "test_receiver.py" in text
    assert (CARD in text, PASSWORD in text, "12.50" in text) == (False, False, False)


async def test_handlers_after_one_that_failed_are_told_all_the_same() -> None:
    """The response is 500, so that it is sent again, and shows nothing of the failure."""
    shop, received = receiver(), list[str]()
    shop.on()(partial(fail, ValueError("no such order: 4711")))
    shop.on()(partial(note, received, "after"))
    assert await post(shop, form()) == (500, "a handler failed\n")
    assert received == ["after"]


async def test_failures_of_several_handlers_are_all_told() -> None:
    """In a group; a single one comes as it is."""
    shop = receiver()
    postback = shop.parse(HEADERS, form())
    shop.on()(partial(fail, ValueError("one")))
    with pytest.raises(ValueError, match="one"):
        await shop.handle(postback)
    shop.on()(partial(fail, KeyError("two")))
    with pytest.raises(ExceptionGroup) as caught:
        await shop.handle(postback)
    assert [type(error) for error in caught.value.exceptions] == [ValueError, KeyError]


async def test_a_cancelled_handler_is_not_a_failure() -> None:
    """The server is shutting down: there is no response, and the gateway sends the postback again."""
    shop, begun = receiver(), anyio.Event()

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        begun.set()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, shop, form())
            await begun.wait()
            scope.cancel()
    assert scope.cancelled_caught


# --- order


async def test_postbacks_of_one_record_are_handled_one_after_the_other() -> None:
    """In the order in which they came; those of another record do not wait for them."""
    shop, seen = receiver(), list[str]()
    gates = {"a1": anyio.Event(), "a2": anyio.Event(), "b1": anyio.Event()}

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        name = postback.raw["description"]
        seen.append(f"{name} begins")
        await gates[name].wait()
        seen.append(f"{name} ends")

    async with anyio.create_task_group() as tasks:
        for name in ("a1", "a2", "b1"):
            tasks.start_soon(post, shop, form(sale(id=name[0], description=name)))
            await anyio.wait_all_tasks_blocked()
        assert seen == ["a1 begins", "b1 begins"]
        gates["b1"].set()
        gates["a2"].set()
        await anyio.wait_all_tasks_blocked()
        gates["a1"].set()
    assert seen == ["a1 begins", "b1 begins", "b1 ends", "a1 ends", "a2 begins", "a2 ends"]


async def test_what_names_no_record_waits_for_nothing() -> None:
    """Two changes of who knows what are handled at once."""
    shop, begun = receiver(), list[str]()

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        begun.append(postback.raw["name"])
        while len(begun) < 2:
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for name in "ab":
                tasks.start_soon(post, shop, form({"name": name}, resource="coupon"))
    assert sorted(begun) == ["a", "b"]


async def test_unused_locks_are_removed() -> None:
    """Memory does not grow with the number of records; after failures, too."""
    shop = receiver()
    shop.on()(partial(fail, ValueError("one")))
    for number in range(5):
        await post(shop, form(sale(id=str(number))))
    assert shop._locks._locks == {}


# --- parse


async def test_parse_checks_what_receive_checks() -> None:
    """For servers that have no adapter: credentials, size and body; by the same error."""
    shop = receiver(max_bytes=2000)
    assert shop.parse({"AUTHORIZATION": basic()}, form()).record_id == sale()["id"]
    for status, headers, body in (
        (401, {}, form()),
        (413, HEADERS, b"x" * 2001),
        (400, HEADERS, b"x"),
    ):
        with pytest.raises(PostbackRefusedError) as caught:
            shop.parse(headers, body)
        assert caught.value.status_code == status


@pytest.mark.parametrize(
    "body", [form().decode(), form(), bytearray(form()), memoryview(form()), memoryview(form() + b"&").cast("b")[:-1]]
)
def test_parse_takes_text_and_buffers(body: Any) -> None:
    """Frameworks give the body as text, as bytes or as a view of a buffer."""
    assert receiver().parse(HEADERS, body).record_id == sale()["id"]


def test_parse_takes_text_in_any_language() -> None:
    """Text is not decoded again, whatever charset the headers name, and half an emoji is replaced."""
    latin = HEADERS | {"Content-Type": "application/json; charset=ISO-8859-1"}
    body = '{"type":"UPDATE","resource":"contact","data":{"id":"c1","first_name":"Zoë","last_name":"\ud83d"}}'
    record = receiver().parse(latin, body).record
    assert (record.first_name, set(record.last_name)) == ("Zoë", {"\ufffd"})


@pytest.mark.parametrize("wrong", [None, 5, {"type": "UPDATE"}, [form()], object()])
@pytest.mark.parametrize("name", ["headers", "body"])
def test_parse_rejects_arguments_of_another_type(name: str, wrong: Any) -> None:
    """By their name, as a request that is not a postback."""
    arguments: dict[str, Any] = {"headers": HEADERS, "body": form(), name: wrong}
    if name == "headers" and isinstance(wrong, dict):
        arguments["headers"] = {b"type": b"UPDATE"}
    with pytest.raises(PostbackRefusedError, match=rf"{name}: must be") as caught:
        receiver().parse(**arguments)
    assert caught.value.status_code == 400


async def test_parse_checks_the_peer_and_the_rate() -> None:
    """The caller passes the peer's address; without it no peer is in a network."""
    shop = receiver(allowed_networks=["203.0.113.0/24"], max_per_second=1)
    assert shop.parse(HEADERS, form(), "203.0.113.9").record_id == sale()["id"]
    for status, peer, retry_after in ((403, None, None), (403, "192.0.2.1", None), (429, "203.0.113.9", 1)):
        with pytest.raises(PostbackRefusedError) as caught:
            shop.parse(HEADERS, form(), peer)
        assert (caught.value.status_code, caught.value.retry_after) == (status, retry_after)


# --- with an inbox


async def test_with_an_inbox_a_postback_is_acknowledged_when_it_is_stored() -> None:
    """No handler is called meanwhile; a repeated delivery is acknowledged, too."""
    inbox = MemoryInbox()
    shop, received = recording_receiver(inbox=inbox)
    assert [await post(shop, form(number_of_attempts=str(number))) for number in (1, 2)] == [(204, "")] * 2
    assert [each.record_id for each in inbox.kept.values()] == [sale()["id"]]
    assert received == []


async def test_an_inbox_that_cannot_be_used_has_it_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    """The response is 503; the reason is logged and not shown to the caller."""
    assert await post(receiver(inbox=MemoryInbox(broken=True)), form()) == (503, "the inbox cannot be used\n")
    assert "the disk is full" in caplog.text


async def test_what_is_refused_is_not_stored() -> None:
    """Nor is anything else than a postback."""
    inbox = MemoryInbox()
    await post(receiver(inbox=inbox), b"x")
    await post(receiver(inbox=inbox), form(), {})
    assert inbox.kept == {}


async def test_the_inbox_is_closed_at_the_end() -> None:
    """After the work on it has stopped."""
    inbox = MemoryInbox()
    async with receiver(inbox=inbox):
        assert inbox.closed == 0
    assert inbox.closed == 1


async def test_a_receiver_without_an_inbox_may_be_entered_all_the_same() -> None:
    """So that a program need not ask which it has."""
    async with receiver() as shop:
        assert await post(shop, form()) == (204, "")


async def test_a_receiver_is_entered_once_at_a_time() -> None:
    """A second worker would close the inbox under the first; one after the other is fine."""
    shop = receiver()
    async with shop:
        with pytest.raises(RuntimeError, match="already running"):
            await shop.__aenter__()
    async with shop:
        pass


async def test_a_receiver_can_be_entered_again(tmp_path: Path) -> None:
    """As when tests start an application twice: its inbox takes postbacks again, and they are handled."""
    shop, received = recording_receiver(inbox=SqliteInbox(tmp_path / "inbox.db"))
    for name in ("a", "b"):
        async with shop:
            assert await post(shop, form(sale(id=name))) == (204, "")
            with anyio.fail_after(30):
                while name not in {postback.record_id for postback in received}:
                    await anyio.sleep(0.01)
    assert await post(shop, form(sale(id="c"))) == (503, "the inbox cannot be used\n")


async def test_without_an_inbox_there_is_nothing_to_work_on() -> None:
    """The caller gets an error instead of a silent return."""
    with pytest.raises(RuntimeError, match="no inbox"):
        await receiver().work()


# --- nothing secret is shown


async def test_a_receiver_does_not_show_its_password() -> None:
    """Nor does what it is made of, nor the mistake of giving half of it."""
    shop = receiver()
    assert PASSWORD not in f"{shop!r} {vars(shop)} {vars(shop._credentials)}"
    with pytest.raises(InvalidRequestError, match="both") as caught:
        PostbackReceiver(None, PASSWORD)
    assert PASSWORD not in str(caught.value)


# --- time limits, and receivers without handlers


async def never() -> AsyncIterator[bytes]:
    """A body that begins and does not end."""
    yield form()[:10]
    await anyio.sleep_forever()


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """Callers that dawdle do not pile up."""
    with anyio.fail_after(30):
        response = await receiver(body_seconds=0.01).receive("POST", HEADERS, never())
    assert (response.status_code, response.body) == (408, b"the body: not received within 0.01 seconds\n")


async def test_a_handler_that_hangs_does_not_keep_its_record_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """Also without an inbox: it has failed, a repeated delivery is handled again, and no postback waits behind it."""
    shop, received = receiver(handler_seconds=0.01), list[str]()

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        received.append(postback.record_id)
        if len(received) == 1:
            await anyio.sleep_forever()

    with anyio.fail_after(30):
        assert [(await post(shop, form()))[0] for _ in range(2)] == [500, 204]
    assert "handler failed" in caplog.text


async def test_without_a_handler_nothing_counts_as_handled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A process that only stores leaves the handling to another; one whose handler comes later does it then."""
    shop, received = receiver(inbox=SqliteInbox(tmp_path / "inbox.db")), list[str]()
    async with shop:
        assert (await post(shop, form()))[0] == 204
        await shop.work(until_empty=True)
        assert "the receiver has no handlers" in caplog.text

        @shop.on()
        async def handle(postback: Postback[Any]) -> None:
            received.append(postback.record_id)

        await shop.work(until_empty=True)
        assert received == [sale()["id"]]
