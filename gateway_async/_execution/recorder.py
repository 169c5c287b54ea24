"""`LedgerRecorder`: write a client's calls to its ledger and read open intents.

Nothing is sent before its intent is stored. An outcome is recorded only if it is certain; otherwise the intent stays
open. Nothing that could be a card number is written.
"""

import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any, Final, TypeVar

import anyio
import attrs

from gateway_async._execution.state import CallState, seconds_in_doubt
from gateway_async._secrets import Secret, mask_text
from gateway_async._text import describe_error
from gateway_async._wire.call import Call, LedgerEntry, OutcomeQuery
from gateway_async.errors import (
    DuplicateError,
    GatewayError,
    LedgerError,
    NotSentError,
    OutcomeUnknownError,
)
from gateway_async.ledger.protocol import DONE, Intent, Ledger
from gateway_async.observe import logger

T = TypeVar("T")

INTENT_SECONDS: Final = 30.0
"""Maximum seconds for storing an intent, and for reading the open ones."""

RECORDING_SECONDS: Final = 5.0
"""Maximum seconds for recording an outcome, which delays the call, also a cancelled one."""

_CLOSING_SECONDS: Final = 20.0
"""Maximum seconds for closing a ledger; this package's take 15 at most."""

_LONGEST_DOUBT: Final = 365 * 86_400.0
"""Seconds in doubt that an intent stores at most, because a client's limits may be infinite."""

_MIN_SECRET: Final = 6
"""Secrets of at most this length, such as a CVV, are not searched for: they may be part of an amount by chance."""

_GATEWAY_ID: Final = re.compile("[0-9a-f]{24,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""Ids that a gateway generates. They are longer than a card number, so none of their digits are one."""

_STORED_FIELDS: Final = frozenset(
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
        "interval",
        "interval_type",
        "start_date",
        "end_date",
        "installment_total_count",
        "skip_count",
        "defer_count",
    }
)
"""All fields of `Call.sent` that a ledger stores; everything that could be a card number is masked there."""

_COMPARED_FIELDS: Final = _STORED_FIELDS | {"id", "last_four", "order_num", "po_number", "surcharge_amount"}
"""All fields of an outcome query's expected values that a ledger stores, to compare them with the record later."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LedgerRecorder:
    """Records the calls of one client in its ledger; without one, it does nothing."""

    def __init__(self, ledger: Ledger | None, gateway: str, user: str, in_doubt_seconds: float) -> None:
        self._ledger = ledger
        self._gateway = gateway
        self._user = user
        self._in_doubt_seconds = in_doubt_seconds
        self._conclusive_at: dict[str, float] = {}
        self._in_progress: set[str] = set()
        self._readers: list[set[str]] = []

    @property
    def calls_in_progress(self) -> int:
        return len(self._in_progress)

    async def record_intent(self, state: CallState[Any], entry: LedgerEntry) -> None:
        """Store the call's intent, before anything is sent; raise `NotSentError` if the ledger cannot."""
        if self._ledger is None:
            return
        call, plan = state.call, state.plan
        left = min(plan.attempts_until - anyio.current_time() + plan.seconds_in_doubt, _LONGEST_DOUBT)
        intent = _intent(call, entry, _utc_now(), timedelta(seconds=left), self._gateway, self._user)
        state.intent_id = intent.id
        for in_progress in (self._in_progress, *self._readers):
            in_progress.add(intent.id)
        seconds = min(INTENT_SECONDS, plan.until - anyio.current_time())
        try:
            await finish_within(seconds, self._ledger.record_intent(intent), self._ledger, "record_intent")
        except Exception as error:
            raise NotSentError(f"its intent could not be recorded: {_describe(error)}", call=str(call)) from error
        if anyio.current_time() >= plan.attempts_until:
            raise NotSentError("recording its intent used up the time limit", call=str(call))

    async def record_failure(self, state: CallState[Any], error: BaseException) -> None:
        """Record the outcome of a failed call, if it is known."""
        outcome = _outcome_of(state, error)
        if outcome is not None:
            await self.record_outcome(state.intent_id, outcome)
        elif state.intent_id is not None and state.may_have_been_executed:
            self._conclusive_at[state.intent_id] = state.in_doubt_until

    async def record_outcome(
        self, intent_id: str | None, outcome: str, record: Any = None, within: float = RECORDING_SECONDS
    ) -> None:
        """Record an outcome within `within` seconds, shielded from cancellation.

        A failure of the ledger is logged. The intent then stays open, and can be looked up again.
        """
        if self._ledger is None or intent_id is None:
            return
        try:
            record_id = getattr(record, "id", None)
            recording = self._ledger.record_outcome(
                intent_id, outcome, None if record_id is None else mask_text(str(record_id))
            )
            if recording is not DONE:
                with anyio.move_on_after(within, shield=True) as scope:
                    await recording
                if scope.cancelled_caught:
                    logger.warning("an outcome (%s) could not be recorded in %g s", outcome, within)
        except Exception as error:  # noqa: BLE001  the call must still return its result
            logger.warning("an outcome (%s) could not be recorded: %s", outcome, _describe(error))

    def forget(self, intent_id: str) -> None:
        self._in_progress.discard(intent_id)

    async def open_intents(self) -> Sequence[tuple[Intent, float]]:
        """Read the open intents, except this client's calls in progress, with their seconds in doubt."""
        if self._ledger is None:
            return []
        in_progress = set(self._in_progress)  # also calls that end, or start and end, while the ledger is read
        self._readers.append(in_progress)
        try:
            intents = await finish_within(INTENT_SECONDS, self._ledger.open_intents(), self._ledger, "open_intents")
        finally:
            self._readers = [each for each in self._readers if each is not in_progress]
        now = anyio.current_time()
        self._conclusive_at = {
            intent.id: self._conclusive_at.get(intent.id, now + self._seconds_in_doubt(intent)) for intent in intents
        }
        return [
            (intent, max(self._conclusive_at[intent.id] - now, 0.0))
            for intent in intents
            if intent.id not in in_progress
        ]

    def _seconds_in_doubt(self, intent: Intent) -> float:
        """How long another process's intent is in doubt, from its first sight by the monotonic clock."""
        at_terminal = intent.terminal_id is not None
        least = seconds_in_doubt(self._in_doubt_seconds, at_terminal=at_terminal)
        if intent.orphaned:
            return least
        stored = (intent.conclusive_at - intent.sent_at).total_seconds()
        return max(stored, least) if at_terminal else stored  # earlier versions stored too little for a terminal

    def is_from_other_gateway(self, intent: Intent) -> bool:
        """Whether an intent belongs to another gateway, so that this one cannot look it up."""
        return bool(intent.gateway and self._gateway) and intent.gateway != self._gateway

    def is_from_other_user(self, intent: Intent) -> bool:
        """Whether another user sent the call of an intent, and so may see records that this one does not."""
        sender = (intent.outcome_query or {}).get("user", "")
        return bool(sender and self._user) and sender != self._user

    async def aclose(self) -> None:
        if self._ledger is not None:
            await finish_within(_CLOSING_SECONDS, self._ledger.aclose(), self._ledger, "aclose")


