"""`PostbackReceiver`: bytes in, typed records out, at your handlers (contract, *Events*).

    receiver = PostbackReceiver(username="…", password="…")

    @receiver.on("transaction")
    async def handle(postback: Postback[Transaction]) -> None: ...

    app.mount("/postbacks", receiver.asgi)

Without an inbox a postback is acknowledged (204) when its handlers have succeeded; with one, when it is stored, and the
handlers hear of it afterwards, as often as it takes. What is answered is the gateway's to act upon: it tries again
after everything but a 2xx.

| what comes | status |
|---|---|
| a postback, handled or stored, or one that no handler wants | 204 |
| no postback | 400 |
| no or wrong credentials | 401 |
| another method than POST | 405 |
| a body that does not come in time | 408 |
| a body that is too large | 413 |
| a handler failed, or took too long (without an inbox) | 500 |
| the inbox cannot be used | 503 |
"""

import logging
import traceback
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, overload

import anyio

from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.postback import BasicCredentials, by_lower_name, read_postback
from gateway_async.errors import InboxError, PostbackRefusedError
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import PostbackResource, PostbackType
from gateway_async.models.contacts import Contact
from gateway_async.models.postbacks import Postback
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction
from gateway_async.observe import logger
from gateway_async.postbacks.aiohttp import answer_request
from gateway_async.postbacks.answer import Answer
from gateway_async.postbacks.asgi import AsgiApp
from gateway_async.postbacks.handlers import Handlers
from gateway_async.postbacks.inbox import Inbox
from gateway_async.postbacks.reading import check_size, read_body
from gateway_async.postbacks.reconciling import GatewayLists, Reconciled, reconcile
from gateway_async.postbacks.turns import Turns
from gateway_async.postbacks.worker import Worker

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["PostbackReceiver"]

_MOST_BYTES: Final = 1_048_576
_ANYBODYS: Final = (401, 405)
"""Refusals of who has not shown the credentials; the others may be lost news of a payment."""

OfContacts = TypeVar("OfContacts", bound=Callable[[Postback[Contact]], Awaitable[None]])
OfTransactions = TypeVar("OfTransactions", bound=Callable[[Postback[Transaction]], Awaitable[None]])
OfBatches = TypeVar("OfBatches", bound=Callable[[Postback[TransactionBatch]], Awaitable[None]])
OfVaults = TypeVar("OfVaults", bound=Callable[[Postback[AccountVault]], Awaitable[None]])
OfAnything = TypeVar("OfAnything", bound=Callable[[Postback[Any]], Awaitable[None]])


