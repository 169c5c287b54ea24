"""`PostbackReceiver`: its responses, the handlers that it calls, and their order."""

import logging
import re
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
from tests.support.waiting import PATIENCE

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


async def test_a_typed_postback_reaches_its_handler_and_is_acknowledged() -> None:
    shop, received = recording_receiver("transaction")
    response = await shop.receive("POST", HEADERS, chunks(form()[:10], b"", form()[10:]))
    assert (response.status_code, response.body, dict(response.headers)) == (204, b"", {})
    assert [type(each.record) for each in received] == [Transaction]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS", "DELETE", "post"])
async def test_only_post_is_taken_whatever_the_body(method: str) -> None:
    response = await receiver().receive(method, HEADERS, unread())
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def unread() -> AsyncIterator[bytes]:
    """A body that must not be read."""
    pytest.fail("the body was read")
    yield b""


async def test_credentials() -> None:
    """Header names are accepted in any case; credentials are checked before the body is read, against full memory."""
    for name in ("authorization", "Authorization", "AUTHORIZATION"):
        assert await post(receiver(), form(), {name: basic()}) == (204, "")
    for headers in ({}, {"Authorization": basic(password="wrong")}):
        response = await receiver().receive("POST", headers, unread())
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == 'Basic realm="postbacks", charset="UTF-8"'
        assert PASSWORD not in response.body.decode()
    assert await post(PostbackReceiver(allow_unauthenticated=True), form(), {}) == (204, "")


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "allow_unauthenticated=True"),
    ({"username": None, "password": None}, "allow_unauthenticated=True"),  # two unset environment variables
    ({"username": 7, "password": PASSWORD}, "username, password: both must be given"),
    ({"username": USER, "password": 7}, "username, password: both must be given"),  # in a settings file without quotes
    (
        {"username": USER, "password": PASSWORD, "allow_unauthenticated": True},
        "allow_unauthenticated: not possible with",
    ),
    ({"username": USER, "password": PASSWORD, "inbox": "inbox.db"}, "SqliteInbox"),
    *(
        ({"username": USER, "password": PASSWORD, name: number}, f"{name}: must be a .*number.* above 0")
        for name in ("max_bytes", "max_attempts", "concurrency", "handler_seconds", "body_seconds", "max_per_second")
        for number in (0, -1, float("nan"))
    ),
]


async def test_wrong_arguments() -> None:
    """Anyone could send postbacks without credentials, and with no handler at once nothing would be handled."""
    for options, problem in MISTAKES:
        with pytest.raises(InvalidRequestError) as refused:
            PostbackReceiver(**options)
        assert re.search(problem, str(refused.value)), options
    with pytest.raises(InvalidRequestError) as caught:
        PostbackReceiver("us:er", PASSWORD, max_bytes=0, inbox="inbox.db", allowed_networks=["nowhere"])  # type: ignore[arg-type]
    assert [*caught.value.fields] == ["max_bytes", "allowed_networks", "username", "inbox"]


async def test_refusals(caplog: pytest.LogCaptureFixture) -> None:
    """A refusal is short and without what came. It is a warning where it may be a payment's news."""
    caplog.set_level(logging.INFO, "gateway_async")
    response = await receiver().receive("POST", HEADERS, chunks(form({"id": {"card": CARD}})))
    assert (response.status_code, response.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert response.body == b"data.id: not a text\n"
    for body, headers in ((b"type=UPDATE", HEADERS), (form(), {})):
        await post(receiver(), body, headers)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "postback rejected with 400: data.id: not a text"),
        ("WARNING", "postback rejected with 400: data: must be a record, as a JSON text"),
        ("INFO", "postback rejected with 401: authorization: not the Basic credentials of this receiver"),
    ]


# --- who may send


async def test_both_passwords_are_accepted_during_a_rotation() -> None:
    shop = PostbackReceiver(USER, ["new secret", PASSWORD])
    for password, status in (("new secret", 204), (PASSWORD, 204), ("wrong", 401)):
        assert (await post(shop, form(), {"Authorization": basic(password=password)}))[0] == status


async def test_a_peer_outside_the_networks_is_403_despite_credentials() -> None:
    shop = receiver(allowed_networks=["203.0.113.0/24"])
    for peer in (None, "192.0.2.1"):
        assert (await shop.receive("POST", HEADERS, unread(), peer)).status_code == 403
    assert (await shop.receive("POST", HEADERS, chunks(form()), "203.0.113.9")).status_code == 204


async def test_rate() -> None:
    """Requests without credentials do not use up the rate."""
    shop = receiver(max_per_second=2)
    for _ in range(50):
        assert (await post(shop, form(), {}))[0] == 401
    assert [await post(shop, form()) for _ in range(2)] == [(204, "")] * 2
    response = await shop.receive("POST", HEADERS, unread())
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")


# --- size


