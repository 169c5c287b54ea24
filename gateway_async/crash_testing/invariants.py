"""The rules that must hold after a crash and its recovery: the client's ledger must agree with the gateway's records.

This module contains only pure functions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async._secrets import mask_text
from gateway_async.crash_testing.report import CallOutcome

__all__ = ["Effect", "broken", "effects_of", "made"]

Page = Mapping[str, Any]

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})

_MADE: Final = {
    "charged": ("transactions", "transaction_api_id"),
    "refunded": ("transactions", "transaction_api_id"),
    "stored": ("accountvaults", "account_vault_api_id"),
}
_KNOWN: Final = frozenset({"done", "unknown"})
_STORE_AT_TERMINAL: Final = "POST /v2/routeraccountvaults"
"""The one call whose record has no integrator id."""

_VOIDED: Final = 201
_DECLINED: Final = 301
_AUTH_COMPLETED: Final = 1001
_NO_MONEY: Final = 21
_REFUNDS: Final = (30, 40)
_INTEGRATION: Final = 12
"""The source of payments made by a client. Payments that customers make on pages of the gateway have other sources."""


@attrs.frozen
class Effect:
    """One effect of calls on the gateway, such as a charge.

    Attributes:
        noun: the kind of effect, such as `"charged"`.
        name: the integrator id, or the record's own id if it has none.
        ids: the ids under which a ledger may list it.
        times: how often it was done.
        is_nameless: whether it is a card stored without an integrator id, as terminals do.
    """

    noun: str
    name: str
    ids: frozenset[str]
    times: int = 1
    is_nameless: bool = False

    def is_of(self, kept: CallOutcome) -> bool:
        """Return whether a call may have caused this effect.

        A call may have caused it if it created the record with that id, or if its path contains the id.
        """
        shown = {*self.ids, *map(mask_text, self.ids)}  # an id of many digits may look like a card number
        if self.noun not in _MADE:
            return not shown.isdisjoint(kept.call.split("/"))
        named = not shown.isdisjoint((kept.api_id, kept.record_id))
        return kept.call.startswith("POST ") and (named or (self.is_nameless and _may_have_stored(kept)))


def effects_of(page: Page) -> set[Effect]:
    """Return the effects that the sandbox's ledger page shows."""
    return {*_named(page), *_unnamed(page), *_changed(page), *_settled(page)}


def made(effects: Iterable[Effect]) -> Counter[str]:
    """Count how often something was charged, refunded and stored."""
    times = Counter[str]()
    for effect in effects:
        times[effect.noun] += effect.times
    return Counter({noun: times[noun] for noun in _MADE if times[noun]})


def broken(
    effects: Iterable[Effect], page: Page, kept: Sequence[CallOutcome], listed: int, usual: Mapping[str, int] = _NOTHING
) -> list[str]:
    """Return a sentence for each rule that is broken.

    Args:
        effects: the effects on the gateway since the scenario began.
        page: the sandbox's ledger page.
        kept: the outcomes of the calls, according to the client's ledger.
        listed: how many calls `recover()` listed as unknown.
        usual: the counts of a run without faults and crashes, as returned by `made`.
    """
    names = {row["transaction_api_id"] for row in page["transactions"]}
    names |= {row["account_vault_api_id"] for row in page["accountvaults"]}
    doubled = (*_doubled(effects), *_more_than_usual(effects, usual), *_crowded(effects, kept))
    return [*doubled, *_lost(effects, kept), *_invented(names, kept), *_silent(kept, listed)]


def _doubled(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        if effect.times > 1:
            yield f"{effect.name} was {effect.noun} {effect.times} times"


def _more_than_usual(effects: Iterable[Effect], usual: Mapping[str, int]) -> Iterator[str]:
    """Find effects that are more frequent than in a calm run: then a payment was repeated under another id."""
    for noun, times in made(effects).items():
        if usual.get(noun, times) < times:
            yield f"{noun} {times} times in all, and {usual[noun]} when nothing goes wrong"


def _crowded(effects: Iterable[Effect], kept: Sequence[CallOutcome]) -> Iterator[str]:
    """Find more cards stored at terminals than there were calls."""
    records = {one.record_id for one in kept}
    stored = [effect.name for effect in effects if effect.is_nameless and effect.ids.isdisjoint(records)]
    calls = sum(map(_may_have_stored, kept))
    if len(stored) > calls > 0:
        yield f"{' and '.join(sorted(stored))} were stored at terminals, by {calls} call{'s' * (calls > 1)}"


def _may_have_stored(kept: CallOutcome) -> bool:
    """Return whether the call may have stored a card at a terminal without recording which one."""
    return kept.call == _STORE_AT_TERMINAL and kept.record_id is None


def _lost(effects: Iterable[Effect], kept: Sequence[CallOutcome]) -> Iterator[str]:
    for effect in effects:
        said = {one.outcome for one in kept if effect.is_of(one)}
        if said.isdisjoint(_KNOWN):
            recorded = " and ".join(sorted(said)) or "nothing of it"
            yield f"{effect.name} was {effect.noun}, and the ledger says {recorded}"


def _invented(names: set[str | None], kept: Sequence[CallOutcome]) -> Iterator[str]:
    for one in kept:
        if one.outcome == "done" and one.call.startswith("POST ") and one.api_id not in {None, *names}:
            yield f"{one.api_id} is not there, and the ledger says done"


def _silent(kept: Sequence[CallOutcome], listed: int) -> Iterator[str]:
    unknown = sum(one.outcome == "unknown" for one in kept)
    if unknown != listed:
        yield f"{unknown} calls are open in the ledger, and recover() listed {listed} as unknown"


def _named(page: Page) -> Iterator[Effect]:
    for noun, (records, field) in _MADE.items():
        for name, times in page[noun].items():
            ids = {row["id"] for row in page[records] if row[field] == name}
            yield Effect(noun, name, frozenset({name, *ids}), times)


def _unnamed(page: Page) -> Iterator[Effect]:
    """Yield effects without an integrator id: cards stored at a terminal, and payments that should have one."""
    saved = {row["account_vault_id"] for row in page["transactions"]}
    for row in page["accountvaults"]:
        if row["account_vault_api_id"] is None and row["id"] not in saved:
            yield Effect("stored", row["id"], frozenset({row["id"]}), is_nameless=True)
    for row in page["transactions"]:
        if row["transaction_api_id"] is None and _moved_money(row) and row["trx_source_id"] == _INTEGRATION:
            noun = "refunded" if row["type_id"] in _REFUNDS else "charged"
            yield Effect(noun, row["id"], frozenset({row["id"]}))


def _moved_money(row: Page) -> bool:
    return bool(row["status_id"] != _DECLINED and row["type_id"] != _NO_MONEY)


def _changed(page: Page) -> Iterator[Effect]:
    for row in page["transactions"]:
        ids = frozenset(name for name in (row["id"], row["transaction_api_id"]) if name)
        if row["status_id"] == _VOIDED:
            yield Effect("voided", row["id"], ids)
        elif row["reason_code_id"] == _AUTH_COMPLETED:
            yield Effect("captured", row["id"], ids)


def _settled(page: Page) -> Iterator[Effect]:
    for row in page["transactionbatches"]:
        if not row["is_open"]:
            yield Effect("settled", row["id"], frozenset({row["id"]}))
