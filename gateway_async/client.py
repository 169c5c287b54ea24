"""`AsyncGateway`: build the client and all its parts, and close them."""

import os
import ssl
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from copy import copy
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Final, Literal, Self, TypedDict, Unpack, get_args

import httpx

from gateway_async._arguments import check_numbers, is_loopback, number_problems
from gateway_async._execution.circuit_breaker import CircuitBreaker
from gateway_async._execution.events import TraceHeaders
from gateway_async._execution.execute import CallExecutor
from gateway_async._execution.http_client import HttpClient
from gateway_async._http.proxy import Proxy
from gateway_async._http.transport import DirectClient, PooledTransport, load_certificates
from gateway_async._secrets import Secret, seal
from gateway_async._wire.reply import Reply
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.untyped import free_request
from gateway_async.credentials import Credentials, UserApiKey, is_header_text
from gateway_async.errors import InsecureConnectionWarning, InvalidRequestError
from gateway_async.leases import TerminalLease
from gateway_async.ledger.protocol import Ledger, Recovered
from gateway_async.ledger.reconciliation.reconciler import Period, Reconciler
from gateway_async.ledger.reconciliation.result import Reconciliation
from gateway_async.observe import Observer, is_async
from gateway_async.resources import RESOURCES, Resources, lookup_of
from gateway_async.resources._untyped import UntypedResource, untyped_resource
from gateway_async.telemetry.health import Health, Readiness, probe

__all__ = ["AsyncGateway", "Options"]

_ID_BYTES: Final = 16  # as many as a UUID, which makes the id unique
_DIGIT_TRANSLATION: Final = str.maketrans("0123456789", "ghijklmnop")


class Options(TypedDict, total=False):
    """Keyword options of `AsyncGateway`, for functions that pass them on."""

    developer_id: str
    credentials: Credentials
    location_id: str | None
    timeout: float
    terminal_timeout: float
    max_connections: int
    max_terminals: int
    terminal_lease: TerminalLease | None
    block_unresolved_terminals: bool
    in_doubt_seconds: float
    max_attempts: int
    circuit_breaker: CircuitBreaker | None
    ledger: Ledger | None
    proxy: str | None
    transport: httpx.AsyncBaseTransport | None
    verify: ssl.SSLContext | str | PathLike[str] | bool
    observers: Iterable[Observer]
    trace_headers: TraceHeaders | None
    check_limits: bool
    allow_http: bool


