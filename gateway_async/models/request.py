"""`Request`: the content of a create or an update, and the constraints that its fields declare.

Fields are annotated with a plain type and its constraints:

    title: Annotated[str, Length(1, 64)] | None = None

Creating the object checks nothing. Before a request is sent, `_wire/validation.py` reports all of its problems
together. Rules between fields are in `rules`.
"""

import enum
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal

import attrs

from gateway_async._secrets import AccountNumber, Secret, mask_text, repr_of, seal_fields
from gateway_async.models.codes import AccountType, AchSecCode, PaymentMethod


class Unset(enum.Enum):
    """The type of `UNSET`: a field that an update does not change (None would be sent as null)."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


@attrs.frozen
class Length:
    """A text of `minimum` to `maximum` characters."""

    minimum: int
    """The minimum number of characters."""
    maximum: int
    """The maximum number of characters."""


@attrs.frozen
class Between:
    """A whole number from `minimum` to `maximum`."""

    minimum: int
    """The smallest number."""
    maximum: int
    """The largest number."""


@attrs.frozen
class Pattern:
    """A text that a regular expression matches completely; `says` describes the expectation."""

    expression: str
    """The regular expression."""
    says: str
    """The expectation in words, for the problem: "must be digits only"."""


@attrs.frozen
class Cents:
    """An amount of money: not negative, two decimals at most, `digits` characters at most when written out.

    It is sent as text with two decimals, or with `number` as a JSON number with the given digits.
    """

    digits: int = 10
    """The maximum number of characters, with the two decimals."""
    number: bool = False
    """Whether the amount is sent as a JSON number."""


@attrs.frozen
class Items:
    """Amounts by name, `minimum` to `maximum` characters as JSON, each of `digits` characters at most when written out.

    They are sent as JSON numbers with the given digits. A negative amount is a discount; their sum is not negative.
    """

    minimum: int
    """The minimum number of characters of all items as JSON."""
    maximum: int
    """The maximum number of characters of all items as JSON."""
    digits: int = 11
    """The maximum number of characters of an amount."""


@attrs.frozen
class Amounts:
    """A list of amounts, each with its type: a code of two characters. An amount has `digits` characters at most."""

    digits: int = 12
    """The maximum number of characters of an amount."""


@attrs.frozen
class Required:
    """A required value, although the type allows None: the client may fill it in (its `location_id`)."""


@attrs.frozen
class ExactlyOne:
    """Exactly one of the fields is given."""

    fields: tuple[str, ...]
    """The names of the fields."""
    pair: frozenset[str] = frozenset()
    """The fields that count as one if all of them are given."""


@attrs.frozen
class NotBoth:
    """At most one of the fields is given."""

    fields: tuple[str, ...]
    """The names of the fields."""


@attrs.frozen
class Together:
    """All of the fields are given, or none of them."""

    fields: tuple[str, ...]
    """The names of the fields."""


@attrs.frozen
class RequiredWhen:
    """`field` is required if `when` has one of `values` and, unless `given` is empty, the field `given` is given."""

    field: str
    """The name of the required field."""
    when: str
    """The name of the field that decides."""
    values: tuple[Any, ...]
    """The values of `when` that require the field."""
    given: str = ""
    """The name of another field that must be given for the rule to apply; empty for none."""


@attrs.frozen
class NotWhen:
    """`field` must not be given if `when` has one of `values`."""

    field: str
    """The name of the excluded field."""
    when: str
    """The name of the field that decides."""
    values: tuple[Any, ...]
    """The values of `when` that exclude the field."""


FieldRule = ExactlyOne | NotBoth | Together | RequiredWhen | NotWhen

Amount = Annotated[Decimal | int | str, Cents()]
"""Money in a request: `Decimal("12.50")`, `12` or `"12.50"`; never a float."""

Sum = Annotated[Decimal | int | str, Cents(11, number=True)]
"""Money in a request where the contract has `decimal(10,2)` and takes a number."""

Days = Annotated[int, Between(0, 99)]
AmountList = Annotated[Sequence[Mapping[str, Any]], Amounts()]
ItemList = Annotated[Mapping[str, Decimal | int | str], Items(5, 4000)]
TagNames = Sequence[str]

Id = Annotated[str, Length(1, 36)]
LocationId = Annotated[str, Length(1, 36), Required()]
ApiIdText = Annotated[str, Length(1, 64), Pattern(r"\S+", "must contain no spaces")]
OwnApiId = Annotated[str, Length(0, 64), Pattern(r"\S*", "must contain no spaces")]
"""The integrator id of the record itself; an empty text means none."""
Expiry = Annotated[str, Pattern("(0[1-9]|1[0-2])[0-9][0-9]", "must be MMYY, such as 0930")]

# Codes: documented ones as text, any other as an open enum's value, such as `AccountType("new")`.
PaymentMethodCode = Literal["cc", "ach"] | PaymentMethod
BankAccountType = Annotated[Literal["checking", "savings"] | AccountType, Length(1, 32)]
AnyAccountType = (
    Literal["visa", "mc", "disc", "amex", "jcb", "diners", "debit", "checking", "savings"]
    | Annotated[AccountType, Length(1, 32)]
)
SecCode = Annotated[Literal["WEB", "PPD", "CCD", "TEL", "POP", "C21"] | AchSecCode, Length(3, 3)]

# Account fields, which vaults and transactions share.
CardOrAccountNumber = Annotated[AccountNumber, Length(4, 19), Pattern("[0-9]+", "must be digits only")]
RoutingNumber = Annotated[AccountNumber, Length(9, 9), Pattern("[0-9]+", "must be digits only")]
TrackData = Annotated[Secret, Length(1, 256)]
Ticket = Annotated[Secret, Length(1, 36)]
HolderName = Annotated[str, Length(1, 60)]
FourDigits = Annotated[str, Pattern("[0-9]{4}", "must be four digits")]
LicenseNumber = Annotated[str, Length(1, 50)]
LicenseState = Annotated[str, Length(2, 2)]


def _seal_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    return seal_fields(extra) if isinstance(extra, Mapping) and extra else extra  # it may be wrong


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Request:
    """The content of a create or an update.

    A field of a create that is None is omitted. `extra` is sent unchanged: it is for fields of the gateway that this
    version of the package does not know.
    """

    extra: Mapping[str, Any] = attrs.field(factory=dict, converter=_seal_extra, hash=False)
    """Fields that the model does not know, sent unchanged. Names of known fields are a problem.

    Card and bank data, secrets, and data that identifies a person become a `Secret`.
    """

    implied: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Fields that the class determines, such as `payment_method`."""

    rules: ClassVar[tuple[FieldRule, ...]] = ()

    # For all requests, as for records.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request) or type(other) is not type(self):
            return NotImplemented
        return attrs.asdict(self, recurse=False) == attrs.asdict(other, recurse=False)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in attrs.fields(type(self)) if field.hash is not False))

    def __repr__(self) -> str:
        """The given fields, masked, and the keys of `extra`."""
        kind = type(self).__name__
        shown = [
            f"{field.name}={repr_of(f'{kind}.{field.name}', getattr(self, field.name))}"
            for field in attrs.fields(type(self))
            if field.name != "extra" and getattr(self, field.name) is not field.default
        ]
        if self.extra and isinstance(self.extra, Mapping):
            shown.append(f"extra=<{mask_text(', '.join(map(str, self.extra)))}>")
        return f"{type(self).__name__}({', '.join(shown)})"
