"""How pages show money, times and JSON."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gateway_async.sandbox.http.responses import encode
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import show_money

__all__ = ["FILTERS"]


def _show_time(timestamp: float | None) -> str:
    """Return a Unix time as a UTC date and time; a dash without one."""
    return "–" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%S}"


def _show_json(value: Any) -> str:
    return json.dumps(json.loads(encode(value)), indent=2, ensure_ascii=False)


FILTERS: dict[str, Callable[..., str]] = {
    "as_json": _show_json,
    "cents": show_money,
    "label": label,
    "time": _show_time,
}
"""Filters for templates: `cents` shows whole cents, `time` Unix seconds, `label` the name of a field."""
