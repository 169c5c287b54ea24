"""`Sender`: carries out a `Call`: attempts, deadlines, observers.

Decisions are made by `_wire/retrying.py`; this file only acts on them. tenacity lives here and nowhere else.
"""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
from tenacity import AsyncRetrying, retry_if_exception

from gateway_async._net.books import SETTLING_SECONDS, Books
from gateway_async._net.budget import Budget
from gateway_async._net.delivery import LOOKUP_SECONDS, Delivery, NotDoneError
from gateway_async._net.http import Http, cut_short
from gateway_async._net.leasing import Leasing
from gateway_async._net.progress import Progress, Stage
from gateway_async._net.recovering import LookupOf, Recovering
from gateway_async._net.screen import Screen, screen_of
from gateway_async._net.settling import Settling
from gateway_async._net.terminals import Terminals
from gateway_async._net.unsettled import Unsettled
from gateway_async._wire.busy import says_busy
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retrying import Verdict, decide
from gateway_async.errors import (
    ClientClosedError,
    DeadlineExceededError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    StatusError,
    TerminalBusyError,
)
from gateway_async.leases import TerminalLease
from gateway_async.ledger import Ledger, Recovered
from gateway_async.observe import (
    AttemptFailed,
    CallEnded,
    CallStarted,
    Event,
    Observer,
    OnProgress,
    RepeatsUsedUp,
    TerminalState,
    log_event,
    notify,
)

__all__ = ["Sender"]

T = TypeVar("T")


