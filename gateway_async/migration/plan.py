"""`plan_migration`: check and count a migration's rows before anything is sent."""

import re
from collections import Counter
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from datetime import UTC, date, datetime
from typing import Any, Final

import attrs

from gateway_async._arguments import check_numbers
from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.migration.output.summary import duration
from gateway_async.migration.rows.builder import request_problems
from gateway_async.migration.rows.row import VaultRow, as_vault_row, iterate_rows, row_problems, storable_key
from gateway_async.migration.rows.temporary_table import DuplicateCount, DuplicateFinder
from gateway_async.migration.rows.values import AMBIGUOUS_DATE, lacks_zero
from gateway_async.models.account_vaults import AchVaultCreate, CardVaultCreate, VaultCreate

_PROGRESS_ROWS: Final = 256
_MAX_EXAMPLES: Final = 5
_MAX_REMARKS: Final = 200
_EXPIRY_WARNING_MONTHS: Final = 3
_MONTHS: Final = 12
_OTHER: Final = "other problems"
_DIGITS: Final = {4: "four", 7: "seven", 8: "eight"}
_AMBIGUOUS_DATE: Final = f"exp_date: {AMBIGUOUS_DATE}"
_CHANGED_COLUMN: Final = (
    "exp_date: a spreadsheet has changed this column to full dates; those that can be sent, as first or last days of "
    "a month, may be wrong too: 09/30 becomes 2026-09-30"
)
_PLACEHOLDER: Final = "…"
_LAST_DIGITS: Final = f", ends in {_PLACEHOLDER}"
_NUMBER: Final = re.compile("([0-9]+)")
_BRANDS: Final = (
    ("visa", re.compile("4")),
    ("mc", re.compile("5[1-5]|2(2[2-9]|[3-6]|7[01]|720)")),
    ("amex", re.compile("3[47]")),
    ("disc", re.compile("6011|64[4-9]|65")),
    ("jcb", re.compile("35(2[89]|[3-8])")),
    ("diners", re.compile("3(0[0-5]|[689])")),
)
"""Brands by the first digits of a card number; the gateway's own result may differ."""

_KINDS: Final[Mapping[str, str]] = {
    "CardVaultCreate": "cards",
    "AchVaultCreate": "bank accounts",
    "SwipedVaultCreate": "swiped cards",
    "TicketVaultCreate": "tickets",
    "TransactionVaultCreate": "accounts of earlier transactions",
    "VaultCopyCreate": "copies of other vaults",
}
"""Request class → its name in the printed plan."""


@attrs.frozen
class Remark:
    """A remark on `count` rows, of which `lines` has some; in its text … replaces numbers that differ."""

    text: str
    count: int
    lines: tuple[int, ...] = ()