@pytest.mark.parametrize("length", ["1001", "9" * 5000, "0001001", " 1001 "])
async def test_a_body_announced_as_too_large_is_not_read(length: str) -> None:
    response = await receiver(max_bytes=1000).receive("POST", {**HEADERS, "Content-Length": length}, unread())
    assert response.status_code == 413
    assert b"1000 bytes" in response.body


@pytest.mark.parametrize("length", [None, "10", "-5", "many", "", "²"])
async def test_large_body(length: str | None) -> None:
    """No more is read of a body than the limit and the chunk that exceeds it."""
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(300)
            yield b"x" * 300

    headers = HEADERS if length is None else {**HEADERS, "Content-Length": length}
    assert (await receiver(max_bytes=1000).receive("POST", headers, endless())).status_code == 413
    assert sum(read) == 1200


async def test_a_body_of_just_the_limit_is_accepted() -> None:
    body = form()
    assert (await post(receiver(max_bytes=len(body)), body))[0] == 204
    assert (await post(receiver(max_bytes=len(body) - 1), body))[0] == 413


# --- handlers


async def test_handlers() -> None:
    """A handler is called by resource, by type, by both, by neither, in the order of registration."""
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


async def test_kinds_of_handlers() -> None:
    """Registering returns it unchanged."""

    class Handler:
        received = 0

        async def __call__(self, _: Postback[Any]) -> None:
            self.received += 1

    shop, handler = receiver(), Handler()
    assert shop.on("contact")(shop.on("transaction", "CREATE")(nothing)) is nothing
    shop.on()(handler)
    shop.on()(handler.__call__)
    await post(shop, form())
    assert handler.received == 2


async def test_mistaken_handlers() -> None:
    """A blocking handler would stop the whole server; without parentheses, the function is taken for a resource."""

    def handle(postback: Postback[Any]) -> None:
        """Not async."""

    with pytest.raises(InvalidRequestError, match=r"async function; it may await anyio\.to_thread\.run_sync"):
        receiver().on()(handle)  # type: ignore[type-var]
    with pytest.raises(InvalidRequestError, match="parentheses"):
        receiver().on(nothing)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def test_unknown_words(caplog: pytest.LogCaptureFixture) -> None:
    """Unknown words in a registration are logged, because a typing error would silently drop postbacks."""
    for names in ((), ("transaction",), ("contact", "DELETE"), (None, "UPDATE")):
        receiver().on(*names)(nothing)
    assert caplog.records == []
    unknown = [("transactions",), ("Transaction",), ("contact", "update"), ("coupon", "CREATE")]
    for words in unknown:
        receiver().on(*words)(nothing)
        record = caplog.records.pop()
        assert (record.levelno, "unknown value (known: " in record.getMessage()) == (logging.WARNING, True)


async def nothing(postback: Postback[Any]) -> None:
    """Do nothing."""


async def test_only_handlers_that_ask_for_it_get_an_older_state() -> None:
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


async def test_logged_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A failure is logged with its traceback and the postback's own names, and without card numbers."""
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


async def test_failures_of_several_handlers_come_in_a_group() -> None:
    shop = receiver()
    postback = shop.parse(HEADERS, form())
    shop.on()(partial(fail, ValueError("one")))
    with pytest.raises(ValueError, match="one"):
        await shop.handle(postback)
    shop.on()(partial(fail, KeyError("two")))
    with pytest.raises(ExceptionGroup) as caught:
        await shop.handle(postback)
    assert [type(error) for error in caught.value.exceptions] == [ValueError, KeyError]


async def test_cancelled_handler() -> None:
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


async def test_order() -> None:
    """Postbacks of one record are handled in the order in which they came; other records do not wait for them."""
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


async def test_postbacks_of_no_record_do_not_wait() -> None:
    shop, begun = receiver(), list[str]()

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        begun.append(postback.raw["name"])
        while len(begun) < 2:
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for name in "ab":
                tasks.start_soon(post, shop, form({"name": name}, resource="coupon"))
    assert sorted(begun) == ["a", "b"]


async def test_failing_handler() -> None:
    """The response is 500, so that it is sent again, and shows nothing of the failure. No lock of a record is left."""
    shop, received = receiver(), list[str]()
    shop.on()(partial(fail, ValueError("no such order: 4711")))
    shop.on()(partial(note, received, "after"))
    for number in range(5):
        assert await post(shop, form(sale(id=str(number)))) == (500, "a handler failed\n")
    assert (received, shop._locks._locks) == (["after"] * 5, {})


# --- parse


async def test_parse() -> None:
    """For servers that have no adapter, `parse` checks credentials, size and body, by the same errors."""
    shop = receiver(max_bytes=2000)
    assert shop.parse({"AUTHORIZATION": basic()}, form()).record_id == sale()["id"]
    for status, headers, body in ((401, {}, form()), (413, HEADERS, b"x" * 2001), (400, HEADERS, b"x")):
        with pytest.raises(PostbackRefusedError) as caught:
            shop.parse(headers, body)
        assert caught.value.status_code == status


