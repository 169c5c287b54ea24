"""Starting, stopping, and the data that survives both."""

import gc
import inspect
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import attrs
import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.cli.sandbox import SandboxCommand
from gateway_async.sandbox import Sandbox, SandboxInfo
from gateway_async.sandbox.runtime.store import _FORMAT, Store
from gateway_async.sandbox.schema import STORED
from gateway_async.sandbox.serve import serve as serve_sandbox
from tests.support import plain_http
from tests.support.sqlite_files import ask_sqlite, full_disk
from tests.support.waiting import PATIENCE

from .conftest import Eventually, OpenShop, Record, Serve, Shop


@pytest.mark.anyio
async def test_event_loops() -> None:
    """`async with` works on asyncio and trio, and responds while the caller's loop is blocked."""
    async with Sandbox() as sandbox:
        response = plain_http.get(f"{sandbox.base_url}/_sandbox/clock")  # the loop shall be blocked
    assert response.status_code == 200


@pytest.mark.anyio
async def test_a_cancelled_block_stops_it() -> None:
    with anyio.CancelScope() as scope:
        async with Sandbox() as sandbox:
            url = sandbox.base_url
            scope.cancel()
            await anyio.sleep_forever()
    with pytest.raises(httpx.ConnectError):
        await anyio.to_thread.run_sync(httpx.get, url)


def test_leftovers(eventually: Eventually) -> None:
    """No thread, socket or task remains after the block, even with waiting requests."""
    before = set(threading.enumerate())
    with Sandbox(terminals="manual") as sandbox:
        waiting = [threading.Thread(target=wait_at_terminal, args=(sandbox.info,)) for _ in range(5)]
        for one in waiting:
            one.start()
        eventually(lambda: len(sandbox.terminals()[0]["waiting"]) >= 5)
    for one in waiting:
        one.join()
    gc.collect()
    assert before.issuperset(threading.enumerate())


def wait_at_terminal(info: SandboxInfo) -> None:
    """Run a sale at a terminal, and expect a disconnection."""
    with closing(Shop(info)) as shop, pytest.raises(httpx.TransportError):
        shop.at_terminal()


