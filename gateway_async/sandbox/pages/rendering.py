"""Render a page from its template, with the headers that restrict what a browser does with it."""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.pages.masking import mask_shown_text
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import DEFAULT_CURRENCY, show_money

_FOLDER = Path(__file__).parent / "templates"

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With no-referrer, a browser would send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_DEEPEST = 40
"""The depth from which JSON is not folded."""


def render(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Render a template as the response to a request."""
    content = _environment().get_template(template).render(values)
    return HTMLResponse(content, status, _HEADERS)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= _FILTERS
    return environment


@jinja2.pass_context
def _show_money(context: jinja2.runtime.Context, amount: int | str) -> str:
    """Return an amount, in cents or with two decimals, as people write it: "$12.50", "−$3.00" or "EUR 12.50"."""
    text = show_money(amount) if isinstance(amount, int) else amount
    symbol = "$" if context["currency"] == DEFAULT_CURRENCY else f"{context['currency']} "
    return f"−{symbol}{text[1:]}" if text.startswith("-") else f"{symbol}{text}"


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


def _show_duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _show_clock_time(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%H:%M:%S}"


def _show_iso(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")


def _show_prose(text: str) -> Markup:
    """Return a sentence of a docstring with its code as such."""
    parts = escape(text).split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _show_json(value: Any) -> Markup:
    """Return a value as indented JSON with colors, whose objects and lists can be folded."""
    return Markup("").join(_show_lines(value, "", "", 0))


def _show_lines(value: Any, key: str, end: str, depth: int) -> Iterator[Markup]:
    """Yield the lines of a value. The text of the elements is the JSON itself, so that it can be copied."""
    indent = "  " * depth
    name = Markup('<span class="key">{}</span>: ').format(key) if key else ""
    if not isinstance(value, dict | list) or not value or depth == _DEEPEST:
        kind = {str: "string", bool: "word", type(None): "word"}.get(type(value), "number")
        text = msgspec.json.format(encode_json(value), indent=2).decode()
        yield Markup('{}{}<span class="{}">{}</span>{}\n').format(indent, name, kind, text, end)
        return
    opening, closing, shape = ("{", "}", "object") if isinstance(value, dict) else ("[", "]", "list")
    heading = Markup('<details open><summary>{}{}{}<i class="{}"></i>\n</summary>')
    yield heading.format(indent, name, opening, shape)
    entries = (
        [(encode_json(each).decode(), value[each]) for each in value]
        if isinstance(value, dict)
        else [("", each) for each in value]
    )
    for number, (each, content) in enumerate(entries, 1):
        yield from _show_lines(content, each, "," if number < len(entries) else "", depth + 1)
    yield Markup("{}{}{}\n</details>").format(indent, closing, end)


_FILTERS: dict[str, Callable[..., str]] = {
    "clock_time": _show_clock_time,
    "date": _show_date,
    "duration": _show_duration,
    "file_size": _show_size,
    "iso": _show_iso,
    "json": _show_json,
    "label": label,
    "mask": mask_shown_text,
    "money": _show_money,
    "prose": _show_prose,
    "time": _show_time,
}
"""Filters for templates.

`money` shows cents in the currency of the gateway. `date` shows a date of a record, and `file_size` bytes. `time`,
`clock_time` and `iso` show Unix seconds. `label` shows the name of a field. `mask` shows a text without card numbers.
"""
