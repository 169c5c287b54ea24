"""The page of the ledger: how often each integrator id moved money, or stored an account."""

from collections import defaultdict

import attrs
from starlette.responses import Response

from gateway_async.sandbox.admin import actions
from gateway_async.sandbox.pages.display.masking import mask_text
from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TRANSACTION
from gateway_async.sandbox.schema.fields import Row, Table

__all__ = ["show_ledger"]


_MOST_IDS = 200
_SECTIONS = {"charged": TRANSACTION, "refunded": TRANSACTION, "stored": ACCOUNT_VAULT}
"""The effects that are counted, and the table with the records of each."""


@attrs.frozen
class _LedgerLine:
    """One integrator id, how often it had an effect, and the records that have the id."""

    api_id: str
    count: int
    records: list[Row]


@attrs.frozen
class _Section:
    """The ids with one effect; ids with more than one effect first, then the newest ones."""

    effect: str
    plural: str
    lines: list[_LedgerLine]
    total: int
    repeated: int


async def show_ledger(visit: Visit) -> Response:
    """Handle GET /ledger."""
    ledger = actions.ledger(visit.gateway)
    sections = [_read_section(ledger, effect, table) for effect, table in _SECTIONS.items()]
    repeated = sum(section.repeated for section in sections)
    return visit.render("ledger.html", sections=sections, repeated=repeated, most=_MOST_IDS)


def _read_section(ledger: Row, effect: str, table: Table) -> _Section:
    records: defaultdict[str, list[Row]] = defaultdict(list)
    for record in ledger[table.plural]:
        records[record[table.api_id]].append(record)
    counts: dict[str, int] = ledger[effect]
    api_ids = [*reversed(counts)]  # newest first
    api_ids.sort(key=lambda api_id: counts[api_id] == 1)
    lines = [_LedgerLine(mask_text(api_id), counts[api_id], records[api_id]) for api_id in api_ids[:_MOST_IDS]]
    return _Section(effect, table.plural, lines, len(counts), sum(count > 1 for count in counts.values()))
