"""Mapping of a file's columns to the contract's fields, and to the key of a row."""

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Final

import attrs
import msgspec

from gateway_async._secrets import is_confidential, mask_fields, mask_text
from gateway_async._wire.fields import fields_of
from gateway_async.errors import InvalidRequestError
from gateway_async.models.account_vaults import (
    AchVaultCreate,
    CardVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
    VaultCreate,
)

KEY: Final = "key"
PROBLEMS: Final = "problems"
"""The column that a file of rejects has in addition to the input's; it is ignored when that file is read again."""

SURPLUS: Final = ""
"""The name, in the source of a row, of a list of the cells beyond the last column."""

KINDS: Final[Mapping[type[VaultCreate], str]] = {
    CardVaultCreate: "a card",
    AchVaultCreate: "a bank account",
    SwipedVaultCreate: "a swiped card",
    TicketVaultCreate: "a ticket",
    TransactionVaultCreate: "an earlier transaction's account",
    VaultCopyCreate: "another vault's account",
}
"""Request class → its name in messages."""

FIELDS: Final = tuple(dict.fromkeys(["payment_method", *(name for kind in KINDS for name in fields_of(kind))]))
"""The contract's names of all fields that a row can have."""

_API_ID: Final = "account_vault_api_id"
_NO_KEY: Final = re.compile(r"account|card|iban|pan$|\d{3}|[\0<>]")
"""Names of columns that cannot name the rows, and texts that are no names."""

_BLANKS: Final = str.maketrans("01", " \t")
_SHORT_NUMBER: Final = re.compile(r"(?=.*\d.*\d)[\W\d_]+")
_MAX_SHOWN_LENGTH: Final = 40
_MAX_LISTED: Final = 20


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a TOML file of columns."""

    columns: dict[str, str] = msgspec.field(default_factory=dict)
    constants: dict[str, str | int | bool] = msgspec.field(default_factory=dict)
    key: str | None = None
    ignore: list[str] = msgspec.field(default_factory=list)


@attrs.frozen
class ColumnMapping:
    """The mapping of the columns of one file, or of the names of one JSON object.

    Attributes:
        fields: for each column the contract's field, or None.
        key: the index of the column that is the row's key, or None.
        problems: columns that cannot be mapped, one line each.
        unnamed: the indexes of columns without a name; the meaning of a value there is not known.
    """

    fields: tuple[str | None, ...]
    key: int | None
    problems: tuple[str, ...] = ()
    unnamed: tuple[int, ...] = ()

    def fields_by_column(self, header: Sequence[str]) -> dict[str, str]:
        """Return column → field for the columns that have a field."""
        return {name: field for name, field in zip(header, self.fields, strict=True) if field}


@attrs.frozen
class Columns:
    """The mapping of a file's columns to the fields of an account vault (contract, *Account vault*).

    A column needs no entry if its name is a field's name; case, blanks and dashes do not matter. Every other column
    must be mapped or ignored. Otherwise a mistyped name would lose its values silently. A column without a name has the
    name "". If it is neither mapped nor ignored, a row with a value there is rejected.

    Args:
        names: column → field.
        constants: field → the value that every row gets.
        key: the column that names a row. The journal stores it, so it must never be a card number. By default `key`,
            else `account_vault_api_id`.
        ignore: columns that are left out; `problems` always is.
    """

    names: Mapping[str, str] = attrs.field(factory=dict)
    constants: Mapping[str, str] = attrs.field(factory=dict, repr=lambda constants: repr(mask_fields(constants)))
    key: str | None = None
    ignore: Collection[str] = ()

    def __attrs_post_init__(self) -> None:
        """Reject fields that the contract does not have, and columns with two fields."""
        problems = [*_unknown_fields(self.names.values(), "names"), *_unknown_fields(self.constants, "constants")]
        problems += _ambiguous_names(self.names)
        if problems:
            raise InvalidRequestError(problems)

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> "Columns":
        """Read the mapping from a file with `[columns]`, `[constants]`, `key = "…"` and `ignore = […]`.

        Raises:
            InvalidRequestError: the file cannot be read, or has other content.
        """
        try:
            content = msgspec.toml.decode(Path(path).read_bytes().removeprefix(BOM_UTF8), type=_File)
        except (OSError, ValueError) as error:
            raise InvalidRequestError(f"columns: {path} cannot be read: {error}") from None
        constants = {name: str(value) for name, value in content.constants.items()}
        return cls(names=content.columns, constants=constants, key=content.key, ignore=content.ignore)

    def map_header(self, header: Sequence[str]) -> ColumnMapping:
        """Map the columns of a file to fields.

        Raises:
            InvalidRequestError: a column is unknown or occurs twice, or one that is named here is missing.
        """
        mapping = self.map_names(header)
        problems = [*mapping.problems, *self._missing_columns(header)]
        if not any(mapping.fields) and header:
            delimiter = " Is another --delimiter needed?" if len(header) == 1 else ""
            problems.append(
                f"header: no column is a field of an account vault; is the first line the header?{delimiter}"
            )
        if problems:
            header = ()  # it may be a row, and a traceback shows local variables
            raise InvalidRequestError(problems)
        return mapping

    def map_names(self, header: Sequence[str]) -> ColumnMapping:
        """Return the mapping for names, with its problems. Columns may be missing."""
        known = dict(zip(FIELDS, FIELDS, strict=True))
        known |= {_normalize(name): field for name, field in self.names.items()}
        ignored = {_normalize(name) for name in (*self.ignore, PROBLEMS)}
        normalized = [_normalize(name) for name in header]
        key_name = KEY if self.key is None else _normalize(self.key)
        key = normalized.index(key_name) if key_name in normalized else None
        fields = tuple(None if name in ignored else known.get(name) for name in normalized)
        unknown = [
            index for index, name in enumerate(normalized) if fields[index] is None and name not in ignored | {key_name}
        ]
        lacks_key = key is None and self.key is None and _API_ID not in (*fields, *self.constants)
        problems = [
            *(_unknown_column(header[index], may_be_key=lacks_key) for index in unknown if normalized[index]),
            *_find_repeated(header, fields),
            *(f"{name}: both a column and a constant" for name in self.constants if name in fields),
            *self._key_problems(header, fields, key),
        ]
        return ColumnMapping(fields, key, tuple(problems), tuple(index for index in unknown if not normalized[index]))

    def check_key(self, header: Sequence[str]) -> None:
        """Reject a file without a key for its rows.

        Raises:
            InvalidRequestError: columns for the key and for `account_vault_api_id` are both missing.
        """
        mapping = self.map_names(header)
        if header and mapping.key is None and _API_ID not in (*mapping.fields, *self.constants):
            raise InvalidRequestError(
                f"key: no column names the rows (expected a column key or {_API_ID}, or --key COLUMN, in a program "
                f"Columns(key=…)); columns: {_list_names(header)}"
            )

    def _missing_columns(self, header: Sequence[str]) -> Iterator[str]:
        present = {_normalize(name) for name in header}
        wanted = [*self.names, *([self.key] if self.key is not None else ())]
        for name in wanted:
            if _normalize(name) not in present:
                yield f"{_mask_name(name)}: not a column of the file (columns: {_list_names(header)})"

    def _key_problems(self, header: Sequence[str], fields: Sequence[str | None], key: int | None) -> Iterator[str]:
        if key is None:
            return
        field = fields[key]
        if field is not None and is_confidential(field):
            yield f"key: {field} not allowed, because the journal stores keys"
        wanted = _normalize(header[key])
        if sum(_normalize(name) == wanted for name in header) > 1:
            yield f"key: column {_mask_name(header[key])} appears twice"


def source_names(header: Sequence[str]) -> tuple[str, ...]:
    """Name the columns uniquely, for the source of a row.

    Columns without a name, and ignored ones with the same name, have blanks added, which differ. In a header they mean
    the same.
    """
    seen = Counter({"": 1})
    names = []
    for name in header:
        names.append(name + f"{seen[name]:b}".translate(_BLANKS) if seen[name] else name)
        seen[name] += 1
    return tuple(names)


def _normalize(name: str) -> str:
    """Normalize a column's name: `Account-Number ` becomes `account_number`. Without letters, it stays as it is."""
    bare = name.strip().casefold()
    return re.sub(r"[\W_]+", "_", bare).strip("_") or bare


