"""`AsyncGateway`: its arguments, its credentials on the wire, its events, its end."""

import asyncio
import inspect
import logging
import ssl
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, create_autospec

import anyio
import httpx
import pytest
import respx
import trio.testing
import trustme

from gateway_async import (
    AsyncGateway,
    AuthenticationError,
    CardVaultCreate,
    ClientClosedError,
    Contact,
    ContactCreate,
    DeadlineExceededError,
    InsecureConnectionWarning,
    InvalidRequestError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    SqliteLedger,
    TransactionCreate,
    UserApiKey,
)
from gateway_async.client import Options
from gateway_async.observe import AttemptEnded, AttemptFailed, AttemptStarted, CallEnded, CallStarted, Event
from gateway_async.resources import RESOURCES
from gateway_async.sandbox import Sandbox
from tests.support.scripted_transport import LOST, NEVER_LEFT, NOT_THERE, Script, echo, error_of, record, sell, silent

pytestmark = pytest.mark.anyio

KEY = "s3cret-api-key"


def client(base_url: str = "https://gateway.test", **options: Any) -> AsyncGateway:
    """A client with a key."""
    return AsyncGateway(base_url, **{"developer_id": "dev", "credentials": UserApiKey("user", KEY), **options})


ON_BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@ON_BOTH_LOOPS
async def test_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Log no key in the query, and no card number in a filter, an id and a body; httpx logs nothing."""
    caplog.set_level(logging.DEBUG)
    card = "4111111111111111"
    script = Script(get=[NOT_THERE], post=[echo("accountvault")])
    async with script.gateway(credentials=UserApiKey("user", KEY, send_in="query")) as gateway:
        await error_of(gateway.contacts.get(card), NotFoundError)
        await error_of(gateway.account_vaults.list(extra_filters={"account_number": card}), NotFoundError)
        await gateway.account_vaults.create(CardVaultCreate(account_number=card, exp_date="0930"))
    assert script.asked[0].url.path.endswith(card)
    assert script.asked[1].url.params["account_number"] == card
    assert "HTTP Request" not in caplog.text
    assert card not in caplog.text
    assert KEY not in caplog.text


@ON_BOTH_LOOPS
async def test_event_order() -> None:
    """Emit both attempts between the start and the end; with the call's name, attempt and verdict."""
    script = Script(get=[NEVER_LEFT, record("contact", id="1")])
    await script.run(lambda g: g.contacts.get("1"))
    started, first, first_ended, failed, second, second_ended, ended = script.events
    assert started == CallStarted(call="GET /v2/contacts/1")
    for number, event in enumerate((first, second), 1):
        assert event == AttemptStarted(call="GET /v2/contacts/1", attempt=number, gateway="https://gateway.test")
    assert isinstance(first_ended, AttemptEnded)
    assert (first_ended.attempt, first_ended.status_code, type(first_ended.error)) == (1, None, NotSentError)
    assert isinstance(second_ended, AttemptEnded)
    assert (second_ended.attempt, second_ended.status_code, second_ended.error) == (2, 200, None)
    assert isinstance(failed, AttemptFailed)
    assert (failed.attempt, failed.next_step, type(failed.error)) == (1, "again", NotSentError)
    assert isinstance(ended, CallEnded)
    assert (ended.attempts, ended.status_code, ended.error) == (2, 200, None)
    assert {event.call_id for event in script.events} == {started.call_id}
    assert started.call_id
    assert ended.template == "GET /v2/contacts/{id}"


@ON_BOTH_LOOPS
async def test_events_of_two_calls_have_different_ids() -> None:
    script = Script(get=[NOT_THERE])
    async with script.gateway() as gateway:
        for _ in range(2):
            await error_of(gateway.contacts.get("1"), NotFoundError)
    ends = script.events_of(CallEnded)
    assert len({event.call_id for event in ends}) == 2
    assert [event.status_code for event in ends] == [404, 404]
    assert [event.status_code for event in script.events_of(AttemptFailed)] == [404, 404]