def test_silent_log(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither starting, serving, bad requests nor stopping writes a log line."""
    caplog.set_level(0)
    with (
        Sandbox() as sandbox,
        closing(socket.create_connection(("127.0.0.1", httpx.URL(sandbox.base_url).port))) as raw,
    ):
        raw.sendall(b"\x00 user-api-key=planted\r\n\r\n")
        raw.recv(4096)
    ours = [record for record in caplog.records if record.name.startswith(("uvicorn", "gateway_async"))]
    assert (ours, capfd.readouterr()) == ([], ("", ""))


def test_stopped_sandbox() -> None:
    """Before and after the block, the attributes raise RuntimeError; within it, no repr shows a secret."""
    sandbox = Sandbox()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not running"):
            _ = sandbox.base_url
        with sandbox:
            assert sandbox.base_url.startswith("http://127.0.0.1:")
            with pytest.raises(RuntimeError, match="already"):
                sandbox.start()
            shown = f"{sandbox!r} {sandbox.info!r}"
            for secret in (sandbox.user_api_key, sandbox.user_hash_key, sandbox.password):
                assert secret not in shown
        sandbox.stop()  # without effect


OPTIONS_SUBJECTS: list[tuple[dict[str, Any], str]] = [
    ({"terminals": "robot"}, "terminals"),
    ({"terminal_delay": -1}, "terminal_delay"),
    ({"terminal_delay": "2"}, "terminal_delay"),
    ({"terminal_delay": float("nan")}, "terminal_delay"),
    ({"port": "x"}, "port"),
    ({"port": 65_536}, "port"),
    ({"port": True}, "port"),
    ({"currency": "eur"}, "currency"),
    ({"currency": "XXX"}, "currency"),
    ({"currency": "JPY"}, "currency"),
    ({"currency": ["EUR"]}, "currency"),
]


def test_invalid_options_are_refused_before_the_start() -> None:
    for options, subject in OPTIONS_SUBJECTS:
        with pytest.raises(InvalidRequestError, match=f"^nothing was sent: {subject}: "):
            Sandbox(**options)


def test_invalid_arguments_are_named(sandbox: Sandbox) -> None:
    wrong: dict[str, Callable[[], object]] = {
        "count": lambda: sandbox.add_vaults(-1),
        "card": lambda: sandbox.ticket("4111111111111112"),
        "exp_date": lambda: sandbox.ticket(exp_date="1330"),
        "clock": lambda: sandbox.set_clock(-1),
    }
    for subject, ask in wrong.items():
        with pytest.raises(InvalidRequestError, match=f"^nothing was sent: {subject}: "):
            ask()


def test_help() -> None:
    """`help` and editors see the control that a method runs, without the gateway that the control takes."""
    methods = dict(inspect.getmembers(Sandbox, inspect.isfunction))
    signatures = {name: inspect.signature(method) for name, method in methods.items()}
    assert {name for name, signature in signatures.items() if next(iter(signature.parameters)) != "self"} == set()
    assert {name for name in methods if not name.startswith("_") and not inspect.getdoc(methods[name])} == set()
    assert str(inspect.signature(Sandbox().add_terminal)) == (
        "(title: str = 'Terminal', *, sig_capture_enable: bool = True) -> str"
    )


def has_ipv6() -> bool:
    """Return whether this machine can be reached over IPv6."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="needs IPv6")


@pytest.mark.parametrize("start", [Sandbox, serve_sandbox, SandboxCommand])
def test_default_address(start: Callable[..., object]) -> None:
    """From Python, in the foreground, and as a command."""
    assert inspect.signature(start).parameters["host"].default == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("0.0.0.0", "127.0.0.1"),  # noqa: S104  # which address to show instead is the question
        pytest.param("::1", "[::1]", marks=needs_ipv6),
        pytest.param("::", "[::1]", marks=needs_ipv6),
    ],
)
def test_shown_address(host: str, reached: str) -> None:
    """IPv6 is in brackets, and listening on all addresses shows this machine."""
    with Sandbox(host=host) as sandbox:
        assert sandbox.base_url.startswith(f"http://{reached}:")
        assert plain_http.get(f"{sandbox.base_url}/_sandbox/clock").status_code == 200


def test_port() -> None:
    """No other address is served by default, and a taken port is an OSError."""
    with Sandbox() as sandbox:
        port = httpx.URL(sandbox.base_url).port
        assert port is not None
        with pytest.raises(OSError), closing(socket.create_connection(("127.0.0.2", port), timeout=10)):  # noqa: PT011  # systems differ
            pytest.fail("it listens on every address")
        with pytest.raises(OSError, match="in use"), Sandbox(port=port):
            pass


def test_two_sandboxes_have_nothing_in_common(open_shop: OpenShop) -> None:
    with Sandbox() as one, Sandbox() as two:
        assert not set(attrs.asdict(one.info).values()) & set(attrs.asdict(two.info).values()) - {"Sandbox"}
        assert open_shop(attrs.evolve(one.info, base_url=two.base_url)).get("/v2/contacts").status_code == 401


