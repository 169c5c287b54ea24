"""`Sender`: carries out a `Call`: attempts, deadlines, observers.

Decisions are made by `_wire/retrying.py`; this file only acts on them. tenacity lives here and nowhere else.
"""

import random
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

import anyio
import anyio.lowlevel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from gateway_async._net.delivery import LOOKUP_SECONDS, Delivery, NotDoneError
from gateway_async._net.http import Http, cut_short
from gateway_async._net.progress import Progress, Stage
from gateway_async._net.settling import Settling
from gateway_async._net.terminals import Terminals
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retrying import Verdict, is_definite, verdict
from gateway_async.errors import (
    ClientClosedError,
    DeadlineExceededError,
    GatewayError,
    NotSentError,
)
from gateway_async.observe import AttemptFailed, CallEnded, CallStarted, Event, Observer, log_event, notify

__all__ = ["Sender"]

T = TypeVar("T")


class Sender:
    """Carries calls out.

    Args:
        http: carries the requests; closed with the sender.
        timeout: seconds in all for an ordinary call, attempts, waits and lookups included.
        terminal_timeout: seconds a router call may stay open at the terminal.
        max_terminals: how many router calls may be open at once.
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
        max_attempts: int,
        observers: Iterable[Observer],
    ) -> None:
        self._http = http
        self._timeout = timeout
        self._terminal_timeout = terminal_timeout
        self._terminals = Terminals(max_terminals)
        self._max_attempts = max_attempts
        self._observers = (log_event, *observers)
        self._closed = False
        self._home: object = None
        self._settling = Settling(
            self._tried,
            timeout=timeout,
            max_attempts=max_attempts,
            is_closed=lambda: self._closed,
            tell=self._tell,
        )

    async def send(self, call: Call[T]) -> T:
        """The result of `call`.

        Raises:
            GatewayError: as the tree in `errors.py` says.
        """
        self._refuse_when_closed(call)
        self._refuse_elsewhere(call)
        self._http.check(call)
        if call.kind is not Kind.TERMINAL:
            return await self._deliver(call, self._timeout)
        async with self._terminals.turn(call.terminal_id or ""):
            self._refuse_when_closed(call)
            return await self._deliver(call, self._terminal_timeout + LOOKUP_SECONDS)

    async def aclose(self) -> None:
        """Close the connections; calls after it are refused."""
        self._closed = True
        await self._http.aclose()

    def _refuse_when_closed(self, call: Call[Any]) -> None:
        if self._closed:
            raise ClientClosedError(call=str(call))

    def _refuse_elsewhere(self, call: Call[Any]) -> None:
        """Connections belong to the event loop that opened them: in another one they would hang."""
        here = anyio.lowlevel.current_token()
        self._home = self._home or here
        if self._home != here:
            raise NotSentError("the client belongs to another event loop: make one for each", call=str(call))

    async def _deliver(self, call: Call[T], seconds: float) -> T:
        """The call within its deadline, observed, and looked up when it is cancelled."""
        delivery = Delivery(call, seconds, self._max_attempts)
        self._tell(CallStarted(call=str(call), api_id=call.api_id))
        error: BaseException | None = None
        try:
            return await self._in_time(delivery, seconds)
        except BaseException as raised:
            error = raised
            cancelled = isinstance(raised, anyio.get_cancelled_exc_class())
            if cancelled and delivery.may_have_left and call.kind is not Kind.READ:
                await self._settling.settle_cancelled(delivery)
            raise
        finally:
            spent = anyio.current_time() - delivery.started
            self._tell(
                CallEnded(call=str(call), api_id=call.api_id, attempts=delivery.attempt, seconds=spent, error=error)
            )

    async def _in_time(self, delivery: Delivery[T], seconds: float) -> T:
        try:
            with anyio.fail_after(seconds):
                return await self._tried(delivery)
        except TimeoutError:
            self._out_of_time(delivery, seconds)
        except NotDoneError as error:
            raise self._last_word(delivery, error.cause) from error.cause.__cause__
        except NotSentError as error:
            raise self._last_word(delivery, error) from error.__cause__

    def _last_word(self, delivery: Delivery[Any], error: GatewayError) -> GatewayError:
        """The last attempt's error, if no attempt can have done anything; else nobody knows."""
        doubtful = delivery.may_have_left and delivery.call.kind is not Kind.READ
        return self._settling.unknown(delivery, error) if doubtful else error

    def _out_of_time(self, delivery: Delivery[Any], seconds: float) -> NoReturn:
        call = delivery.call
        if call.kind is Kind.READ:
            raise DeadlineExceededError(seconds, call=str(call)) from None
        if not delivery.may_have_left:
            raise NotSentError(f"no connection within {seconds:g} s", call=str(call)) from None
        raise self._settling.unknown(delivery, DeadlineExceededError(seconds, call=str(call))) from None

    async def _tried(self, delivery: Delivery[T]) -> T:
        """The first attempt as it is, the others under tenacity, which costs what they can bear."""
        try:
            return await self._settled(delivery)
        except GatewayError as error:
            if not delivery.may_repeat(error):
                raise
            await anyio.sleep(delivery.pause(error, random.random()))  # noqa: S311
        return await AsyncRetrying(
            retry=retry_if_exception(delivery.may_repeat),
            wait=lambda state: delivery.pause(_failure(state), random.random()),  # noqa: S311
            sleep=anyio.sleep,
            reraise=True,
        )(self._settled, delivery)

    async def _settled(self, delivery: Delivery[T]) -> T:
        """One attempt, and the lookup where its outcome is uncertain."""
        call, left_before = delivery.call, delivery.may_have_left
        delivery.attempt += 1
        try:
            return await self._attempt(delivery)
        except GatewayError as error:
            next_step = verdict(call.kind, error, may_have_left_before=left_before)
            self._tell(
                AttemptFailed(
                    call=str(call),
                    api_id=call.api_id,
                    attempt=delivery.attempt,
                    error=error,
                    verdict=next_step.value,
                )
            )
            if next_step is not Verdict.LOOK_UP:
                raise
            return await self._settling.settle(delivery, error)

    async def _attempt(self, delivery: Delivery[T]) -> T:
        """One exchange, within the time that attempts have."""
        call, progress = delivery.call, Progress()
        self._refuse_when_closed(call)
        progress.stage = Stage.QUEUED
        try:
            with anyio.fail_after(delivery.attempt_seconds()):
                return await self._http.exchange(call, progress, delivery.patience)
        except TimeoutError:
            delivery.note(may_have_left=progress.may_have_left)
            raise cut_short("no answer in time", call, progress) from None
        except GatewayError as error:
            delivery.note(may_have_left=not is_definite(error))
            raise
        except BaseException:
            delivery.note(may_have_left=progress.may_have_left)
            raise

    def _tell(self, event: Event) -> None:
        notify(self._observers, event)


def _failure(state: RetryCallState) -> BaseException:
    failure = state.outcome.exception() if state.outcome else None
    return failure or ConnectionError()