async def test_event_seconds() -> None:
    """Each attempt has its own seconds; those of a failure and of the end count from the start of the call."""

    async def lose(_: httpx.Request) -> Exception:
        await anyio.sleep(2)
        return NEVER_LEFT

    async def respond(_: httpx.Request) -> httpx.Response:
        await anyio.sleep(3)
        return record("contact", id="1")

    script = Script(get=[lose, respond])
    async with script.gateway() as gateway:
        await anyio.sleep(100)
        await gateway.contacts.get("1")
    assert [event.seconds for event in script.events_of(AttemptEnded)] == [2, 3]
    assert [event.seconds for event in script.events_of(AttemptFailed)] == [2]
    assert [5 <= event.seconds < 6 for event in script.events_of(CallEnded)] == [True]


@ON_BOTH_LOOPS
async def test_an_observer_that_raises_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Event) -> None:
        raise ZeroDivisionError

    script = Script(get=[record("contact", id="1")])
    assert (await script.run(lambda g: g.contacts.get("1"), observers=[broken])).id == "1"
    assert "an observer failed" in caplog.text


@ON_BOTH_LOOPS
async def test_use_after_close_is_a_clear_error_and_a_second_close_is_harmless() -> None:
    script = Script(get=[record("contact")])
    gateway = script.gateway()
    await gateway.aclose()
    await gateway.aclose()
    await error_of(gateway.contacts.get("1"), ClientClosedError, match="the client is closed")
    await error_of(gateway.contacts.list(), NotSentError)
    assert script.asked == []


@ON_BOTH_LOOPS
async def test_each_wrong_argument_has_its_line() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        AsyncGateway("ftp://x", developer_id="", credentials="key", timeout=0, max_attempts=0)  # type: ignore[arg-type]
    named = [problem.split(":")[0] for problem in caught.value.problems]
    assert sorted(named) == ["base_url", "credentials", "developer_id", "max_attempts", "timeout"]


@ON_BOTH_LOOPS
async def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six variables make a client; two may be missing, and the address may end in a slash."""
    names = ("BASE_URL", "DEVELOPER_ID", "USER_ID", "USER_API_KEY", "LOCATION_ID", "ALLOW_HTTP")
    for name in names:
        monkeypatch.delenv(f"GATEWAY_{name}", raising=False)
    with pytest.raises(InvalidRequestError) as caught:
        AsyncGateway.from_env()
    assert len(caught.value.problems) == 4
    for name, value in zip(names, ("https://gateway.test/", "dev", "user", KEY, "loc", ""), strict=True):
        monkeypatch.setenv(f"GATEWAY_{name}", value)
    script = Script(post=[echo("contact")])
    async with AsyncGateway.from_env(transport=script) as gateway:
        contact = await gateway.contacts.create(ContactCreate(last_name="Smith"))
    assert contact.location_id == "loc"
    assert str(script.asked[0].url) == "https://gateway.test/v2/contacts"
    assert script.asked[0].headers["user-api-key"] == KEY
    assert KEY not in repr(gateway)


@pytest.fixture
def environment_over_http(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set the variables of a gateway on another host that speaks plain HTTP."""
    values = {"BASE_URL": "http://gateway.test", "DEVELOPER_ID": "dev", "USER_ID": "user", "USER_API_KEY": KEY}
    for name, value in values.items():
        monkeypatch.setenv(f"GATEWAY_{name}", value)
    return monkeypatch


@ON_BOTH_LOOPS
async def test_allowed_http(environment_over_http: pytest.MonkeyPatch) -> None:
    """`GATEWAY_ALLOW_HTTP=1` permits what is refused without it; an option of the call wins over the variable."""
    environment_over_http.setenv("GATEWAY_ALLOW_HTTP", "1")
    async with AsyncGateway.from_env() as gateway:
        assert gateway.base_url == "http://gateway.test"
    with pytest.raises(InvalidRequestError, match="plain http"):
        AsyncGateway.from_env(allow_http=False)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        *((value, "base_url: plain http") for value in ("", "0")),
        *((value, "GATEWAY_ALLOW_HTTP: invalid value (expected 1 or 0)") for value in ("yes", "2", "true", " 1")),
    ],
)
def test_refused_http(environment_over_http: pytest.MonkeyPatch, value: str, problem: str) -> None:
    """Plain HTTP needs `GATEWAY_ALLOW_HTTP=1`; an empty variable counts as unset, any other value is an error."""
    environment_over_http.setenv("GATEWAY_ALLOW_HTTP", value)
    with pytest.raises(InvalidRequestError) as caught:
        AsyncGateway.from_env()
    (found,) = caught.value.problems
    assert found.startswith(problem)


