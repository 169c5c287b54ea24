"""No object that an error refers to contains a card number, a bank account or a key."""

import asyncio
import copyreg
import json
from collections.abc import Callable, Coroutine, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any

import anyio
import httpx
import pytest
from tblib import pickling_support

import gateway_async as ga
from gateway_async import AsyncGateway, hosted_forms
from gateway_async._execution import lookup
from gateway_async._wire.call import Call
from gateway_async.credentials import Credentials
from gateway_async.migration import SqliteJournal, migrate_vaults, plan_migration, read_rows, verify_vaults
from gateway_async.observe import AttemptFailed, CallEnded, Event
from gateway_async.postbacks import PostbackReceiver, PostbackRefusedError, SqliteInbox
from gateway_async.resources import RESOURCES
from gateway_async.sandbox import Sandbox
from tests.support.leaks import leaks, reachable, token_of
from tests.support.sandboxes import quick_sandbox

CARD = "5454545454545454"
TRACK = ";4012888888881881=30121010000012345678?"
CVV = "7391"
BANK_ACCOUNT = "987654321012"
ROUTING = "072000326"
MONEY = (CARD, TRACK, "4012888888881881", CVV, BANK_ACCOUNT, ROUTING)
OWN = (__file__,)

Operation = Callable[[AsyncGateway], Coroutine[Any, Any, object]]


def sale() -> ga.TransactionCreate:
    """Build a sale with a card number and a CVV."""
    return ga.TransactionCreate(
        action="sale", transaction_amount=Decimal("12.50"), account_number=CARD, exp_date="1230", cvv=CVV
    )


async def pay(gateway: AsyncGateway) -> object:
    """Make a sale."""
    return await gateway.transactions.create(sale())


async def store_card(gateway: AsyncGateway) -> object:
    return await gateway.account_vaults.create(ga.CardVaultCreate(account_number=CARD, exp_date="1230"))


async def store_bank_account(gateway: AsyncGateway) -> object:
    return await gateway.account_vaults.create(
        ga.AchVaultCreate(
            account_number=BANK_ACCOUNT,
            routing=ROUTING,
            account_type="checking",
            account_holder_name="Jane Doe",
            is_company=False,
        )
    )


async def swipe(gateway: AsyncGateway) -> object:
    """Store a swiped card."""
    return await gateway.account_vaults.create(ga.SwipedVaultCreate(track_data=TRACK))


async def upload(gateway: AsyncGateway) -> object:
    """Create an invoice with a file."""
    return await gateway.quick_invoices.create(
        ga.QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 1), item_list={"Tea": 1}),
        files=[ga.Attachment("tea.txt", b"tea" * 100_000)],
    )


async def read(gateway: AsyncGateway) -> object:
    """Count the contacts."""
    return await gateway.contacts.list().count()


OPERATIONS: dict[str, Operation] = {
    "sale": pay,
    "card": store_card,
    "bank account": store_bank_account,
    "track data": swipe,
    "upload": upload,
    "read": read,
}
SIGNED_BY_HASH_KEY = ("sale", "card", "bank account", "track data")
PATHS = ["GET /v2/contacts"]
PATHS += [f"POST /v2/{plural}" for plural in ("transactions", "accountvaults", "quickinvoices")]
PATHS += [f"GET /v2/{plural}/{{id}}" for plural in ("transactions", "accountvaults", "quickinvoices")]
FAULTS = [
    "reset_before_commit", "reset_after_commit", "close_after_commit", "error_before_commit", "error_after_commit",
    "cut_body", "duplicate_response", "wrong_response", "wrong_length", "drip", "silence", "delay", "rate_limit",
    "unavailable", "garbage", "html", "empty",
]  # fmt: skip
WATCHED: Any = {"timeout": 0.8, "max_attempts": 2}
CREDENTIALS = ["headers", "query", "basic", "password", "token", "hash key", "bearer", "asked bearer"]


one_sandbox = pytest.fixture(scope="module")(quick_sandbox)


