"""How pages show money, times and JSON."""

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from gateway_async.sandbox.http.responses import encode
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import show_money

__all__ = ["FILTERS"]


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


def _show_json(value: Any) -> str:
    return json.dumps(json.loads(encode(value)), indent=2, ensure_ascii=False)


FILTERS: dict[str, Callable[..., str]] = {
    "as_json": _show_json,
    "cents": show_money,
    "date": _show_date,
    "file_size": _show_size,
    "label": label,
    "time": _show_time,
}
"""Filters for templates.

`cents` shows whole cents, `date` a date of a record, `file_size` bytes, `time` Unix seconds, and `label` the name of a
field.
"""