@ON_BOTH_LOOPS
async def test_floats() -> None:
    """`check_limits=False` leaves lengths to the gateway, but never a float as money."""
    script = Script(post=[echo("transaction")])
    async with script.gateway(check_limits=False) as gateway:
        new = TransactionCreate(action="sale", account_vault_id="v", transaction_amount=1.1)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError, match="transaction_amount: must be a Decimal"):
            await gateway.transactions.create(new)
        await gateway.transactions.create(TransactionCreate(action="sale", description="x" * 999))
    assert len(script.asked) == 1


@ON_BOTH_LOOPS
@respx.mock
async def test_respx_replaces_the_network_of_a_client_with_its_own_connections() -> None:
    route = respx.get("https://gateway.test/v2/contacts/1").mock(
        return_value=httpx.Response(200, json={"contact": {"id": "1"}})
    )
    async with client() as gateway:
        assert (await gateway.contacts.get("1")).id == "1"
    assert route.called


@ON_BOTH_LOOPS
async def test_silent_gateway() -> None:
    """On both event loops, by the real clock: the deadline's error, not another."""
    await Script(get=[silent]).fail(lambda g: g.contacts.get("1"), DeadlineExceededError, timeout=0.1)


def test_the_options_are_the_arguments_of_the_constructor() -> None:
    arguments = set(inspect.signature(AsyncGateway).parameters) - {"base_url"}
    assert set(Options.__annotations__) == arguments


def test_foreign_loop() -> None:
    """Another one has another clock too: it must not find a sale to be certainly not made."""
    script = Script(post=[LOST], get=[httpx.Response(401)])
    gateway = script.gateway()
    doubts: list[OutcomeUnknownError] = []

    async def lose() -> None:
        doubts.append(await error_of(sell(gateway), OutcomeUnknownError))

    async def resolve() -> None:
        await error_of(doubts[0].resolve(), OutcomeUnknownError, match="belongs to another event loop")

    trio.run(lose)
    script.responses["get"] = [NOT_THERE]
    trio.run(resolve, clock=trio.testing.MockClock(autojump_threshold=0))


def test_second_loop() -> None:
    """A client that is used in a second event loop says so at once, as its connections would hang there."""
    script = Script(get=[record("contact", id="1")])
    gateway = script.gateway()

    async def ask() -> None:
        await gateway.contacts.get("1")

    asyncio.run(ask())
    with pytest.raises(NotSentError, match="belongs to another event loop"):
        asyncio.run(ask())


@pytest.mark.parametrize("options", [{}, {"instance": True}], ids=["of the class", "of a client"])
def test_mock(options: dict[str, Any]) -> None:
    """`create_autospec` gives each resource its methods, to be awaited if they are coroutines."""
    client = create_autospec(AsyncGateway, **options)
    for name in RESOURCES:
        mocked = getattr(client, name)
        methods = dict(inspect.getmembers(getattr(AsyncGateway, name), inspect.isfunction))
        assert {"create", "get"} & methods.keys()
        for method, function in methods.items():
            if not method.startswith("_"):
                is_coroutine = inspect.iscoroutinefunction(function)
                assert isinstance(getattr(mocked, method), AsyncMock) is is_coroutine
        with pytest.raises(AttributeError):
            mocked.no_such_method  # noqa: B018


@ON_BOTH_LOOPS
@pytest.mark.parametrize("options", [{}, {"instance": True}], ids=["of the class", "of a client"])
async def test_mocked_calls(options: dict[str, Any]) -> None:
    """A result may be set; arguments that the method does not have are an error."""
    gateway = create_autospec(AsyncGateway, **options)
    gateway.contacts.get.return_value = Contact(id="c1")
    assert (await gateway.contacts.get("c1")).id == "c1"
    gateway.contacts.get.assert_awaited_once_with("c1")
    with pytest.raises(TypeError):
        await gateway.contacts.get("c1", no_such_argument=1)


