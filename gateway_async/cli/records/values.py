"""Values of a request's fields, from the texts that a shell passes."""

import getpass
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from gateway_async._wire.convert import BOOLEANS
from gateway_async._wire.json_text import decode
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import Cents

__all__ = ["pairs_of", "read_source", "value_of"]

_FROM: Final = "@"
_STANDARD_INPUT: Final = "@-"


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return name → value of `NAME=VALUE` texts.

    Args:
        option: the option that the texts belong to.
        texts: the texts.

    Raises:
        InvalidRequestError: a text has another form, or a name is given more than once.
    """
    pairs = [text.partition("=") for text in texts]
    if not all(name and sign for name, sign, _ in pairs):
        raise InvalidRequestError(f"{option}: must have the form NAME=VALUE")
    named = {name: value for name, _, value in pairs}
    if len(named) < len(pairs):
        raise InvalidRequestError(f"{option}: a name is given more than once")
    return named


def read_source(name: str, text: str) -> str:
    """Return a value that a shell passes: `@-` is a line of standard input, and `@FILE` the content of a file.

    On a terminal the line is asked for, and is not shown while it is typed.

    Raises:
        InvalidRequestError: the file cannot be read.
    """
    if text == _STANDARD_INPUT:
        return getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not text.startswith(_FROM):
        return text
    try:
        return Path(text.removeprefix(_FROM)).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InvalidRequestError(f"{name}: cannot read the file: {reason} (expected {_FROM}FILE or a value)") from None


def value_of(annotation: Any, text: str) -> Any:
    """Convert a text to the type of its field. A text that does not fit is returned as it is, for the validation."""
    leaves = [*_leaves(annotation)]
    if any(isinstance(constraint, Cents) for _, constraints in leaves for constraint in constraints):
        return text
    for kind, _ in leaves:
        read = _READERS.get(kind)
        if read is not None:
            try:
                return read(text)
            except (ValueError, KeyError):
                continue
    return text


def _leaves(annotation: Any, constraints: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the alternatives of a type, each with its constraints."""
    if get_origin(annotation) is Annotated:
        yield from _leaves(annotation.__origin__, (*constraints, *annotation.__metadata__))
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _leaves(part, constraints)
    else:
        yield get_origin(annotation) or annotation, constraints


def _datetime(text: str) -> datetime:
    if text.isdigit():
        return datetime.fromtimestamp(int(text), UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _sequence(text: str) -> Any:
    if text.startswith("["):
        return decode(text.encode())
    return [part.strip() for part in text.split(",") if part.strip()]


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    bool: lambda text: BOOLEANS[text.lower()],
    int: int,
    date: date.fromisoformat,
    datetime: _datetime,
    Mapping: lambda text: decode(text.encode()),
    Sequence: _sequence,
}
