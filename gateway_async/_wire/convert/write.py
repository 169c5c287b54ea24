"""Write models as the gateway's JSON, by the rules of this package's docstring."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, partial
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec
from cattrs import Converter

from gateway_async._secrets import Secret, unseal
from gateway_async._wire.amounts import exact, to_cents
from gateway_async._wire.convert.read import is_a, once_per_class
from gateway_async.models.request import UNSET, Amounts, Cents, Items, Request

_PLAIN_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def is_utf8(text: str) -> bool:
    """Return whether `text` can be encoded as UTF-8.

    A lone surrogate cannot; it comes from a file name or a line that could not be decoded.
    """
    return text.isascii() or text.encode(errors="replace").decode() == text


def is_text(value: Any) -> bool:
    """Return whether `value` is text that can be sent."""
    return isinstance(value, str) and is_utf8(value)


def encode(content: Any) -> bytes:
    """Encode Python values as JSON bytes."""
    return _encoder.encode(content)


def _plain_value(value: Any) -> Any:
    """Return the plain value of a secret, or of a subclass."""
    match value:
        case Secret():
            return value.plain()
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case _:
            return dict(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain_value, decimal_format="number")


def money(amount: Decimal | int | str) -> str:
    """Return an amount in the gateway's notation: `"12.50"`.

    Raises:
        ValueError: the amount is not a finite number, or has more than two decimals.
    """
    if isinstance(amount, bool | float):
        raise ValueError("must be a Decimal, an int or a str, never a float")
    if isinstance(amount, str) and not _PLAIN_NUMBER.fullmatch(amount):
        raise ValueError("is not an amount")  # Python accepts "1e3" and "1_000", but in a file they are mistakes
    number = exact(amount, "is not an amount")
    cents = to_cents(number)
    if cents != number:
        raise ValueError("has more than two decimals")
    return f"{cents:f}"


def as_number(amount: Decimal | int | str) -> Decimal:
    """Return an amount as a JSON number without an exponent.

    The number has the same digits as the amount.

    Raises:
        ValueError: as for `money`.
    """
    money(amount)
    return Decimal(f"{Decimal(amount):f}")


@once_per_class
def fields_of(kind: type[Any]) -> Mapping[str, Any]:
    """Return field name → annotation of a request, including constraints."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in attrs.fields(kind) if field.name != "extra"}


def values_of(request: Request) -> dict[str, Any]:
    """Return field name → value of a request, without `extra`."""
    names, get = _getter(type(request))
    return dict(zip(names, get(request), strict=True))


@once_per_class
def _getter(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(fields_of(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda request: tuple(getattr(request, name) for name in names)  # one name gives no tuple


def _constraints(annotation: Any) -> Iterator[Any]:
    """Yield the constraints of a field, from all alternatives of its type."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _constraints(part)


def _writer(annotation: Any, converter: Converter) -> Callable[[Any], Any]:
    """Return the function that converts a field's values to JSON."""
    for constraint in _constraints(annotation):
        match constraint:
            case Items():
                return _write_items
            case Amounts():
                return _write_amounts
            case Cents():
                return as_number if constraint.number else money
            case _:
                pass
    return partial(_write, converter=converter)


def _write(value: Any, converter: Converter) -> Any:
    if type(value) is str or type(value) is int:
        return value
    match value:
        case Mapping():  # free-form: unchanged
            return dict(value)
        case Sequence() if not isinstance(value, str):
            return [converter.unstructure(each) for each in value]
        case _:
            return converter.unstructure(value)


def _write_items(items: Mapping[str, Decimal | int | str]) -> dict[str, Decimal]:
    return {name: as_number(amount) for name, amount in items.items()}


def _write_amounts(amounts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "amount": money(entry["amount"])} for entry in amounts]


def omits_none(kind: type[Any]) -> bool:
    """Return whether None is omitted, as in a create. An update omits `UNSET` instead, and sends None as null."""
    return all(field.default is not UNSET for field in attrs.fields(kind))


def _request_hook(kind: type[Request], converter: Converter) -> Callable[[Any], dict[str, Any]]:
    writers = {name: _writer(annotation, converter) for name, annotation in fields_of(kind).items()}
    omitted: Any = None if omits_none(kind) else UNSET

    def write(request: Any) -> dict[str, Any]:
        content = dict(request.implied)
        for name, written in writers.items():
            value = getattr(request, name)
            if value is not omitted and value is not UNSET:
                content[name] = None if value is None else written(value)
        return content | {name: unseal(value) for name, value in request.extra.items()}

    return write


@cache
def converter_of_requests() -> Converter:
    """Return the cattrs converter that writes by the rules of this package."""
    converter = Converter(detailed_validation=False)
    converter.register_unstructure_hook(int, int.__int__)
    converter.register_unstructure_hook(str, str.__str__)
    converter.register_unstructure_hook(Decimal, money)
    converter.register_unstructure_hook(date, date.isoformat)
    converter.register_unstructure_hook(datetime, lambda moment: int(moment.timestamp()))
    converter.register_unstructure_hook_func(is_a(Secret), lambda secret: secret.reveal())
    converter.register_unstructure_hook_factory(is_a(Request), partial(_request_hook, converter=converter))
    return converter


@once_per_class
def writers_of(kind: type[Any]) -> Mapping[str, Callable[[Any], Any]]:
    """Return field name → function from a request's value to JSON."""
    return {name: _writer(annotation, converter_of_requests()) for name, annotation in fields_of(kind).items()}


def unstructure(request: Request) -> dict[str, Any]:
    """Convert `request` to plain JSON values, with secrets revealed.

    Raises:
        ValueError: an amount is invalid (`validation.problems` reports it with its field first).
    """
    content: dict[str, Any] = converter_of_requests().unstructure(request)
    return content