class PostbackReceiver:
    """Takes postbacks, checks them, and tells your handlers.

    Args:
        username: of the Basic credentials that the postback config gives its calls; None, and `password` None, to ask
            callers for none (anybody who finds the address can then tell you anything).
        password: likewise.
        inbox: where postbacks are kept until they are handled; None to handle each while its sender waits.
        max_bytes: of a body.
        max_attempts: how often an inbox has a postback handled before it gives up on it.
        concurrency: how many postbacks of an inbox are handled at once.
        handler_seconds: how long the handlers of a postback may take altogether; then they are cancelled, and have
            failed. Without an inbox, the time for which they wait for those of the same record is part of it.
        body_seconds: how long a body may take to come.

    Raises:
        ValueError: only one of username and password, or a username with a colon; or a number that is not above 0.
        TypeError: `inbox` is the name of a file.
    """

    def __init__(
        self,
        username: str | None,
        password: str | Secret | None,
        *,
        inbox: Inbox | None = None,
        max_bytes: int = _MOST_BYTES,
        max_attempts: int = 10,
        concurrency: int = 16,
        handler_seconds: float = 300.0,
        body_seconds: float = 30.0,
    ) -> None:
        if isinstance(inbox, str | PathLike):
            raise TypeError("inbox: must be an inbox, such as SqliteInbox('inbox.db')")
        _check_above_zero(
            max_bytes=max_bytes,
            max_attempts=max_attempts,
            concurrency=concurrency,
            handler_seconds=handler_seconds,
            body_seconds=body_seconds,
        )
        self._credentials = BasicCredentials(username, password)
        self._inbox = inbox
        self._max_bytes = max_bytes
        self._handler_seconds = handler_seconds
        self._body_seconds = body_seconds
        self._handlers = Handlers()
        self._turns = Turns()
        self._worker = (
            Worker(
                inbox,
                self._handlers.tell,
                max_attempts=max_attempts,
                concurrency=concurrency,
                handler_seconds=handler_seconds,
                is_ready=lambda: bool(self._handlers),
            )
            if inbox is not None
            else None
        )
        self._running: AsyncExitStack | None = None
        self._told_of_idleness = False
        self.asgi: AsgiApp = AsgiApp(self.receive, self)
        """The receiver as an ASGI application, to mount in FastAPI or Starlette or to serve by itself."""

    # --- handlers

    @overload
    def on(
        self, resource: Literal["contact"], type: str | None = None, *, stale: bool = False
    ) -> Callable[[OfContacts], OfContacts]: ...
    @overload
    def on(
        self, resource: Literal["transaction"], type: str | None = None, *, stale: bool = False
    ) -> Callable[[OfTransactions], OfTransactions]: ...
    @overload
    def on(
        self, resource: Literal["transactionbatch"], type: str | None = None, *, stale: bool = False
    ) -> Callable[[OfBatches], OfBatches]: ...
    @overload
    def on(
        self, resource: Literal["accountvault"], type: str | None = None, *, stale: bool = False
    ) -> Callable[[OfVaults], OfVaults]: ...
    @overload
    def on(
        self, resource: str | None = None, type: str | None = None, *, stale: bool = False
    ) -> Callable[[OfAnything], OfAnything]: ...
    def on(self, resource: str | None = None, type: str | None = None, *, stale: bool = False) -> Any:  # noqa: A002  the gateway's name
        """Register an async function for postbacks, by decorating it; it is returned unchanged.

        A postback is told to all handlers that it fits, in the order of their registration.

        Args:
            resource: contact, transaction, transactionbatch, accountvault, or a new word; None for every resource,
                also for those that have no typed record.
            type: CREATE, UPDATE, DELETE, or a new word; None for every type.
            stale: with an inbox: also states of a record older than one that was handled, such as a CREATE that comes
                late, after an UPDATE.

        Raises:
            TypeError: the function is not async, or `on` was written without its brackets.
        """
        if callable(resource):
            raise TypeError("@receiver.on(): the brackets are missing")
        _doubt(resource, type)

        def register(handler: Any) -> Any:
            self._handlers.add(resource, type, stale, handler)
            return handler

        return register

    async def handle(self, postback: Postback[Any]) -> None:
        """Tell the handlers, now; of one record, one postback at a time.

        Raises:
            Exception: what a handler raised; an `ExceptionGroup`, if several did. All were told.
        """
        async with self._turns.of((postback.resource, postback.record_id or postback.key)):
            await self._handlers.tell(postback)

    # --- requests

    def parse(self, headers: Mapping[str, str], body: bytes) -> Postback[Any]:
        """The postback that a POST request brings; nothing is handled or stored.

        Args:
            headers: names in any case.
            body: all of it.

        Raises:
            PostbackRefusedError: wrong credentials, too large, or no postback; `.status_code` is what to answer.
        """
        named = by_lower_name(headers.items())
        self._credentials.check(named)
        check_size(len(body), self._max_bytes)
        return read_postback(named, body)

    async def receive(self, method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes]) -> Answer:
        """Take a request, whatever the server, and say what to answer.

        Args:
            method: such as `"POST"`.
            headers: names in any case.
            chunks: the body, as it comes. It is not read before the caller has shown who it is, and not to its end
                when it is too large.
        """
        try:
            postback = await self._read(method, by_lower_name(headers.items()), chunks)
        except PostbackRefusedError as error:
            level = logging.INFO if error.status_code in _ANYBODYS else logging.WARNING
            logger.log(level, "a request was refused with %d: %s", error.status_code, error.reason)
            return Answer.to(error)
        return await self._taken(postback)

    async def aiohttp(self, request: "web.Request") -> "web.Response":
        """The receiver as a handler of aiohttp: `app.router.add_post("/postbacks", receiver.aiohttp)`."""
        return await answer_request(self.receive, request)

    async def _read(self, method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes]) -> Postback[Any]:
        if method != "POST":
            raise PostbackRefusedError(405, "postbacks come by POST")
        self._credentials.check(headers)
        with anyio.move_on_after(self._body_seconds):
            return read_postback(headers, await read_body(headers, chunks, self._max_bytes))
        raise PostbackRefusedError(408, f"the body: not there within {self._body_seconds:g} seconds")

    async def _taken(self, postback: Postback[Any]) -> Answer:
        try:
            await self.accept(postback)
        except InboxError as error:
            logger.error("a postback was answered 503: %s", error)
            return Answer.saying(503, "the inbox cannot be used")
        except Exception as error:  # noqa: BLE001  whatever a handler raises
            _log_failure(postback, error)
            return Answer.saying(500, "a handler failed")
        return Answer(204)

    async def accept(self, postback: Postback[Any]) -> bool:
        """Store a postback, or handle it where there is no inbox; wherever it comes from.

        Returns:
            Whether it was new to the inbox; True without one.

        Raises:
            InboxError: the inbox cannot be used.
            Exception: what a handler raised, without an inbox.
        """
        if self._inbox is None or self._worker is None:
            with anyio.fail_after(self._handler_seconds):
                await self.handle(postback)
            return True
        new = await self._inbox.put(postback)
        self._worker.notify()
        if not (self._worker.at_work or self._told_of_idleness):
            self._told_of_idleness = True
            logger.warning("postbacks are stored, and nobody here handles them: enter `async with receiver:`")
        return new

    # --- work

    async def work(self, until_empty: bool = False) -> None:
        """Have the handlers work on what the inbox holds, in the foreground: in a process of its own, for one.

        As long as there is no handler at all, nothing is touched.

        Args:
            until_empty: return when nothing is left to be handled now.

        Raises:
            RuntimeError: there is no inbox.
        """
        if self._worker is None:
            raise RuntimeError("there is no inbox to work on: give the receiver one")
        await self._worker.work(until_empty)

    async def reconcile(self, gateway: GatewayLists, *, since: datetime) -> Reconciled:
        """List what has changed since a moment, and tell the handlers of what was missed; delivery is not reliable.

        Only resources that have handlers are listed: batches by their making and closing, the others by `modified_ts`.
        Deletions cannot be listed. A record comes as CREATE if it was made since and nothing of it is known, and as
        UPDATE if its last change is not, both as the record is now, with `.reconciled` true.

        An inbox decides what was missed; without one nobody knows, and the handlers hear of all that is listed. Let
        `since` lie well before the last run, but not before what the inbox still keeps (`keep_days`): what it keeps it
        tells nobody twice, but for a batch that was closed since, which has no time of change. Of two changes within
        one second, the first being known, the second is found by what it says, a minute after the first came.

        Args:
            gateway: an `AsyncGateway`.
            since: an aware datetime; the gateway counts in whole seconds.

        Raises:
            InvalidRequestError: `since` is not an aware datetime.
            GatewayError: a list failed, or the inbox cannot be used. What was passed on before stands.
            ExceptionGroup: handlers failed, without an inbox; the others were told.
        """
        return await reconcile(gateway, since, self._handlers.resources(), self.accept, stored=self._inbox is not None)

    async def __aenter__(self) -> Self:
        """Work on the inbox in the background, until the end of the block; then close it.

        It can be entered again afterwards, as by tests that start an application more than once. As long as there is
        no handler at all, what comes is stored and not worked on.

        Raises:
            RuntimeError: it does so already.
        """
        if self._running:
            raise RuntimeError("the receiver is at work already: enter it once")
        async with AsyncExitStack() as stack:
            if self._inbox is not None and self._worker is not None:
                if not self._handlers:
                    logger.warning("postbacks are stored, and not handled: the receiver has no handlers yet")
                self._inbox.reopen()
                stack.push_async_callback(self._inbox.aclose)
                tasks = await stack.enter_async_context(anyio.create_task_group())
                stack.callback(tasks.cancel_scope.cancel)
                tasks.start_soon(self._worker.work, False)
            self._running = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        running, self._running = self._running, None
        return await running.__aexit__(kind, error, trace) if running else None


def _check_above_zero(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ValueError(f"{name}: must be above 0")


def _doubt(resource: str | None, type_: str | None) -> None:
    """Warn of words that no gateway is known to say: a slip of the pen would drop postbacks without a sound."""
    for word, code in ((resource, PostbackResource), (type_, PostbackType)):
        if word is not None and not code(word).known:
            known = ", ".join(code)
            logger.warning("on(%r): a handler of a word that is not known (%s) may never hear of anything", word, known)


def _log_failure(postback: Postback[Any], error: Exception) -> None:
    """Tell the log of a handler that failed, with its traceback, but no card number that stands in its words."""
    shown = mask_text("".join(traceback.format_exception(error)))
    logger.error("a handler failed at %r\n%s", postback, shown)