@attrs.frozen
class Plan:
    """The content of a migration's rows.

    Attributes:
        rows: number of all rows: those that are ready, rejected or repeated.
        ready: rows that can be sent as they are. Of rows with the same key, the first that has no problem is sent.
        rejected: rows with a problem.
        repeated: rows without a problem, whose key an earlier one has.
        kinds: name of the request → number of rows without a problem, including repeated ones.
        brands: brand → number of cards among them, by their first digits.
        problems: why rows cannot be sent, the most frequent first.
        warnings: remarks on rows that are sent anyway: cards that have expired or soon will, expiries that a
            spreadsheet may have changed, zip codes that lost a zero, keys that look like card numbers.
        duplicate_keys: the repeated rows, some of them with the line of the row that is sent.
        duplicate_accounts: rows without a problem whose account an earlier one has; it is stored once for each row.
        seconds: estimated duration.
        assumed: the assumptions of `seconds`, as text.
    """

    rows: int
    ready: int
    rejected: int
    repeated: int
    kinds: Mapping[str, int]
    brands: Mapping[str, int]
    problems: tuple[Remark, ...]
    warnings: tuple[Remark, ...]
    duplicate_keys: DuplicateCount
    duplicate_accounts: DuplicateCount
    seconds: float
    assumed: str

    def as_json(self) -> dict[str, Any]:
        """Convert the plan to plain values for `json.dumps`."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        """Return the plan as text for a terminal."""
        return "\n".join(_lines(self))


async def plan_migration(
    rows: Iterable[VaultRow | VaultCreate] | AsyncIterable[VaultRow | VaultCreate],
    *,
    rate: float | None = None,
    concurrency: int = 64,
    latency: float = 0.3,
    today: date | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> Plan:
    """Read all rows and report their content. Nothing is sent and nothing is written.

    Duplicates are found by keyed digests of eight bytes, in a temporary table of about 25 bytes for each key and each
    account. It is in memory, or in a private temporary file if it is large, and is deleted at the end of this call.

    Args:
        rows: the rows, as in `migrate_vaults`.
        rate: maximum calls per second; None for no limit.
        concurrency: number of concurrent calls.
        latency: expected seconds for each call.
        today: cards that expire before this date have expired; by default today, UTC.
        on_progress: called from time to time with the number of rows read.

    Raises:
        InvalidRequestError: a number is not above 0, or the source of the rows cannot be read.
    """
    rows = iterate_rows(rows)
    check_numbers(above=0, concurrency=concurrency, latency=latency, rate=1 if rate is None else rate)
    with closing(_Counter(today or datetime.now(UTC).date())) as count:
        async with aclosing(rows):
            async for given in rows:
                count.add(_to_row(given))
                if on_progress and count.rows % _PROGRESS_ROWS == 0:
                    on_progress(count.rows)
        per_second, assumed = _speed(rate, concurrency, latency)
        return count.plan(per_second, assumed)


def _speed(rate: float | None, concurrency: int, latency: float) -> tuple[float, str]:
    possible = concurrency / latency
    if rate is not None and rate <= possible:
        return rate, f"{rate:g} {pluralize(rate, 'call')} per second"
    return possible, f"{concurrency} concurrent {pluralize(concurrency, 'call')} of {latency:g} s"


def _to_row(given: VaultRow | VaultCreate) -> VaultRow:
    if isinstance(given, VaultRow):
        return given
    missing = () if given.account_vault_api_id else ("account_vault_api_id: required",)
    return attrs.evolve(as_vault_row(given), problems=(*request_problems(given), *missing))


class _Counter:
    def __init__(self, today: date) -> None:
        self.rows = 0
        self._ready = 0
        self._month = today.year * _MONTHS + today.month
        self._kinds: Counter[str] = Counter()
        self._brands: Counter[str] = Counter()
        self._problems = _Remarks()
        self._warnings = _Remarks()
        self._full_dates = _Remarks()
        self._has_ambiguous_date = False
        self._keys = DuplicateFinder()
        self._accounts = DuplicateFinder()

    def add(self, row: VaultRow) -> None:
        self.rows += 1
        line = row.line if row.line is not None else self.rows
        problems = row_problems(row)
        key = storable_key(row)
        if mask_text(key) != key:
            self._warnings.add("key: looks like a card number, and the journal stores keys", line)
        for problem in problems:
            self._problems.add(mask_text(problem), line)
            self._has_ambiguous_date |= problem.startswith(_AMBIGUOUS_DATE)
        if row.request is not None and not problems:
            self._add_ready(row, row.request, line)

    def _add_ready(self, row: VaultRow, request: VaultCreate, line: int) -> None:
        self._ready += 1
        self._keys.add(row.key, line)
        self._kinds[type(request).__name__] += 1
        if isinstance(request, CardVaultCreate):
            self._brands[_brand(request.account_number.reveal())] += 1
        if isinstance(request, CardVaultCreate | AchVaultCreate):
            self._accounts.add(request.account_number.reveal(), line)
        if row.has_full_date:
            self._full_dates.add(_CHANGED_COLUMN, line)
        for warning in self._warnings_of(request):
            self._warnings.add(warning, line)

    def close(self) -> None:
        self._keys.close()
        self._accounts.close()

    def plan(self, per_second: float, assumed: str) -> Plan:
        duplicate_keys = self._keys.find(_MAX_EXAMPLES)
        ready = self._ready - duplicate_keys.count
        # One ambiguous date shows that a spreadsheet has changed the whole column.
        full_dates = self._full_dates.found() if self._has_ambiguous_date else ()
        return Plan(
            rows=self.rows,
            ready=ready,
            rejected=self.rows - self._ready,
            repeated=duplicate_keys.count,
            kinds=dict(self._kinds.most_common()),
            brands=dict(self._brands.most_common()),
            problems=self._problems.found(),
            warnings=(*full_dates, *self._warnings.found()),
            duplicate_keys=duplicate_keys,
            duplicate_accounts=self._accounts.find(_MAX_EXAMPLES),
            seconds=ready / per_second,
            assumed=assumed,
        )

    def _warnings_of(self, request: VaultCreate) -> Iterator[str]:
        if isinstance(request, CardVaultCreate):
            months_left = 2000 * _MONTHS + int(request.exp_date[2:]) * _MONTHS + int(request.exp_date[:2]) - self._month
            if months_left < 0:
                yield "exp_date: the card has expired"
            elif months_left <= _EXPIRY_WARNING_MONTHS:
                yield f"exp_date: the card expires within {_EXPIRY_WARNING_MONTHS} months"
        if request.billing_zip and lacks_zero(request.billing_zip):
            digits = _DIGITS[sum(map(str.isdigit, request.billing_zip))]
            yield f"billing_zip: has {digits} digits; is a leading zero missing?"


class _Remarks:
    """Counts equal remarks, ignoring the numbers in their text; a few hundred at most."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[list[str], int, tuple[int, ...]]] = {}

    def add(self, text: str, line: int) -> None:
        field, separator, text = text.partition(": ")
        first, *rest = _NUMBER.split(text)  # text and numbers alternate
        parts = [field + separator + first, *rest]
        kind = "#".join(parts[::2])  # the text without its numbers
        if kind not in self._found and len(self._found) >= _MAX_REMARKS:
            kind, parts = _OTHER, [_OTHER]
        others, count, lines = self._found.get(kind, (parts, 0, ()))
        common = [part if part == other else _PLACEHOLDER for part, other in zip(parts, others, strict=True)]
        self._found[kind] = (common, count + 1, (*lines, line) if len(lines) < _MAX_EXAMPLES else lines)

    def found(self) -> tuple[Remark, ...]:
        remarks = (
            Remark("".join(parts).replace(_LAST_DIGITS, ""), count, lines)
            for parts, count, lines in self._found.values()
        )
        return tuple(sorted(remarks, key=lambda remark: -remark.count))


