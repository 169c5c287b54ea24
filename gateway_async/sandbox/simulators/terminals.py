"""Simulated terminals, which serve their calls in the order of arrival.

Each terminal serves one call at a time. The active call waits for a card, or for the answer to a prompt. In `auto` mode
a card is presented, or the prompt accepted, automatically after a short delay; in `manual` mode a person or a control
call does that. In both modes the call ends 300 seconds after its arrival. A caller that disconnects changes nothing:
the terminal continues, and the sale may still be made.

The scripts follow the vendor's test environment: what a terminal does for each trigger amount, in cents.
"""

import asyncio
import secrets
from collections import defaultdict, deque
from collections.abc import Callable
from math import inf
from typing import Literal, get_args

import attrs

from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.simulators.cards import TEST_CARDS
from gateway_async.sandbox.simulators.clock import Clock, Timer
from gateway_async.sandbox.state_machines.terminal_requests import (
    TERMINAL_REQUEST_MACHINE,
    TerminalRequestState,
    TerminalRequestTrigger,
)

_CARDS = tuple(TEST_CARDS.values())
_ENTRY_MODES = dict(zip(range(710, 722), "KSSSCCCCPPPP", strict=True))
_OVERALL_TIMEOUT = 300.0
"""Seconds from the arrival of a call at a terminal until its timeout."""

Mode = Literal["auto", "manual"]


@attrs.frozen
class Script:
    """The automatic actions of a mock terminal for a trigger amount.

    Attributes:
        card: The card that is presented, if any.
        any_brand: Whether a card of any brand is presented instead of `card`.
        text: The final message if the terminal ends without an approval.
        wait: Seconds until the action; None for the usual delay.
        silent: Whether the terminal does nothing until the overall timeout.
    """

    card: str | None = TEST_CARDS["visa"]
    entry_mode: str = "C"
    text: str | None = None
    reason_code: int = ReasonCode.COMMUNICATION_ERROR
    wait: int | None = None
    silent: bool = False
    any_brand: bool = False

    def with_drawn_card(self) -> "Script":
        """The script, with a random card if it allows any."""
        return attrs.evolve(self, card=secrets.choice(_CARDS), any_brand=False) if self.any_brand else self


def stop_with(text: str, reason_code: int = ReasonCode.COMMUNICATION_ERROR) -> Script:
    """Create a script that ends at once, without a card."""
    return Script(None, text=text, reason_code=reason_code, wait=0)


SCRIPTS = {
    501: stop_with("CONNECT ERROR"),
    531: stop_with("TIMEOUT"),
    599: stop_with("ABORTED", ReasonCode.DENIED),
    **{cents: Script(entry_mode=mode, any_brand=True) for cents, mode in _ENTRY_MODES.items()},
    **{750 + n: Script(card, "K") for n, card in enumerate(TEST_CARDS.values())},
    **{754 + n: Script(card, "S") for n, card in enumerate(TEST_CARDS.values())},
    770: stop_with("Transaction Timeout"),
    771: Script(silent=True),
    772: stop_with("Card Entry Timeout"),
    773: stop_with("Pin Entry Timeout"),
    775: stop_with("Signature Input Timeout"),
    776: stop_with("Signature Storage Timeout"),
    **{800 + seconds: Script(wait=seconds) for seconds in range(100)},
}
"""Amounts in cents and their effects at a mock terminal; any other amount is a chip card."""

_OVERALL_TIMEOUT_SCRIPT = stop_with("Overall Request Timeout")


class NothingWaitsError(Exception):
    """A control call for a terminal at which no call waits."""

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"terminal {terminal_id}: no call waits there.")