class AsyncGateway(Resources):
    """An async client of the gateway.

    Build it once, share it between any number of tasks, and close it once.

        async with AsyncGateway(base_url, developer_id="…", credentials=UserApiKey("…", "…")) as gateway:
            vault = await gateway.account_vaults.get("…")

    The client runs on asyncio and on trio. It opens no connection before the first call.

    Args:
        base_url: the gateway's address, without `/v2`.
        developer_id: identifies your company, in every request.
        credentials: the credentials that every call is made with.
        location_id: default `location_id` for creates and for an `ApiId` without one.
        timeout: total seconds for an ordinary call, including attempts, waits and lookups.
        terminal_timeout: seconds a router call may stay open at the terminal. A lookup may take 10 more.
        max_connections: maximum number of concurrent ordinary calls; more wait.
        max_terminals: maximum number of router calls that run or wait for a lease at the same time, over their own
            connections; more wait.
        terminal_lease: shares terminals with other processes and hosts, such as a `RedisTerminalLease`. Each client
            needs its own and closes it. Without it, only calls of this client wait for each other.
        block_unresolved_terminals: reject calls for a terminal (`TerminalBusyError`) while an earlier call with an
            unknown outcome may still wait there for a card, and while the ledger has an open intent for it.
        in_doubt_seconds: seconds after its last attempt in which the gateway may still execute a write. At a
            terminal, the client adds 300 seconds from when the call was sent: the time that the contract gives a
            device, whatever `terminal_timeout` is. A write that is not found before then stays unknown. The value is an
            assumption: the longest wait that the gateway's documents show is 99 seconds.
        max_attempts: maximum number of attempts for a call, where a retry is safe.
        circuit_breaker: rejects new writes at once (`NotSentError`) while the gateway is unreachable. Without it, each
            write tries to connect.
        ledger: records every call that moves money or stores an account, such as a `SqliteLedger`. The intent is on
            disk before the call is sent; the outcome follows. `recover()` needs it. Each client needs its own and
            closes it.
        proxy: an HTTP proxy for all connections (CONNECT): `"http://proxy.example:3128"` or
            `"http://user:password@proxy.example:3128"`. If it refuses, a call raises `NotSentError`. A gateway on this
            machine is reached directly. Environment variables such as `HTTPS_PROXY` are not read.
        transport: any `httpx.AsyncBaseTransport` in place of the package's own, for example in a test. The client
            trusts that a request which fails with `httpx.ConnectError`, `ConnectTimeout`, `PoolTimeout` or `ProxyError`
            was not sent. For payments, do not use a transport that raises these for requests the server has read.
        verify: which TLS certificates to trust: True (certifi's authorities), the path of a CA bundle or of a
            folder of them, which is read now, or an `ssl.SSLContext`, which is used unchanged. False trusts every
            certificate and warns (`InsecureConnectionWarning`). Environment variables (`SSL_CERT_FILE`,
            `SSLKEYLOGFILE`) are not read.
        observers: callables that receive every event (`gateway_async.observe`).
        trace_headers: returns the headers `traceparent`, `tracestate` and `baggage` of each request, such as the
            function of this name in `gateway_async.telemetry`. Other headers are ignored. None sends no such header.
        check_limits: check lengths, required fields and rules before sending. Wrong types are always rejected.
        allow_http: allow a plain HTTP `base_url` on another machine. Card numbers and keys can then be read on the
            network. This machine (`localhost`, `127.0.0.0/8`, `::1`) is always allowed.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` names every one.
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
        block_unresolved_terminals: bool = True,
        in_doubt_seconds: float = 120.0,
        max_attempts: int = 3,
        circuit_breaker: CircuitBreaker | None = None,
        ledger: Ledger | None = None,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: ssl.SSLContext | str | PathLike[str] | bool = True,
        observers: Iterable[Observer] = (),
        trace_headers: TraceHeaders | None = None,
        check_limits: bool = True,
        allow_http: bool = False,
    ) -> None:
        observers = (*observers,) if isinstance(observers, Iterable) else (observers,)
        seconds: Any = {"timeout": timeout, "terminal_timeout": terminal_timeout, "in_doubt_seconds": in_doubt_seconds}
        counts: Any = {"max_connections": max_connections, "max_terminals": max_terminals, "max_attempts": max_attempts}
        address_problems = [f"base_url: {problem}" for problem in _address_problems(base_url, allow_http)]
        if address_problems:
            base_url = ""  # it may have a password, and an error's traceback shows local variables
        problems = [
            *number_problems("seconds", above=0, finite=False, **seconds),
            *number_problems(whole=True, above=0, **counts),
            *address_problems,
            *_object_problems(developer_id, credentials, observers, trace_headers),
            *_scope_problems(location_id),
            *_flag_problems(
                check_limits=check_limits, allow_http=allow_http, block_unresolved_terminals=block_unresolved_terminals
            ),
            *_interface_problems(ledger=ledger, terminal_lease=terminal_lease, transport=transport),
        ]
        if not isinstance(circuit_breaker, CircuitBreaker | None):
            problems.append("circuit_breaker: must be a CircuitBreaker")
        if proxy is not None and transport is not None:
            problems.append("proxy: not possible with a transport (expected one of them)")
        http_proxy, proxy_problem = (None, "") if proxy is None else Proxy.parse(proxy)
        proxy = None  # as above
        if proxy_problem:
            problems.append(f"proxy: {proxy_problem}")
        trusted, verify_problem = load_certificates(verify) if transport is None else (True, "")
        if verify_problem:
            problems.append(f"verify: {verify_problem}")
        if not problems and is_loopback(httpx.URL(base_url).host):
            http_proxy = None  # this machine, which the proxy cannot reach; its plain http would leave the machine
        if problems:
            del credentials, ledger, terminal_lease  # instead of objects they may be a key, or an address
            raise InvalidRequestError(problems)
        if verify is False and transport is None:
            warning = f"verify=False: any server can impersonate {base_url} and read card numbers and keys"
            warnings.warn(warning, InsecureConnectionWarning, stacklevel=2)
        inner = transport or PooledTransport(
            max_connections=max_connections, max_terminals=max_terminals, verify=trusted, proxy=http_proxy
        )
        http = HttpClient(DirectClient(inner), base_url.rstrip("/"), credentials, developer_id, trace_headers)
        executor = CallExecutor(
            http,
            timeout=timeout,
            terminal_timeout=terminal_timeout,
            max_terminals=max_terminals,
            terminal_lease=terminal_lease,
            block_unresolved_terminals=block_unresolved_terminals,
            in_doubt_seconds=in_doubt_seconds,
            max_attempts=max_attempts,
            circuit_breaker=circuit_breaker,
            ledger=ledger,
            observers=observers,
        )
        super().__init__(executor, RequestDefaults(location_id, check_limits, _new_id, base_url.rstrip("/")))
        self._address = http.gateway
        self._transport = inner
        self._ledger = ledger
        self._is_view = False

    @classmethod
    def from_env(cls, **options: Unpack[Options]) -> Self:
        """Create a client from environment variables; `options` go to the constructor.

        Reads `GATEWAY_BASE_URL`, `GATEWAY_DEVELOPER_ID`, `GATEWAY_USER_ID` and `GATEWAY_USER_API_KEY`.
        `GATEWAY_LOCATION_ID` and `GATEWAY_PROXY` are optional. `GATEWAY_ALLOW_HTTP=1` is the option `allow_http=True`.

        Raises:
            InvalidRequestError: a variable is missing or invalid; `.problems` names every one.
        """
        names = ("GATEWAY_BASE_URL", "GATEWAY_DEVELOPER_ID", "GATEWAY_USER_ID", "GATEWAY_USER_API_KEY")
        problems = [f"{name}: is not set in the environment" for name in names if not os.environ.get(name)]
        allow_http = os.environ.get("GATEWAY_ALLOW_HTTP") or "0"
        if allow_http not in ("0", "1"):
            problems.append("GATEWAY_ALLOW_HTTP: invalid value (expected 1 or 0)")
        if problems:
            raise InvalidRequestError(problems)
        # No local variable has the key or an address, because an error's traceback shows local variables.
        key = Secret(os.environ["GATEWAY_USER_API_KEY"])
        options.setdefault("credentials", UserApiKey(os.environ["GATEWAY_USER_ID"], key))
        options.setdefault("location_id", os.environ.get("GATEWAY_LOCATION_ID") or None)
        options.setdefault("developer_id", os.environ["GATEWAY_DEVELOPER_ID"])
        if "transport" not in options:
            options.setdefault("proxy", os.environ.get("GATEWAY_PROXY") or None)
        options.setdefault("allow_http", allow_http == "1")
        try:
            return cls(os.environ["GATEWAY_BASE_URL"], **options)
        finally:
            del options  # as above

    @property
    def base_url(self) -> str:
        """The gateway's address in its normalized spelling."""
        return self._address

    @property
    def location_id(self) -> str | None:
        """Default `location_id` for creates and for an `ApiId` without one."""
        return self._defaults.location_id

    def with_options(
        self,
        *,
        timeout: float | None = None,
        terminal_timeout: float | None = None,
        max_attempts: int | None = None,
        location_id: str | None = None,
        check_limits: bool | None = None,
    ) -> Self:
        """Get a view of this client with other options, for single calls.

            vault = await gateway.with_options(timeout=5, max_attempts=1).account_vaults.get("…")

        The view shares the connections, the credentials, the ledger, the terminals, the retry budget, the circuit
        breaker and the observers. It is cheap, and ends with the client that it came from: closing a view does nothing.
        A view can have views. Omitted options stay as they are. All options mean the same as in the constructor.

        Args:
            timeout: total seconds for an ordinary call, including the lookup of a lost response.
            terminal_timeout: seconds a router call may stay open at the terminal. A lookup may take 10 more.
            max_attempts: maximum number of attempts for a call. A lookup keeps the attempts of the client.
            location_id: default `location_id` for creates and for an `ApiId` without one.
            check_limits: check lengths, required fields and rules before sending.

        Raises:
            InvalidRequestError: an option is invalid; `.problems` names every one.
        """
        seconds: Any = {"timeout": timeout, "terminal_timeout": terminal_timeout}
        problems = [
            *number_problems("seconds", above=0, finite=False, optional=True, **seconds),
            *number_problems(whole=True, above=0, optional=True, max_attempts=max_attempts),
            *_scope_problems(location_id),
            *(() if check_limits is None else _flag_problems(check_limits=check_limits)),
        ]
        if problems:
            raise InvalidRequestError(problems)
        view = copy(self)
        for name in RESOURCES:
            vars(view).pop(name, None)  # a resource that is in use has the client's options
        vars(view).update(
            _executor=self._executor.with_limits(
                timeout=timeout, terminal_timeout=terminal_timeout, max_attempts=max_attempts
            ),
            _defaults=self._defaults.with_options(location_id, check_limits),
            _is_view=True,
        )
        return view

    def resource(self, plural: str, *, name: str, api_id: str | None = None) -> UntypedResource:
        """A resource without models in this package; its records and requests are mappings.

            plans = gateway.resource("plans", name="plan", api_id="plan_api_id")
            plan = await plans.create({"title": "Tea", "transaction_amount": "12.50"})
            print(plan["title"])

        Lookups, deadlines, paging and errors are the same as for the typed resources.

        Args:
            plural: the resource's path without `/v2/`, and the JSON key of its lists.
            name: the JSON key of a single record.
            api_id: the field that holds the integrator id, if the resource has one. Without it, a create whose response
                is lost cannot be looked up, and a ledger does not record it.

        Raises:
            InvalidRequestError: a name is invalid, or the resource needs methods of its own.
        """
        return untyped_resource(self._executor, self._defaults, plural, name, api_id)

    async def request(
        self,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        kind: Literal["read", "write"] | None = None,
    ) -> Reply:
        """Send a single request to any path, and return the response.

            reply = await gateway.request("GET", "/v2/locationinfos", params={"relationship": "all"})
            print(reply.status_code, reply.json()["locationinfos"])

        A GET is a read, which is sent again after a failure. Any other method is a write, which is sent again only if
        it was certainly not sent. Its outcome is neither looked up nor recorded in the ledger.

        Args:
            method: the HTTP method.
            path: the percent-encoded path, from `/v2/` or `/custom/`, without host and query.
            params: query parameters, converted like filters.
            body: the JSON body with its wrapper, such as `{"plan": {"title": "Tea"}}`. Values of sensitive fields are
                masked in errors and logs.
            kind: `"read"` if a method other than GET only reads, `"write"` if a GET has effects.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            StatusError: the gateway refuses; the class depends on the status.
            OutcomeUnknownError: a write may have been executed.
        """
        sealed_path, body, params = Secret(path), seal(body), seal(params)
        del path  # an error's traceback shows local variables
        return await self._executor.execute(free_request(method, sealed_path, params or {}, body, kind))

    def observing(self, observer: Observer) -> AbstractContextManager[None]:
        """Add an observer for the duration of a `with` block.

        Raises:
            InvalidRequestError: the observer is async or is not callable.
        """
        if not _is_plain(observer):
            raise InvalidRequestError("observer: must be a plain function, not an async one")
        return self._executor.observing(observer)

    def health(self) -> Health:
        """The load of this client: connections, queues, retries, and unknown outcomes so far.

        It sends nothing and is cheap enough to call every second.
        """
        pooled = self._transport if isinstance(self._transport, PooledTransport) else None
        uses = (None if pooled is None else pooled.pool_use(name) for name in ("ordinary", "terminal"))
        return self._executor.health(*uses)

    async def check(self, *, timeout: float = 5.0) -> Readiness:  # noqa: ASYNC109  it raises nothing when it is over
        """Check that calls can work now, with one read from the gateway and one from the ledger.

        For a readiness probe: problems are returned, not raised. The read is not repeated, and nothing is written.
        Credentials that may not list contacts are accepted.

        Args:
            timeout: maximum seconds for the gateway, and once more for the ledger.

        Raises:
            InvalidRequestError: `timeout` is not a number above 0.
        """
        view = self.with_options(timeout=timeout, max_attempts=1)
        contacts = view.contacts.list()
        count_open_intents = None if self._ledger is None else self._executor.count_open_intents
        return await probe(contacts.first, count_open_intents, timeout)

    async def recover(self, *, wait: float | None = 30.0) -> list[Recovered]:
        """Find the outcome of every open intent in the ledger.

        Await it when your program starts, to resolve the calls that a crash interrupted. It looks up each call and
        sends nothing again. The ledger records each call that was found or was certainly not executed; the rest stay
        open for the next `recover()`. Calls that this client is making are left alone. Other processes may use the
        ledger and recover at the same time.

        Args:
            wait: maximum seconds to wait for a call that is not found and may still be executed; None waits until no
                call may. A call is in doubt for `in_doubt_seconds`, at a terminal for 300 seconds more, counted on a
                monotonic clock from when this client sent it or first saw its intent. If another process that may
                still be running sent it, the time for its attempts is added. A shorter `wait` finds what was executed;
                to find out that something was not, await it again with the same client.

        Returns:
            One `Recovered` for each open intent, oldest first.

        Raises:
            InvalidRequestError: the client has no ledger, or `wait` is not a number from 0.
            LedgerError: the ledger cannot be read.
            NotSentError: the client is closed.
        """
        if self._ledger is None:
            raise InvalidRequestError("ledger: the client has none")
        if wait is not None:
            check_numbers("seconds", minimum=0, finite=False, wait=wait)
        return await self._executor.recover(lookup_of, wait)

    async def reconcile(
        self, since: datetime, until: datetime | None = None, *, margin: float = 900.0, page_size: int = 1000
    ) -> Reconciliation:
        """Compare the ledger's payments with the gateway's, and report the discrepancies.

            result = await gateway.reconcile(since=datetime.now(UTC) - timedelta(days=1))
            print(result)

        It only reads. It compares the transactions of the client's location, or of all locations if it has none, by
        their ids, directions and amounts, but not stored accounts or recurring plans. A payment that only the ledger
        has is read by its id before it is reported. Memory does not grow with the number of payments, because both
        sides are joined in a temporary SQLite table.

        A payment belongs to the period in which its call was sent or, if only the gateway has it, in which it was
        created.

        Args:
            since: start of the period, with a time zone. The ledger must keep its intents (`keep_days`) for longer.
            until: end of the period (exclusive), with a time zone. None is now.
            margin: maximum seconds between a call's time in the ledger and its payment's at the gateway. It must
                exceed the difference of their clocks plus the duration of a call, including `terminal_timeout`.
            page_size: transactions in each page of the list, at most 5000.

        Raises:
            InvalidRequestError: the client has no ledger, the ledger is not a `ReadableLedger` or does not keep its
                intents long enough, or an argument is invalid.
            LedgerError: the ledger cannot be read.
            GatewayError: the gateway cannot be read.
        """
        if self._ledger is None:
            raise InvalidRequestError("ledger: the client has none")
        check_numbers(whole=True, minimum=1, maximum=5000, page_size=page_size)
        period = Period.between(since, until, margin)
        self._executor.check_usable("reconcile()")
        reconciler = Reconciler(
            self.transactions,
            self.transaction_batches,
            self._ledger,
            gateway=self._address,
            location_id=self.location_id,
            period=period,
        )
        return await reconciler.reconcile(page_size)

    async def aclose(self) -> None:
        """Revoke the token of a `PasswordLogin`; close all connections and the ledger.

        Later calls raise `ClientClosedError`. Closing twice is harmless. Closing a view (`with_options`) does nothing.

        Raises:
            NotSentError: nothing was closed: the client was used in another event loop, and has to be closed there.
            LedgerError: the ledger could not be closed, within 20 seconds.
            GatewayError: the connections (10 seconds) or the terminal lease (4 seconds) could not be closed in time.
                The other parts are closed nevertheless.
        """
        if not self._is_view:
            await self._executor.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncGateway({vars(self).get('_address', '')!r})"  # also of a client whose arguments are wrong


