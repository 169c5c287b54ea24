"""`Worker`: handles the postbacks of an inbox, in order for each record, and retries failed ones.

A postback is marked as handled only after its handlers have succeeded. After a failure, a cancellation or the end of
the process it is handled again.
"""

import asyncio
import math
import random
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import attrs
from anyio.abc import TaskGroup

from gateway_async._backoff import exponential_backoff
from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import HandlerStatements, Postback
from gateway_async.observe import logger
from gateway_async.postbacks.inbox.protocol import Claim, Inbox, PostbackState, Statement

T = TypeVar("T")

_FIRST_BACKOFF_SECONDS: Final = 1.0
_LONGEST_BACKOFF_SECONDS: Final = 3600.0
_MAX_ERROR_CHARACTERS: Final = 500


@attrs.define(eq=False)
class HandlerResults:
    """The results of handlers since the receiver was created.

    Attributes:
        handled: postbacks that were handled.
        failed: attempts in which a handler failed.
        last_handled_at: when the last one was handled, UTC; None before.
    """

    handled: int = 0
    failed: int = 0
    last_handled_at: datetime | None = None

    def record_success(self) -> None:
        """Count a handled postback."""
        self.handled += 1
        self.last_handled_at = datetime.now(UTC)

    def record_failure(self) -> None:
        """Count a failed attempt."""
        self.failed += 1


