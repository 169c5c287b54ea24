"""`Record`: the base class of everything that the gateway returns. `ApiId`: a record by its integrator id."""

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, TypeVar

import attrs

from gateway_async._secrets import (
    MASK,
    AccountNumber,
    Secret,
    mask_fields,
    mask_passwords,
    mask_text,
    repr_of,
    seal_fields,
)

R = TypeVar("R", bound="type[Record]")

_GATEWAY_ID: Final = re.compile("(.*(?<!_api)_)?id")
"""Names of ids that the gateway generates. A run of digits in one is not a card number."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@attrs.frozen
class ApiId:
    """The id an integrator gave a record in its `*_api_id` field, unique within a location.

    Accepted wherever a record id is (contract, *Integrator primary key*). `location_id` defaults to the client's.

        vault = await gateway.account_vaults.get(ApiId("customer-42"))
    """

    value: str
    """Your id, at most 64 characters without spaces."""
    location_id: str | None = None
    """The location in which the id is unique, at most 36 characters. The default is the client's."""


def _seal_unknown(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(seal_fields(fields) if fields else fields)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Record:
    """A record as the gateway returned it.

    A field that the gateway omitted is None. Fields that the model does not know, such as links and expanded relations,
    are in `extra`, unchanged (numbers with a fraction as `Decimal`). Only card and bank data, secrets, and data that
    identifies a person are sealed there: `extra["dob_year"].reveal()`. A date, a time or free-form data that does not
    fit its field is also in `extra`, and the field is None. An amount, an id or a code that does not fit makes the
    response unreadable.
    """

    extra: Mapping[str, Any] = attrs.field(default=_NOTHING, converter=_seal_unknown, hash=False)
    """The fields of the response that the model does not know. Confidential values are a `Secret`."""

    uncertain: ClassVar[frozenset[str]] = frozenset()
    """Fields whose values are not documented: a value that does not fit is in `extra`, and the field is None."""

    # For all records: attrs would compile both for each class, at 6 % of the cost of importing the package.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in attrs.fields(type(self)) if field.hash is not False))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._format_fields())})"

    def __copy__(self) -> Self:
        return self._copy(lambda value: value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copy(lambda value: deepcopy(value, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields, because a read-only mapping does not pickle. In `extra`, confidential values are masked."""
        return _make_record, (type(self), {**self._fields(), "extra": mask_fields(dict(self.extra))})

    def _copy(self, copy: Callable[[Any], Any]) -> Self:
        """Copy by fields, because a read-only mapping does not copy."""
        fields = {**self._fields(), "extra": dict(self.extra)}
        return type(self)(**{name: copy(value) for name, value in fields.items()})

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}

    def to_dict(self) -> dict[str, Any]:
        """Convert the record to JSON-ready values, with secrets masked.

        Amounts are strings, times are ISO 8601 in UTC, and codes are their plain values. Fields that
        the model does not know, and values that did not fit their field, stand under their own names.
        """
        fields = self._fields()
        extra = fields.pop("extra")
        sealed = {**seal_fields(fields, type(self).__name__), **seal_fields(extra)}
        return {mask_text(name): _plain(name, value) for name, value in sealed.items()}

    def _format_fields(self) -> Iterator[str]:
        """Yield the fields that are not None, then the keys of `extra`.

        The values of `extra` are omitted, because they may be confidential.
        """
        for field in attrs.fields(type(self)):
            value = getattr(self, field.name)
            if value is not None and field.name != "extra":
                yield f"{field.name}={repr_of(f'{type(self).__name__}.{field.name}', value)}"
        if self.extra:
            yield f"extra=<{mask_text(', '.join(self.extra))}>"


def _plain(name: str, value: Any) -> Any:  # noqa: PLR0911  one for each kind of value
    """A sealed value as JSON; `name` says whether it is a generated id."""
    match value:
        case None | bool():
            return value
        case Secret():
            return str(value) if isinstance(value, AccountNumber) else MASK
        case Record():
            return value.to_dict()
        case Mapping():
            return {mask_text(str(key)): _plain(str(key), each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(name, each) for each in value]
        case enum.Enum():
            return value.value
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case str():
            return value if _GATEWAY_ID.fullmatch(name) else mask_text(mask_passwords(value))
        case _:
            return value


def _make_record(kind: type[Record], fields: Mapping[str, Any]) -> Record:
    return kind(**fields)


def lenient(kind: R) -> R:
    """Make every field of a record but its id uncertain.

    It is for records without money, which stay readable whatever their other values are.
    """
    kind.uncertain = frozenset(field.name for field in attrs.fields(kind)) - {"id", "extra"}
    return kind
