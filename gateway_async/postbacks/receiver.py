"""`PostbackReceiver`: parses postback requests and passes typed records to your handlers (contract, *Events*).

    receiver = PostbackReceiver(username="…", password="…")

    @receiver.on("transaction")
    async def handle(postback: Postback[Transaction]) -> None: ...

    app.mount("/postbacks", receiver.asgi)

Without an inbox, a postback is acknowledged (204) once its handlers have succeeded. With an inbox, it is acknowledged
once it is stored; its handlers run afterwards, and failed ones are retried. After any status other than 2xx, the
gateway delivers the postback again.

| request | status |
|---|---|
| a postback that was handled or stored, or that no handler matches | 204 |
| not a postback | 400 |
| missing or wrong credentials | 401 |
| a peer outside the allowed networks | 403 |
| a method other than POST | 405 |
| a body that does not arrive in time | 408 |
| a body that is too large | 413 |
| more than `max_per_second` | 429 |
| a handler failed or timed out (without an inbox) | 500 |
| the inbox cannot be used | 503 |
"""

import logging
import traceback
from collections import Counter
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, overload

import anyio

from gateway_async._arguments import number_problems
from gateway_async._background import BackgroundTask
from gateway_async._secrets import mask_text, strip_traceback
from gateway_async._text import describe_error, pluralize
from gateway_async._wire.postback import (
    BasicCredentials,
    Passwords,
    by_lower_name,
    credentials_problems,
    read_postback,
    seal_passwords,
)
from gateway_async.errors import InboxError, InvalidRequestError, PostbackRefusedError
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import PostbackResource, PostbackType
from gateway_async.models.contacts import Contact
from gateway_async.models.postbacks import Postback
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction
from gateway_async.observe import logger
from gateway_async.postbacks.handlers import Handlers
from gateway_async.postbacks.http.adapters import AsgiApp, handle_request
from gateway_async.postbacks.http.body import as_bytes, check_size, header_items, read_postback_body
from gateway_async.postbacks.http.networks import AllowedNetworks, Network, network_problems
from gateway_async.postbacks.http.rate_limit import RateLimit
from gateway_async.postbacks.http.response import ReceiverResponse
from gateway_async.postbacks.inbox.protocol import Inbox
from gateway_async.postbacks.keyed_lock import KeyedLock
from gateway_async.postbacks.missed import CatchUpResult, GatewayLists, catch_up
from gateway_async.postbacks.worker import HandlerResults, Worker
from gateway_async.telemetry.health import InboxHealth, ReceiverHealth

if TYPE_CHECKING:
    from aiohttp import web

_DEFAULT_MAX_BYTES: Final = 1_048_576
_RESTART_SECONDS: Final = 10.0
_UNAUTHENTICATED: Final = (401, 403, 405)
"""Rejections that any stranger can cause. All others may be lost payment events, so they are logged as warnings."""

OfContacts = TypeVar("OfContacts", bound=Callable[[Postback[Contact]], Awaitable[None]])
OfTransactions = TypeVar("OfTransactions", bound=Callable[[Postback[Transaction]], Awaitable[None]])
OfBatches = TypeVar("OfBatches", bound=Callable[[Postback[TransactionBatch]], Awaitable[None]])
OfVaults = TypeVar("OfVaults", bound=Callable[[Postback[AccountVault]], Awaitable[None]])
OfAnything = TypeVar("OfAnything", bound=Callable[[Postback[Any]], Awaitable[None]])