async def finish_within(seconds: float, work: Awaitable[T], ledger: Ledger, method: str) -> T:
    """Await a method of a ledger; raise `LedgerError` if it takes longer."""
    with anyio.move_on_after(seconds):
        return await work
    raise LedgerError(type(ledger).__name__, f"{method} did not end within {seconds:.3g} s")


def _intent(call: Call[Any], entry: LedgerEntry, now: datetime, left: timedelta, gateway: str, user: str) -> Intent:
    secrets = tuple(secret for secret in call.request.secrets if len(secret.reveal()) > _MIN_SECRET)
    shown, outcome_query = _mask_cards(call, entry, secrets)
    return Intent(
        id=f"{int(now.timestamp() * 1_000_000):014x}{token_hex(9)}",  # sorted by time, as `id_before` expects
        call=str(call),
        resource=entry.resource,
        api_id=shown[0] or None,
        location_id=shown[1] or None,
        terminal_id=shown[2] or None,
        sent_at=now,
        conclusive_at=now + left,
        sent={name: mask_text(str(value), secrets) for name, value in call.sent.items() if name in _STORED_FIELDS},
        outcome_query=None if outcome_query is None else attrs.evolve(outcome_query, user=user).as_json(),
        gateway=gateway,
    )


def _mask_cards(
    call: Call[Any], entry: LedgerEntry, secrets: Sequence[Secret]
) -> tuple[Sequence[str], OutcomeQuery | None]:
    """Return the call's id, location and terminal, masked, and its outcome query, if nothing in it has to be masked.

    A call whose id could be a card number can therefore not be looked up after a crash.
    """
    outcome_query = None if entry.outcome_query is None else _storable(entry.outcome_query)
    shown = (call.api_id or "", entry.location_id or "", call.terminal_id or "")
    stored = () if outcome_query is None else (outcome_query.id, outcome_query.expected, outcome_query.sent)
    texts = tuple(_texts(stored))
    together = "\n".join((*shown, *texts))
    if mask_text(together, secrets) == together:
        return shown, outcome_query
    has_no_card = all(_GATEWAY_ID.fullmatch(text) or mask_text(text, secrets) == text for text in texts)
    return [mask_text(text, secrets) for text in shown], outcome_query if has_no_card else None


def _storable(outcome_query: OutcomeQuery) -> OutcomeQuery:
    """The query without personal data and possible card numbers."""
    expected = {
        name: value
        for name, value in outcome_query.expected.items()
        if name in _COMPARED_FIELDS and (name.endswith("id") or mask_text(str(value)) == str(value))
    }
    return attrs.evolve(outcome_query, expected=expected)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


def _outcome_of(state: CallState[Any], error: BaseException) -> str | None:
    """The outcome to record for a call that ended with `error`; None if it is unknown."""
    match error:
        case OutcomeUnknownError() if state.may_have_been_executed:
            return None
        case DuplicateError():
            return None  # a proxy may have sent the request twice, so a duplicate may be this call's own record
        case NotSentError():
            return "not_sent"
        case GatewayError():
            return "refused"
        case _:
            return None if state.may_have_been_executed else "not_sent"


def _describe(error: Exception) -> str:
    return mask_text(str(error)) if isinstance(error, GatewayError) else describe_error(error)