class Sender:
    """Carries calls out.

    Args:
        http: carries the requests; closed with the sender.
        timeout: seconds in all for an ordinary call, attempts, waits and lookups included.
        terminal_timeout: seconds a router call may stay open at the terminal.
        max_terminals: how many router calls may be open at once.
        terminal_lease: shares the terminals with other clients; closed with the sender.
        block_unsettled_terminals: whether a terminal is closed while an earlier call may still be under way there.
        ledger: keeps what is under way, for a time after a crash; closed with the sender.
        max_attempts: how often a call is tried at most.
        observers: told of every event.
    """

    def __init__(
        self,
        http: Http,
        *,
        timeout: float,
        terminal_timeout: float,
        max_terminals: int,
        terminal_lease: TerminalLease | None,
        block_unsettled_terminals: bool,
        ledger: Ledger | None,
        max_attempts: int,
        observers: Iterable[Observer],
    ) -> None:
        self._http = http
        self._timeout = timeout
        self._terminal_timeout = terminal_timeout
        self._terminals = Terminals(
            max_terminals,
            Unsettled(blocks=block_unsettled_terminals, ledger=ledger),
            Leasing(terminal_lease, self._tell) if terminal_lease is not None else None,
        )
        self._max_attempts = max_attempts
        self._budget = Budget()
        self._books = Books(ledger, http.gateway)
        self._observers = (log_event, *observers)
        self._closed = False
        self._home: object = None
        self._settling = Settling(
            self._tried,
            timeout=timeout,
            max_attempts=max_attempts,
            refuse=self._refuse,
            books=self._books,
            tell=self._tell,
        )

    async def send(self, call: Call[T], on_progress: OnProgress | None = None) -> T:
        """The result of `call`; `on_progress` is told how it stands while it waits for a terminal.

        Raises:
            GatewayError: as the tree in `errors.py` says.
        """
        self._refuse(call)
        self._http.check(call)
        if call.kind is not Kind.TERMINAL:
            return await self._deliver(self._delivery(call, self._timeout))
        screen = screen_of(call, on_progress)
        async with screen.alight(), self._terminals.turn(call, screen):
            return await self._at_terminal(call, screen)

    async def recover(self, lookup_of: LookupOf, wait: float) -> list[Recovered]:
        """What became of the calls whose intents the ledger has open; `wait` seconds at most for what may arrive.

        Raises:
            NotSentError: the client is closed, or belongs to another event loop.
            LedgerError: the ledger cannot be read.
        """
        self._refuse("recover()")
        return await Recovering(self._books, self._read, lookup_of, self._tell).recover(wait)

    async def _read(self, lookup: Call[T]) -> T:
        self._http.check(lookup)
        return await self._in_time(Delivery(lookup.as_lookup(), self._timeout, self._max_attempts))

    async def aclose(self) -> None:
        """Close the connections; calls after it are refused."""
        self._closed = True
        try:
            await self._terminals.aclose()
        finally:
            try:
                await self._http.aclose()
            finally:
                await self._books.aclose()

    def _refuse(self, call: Call[Any] | str) -> None:
        self._refuse_when_closed(call)
        self._refuse_elsewhere(call)

    def _refuse_when_closed(self, call: Call[Any] | str) -> None:
        if self._closed:
            raise ClientClosedError(call=str(call))

    def _refuse_elsewhere(self, call: Call[Any] | str) -> None:
        """Connections belong to the event loop that opened them: in another one they would hang."""
        here = anyio.lowlevel.current_token()
        self._home = self._home or here
        if self._home != here:
            raise NotSentError("the client belongs to another event loop: make one for each", call=str(call))

    async def _at_terminal(self, call: Call[T], screen: Screen) -> T:
        """A call whose turn at its terminal has come."""
        self._refuse_when_closed(call)
        call = await self._prepared(call)
        delivery = self._delivery(call, self._terminal_timeout + LOOKUP_SECONDS)
        delivery.on_lookup = screen.show_lookup
        screen.show(TerminalState.AT_TERMINAL, seconds=self._terminal_timeout)
        try:
            return await self._deliver(delivery)
        except OutcomeUnknownError as error:
            delivery.doubt = error
            raise
        except StatusError as error:
            if not says_busy(error):
                raise
            raise TerminalBusyError(call.terminal_id or "", call=str(call)) from error
        finally:
            self._terminals.ended(delivery)

    async def _prepared(self, call: Call[T]) -> Call[T]:
        """The call to send: what the read that goes before it makes of it."""
        if call.first is None:
            return call
        try:
            return await self._deliver(self._delivery(call.first, self._timeout))
        except GatewayError as error:
            raise NotSentError(f"what must be read before it cannot be: {error}", call=str(call)) from error

    def _delivery(self, call: Call[T], seconds: float) -> Delivery[T]:
        self._budget.earn()
        return Delivery(call, seconds, self._max_attempts, self._budget)

    async def _deliver(self, delivery: Delivery[T]) -> T:
        """The call within its deadline, observed, and looked up when it is cancelled."""
        call = delivery.call
        self._tell(CallStarted(call=str(call), api_id=call.api_id))
        error: BaseException | None = None
        try:
            result = await self._in_time(delivery)
            if delivery.intent_id is not None:
                await self._keep_done(delivery, result)
        except BaseException as raised:
            error = raised
            cancelled = isinstance(raised, anyio.get_cancelled_exc_class())
            if cancelled and delivery.may_have_left and not call.kind.is_read:
                await self._settling.settle_cancelled(delivery)
            await self._books.failed(delivery, raised)
            raise
        else:
            return result
        finally:
            self._books.forget(delivery)
            spent = anyio.current_time() - delivery.started
            self._tell(
                CallEnded(call=str(call), api_id=call.api_id, attempts=delivery.attempt, seconds=spent, error=error)
            )

    async def _in_time(self, delivery: Delivery[T]) -> T:
        try:
            with delivery.in_time():
                await self._books.intend(delivery)
                return await self._tried(delivery)
        except NotDoneError as error:
            raise self._settling.last_word(delivery, error.cause) from error.cause.__cause__
        except NotSentError as error:
            raise self._settling.last_word(delivery, error) from error.__cause__
        raise self._out_of_time(delivery)

    async def _keep_done(self, delivery: Delivery[T], result: T) -> None:
        """Note a result in the ledger; no cancellation may come between, lest it count as something else."""
        left = delivery.started + delivery.seconds - anyio.current_time()
        delivery.may_have_left = True  # asyncio's own `Task.cancel` heeds no shield: then it is not "not sent" either
        await self._books.settle(delivery.intent_id, "done", result, min(left, SETTLING_SECONDS))

    def _out_of_time(self, delivery: Delivery[Any]) -> GatewayError:
        call, late = delivery.call, DeadlineExceededError(delivery.seconds, call=str(delivery.call))
        if call.kind.is_read:
            return late
        if not delivery.may_have_left:
            return NotSentError(f"no connection within {delivery.seconds:g} s", call=str(call))
        return self._settling.unknown(delivery, late)

    async def _tried(self, delivery: Delivery[T]) -> T:
        """The first attempt as it is, the others under tenacity, which costs what they can bear."""
        try:
            return await self._settled(delivery)
        except GatewayError as error:
            if not self._may_repeat(delivery, error):
                raise
            await anyio.sleep(delivery.pause)
        return await AsyncRetrying(
            retry=retry_if_exception(partial(self._may_repeat, delivery)),
            wait=lambda _: delivery.pause,
            sleep=anyio.sleep,
            reraise=True,
        )(self._settled, delivery)

    def _may_repeat(self, delivery: Delivery[Any], error: BaseException) -> bool:
        """Whether there is another attempt; if so, it is taken out of the client's budget."""
        if not delivery.may_repeat(error, random.random()):  # noqa: S311
            return False
        if delivery.spend():
            return True
        self._tell(RepeatsUsedUp(call=str(delivery.call), api_id=delivery.call.api_id))
        return False

    async def _settled(self, delivery: Delivery[T]) -> T:
        """One attempt, and the lookup where its outcome is uncertain."""
        call, left_before = delivery.call, delivery.may_have_left
        delivery.attempt += 1
        try:
            return await self._attempt(delivery)
        except GatewayError as error:
            decision = decide(call.kind, error, may_have_left_before=left_before)
            self._tell(
                AttemptFailed(
                    call=str(call),
                    api_id=call.api_id,
                    attempt=delivery.attempt,
                    error=error,
                    verdict=decision.step.value,
                )
            )
            if decision.step is not Verdict.LOOK_UP:
                raise
            return await self._settling.settle(delivery, error, decision.otherwise)

    async def _attempt(self, delivery: Delivery[T]) -> T:
        """One exchange, within the time that attempts have."""
        call, progress = delivery.call, Progress()
        self._refuse_when_closed(call)
        progress.stage = Stage.QUEUED
        try:
            with delivery.attempt_in_time():
                return await self._http.exchange(call, progress, delivery.patience)
        except GatewayError as error:
            delivery.note(error)
            raise
        except BaseException:
            delivery.note(cut_short("cancelled", call, progress))
            raise
        late = cut_short("no answer in time", call, progress)
        delivery.note(late)
        raise late

    @contextmanager
    def observing(self, observer: Observer) -> Iterator[None]:
        """Tell one more observer, for the time of the block."""
        self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            self._observers = tuple(each for each in self._observers if each is not observer)

    def _tell(self, event: Event) -> None:
        notify(self._observers, event)
