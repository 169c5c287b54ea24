"""How pages show money, times and JSON."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.pages.display.masking import mask_shown_text
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import show_money

__all__ = ["FILTERS", "show_json"]


def _show_time(timestamp: float | None) -> str:
    """Return a Unix time as a UTC date and time; a dash without one."""
    return "–" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%S}"


def _show_date(text: str) -> str:
    """Return a date such as 2030-01-31 as January 31, 2030."""
    day = date.fromisoformat(text)
    return f"{day:%B} {day.day}, {day.year}"


def _show_size(size: int) -> str:
    """Return a number of bytes in the unit that people would use."""
    return f"{size / 1024**2:.1f} MB" if size >= 1024**2 else f"{math.ceil(size / 1024)} KB"


def show_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return msgspec.json.format(encode_json(value), indent=2).decode()


def _show_duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _show_clock_time(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%H:%M:%S}"


def _show_iso(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")


FILTERS: dict[str, Callable[..., str]] = {
    "as_json": show_json,
    "cents": show_money,
    "date": _show_date,
    "file_size": _show_size,
    "clock_time": _show_clock_time,
    "duration": _show_duration,
    "iso": _show_iso,
    "label": label,
    "mask": mask_shown_text,
    "time": _show_time,
}
"""Filters for templates.

`cents` shows whole cents. `date` shows a date of a record, and `file_size` bytes. `time`, `clock_time` and `iso` show
Unix seconds. `label` shows the name of a field. `mask` shows a text without card numbers.
"""
