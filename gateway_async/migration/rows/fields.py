"""The fields of an account vault that a column can fill: when each is required, its length and its content.

All of it comes from the request classes in `models/account_vaults.py`, so it equals the checks before sending.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import attrs

from gateway_async._wire.fields import fields_of
from gateway_async.migration.rows.columns import FIELDS, KINDS
from gateway_async.migration.rows.values import EXPIRY_FORMS
from gateway_async.models.account_vaults import VaultCreate
from gateway_async.models.codes import AccountType, AchSecCode, PaymentMethod
from gateway_async.models.request import ExactlyOne, Length, NotBoth, Pattern, Required, Together

_CODES: Final = (AccountType, AchSecCode, PaymentMethod)
_LENIENT: Final[Mapping[str, str]] = {
    "exp_date": f"a month and a year, {EXPIRY_FORMS}",
    **dict.fromkeys(("account_number", "routing"), "digits; blanks and dashes between them are left out"),
}
"""Fields that are accepted in more formats than the contract's."""


@attrs.frozen(kw_only=True)
class FieldFacts:
    """The facts about one field.

    Attributes:
        name: the contract's name.
        required: when it is required, as text; "" if never.
        accounts: the kinds of accounts that take it.
        minimum, maximum: characters; None if the field has no limit.
        meaning: its content, as far as the models describe it.
    """

    name: str
    required: str
    accounts: tuple[str, ...]
    minimum: int | None
    maximum: int | None
    meaning: str


def field_list() -> tuple[FieldFacts, ...]:
    """List the fields that a column can fill (contract, *Account vault*)."""
    return tuple(_facts(name) for name in FIELDS)


def _facts(name: str) -> FieldFacts:
    kinds = [kind for kind in KINDS if name in fields_of(kind) or name in kind.implied]
    parts = [part for kind in kinds for part in _parts(fields_of(kind).get(name, PaymentMethod))]
    lengths = [part for part in parts if isinstance(part, Length)]
    return FieldFacts(
        name=name,
        required="; ".join(dict.fromkeys(_describe_required(name, kinds, parts))),
        accounts=tuple(KINDS[kind] for kind in kinds),
        minimum=min((part.minimum for part in lengths), default=None),
        maximum=max((part.maximum for part in lengths), default=None),
        meaning="; ".join(dict.fromkeys([_LENIENT.get(name) or _value(parts), *_rules(name, kinds)])),
    )


def _describe_required(name: str, kinds: Sequence[type[VaultCreate]], parts: list[Any]) -> Iterator[str]:
    for kind in kinds:
        field = next((field for field in attrs.fields(kind) if field.name == name), None)
        if field is not None and field.default is attrs.NOTHING:
            yield KINDS[kind]
        for rule in kind.rules:
            if isinstance(rule, ExactlyOne) and name in rule.fields:
                yield f"{KINDS[kind]}, without {_others(name, rule.fields)}"
    if any(isinstance(part, Required) for part in parts):
        yield "always, unless the client has one"


def _value(parts: list[Any]) -> str:
    codes = next((part for part in parts if part in _CODES), None)
    if codes is not None:
        meaning = str(codes.__doc__).partition(": ")[2].rstrip(".")
        return f"{meaning}: {', '.join(_codes(codes))}" if meaning else ", ".join(_codes(codes))
    if bool in parts:
        return "yes or no"
    return "; ".join(["text", *dict.fromkeys(part.says for part in parts if isinstance(part, Pattern))])


def _codes(kind: type[Any]) -> list[str]:
    return [str(value) for name, value in vars(kind).items() if name.isupper()]


def _rules(name: str, kinds: Sequence[type[VaultCreate]]) -> Iterator[str]:
    for rule in (rule for kind in kinds for rule in kind.rules):
        if isinstance(rule, NotBoth | ExactlyOne) and name in rule.fields:
            yield f"not together with {_others(name, rule.fields)}"
        elif isinstance(rule, Together) and name in rule.fields:
            yield f"only together with {_others(name, rule.fields)}"


def _others(name: str, fields: tuple[str, ...]) -> str:
    return ", ".join(field for field in fields if field != name)


def _parts(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(annotation.__origin__)
        yield from annotation.__metadata__
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _parts(part)
    else:
        yield annotation