def fill(sandbox: Sandbox, shop: Shop) -> None:
    """Create records of every type."""
    login = {"username": sandbox.username, "password": sandbox.password, "domain": sandbox.domain}
    config = {"location_id": sandbox.location_id, "resource": "contact", "url": sandbox.base_url, "on_create": 1}
    storage = {"location_id": sandbox.location_id, "title": "Files", "product_file_credential_id": "1"}
    shop.http.post("/v2/token", json=login)
    shop.post("postbackconfig", "/v2/postbackconfigs", config | {"basic_auth_password": "planted"})
    shop.post("productfile", "/v2/productfiles", storage)
    sandbox.ticket()
    shop.contact()
    vault = shop.vault().json()["accountvault"]
    plan: Record = {"account_vault_id": vault["id"], "interval": 1, "interval_type": "m", "start_date": "2040-01-31"}
    plan |= {"location_id": sandbox.location_id, "transaction_amount": "10.00"}
    shop.post("recurring", "/v2/recurrings", plan)
    shop.post("tag", "/v2/tags", {"location_id": sandbox.location_id, "title": "Tea"})
    shop.post("note", "/v2/notes", {"resource": "Contact", "resource_id": sandbox.contact_id, "note": "Tea"})
    picture = "iVBORw0KGgo="
    signature = {"resource": "AccountVault", "resource_id": vault["id"], "signature": picture}
    shop.post("signature", "/v2/signatures", signature)
    terms = {"location_id": sandbox.location_id, "terminal_id": sandbox.terminal_id, "require_signature": 0}
    shop.post("deviceterm", "/v2/deviceterms", terms | {"terms_conditions": "Tea"})
    shop.at_terminal()
    sandbox.change_product(level3_allow=True)
    line = {"description": "Tea", "product_code": "tea", "quantity": 1, "unit_code": "EAC", "unit_cost": 1}
    line |= {"tax_amount": 1, "tax_rate": 1, "commodity_code": "tea"}
    level3 = {"transaction_id": shop.paid()["id"], "level3_data": {"tax_rate": 1, "line_items": [line]}}
    shop.post("transactionlevel3", "/v2/transactionlevel3s", level3)
    sandbox.change_product(level3_allow=False)
    shop.post("hostedpaymentpage", "/v2/hostedpaymentpages", {"location_id": sandbox.location_id, "title": "Tea"})
    shop.paylink(email="ada@example.test")
    invoice = shop.invoice(allow_partial_pay=1).json()["quickinvoice"]
    shop.http.post(f"/v2/quickinvoices/{invoice['id']}/files", files={"file[file]": ("a.txt", b"hello")})
    sandbox.pay_quick_invoice(invoice["id"], "20.00")


def read_all(sandbox: Sandbox) -> dict[str, list[Record]]:
    """Return the stored records of every type."""
    return sandbox._call(lambda gateway: {table.plural: gateway.store.select(table) for table in STORED})


def test_restart(tmp_path: Path, open_shop: OpenShop) -> None:
    """Credentials, ids and records of every type in a file are the same at the next start."""
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path) as sandbox:
        first, shop = sandbox.info, open_shop(sandbox.info)
        fill(sandbox, shop)
        sale = shop.paid(transaction_api_id="t1")
        stored = read_all(sandbox)
    assert [name for name, records in stored.items() if not records] == []
    with Sandbox(data=path) as sandbox:
        assert attrs.asdict(sandbox.info) | {"base_url": ""} == attrs.asdict(first) | {"base_url": ""}
        found = open_shop(sandbox.info).get(f"/v2/transactions/{sale['id']}").json()["transaction"]
        kept = read_all(sandbox)
    assert found | {"_links": {}} == sale | {"_links": {}}
    for records in (stored, kept):
        del records["postbacks"]  # their delivery goes on
    assert kept == stored


def test_a_reset_keeps_the_initial_records_and_first_contact(sandbox: Sandbox, shop: Shop) -> None:
    initial = read_all(sandbox)
    fill(sandbox, shop)
    sandbox.reset()
    left = read_all(sandbox)
    assert [contact["id"] for contact in left.pop("contacts")] == [sandbox.contact_id]
    assert left == {name: records for name, records in initial.items() if name != "contacts"}


def test_a_reset_does_not_cut_off_what_a_browser_loads(sandbox: Sandbox) -> None:
    with httpx.stream("GET", f"{sandbox.base_url}/static/vendor/swagger-ui-bundle.js") as script:
        sandbox.reset()
        assert len(script.read()) == int(script.headers["content-length"])


def test_older_file(tmp_path: Path, open_shop: OpenShop) -> None:
    """A missing column gets the default of its field, and a user without one a primary location."""
    path = tmp_path / "sandbox.db"
    missing = {"contacts": "email_trx_receipt company_name", "users": "primary_location_id user_type_id tz"}
    with Sandbox(data=path) as sandbox:
        contact = open_shop(sandbox.info).contact().json()["contact"]
    with closing(sqlite3.connect(path)) as records:
        for table, columns in missing.items():
            for column in columns.split():
                records.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        records.commit()
    with Sandbox(data=path) as sandbox:
        shop = open_shop(sandbox.info)
        found = shop.get(f"/v2/contacts/{contact['id']}").json()["contact"]
        user = shop.get("/v2/users/me").json()["user"]
        assert (user["primary_location_id"], user["user_type_id"]) == (sandbox.info.location_id, 200)
    assert found | {"_links": {}} == contact | {"_links": {}}


