"""The rules that must hold after a crash and its recovery: the client's ledger must agree with the gateway's records.

This module contains only pure functions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.crash_testing.report import CallOutcome
from gateway_async.models.codes import ReasonCode, TransactionSource, TransactionStatus, TransactionType

RawList = Mapping[str, Any]

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})

_CREATING: Final = {
    "charged": ("transactions", "transaction_api_id"),
    "refunded": ("transactions", "transaction_api_id"),
    "stored": ("accountvaults", "account_vault_api_id"),
}
"""Kind of effect that creates a record → the record's list, and the field of its integrator id."""

_REPORTED: Final = frozenset({"done", "unknown"})
"""Outcomes in a ledger that account for an effect."""

_STORE_AT_TERMINAL: Final = "POST /v2/routeraccountvaults"
"""The one call whose record has no integrator id."""

_REFUNDS: Final = (TransactionType.REFUND, TransactionType.CREDIT)


@attrs.frozen
class Effect:
    """One effect of calls on the gateway, such as a charge.

    Attributes:
        kind: the kind of effect, such as `"charged"`.
        name: the integrator id, or the record's own id if it has none.
        ids: the ids under which a ledger may list it.
        times: how often it was done.
        is_nameless: whether it is a card stored without an integrator id, as terminals do.
    """

    kind: str
    name: str
    ids: frozenset[str]
    times: int = 1
    is_nameless: bool = False

    def is_of(self, call: CallOutcome) -> bool:
        """Whether a call may have caused this effect.

        A call may have caused it if it created the record with that id, or if its path contains the id.
        """
        shown = {*self.ids, *map(mask_text, self.ids)}  # an id of many digits may look like a card number
        if self.kind not in _CREATING:
            return not shown.isdisjoint(call.call.split("/"))
        named = not shown.isdisjoint((call.api_id, call.record_id))
        return call.call.startswith("POST ") and (named or (self.is_nameless and _may_have_stored(call)))


def effects_of(page: RawList) -> set[Effect]:
    """The effects that the sandbox's ledger page shows."""
    return {*_named_effects(page), *_nameless_effects(page), *_change_effects(page), *_settlement_effects(page)}


def count_effects(effects: Iterable[Effect]) -> Counter[str]:
    """Count how often something was charged, refunded and stored."""
    times = Counter[str]()
    for effect in effects:
        times[effect.kind] += effect.times
    return Counter({kind: times[kind] for kind in _CREATING if times[kind]})


def broken_rules(
    effects: Iterable[Effect],
    page: RawList,
    calls: Sequence[CallOutcome],
    listed: int,
    baseline: Mapping[str, int] = _NOTHING,
) -> list[str]:
    """A sentence for each rule that is broken.

    Args:
        effects: the effects on the gateway since the scenario began.
        page: the sandbox's ledger page.
        calls: the outcomes of the calls, according to the client's ledger.
        listed: how many calls `recover()` listed as unknown.
        baseline: the counts of a run without faults and crashes, as returned by `count_effects`.
    """
    names = {row["transaction_api_id"] for row in page["transactions"]}
    names |= {row["account_vault_api_id"] for row in page["accountvaults"]}
    repeated = (*_find_repeated(effects), *_find_excess(effects, baseline), *_find_extra_cards(effects, calls))
    return [*repeated, *_find_lost(effects, calls), *_find_invented(names, calls), *_find_unreported(calls, listed)]


def _find_repeated(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        if effect.times > 1:
            yield f"{effect.name} was {effect.kind} {effect.times} times"


def _find_excess(effects: Iterable[Effect], baseline: Mapping[str, int]) -> Iterator[str]:
    """Find effects that are more frequent than in a fault-free run: then a payment was repeated under another id."""
    for kind, times in count_effects(effects).items():
        if baseline.get(kind, times) < times:
            yield f"{kind} {times} {pluralize(times, 'time')} in all, and {baseline[kind]} in a fault-free run"


def _find_extra_cards(effects: Iterable[Effect], calls: Sequence[CallOutcome]) -> Iterator[str]:
    """Find more cards stored at terminals than there were calls."""
    records = {call.record_id for call in calls}
    stored = [effect.name for effect in effects if effect.is_nameless and effect.ids.isdisjoint(records)]
    most = sum(map(_may_have_stored, calls))
    if len(stored) > most > 0:
        yield f"{' and '.join(sorted(stored))} were stored at terminals, by {most} {pluralize(most, 'call')}"


def _may_have_stored(call: CallOutcome) -> bool:
    """Whether the call may have stored an unrecorded card."""
    return call.call == _STORE_AT_TERMINAL and call.record_id is None


def _find_lost(effects: Iterable[Effect], calls: Sequence[CallOutcome]) -> Iterator[str]:
    for effect in effects:
        outcomes = {call.outcome for call in calls if effect.is_of(call)}
        if outcomes.isdisjoint(_REPORTED):
            recorded = " and ".join(sorted(outcomes)) or "nothing"
            yield f"{effect.name} was {effect.kind}, but the ledger says {recorded}"


def _find_invented(names: set[str | None], calls: Sequence[CallOutcome]) -> Iterator[str]:
    for call in calls:
        if call.outcome == "done" and call.call.startswith("POST ") and call.api_id not in {None, *names}:
            yield f"{call.api_id} does not exist, but the ledger says done"


def _find_unreported(calls: Sequence[CallOutcome], listed: int) -> Iterator[str]:
    unknown = sum(call.outcome == "unknown" for call in calls)
    if unknown != listed:
        calls_are = pluralize(unknown, "call is", "calls are")
        yield f"{unknown} {calls_are} open in the ledger, and recover() listed {listed} as unknown"


def _named_effects(page: RawList) -> Iterator[Effect]:
    for kind, (records, field) in _CREATING.items():
        for name, times in page[kind].items():
            ids = {row["id"] for row in page[records] if row[field] == name}
            yield Effect(kind, name, frozenset({name, *ids}), times)


def _nameless_effects(page: RawList) -> Iterator[Effect]:
    """Yield effects without an integrator id: cards stored at a terminal, and payments of clients."""
    saved = {row["account_vault_id"] for row in page["transactions"]}
    for row in page["accountvaults"]:
        if row["account_vault_api_id"] is None and row["id"] not in saved:
            yield Effect("stored", row["id"], frozenset({row["id"]}), is_nameless=True)
    for row in page["transactions"]:
        moved_money = row["status_id"] != TransactionStatus.DECLINED and row["type_id"] != TransactionType.AVS_ONLY
        is_own = row["trx_source_id"] == TransactionSource.INTEGRATION
        if row["transaction_api_id"] is None and moved_money and is_own:
            kind = "refunded" if row["type_id"] in _REFUNDS else "charged"
            yield Effect(kind, row["id"], frozenset({row["id"]}))


def _change_effects(page: RawList) -> Iterator[Effect]:
    for row in page["transactions"]:
        ids = frozenset(name for name in (row["id"], row["transaction_api_id"]) if name)
        if row["status_id"] == TransactionStatus.VOIDED:
            yield Effect("voided", row["id"], ids)
        elif row["reason_code_id"] == ReasonCode.AUTH_COMPLETED:
            yield Effect("captured", row["id"], ids)


def _settlement_effects(page: RawList) -> Iterator[Effect]:
    for row in page["transactionbatches"]:
        if not row["is_open"] and row["id"] in page["settled"]:  # midnight settles batches too
            yield Effect("settled", row["id"], frozenset({row["id"]}))