@attrs.define(eq=False, repr=False)
class Worker:
    """Handles the postbacks of an inbox, on asyncio and on trio.

    Any number of workers may share an inbox. A failed postback is retried after about one second, then after twice as
    long each time, up to one hour. Later postbacks of its record wait for it. After `max_attempts` it is dead: it is
    logged and kept in the inbox for `replay`, and the later postbacks of its record are handled.

    A claim may expire while its postback is being handled, for example if the process was suspended or the inbox was
    unreachable. If this worker then claims the postback again, the running handlers continue under the new claim.

    Handlers that take longer than `handler_seconds` are cancelled, which counts as a failure. Otherwise a handler that
    hangs would block the postbacks of its record forever. If the worker itself is cancelled, its handlers have not
    failed: the postback is released and no attempt is counted. If the process is killed, for example by `kill -9`, its
    claims expire after `lease_seconds`. These attempts do count, so even a postback that kills its process becomes
    dead.

    Args:
        inbox: the store of the postbacks. While it cannot be used, the worker waits and logs this once.
        handle: handles a postback; the bool says whether a newer state of its record was handled before.
        max_attempts: how often a postback is tried before it is dead.
        concurrency: how many postbacks are handled at once, each of a different record.
        lease_seconds: how long a claim lasts unless it is extended, which happens after each third of that time.
        handler_seconds: the time limit for all handlers of one postback together.
        poll_seconds: the interval between two queries for due postbacks; `notify` triggers one at once.
        chance: returns a random number from 0 to 1, for the jitter of the backoff.
        is_ready: whether postbacks can be handled yet; until then they stay in the inbox.
        results: counts the handled postbacks and the failed attempts.
    """

    _inbox: Inbox = attrs.field(alias="inbox")
    _handle: Callable[[Postback[Any], bool], Awaitable[None]] = attrs.field(alias="handle")
    _max_attempts: int = attrs.field(alias="max_attempts", default=10)
    _concurrency: int = attrs.field(alias="concurrency", default=16)
    _lease_seconds: float = attrs.field(alias="lease_seconds", default=60.0)
    _handler_seconds: float = attrs.field(alias="handler_seconds", default=300.0)
    _poll_seconds: float = attrs.field(alias="poll_seconds", default=1.0)
    _chance: Callable[[], float] = attrs.field(alias="chance", default=random.random)
    _is_ready: Callable[[], bool] = attrs.field(alias="is_ready", default=lambda: True)
    _results: HandlerResults = attrs.field(alias="results", factory=HandlerResults)
    _claims: dict[int, Claim] = attrs.field(init=False, factory=dict)
    _wake_events: set[anyio.Event] = attrs.field(init=False, factory=set)
    _is_unavailable: bool = attrs.field(init=False, default=False)
    _running_count: int = attrs.field(init=False, default=0)

    @property
    def is_running(self) -> bool:
        """Whether the worker is running in this process."""
        return self._running_count > 0

    def notify(self) -> None:
        """Wake the worker because a postback was stored; call this in the worker's event loop."""
        while self._wake_events:
            self._wake_events.pop().set()

    async def work(self, *, until_empty: bool = False) -> None:
        """Handle postbacks until this task is cancelled.

        Args:
            until_empty: return when no postback is due or being handled. Postbacks that wait for a retry, or that
                another worker has claimed, are left.

        Raises:
            InboxError: with `until_empty`, the inbox cannot be used. Otherwise the worker waits until it can.
        """
        self._running_count += 1
        try:
            failure = await self._work(until_empty)
        finally:
            self._running_count -= 1
        if failure:
            raise failure

    async def _work(self, until_empty: bool) -> InboxError | None:
        """Handle postbacks; with `until_empty`, return when none is left, or return the error of the inbox."""
        failure: InboxError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._extend_claims)
            while True:
                event = anyio.Event()
                self._wake_events.add(event)  # before the query, so that a postback stored meanwhile is not missed
                idle = not self._claims  # before the query: one that ends meanwhile may make the next one due
                try:
                    await self._start_due(tasks)
                except InboxError as error:
                    self._log_unavailable(error)
                    failure = error
                if until_empty and (failure or (idle and not self._claims)):
                    break
                await self._wait_for_event(event)
            tasks.cancel_scope.cancel()
        return failure

    async def _start_due(self, tasks: TaskGroup) -> None:
        """Claim due postbacks up to the free concurrency, and start handling them."""
        await anyio.lowlevel.checkpoint_if_cancelled()  # a worker that is to end starts nothing
        room = self._concurrency - len(self._claims)
        if room and self._is_ready():
            with anyio.CancelScope(shield=True):  # a claim lost by cancellation blocks its postback until it expires
                for claim in await self._inbox.claim(room, self._lease_seconds):
                    is_running_here = claim.number in self._claims
                    self._claims[claim.number] = claim
                    if not is_running_here:
                        tasks.start_soon(self._process, claim, tasks.cancel_scope)
            self._log_available()

    async def _wait_for_event(self, event: anyio.Event) -> None:
        try:
            with anyio.move_on_after(self._poll_seconds):
                await event.wait()
        finally:
            self._wake_events.discard(event)

    async def _extend_claims(self) -> None:
        """Extend the claims of all postbacks that are being handled."""
        while True:
            await anyio.sleep(self._lease_seconds / 3)
            if self._claims:
                try:
                    await self._inbox.extend(list(self._claims.values()), self._lease_seconds)
                except InboxError as error:
                    self._log_unavailable(error)

    # --- one postback

    async def _process(self, claim: Claim, worker_scope: anyio.CancelScope) -> None:
        """Handle a postback and record the result, or release the claim."""
        try:
            await self._handle_and_record(claim)
        except BaseException:
            worker_scope.cancel()  # otherwise this worker would claim the postback again at once
            await self._release(self._claims[claim.number])
            raise
        finally:
            del self._claims[claim.number]
            self.notify()

    async def _handle_and_record(self, claim: Claim) -> None:
        if claim.attempt > self._max_attempts:
            await self._fail(claim, RuntimeError("the process ended during every attempt"))
            return
        statements = HandlerStatements()
        try:
            await self._handle_with_timeout(claim.postback.with_statements(statements), claim.superseded)
        except Exception as error:  # noqa: BLE001  whatever a handler raises
            await self._fail(claim, error)
        else:
            await self._complete(claim, statements)

    async def _handle_with_timeout(self, postback: Postback[Any], superseded: bool) -> None:
        with anyio.move_on_after(self._handler_seconds):
            try:
                await self._handle(postback, superseded)
            except anyio.get_cancelled_exc_class() as error:
                if _is_cancelled():
                    raise
                raise RuntimeError("a handler cancelled itself") from error
            return
        allowed = f"{self._handler_seconds:g} {pluralize(self._handler_seconds, 'second')}"
        raise TimeoutError(f"the handlers took longer than {allowed}")

    async def _complete(self, claim: Claim, statements: HandlerStatements) -> None:
        state = PostbackState.SUPERSEDED if claim.superseded else PostbackState.HANDLED
        collected = statements.close()
        try:
            completed = await self._retry(lambda: self._complete_latest_claim(claim.number, state, collected))
        except Exception as error:  # noqa: BLE001  the error of a handler's statement
            await self._fail(claim, error)
            return
        if completed:
            self._results.record_success()
        else:
            logger.warning("claim expired while %r was handled, it may be handled again", claim.postback)

    async def _complete_latest_claim(self, number: int, state: PostbackState, statements: Sequence[Statement]) -> bool:
        """Mark a postback as handled under its current claim; return False if the claim was lost."""
        tried: Claim | None = None
        while tried is not self._claims[number]:  # it may have been claimed again meanwhile
            tried = self._claims[number]
            if await self._inbox.complete(tried, state, statements):
                return True
        return False

    async def _fail(self, claim: Claim, error: Exception) -> None:
        self._results.record_failure()
        dead = claim.attempt >= self._max_attempts
        pause = None if dead else self._backoff(claim.attempt)
        message = _masked(f"{type(error).__name__}: {error}")[:_MAX_ERROR_CHARACTERS]
        await self._retry(lambda: self._inbox.fail(self._claims[claim.number], message, pause))
        trace = _masked("".join(traceback.format_exception(error)))
        if pause is None:
            logger.error(
                "%r is dead after %d %s, number %d of the inbox\n%s",
                *(claim.postback, claim.attempt, pluralize(claim.attempt, "attempt"), claim.number, trace),
            )
        else:
            logger.warning("handler failed: %r, again in %.1f s\n%s", claim.postback, pause, trace)

    def _backoff(self, attempt: int) -> float:
        """The seconds until the next attempt: a random 50 to 100 % of the exponential backoff."""
        whole = exponential_backoff(attempt, first=_FIRST_BACKOFF_SECONDS, longest=_LONGEST_BACKOFF_SECONDS)
        return whole * (1 + self._chance()) / 2

    async def _release(self, claim: Claim) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await self._inbox.release([claim])
        except InboxError as error:  # then the claim expires by itself
            self._log_unavailable(error)

    # --- an inbox that cannot be used

    async def _retry(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Retry an operation of the inbox until it succeeds; a cancellation does not interrupt an attempt."""
        while True:
            try:
                with anyio.CancelScope(shield=True):
                    result = await operation()
                    self._log_available()
                    return result
            except InboxError as error:
                self._log_unavailable(error)
            await anyio.sleep(self._poll_seconds)

    def _log_unavailable(self, error: InboxError) -> None:
        if not self._is_unavailable:
            logger.error("inbox unavailable, postbacks wait: %s", error)
        self._is_unavailable = True

    def _log_available(self) -> None:
        if self._is_unavailable:
            logger.info("inbox available again, postbacks are handled")
        self._is_unavailable = False


def _is_cancelled() -> bool:
    """Whether this task was cancelled from outside.

    Otherwise the handler has raised the cancellation itself.
    """
    if anyio.current_effective_deadline() == -math.inf:
        return True
    with suppress(RuntimeError):  # not on asyncio
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return True  # on trio, user code cannot raise a cancellation itself


def _masked(text: str) -> str:
    """Mask a text, and replace lone surrogates, as in a file name: they can be neither stored nor logged."""
    return mask_text(text).encode(errors="replace").decode()
