"""Filters of a list, from the texts of its options."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import attrs

from gateway_async._wire.convert import rules_of
from gateway_async.cli.records.values import pairs_of
from gateway_async.errors import InvalidRequestError
from gateway_async.models.time_range import TimeRange

__all__ = ["filter_names", "filters_of"]

_TO = ".."


def filter_names(record: type[Any]) -> list[str]:
    """Return the fields by which a list of records is filtered."""
    return [field.name for field in attrs.fields(record) if field.name != "extra"]


def filters_of(record: type[Any], given: Mapping[str, str], others: Sequence[str]) -> dict[str, Any]:
    """Return field → value.

    Args:
        record: the record that is listed.
        given: the texts by field.
        others: `name=value` of fields that the record does not know.

    Raises:
        InvalidRequestError: a text is not a filter.
    """
    rules = rules_of(record)
    values = {name: _value(name, text, rules[name].kind) for name, text in given.items()}
    return values | pairs_of("--filter", others)


def _value(name: str, text: str, kind: Any) -> Any:
    if kind is not datetime and not name.endswith("_ts"):
        return text
    if (written := text.upper().replace(" ", "_")) in _RANGES:
        return _RANGES[written]
    if _TO not in text:
        return text
    try:
        return TimeRange.custom(*map(_moment, text.split(_TO, 1)))
    except ValueError:
        expected = f"{', '.join(_RANGES)} or 2026-01-01{_TO}2026-02-01"
        raise InvalidRequestError(f"{name}: not a range of times (expected {expected})") from None


def _moment(text: str) -> datetime:
    """Return a time in UTC; a date is its first moment."""
    if len(text) == len("YYYY-MM-DD"):
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_RANGES = {name: each for name, each in vars(TimeRange).items() if isinstance(each, TimeRange)}
