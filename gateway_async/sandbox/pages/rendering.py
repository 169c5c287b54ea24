"""Render a page from its template, with the headers that restrict what a browser does with it."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.responses import HTMLResponse

from gateway_async.sandbox.pages.display.formats import FILTERS

__all__ = ["render"]

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
    environment.filters |= FILTERS
    return environment