def _ambiguous_names(names: Mapping[str, str]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, field in names.items():
        other = first.setdefault(_normalize(name), name)
        if names[other] != field:
            yield f"names: {_mask_name(other)} and {_mask_name(name)} are one column"


def _unknown_fields(fields: Iterable[str], where: str) -> Iterator[str]:
    for field in fields:
        if field not in FIELDS:
            yield f"{where}: {_mask_name(field)} is not a field of an account vault{_suggest(field)}"


def _unknown_column(name: str, *, may_be_key: bool) -> str:
    shown = _mask_name(name)
    may_be_key = may_be_key and not _NO_KEY.search(name.casefold())
    key = f"; --key {shown} if it names the rows" if may_be_key else ""
    return (
        f"{shown}: not a field of an account vault{key}{_suggest(name)} (expected --map {shown[:-1]}=FIELD{shown[-1]} "
        f"or --ignore {shown}, in a program Columns(key=…, names=…, ignore=…); gateway-async migrate fields lists the "
        "fields)"
    )


def _suggest(name: str) -> str:
    matches = get_close_matches(_normalize(name), FIELDS, n=1, cutoff=0.5)
    return f"; did you mean {matches[0]}?" if matches else ""


def _list_names(header: Sequence[str]) -> str:
    return ", ".join(map(_mask_name, header[:_MAX_LISTED])) or "none: the file is empty"


def _find_repeated(header: Sequence[str], fields: Sequence[str | None]) -> Iterator[str]:
    for field in dict.fromkeys(fields):
        names = [_mask_name(name) for name, other in zip(header, fields, strict=True) if other == field]
        if field is not None and len(names) > 1:
            yield f"{field}: mapped from {len(names)} columns: {', '.join(names)}"


def _mask_name(name: str) -> str:
    """Mask a column's name: without a header it may be a card number, a CVV or an expiry."""
    hidden = re.sub(r"\d{5,}(?=\d{4})|\d(?=(?:[ -]?\d){8,})", "*", mask_text(name))
    if hidden == name and _SHORT_NUMBER.fullmatch(name):
        hidden = re.sub(r"\d", "*", name)
    return repr(hidden if len(hidden) <= _MAX_SHOWN_LENGTH else hidden[:_MAX_SHOWN_LENGTH] + "…")
