"""Addresses of databases: what is accepted, and that no error of a store leads to a password."""

import traceback
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

import anyio
import pytest
from redis.asyncio import SSLConnection

from gateway_async import (
    AsyncGateway,
    GatewayError,
    InboxError,
    InvalidRequestError,
    JournalError,
    LedgerError,
    NotSentError,
    PostgresLedger,
    RedisTerminalLease,
    TransactionCreate,
    UserApiKey,
)
from gateway_async._storage.postgres import Address
from gateway_async._wire.postback import postback_of
from gateway_async.migration import PostgresJournal, RedisRate
from gateway_async.postbacks import PostgresInbox
from tests.support.free_port import free_port
from tests.support.intents import SALE
from tests.support.leaks import leaks
from tests.support.server_programs import ServerProgram, find_program, postgres_server, redis_server

pytestmark = pytest.mark.asyncio

OWN: Final = (__file__,)
PASSWORD: Final = "planted/82c1:pass"
ENCODED: Final = quote(PASSWORD, safe="")
PLANTED: Final = (PASSWORD, ENCODED)

Operation = Callable[[], Awaitable[object]]


class Store:
    """An object with an address, and an operation that connects."""

    def __init__(self, opened: Any, operation: Callable[[Any], Awaitable[object]]) -> None:
        self.opened = opened
        self.operate: Operation = partial(operation, opened)


async def record(opened: PostgresLedger) -> object:
    await opened.record_intent(SALE)
    return None


async def pay(opened: PostgresLedger) -> object:
    """Pay through a client with the ledger, which cannot reach its gateway either."""
    credentials, address = UserApiKey("u", "k"), f"http://127.0.0.1:{free_port()}"
    async with AsyncGateway(address, developer_id="d", credentials=credentials, timeout=5, ledger=opened) as gateway:
        sale = TransactionCreate(action="sale", account_vault_id="v", transaction_amount="1.00", location_id="l")
        return await gateway.transactions.create(sale)


async def store(opened: PostgresInbox) -> object:
    return await opened.store(postback_of("CREATE", "contact", {"id": "c", "modified_ts": 1}))


STORES: Final[dict[str, Callable[[str], Store]]] = {
    "ledger": lambda dsn: Store(PostgresLedger(dsn), record),
    "client": lambda dsn: Store(PostgresLedger(dsn), pay),
    "inbox": lambda dsn: Store(PostgresInbox(dsn), store),
    "journal": lambda dsn: Store(PostgresJournal(dsn, "cards"), lambda journal: journal.start(None)),
}
REDIS_STORES: Final[dict[str, Callable[[str], Store]]] = {
    "lease": lambda url: Store(RedisTerminalLease(url, owner="till"), lambda lease: lease.acquire("t", "token")),
    "rate": lambda url: Store(RedisRate(url, 50, give_up_after=0.01), lambda rate: rate.acquire()),
}

needs_postgres = pytest.mark.skipif(find_program("initdb") is None, reason="needs the programs of PostgreSQL")
needs_redis = pytest.mark.skipif(find_program("redis-server") is None, reason="needs redis-server")


@pytest.fixture(scope="module")
def postgres() -> Iterator[ServerProgram]:
    """Run a PostgreSQL that asks for the password. Its user could not enter a folder of pytest."""
    with TemporaryDirectory() as folder, postgres_server(Path(folder), PASSWORD) as server:
        yield server


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    """Run a Redis that asks for the password."""
    with redis_server(tmp_path_factory.mktemp("redis"), PASSWORD) as server:
        yield server


def with_login(url: str, user: str, password: str = ENCODED) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{password}@{rest.rpartition('@')[2]}"


async def error_of(operation: Operation) -> BaseException:
    with pytest.raises(Exception) as raised:  # noqa: PT011  any error, of any store
        await operation()
    return raised.value


