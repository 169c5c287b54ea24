"""Read the forms of pages by plain HTTP, as a browser without scripts does."""

import re
from html import unescape

_INPUT = re.compile(r'<input(?![^>]*type="radio")[^>]* name="([\w.]+)" value="([^"]*)"')


def read_form(page: str) -> dict[str, str]:
    """Return the fields of the forms of a page, without radio buttons."""
    return {name: unescape(value) for name, value in _INPUT.findall(page)}


def read_token(page: str) -> str:
    """Return the token of the forms of a page; empty without a form."""
    return read_form(page).get("csrf_token", "")
