"""What must hold after a crash and its recovery: the ledger against the gateway's own word.

The law of this file: pure functions of values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from gateway_async._secrets import mask_text
from gateway_async.crashing.report import Kept

__all__ = ["Deed", "broken", "deeds_of"]

Page = Mapping[str, Any]

_MADE: Final = {
    "charged": ("transactions", "transaction_api_id"),
    "refunded": ("transactions", "transaction_api_id"),
    "stored": ("accountvaults", "account_vault_api_id"),
}
_KNOWN: Final = frozenset({"done", "unknown"})
_VOIDED: Final = 201


@attrs.frozen
class Deed:
    """Something that the gateway has done.

    Attributes:
        noun: such as `"charged"`.
        name: the integrator id, or the record's own where it has none.
        ids: the names by which a ledger may know it.
        times: how often it was done.
    """

    noun: str
    name: str
    ids: frozenset[str]
    times: int = 1

    def is_of(self, kept: Kept) -> bool:
        """Whether a call may have done it: one that made a record of that name, or one whose path names it."""
        if self.noun not in _MADE:
            shown = map(mask_text, self.ids)  # an id of many digits may look like a card number
            return not set(kept.call.split("/")).isdisjoint(shown)
        nameless = self.name not in self.ids and kept.call == "POST /v2/routeraccountvaults"
        named = kept.api_id in self.ids or kept.record_id in self.ids
        return kept.call.startswith("POST ") and (named or nameless)


def deeds_of(page: Page) -> set[Deed]:
    """What the gateway has done, by the sandbox's ledger page."""
    return {*_made(page), *_voided(page), *_settled(page)}


def broken(deeds: Iterable[Deed], page: Page, kept: Sequence[Kept], listed: int) -> list[str]:
    """The rules that do not hold, a sentence for each.

    Args:
        deeds: what the gateway has done since the scenario began.
        page: the sandbox's ledger page.
        kept: what the ledger kept.
        listed: how many calls `recover()` listed as unknown.
    """
    names = {row["transaction_api_id"] for row in page["transactions"]}
    names |= {row["account_vault_api_id"] for row in page["accountvaults"]}
    return [*_doubled(deeds), *_lost(deeds, kept), *_invented(names, kept), *_silent(kept, listed)]


def _doubled(deeds: Iterable[Deed]) -> Iterator[str]:
    for deed in deeds:
        if deed.times > 1:
            yield f"{deed.name} was {deed.noun} {deed.times} times"


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


def _made(page: Page) -> Iterator[Deed]:
    for noun, (records, field) in _MADE.items():
        for name, times in page[noun].items():
            ids = {row["id"] for row in page[records] if row[field] == name}
            yield Deed(noun, name, frozenset({name, *ids}), times)
    for row in page["accountvaults"]:
        if row["account_vault_api_id"] is None:
            yield Deed("stored", row["id"], frozenset())


def _voided(page: Page) -> Iterator[Deed]:
    for row in page["transactions"]:
        if row["status_id"] == _VOIDED:
            ids = (row["id"], row["transaction_api_id"])
            yield Deed("voided", row["id"], frozenset(name for name in ids if name))


def _settled(page: Page) -> Iterator[Deed]:
    for row in page["transactionbatches"]:
        if not row["is_open"]:
            yield Deed("settled", row["id"], frozenset({row["id"]}))
