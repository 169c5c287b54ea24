"""`Unsettled`: what earlier calls may still be doing at a terminal.

A customer who has been asked by a call that nobody knows the outcome of may still pay it. The law of this file: until
that is known, or can no longer happen, the terminal takes no other call.
"""

from typing import Any, Final

import anyio
import attrs

from gateway_async._net.delivery import LOOKUP_SECONDS, Delivery
from gateway_async._net.screen import Screen
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call
from gateway_async.errors import NotSentError, OutcomeUnknownError, TerminalBusyError
from gateway_async.ledger import Ledger

__all__ = ["Unsettled"]

_DEVICE: Final = "let the customer finish there, or press cancel on the device, and try again"
_RECOVER: Final = "`await gateway.recover()` settles it"
_BY_HAND: Final = "nothing can look it up: see at the device, then `gateway-async ledger FILE --settle`"


@attrs.frozen
class _Doubt:
    error: OutcomeUnknownError
    until: float


class Unsettled:
    """The terminals at which something may still happen.

    Args:
        blocks: whether they take no other call; if not, this remembers nothing and asks nothing.
        ledger: knows what was under way before a crash, if there is one.
    """

    def __init__(self, *, blocks: bool = True, ledger: Ledger | None = None) -> None:
        self._blocks = blocks
        self._ledger = ledger
        self._doubts: dict[str, _Doubt] = {}

    def note(self, delivery: Delivery[Any]) -> None:
        """Remember a call that has ended, if nobody knows how."""
        if self._blocks and delivery.doubt is not None:
            self._doubts[delivery.call.terminal_id or ""] = _Doubt(delivery.doubt, delivery.may_arrive_until)

    def has(self, call: Call[Any]) -> bool:
        """Whether an earlier call of this client may still be under way at the call's terminal."""
        doubt = self._doubts.get(call.terminal_id or "")
        return doubt is not None and doubt.until > anyio.current_time()

    async def check(self, call: Call[Any], screen: Screen) -> None:
        """Return when nothing of an earlier call can be under way at the terminal; ask, for ten seconds at most.

        Raises:
            TerminalBusyError: something may; nothing was sent.
            NotSentError: the ledger cannot be read.
        """
        if self.has(call):
            await self._settle(call, screen)
        self._doubts.pop(call.terminal_id or "", None)
        if self._blocks and self._ledger is not None:
            await self._check_ledger(call, self._ledger)

    async def _settle(self, call: Call[Any], screen: Screen) -> None:
        doubt = self._doubts[call.terminal_id or ""]
        screen.show_lookup()
        with anyio.move_on_after(LOOKUP_SECONDS):
            try:
                await doubt.error.resolve()
            except OutcomeUnknownError:
                pass
            else:
                return
        left = doubt.until - anyio.current_time()
        if left > 0:
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"an earlier call{_named(doubt.error.api_id)} without a known outcome",
                advice=f"{_DEVICE}; it is over in {left:.0f} s at the latest",
                call=str(call),
            )

    async def _check_ledger(self, call: Call[Any], ledger: Ledger) -> None:
        try:
            intents = await ledger.open_intents(mask_text(call.terminal_id or ""))  # as it is kept there
        except Exception as error:
            said = mask_text(f"{type(error).__name__}: {error}")
            raise NotSentError(f"the ledger cannot be read: {said}", call=str(call)) from error
        if intents:
            first = intents[0]
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"a call{_named(first.api_id)} of {first.sent_at:%Y-%m-%d %H:%M:%S} UTC, open in the ledger",
                advice=_BY_HAND if first.inquiry is None else _RECOVER,
                call=str(call),
            )


def _named(api_id: str | None) -> str:
    return f" ({api_id})" if api_id else ""
