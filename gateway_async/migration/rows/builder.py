"""Builds the vault-create request of a row from its cells, and collects all problems at once.

No message and no key of a row holds a card number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import attrs

from gateway_async._secrets import luhn_valid, mask_text
from gateway_async._text import pluralize
from gateway_async._wire.fields import fields_of, once_per_class
from gateway_async._wire.validation import problems as problems_of
from gateway_async.migration.rows.columns import KINDS, ColumnMapping
from gateway_async.migration.rows.row import VaultRow, key_problems
from gateway_async.migration.rows.values import cell_text, is_full_date, is_us_state, key_text, lacks_zero, read_value
from gateway_async.models.account_vaults import (
    AchVaultCreate,
    CardVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
    VaultCreate,
)

CARD_LENGTHS: Final = range(12, 20)
"""Digits of a card's number (ISO/IEC 7812)."""

_SOURCES: Final[Mapping[str, type[VaultCreate]]] = {
    "account_number": CardVaultCreate,
    "track_data": SwipedVaultCreate,
    "ticket": TicketVaultCreate,
    "previous_transaction_id": TransactionVaultCreate,
    "previous_transaction_api_id": TransactionVaultCreate,
    "previous_account_vault_id": VaultCopyCreate,
    "previous_account_vault_api_id": VaultCopyCreate,
}
"""Field that identifies the account → the request class that it belongs to."""

_BANK_ONLY: Final = ("routing", "is_company", "ach_sec_code")
_BANK_ACCOUNTS: Final = frozenset({"checking", "savings"})
_LENGTH_OF_NUMBER: Final = "account_number: must have 4 to 19"
"""A problem of any account's number, which a card's own limit replaces."""
_CLIENT_ADDS_LOCATION: Final = "location_id: is required"
"""A problem that does not count, because the client adds the field."""

_SEPARATORS: Final = re.compile(r"[\W_]+")
_PLACEHOLDER: Final = "0000"


def build_row(
    cells: Mapping[str, Any],
    *,
    key: Any = None,
    line: int | None = None,
    source: Mapping[str, Any] | None = None,
    problems: Sequence[str] = (),
) -> VaultRow:
    """Build a row from its cells, with all of its problems, and with its request if that can be made.

    `cells` has the file's values by the contract's fields. Without a `key`, the `account_vault_api_id` is the key.
    """
    found = list(problems)
    values = _values(cells, found)
    found += _zip_problems(values)
    request = _request(values, found)
    named_by = cells.get("account_vault_api_id") if _is_empty(key) else key
    key = _key(key, values, found)
    return VaultRow(
        key=key,
        line=line,
        request=request,
        problems=tuple(found),
        source=source,
        former_key=_former_key(named_by, key),
        has_full_date=bool(values.get("exp_date")) and is_full_date(cell_text(cells["exp_date"])),
    )


def build_mapped_row(
    mapping: ColumnMapping, cells: Sequence[Any], constants: Mapping[str, Any], *, line: int, source: Mapping[str, Any]
) -> VaultRow:
    """Build a row from cells in the order of their file."""
    values = {field: cell for field, cell in zip(mapping.fields, cells, strict=False) if field}
    key = None if mapping.key is None else cells[mapping.key]
    problems = [*mapping.problems, *_unnamed_values(mapping, cells)]
    return build_row({**constants, **values}, key=key, line=line, source=source, problems=problems)


def _unnamed_values(mapping: ColumnMapping, cells: Sequence[Any]) -> Iterator[str]:
    """Yield a problem for each value in a column without a name: it would be lost silently."""
    for index in mapping.unnamed:
        if cells[index] and not _is_empty(cells[index]):
            yield (
                f"column {index + 1}: has a value, but no name in the header (expected a name, or --ignore '' to leave "
                'the column out, in a program Columns(ignore=[""]))'
            )


def _is_empty(raw: Any) -> bool:
    try:
        return not cell_text(raw)
    except ValueError:
        return False


def unreadable_row(reason: str, *, line: int | None = None, source: Mapping[str, Any] | None = None) -> VaultRow:
    """Build a row for a line that cannot be split into cells."""
    return VaultRow(key="", line=line, problems=(f"row: {reason}",), source=source)