def _new_id() -> str:
    """Generate a unique integrator id of letters only.

    A run of digits could be mistaken for a card number.
    """
    return os.urandom(_ID_BYTES).hex().translate(_DIGIT_TRANSLATION)


def _object_problems(
    developer_id: str,
    credentials: Credentials,
    observers: Iterable[Observer],
    trace_headers: TraceHeaders | None,
) -> Iterator[str]:
    if not is_header_text(developer_id):
        yield "developer_id: must be printable ASCII text, not empty, without spaces around it"
    if not all(map(_is_plain, observers)):
        yield "observers: each must be a plain function, not an async one"
    if trace_headers is not None and not _is_plain(trace_headers):
        yield "trace_headers: must be a plain function, not an async one"
    if not isinstance(credentials, Credentials):
        yield f"credentials: must be one of {', '.join(kind.__name__ for kind in get_args(Credentials))}"


def _scope_problems(location_id: object) -> Iterator[str]:
    is_id = isinstance(location_id, str) and location_id.split() == [location_id]
    if not (is_id or location_id is None):
        yield "location_id: must be an id"


def _flag_problems(**flags: object) -> Iterator[str]:
    yield from (f"{name}: must be True or False" for name, flag in flags.items() if not isinstance(flag, bool))


_INTERFACES: Final = {
    "ledger": ("record_intent", "a ledger, such as SqliteLedger('payments.db')"),
    "terminal_lease": ("acquire", "a lease, such as RedisTerminalLease(…)"),
    "transport": ("handle_async_request", "an httpx.AsyncBaseTransport"),
}
"""Option → a method that its object has, and what it must be."""


def _interface_problems(**options: object) -> Iterator[str]:
    for name, given in options.items():
        method, expected = _INTERFACES[name]
        if given is not None and (isinstance(given, type) or not hasattr(given, method)):
            yield f"{name}: must be {expected}"


def _is_plain(callback: object) -> bool:
    return callable(callback) and not is_async(callback)


def _address_problems(base_url: str, allow_http: bool) -> Iterator[str]:
    try:
        url = httpx.URL(base_url)
        host = url.host  # a host that IDNA cannot decode is a ValueError
    except (TypeError, ValueError, httpx.InvalidURL):
        url, host = httpx.URL(""), ""
    is_port = url.port is None or 0 < url.port < 65_536  # noqa: PLR2004
    is_address = url.scheme in ("http", "https") and host and is_port and not url.userinfo
    if not is_address or "?" in base_url or "#" in base_url:
        yield 'must be an http or https address, such as "https://api.example.test"'
    elif url.path.rstrip("/").endswith("/v2"):
        yield "leave /v2 out; it is part of every path"
    elif url.scheme == "http" and not (allow_http or is_loopback(host)):
        yield "plain http exposes card numbers and keys (expected https, allow_http=True or GATEWAY_ALLOW_HTTP=1)"
