"""`gateway-async check`: what it finds out about a gateway, and how it ends."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from gateway_async import Intent
from gateway_async._wire.postback import postback_of
from gateway_async.cli.check import probe_address
from gateway_async.postbacks import SqliteInbox
from gateway_async.sandbox import Sandbox
from tests.support.in_process import run
from tests.support.ledgers import LedgerFile, LedgerStore
from tests.support.processes import Ended, run_on_terminal
from tests.support.servers import POSTGRES, postgres_only

FACTS: dict[str, Any] = {
    "call": "POST /v2/transactions",
    "resource": "transactions",
    "api_id": "order-17",
    "location_id": None,
    "terminal_id": None,
    "sent": {},
    "outcome_query": None,
}


def states(ended: Ended) -> dict[str, str]:
    return {found["check"]: found["state"] for found in map(json.loads, ended.stdout.splitlines())}


@contextmanager
def serve_http(certificate: trustme.LeafCert | None = None) -> Iterator[str]:
    """Serve a gateway that refuses everything, without a `Date` header, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(401)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_CONNECT(self) -> None:
            self.send_response_only(407, "no shop:hunter2 here")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(context)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_all_is_well(environment: dict[str, str]) -> None:
    """Each check is a line: for programs JSON, in a pipe tabs; status 0."""
    ended = run("check", "--json", **environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    checks = ("gateway", "tls", "clock", "credentials", "location", "terminals")
    assert states(ended) == {check: "skipped" if check == "tls" else "ok" for check in checks}
    piped = [line.split("\t")[:2] for line in run("check", **environment).stdout.splitlines()]
    assert piped == [list(pair) for pair in states(ended).items()]
    shown = run_on_terminal("check", **environment)
    assert [line.split()[:2] for line in shown.stdout.splitlines()] == piped


def test_clock_difference(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """A clock that is wrong by minutes needs attention: status 3."""
    sandbox.set_clock(time.time() + 600)
    ended = run("check", "--json", **environment)
    assert (ended.returncode, states(ended)["clock"]) == (3, "attention")
    assert "behind the gateway" in ended.stdout


WRONG = {
    "GATEWAY_USER_API_KEY": ("nonsense", "credentials", "the credentials were not accepted (401)"),
    "GATEWAY_BASE_URL": ("http://127.0.0.1:1", "gateway", "Connection refused"),
    "GATEWAY_LOCATION_ID": ("11e92008f72039289e394e29", "location", "GATEWAY_LOCATION_ID: GET /v2/locations/"),
}


@pytest.mark.parametrize("variable", WRONG)
def test_failed_check(environment: dict[str, str], variable: str) -> None:
    """The check that fails says why, and the status is 1."""
    value, check, reason = WRONG[variable]
    ended = run("check", "--json", **{**environment, variable: value})
    assert (ended.returncode, states(ended)[check]) == (1, "failed")
    assert reason in ended.stdout
    assert "nonsense" not in ended.stdout


def test_missing_variables() -> None:
    """Every missing variable is a line, and the status is 2."""
    ended = run("check", "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("is not set in the environment") == 4


def test_untrusted_certificate(environment: dict[str, str]) -> None:
    """A certificate of an unknown authority is reported as a failure of TLS."""
    with serve_http(trustme.CA().issue_cert("127.0.0.1")) as url:
        ended = run("check", "--json", **{**environment, "GATEWAY_BASE_URL": url})
    assert (ended.returncode, states(ended)) == (1, {"tls": "failed"})
    assert "the certificate is not trusted" in ended.stdout


def test_refusing_proxy(environment: dict[str, str]) -> None:
    """The status of the proxy is named, not its reason phrase, which may repeat the password."""
    with serve_http() as url:
        proxy = url.replace("//", "//shop:hunter2@")
        ended = run("check", "--json", **environment | {"GATEWAY_BASE_URL": "https://h.test", "GATEWAY_PROXY": proxy})
    assert (ended.returncode, states(ended)) == (1, {"gateway": "failed"})
    assert "h.test:443: the proxy refused: 407" in ended.stdout
    assert "hunter2" not in ended.stdout + ended.stderr


def test_trusted_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The version of TLS and the days until the certificate expires are found."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "authority.pem"))
    certificate = authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=10, hours=1))
    with serve_http(certificate) as url:
        found = probe_address(url)
    assert [(each.check, each.state) for each in found] == [
        ("gateway", "ok"),
        ("tls", "attention"),
        ("clock", "skipped"),
    ]
    assert found[1].details == "TLSv1.3, the certificate is valid for 10 days"


def test_ledger_and_inbox(environment: dict[str, str], tmp_path: Path) -> None:
    """Open calls and dead postbacks need attention; a file that does not exist fails, and is not made."""
    now = datetime.now(UTC)
    with closing(LedgerFile(tmp_path / "payments.db")) as ledger:
        ledger.write([Intent(id="1", sent_at=now, conclusive_at=now, **FACTS)], [])
    anyio.run(_fill, SqliteInbox(tmp_path / "inbox.db"))
    files = ("--ledger", str(tmp_path / "payments.db"), "--inbox", str(tmp_path / "inbox.db"))
    ended = run("check", "--json", *files, **environment)
    assert (ended.returncode, states(ended)["ledger"], states(ended)["inbox"]) == (3, "attention", "attention")
    none = str(tmp_path / "none.db")
    ended = run("check", "--json", "--ledger", none, "--inbox", none, **environment)
    assert (ended.returncode, states(ended)["ledger"], states(ended)["inbox"]) == (1, "failed", "failed")
    assert not Path(none).exists()


@postgres_only
def test_ledger_database(environment: dict[str, str], tmp_path: Path) -> None:
    """Its open calls are counted, and its password is not shown."""
    store = LedgerStore("postgres", tmp_path)
    try:
        anyio.run(store.ledger().open_intents)  # makes the table
        address = POSTGRES.replace("postgres@", "postgres:hunter2@")
        ended = run("check", "--json", "--ledger", address, "--ledger-table", store.table, **environment)
        assert (ended.returncode, states(ended)["ledger"]) == (0, "ok")
        assert "hunter2" not in ended.stdout
        ended = run("check", "--json", "--ledger", address, "--ledger-table", "no_such_table", **environment)
        assert (ended.returncode, states(ended)["ledger"]) == (1, "failed")
    finally:
        store.drop()


async def _fill(inbox: SqliteInbox) -> None:
    await inbox.store(postback_of("UPDATE", "transaction", {"id": "t1", "modified_ts": 1}))
    (claimed,) = await inbox.claim(1, 60)
    await inbox.fail(claimed, "ValueError", None)
    await inbox.aclose()
