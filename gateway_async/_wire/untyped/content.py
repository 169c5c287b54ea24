"""Content given as a mapping: find its problems, and convert its values to JSON.

The content was sealed before, because a traceback shows local variables. The rules are those of typed requests: amounts
are never floats, flags are 1 or 0, and dates are ISO texts. Limits and required fields are not known.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from gateway_async._secrets import (
    AccountNumber,
    Secret,
    is_confidential,
    kind_of,
    mask_passwords,
    mask_text,
    passwords_in,
    secrets_in,
)
from gateway_async._wire.convert.write import is_text, money
from gateway_async._wire.prepared_request import PreparedRequest
from gateway_async.errors import InvalidRequestError

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_AMOUNT_NAMES: Final = frozenset({"tax", "amount_due", "room_rate"})
_TEXTS: Final = ("location_id", "terminal_id")
"""Fields that the client itself uses, as text."""


def prepare_content(content: Any, filled: Mapping[str, Any] = _NOTHING) -> PreparedRequest:
    """Check sealed content, and convert it to the content to send.

    `filled` are the fields that the client fills in.

    Raises:
        InvalidRequestError: the content cannot be sent; `.problems` lists every problem.
    """
    if not isinstance(content, dict):
        kind = kind_of(content).__name__
        raise InvalidRequestError(f"request: must be a mapping of field names to values, not {kind}")
    problems = [*_problems(content, "")]
    problems += [f"{name}: must be text" for name in _TEXTS if not is_text(content.get(name) or "")]
    if problems:
        raise InvalidRequestError(problems)
    written = {**{name: _write(name, value) for name, value in content.items()}, **filled}
    masked = {name: _mask(value) for name, value in written.items()}
    passwords = (each for value in written.values() if isinstance(value, str) for each in passwords_in(value))
    return PreparedRequest(written, masked, (*secrets_in(written), *passwords))


def _problems(content: Any, path: str) -> Iterator[str]:
    """Yield one line for each value that cannot be sent."""
    if isinstance(content, dict):
        for name, value in content.items():
            if is_text(name) and name:
                yield from _problems(value, f"{path}.{name}" if path else name)
            else:
                yield mask_text(f"{path or 'request'}: the name of a field must be text, not {name!r}")
    elif isinstance(content, list | tuple):
        for index, value in enumerate(content):
            yield from _problems(value, f"{path}[{index}]")
    elif problem := _problem(path, content):
        yield f"{path}: {problem}"


def _problem(path: str, value: Any) -> str | None:
    """Return what is wrong with a single value."""
    if isinstance(value, Secret):
        return _value_problem(path, value.plain()) if value.has_value else "must be text"
    if isinstance(value, float):
        return "must be a Decimal, an int or a str, never a float"
    if not isinstance(value, str | int | Decimal | date | None):
        return f"a {type(value).__name__} cannot be sent"
    return _value_problem(path, value)


def _value_problem(path: str, value: str | int | Decimal | date | None) -> str | None:
    """Return what is wrong with a value of an allowed type."""
    match value:
        case datetime() if value.tzinfo is None:
            return "must be an aware datetime (tzinfo is missing)"
        case str() if not is_text(value):
            return "has an invalid character (a lone surrogate)"
        case Decimal() if not value.is_finite():
            return "is not an amount"
        case str() | int() | Decimal() if _is_amount(path):
            return _amount_problem(value)
        case _:
            return None


def _is_amount(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name.endswith("_amount") or name in _AMOUNT_NAMES


def _amount_problem(value: Any) -> str | None:
    try:
        money(value)
    except ValueError as error:
        return str(error)
    return None


_WRITERS: Final[tuple[tuple[type[Any], Callable[[Any], Any]], ...]] = (
    (bool, int),
    (str, str.__str__),
    (Decimal, lambda number: f"{number:f}"),
    (datetime, lambda moment: int(moment.timestamp())),
    (date, date.isoformat),
)
"""Types and functions that convert their values to JSON, the first that fits. Other values are sent unchanged."""


def _write(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {inner: _write(inner, each) for inner, each in value.items()}
    if isinstance(value, list | tuple):
        return [_write(name, each) for each in value]
    if isinstance(value, Secret):
        written = _write(name, value.plain())
        return type(value).of(str(written) if is_confidential(name) else written)  # numbers of accounts are texts
    if _is_amount(name) and isinstance(value, str | int | Decimal):
        return money(value)
    single: Any = value
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(single)
    return single


def _mask(value: Any) -> str:
    if isinstance(value, AccountNumber):
        return str(value)
    return "***" if isinstance(value, Secret | dict | list) else mask_text(mask_passwords(str(value)))