def found_in(error: BaseException, opened: object) -> set[str]:
    """Return what an error or an object tells of the password: its objects, its traceback with locals, its texts."""
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [line for line in trace.format() if __file__ not in line]
    shown = "".join(ours) + repr(opened) + str(error)
    return leaks((error, opened), PLANTED, OWN) | {each for each in PLANTED if each in shown}


@needs_postgres
@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("fault", ["wrong password", "refused", "unknown database", "setting"])
async def test_postgres_password(name: str, fault: str, postgres: ServerProgram) -> None:
    """Neither the objects nor the traceback of the error, nor the store itself, lead to the password."""
    dsn = with_login(postgres.url, "postgres")
    dsn = {
        "wrong password": with_login(postgres.url, "postgres", f"{ENCODED}x"),
        "refused": dsn.replace(f":{postgres.url.rpartition(':')[2]}", f":{free_port()}/postgres"),
        "unknown database": f"{dsn.removesuffix('/postgres')}/nowhere",
        "setting": f"{dsn}?sslmode=none",
    }[fault]
    used = STORES[name](dsn)
    error = await error_of(used.operate)
    assert isinstance(error, LedgerError | InboxError | JournalError | NotSentError)
    assert isinstance(error, GatewayError)
    cause = error if not isinstance(error, NotSentError) else error.__cause__
    assert (cause and cause.__cause__, cause and cause.__context__) == (None, None)
    assert found_in(error, used.opened) == set()
    await used.opened.aclose()


@needs_postgres
@pytest.mark.parametrize("name", STORES)
async def test_lost_connection(name: str, postgres: ServerProgram) -> None:
    """A connection to a killed server leads to no password; with the server back, the store works again."""
    used = STORES[name](with_login(postgres.url, "postgres"))
    if name != "client":
        await used.operate()
    postgres.crash()
    try:
        error = await error_of(used.operate)
    finally:
        postgres.start()
    assert isinstance(error, GatewayError)
    assert found_in(error, used.opened) == set()
    if name != "client":
        await used.operate()
    await used.opened.aclose()


@needs_redis
@pytest.mark.parametrize("name", REDIS_STORES)
@pytest.mark.parametrize("fault", ["wrong password", "refused", "lost"])
async def test_redis_password(name: str, fault: str, redis: ServerProgram) -> None:
    """Neither the objects nor the traceback of the error, nor the store itself, lead to the password."""
    url = with_login(redis.url, "default")
    used = REDIS_STORES[name](
        {
            "wrong password": with_login(redis.url, "", f"{ENCODED}x"),
            "refused": with_login(f"redis://127.0.0.1:{free_port()}/0", "default"),
            "lost": url,
        }[fault]
    )
    if fault == "lost":
        await used.operate()
        redis.crash()
    try:
        error = await error_of(used.operate)
    finally:
        if fault == "lost":
            redis.start()
    assert found_in(error, used.opened) == set()
    await used.opened.aclose()


@pytest.mark.skipif("ssl_password" not in signature(SSLConnection).parameters, reason="redis-py refuses the option")
async def test_redis_key() -> None:
    """Neither the store nor its error leads to the password of the key that the client shows."""
    url = f"rediss://127.0.0.1:{free_port()}/0?ssl_password={ENCODED}&ssl_ca_certs=/missing.pem"
    used = REDIS_STORES["lease"](url)
    assert found_in(await error_of(used.operate), used.opened) == set()
    await used.opened.aclose()


@needs_redis
async def test_cancelled_call(redis: ServerProgram) -> None:
    """The error of a time-out, whose cause is the cancelled command, leads to no password."""
    used = REDIS_STORES["lease"](with_login(redis.url, "default"))
    with redis.paused(), pytest.raises(TimeoutError) as raised, anyio.fail_after(0.1):
        await used.operate()
    assert found_in(raised.value, used.opened) == set()
    await used.opened.aclose()