def test_foreign_database(tmp_path: Path) -> None:
    """A wrong path must not add tables to another program's file."""
    path = tmp_path / "databases.db"
    with closing(sqlite3.connect(path)) as databases:
        databases.execute("CREATE TABLE databases (title TEXT)")
        databases.commit()
    before = path.read_bytes()
    with pytest.raises(sqlite3.DatabaseError, match="another program's"), Sandbox(data=path):
        pass
    assert path.read_bytes() == before


def test_unusable_file(tmp_path: Path) -> None:
    """A second sandbox is refused for the same file, as is one that is not a database."""
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path), pytest.raises(sqlite3.DatabaseError, match="locked"), Sandbox(data=path):
        pass
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"), Sandbox(data=path):
        pass


@pytest.mark.parametrize(
    ("tables", "refusal"),
    [
        ("CREATE TABLE settings (name, value); INSERT INTO settings VALUES ('info', '{}')", "not made by this sandbox"),
        ("CREATE TABLE settings (name, value); INSERT INTO settings VALUES ('info', 1)", "not made by this sandbox"),
        ("CREATE TABLE settings (id, text)", "no such column"),
        ("CREATE TABLE contacts (id, name)", "it is not a sandbox's data, although its header says so"),
    ],
)
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_file_with_the_identifier_of_a_sandbox_is_refused_unchanged(
    mode: str, tables: str, refusal: str, tmp_path: Path
) -> None:
    path = tmp_path / "sandbox.db"
    with closing(sqlite3.connect(path)) as records:
        records.execute(f"PRAGMA journal_mode = {mode}")
        records.executescript(f"{tables}; PRAGMA application_id = {_FORMAT.application_id}")
    before = path.read_bytes()
    with pytest.raises(sqlite3.DatabaseError, match=refusal), Sandbox(data=path):
        pass
    assert path.read_bytes() == before


def test_full_disk(tmp_path: Path) -> None:
    """The error names it. SQLite has rolled a large transaction back by itself; the next one is committed."""
    path = tmp_path / "sandbox.db"
    store = Store(str(path))
    with full_disk(), pytest.raises(sqlite3.OperationalError, match="disk"), store.transaction():
        store.write_setting("large", "x" * 20_000_000)
    with store.transaction():
        store.write_setting("small", "kept")
    store.close()
    assert ask_sqlite(path, "SELECT name FROM settings") == [("small",)]


def test_order_after_restart(tmp_path: Path, open_shop: OpenShop) -> None:
    """New records are newer than the old ones, even if the clock was far ahead before the restart."""
    made: list[str] = []
    for _ in range(2):
        with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
            shop = open_shop(sandbox.info)
            sandbox.advance(86_400 * (1 - len(made)))
            made.append(shop.paylink(email="a@b.de").json()["paylink"]["id"])
            listed = [paylink["id"] for paylink in shop.get("/v2/paylinks").json()["paylinks"]]
            sent = [message["paylink_id"] for message in sandbox.outbox()]
    assert (listed, sent) == (made[::-1], made)


def test_kill(serve: Serve, open_shop: OpenShop, eventually: Eventually) -> None:
    """Every acknowledged payment exists after kill -9, and none twice."""
    process, info = serve()
    shop = open_shop(info)
    answered: list[str] = []

    def pay() -> None:
        with suppress(httpx.TransportError):
            while True:
                answered.append(shop.paid(transaction_api_id=f"t{len(answered)}")["id"])

    paying = threading.Thread(target=pay)
    paying.start()
    eventually(lambda: len(answered) >= 50)
    process.kill()
    paying.join()
    _, info = serve()
    ledger = plain_http.get(f"{info.base_url}/_sandbox/ledger").json()
    assert set(answered) <= {one["id"] for one in ledger["transactions"]}
    assert set(ledger["charged"].values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal(serve: Serve, number: int, eventually: Eventually) -> None:
    """A signal ends a sandbox with exit code 0, even with a waiting request."""
    process, info = serve()
    waiting = threading.Thread(target=wait_at_terminal, args=(info,))
    waiting.start()
    eventually(lambda: plain_http.get(f"{info.base_url}/_sandbox/terminals").json()["terminals"][0]["waiting"])
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0
    waiting.join()
