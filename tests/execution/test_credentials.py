"""Credentials on the wire: one login for many calls, a 401 in mid-run, and what is never sent."""

import hashlib
import hmac
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import (
    AccessToken,
    AsyncGateway,
    AuthenticationError,
    BearerToken,
    GatewayError,
    HashKey,
    NotFoundError,
    NotSentError,
    PasswordLogin,
    UserApiKey,
)
from tests.support.scripted_transport import (
    APPROVED,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    Script,
    ScriptedResponse,
    echo,
    error_of,
    record,
    refusal,
    sell,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio

LOGIN = PasswordLogin("ada", "s3cret-word", "example")
SPENT = refusal(401, "the token has expired")


class Office(Script):
    """A gateway that issues tokens, takes only the live ones, and then answers by its script."""

    def __init__(
        self, *, login: Callable[[], httpx.Response] | None = None, slow: float = 0, **responses: list[ScriptedResponse]
    ) -> None:
        default: dict[str, list[ScriptedResponse]] = {
            "get": [record("contact")],
            "post": [echo("transaction", status_id=101)],
        }
        super().__init__(**(default | responses))
        self.slow = slow
        self.logins: list[httpx.Request] = []
        self.revoked: list[str] = []
        self.live: set[str] = set()
        self.expires_before: set[str] = set()
        self.rejected: list[str] = []
        self.login = login or self.issue

    def issue(self) -> httpx.Response:
        token = f"token-{len(self.logins)}-of-ada"
        self.live.add(token)
        return httpx.Response(201, json={"token": {"id": "1", "token": token, "expire": 15}})

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if (request.method, path) == ("POST", "/v2/token"):
            self.logins.append(request)
            await anyio.sleep(self.slow)
            return self.login()
        if request.method == "DELETE" and path.startswith("/v2/token/"):
            await anyio.sleep(self.slow)
            self.revoked.append(path.removeprefix("/v2/token/"))
            return httpx.Response(204)
        if request.headers.get("access-token") not in self.live or request.method in self.expires_before:
            self.rejected.append(request.method)
            return SPENT
        return await super().handle_async_request(request)

    def gateway(self, **options: Any) -> AsyncGateway:
        return super().gateway(**{"credentials": LOGIN, **options})


async def at_once(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The results of calls that run side by side, in the order in which they ended."""
    results: list[Any] = []

    async def run(call: Callable[[], Awaitable[Any]]) -> None:
        try:
            results.append(await call())
        except GatewayError as error:
            results.append(error)

    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(run, call)
    return results


async def test_odd_bytes() -> None:
    """A byte order mark and half an emoji: one login, and one sale whose outcome is known."""
    token = b'\xef\xbb\xbf{"token": {"id": "1", "token": "token-of-ada", "expire": 15, "note": "\\ud83d"}}'
    sold = b'\xef\xbb\xbf{"transaction": {"id": "a", "transaction_api_id": "mine", "description": "\\ud83d"}}'
    responses: list[ScriptedResponse] = [httpx.Response(201, content=each) for each in (token, sold)]
    script = Script(post=responses, delete=[httpx.Response(204)])
    sale = await script.run(sell_named, credentials=LOGIN)
    assert (sale.id, sale.description) == ("a", "\ufffd")
    assert [request.url.path for request in script.asked] == ["/v2/token", "/v2/transactions", "/v2/token/token-of-ada"]


async def test_idle_client() -> None:
    """The first call logs in, not the client's making; nothing is revoked that was never fetched."""
    office = Office()
    async with office.gateway():
        pass
    assert (office.logins, office.revoked) == ([], [])


async def test_first_call() -> None:
    """With the developer id alone; the call itself carries the token. Closing revokes it, also if cancelled."""
    office = Office()
    with anyio.CancelScope() as scope:
        async with office.gateway() as gateway:
            await gateway.contacts.get("found")
            assert office.revoked == []
            scope.cancel()
    (login,) = office.logins
    assert json.loads(login.content) == {"username": "ada", "password": "s3cret-word", "domain": "example"}
    assert (login.headers["developer-id"], "access-token" in login.headers) == ("dev", False)
    assert office.asked[0].headers["access-token"] == "token-1-of-ada"
    assert office.revoked == ["token-1-of-ada"]


async def test_query_token() -> None:
    """The token may be in the query, with the developer id beside it, and neither in a header."""
    script = Script(
        post=[httpx.Response(201, json={"token": {"token": "token-of-ada"}})],
        get=[record("contact")],
        delete=[httpx.Response(204)],
    )
    await script.run(
        lambda g: g.contacts.get("found"), credentials=PasswordLogin("ada", "s3cret-word", "example", send_in="query")
    )
    _, got, revoked = script.asked
    for request in (got, revoked):
        assert dict(request.url.params) == {"developer-id": "dev", "access-token": "token-of-ada"}
        assert not {"developer-id", "access-token"} & set(request.headers)


async def test_one_login() -> None:
    """A hundred calls begin before there is a token; one of them fetches it."""
    office = Office(slow=1.0)
    found = await office.run(lambda gateway: at_once(*[lambda: gateway.contacts.get("found")] * 100))
    assert [contact.id for contact in found] == ["found"] * 100
    assert len(office.logins) == 1


async def test_cancelled_login() -> None:
    """The task that logs in may be cancelled; the next one in line logs in for the others."""
    office = Office(slow=1.0)
    async with office.gateway() as gateway:

        async def give_up() -> None:
            with anyio.move_on_after(0.5):
                await gateway.contacts.get("found")

        async def wait_in_line() -> Any:
            await anyio.sleep(0.1)
            return await gateway.contacts.get("found")

        found = await at_once(give_up, wait_in_line)
    assert [contact.id for contact in found if contact] == ["found"]
    assert len(office.logins) == 2


async def test_idle_token() -> None:
    """Every successful call gives it fifteen minutes more; after them the client does not even try it."""
    office = Office()
    async with office.gateway() as gateway:
        for _ in range(4):
            await gateway.contacts.get("found")
            await anyio.sleep(14 * 60)
        assert len(office.logins) == 1
        await anyio.sleep(30)  # half a minute before its end
        await gateway.contacts.get("found")
    assert len(office.logins) == 2
    assert office.revoked == ["token-2-of-ada"]


async def test_refused_token() -> None:
    """Fifty calls meet the 401 in mid-run: one login, a lookup for each, and every call is carried out once."""
    office = Office(get=[record("contact"), NOT_THERE])
    async with office.gateway() as gateway:
        await gateway.contacts.get("found")
        office.live.clear()
        results = await at_once(*[lambda: sell(gateway)] * 50)
    assert all(result.approved for result in results)
    assert len(office.logins) == 2
    ids = [body["transaction"]["transaction_api_id"] for body in office.bodies("POST")]
    assert len(ids) == len(set(ids)) == 50


async def test_second_401() -> None:
    """A new token that is refused too ends the call: it is not tried for ever."""
    office = Office(login=lambda: httpx.Response(201, json={"token": {"token": "never-live"}}))
    await office.fail(sell, AuthenticationError, match="the token has expired")
    assert (office.rejected, len(office.logins)) == (["POST", "GET", "GET"], 3)  # the lookup has a new token of its own


async def test_renewed_token() -> None:
    """The attempt with a new token comes besides `max_attempts`: a read that fails after it is still repeated."""
    office = Office(get=[record("contact"), httpx.Response(503), record("contact")])
    async with office.gateway(max_attempts=2) as gateway:
        await gateway.contacts.get("found")
        office.live.clear()
        assert (await gateway.contacts.get("found")).id == "found"
    assert (office.rejected, len(office.logins)) == (["GET"], 2)


async def test_lost_write() -> None:
    """The token ends between the lost response and its lookup: one login more, and the payment is found."""

    def lose(_: httpx.Request) -> Exception:
        office.live.clear()
        return LOST

    office = Office(post=[lose], get=[APPROVED])
    assert (await office.run(sell)).id == "found"
    assert (office.methods, len(office.logins)) == (["POST", "GET"], 2)


@pytest.mark.parametrize("status", [400, 401, 403, 422, 500])
async def test_refused_login(status: int) -> None:
    """Raise the gateway's `AuthenticationError` at once, and send no payment."""
    office = Office(login=lambda: httpx.Response(status, json={"message": "invalid password"}))
    error = await office.fail(sell, AuthenticationError, match="invalid password")
    assert (error.status_code, error.call) == (status, "POST /v2/token")
    assert (len(office.logins), office.asked) == (1, [])


async def test_shared_refusal() -> None:
    """A hundred wrong passwords would lock the account: one is sent. A call that comes later tries again."""
    office = Office(login=lambda: httpx.Response(401, json={"message": "invalid password"}), slow=1.0)
    async with office.gateway() as gateway:
        results = await at_once(*[lambda: gateway.contacts.get("found")] * 100)
        assert {(type(each), str(each)) for each in results} == {(AuthenticationError, str(results[0]))}
        assert len({id(each) for each in results}) == 100
        assert len(office.logins) == 1
        office.login = office.issue
        assert (await gateway.contacts.get("found")).id == "found"


@pytest.mark.parametrize("token", ["tök", "token ", "to\nken"])
async def test_a_token_that_cannot_be_sent_leaves_the_payment_unsent(token: str) -> None:
    office = Office(login=lambda: httpx.Response(201, json={"token": {"token": token}}))
    await office.fail(sell, NotSentError, match=r"no login: .*\$\.token\.token: cannot be sent in a header")


async def test_masked_key() -> None:
    """A proxy's error may quote the whole address, with the key in its query."""
    error = await Script(get=[lambda request: httpx.ReadError(f"cannot read {request.url}")]).fail(
        lambda g: g.contacts.get("found"),
        GatewayError,
        match="cannot read",
        credentials=UserApiKey("user", "planted-key-82c1", send_in="query"),
    )
    assert "planted-key-82c1" not in str(error)


@pytest.mark.parametrize("failure", [LOST, NEVER_LEFT, httpx.ReadTimeout("slow")], ids=lambda each: type(each).__name__)
async def test_a_login_that_fails_in_passing_is_repeated(failure: Exception) -> None:
    responses: list[Any] = [failure]

    def log_in() -> httpx.Response:
        if responses:
            raise responses.pop()
        return office.issue()

    office = Office(login=log_in)
    assert (await office.run(sell)).approved
    assert (len(office.logins), office.methods) == (2, ["POST"])


@pytest.mark.parametrize("status", [200, 429, 503])
async def test_failed_login(status: int) -> None:
    """A busy gateway, or nonsense for a response, leaves a `NotSentError`: the payment is safe to repeat."""
    office = Office(login=lambda: httpx.Response(status))
    await office.fail(sell, NotSentError, match="no login: ")
    assert (len(office.logins), office.asked) == (3, [])


async def test_silent_login() -> None:
    """A login may take ten seconds, whatever the call itself may wait for."""
    office = Office(slow=1000)
    async with office.gateway(max_attempts=1) as gateway:
        began = anyio.current_time()
        await error_of(sell_at_terminal(gateway), NotSentError, match="no login within 10 s")
    assert anyio.current_time() - began == pytest.approx(10, abs=0.5)


async def test_failed_revocation() -> None:
    """The token idles out by itself; closing is bounded and says nothing."""
    token = httpx.Response(201, json={"token": {"token": "token-of-ada"}})
    script = Script(post=[token], get=[record("contact")], delete=[silent])
    async with script.gateway(credentials=LOGIN) as gateway:
        await gateway.contacts.get("found")
        began = anyio.current_time()
    assert anyio.current_time() - began == pytest.approx(2, abs=0.5)


async def test_other_credentials() -> None:
    """A key, a fixed token or a bearer that is refused stays refused: one request, and the error."""
    for credentials in (UserApiKey("u", "key-of-u"), AccessToken("spent-token"), BearerToken("spent-token")):
        script = Script(post=[SPENT])
        await script.fail(sell, AuthenticationError, credentials=credentials)
        assert script.methods == ["POST"]


async def test_hash_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt is signed again: a gateway may take a hash-key only once."""
    seconds = count(1_800_000_000.0)
    monkeypatch.setattr("gateway_async._execution.tokens.time", SimpleNamespace(time=lambda: next(seconds)))
    seen: list[tuple[str, str]] = []

    def note(request: httpx.Request) -> Any:
        seen.append((request.headers["timestamp"], request.headers["hash-key"]))
        return httpx.Response(503) if len(seen) == 1 else record("transaction")

    await Script(get=[note]).run(lambda g: g.transactions.get("found"), credentials=HashKey("user", "hash-secret"))
    assert [stamp for stamp, _ in seen] == ["1800000000", "1800000001"]
    assert {len(key) for _, key in seen} == {64}
    assert len(set(seen)) == 2


async def test_own_tokens() -> None:
    """`create` goes without the client's own credentials; `delete` takes the token in any form."""
    script = Script(
        post=[httpx.Response(201, json={"token": {"id": "1", "token": "made-by-hand"}})], delete=[httpx.Response(204)]
    )
    async with script.gateway(credentials=UserApiKey("user", "key-of-user")) as gateway:
        token = await gateway.tokens.create("ada", "s3cret-word", "example")
        for form in (token, token.token, "made-by-hand"):
            await gateway.tokens.delete(form)
    assert "user-api-key" not in script.asked[0].headers
    assert {request.url.path for request in script.asked[1:]} == {"/v2/token/made-by-hand"}


async def test_a_revocation_whose_response_is_lost_is_repeated() -> None:
    script = Script(delete=[LOST, NOT_THERE])
    await script.run(lambda g: g.tokens.delete("made-by-hand"), credentials=UserApiKey("user", "key-of-user"))
    assert script.methods == ["DELETE", "DELETE"]


async def test_token_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Show the token in no log or error, also from a path or a query."""
    caplog.set_level(0)
    script = Script(delete=[refusal(404, "no token planted-token-77")], get=[record("contact")])
    async with script.gateway(credentials=AccessToken("planted-token-77", "query")) as gateway:
        await gateway.contacts.get("found")
        error = await error_of(gateway.tokens.delete("planted-token-77"), NotFoundError)
    assert "planted-token-77" not in f"{error} {error!r} {error.call} {caplog.text}"
    assert "HTTP Request" not in caplog.text


def replaced(values: list[str], *, is_async: bool) -> Callable[[], Any]:
    given = iter(values)

    async def ask() -> str:
        await anyio.lowlevel.checkpoint()
        return next(given)

    return ask if is_async else lambda: next(given)


FIRST, SECOND = "first-planted-secret", "second-planted-secret"
ASKED: dict[str, tuple[Callable[[Any], Any], Callable[[httpx.Request], str]]] = {
    "key": (lambda ask: UserApiKey("user", ask), lambda request: request.headers["user-api-key"]),
    "key-query": (
        lambda ask: UserApiKey("user", ask, send_in="query"),
        lambda request: request.url.params["user-api-key"],
    ),
    "key-basic": (
        lambda ask: UserApiKey("user", ask, send_in="basic"),
        lambda request: b64decode(request.headers["authorization"].split()[1]).decode().split(":")[1],
    ),
    "token": (AccessToken, lambda request: request.headers["access-token"]),
    "bearer": (BearerToken, lambda request: request.headers["authorization"].split()[1]),
}


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("kind", ASKED)
async def test_replaced_secret(kind: str, is_async: bool) -> None:
    """The function is called before each request, and the next request is made with the next secret."""
    make, read = ASKED[kind]
    script = Script(get=[record("contact")])
    async with script.gateway(credentials=make(replaced([FIRST, SECOND], is_async=is_async))) as gateway:
        await gateway.contacts.get("found")
        await gateway.with_options(timeout=5).contacts.get("found")
    assert [read(request) for request in script.asked] == [FIRST, SECOND]


async def test_a_hash_key_can_be_replaced() -> None:
    script = Script(get=[record("accountvault")])
    async with script.gateway(credentials=HashKey("user", replaced([FIRST, SECOND], is_async=False))) as gateway:
        await gateway.account_vaults.get("found")
        await gateway.account_vaults.get("found")
    for request, key in zip(script.asked, (FIRST, SECOND), strict=True):
        message = f"user{request.headers['timestamp']}".encode()
        assert request.headers["hash-key"] == hmac.new(key.encode(), message, hashlib.sha256).hexdigest()


async def test_replaced_password() -> None:
    """After a 401 the client logs in with the password of that time."""
    tokens: list[ScriptedResponse] = [record("token", token="t-1", expire=15), record("token", token="t-2", expire=15)]
    script = Script(
        post=tokens,
        get=[httpx.Response(401, json={"name": "Unauthorized", "message": "no", "status": 401}), record("contact")],
        delete=[httpx.Response(204)],
    )
    login = PasswordLogin("ada", replaced([FIRST, SECOND], is_async=True), "example")
    async with script.gateway(credentials=login) as gateway:
        await gateway.contacts.get("found")
    assert [body["password"] for body in script.bodies("POST")] == [FIRST, SECOND]


def asynchronous(ask: Callable[[], Any]) -> Callable[[], Any]:
    async def ask_later() -> Any:
        return ask()

    return ask_later


NO_SECRETS = [ValueError("no luck"), "", None]
NO_HEADERS = [*NO_SECRETS, "käse", 5]


@pytest.mark.parametrize(
    ("make", "name", "wrong"),
    [
        (lambda ask: UserApiKey("user", ask), "user_api_key", NO_HEADERS),
        (lambda ask: HashKey("user", ask), "user_hash_key", NO_HEADERS),
        (AccessToken, "token", NO_HEADERS),
        (lambda ask: BearerToken(asynchronous(ask)), "token", NO_HEADERS),
        (lambda ask: PasswordLogin("ada", ask, "example"), "login: no password", NO_SECRETS),
    ],
)
async def test_missing_secret(make: Any, name: str, wrong: list[Any]) -> None:
    """The error names the secret, and shows no value."""
    given: list[Any] = []

    def ask() -> Any:
        if isinstance(given[-1], Exception):
            raise given[-1]
        return given[-1]

    for value in wrong:
        given.append(value)
        script = Script(post=[echo("transaction")])
        error = await script.fail(sell, NotSentError, match=f"no {name}", credentials=make(ask))
        assert "käse" not in str(error)
        assert script.asked == []
