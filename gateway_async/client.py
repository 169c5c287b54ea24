"""`AsyncGateway`: the only place that builds objects, and owns their lifetime."""

import os
import ssl
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Self, TypedDict, Unpack, get_args

import httpx

from gateway_async._net.credentials import SignedTransport
from gateway_async._net.http import Http
from gateway_async._net.sender import Sender
from gateway_async._net.transport import PooledTransport
from gateway_async._wire.noun import Scope
from gateway_async.credentials import Credentials, UserApiKey, is_header_text
from gateway_async.errors import InvalidRequestError
from gateway_async.leases import TerminalLease
from gateway_async.ledger import Ledger, Recovered
from gateway_async.observe import Observer, is_async
from gateway_async.resources.account_vaults import AccountVaults
from gateway_async.resources.contacts import Contacts
from gateway_async.resources.inquiries import lookup_of
from gateway_async.resources.paylinks import Paylinks
from gateway_async.resources.postback_configs import PostbackConfigs
from gateway_async.resources.product_files import ProductFiles
from gateway_async.resources.quick_invoices import QuickInvoices
from gateway_async.resources.router_account_vaults import RouterAccountVaults
from gateway_async.resources.router_transactions import RouterTransactions
from gateway_async.resources.tokens import Tokens
from gateway_async.resources.transaction_batches import TransactionBatches
from gateway_async.resources.transactions import Transactions

__all__ = ["AsyncGateway", "Options"]

_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")


class Options(TypedDict, total=False):
    """The keyword options of `AsyncGateway`, for functions that pass them on."""

    developer_id: str
    credentials: Credentials
    location_id: str | None
    timeout: float
    terminal_timeout: float
    max_connections: int
    max_terminals: int
    terminal_lease: TerminalLease | None
    block_unsettled_terminals: bool
    max_attempts: int
    ledger: Ledger | None
    transport: httpx.AsyncBaseTransport | None
    verify: ssl.SSLContext | str | bool
    observers: Iterable[Observer]
    check_limits: bool