@needs_postgres
@pytest.mark.parametrize("name", sorted(STORES.keys() - {"client"}))
async def test_environment_password(name: str, postgres: ServerProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    """`PGPASSWORD` is read by us, because the driver's connection would keep it as text."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    used = STORES[name](postgres.url)
    await used.operate()
    assert leaks(used.opened, PLANTED, OWN) == set()
    await used.opened.aclose()


@needs_postgres
async def test_encoded_password(postgres: ServerProgram) -> None:
    """A password of any characters is used, percent-encoded in the login or among the options."""
    for dsn in (with_login(postgres.url, "postgres"), f"{postgres.url}?password={ENCODED}"):
        used = STORES["ledger"](dsn)
        await used.operate()
        await used.opened.aclose()


INVALID: Final = (
    f"postgresql://u:{ENCODED}@[::1/db",
    f"postgresql://u:{ENCODED}@h:port/db",
    f"postgresql://u:{ENCODED}@h:0/db",
    f"postgresql://u:{ENCODED}@h:65536/db",
    f"postgresql://u:{ENCODED}@h,/db",
    f"postgresql://u:{PASSWORD}@h/db",
    f"postgresql://u:a@{ENCODED}@h/db",
    f"postgresql://u:a@b/{ENCODED}@h/db",
    f"postgresql://u:1/{ENCODED}@h/db",
    f"postgresql://u:1#{ENCODED}@h/db",
    f"postgresql://u:1?{ENCODED}@h/db",
    f"postgresql://u:{ENCODED}@h/db\n",
    f"mysql://u:{ENCODED}@h/db",
    f"postgresql+asyncpg://u:{ENCODED}@h/db",
    ENCODED,
)


def problem_of(make: Callable[[str], object], address: str) -> str:
    """Return the one sentence about an invalid address; it shows no password, and the object can be shown."""
    with pytest.raises(InvalidRequestError) as refused:
        make(address)
    (problem,) = refused.value.problems
    assert found_in(refused.value, None) == set()
    for frame in traceback.walk_tb(refused.tb):
        repr(frame[0].f_locals.get("self"))
    return problem


@pytest.mark.parametrize("make", [PostgresLedger, PostgresInbox, lambda dsn: PostgresJournal(dsn, "cards")])
async def test_postgres_addresses(make: Callable[[str], object]) -> None:
    """The constructor of a store refuses an invalid address."""
    for dsn in INVALID:
        assert problem_of(make, dsn).startswith("dsn:")


@pytest.mark.parametrize("make", [lambda url: RedisTerminalLease(url, owner="t"), lambda url: RedisRate(url, 1)])
async def test_redis_addresses(make: Callable[[str], object]) -> None:
    """The sentence says whether the form or the port is wrong. A file may end the address with a line break."""
    make(f"redis://:{ENCODED}@h/0\n")
    for url in (
        f"redis://:{ENCODED}@[::1/0",
        f"http://:{ENCODED}@h",
        f"redis://h/0?pasword={ENCODED}",
        f"redis://:{ENCODED}\udce9@h",
    ):
        form = "url: must be redis://, rediss:// or unix://, with options that redis-py knows"
        assert problem_of(make, url) == form
    for url in (f"redis://:{ENCODED}@h:port/0", f"rediss://:{ENCODED}@h:65536", f"redis://:{ENCODED}/x@h:6379/0"):
        port = "url: the port must be a number up to 65535 (in a password, / must be written as %2F)"
        assert problem_of(make, url) == port


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://h/db", "postgresql://h/db"),
        ("postgres://u@h:5433/db?sslmode=require", "postgresql://h:5433/db"),
        ("postgresql://u:p%40q@[::1]:1,a:2/db", "postgresql://[::1]:1,a:2/db"),  # [::1] first, for newer Pythons
        ("postgresql:///db?host=/run/postgresql", "postgresql:///db"),
        ("postgresql://", "postgresql://"),
        ("postgresql://u:p@h/db?application_name=me@home", "postgresql://h/db"),
    ],
)
async def test_shown_address(dsn: str, shown: str) -> None:
    """An address is shown without its login: hosts, ports and the database remain."""
    address, problem = Address.parse(dsn)
    assert (address and address.shown, problem) == (shown, "")