def _brand(number: str) -> str:
    return next((name for name, first in _BRANDS if first.match(number)), "other")


# --- the plan as text


def _lines(plan: Plan) -> Iterator[str]:
    rows, needed = pluralize(plan.rows, "row"), duration(max(plan.seconds, 1))
    yield f"{plan.rows:,} {rows}, {plan.ready:,} can be sent: about {needed} ({plan.assumed})"
    if plan.ready < plan.rows:
        rejected, repeated = pluralize(plan.rejected, "is", "are"), pluralize(plan.repeated, "repeats", "repeat")
        yield f"  {plan.rejected:,} {rejected} rejected, {plan.repeated:,} {repeated} the key of another row"
    for name, count in plan.kinds.items():
        yield f"  {count:>12,}  {_KINDS.get(name, name)}"
    yield from _section("cards by brand", [Remark(name, count) for name, count in plan.brands.items()])
    yield from _section("cannot be sent", plan.problems)
    yield from _section("warnings", plan.warnings)
    yield from _duplicates(
        "repeated keys (of each, the first row that can be sent)", "{} ({} wins)", plan.duplicate_keys
    )
    yield from _duplicates("repeated accounts (each row is stored)", "{} as {}", plan.duplicate_accounts)


def _section(title: str, remarks: Sequence[Remark]) -> Iterator[str]:
    if remarks:
        yield f"{title}:"
    for remark in remarks:
        where = f"  ({_list_lines(remark.lines, remark.count)})" if remark.lines else ""
        yield f"  {remark.count:>12,}  {remark.text}{where}"


def _duplicates(title: str, example: str, duplicates: DuplicateCount) -> Iterator[str]:
    if duplicates.count:
        examples = [example.format(line, first) for line, first in duplicates.examples]
        yield f"{title}:"
        yield f"  {duplicates.count:>12,}  {_list_lines(examples, duplicates.count)}"


def _list_lines(lines: Sequence[object], count: int) -> str:
    listed = ", ".join([*map(str, lines), *(["…"] if count > len(lines) else [])])
    return f"{pluralize(count, 'line')} {listed}"