def test_class_attributes() -> None:
    """Python's own tools find them: a class has the resource's class, and a client has one object of it."""
    gateway = client()
    for name, resource in RESOURCES.items():
        assert getattr(AsyncGateway, name) is resource
        assert type(getattr(gateway, name)) is resource
        assert getattr(gateway, name) is getattr(gateway, name)
    assert RESOURCES.keys() <= {*dir(AsyncGateway)} & {*dir(gateway)}
    with pytest.raises(AttributeError, match="'AsyncGateway' object has no attribute 'contact'"):
        gateway.contact  # type: ignore[attr-defined]  # noqa: B018


def test_closing(tmp_path: Path) -> None:
    """Closing the client in another event loop fails with a sentence; after its own one, it is harmless."""
    with Sandbox() as sandbox:
        gateway = sandbox.gateway(ledger=SqliteLedger(tmp_path / "ledger.db"))

        async def ask() -> None:
            await gateway.contacts.list().count()

        async def ask_and_close() -> None:
            await ask()
            await gateway.aclose()

        unused = sandbox.gateway()
        with asyncio.Runner() as own:
            own.run(ask())
            for _ in range(2):
                with pytest.raises(NotSentError, match="belongs to another event loop") as failed:
                    asyncio.run(gateway.aclose())
                assert (failed.value.__cause__, failed.value.__context__) == (None, None)
            own.run(ask_and_close())
        asyncio.run(gateway.aclose())
        asyncio.run(unused.aclose())


@pytest.mark.parametrize(
    "address",
    [*(f"https://x.test{rest}" for rest in ("/v2", "/v2/", "?", "#", ":65536")), "http://256.256.256.256", "x", 7],
)
def test_addresses(address: Any) -> None:
    """`/v2` is part of every path, and what httpx cannot parse would fail at the first payment."""
    with pytest.raises(InvalidRequestError, match="base_url: "):
        AsyncGateway(address, developer_id="d", credentials=UserApiKey("u", "k"))


OTHER_HOSTS = ["api.example.test", "localhost.example.test", "localhost.", "10.0.0.1:8080", "127.example.test"]
OTHER_HOSTS += ["0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "2130706433"]  # noqa: S104  refused


@pytest.mark.parametrize("address", [f"http://{host}" for host in OTHER_HOSTS])
def test_plain_http_to_another_host_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        client(address)
    (problem,) = refused.value.problems
    assert problem.startswith("base_url: plain http")
    assert "allow_http=True" in problem
    assert client(address, allow_http=True).base_url.startswith("http://")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "127.1.2.3", "localhost:8080", "LOCALHOST", "[::1]:80", "[::ffff:127.0.0.1]"]
)
def test_plain_http_to_this_machine_is_taken(host: str) -> None:
    assert client(f"http://{host}").base_url