class AsyncGateway:
    """A client of the gateway: built once, used by any number of tasks, closed once.

        async with AsyncGateway(base_url, developer_id="…", credentials=UserApiKey("…", "…")) as gateway:
            vault = await gateway.account_vaults.get("…")

    Runs on asyncio and on trio. It holds no connection until its first call.

    Args:
        base_url: the gateway's address, without `/v2`.
        developer_id: identifies your company; sent with every request.
        credentials: who is calling.
        location_id: fills `location_id` where a create or an `ApiId` leaves it out.
        timeout: seconds in all for an ordinary call: attempts, waits and lookups.
        terminal_timeout: seconds a router call may stay open at the terminal.
        max_connections: ordinary calls under way at once; more wait.
        max_terminals: router calls held open at once, over connections of their own; more wait.
        terminal_lease: shares terminals with other processes and hosts, such as a `RedisTerminalLease`; one for each
            client, which closes it. Without it, only calls of this client wait for each other.
        block_unsettled_terminals: keep a terminal closed (`TerminalBusyError`) while an earlier call, of which nobody
            knows the outcome, may still be waiting there for a card, and while the ledger has an open intent on it.
        max_attempts: how often a call is tried at most, where trying again is safe.
        ledger: keeps every call that moves money or stores an account on disk before it is sent, and its outcome
            after, for `recover()`; such as a `SqliteLedger`. One for each client, which closes it.
        transport: any `httpx.AsyncBaseTransport` in place of the package's own, for a proxy or a test, say. What it
            reports as `httpx.ConnectError`, `ConnectTimeout` or `PoolTimeout` is believed to have never left: some
            transports say so of requests that were read, and are not fit for payments.
        verify: TLS certificates, as in httpx: True, an `ssl.SSLContext`, or a CA bundle's path.
        observers: callables that are told of every event (`gateway_async.observe`).
        check_limits: check lengths, required fields and rules before sending; wrong types are refused always.

    Attributes:
        account_vaults: stored cards and bank accounts.
        contacts: the customers of a location.
        paylinks: links by which a customer pays one amount.
        postback_configs: where the gateway tells of changes.
        product_files: file storage for a location.
        quick_invoices: itemised invoices that customers pay online.
        router_account_vaults: cards stored from a terminal.
        router_transactions: payments at a terminal.
        tokens: logging in and out by hand.
        transaction_batches: what is settled together.
        transactions: payments without a terminal, and what is done to any payment afterwards.

    Raises:
        InvalidRequestError: an argument cannot be right; `.problems` names every one.
    """

    def __init__(
        self,
        base_url: str,
        *,
        developer_id: str,
        credentials: Credentials,
        location_id: str | None = None,
        timeout: float = 30.0,
        terminal_timeout: float = 300.0,
        max_connections: int = 100,
        max_terminals: int = 5000,
        terminal_lease: TerminalLease | None = None,
        block_unsettled_terminals: bool = True,
        max_attempts: int = 3,
        ledger: Ledger | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: ssl.SSLContext | str | bool = True,
        observers: Iterable[Observer] = (),
        check_limits: bool = True,
    ) -> None:
        _check_arguments(
            base_url,
            developer_id=developer_id,
            credentials=credentials,
            observers=(observers := (*observers,) if isinstance(observers, Iterable) else (observers,)),
            positive={"timeout": timeout, "terminal_timeout": terminal_timeout},
            counts={
                "max_connections": max_connections,
                "max_terminals": max_terminals,
                "max_attempts": max_attempts,
            },
        )
        inner = transport or PooledTransport(
            max_connections=max_connections, max_terminals=max_terminals, verify=verify
        )
        client = httpx.AsyncClient(transport=SignedTransport(inner), trust_env=False)
        http = Http(client, base_url.rstrip("/"), credentials, developer_id)
        self._sender = Sender(
            http,
            timeout=timeout,
            terminal_timeout=terminal_timeout,
            max_terminals=max_terminals,
            terminal_lease=terminal_lease,
            block_unsettled_terminals=block_unsettled_terminals,
            max_attempts=max_attempts,
            ledger=ledger,
            observers=observers,
        )
        scope = Scope(location_id, check_limits, _new_id, base_url.rstrip("/"))
        self._base_url = base_url
        self._location_id = location_id
        self._address = http.gateway
        self._has_ledger = ledger is not None
        self.account_vaults = AccountVaults(self._sender, scope)
        self.contacts = Contacts(self._sender, scope)
        self.paylinks = Paylinks(self._sender, scope)
        self.postback_configs = PostbackConfigs(self._sender, scope)
        self.product_files = ProductFiles(self._sender, scope)
        self.quick_invoices = QuickInvoices(self._sender, scope)
        self.router_account_vaults = RouterAccountVaults(self._sender, scope)
        self.router_transactions = RouterTransactions(self._sender, scope)
        self.tokens = Tokens(self._sender)
        self.transaction_batches = TransactionBatches(self._sender, scope)
        self.transactions = Transactions(self._sender, scope)

    @classmethod
    def from_env(cls, **options: Unpack[Options]) -> Self:
        """A client from the environment; `options` are those of the constructor.

        Reads `GATEWAY_BASE_URL`, `GATEWAY_DEVELOPER_ID`, `GATEWAY_USER_ID`, `GATEWAY_USER_API_KEY` and, where it is
        set, `GATEWAY_LOCATION_ID`.

        Raises:
            InvalidRequestError: a variable is missing; `.problems` names every one.
        """
        names = ("GATEWAY_BASE_URL", "GATEWAY_DEVELOPER_ID", "GATEWAY_USER_ID", "GATEWAY_USER_API_KEY")
        missing = [f"{name}: is not set in the environment" for name in names if not os.environ.get(name)]
        if missing:
            raise InvalidRequestError(missing)
        base_url, developer_id, user_id, user_api_key = (os.environ[name] for name in names)
        options.setdefault("credentials", UserApiKey(user_id, user_api_key))
        options.setdefault("location_id", os.environ.get("GATEWAY_LOCATION_ID") or None)
        options.setdefault("developer_id", developer_id)
        return cls(base_url, **options)

    @property
    def base_url(self) -> str:
        """The gateway's address, in the one form that all its spellings have."""
        return self._address

    @property
    def location_id(self) -> str | None:
        """What fills `location_id` where a create or an `ApiId` leaves it out."""
        return self._location_id

    def observing(self, observer: Observer) -> AbstractContextManager[None]:
        """Have one more observer, for the time of a `with` block.

        Raises:
            InvalidRequestError: it is no plain function.
        """
        if not _is_plain(observer):
            raise InvalidRequestError("observer: must be a plain function, not an async one")
        return self._sender.observing(observer)

    async def recover(self, *, wait: float = 30.0) -> list[Recovered]:
        """Find out what became of every call that the ledger has an open intent of: what a crash left behind.

        Await it when your program starts. Each is looked up, and nothing is sent again. What is found or certainly not
        made is settled in the ledger; the rest stays open for the next time. Calls that this client has under way are
        left alone, and other processes may use the ledger and recover at the same time.

        Args:
            wait: seconds to wait at most for what is not there and may still arrive. After a crash that is 30 seconds,
                as long as no other process has the ledger open; a terminal may take a card for as long as
                `terminal_timeout`, and longer than that nothing is in doubt.

        Returns:
            One `Recovered` for each, the oldest first.

        Raises:
            InvalidRequestError: the client has no ledger, or `wait` is no number from 0.
            LedgerError: the ledger cannot be read.
            NotSentError: the client is closed.
        """
        if not self._has_ledger:
            raise InvalidRequestError("ledger: the client was made without one")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0:
            raise InvalidRequestError("wait: must be a number of seconds from 0")
        return await self._sender.recover(lookup_of, wait)

    async def aclose(self) -> None:
        """Revoke the token of a `PasswordLogin`, close every connection and the ledger.

        Calls after it raise `ClientClosedError`; a second close is harmless.
        """
        await self._sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncGateway({self._base_url!r})"


