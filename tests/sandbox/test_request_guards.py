"""A web page of another site cannot use the sandbox through the browser of its visitor."""

import re
from collections.abc import Iterator

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from tests.support.plain_http import read_token

from .conftest import connected


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Run a sandbox that may also be addressed as `box`."""
    with Sandbox(allowed_hosts=["box"]) as sandbox:
        yield sandbox


FOREIGN_HOST = [
    *("", "[", "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil", "127.1", "0x7f.0.0.1"),
    *("a@b", "a@localhost", "evil.example/@localhost", "localhost\\@evil.example", "localhost, evil.example"),
    *("localhost/evil", "localhost#evil", "localhost?evil", "localhost:evil", "[::1", "[::1].evil.example"),
]


def test_foreign_host(browser: httpx.Client) -> None:
    """A name that a foreign site controls may resolve to this machine, so pages and control calls refuse it."""
    for host in FOREIGN_HOST:
        for path in ("/", "/faults", "/_sandbox/clock", "/static/site.css", "/nothing"):
            assert browser.get(path, headers={"host": host}).status_code == 421


def test_accepted_names(browser: httpx.Client) -> None:
    """API requests need credentials, which no foreign page has; containers have names of their own."""
    for host in ["localhost", "LOCALHOST:1", "app.localhost", "127.0.0.1", "[::1]:80", "192.0.2.1", "box:8080", "Box"]:
        assert browser.get("/_sandbox/clock", headers={"host": host}).status_code == 200
    assert browser.get("/v2/contacts", headers={"host": "payments:8080"}).status_code == 401


FOREIGN_ORIGIN: list[dict[str, str]] = [
    *({"origin": origin} for origin in ("", "null", "http://[", "//127.0.0.1", "http://127.0.0.1:1")),
    *({"origin": origin} for origin in ("http://evil.example", "http://evil.example@127.0.0.1")),
    *({"sec-fetch-site": site} for site in ("cross-site", "same-site")),
]


def test_foreign_origin(sandbox: Sandbox, browser: httpx.Client) -> None:
    """A POST that a browser sends for a page of another origin is refused."""
    for headers in FOREIGN_ORIGIN:
        sandbox.fault("POST /v2/contacts", "empty", nth=1000)
        for path in ("/_sandbox/reset", "/connect", "/faults"):
            token = read_token(browser.get("/connect").text)
            assert browser.post(path, headers=headers, data={"csrf_token": token}).status_code == 403
        assert browser.delete("/_sandbox/faults", headers=headers).status_code == 403
        assert sandbox.faults(), headers


@pytest.mark.parametrize("first", ["localhost", "evil.example"])
def test_two_hosts(sandbox: Sandbox, first: str) -> None:
    """A request with two hosts is refused, because a proxy might look at the other one."""
    with connected(sandbox) as connection:
        connection.sendall(f"GET /connect HTTP/1.1\r\nhost: {first}\r\nhost: localhost\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 421 ")


def test_proxy_target(browser: httpx.Client, sandbox: Sandbox) -> None:
    """The Host header counts, also if the request line names a host."""
    for host, status in (("localhost", 200), ("evil.example", 421)):
        request = browser.build_request("GET", "/connect", headers={"host": host})
        request.extensions = {"target": b"http://localhost/connect"}
        assert browser.send(request).status_code == status


def test_a_program_needs_no_origin(sandbox: Sandbox, browser: httpx.Client) -> None:
    assert browser.post("/_sandbox/clock", json={"advance": 1}).status_code == 200
    assert browser.post("/_sandbox/clock", json={"advance": 1}, headers={"origin": sandbox.base_url}).status_code == 200


@pytest.mark.parametrize("token", [None, "", "wrong", "é"])
def test_a_form_without_its_token_has_no_effect(sandbox: Sandbox, browser: httpx.Client, token: str | None) -> None:
    sandbox.fault("POST /v2/contacts", "empty", nth=1000)
    form = {"control": "clear_faults"} if token is None else {"control": "clear_faults", "csrf_token": token}
    refused = browser.post("/faults", data=form)
    assert (refused.status_code, "Load the page again" in refused.text) == (403, True)
    assert sandbox.faults()


@pytest.mark.parametrize("path", ["/", "/faults", "/connect", "/nothing-here"])
def test_browser_restrictions(browser: httpx.Client, path: str) -> None:
    """No inline script or style, no frame, no sniffing, and no copy in a cache."""
    response = browser.get(path, headers={"accept": "text/html"})
    if response.status_code == 200:
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert not re.search(r"<style|<script>|\sstyle=|\son[a-z]+=|javascript:", response.text)


PATHS: list[str] = [
    "/static/../pages/site.py",
    "/static/..%2fsite.py",
    "/static/%2e%2e/site.py",
    "/static//etc/passwd",
    "/static/../../../../../../etc/passwd",
    "/static/..\\..\\site.py",
    "/static/%00",
    "/static/vendor",
    "/static/site.css/x",
    f"/static/{'a' * 5000}",
    "//static/site.css",
    "/v2/../connect",
    "/v2/%2e%2e/connect",
    "/_sandbox/files/..%2f..%2f..%2fetc%2fpasswd",
    "/records/..%2f..%2fetc/passwd",
    "/quickinvoicepay/x/files/..%2f..%2fetc%2fpasswd",
]


def test_paths(browser: httpx.Client) -> None:
    """Only static files, records and pages are served, each at its own path."""
    for path in PATHS:
        request = browser.build_request("GET", "/")
        request.extensions = {"target": path.encode()}
        assert browser.send(request).status_code == 404, path