def _values(cells: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Read the values of cells that are not empty. Values that cannot be read are added to `problems`."""
    values: dict[str, Any] = {}
    for name, raw in cells.items():
        try:
            text = cell_text(raw)
            if text:
                values[name] = read_value(name, text)
        except UnicodeDecodeError:
            problems.append(f"{name}: not valid UTF-8")
            values[name] = None
        except ValueError as error:
            problems.append(f"{name}: {error}")
            values[name] = None
    return values


def _zip_problems(values: Mapping[str, Any]) -> Iterator[str]:
    if lacks_zero(values.get("billing_zip") or "") and is_us_state(values.get("billing_state") or ""):
        digits = sum(map(str.isdigit, values["billing_zip"]))
        yield f"billing_zip: has {digits} digits beside a US state: a leading zero is missing (expected 5 or 9 digits)"


# --- which request


def _request(values: dict[str, Any], problems: list[str]) -> VaultCreate | None:
    kind = _kind(values, problems)
    if kind is None:
        return None
    fields = _own_fields(kind, values, problems)
    missing = [name for name in _required_fields(kind) if name not in fields]
    problems += [f"{name}: required for {KINDS[kind]}" for name in missing]
    unreadable = {name for name, value in fields.items() if value is None}
    skipped = {*missing, *unreadable}
    request = kind(**{**fields, **dict.fromkeys(skipped, _PLACEHOLDER)})
    problems += [line for line in request_problems(request) if line.split(":")[0] not in skipped]
    if isinstance(request, CardVaultCreate) and "account_number" not in skipped:
        problems[:] = [line for line in problems if not line.startswith(_LENGTH_OF_NUMBER)]
        problems += _card_problems(request.account_number.reveal())
    return None if skipped else request


def request_problems(request: VaultCreate) -> list[str]:
    """List the problems of a request, except those the client solves."""
    return [line for line in problems_of(request) if line != _CLIENT_ADDS_LOCATION]


def _kind(values: Mapping[str, Any], problems: list[str]) -> type[VaultCreate] | None:
    given = [name for name in _SOURCES if name in values]
    kinds = {_SOURCES[name] for name in given}
    if not given:
        others = ", ".join(name for name in _SOURCES if name != "account_number")
        problems.append(f"account_number: required (or one of {others})")
    elif len(kinds) > 1:
        problems.append(f"{given[0]}: not allowed together with {', '.join(given[1:])}")
    else:
        kind = kinds.pop()
        return AchVaultCreate if kind is CardVaultCreate and _is_bank(values) else kind
    return None


def _is_bank(values: Mapping[str, Any]) -> bool:
    method = values.get("payment_method")
    if method is None:
        return values.get("account_type") in _BANK_ACCOUNTS or any(name in values for name in _BANK_ONLY)
    return bool(method == "ach")


def _own_fields(kind: type[VaultCreate], values: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Return the values that the request has fields for. Other values are problems, unless the request implies them."""
    known = fields_of(kind)
    for name, value in values.items():
        if name not in known and not _is_implied(kind, name, value):
            problems.append(f"{name}: not allowed for {KINDS[kind]}")
    return {name: value for name, value in values.items() if name in known}


def _is_implied(kind: type[VaultCreate], name: str, value: Any) -> bool:
    """Return whether a value is implied: the payment method of a request, or the card brand in an export."""
    if name == "payment_method":
        return value is None or kind.implied.get(name) == value
    return name == "account_type" and value not in _BANK_ACCOUNTS


@once_per_class
def _required_fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING)


def _card_problems(number: str) -> Iterator[str]:
    if not (number.isascii() and number.isdigit()):
        return
    if len(number) not in CARD_LENGTHS:
        yield f"account_number: has {len(number)} {pluralize(len(number), 'digit')} (expected 12 to 19 for a card)"
    elif not luhn_valid(number):
        yield f"account_number: fails the check digit, ends in {number[-4:]}"


# --- the key


def _key(raw: Any, values: Mapping[str, Any], problems: list[str]) -> str:
    api_id = values.get("account_vault_api_id") or ""
    try:
        key = key_text(raw) or api_id
    except ValueError as error:
        problems.append(f"key: {error}")
        return ""
    if _contains_number(f"{key} {api_id}", values):
        found = ["key: contains the account number (expected another column, because the journal stores keys)"]
    else:
        found = [*key_problems(key, api_id)]
    problems += found
    return "" if found else key


def _former_key(raw: Any, key: str) -> str | None:
    """Return the key as earlier versions read it, if that differs."""
    former = cell_text(raw) if key else ""
    return former if former != key else None


def _contains_number(text: str, values: Mapping[str, Any]) -> bool:
    numbers = (values.get(name) for name in ("account_number", "track_data", "ticket"))
    bare = _SEPARATORS.sub("", text)
    texts = chain((text, bare), (mask_text(text),) if values.get("track_data") else ())
    return any(number and len(number) >= 8 and any(number in text for text in texts) for number in numbers)  # noqa: PLR2004  shorter numbers occur in many texts
