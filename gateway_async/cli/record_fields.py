"""Requests and filters from the texts that a shell passes for their fields."""

import getpass
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import attrs

from gateway_async._secrets import is_confidential, mask_text
from gateway_async._wire.convert import BOOLEANS, rules_of
from gateway_async._wire.fields import RequestField, fields_of, request_fields
from gateway_async._wire.json_text import as_utf8, decode, repeated_name
from gateway_async.cli.command import parse_time, split_pairs
from gateway_async.cli.output import warn
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import ExactlyOne, Request
from gateway_async.models.time_range import TimeRange

_SOURCE: Final = "@"
_STANDARD_INPUT: Final = "@-"


# --- requests


def names_of(kinds: Iterable[type[Request]]) -> list[str]:
    """List the fields of all request classes, each once."""
    return list(dict.fromkeys(name for kind in kinds for name in fields_of(kind)))


def required_names(kind: type[Request]) -> list[str]:
    """The required fields of a request class."""
    return [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]


def request_of(
    kinds: Sequence[type[Request]],
    wrapper: str,
    fields: Mapping[str, str],
    *,
    others: Sequence[str],
    extra: Sequence[str],
    data: str | None,
) -> Request:
    """Return the request.

    Args:
        kinds: the classes to choose from, by the fields that are given.
        wrapper: the name in which a JSON body may be wrapped.
        fields: the texts by field. `@-` is a line of standard input, and `@FILE` the content of a file.
        others: `name=value` of more fields.
        extra: `name=value` of fields that this version does not know.
        data: the path of a file with an object of fields; `-` for standard input.

    Raises:
        InvalidRequestError: a field is unknown or missing, or the body is not an object.
    """
    texts = split_pairs("--field", [*others, *(f"{name}={text}" for name, text in fields.items())])
    body = _json_object(data, wrapper) if data else {}
    kind = _choose(kinds, {*body, *texts})
    unknown = split_pairs("--extra", extra)
    _warn_of_secrets(kind, texts, " (expected @- and standard input)")
    _warn_of_secrets(kind, unknown)
    given: dict[str, Any] = body | {name: _read_source(name, text) for name, text in texts.items()}
    for name, value in kind.implied.items():
        if given.get(name) == value:
            del given[name]
    _check_names(kind, given)
    known = {field.name: field for field in request_fields(kind)}
    values = {name: _value_of(known[name], value) if isinstance(value, str) else value for name, value in given.items()}
    return kind(**values, extra=unknown)


def _json_object(location: str, wrapper: str) -> dict[str, Any]:
    try:
        content = sys.stdin.buffer.read() if location == "-" else Path(location).read_bytes()
        found = decode(content)
        repeated = repeated_name(as_utf8(content).decode())
    except OSError as error:
        raise InvalidRequestError(f"--data: cannot read {location}: {error.strerror}") from None
    except ValueError:
        raise InvalidRequestError("--data: not JSON (expected an object of fields)") from None
    if repeated is not None:
        raise InvalidRequestError(f"--data: has {mask_text(repeated)} more than once")
    if isinstance(found, dict) and [*found] == [wrapper]:
        found = found[wrapper]
    if not isinstance(found, dict):
        raise InvalidRequestError("--data: must be an object of fields")
    return {str(name): value for name, value in found.items()}


def _choose(kinds: Sequence[type[Request]], names: set[str]) -> type[Request]:
    """Return the class that the given fields fit best: it knows them, and lacks the fewest."""

    def misfit(kind: type[Request]) -> tuple[int, int]:
        unknown = names - fields_of(kind).keys() - kind.implied.keys()
        choices = [rule for rule in kind.rules if isinstance(rule, ExactlyOne)]
        return len(unknown), len({*required_names(kind)} - names) + sum(not names & {*rule.fields} for rule in choices)

    return min(kinds, key=misfit)


def _check_names(kind: type[Request], given: Mapping[str, Any]) -> None:
    """Reject unknown fields, and report missing ones.

    Raises:
        InvalidRequestError: `.problems` names every one.
    """
    known = [*fields_of(kind)]
    problems = [_unknown(name, known) for name in given if name not in known]
    problems += [f"{name}: is required" for name in required_names(kind) if name not in given]
    if problems:
        raise InvalidRequestError(problems)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    return mask_text(f"{name}: unknown field{hint} (expected a field of the resource, or --extra {name}=VALUE)")


def _warn_of_secrets(kind: type[Request], texts: Mapping[str, str], expected: str = "") -> None:
    for name, text in texts.items():
        if is_confidential(f"{kind.__name__}.{name}") and not text.startswith(_SOURCE):
            warn(mask_text(f"{name}: other users can see it in the process list{expected}"))


def _read_source(name: str, text: str) -> str:
    """Return a value that a shell passes: `@-` is a line of standard input, and `@FILE` the content of a file.

    On a terminal the line is asked for, and is not shown while it is typed.

    Raises:
        InvalidRequestError: the file cannot be read, or standard input has ended.
    """
    if text == _STANDARD_INPUT:
        line = getpass.getpass(f"{name}: ") + "\n" if sys.stdin.isatty() else sys.stdin.readline()
        if not line:
            raise InvalidRequestError(f"{name}: standard input has no more lines (expected one for each {text})")
        return line.rstrip("\r\n")
    if not text.startswith(_SOURCE):
        return text
    try:
        return Path(text.removeprefix(_SOURCE)).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        expected = f"(expected {_SOURCE}FILE or a value)"
        raise InvalidRequestError(f"{name}: cannot read the file: {reason} {expected}") from None


def _value_of(field: RequestField, text: str) -> Any:
    """Convert a text to the type of its field. A text that does not fit is returned as it is, for the validation."""
    for kind in () if field.cents else field.kinds:
        if read := _READERS.get(kind):
            try:
                return read(text)
            except (ValueError, KeyError):
                continue
    return text


def _sequence(text: str) -> Any:
    if text.startswith("["):
        return decode(text.encode())
    return [part.strip() for part in text.split(",") if part.strip()]


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    bool: lambda text: BOOLEANS[text.lower()],
    int: int,
    date: date.fromisoformat,
    Mapping: lambda text: decode(text.encode()),
    Sequence: _sequence,
}


# --- filters

_TO: Final = ".."
_RANGES: Final = {name: each for name, each in vars(TimeRange).items() if isinstance(each, TimeRange)}


def filters_of(record: type[Any], given: Mapping[str, str], others: Sequence[str]) -> dict[str, Any]:
    """Parse the filters of a list into field → value.

    Args:
        record: the record that is listed.
        given: the texts by field.
        others: `name=value` of fields that the record does not know.

    Raises:
        InvalidRequestError: a text is not a filter.
    """
    rules = rules_of(record)
    values = {name: _filter_of(name, text, rules[name].kind) for name, text in given.items()}
    return values | split_pairs("--filter", others)


def _filter_of(name: str, text: str, kind: Any) -> Any:
    if kind is not datetime and not name.endswith("_ts"):
        return text
    if (written := text.upper().replace(" ", "_")) in _RANGES:
        return _RANGES[written]
    if _TO not in text:
        return text
    try:
        return TimeRange.custom(*map(parse_time, text.split(_TO, 1)))
    except ValueError:
        expected = f"{', '.join(_RANGES)} or 2026-01-01{_TO}2026-02-01"
        raise InvalidRequestError(f"{name}: not a range of times (expected {expected})") from None