@attrs.frozen
class TerminalOptions:
    """How cards are presented to the terminals of a gateway.

    Attributes:
        mode: `auto` presents a card automatically; `manual` waits for a person or a control call.
        delay: Seconds until a card is presented automatically.

    Raises:
        ValueError: The mode is unknown, or the delay is not a number, negative or not finite.
    """

    mode: Mode = "auto"
    delay: float = 2.0

    def __attrs_post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"terminals: must be one of {', '.join(get_args(Mode))}.")
        if not isinstance(self.delay, int | float) or not 0 <= self.delay < inf:
            raise ValueError("terminal_delay: must be 0 or more seconds.")


@attrs.frozen
class Sender:
    """The sender of a call.

    Attributes:
        user: The name of the user.
        program: The `User-Agent` of the program; empty without one.
        api_id: The integrator id of the call, if it has one.
    """

    user: str
    program: str
    api_id: str | None = None


@attrs.frozen
class Prompt:
    """Terms that a terminal shows to the customer.

    Attributes:
        seconds: The longest wait for an answer.
        timeout_text: The final message without one.
    """

    seconds: float
    timeout_text: str


@attrs.define(eq=False)
class TerminalRequest:
    """One call at a terminal.

    Attributes:
        amount: The amount in cents; None for a call without a payment.
        since: The arrival time, in Unix seconds.
        prompt: The terms that the terminal shows; None when it waits for a card.
        timeouts: The timers that end the call when its time is up.
        automatic: The timer of the automatic action, if one is planned.
        result: What the terminal did at the end.
    """

    terminal_id: str
    action: str
    amount: int | None
    sender: Sender
    since: float
    prompt: Prompt | None = None
    state: TerminalRequestState = TerminalRequestState.QUEUED
    timeouts: list[Timer] = attrs.field(factory=list)
    automatic: Timer | None = None
    result: Script = _OVERALL_TIMEOUT_SCRIPT
    ended: asyncio.Event = attrs.field(factory=asyncio.Event)

    @property
    def acts_at(self) -> float | None:
        """The time of the automatic action, in Unix seconds; None if none is planned."""
        return self.automatic.when if self.automatic else None

    def cancel_automatic(self) -> None:
        """Cancel the automatic action."""
        if self.automatic:
            self.automatic.cancel()
            self.automatic = None

    def cancel_timers(self) -> None:
        """Cancel the automatic action and the timeouts."""
        self.cancel_automatic()
        for timeout in self.timeouts:
            timeout.cancel()


@attrs.define
class _TerminalQueue:
    """The queue of calls at one terminal, the active call first.

    Attributes:
        silent: Whether the automatic actions of the terminal are stopped.
    """

    requests: deque[TerminalRequest] = attrs.field(factory=deque)
    silent: bool = False