@pytest.fixture
def sandbox(one_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Lend the sandbox to one test, and remove its faults afterwards."""
    yield one_sandbox
    one_sandbox.clear_faults()


@pytest.fixture
def errors() -> "Errors":
    """Collect the errors of one test."""
    return Errors()


def secrets_of(sandbox: Sandbox) -> tuple[str, ...]:
    """Return the secrets in the sandbox's credentials, and the content of its Basic header."""
    basic = f"{sandbox.user_id}:{sandbox.user_api_key}"
    return sandbox.user_api_key, sandbox.user_hash_key, sandbox.password, basic


def credentials_of(sandbox: Sandbox, kind: str, token: str) -> Credentials:
    """Return credentials of each kind; the sandbox rejects the bearer token."""

    async def ask() -> str:
        return token

    kinds: dict[str, Callable[[], Credentials]] = {
        "headers": lambda: ga.UserApiKey(sandbox.user_id, sandbox.user_api_key),
        "query": lambda: ga.UserApiKey(sandbox.user_id, sandbox.user_api_key, "query"),
        "basic": lambda: ga.UserApiKey(sandbox.user_id, sandbox.user_api_key, "basic"),
        "password": lambda: ga.PasswordLogin(sandbox.username, sandbox.password, sandbox.domain),
        "token": lambda: ga.AccessToken(token),
        "hash key": lambda: ga.HashKey(sandbox.user_id, sandbox.user_hash_key),
        "bearer": lambda: ga.BearerToken(token),
        "asked bearer": lambda: ga.BearerToken(ask),
        "asked key": lambda: ga.UserApiKey(sandbox.user_id, lambda: sandbox.user_api_key),
        "asked password": lambda: ga.PasswordLogin(sandbox.username, lambda: sandbox.password, sandbox.domain),
    }
    return kinds[kind]()


class Errors:
    """Errors of calls, and those that observers get."""

    def __init__(self) -> None:
        self.all: list[BaseException] = []

    def watch(self, event: Event) -> None:
        """Record an event's error."""
        if isinstance(event, AttemptFailed | CallEnded) and event.error is not None:
            self.all.append(event.error)

    async def of(self, operation: Operation, gateway: AsyncGateway) -> None:
        """Record the error that an operation raises."""
        try:
            await operation(gateway)
        except ga.GatewayError as error:
            self.all.append(error)

    def leaks(self, *planted: str) -> set[str]:
        """Return the planted values that the errors lead to."""
        return leaks(self.all, planted, OWN)


async def log_in(sandbox: Sandbox) -> str:
    """Return a token of the sandbox."""
    async with sandbox.gateway() as gateway:
        return (await gateway.tokens.create(sandbox.username, sandbox.password, sandbox.domain)).token.reveal()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.asyncio
async def test_faults(fault: Any, sandbox: Sandbox, errors: Errors) -> None:
    """The error of a request or its lookup leads to no planted value, with any fault and any credentials."""
    token = await log_in(sandbox)
    planted = [*MONEY, *secrets_of(sandbox), token]
    for path in PATHS:
        sandbox.fault(path, fault, probability=1, seconds=1.0)

    async def run(kind: str) -> None:
        credentials = credentials_of(sandbox, kind, token)
        async with sandbox.gateway(**WATCHED, credentials=credentials, observers=[errors.watch]) as gateway:
            async with asyncio.TaskGroup() as tasks:
                for name, operation in OPERATIONS.items():
                    if kind != "hash key" or name in SIGNED_BY_HASH_KEY:
                        tasks.create_task(errors.of(operation, gateway))
            planted.extend([fetched] if (fetched := token_of(gateway)) else [])

    async with asyncio.TaskGroup() as clients:
        for kind in CREDENTIALS:
            clients.create_task(run(kind))
    assert errors.all or fault == "duplicate_response"  # of which each call gets the first
    assert errors.leaks(*planted) == set()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.asyncio
async def test_logins(fault: Any, sandbox: Sandbox, errors: Errors) -> None:
    """The error of a login or a logout leads neither to the password nor to the token, with any fault."""
    token = await log_in(sandbox)
    login = ga.PasswordLogin(sandbox.username, sandbox.password, sandbox.domain)
    for path in ("POST /v2/token", "DELETE /v2/token/{id}"):
        sandbox.fault(path, fault, probability=1, seconds=1.0)
    async with (
        sandbox.gateway(**WATCHED, observers=[errors.watch]) as by_hand,
        sandbox.gateway(**WATCHED, observers=[errors.watch], credentials=login) as gateway,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(errors.of(pay, gateway))
        for operation in (
            lambda client: client.tokens.create(sandbox.username, sandbox.password, sandbox.domain),
            lambda client: client.tokens.create(sandbox.username, f"not {sandbox.password}", sandbox.domain),
            lambda client: client.tokens.delete(token),
        ):
            tasks.create_task(errors.of(operation, by_hand))
    assert errors.all
    assert errors.leaks(*MONEY, *secrets_of(sandbox), token) == set()


KEY = "planted-key-82c1"


def of_nowhere(**options: Any) -> AsyncGateway:
    """Make a client whose key is planted."""
    given = {
        "timeout": 0.5,
        "max_attempts": 2,
        "location_id": "loc",
        "credentials": ga.UserApiKey("user", KEY),
        **options,
    }
    return AsyncGateway(given.pop("base_url", "https://gateway.test"), developer_id="dev", **given)


async def say_everything(request: httpx.Request) -> httpx.Response:
    """Raise an error with everything that a request contains."""
    raise httpx.ReadError(f"{request.url} {request.headers.raw} {request.content!r}", request=request)


def break_off(request: httpx.Request) -> httpx.Response:
    """Refuse the connection with an error that refers to the request."""
    raise httpx.ConnectError("refused", request=request)


async def ask_for_invalid_token() -> str:
    """Return a token that fits in no header."""
    return f"{KEY}\n"


@pytest.mark.parametrize("operation", OPERATIONS.values())
@pytest.mark.parametrize(
    "options",
    [
        {"transport": httpx.MockTransport(say_everything)},
        {"transport": httpx.MockTransport(break_off)},
        {"base_url": "http://127.0.0.1:9"},
        {"base_url": "https://{sandbox}"},
        {"credentials": ga.BearerToken(ask_for_invalid_token)},
    ],
    ids=["error with everything", "error with the request", "no connection", "no TLS", "invalid token"],
)
@pytest.mark.asyncio
async def test_unsent_request(options: dict[str, Any], operation: Operation, sandbox: Sandbox, errors: Errors) -> None:
    """The error of a transport, of a connection or of a token that cannot be sent leads to no part of the request."""
    address = sandbox.base_url.removeprefix("http://")
    given = {name: value.format(sandbox=address) if name == "base_url" else value for name, value in options.items()}
    async with of_nowhere(**given, observers=[errors.watch]) as gateway:
        await errors.of(operation, gateway)
    assert errors.all
    assert {leak for leak in errors.leaks(*MONEY, KEY) if "MockTransport" not in leak} == set()


@pytest.mark.parametrize("operation", OPERATIONS.values())
@pytest.mark.asyncio
async def test_caller_timeout(operation: Operation, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The TimeoutError of a caller, whose cause is the cancelled request, leads to no planted value."""
    monkeypatch.setattr(lookup, "LOOKUP_SECONDS", 0.2)  # the sandbox is silent: no lookup ends sooner
    for path in PATHS:
        sandbox.fault(path, "silence", probability=1)
    async with sandbox.gateway(timeout=5) as gateway:
        # The request gets no response. The lookup after the cancellation gets one, and does not take 10 seconds.
        asyncio.get_running_loop().call_later(0.8, sandbox.clear_faults)
        with pytest.raises(TimeoutError) as raised:
            async with asyncio.timeout(1.0):
                await operation(gateway)
    assert raised.value.__cause__ is not None
    assert leaks(raised.value, (*MONEY, *secrets_of(sandbox)), OWN) == set()


@pytest.mark.parametrize("operation", OPERATIONS.values())
@pytest.mark.asyncio
async def test_an_exception_group_leads_to_no_secret(operation: Operation) -> None:
    async def run(gateway: AsyncGateway) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operation, gateway)
            tasks.start_soon(operation, gateway)

    async with of_nowhere(base_url="http://127.0.0.1:9") as gateway:
        with pytest.raises(ExceptionGroup) as raised:
            await run(gateway)
    raised.value.add_note("both failed")
    assert leaks(raised.value, (*MONEY, KEY), OWN) == set()


INVALID: dict[str, Operation] = {
    "id": lambda gateway: gateway.transactions.create(
        ga.TransactionCreate(
            action="sale", transaction_amount=1, account_number=CARD, exp_date="1230", cvv=CVV, transaction_api_id=".."
        )
    ),
    "vault id": lambda gateway: gateway.account_vaults.create(
        ga.CardVaultCreate(account_number=CARD, exp_date="1230", account_vault_api_id=".")
    ),
    "expiry": lambda gateway: gateway.account_vaults.create(ga.CardVaultCreate(account_number=CARD, exp_date="13")),
    "a number": lambda gateway: gateway.account_vaults.create(
        ga.CardVaultCreate(account_number=int(CARD), exp_date="1230")  # type: ignore[arg-type]
    ),
    "domain": lambda gateway: gateway.tokens.create("user", KEY, ""),
    "token": lambda gateway: gateway.account_vaults.get(ga.ApiId("", "loc")),
}


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.asyncio
async def test_an_invalid_request_leads_to_no_secret(name: str) -> None:
    async with of_nowhere() as gateway:
        with pytest.raises(ga.InvalidRequestError) as raised:
            await INVALID[name](gateway)
    assert leaks(raised.value, (*MONEY, KEY), OWN) == set()


MISPLACED: tuple[dict[str, Any], ...] = (
    {"credentials": KEY},
    {"credentials": ("user", KEY)},
    {"ledger": f"postgresql://u:{KEY}@h/db"},
    {"terminal_lease": f"redis://:{KEY}@h"},
)
"""Options of a client with a key or an address in place of an object."""

STORES: tuple[Callable[[str], object], ...] = (ga.SqliteLedger, SqliteInbox, SqliteJournal)

INVALID_ARGUMENTS: list[Callable[[], object]] = [
    lambda: ga.UserApiKey("user", f"{KEY}\n"),
    lambda: ga.UserApiKey(" ", KEY),
    lambda: ga.UserApiKey("us:er", KEY, "basic"),
    lambda: ga.PasswordLogin("user", KEY, ""),
    lambda: ga.PasswordLogin("user", KEY, "domain", "basic"),  # type: ignore[arg-type]
    lambda: ga.AccessToken(f"{KEY}\n"),
    lambda: ga.HashKey("user", f"{KEY}\n"),
    lambda: ga.BearerToken(f"{KEY}\n"),
    lambda: PostbackReceiver("user", KEY, allowed_networks=["nowhere"]),
    lambda: PostbackReceiver("user", KEY, max_bytes=0),
    lambda: PostbackReceiver("us:er", KEY),
    # A byte of the environment that is not UTF-8.
    lambda: PostbackReceiver("user", f"{KEY}\udce9"),
    lambda: PostbackReceiver("user", "secret", inbox=f"postgresql://u:{KEY}@h/db"),  # type: ignore[arg-type]
    lambda: hosted_forms.payform_url("", {}, developer_id="d", user_id="u", user_hash_key=KEY),
    lambda: hosted_forms.accountform_url("", {}, developer_id="d", user_id="u", user_hash_key=KEY),
    lambda: hosted_forms.check_form_url("", user_hash_key=KEY),
    lambda: hosted_forms.hosted_page_url("", "p", {}, encryption_key=KEY),
    lambda: hosted_forms.read_hosted_page_url("https://a.test/hostedpaymentpage?id=p&data=x", encryption_key=KEY),
    # A host that IDNA cannot decode.
    *(partial(of_nowhere, **{option: f"http://user:{KEY}@xn--/"}) for option in ("base_url", "proxy")),
    *(partial(make, **options) for make in (of_nowhere, AsyncGateway.from_env) for options in MISPLACED),
    # The address of a database, given as a file.
    *(partial(store, f"postgresql:{slashes}u:{KEY}@h/db") for store in STORES for slashes in ("//", "")),
]


@pytest.mark.parametrize("make", INVALID_ARGUMENTS)
def test_invalid_arguments(make: Callable[[], object], sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a key nor an address in the wrong place is in a local variable of the error."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ga.InvalidRequestError) as raised:
        make()
    assert leaks(raised.value, (KEY,), OWN) == set()


HEADER, ROW = "key,account_number,exp_date", f"k1,{CARD},1230"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("unknown column.csv", f"{HEADER},color\n{ROW},red\n"),
        ("no header.csv", f"{ROW}\n{ROW}\n"),
        ("open quote.csv", f'{HEADER},"\n{ROW}\n'),
        ("row with an open quote.csv", f'{ROW},"\n{ROW}\n'),
        ("NUL.csv", f"{HEADER}\0\n{ROW}\n"),
        ("NUL in a row.csv", f"{ROW}\0\n{ROW}\n"),
        ("array.jsonl", f'[{{"key": "k1", "account_number": "{CARD}"}}]\n'),
        ("no key.jsonl", f'{{"account_number": "{CARD}", "exp_date": "1230"}}\n'),
    ],
)
@pytest.mark.asyncio
async def test_migration_input(name: str, text: str, tmp_path: Path) -> None:
    """A traceback with local variables shows no row of a migration's input."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ga.InvalidRequestError) as raised:
        await plan_migration(read_rows(path))
    trace = TracebackException.from_exception(raised.value, capture_locals=True)
    below = [frame for frame in trace.stack if frame.filename not in OWN]
    assert below
    assert CARD not in "".join([*StackSummary.from_list(below).format(), *trace.format_exception_only()])
    assert raised.value.__cause__ is raised.value.__context__ is None


FIELDS = {"account_number": CARD, "cvv": CVV, "basic_auth_password": KEY}


@pytest.mark.parametrize(
    "rows",
    [[FIELDS], FIELDS, json.dumps(FIELDS), [json.dumps(FIELDS)], [*FIELDS.items()], [ga.ContactCreate(last_name=CARD)]],
    ids=["mappings", "a mapping", "JSON", "lines of JSON", "pairs", "other models"],
)
@pytest.mark.parametrize("concurrency", [4, 0])
@pytest.mark.parametrize("function", [migrate_vaults, verify_vaults, plan_migration])
@pytest.mark.asyncio
async def test_wrong_rows(function: Any, concurrency: int, rows: Any, tmp_path: Path) -> None:
    """Fields in place of a migration's rows are in no local variable of the error."""
    async with of_nowhere() as gateway:
        given = {"rows": rows, "concurrency": concurrency}
        if function is not plan_migration:
            given |= {"gateway": gateway, "journal": tmp_path / "m.journal"}
        with pytest.raises(ga.InvalidRequestError) as raised:
            await function(**given)
    assert leaks(raised.value, (CARD, CVV, KEY), OWN) == set()


WRITES = [
    (name, verb)
    for name, kind in RESOURCES.items()
    for verb in ("create", "create_once", "update")
    if name != "tokens" and hasattr(kind, verb)
]


def nested(levels: int) -> dict[str, Any]:
    """Return fields with secrets on each of many levels."""
    fields: dict[str, Any] = dict(FIELDS)
    for _ in range(levels):
        fields = {**FIELDS, "inner": fields}
    return fields


MISTAKES: dict[str, Operation] = {
    "JSON to a model": lambda gateway: gateway.transactions.create(json.dumps(FIELDS)),  # type: ignore[arg-type]
    "JSON": lambda gateway: gateway.request("POST", "/v2/plans", body=json.dumps(FIELDS)),  # type: ignore[arg-type]
    "JSON of a resource": lambda gateway: gateway.resource("plans", name="plan").create(json.dumps(FIELDS)),  # type: ignore[arg-type]
    "pairs": lambda gateway: gateway.request("GET", "/v2/plans", params=[("password", KEY)]),  # type: ignore[arg-type]
    "pairs as filter": lambda gateway: gateway.contacts.list(extra_filters=[("password", KEY)]).first(),  # type: ignore[arg-type]
    "a query in a path": lambda gateway: gateway.request("GET", f"/v2/plans?password={KEY}"),
    "a deep body": lambda gateway: gateway.request("POST", "/v2/plans", body=nested(3000)),
    "a body that is too deep to check": lambda gateway: gateway.request("POST", "/v2/plans", body=nested(980)),
    "deep fields": lambda gateway: gateway.resource("plans", name="plan").create(nested(3000)),
    "a query": lambda gateway: gateway.request("GET", "/v2/plans", params=f"password={KEY}"),  # type: ignore[arg-type]
    "a query as filter": lambda gateway: gateway.contacts.list(extra_filters=f"password={KEY}").first(),  # type: ignore[arg-type]
}


@pytest.mark.asyncio
async def test_mapping_as_model() -> None:
    """Fields in a mapping instead of the model of a write are in no local variable of the error."""
    for name, verb in WRITES:
        ids = ("1" * 24,) if verb == "update" else ()
        async with of_nowhere() as gateway:
            with pytest.raises(ga.InvalidRequestError, match=r"request: must be .*, not dict") as raised:
                await getattr(getattr(gateway, name), verb)(*ids, FIELDS)
        assert leaks(raised.value, (CARD, CVV, KEY), OWN) == set(), name


@pytest.mark.asyncio
async def test_wrong_container() -> None:
    """A mapping instead of a request, or a text instead of a mapping, is in no local variable of the error."""
    for name, operation in MISTAKES.items():
        async with of_nowhere() as gateway:
            with pytest.raises(ga.InvalidRequestError) as raised:
                await operation(gateway)
        assert "Secret" not in str(raised.value), name
        assert leaks(raised.value, (CARD, CVV, KEY), OWN) == set(), name


@pytest.mark.parametrize(
    "changes",
    [
        {"GATEWAY_USER_API_KEY": f"{KEY}\n"},
        {"GATEWAY_BASE_URL": f"https://user:{KEY}@gateway.test"},
        {"GATEWAY_BASE_URL": f"https://gateway.test?key={KEY}"},
        {"GATEWAY_PROXY": f"http://user:{KEY}@[::1"},
        {"GATEWAY_USER_API_KEY": KEY, "GATEWAY_DEVELOPER_ID": " "},
    ],
)
def test_environment(changes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a key nor a password of an address is in a local variable of the error."""
    for name in ("BASE_URL", "DEVELOPER_ID", "USER_ID", "USER_API_KEY"):
        monkeypatch.setenv(f"GATEWAY_{name}", "https://gateway.test")
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ga.InvalidRequestError) as raised:
        AsyncGateway.from_env()
    assert leaks(raised.value, (KEY,), OWN) == set()


BASIC = {"Authorization": "Basic dXNlcjpwbGFudGVkLWtleS04MmMx"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (BASIC, CARD),
        (BASIC, f'{{"type": "{CARD}"'),
        (BASIC, f'{{"data": {{"id": {{}}, "x": "{CARD}"}}}}'),
        (BASIC, f'{{"type": "CREATE", "resource": "contact", "data": {{"id": "1", "city": [], "x": "{CARD}"}}}}'),
        ({"Authorization": f"Basic {KEY}"}, CARD),
    ],
)
def test_refused_postback(headers: dict[str, str], body: str) -> None:
    """The error of a rejected postback leads neither to its body nor to its credentials."""
    receiver = PostbackReceiver("user", KEY)
    with pytest.raises(PostbackRefusedError) as raised:
        receiver.parse(headers, body.encode())
    assert leaks(raised.value, (CARD, KEY, f"user:{KEY}"), OWN) == set()


@pytest.fixture(params=["plain", "tblib"])
def copies_of_errors(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run with and without tblib, which Dask loads, and with which `copy` keeps the tracebacks of errors."""
    before = dict(copyreg.dispatch_table)
    if request.param == "tblib":
        pickling_support.install()
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


@pytest.mark.asyncio
@pytest.mark.usefixtures("copies_of_errors")
async def test_unknown_outcome(sandbox: Sandbox) -> None:
    """The error of an unknown write can look it up without the content that was sent."""
    for path in PATHS:
        sandbox.fault(path, "close_after_commit", probability=1)
    async with sandbox.gateway(timeout=10, max_attempts=1) as gateway:
        with pytest.raises(ga.OutcomeUnknownError) as raised:
            await pay(gateway)
        sandbox.clear_faults()
        error = raised.value.with_traceback(None)
        error.__cause__ = error.__context__ = None
        kept = [(way, each) for way, each in reachable(error) if isinstance(each, Call)]
        assert kept
        assert [
            way
            for way, each in kept
            if each.request.body is not None or each.request.form is not None or each.request.secrets
        ] == []
        found = await error.resolve()
    assert isinstance(found, ga.Transaction)
    assert found.approved
