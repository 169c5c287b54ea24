"""Simulated terminals, which serve their calls in the order of arrival.

Each terminal serves one call at a time. The active call waits for a card. In `auto` mode a card is presented
automatically after a short delay; in `manual` mode a person or a control call presents it. In both modes the call ends
300 seconds after its arrival. A caller that disconnects changes nothing: the terminal continues, and the sale may still
be made.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Literal, get_args

from gateway_async.sandbox.simulators.issuer import DENIED, SCRIPTS, Script, stops
from gateway_async.sandbox.state_machines.terminal_requests import LIFE, State, Trigger

if TYPE_CHECKING:
    from gateway_async.sandbox.simulators.clock import Clock, Timer

OVERALL_TIMEOUT = 300.0
"""Seconds from the arrival of a call at a terminal until its timeout."""

Mode = Literal["auto", "manual"]

_OVERALL = stops("Overall Request Timeout")
_DECLINE = Script(text="DECLINED", reason_code=DENIED)
_CANCEL = stops("CANCELLED", DENIED)


class NothingWaitsError(Exception):
    """A control call for a terminal at which no call waits."""

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"terminal {terminal_id}: no call waits there.")


@dataclass(frozen=True)
class Manner:
    """How cards are presented to the terminals of a gateway.

    Attributes:
        mode: `auto` presents a card automatically; `manual` waits for a person or a control call.
        delay: Seconds until a card is presented automatically.

    Raises:
        ValueError: The mode is unknown, or the delay is negative or not finite.
    """

    mode: Mode = "auto"
    delay: float = 2.0

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"terminals: must be one of {', '.join(get_args(Mode))}.")
        if not 0 <= self.delay < inf:
            raise ValueError("terminal_delay: must be 0 or more seconds.")


@dataclass(slots=True, eq=False)
class Visit:
    """One call at a terminal.

    Attributes:
        amount: The amount in cents; None when a card is only stored.
        since: The arrival time, in Unix seconds.
        timers: The timers that can end the call.
        did: What the terminal did at the end.
    """

    terminal_id: str
    action: str
    amount: int | None
    since: float
    state: State = State.QUEUED
    timers: list[Timer] = field(default_factory=list)
    did: Script = _OVERALL
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Line:
    """The queue of calls at one terminal, the active call first.

    Attributes:
        silent: Whether the automatic actions of the terminal are stopped.
    """

    visits: deque[Visit] = field(default_factory=deque)
    silent: bool = False


class Terminals:
    """The terminals of a gateway and their queues of calls.

    Args:
        clock: The sandbox clock.
        manner: How cards are presented.
    """

    def __init__(self, clock: Clock, manner: Manner) -> None:
        self._clock = clock
        self._manner = manner
        self._lines: defaultdict[str, Line] = defaultdict(Line)
        self._arrival = asyncio.Event()

    async def visit(self, terminal_id: str, action: str, amount: int | None = None) -> Script:
        """Queue a call at a terminal and wait for its end.

        The result is what the terminal did.

        Args:
            terminal_id: The id of an existing terminal.
            action: `sale`, `store` …, shown by control calls.
            amount: The amount in cents.
        """
        now = self._clock.now()
        visit = Visit(terminal_id, action, amount, now)
        self._lines[terminal_id].visits.append(visit)
        visit.timers.append(self._clock.call_at(now + OVERALL_TIMEOUT, lambda: self._end(visit, Trigger.TIME_OUT)))
        self._call_next(terminal_id)
        self._arrival.set()  # wakes the tasks that already wait for a call…
        self._arrival.clear()  # …but not tasks that start to wait later
        try:
            await visit.ended.wait()
        finally:
            self._end(visit, Trigger.CUT_OFF)
        return visit.did

    def present(self, terminal_id: str, card: str, entry_mode: str) -> None:
        """Present a card to the active call.

        Raises:
            NothingWaitsError: No call waits at the terminal.
        """
        self._act(terminal_id, Trigger.CARD, Script(card, entry_mode))

    def decline(self, terminal_id: str) -> None:
        """Let the issuer decline the card of the active call.

        Raises:
            NothingWaitsError: No call waits at the terminal.
        """
        self._act(terminal_id, Trigger.DECLINE, _DECLINE)

    def cancel(self, terminal_id: str) -> None:
        """Press the cancel key.

        Raises:
            NothingWaitsError: No call waits at the terminal.
        """
        self._act(terminal_id, Trigger.CANCEL, _CANCEL)

    def silence(self, terminal_id: str) -> None:
        """Stop the automatic actions of a terminal.

        The next card, decline or cancellation resumes them.
        """
        line = self._lines[terminal_id]
        line.silent = True
        for visit in line.visits:
            for timer in visit.timers[1:]:
                timer.cancel()

    def hear(self) -> None:
        """Resume the automatic actions of all terminals."""
        for line in self._lines.values():
            line.silent = False

    def waiting(self, terminal_id: str) -> list[Visit]:
        """Return the calls that wait at a terminal, the active call first."""
        return [*self._lines[terminal_id].visits]

    async def wait_for_call(self, terminal_id: str) -> None:
        """Return as soon as a call waits at a terminal."""
        while not self.waiting(terminal_id):
            await self._arrival.wait()

    def is_silent(self, terminal_id: str) -> bool:
        """Return whether the automatic actions of the terminal are stopped."""
        return self._lines[terminal_id].silent

    def _act(self, terminal_id: str, trigger: Trigger, script: Script) -> None:
        waiting = self.waiting(terminal_id)
        if not waiting:
            raise NothingWaitsError(terminal_id)
        self._lines[terminal_id].silent = False
        self._end(waiting[0], trigger, script)

    def _call_next(self, terminal_id: str) -> None:
        line = self._lines[terminal_id]
        if line.visits and (state := LIFE.after(line.visits[0].state, Trigger.TURN)):
            line.visits[0].state = state
            self._play(line, line.visits[0])
        elif not line.visits and not line.silent:
            del self._lines[terminal_id]

    def _play(self, line: Line, visit: Visit) -> None:
        """Schedule the automatic action for the amount of a call."""
        script = SCRIPTS.get(visit.amount or 0, Script())
        if self._manner.mode == "auto" and not line.silent and not script.silent:
            wait = self._manner.delay if script.wait is None else script.wait
            trigger = Trigger.CARD if script.card else Trigger.STOP
            visit.timers.append(
                self._clock.call_at(self._clock.now() + wait, lambda: self._end(visit, trigger, script))
            )

    def _end(self, visit: Visit, trigger: Trigger, script: Script = _OVERALL) -> None:
        """End a call, unless it has already ended."""
        state = LIFE.after(visit.state, trigger)
        if state is None:
            return
        visit.state, visit.did = state, script
        visit.ended.set()
        for timer in visit.timers:
            timer.cancel()
        self._lines[visit.terminal_id].visits.remove(visit)
        self._call_next(visit.terminal_id)
