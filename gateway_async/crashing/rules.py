"""What must hold after a crash and its recovery: the ledger against the gateway's own word.

The law of this file: pure functions of values.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async._secrets import mask_text
from gateway_async.crashing.report import Kept

__all__ = ["Deed", "broken", "deeds_of", "made"]

Page = Mapping[str, Any]

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})

_MADE: Final = {
    "charged": ("transactions", "transaction_api_id"),
    "refunded": ("transactions", "transaction_api_id"),
    "stored": ("accountvaults", "account_vault_api_id"),
}
_KNOWN: Final = frozenset({"done", "unknown"})
_STORE_AT_TERMINAL: Final = "POST /v2/routeraccountvaults"
"""The one call whose record has no name."""

_VOIDED: Final = 201
_DECLINED: Final = 301
_AUTH_COMPLETED: Final = 1001
_NO_MONEY: Final = 21
_REFUNDS: Final = (30, 40)
_INTEGRATION: Final = 12
"""The source of payments that a client makes; customers make others, on pages of the gateway."""


@attrs.frozen
class Deed:
    """Something that the gateway has done.

    Attributes:
        noun: such as `"charged"`.
        name: the integrator id, or the record's own where it has none.
        ids: the names by which a ledger may know it.
        times: how often it was done.
        is_nameless: whether it is a card that was stored without an integrator id, as terminals do.
    """

    noun: str
    name: str
    ids: frozenset[str]
    times: int = 1
    is_nameless: bool = False

    def is_of(self, kept: Kept) -> bool:
        """Whether a call may have done it: one that made a record of that name, or one whose path names it."""
        shown = {*self.ids, *map(mask_text, self.ids)}  # an id of many digits may look like a card number
        if self.noun not in _MADE:
            return not shown.isdisjoint(kept.call.split("/"))
        named = not shown.isdisjoint((kept.api_id, kept.record_id))
        return kept.call.startswith("POST ") and (named or (self.is_nameless and _may_have_stored(kept)))


def deeds_of(page: Page) -> set[Deed]:
    """What the gateway has done, by the sandbox's ledger page."""
    return {*_named(page), *_unnamed(page), *_changed(page), *_settled(page)}


def made(deeds: Iterable[Deed]) -> Counter[str]:
    """How often something was charged, refunded and stored."""
    times = Counter[str]()
    for deed in deeds:
        times[deed.noun] += deed.times
    return Counter({noun: times[noun] for noun in _MADE if times[noun]})


def broken(
    deeds: Iterable[Deed], page: Page, kept: Sequence[Kept], listed: int, usual: Mapping[str, int] = _NOTHING
) -> list[str]:
    """The rules that do not hold, a sentence for each.

    Args:
        deeds: what the gateway has done since the scenario began.
        page: the sandbox's ledger page.
        kept: what the ledger kept.
        listed: how many calls `recover()` listed as unknown.
        usual: what is made when nothing goes wrong, as `made` counts it.
    """
    names = {row["transaction_api_id"] for row in page["transactions"]}
    names |= {row["account_vault_api_id"] for row in page["accountvaults"]}
    doubled = (*_doubled(deeds), *_more_than_usual(deeds, usual), *_crowded(deeds, kept))
    return [*doubled, *_lost(deeds, kept), *_invented(names, kept), *_silent(kept, listed)]


def _doubled(deeds: Iterable[Deed]) -> Iterator[str]:
    for deed in deeds:
        if deed.times > 1:
            yield f"{deed.name} was {deed.noun} {deed.times} times"


def _more_than_usual(deeds: Iterable[Deed], usual: Mapping[str, int]) -> Iterator[str]:
    """A run that was stopped, or had faults, and did more: somebody paid again under another id."""
    for noun, times in made(deeds).items():
        if usual.get(noun, times) < times:
            yield f"{noun} {times} times in all, and {usual[noun]} when nothing goes wrong"


def _crowded(deeds: Iterable[Deed], kept: Sequence[Kept]) -> Iterator[str]:
    """Each call stores one card at a terminal."""
    records = {one.record_id for one in kept}
    stored = [deed.name for deed in deeds if deed.is_nameless and deed.ids.isdisjoint(records)]
    calls = sum(map(_may_have_stored, kept))
    if len(stored) > calls > 0:
        yield f"{' and '.join(sorted(stored))} were stored at terminals, by {calls} call{'s' * (calls > 1)}"


def _may_have_stored(kept: Kept) -> bool:
    """Whether it stored a card at a terminal, nobody knows which."""
    return kept.call == _STORE_AT_TERMINAL and kept.record_id is None


def _lost(deeds: Iterable[Deed], kept: Sequence[Kept]) -> Iterator[str]:
    for deed in deeds:
        said = {one.outcome for one in kept if deed.is_of(one)}
        if said.isdisjoint(_KNOWN):
            yield f"{deed.name} was {deed.noun}, and the ledger says {' and '.join(sorted(said)) or 'nothing of it'}"


def _invented(names: set[str | None], kept: Sequence[Kept]) -> Iterator[str]:
    for one in kept:
        if one.outcome == "done" and one.call.startswith("POST ") and one.api_id not in {None, *names}:
            yield f"{one.api_id} is not there, and the ledger says done"


def _silent(kept: Sequence[Kept], listed: int) -> Iterator[str]:
    unknown = sum(one.outcome == "unknown" for one in kept)
    if unknown != listed:
        yield f"{unknown} calls are open in the ledger, and recover() listed {listed} as unknown"


def _named(page: Page) -> Iterator[Deed]:
    for noun, (records, field) in _MADE.items():
        for name, times in page[noun].items():
            ids = {row["id"] for row in page[records] if row[field] == name}
            yield Deed(noun, name, frozenset({name, *ids}), times)


def _unnamed(page: Page) -> Iterator[Deed]:
    """What has no integrator id: cards that were stored by a call of their own, and payments that should have one."""
    saved = {row["account_vault_id"] for row in page["transactions"]}
    for row in page["accountvaults"]:
        if row["account_vault_api_id"] is None and row["id"] not in saved:
            yield Deed("stored", row["id"], frozenset({row["id"]}), is_nameless=True)
    for row in page["transactions"]:
        if row["transaction_api_id"] is None and _moved_money(row) and row["trx_source_id"] == _INTEGRATION:
            noun = "refunded" if row["type_id"] in _REFUNDS else "charged"
            yield Deed(noun, row["id"], frozenset({row["id"]}))


def _moved_money(row: Page) -> bool:
    return bool(row["status_id"] != _DECLINED and row["type_id"] != _NO_MONEY)


def _changed(page: Page) -> Iterator[Deed]:
    for row in page["transactions"]:
        ids = frozenset(name for name in (row["id"], row["transaction_api_id"]) if name)
        if row["status_id"] == _VOIDED:
            yield Deed("voided", row["id"], ids)
        elif row["reason_code_id"] == _AUTH_COMPLETED:
            yield Deed("captured", row["id"], ids)


def _settled(page: Page) -> Iterator[Deed]:
    for row in page["transactionbatches"]:
        if not row["is_open"]:
            yield Deed("settled", row["id"], frozenset({row["id"]}))