class PostbackReceiver:
    """Receives postbacks, validates them and calls your handlers.

    Args:
        username: the user name of the Basic credentials in the postback config.
        password: the password of these credentials. Give several to accept each of them while you change the password
            of the config.
        allow_unauthenticated: accept requests without credentials, instead of `username` and `password`. Then anyone
            who finds the address can forge postbacks.
        inbox: stores postbacks until they are handled. With None, each is handled while its sender waits.
        max_bytes: the largest accepted body, in bytes.
        max_attempts: how often a postback of the inbox is tried before it is marked as dead.
        concurrency: how many postbacks of the inbox are handled at once.
        handler_seconds: the time limit for all handlers of one postback together. After it, they are cancelled, which
            counts as a failure. Without an inbox, it includes the wait for earlier postbacks of the same record.
        body_seconds: how long a body may take to arrive.
        allowed_networks: the networks of the gateway, such as `["203.0.113.0/24"]`. Any other peer gets 403. The peer's
            address is what the server reports: behind a proxy, the proxy's, unless the server is configured to take it
            from the proxy's headers. None allows every peer.
        max_per_second: how many requests with the right credentials are read per second, in this process. Any more
            get 429 with `Retry-After`, and the gateway delivers them again. None allows any number.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` names every one.
    """

    def __init__(
        self,
        username: str | None = None,
        password: Passwords | None = None,
        *,
        allow_unauthenticated: bool = False,
        inbox: Inbox | None = None,
        max_bytes: int = _DEFAULT_MAX_BYTES,
        max_attempts: int = 10,
        concurrency: int = 16,
        handler_seconds: float = 300.0,
        body_seconds: float = 30.0,
        allowed_networks: Collection[Network] | None = None,
        max_per_second: float | None = None,
    ) -> None:
        password = seal_passwords(password)  # an error's traceback shows local variables
        counts: Any = {"max_bytes": max_bytes, "max_attempts": max_attempts, "concurrency": concurrency}
        seconds: Any = {"handler_seconds": handler_seconds, "body_seconds": body_seconds}
        problems = [
            *number_problems(whole=True, above=0, **counts),
            *number_problems("seconds", above=0, finite=False, **seconds),
            *number_problems(above=0, optional=True, max_per_second=max_per_second),
            *network_problems(allowed_networks),
            *credentials_problems(username, password),
        ]
        if inbox is not None and not hasattr(inbox, "store"):
            problems.append("inbox: must be an inbox, such as SqliteInbox('inbox.db')")
        if allow_unauthenticated and not (username is None and password is None):
            problems.append("allow_unauthenticated: not possible with a username and a password")
        if not allow_unauthenticated and username is None and password is None:
            problems.append("username, password: required, unless allow_unauthenticated=True accepts any sender")
        if problems:
            inbox = None  # it may be an address with a password
            raise InvalidRequestError(problems)
        self._networks = AllowedNetworks(allowed_networks)
        self._credentials = BasicCredentials(username, password)
        self._rate_limit = RateLimit(max_per_second)
        self._inbox = inbox
        self._max_bytes = max_bytes
        self._handler_seconds = handler_seconds
        self._body_seconds = body_seconds
        self._handlers = Handlers()
        self._locks = KeyedLock()
        self._results = HandlerResults()
        self._responses = Counter[int]()
        self._worker = (
            Worker(
                inbox,
                self._handlers.handle,
                max_attempts=max_attempts,
                concurrency=concurrency,
                handler_seconds=handler_seconds,
                is_ready=lambda: bool(self._handlers),
                results=self._results,
            )
            if inbox is not None
            else None
        )
        self._is_running = False
        self._background: BackgroundTask | None = None
        self._warned_idle = False
        self.asgi: AsgiApp = AsgiApp(self.receive, self)
        """The receiver as an ASGI application. Mount it in FastAPI or Starlette, or serve it by itself."""

    # --- handlers

    @overload
    def on(
        self, resource: Literal["contact"], type: str | None = None, *, include_stale: bool = False
    ) -> Callable[[OfContacts], OfContacts]: ...
    @overload
    def on(
        self, resource: Literal["transaction"], type: str | None = None, *, include_stale: bool = False
    ) -> Callable[[OfTransactions], OfTransactions]: ...
    @overload
    def on(
        self, resource: Literal["transactionbatch"], type: str | None = None, *, include_stale: bool = False
    ) -> Callable[[OfBatches], OfBatches]: ...
    @overload
    def on(
        self, resource: Literal["accountvault"], type: str | None = None, *, include_stale: bool = False
    ) -> Callable[[OfVaults], OfVaults]: ...
    @overload
    def on(
        self, resource: str | None = None, type: str | None = None, *, include_stale: bool = False
    ) -> Callable[[OfAnything], OfAnything]: ...
    def on(self, resource: str | None = None, type: str | None = None, *, include_stale: bool = False) -> Any:  # noqa: A002  the gateway's name
        """Register an async function as a handler of postbacks.

        Used as a decorator, it returns the function unchanged. A postback is passed to every matching handler, in the
        order of registration.

        Args:
            resource: contact, transaction, transactionbatch, accountvault, or a word that this version does not know.
                None matches every resource, including those without a typed record.
            type: CREATE, UPDATE, DELETE, or a word that this version does not know. None matches every type.
            include_stale: with an inbox, receive even states of a record that are older than a handled one, such as a
                CREATE that arrives after an UPDATE.

        Raises:
            InvalidRequestError: the function is not async, or `on` was written without parentheses.
        """
        if callable(resource):
            raise InvalidRequestError("resource: must be text (expected parentheses: @receiver.on())")
        _warn_if_unknown(resource, type)

        def register(handler: Any) -> Any:
            self._handlers.add(resource, type, include_stale, handler)
            return handler

        return register

    async def handle(self, postback: Postback[Any]) -> None:
        """Call the matching handlers now.

        Postbacks of one record are handled one at a time. All matching handlers are called, even after one has failed.

        Raises:
            Exception: the exception of a handler, or an `ExceptionGroup` if several failed.
        """
        async with self._locks.of((postback.resource, postback.record_id or postback.key)):
            await self._handlers.handle(postback)

    # --- requests

    def parse(
        self, headers: Mapping[str, str], body: str | bytes | bytearray | memoryview, peer: str | None = None
    ) -> Postback[Any]:
        """Validate a POST request and return its postback.

        Nothing is handled or stored.

        Args:
            headers: the header fields; their names may be in any case.
            body: the complete body, as bytes or as text that is decoded already.
            peer: the IP address of the peer; `allowed_networks` needs it.

        Raises:
            PostbackRefusedError: wrong credentials, a network that is not allowed, too many requests, a body that is
                too large or not a postback, or an argument of another type (400). Respond with its `.status_code`,
                and with its `.retry_after` if that is 429.
        """
        try:
            return self._parse(headers, body, peer)
        except PostbackRefusedError as error:
            del headers, body  # an error's traceback shows local variables
            raise strip_traceback(error) from None

    def _parse(self, headers: object, body: object, peer: str | None) -> Postback[Any]:
        named = by_lower_name(header_items(headers))
        self._check_sender(named, peer)
        content = as_bytes(body)
        check_size(len(content), self._max_bytes)
        return read_postback(named, content)

    def _check_sender(self, headers: Mapping[str, str], peer: str | None) -> None:
        """Check what is known before the body is read.

        The rate comes last: strangers without credentials cannot use it up.
        """
        self._networks.check(peer)
        self._credentials.check(headers)
        self._rate_limit.check()

    async def receive(
        self, method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes], peer: str | None = None
    ) -> ReceiverResponse:
        """Process a request from any server and return the response.

        Args:
            method: the HTTP method, such as `"POST"`.
            headers: the header fields; their names may be in any case.
            chunks: the body, as it arrives. It is read only after the credentials were checked. A body that is too
                large is not read to its end.
            peer: the IP address of the peer; `allowed_networks` needs it.
        """
        response = await self._respond(method, headers, chunks, peer)
        self._responses[response.status_code] += 1
        return response

    async def _respond(
        self, method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes], peer: str | None
    ) -> ReceiverResponse:
        try:
            postback = await self._read(method, by_lower_name(headers.items()), chunks, peer)
        except PostbackRefusedError as error:
            level = logging.INFO if error.status_code in _UNAUTHENTICATED else logging.WARNING
            logger.log(level, "postback rejected with %d: %s", error.status_code, error.reason)
            return ReceiverResponse.refusal(error)
        return await self._store_or_handle(postback)

    async def aiohttp(self, request: "web.Request") -> "web.Response":
        """Handle a request of aiohttp's server: `app.router.add_post("/postbacks", receiver.aiohttp)`."""
        return await handle_request(self.receive, request)

    async def _read(
        self, method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes], peer: str | None
    ) -> Postback[Any]:
        if method != "POST":
            raise PostbackRefusedError(405, "postbacks use POST")
        self._check_sender(headers, peer)
        with anyio.move_on_after(self._body_seconds):
            return read_postback(headers, await read_postback_body(headers, chunks, self._max_bytes))
        allowed = f"{self._body_seconds:g} {pluralize(self._body_seconds, 'second')}"
        raise PostbackRefusedError(408, f"the body: not received within {allowed}")

    async def _store_or_handle(self, postback: Postback[Any]) -> ReceiverResponse:
        try:
            await self.accept(postback)
        except InboxError as error:
            logger.error("postback not stored, responded 503: %s", error)
            return ReceiverResponse.plain_text(503, "the inbox cannot be used")
        except Exception as error:  # noqa: BLE001  whatever a handler raises
            shown = mask_text("".join(traceback.format_exception(error)))
            logger.error("handler failed: %r\n%s", postback, shown)
            return ReceiverResponse.plain_text(500, "a handler failed")
        return ReceiverResponse(204)

    async def accept(self, postback: Postback[Any]) -> bool:
        """Store a postback, or handle it now without an inbox.

        The postback need not have arrived by HTTP.

        Returns:
            Whether it was new to the inbox; always True without an inbox.

        Raises:
            InboxError: the inbox cannot be used.
            Exception: without an inbox, the exception of a handler.
        """
        if self._inbox is None or self._worker is None:
            await self._handle_now(postback)
            return True
        new = await self._inbox.store(postback)
        self._worker.notify()
        if not (self._worker.is_running or self._warned_idle):
            self._warned_idle = True
            logger.warning("postbacks are stored but not handled here: enter `async with receiver:`")
        return new

    async def _handle_now(self, postback: Postback[Any]) -> None:
        try:
            with anyio.fail_after(self._handler_seconds):
                await self.handle(postback)
        except Exception:
            self._results.record_failure()
            raise
        self._results.record_success()

    # --- health

    async def health(self, *, timeout: float = 5.0) -> ReceiverHealth:  # noqa: ASYNC109  the seconds of a scope
        """Count the results so far and the load of the inbox.

        It is async, unlike `AsyncGateway.health()`, because it counts the inbox in its database. So the load is right
        even if other processes store or handle postbacks. If the inbox cannot be used, it does not raise: the result
        has an `inbox_problem`.

        Args:
            timeout: seconds to wait for the inbox.
        """
        inbox = problem = None
        if self._inbox is not None:
            problem = f"no response within {timeout:g} s"
            with anyio.move_on_after(timeout):
                inbox, problem = await _read_health(self._inbox)
        return ReceiverHealth(
            responses=dict(self._responses),
            handled=self._results.handled,
            failed=self._results.failed,
            last_handled_at=self._results.last_handled_at,
            is_working=self._worker is not None and self._worker.is_running,
            inbox=inbox,
            inbox_problem=problem,
        )

    # --- work

    async def work(self, *, until_empty: bool = False) -> None:
        """Handle postbacks from the inbox in the foreground.

        Use it in a separate worker process, for example. While no handler is registered, postbacks stay untouched.

        Args:
            until_empty: return when no postback is due.

        Raises:
            RuntimeError: the receiver has no inbox.
        """
        if self._worker is None:
            raise RuntimeError("work(): the receiver has no inbox")
        await self._worker.work(until_empty=until_empty)

    async def catch_up(self, gateway: GatewayLists, *, since: datetime) -> CatchUpResult:
        """List changed records and pass missed changes to the handlers.

        Use it because the gateway may not deliver every postback. Only resources that have handlers are listed: batches
        by when they were created and closed, the others by `modified_ts`. Deletions cannot be listed.

        A record that was created since then and is not known becomes a CREATE. A record whose last change is not known
        becomes an UPDATE. Both show the record as it is now, with `.caught_up` true.

        An inbox decides what was missed. Without an inbox, the handlers receive every listed record. Choose a `since`
        well before the last run, but not before the period that the inbox keeps (`keep_days`). The inbox passes no
        change on twice within that period, except for a batch that was closed since then, which has no time of change.
        If two changes happen within one second and only the first is known, comparing fields finds the second, one
        minute after the first arrived.

        Args:
            gateway: an `AsyncGateway`.
            since: an aware datetime; the gateway counts in whole seconds.

        Raises:
            InvalidRequestError: `since` is not an aware datetime.
            GatewayError: a list failed, or the inbox cannot be used. Changes that were passed on before are kept.
            ExceptionGroup: without an inbox, handlers failed; all other postbacks were handled.
        """
        return await catch_up(gateway, since, self._handlers.resources(), self.accept, stored=self._inbox is not None)

    async def __aenter__(self) -> Self:
        """Handle postbacks in the background until the block ends.

        The block may end in another task than the one that entered it, as it does in fixtures of pytest. The end of the
        block closes the inbox. The receiver can be entered again afterwards, for example by tests that
        start an application more than once. While no handler is registered, postbacks are stored and not handled.

        Raises:
            RuntimeError: the receiver is already entered.
        """
        if self._is_running:
            raise RuntimeError("the receiver is already running")
        if self._inbox is not None and self._worker is not None:
            if not self._handlers:
                logger.warning("postbacks are stored but not handled: the receiver has no handlers")
            self._inbox.reopen()
            self._background = BackgroundTask(partial(_keep_working, self._worker))
        self._is_running = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        background, self._background, self._is_running = self._background, None, False
        if background is None or self._inbox is None:
            return
        try:
            await background.stop()
        finally:
            await self._inbox.aclose()


async def _keep_working(worker: Worker) -> None:
    """Handle postbacks until cancelled. A worker that fails starts again, because its postbacks would wait forever."""
    while True:
        try:
            await worker.work()
        except Exception as error:  # noqa: BLE001  whatever an inbox raises
            shown = mask_text("".join(traceback.format_exception(error)))
            logger.error("the worker failed, it starts again in %g s\n%s", _RESTART_SECONDS, shown)
        await anyio.sleep(_RESTART_SECONDS)


async def _read_health(inbox: Inbox) -> tuple[InboxHealth | None, str | None]:
    try:
        return await inbox.health(), None
    except InboxError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001  an inbox of the user may raise anything
        return None, describe_error(error)


def _warn_if_unknown(resource: str | None, type_: str | None) -> None:
    """Warn of unknown words, because a typing error would silently drop postbacks."""
    for word, code in ((resource, PostbackResource), (type_, PostbackType)):
        if word is not None and not code(word).known:
            known = ", ".join(code)
            logger.warning("on(%r): unknown value (known: %s), the handler may never be called", word, known)
