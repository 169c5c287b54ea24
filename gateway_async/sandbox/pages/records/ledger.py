"""The page of the ledger: how often each integrator id moved money, or stored an account."""

import attrs
from starlette.responses import Response

from gateway_async.sandbox.ledger import COUNTED_EFFECTS, CountedEffect
from gateway_async.sandbox.pages.display.masking import mask_shown_text
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.families import Summary, summarize
from gateway_async.sandbox.runtime.gateway import Gateway

__all__ = ["show_ledger"]


_MOST_IDS = 200


@attrs.frozen
class _LedgerLine:
    """One integrator id, how often it had an effect, and the records that have the id."""

    api_id: str
    count: int
    records: list[Summary]


@attrs.frozen
class _Section:
    """The ids with one effect; ids with more than one effect first, then the newest ones."""

    effect: str
    lines: list[_LedgerLine]
    total: int
    repeated: int


async def show_ledger(request: PageRequest) -> Response:
    """Handle GET /ledger."""
    sections = [_read_section(request.gateway, name, effect) for name, effect in COUNTED_EFFECTS.items()]
    repeated = sum(section.repeated for section in sections)
    return request.render("ledger.html", sections=sections, repeated=repeated)


def _read_section(gateway: Gateway, name: str, effect: CountedEffect) -> _Section:
    counts = effect.count_by_id(gateway, _MOST_IDS)
    records: dict[str, list[Summary]] = {api_id: [] for api_id in counts}
    for row in effect.find_records(gateway, [*counts]):
        records[row[effect.table.api_id]].append(summarize(gateway, effect.table, row))
    lines = [_LedgerLine(mask_shown_text(api_id), count, records[api_id]) for api_id, count in counts.items()]
    return _Section(name, lines, *effect.count_ids(gateway))
