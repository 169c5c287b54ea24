"""`Books`: what a client puts down in its ledger, and what it takes from there.

The law of this file: nothing is sent before its intent is kept; an intent is settled only by what is known for certain,
else it stays open; and nothing that could be a card number is written.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from time import monotonic
from typing import Any, Final

import anyio

from gateway_async._net.delivery import MAY_ARRIVE_SECONDS, Delivery
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, Entry
from gateway_async._wire.inquiry import Inquiry
from gateway_async.errors import GatewayError, NotSentError, OutcomeUnknownError
from gateway_async.ledger import KEPT, Intent, Ledger
from gateway_async.observe import logger

__all__ = ["SETTLING_SECONDS", "Books"]

SETTLING_SECONDS: Final = 5.0
"""How long keeping an outcome may hold back its call, cancelled or not."""

_JUMP_SECONDS: Final = 2.0
"""A clock that runs so far ahead of the monotonic one was set; what it says of other processes' calls is void."""

_LONG: Final = 6
"""A shorter secret, such as a CVV, may be part of an amount by chance."""

_LONG_ID: Final = re.compile("[0-9a-f]{24,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""Ids as gateways make them: longer than a card number, whatever digits follow each other in them."""

_KEPT: Final = frozenset(
    {
        "action",
        "payment_method",
        "transaction_amount",
        "tip_amount",
        "tax",
        "subtotal_amount",
        "transaction_api_id",
        "account_vault_id",
        "account_vault_api_id",
        "previous_account_vault_id",
        "previous_account_vault_api_id",
        "previous_transaction_id",
        "previous_transaction_api_id",
        "contact_id",
        "contact_api_id",
        "location_id",
        "product_transaction_id",
        "terminal_id",
    }
)
"""Of what is sent (`Call.sent`, where all that could be a card number is masked), all that a ledger gets to see."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Books:
    """The ledger of one client. Without a ledger, and for calls that it does not keep, nothing happens here.

    Args:
        ledger: keeps the intents; closed with this object.
        gateway: the address of the gateway.
        now: the time in UTC.
    """

    def __init__(self, ledger: Ledger | None, gateway: str = "", now: Callable[[], datetime] = _utc_now) -> None:
        self._ledger = ledger
        self._gateway = gateway
        self._now = now
        self._began = now(), monotonic()
        self._under_way: set[str] = set()
        self._readers: list[set[str]] = []

    async def intend(self, delivery: Delivery[Any]) -> None:
        """Keep the call's intent, before anything is sent.

        Raises:
            NotSentError: the ledger did not take it.
        """
        call = delivery.call
        if self._ledger is None or call.entry is None:
            return
        left = delivery.attempts_until - anyio.current_time() + MAY_ARRIVE_SECONDS
        intent = _intent(call, call.entry, self._now(), timedelta(seconds=left), self._gateway)
        delivery.intent_id = intent.id
        for own in (self._under_way, *self._readers):
            own.add(intent.id)
        try:
            await self._ledger.intend(intent)
        except Exception as error:
            raise NotSentError(f"its intent could not be kept: {_said(error)}", call=str(call)) from error

    async def failed(self, delivery: Delivery[Any], error: BaseException) -> None:
        """Keep the outcome of a call that ended with `error`, if it is known."""
        outcome = _outcome(delivery, error)
        if outcome is not None:
            await self.settle(delivery.intent_id, outcome)

    async def settle(
        self, intent_id: str | None, outcome: str, record: Any = None, within: float = SETTLING_SECONDS
    ) -> None:
        """Keep an outcome, `within` that many seconds, and no cancellation comes between.

        A ledger that does not take it is logged: the intent stays open, to be looked up again.
        """
        if self._ledger is None or intent_id is None:
            return
        try:
            record_id = getattr(record, "id", None)
            kept = self._ledger.settle(intent_id, outcome, None if record_id is None else mask_text(str(record_id)))
            if kept is not KEPT and not await _in_time(kept, within):
                logger.warning("an outcome (%s) could not be kept in %g s", outcome, within)
        except Exception as error:  # noqa: BLE001  the call has its result, and that is what its caller needs
            logger.warning("an outcome (%s) could not be kept: %s", outcome, _said(error))

    def forget(self, delivery: Delivery[Any]) -> None:
        """Count a call no more among those that are under way."""
        self._under_way.discard(delivery.intent_id or "")

    async def left_open(self) -> Sequence[tuple[Intent, float]]:
        """The open intents that are not under way in this client, and in how many seconds each is certain.

        Raises:
            GatewayError: the ledger cannot be read, as it says itself.
        """
        if self._ledger is None:
            return []
        own = set(self._under_way)  # also those that end, or begin and end, while the ledger is read
        self._readers.append(own)
        try:
            intents = await self._ledger.open_intents()
        finally:
            self._readers = [each for each in self._readers if each is not own]
        return [(intent, self._seconds_left(intent)) for intent in intents if intent.id not in own]

    def _seconds_left(self, intent: Intent) -> float:
        """Until an intent is certain: no longer than it ever took, and from now on where the clock was set forward."""
        at_most = (intent.certain_at - intent.sent_at).total_seconds()
        wall, monotone = self._began
        now = self._now()
        jumped = (now - wall).total_seconds() - (monotonic() - monotone)
        return at_most if jumped > _JUMP_SECONDS else min(at_most, (intent.certain_at - now).total_seconds())

    def is_elsewhere(self, intent: Intent) -> bool:
        """Whether another gateway has it, so that this one knows nothing of it."""
        return bool(intent.gateway and self._gateway) and intent.gateway != self._gateway

    async def aclose(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            await self._ledger.aclose()


def _intent(call: Call[Any], entry: Entry, now: datetime, left: timedelta, gateway: str) -> Intent:
    shown, inquiry = _without_cards(call, entry)
    return Intent(
        id=f"{int(now.timestamp() * 1_000_000):014x}{token_hex(9)}",  # in order: an index of them grows at its end
        call=str(call),
        resource=entry.resource,
        api_id=shown[0] or None,
        location_id=shown[1] or None,
        terminal_id=shown[2] or None,
        sent_at=now,
        certain_at=now + left,
        sent={name: str(value) for name, value in call.sent.items() if name in _KEPT},
        inquiry=None if inquiry is None else inquiry.as_json(),
        gateway=gateway,
    )


def _without_cards(call: Call[Any], entry: Entry) -> tuple[Sequence[str], Inquiry | None]:
    """The call's own id, location and terminal, masked; and its inquiry, if nothing in it had to be masked.

    An id that could be a card number costs the lookup after a crash.
    """
    secrets = tuple(secret for secret in call.secrets if len(secret.reveal()) > _LONG)
    shown = (call.api_id or "", entry.location_id or "", call.terminal_id or "")
    texts = () if entry.inquiry is None else tuple(_texts(entry.inquiry))
    together = "\n".join((*shown, *texts))
    if mask_text(together, secrets) == together:
        return shown, entry.inquiry
    harmless = all(_LONG_ID.fullmatch(text) or mask_text(text, secrets) == text for text in texts)
    return [mask_text(text, secrets) for text in shown], entry.inquiry if harmless else None


def _texts(inquiry: Inquiry) -> Iterator[str]:
    yield inquiry.id
    for value in (*inquiry.expected.values(), *inquiry.sent.values()):
        if isinstance(value, list | tuple):
            yield from map(str, value)
        else:
            yield str(value)


def _outcome(delivery: Delivery[Any], error: BaseException) -> str | None:
    """What a ledger calls it when a call ends like that; None when nobody knows."""
    match error:
        case OutcomeUnknownError():
            return None
        case NotSentError():
            return "not_sent"
        case GatewayError():
            return "refused"
        case _:
            return None if delivery.may_have_left else "not_sent"


async def _in_time(kept: Awaitable[None], within: float) -> bool:
    with anyio.move_on_after(within, shield=True) as scope:
        await kept
    return not scope.cancelled_caught


def _said(error: Exception) -> str:
    return mask_text(str(error) if isinstance(error, GatewayError) else f"{type(error).__name__}: {error}")