class TerminalSimulator:
    """The terminals of a gateway and their queues of requests.

    Attributes:
        options: How cards are presented.
        on_change: Called when a call arrives or ends, or another one becomes active.
    """

    def __init__(self, clock: Clock, options: TerminalOptions) -> None:
        self._clock = clock
        self.options = options
        self._queues: defaultdict[str, _TerminalQueue] = defaultdict(_TerminalQueue)
        self._arrival = asyncio.Event()
        self.on_change: Callable[[], object] = lambda: None

    async def process(
        self, terminal_id: str, action: str, amount: int | None, sender: Sender, *, prompt: Prompt | None = None
    ) -> Script:
        """Queue a request at a terminal, and return what happened there.

        `action` and `sender` are shown by control calls and pages. The amount is in cents. With a `prompt` the terminal
        reads no card.
        """
        request = TerminalRequest(terminal_id, action, amount, sender, self._clock.now(), prompt)
        self._queues[terminal_id].requests.append(request)
        request.timeouts.append(self._schedule_end(request, _OVERALL_TIMEOUT, TerminalRequestTrigger.TIME_OUT))
        self._activate_next(terminal_id)
        self._arrival.set()  # wakes the tasks that already wait for a call…
        self._arrival.clear()  # …but not tasks that start to wait later
        try:
            await request.ended.wait()
        finally:
            self._end(request, TerminalRequestTrigger.ABORT)
        return request.result

    def act(self, terminal_id: str, trigger: TerminalRequestTrigger, script: Script) -> None:
        """End the active call as a person does, by a card or a key.

        Raises:
            NothingWaitsError: No call waits at the terminal, or not for this.
        """
        waiting = self.waiting(terminal_id)
        if not waiting or TERMINAL_REQUEST_MACHINE.next_state(waiting[0].state, trigger) is None:
            raise NothingWaitsError(terminal_id)
        self._queues[terminal_id].silent = False
        self._end(waiting[0], trigger, script)

    def silence(self, terminal_id: str) -> None:
        """Stop the automatic actions of a terminal until the next manual one."""
        queue = self._queues[terminal_id]
        queue.silent = True
        for request in queue.requests:
            request.cancel_automatic()
        self.on_change()

    def reset(self) -> None:
        """Resume the automatic actions of all terminals."""
        for queue in self._queues.values():
            queue.silent = False
        self.on_change()

    def waiting(self, terminal_id: str) -> list[TerminalRequest]:
        """The calls that wait at a terminal, the active call first."""
        return [*self._queues[terminal_id].requests]

    async def wait_for_call(self, terminal_id: str) -> None:
        """Wait until a call is active at a terminal."""
        while not self.waiting(terminal_id):
            await self._arrival.wait()

    def is_silent(self, terminal_id: str) -> bool:
        """Whether the automatic actions of the terminal are stopped."""
        return self._queues[terminal_id].silent

    def _activate_next(self, terminal_id: str) -> None:
        queue = self._queues[terminal_id]
        if queue.requests:
            self._activate(queue, queue.requests[0])
        elif not queue.silent:
            del self._queues[terminal_id]
        self.on_change()

    def _activate(self, queue: _TerminalQueue, request: TerminalRequest) -> None:
        state = TERMINAL_REQUEST_MACHINE.next_state(
            request.state, TerminalRequestTrigger.SHOW_TERMS if request.prompt else TerminalRequestTrigger.ACTIVATE
        )
        if state:
            request.state = state
            self._schedule_action(queue, request)

    def _schedule_end(
        self,
        request: TerminalRequest,
        seconds: float,
        trigger: TerminalRequestTrigger,
        script: Script = _OVERALL_TIMEOUT_SCRIPT,
    ) -> Timer:
        return self._clock.call_at(self._clock.now() + seconds, lambda: self._end(request, trigger, script))

    def _schedule_action(self, queue: _TerminalQueue, request: TerminalRequest) -> None:
        """Schedule the automatic action of a call, and its prompt's timeout."""
        if prompt := request.prompt:
            timeout = self._schedule_end(
                request, prompt.seconds, TerminalRequestTrigger.STOP, stop_with(prompt.timeout_text)
            )
            request.timeouts.append(timeout)
        script = SCRIPTS.get(request.amount or 0, Script()).with_drawn_card()
        if self.options.mode == "auto" and not queue.silent and not script.silent:
            wait = self.options.delay if script.wait is None else script.wait
            trigger = _automatic_trigger(request, script)
            request.automatic = self._schedule_end(request, wait, trigger, script)

    def _end(
        self, request: TerminalRequest, trigger: TerminalRequestTrigger, script: Script = _OVERALL_TIMEOUT_SCRIPT
    ) -> None:
        """End a call, unless it has already ended."""
        state = TERMINAL_REQUEST_MACHINE.next_state(request.state, trigger)
        if state is None:
            return
        request.state, request.result = state, script
        request.ended.set()
        request.cancel_timers()
        self._queues[request.terminal_id].requests.remove(request)
        self._activate_next(request.terminal_id)


def _automatic_trigger(request: TerminalRequest, script: Script) -> TerminalRequestTrigger:
    if request.prompt:
        return TerminalRequestTrigger.ACCEPT
    return TerminalRequestTrigger.CARD if script.card else TerminalRequestTrigger.STOP
