"""`UnresolvedCalls`: earlier calls that may still be executed at a terminal.

A customer may still pay after a call with an unknown outcome. The terminal therefore takes no other call until the
outcome is known, or the call can no longer be executed.
"""

from typing import Any, Final

import anyio
import attrs

from gateway_async._execution.recorder import INTENT_SECONDS, finish_within
from gateway_async._execution.state import LOOKUP_SECONDS, CallState
from gateway_async._execution.terminals.progress_reporter import ProgressReporter
from gateway_async._kernel import describe_error
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call
from gateway_async.errors import NotSentError, OutcomeUnknownError, TerminalBusyError
from gateway_async.ledger.protocol import Ledger

_DEVICE_ADVICE: Final = "let the customer finish there, or press cancel on the device, and try again"
_COMMAND: Final = "`gateway-async ledger LEDGER --resolve`, with the ledger's file or postgresql:// address"
_RECOVER_ADVICE: Final = f"`await gateway.recover()` looks it up; if it stays unknown, run {_COMMAND}"
_MANUAL_ADVICE: Final = f"it cannot be looked up: check at the device, then run {_COMMAND}"


@attrs.frozen
class _UnresolvedCall:
    error: OutcomeUnknownError
    until: float
    token: object
    intent_id: str | None


class UnresolvedCalls:
    """Remembers, for each terminal, a call with an unknown outcome.

    Args:
        blocks: whether such terminals take no other call. If False, nothing is remembered or checked.
        ledger: contains the calls that were in progress before a crash; None without a ledger.
    """

    def __init__(self, *, blocks: bool = True, ledger: Ledger | None = None) -> None:
        self._blocks = blocks
        self._ledger = ledger
        self._by_terminal: dict[str, _UnresolvedCall] = {}

    def remember(self, state: CallState[Any]) -> None:
        """Remember a call that has ended with an unknown outcome."""
        if self._blocks and state.unresolved is not None:
            self._by_terminal[state.call.terminal_id or ""] = _UnresolvedCall(
                state.unresolved, state.in_doubt_until, state.plan.token, state.intent_id
            )

    def forget(self, terminal_id: str, *, token: object = None, intent_id: str | None = None) -> bool:
        """Forget a call whose outcome is now known; return whether it was remembered."""
        earlier = self._by_terminal.get(terminal_id)
        if earlier is None or not (earlier.token is token or (intent_id and earlier.intent_id == intent_id)):
            return False
        del self._by_terminal[terminal_id]
        return True

    def seconds_left(self, terminal_id: str) -> float:
        """Return how long an earlier call of this client is in doubt."""
        earlier = self._by_terminal.get(terminal_id)
        return 0.0 if earlier is None else max(earlier.until - anyio.current_time(), 0.0)

    async def check(self, call: Call[Any], progress: ProgressReporter) -> None:
        """Check that no earlier call can still be executed at the terminal.

        Looks up the outcome of a remembered call, for at most ten seconds.

        Raises:
            TerminalBusyError: an earlier call may still be executed; nothing was sent.
            NotSentError: the ledger cannot be read.
        """
        if self.seconds_left(call.terminal_id or ""):
            await self._resolve(call, progress)
        self._by_terminal.pop(call.terminal_id or "", None)
        if self._blocks and self._ledger is not None:
            await self._check_ledger(call, self._ledger)

    async def _resolve(self, call: Call[Any], progress: ProgressReporter) -> None:
        earlier = self._by_terminal[call.terminal_id or ""]
        progress.report_lookup()
        with anyio.move_on_after(LOOKUP_SECONDS):
            try:
                await earlier.error.resolve()
            except OutcomeUnknownError:
                pass
            else:
                return
        left = earlier.until - anyio.current_time()
        if left > 0:
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"an earlier call{_quote_id(earlier.error.api_id)} without a known outcome",
                advice=f"{_DEVICE_ADVICE}; the terminal is free in {left:.0f} s at the latest",
                call=str(call),
            )

    async def _check_ledger(self, call: Call[Any], ledger: Ledger) -> None:
        try:
            reading = ledger.open_intents(mask_text(call.terminal_id or ""))  # the ledger stores it masked
            intents = await finish_within(INTENT_SECONDS, reading, ledger, "open_intents")
        except Exception as error:
            raise NotSentError(f"the ledger cannot be read: {describe_error(error)}", call=str(call)) from error
        if intents:
            first = intents[0]
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"a call{_quote_id(first.api_id)} of {first.sent_at:%Y-%m-%d %H:%M:%S} UTC, open in the ledger",
                advice=_MANUAL_ADVICE if first.outcome_query is None else _RECOVER_ADVICE,
                call=str(call),
            )


def _quote_id(api_id: str | None) -> str:
    return f" ({api_id})" if api_id else ""