@pytest.mark.parametrize(
    "body", [form().decode(), form(), bytearray(form()), memoryview(form()), memoryview(form() + b"&").cast("b")[:-1]]
)
def test_parse_takes_text_bytes_and_buffers(body: Any) -> None:
    assert receiver().parse(HEADERS, body).record_id == sale()["id"]


def test_text_encoding() -> None:
    """Text is not decoded again, whatever charset the headers name, and half an emoji is replaced."""
    latin = HEADERS | {"Content-Type": "application/json; charset=ISO-8859-1"}
    body = '{"type":"UPDATE","resource":"contact","data":{"id":"c1","first_name":"Zoë","last_name":"\ud83d"}}'
    record = receiver().parse(latin, body).record
    assert (record.first_name, set(record.last_name)) == ("Zoë", {"\ufffd"})


@pytest.mark.parametrize("wrong", [None, 5, {"type": "UPDATE"}, [form()], object()])
@pytest.mark.parametrize("name", ["headers", "body"])
def test_parse_arguments(name: str, wrong: Any) -> None:
    """An argument of another type is refused by its name, as a request that is not a postback."""
    arguments: dict[str, Any] = {"headers": HEADERS, "body": form(), name: wrong}
    if name == "headers" and isinstance(wrong, dict):
        arguments["headers"] = {b"type": b"UPDATE"}
    with pytest.raises(PostbackRefusedError, match=rf"{name}: must be") as caught:
        receiver().parse(**arguments)
    assert caught.value.status_code == 400


async def test_parse_limits() -> None:
    """The caller passes the peer's address; without it no peer is in a network."""
    shop = receiver(allowed_networks=["203.0.113.0/24"], max_per_second=1)
    assert shop.parse(HEADERS, form(), "203.0.113.9").record_id == sale()["id"]
    for status, peer, retry_after in ((403, None, None), (403, "192.0.2.1", None), (429, "203.0.113.9", 1)):
        with pytest.raises(PostbackRefusedError) as caught:
            shop.parse(HEADERS, form(), peer)
        assert (caught.value.status_code, caught.value.retry_after) == (status, retry_after)


# --- with an inbox


async def test_inbox() -> None:
    """An accepted postback is acknowledged before any handler is called; a repeated delivery is acknowledged, too."""
    inbox = MemoryInbox()
    shop, received = recording_receiver(inbox=inbox)
    for body, headers in ((b"x", HEADERS), (form(), {})):
        await post(shop, body, headers)
    assert inbox.kept == {}
    assert [await post(shop, form(number_of_attempts=str(number))) for number in (1, 2)] == [(204, "")] * 2
    assert [each.record_id for each in inbox.kept.values()] == [sale()["id"]]
    assert received == []


async def test_failing_inbox(caplog: pytest.LogCaptureFixture) -> None:
    """The response is 503; the reason is logged and not shown to the caller."""
    assert await post(receiver(inbox=MemoryInbox(broken=True)), form()) == (503, "the inbox cannot be used\n")
    assert "the disk is full" in caplog.text


async def test_double_entry() -> None:
    """A second worker would close the inbox under the first; one after the other is fine, and without an inbox."""
    inbox = MemoryInbox()
    shop = receiver(inbox=inbox)
    async with shop:
        with pytest.raises(RuntimeError, match="already running"):
            await shop.__aenter__()
        assert inbox.closed == 0
    assert inbox.closed == 1
    async with receiver() as without_inbox:
        assert await post(without_inbox, form()) == (204, "")


async def test_second_entry(tmp_path: Path) -> None:
    """As when tests start an application twice: the inbox takes postbacks again, and they are handled."""
    shop, received = recording_receiver(inbox=SqliteInbox(tmp_path / "inbox.db"))
    for name in ("a", "b"):
        async with shop:
            assert await post(shop, form(sale(id=name))) == (204, "")
            with anyio.fail_after(PATIENCE):
                while name not in {postback.record_id for postback in received}:
                    await anyio.sleep(0.01)
    assert await post(shop, form(sale(id="c"))) == (503, "the inbox cannot be used\n")


async def test_work_without_an_inbox_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no inbox"):
        await receiver().work()


# --- nothing secret is shown


async def test_password() -> None:
    """A receiver shows no password, nor does what it is made of, nor the mistake of giving half of it."""
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


async def test_slow_body() -> None:
    """A body that does not come is not waited for: callers that dawdle do not pile up."""
    with anyio.fail_after(PATIENCE):
        response = await receiver(body_seconds=0.01).receive("POST", HEADERS, never())
    assert (response.status_code, response.body) == (408, b"the body: not received within 0.01 seconds\n")


async def test_hanging_handler(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that hangs has failed, also without an inbox: a repeated delivery is handled, none waits behind it."""
    shop, received = receiver(handler_seconds=0.01), list[str]()

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        received.append(postback.record_id)
        if len(received) == 1:
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        assert [(await post(shop, form()))[0] for _ in range(2)] == [500, 204]
    assert "handler failed" in caplog.text


async def test_later_handler(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
