"""`Worker`: has what an inbox holds handled, each record's postbacks in their order, as often as it takes.

The law of this file: a postback is noted as handled after its handlers have succeeded, and never before; whatever else
happens, a failure, a cancellation, the end of the process, has it handled again.
"""

import asyncio
import math
import random
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import TaskGroup

from gateway_async._secrets import mask_text
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback, Writes
from gateway_async.observe import logger
from gateway_async.postbacks.inbox import Claim, Inbox, LetterState, Write

__all__ = ["Worker"]

T = TypeVar("T")

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 3600.0
_LONGEST_ERROR: Final = 500


class Worker:
    """Works on an inbox, on asyncio and on trio; any number of workers may work on one.

    After a failure a postback is handled again, and what came later of its record waits for it: after about a second,
    then twice as long each time, up to an hour. After `max_attempts` it is dead: it is logged, kept in the inbox for
    `replay`, and what waits behind it goes on.

    A claim of its own that has run out and that nobody took over, as when the process was stopped or the inbox was
    away, comes to it again: then the handling that is under way goes on under the new claim.

    Handlers that take longer than `handler_seconds` are cancelled, which counts as a failure: waited for without end,
    one that hangs would keep its record's postbacks waiting without end. Handlers that are cancelled because the worker
    is have not failed: the postback is given back, and no attempt is counted. A process that ends without a word, as by
    `kill -9`, is missed after `lease_seconds`; its attempts count, so that a postback that kills its process dies too.

    Args:
        inbox: where the postbacks are. While it cannot be used the worker waits, and says so in the log once.
        handle: has a postback handled; the bool says whether a newer state of its record was handled before.
        max_attempts: how often, before it is dead.
        concurrency: how many at once, of different records.
        lease_seconds: how long a claim lasts unless it is prolonged, which happens after each third of it.
        handler_seconds: how long a postback's handlers may take altogether.
        poll_seconds: how long until the inbox is asked again what is due; `notify` has it asked at once.
        chance: a number from 0 to 1, for the pauses.
        is_ready: whether anything can be handled yet; until then it stays in the inbox.
    """

    def __init__(
        self,
        inbox: Inbox,
        handle: Callable[[Postback[Any], bool], Awaitable[None]],
        *,
        max_attempts: int = 10,
        concurrency: int = 16,
        lease_seconds: float = 60.0,
        handler_seconds: float = 300.0,
        poll_seconds: float = 1.0,
        chance: Callable[[], float] = random.random,
        is_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._inbox = inbox
        self._handle = handle
        self._max_attempts = max_attempts
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._handler_seconds = handler_seconds
        self._poll_seconds = poll_seconds
        self._chance = chance
        self._is_ready = is_ready
        self._claims: dict[int, Claim] = {}
        self._bells: set[anyio.Event] = set()
        self._in_trouble = False
        self._at_work = 0

    @property
    def at_work(self) -> bool:
        """Whether it works, in this process."""
        return self._at_work > 0

    def notify(self) -> None:
        """Say that a postback was just stored; in the worker's own event loop."""
        while self._bells:
            self._bells.pop().set()

    async def work(self, until_empty: bool = False) -> None:
        """Have postbacks handled, until it is cancelled.

        Args:
            until_empty: return when nothing is due and nothing is being handled. What waits for its next attempt, or
                is another worker's, is left.

        Raises:
            InboxError: the inbox cannot be used, and `until_empty` does not wait until it can.
        """
        self._at_work += 1
        try:
            failure = await self._work(until_empty)
        finally:
            self._at_work -= 1
        if failure:
            raise failure

    async def _work(self, until_empty: bool) -> InboxError | None:
        """Work; with `until_empty`, until nothing is left, or return why that cannot be known."""
        failure: InboxError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_claims)
            while True:
                bell = anyio.Event()
                self._bells.add(bell)  # before the inbox is asked: what comes meanwhile is not missed
                idle = not self._claims  # before it is asked, too: what ends meanwhile may make its record's next due
                try:
                    await self._begin(tasks)
                except InboxError as error:
                    self._say_trouble(error)
                    failure = error
                if until_empty and (failure or (idle and not self._claims)):
                    break
                await self._woken(bell)
            tasks.cancel_scope.cancel()
        return failure

    async def _begin(self, tasks: TaskGroup) -> None:
        """Have handled what is due, as far as there is room."""
        room = self._concurrency - len(self._claims)
        if room and self._is_ready():
            with anyio.CancelScope(shield=True):  # claimed unknown to us, it would wait until the claim runs out
                for claim in await self._inbox.claim(room, self._lease_seconds):
                    is_under_way = claim.number in self._claims
                    self._claims[claim.number] = claim
                    if not is_under_way:
                        tasks.start_soon(self._work_on, claim, tasks.cancel_scope)
            self._say_well()

    async def _woken(self, bell: anyio.Event) -> None:
        try:
            with anyio.move_on_after(self._poll_seconds):
                await bell.wait()
        finally:
            self._bells.discard(bell)

    async def _keep_claims(self) -> None:
        """Prolong the claims of all that is being handled."""
        while True:
            await anyio.sleep(self._lease_seconds / 3)
            if self._claims:
                try:
                    await self._inbox.prolong(list(self._claims.values()), self._lease_seconds)
                except InboxError as error:
                    self._say_trouble(error)

    # --- one postback

    async def _work_on(self, claim: Claim, everything: anyio.CancelScope) -> None:
        """Have a postback handled and note what became of it, or give it back."""
        try:
            await self._settle(claim)
        except BaseException:
            everything.cancel()  # or it would be claimed again at once
            await self._give_back(self._claims[claim.number])
            raise
        finally:
            del self._claims[claim.number]
            self.notify()

    async def _settle(self, claim: Claim) -> None:
        if claim.attempt > self._max_attempts:
            await self._failed(claim, RuntimeError("its process has ended each time while it was handled"))
            return
        writes = Writes()
        try:
            await self._handled(claim.postback.writing(writes), claim.superseded)
        except Exception as error:  # noqa: BLE001  whatever a handler raises
            await self._failed(claim, error)
        else:
            await self._done(claim, writes)

    async def _handled(self, postback: Postback[Any], superseded: bool) -> None:
        with anyio.move_on_after(self._handler_seconds):
            try:
                await self._handle(postback, superseded)
            except anyio.get_cancelled_exc_class() as error:
                if _is_cancelled():
                    raise
                raise RuntimeError("a handler cancelled itself") from error
            return
        raise TimeoutError(f"the handlers took longer than {self._handler_seconds:g} seconds")

    async def _done(self, claim: Claim, writes: Writes) -> None:
        state = LetterState.SUPERSEDED if claim.superseded else LetterState.HANDLED
        statements = writes.take()
        try:
            stood = await self._insist(lambda: self._is_noted(claim.number, state, statements))
        except Exception as error:  # noqa: BLE001  what is wrong with a handler's statement
            await self._failed(claim, error)
            return
        if not stood:
            logger.warning(
                "%r was handled too late: its claim had run out, and it may be handled again", claim.postback
            )

    async def _is_noted(self, number: int, state: LetterState, statements: Sequence[Write]) -> bool:
        """Note that a postback was handled, with its claim of now; false if that is somebody else's."""
        tried: Claim | None = None
        while tried is not self._claims[number]:  # it may have come anew while it was tried
            tried = self._claims[number]
            if await self._inbox.done(tried, state, statements):
                return True
        return False

    async def _failed(self, claim: Claim, error: Exception) -> None:
        dead = claim.attempt >= self._max_attempts
        pause = None if dead else self._pause(claim.attempt)
        said = mask_text(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
        await self._insist(lambda: self._inbox.failed(self._claims[claim.number], said, pause))
        trace = mask_text("".join(traceback.format_exception(error)))
        if pause is None:
            logger.error(
                "%r is dead after %d attempts, number %d of the inbox\n%s",
                *(claim.postback, claim.attempt, claim.number, trace),
            )
        else:
            logger.warning("a handler failed at %r, again in %.1f s\n%s", claim.postback, pause, trace)

    def _pause(self, attempt: int) -> float:
        """The seconds until the next attempt; by chance from a half to the whole of what they may be."""
        whole = min(_FIRST_PAUSE * 2.0 ** min(attempt - 1, 20), _LONGEST_PAUSE)
        return whole * (1 + self._chance()) / 2

    async def _give_back(self, claim: Claim) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await self._inbox.release([claim])
        except InboxError as error:  # then the claim runs out by itself
            self._say_trouble(error)

    # --- an inbox that cannot be used

    async def _insist(self, demand: Callable[[], Awaitable[T]]) -> T:
        """Ask the inbox until it answers; what it began it ends, also when the worker is cancelled."""
        while True:
            try:
                with anyio.CancelScope(shield=True):
                    answer = await demand()
                    self._say_well()
                    return answer
            except InboxError as error:
                self._say_trouble(error)
            await anyio.sleep(self._poll_seconds)

    def _say_trouble(self, error: InboxError) -> None:
        if not self._in_trouble:
            logger.error("postbacks wait to be handled: %s", error)
        self._in_trouble = True

    def _say_well(self) -> None:
        if self._in_trouble:
            logger.info("postbacks are handled again: the inbox can be used")
        self._in_trouble = False


def _is_cancelled() -> bool:
    """Whether somebody has cancelled this task, or what it is part of; or else it made its cancellation up itself."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    with suppress(RuntimeError):  # no loop of asyncio's
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return True  # nobody makes up a cancellation of trio's
