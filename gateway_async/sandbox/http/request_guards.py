"""Refuse requests that a web page of another site makes a browser send.

A browser on the same machine reaches the sandbox. A foreign page could therefore reset it, read its records, or press
the keys of a terminal. The checks apply to pages and control calls. The gateway's own endpoints need credentials, which
no foreign page has.
"""

import re
from collections.abc import Collection
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_async.sandbox.http.request_log import READING_METHODS
from gateway_async.sandbox.http.responses import error_response

_WITH_CREDENTIALS = re.compile(r"/v2/|/custom/")
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\]]+))(?::[0-9]*)?", re.ASCII)
"""A host and an optional port, as in a Host header."""
_LOCAL_NAMES = re.compile(r"localhost|[a-z0-9-]+\.localhost")


def with_request_guards(app: ASGIApp, hosts: Collection[str]) -> ASGIApp:
    """Wrap an application to refuse what foreign pages send.

    It refuses requests for other hosts as well.

    Args:
        app: The application.
        hosts: Host names that the sandbox also answers to, besides IP addresses and localhost.
    """
    allowed = {host.lower() for host in hosts}

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = None
        if not _WITH_CREDENTIALS.match(scope["path"]):
            refusal = _find_problem(scope["method"], headers, allowed)
        await (error_response(*refusal) if refusal else app)(scope, receive, send)

    return run


def _find_problem(method: str, headers: Headers, allowed: Collection[str]) -> tuple[int, str] | None:
    """Find the status and the message of a refusal."""
    host = headers.get("host", "")
    if len(headers.getlist("host")) > 1 or not _is_allowed(host, allowed):
        return 421, "The Host header names another host. A name of this machine is allowed by --allow-host."
    if method in READING_METHODS:
        return None
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return 403, "The request comes from a page of another origin."
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return 403, "The request comes from a page of another site."
    return None


def _is_allowed(host: str, allowed: Collection[str]) -> bool:
    """Whether a Host header names this machine.

    A name that a foreign site controls may resolve to this machine. An address cannot.
    """
    authority = _AUTHORITY.fullmatch(host)
    name = (authority[1] or authority[2]).lower() if authority else ""
    if _LOCAL_NAMES.fullmatch(name) or name in allowed:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