def _new_id() -> str:
    """An integrator id that nobody has: letters only, since a run of digits could pass for a card number."""
    return uuid.uuid4().hex.translate(_LETTERS)


def _check_arguments(
    base_url: str,
    *,
    developer_id: str,
    credentials: Credentials,
    observers: tuple[Observer, ...],
    positive: dict[str, float],
    counts: dict[str, int],
) -> None:
    problems = [
        f"{name}: must be a number of seconds above 0" for name, value in positive.items() if not _above_0(value)
    ]
    problems += [f"{name}: must be a whole number above 0" for name, value in counts.items() if not _is_count(value)]
    problems += [f"base_url: {problem}" for problem in _address_problems(base_url)]
    if not is_header_text(developer_id):
        problems.append("developer_id: must be printable ASCII text, not empty, without spaces around it")
    if not all(map(_is_plain, observers)):
        problems.append("observers: each must be a plain function, not an async one")
    if not isinstance(credentials, Credentials):
        problems.append(f"credentials: must be one of {', '.join(kind.__name__ for kind in get_args(Credentials))}")
    if problems:
        raise InvalidRequestError(problems)


def _is_plain(observer: Observer) -> bool:
    return callable(observer) and not is_async(observer)


def _above_0(value: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_count(value: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _address_problems(base_url: str) -> Iterator[str]:
    try:
        url = httpx.URL(base_url)
    except (TypeError, ValueError, httpx.InvalidURL):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment or url.userinfo:
        yield 'must be an http or https address, such as "https://api.example.test"'
    elif url.path.rstrip("/").endswith("/v2"):
        yield "leave /v2 out; it is part of every path"