@pytest.mark.parametrize(
    ("verify", "said"),
    [
        ("/nope.pem", "verify: /nope.pem cannot be read (No such file or directory)"),
        ("false", "verify: false cannot be read (No such file or directory)"),
        (Path("none"), "verify: none cannot be read (No such file or directory)"),
        ("text.pem", "verify: text.pem has no certificate that can be read"),
        ("cut.pem", "verify: cut.pem has no certificate that can be read"),
        (Path(), "verify: . has no certificate (expected a folder that openssl rehash has prepared)"),
        ("a\0b", "verify: must be True, False, the path of a CA bundle or of a folder of them, or an ssl.SSLContext"),
        *(
            (wrong, "verify: must be True, False, the path")
            for wrong in ("", None, 0, 1, b"x", ssl.PROTOCOL_TLS_CLIENT)
        ),
    ],
)
def test_unreadable_certificates(verify: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client names the path when it is built, before a payment fails because of it."""
    monkeypatch.chdir(tmp_path)
    Path("text.pem").write_text("text")
    Path("cut.pem").write_text("-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n")
    with pytest.raises(InvalidRequestError) as refused:
        client(verify=verify)
    (problem,) = refused.value.problems
    assert problem.startswith(said)


def test_certificates(tmp_path: Path) -> None:
    """A bundle and a prepared folder, as texts and as paths; nothing is read if a transport is given."""
    bundle, folder = tmp_path / "ca.pem", tmp_path / "folder"
    trustme.CA().cert_pem.write_to_path(str(bundle))
    folder.mkdir()
    (folder / "5ed36f99.0").write_bytes(bundle.read_bytes())
    for verify in (bundle, str(bundle), folder, str(folder), ssl.create_default_context(), True):
        client(verify=verify)
    client(verify="/nope.pem", transport=httpx.MockTransport(lambda _: httpx.Response(200)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"location_id": ""}, "location_id: must be an id"),
        ({"location_id": 5}, "location_id: must be an id"),
        ({"check_limits": None}, "check_limits: must be True or False"),
        ({"check_limits": "false"}, "check_limits: must be True or False"),
        ({"allow_http": "false"}, "allow_http: must be True or False"),
        ({"block_unresolved_terminals": 1}, "block_unresolved_terminals: must be True or False"),
        ({"ledger": "payments.db"}, "ledger: must be a ledger, such as SqliteLedger('payments.db')"),
        ({"ledger": SqliteLedger}, "ledger: must be a ledger"),
        ({"terminal_lease": "redis://127.0.0.1"}, "terminal_lease: must be a lease, such as RedisTerminalLease(…)"),
        ({"transport": httpx.AsyncClient()}, "transport: must be an httpx.AsyncBaseTransport"),
        ({"transport": httpx.AsyncHTTPTransport}, "transport: must be an httpx.AsyncBaseTransport"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_option_types(wrong: dict[str, Any], said: str) -> None:
    """A text where an object belongs is noticed when the client is built; "false" allows nothing."""
    with pytest.raises(InvalidRequestError) as refused:
        client(**wrong)
    (problem,) = refused.value.problems
    assert problem.startswith(said)


def test_no_verification_warns() -> None:
    """A client that trusts any server says so once, where it is made."""
    with pytest.warns(InsecureConnectionWarning, match=r"verify=False.*api\.example\.test") as warned:
        AsyncGateway("https://api.example.test", developer_id="d", credentials=UserApiKey("u", KEY), verify=False)
    assert [warning.filename for warning in warned] == [__file__]


@ON_BOTH_LOOPS
async def test_reason_phrase(caplog: pytest.LogCaptureFixture) -> None:
    """The words behind a status are the server's, so no log shows them."""
    response = httpx.Response(200, json={"contact": {"id": "1"}}, extensions={"reason_phrase": KEY.encode()})
    with caplog.at_level(logging.DEBUG):
        async with client(transport=httpx.MockTransport(lambda _: response)) as gateway:
            await gateway.contacts.get("1")
    assert "GET /v2/contacts/1 ended" in caplog.text
    assert KEY not in caplog.text


def test_store_location() -> None:
    """Where a client stores is its address, in one form for all spellings, and its location."""
    clients = [client("https://X.test:443/", location_id="here"), client("https://x.test")]
    where = [(each.base_url, each.location_id) for each in clients]
    assert where == [("https://x.test", "here"), ("https://x.test", None)]


@ON_BOTH_LOOPS
async def test_a_key_that_the_gateway_repeats_is_masked() -> None:
    script = Script(get=[httpx.Response(401, json={"message": f"key {KEY} is not valid"})])
    error = await script.fail(lambda g: g.contacts.get("1"), AuthenticationError, credentials=UserApiKey("user", KEY))
    assert error.message == "key ************ is not valid"


@ON_BOTH_LOOPS
async def test_generated_ids() -> None:
    """A long run of them could pass for a card number, and be masked where the id should be shown."""
    async with Script(post=[echo("transaction", status_id=101)]).gateway() as gateway:
        made = {(await sell(gateway)).transaction_api_id for _ in range(20)}
    assert len(made) == 20
    assert all(name and name.isalpha() and len(name) == 32 for name in made)


@ON_BOTH_LOOPS
async def test_an_async_observer_for_a_block_is_refused() -> None:
    async def watch(event: Event) -> None: ...

    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError, match="observer"):
            gateway.observing(watch)
