"""Plain HTTP as a browser without scripts speaks it, and the forms of its pages.

No TLS: httpx would load certificates for each client, which takes longer than most tests.
"""

import re
import ssl
from functools import partial
from html import unescape
from typing import Final

import httpx

from tests.support.waiting import PATIENCE

_NO_CERTIFICATES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_INPUT = re.compile(r'<input(?![^>]*type="radio")[^>]* name="([\w.]+)" value="([^"]*)"')

open_client = partial(httpx.Client, verify=_NO_CERTIFICATES, timeout=PATIENCE, trust_env=False)
delete = partial(httpx.delete, verify=_NO_CERTIFICATES, timeout=PATIENCE, trust_env=False)
get = partial(httpx.get, verify=_NO_CERTIFICATES, timeout=PATIENCE, trust_env=False)
post = partial(httpx.post, verify=_NO_CERTIFICATES, timeout=PATIENCE, trust_env=False)
request = partial(httpx.request, verify=_NO_CERTIFICATES, timeout=PATIENCE, trust_env=False)


def read_form(page: str) -> dict[str, str]:
    """Return the fields of the forms of a page, without radio buttons."""
    return {name: unescape(value) for name, value in _INPUT.findall(page)}


def read_token(page: str) -> str:
    """Return the token of the forms of a page; empty without a form."""
    return read_form(page).get("csrf_token", "")
