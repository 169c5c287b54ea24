"""A running sandbox, and a plain HTTP client that knows its endpoints."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, date, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox, SandboxInfo
from tests.support import plain_http
from tests.support.sandboxes import manual_sandbox, quick_sandbox
from tests.support.waiting import PATIENCE

from .receiver import Receiver, configured

VISA = "4111111111111111"
SERVE = """
import sys
from attrs import asdict
from json import dumps
from gateway_async.sandbox import serve
serve(port=0, data=sys.argv[1], on_ready=lambda info: print(dumps(asdict(info)), flush=True))
"""

_SAMPLES = Path(__file__).parents[1] / "samples"

BANK_ACCOUNT = {"payment_method": "ach", "account_number": "1234567890", "routing": "072000326", "exp_date": ...}
BANK_ACCOUNT |= {"account_type": "checking", "account_holder_name": "Test Account", "ach_sec_code": "WEB"}
"""The fields of a payment from a bank account."""

Record = dict[str, Any]
Listen = Callable[..., Receiver]
Configure = Callable[..., Record]
Eventually = Callable[[Callable[[], Any]], Any]
Serve = Callable[[], tuple[subprocess.Popen[str], SandboxInfo]]
Errors = Callable[[httpx.Response], dict[str, list[str]]]


def recorded(name: str) -> Any:
    """Return the record or records of a sample; a postback has its record as text."""
    body = json.loads((_SAMPLES / f"{name}.json").read_text())
    return json.loads(body["data"]) if "data" in body else next(iter(body.values()))


def noon(day: date) -> float:
    """Return the middle of a day, in Unix seconds."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()


class Shop:
    """A merchant's client that sends raw JSON for one location of a sandbox."""

    def __init__(self, info: SandboxInfo) -> None:
        self.info = info
        keys = {"developer-id": info.developer_id, "user-id": info.user_id, "user-api-key": info.user_api_key}
        self.http = plain_http.open_client(base_url=info.base_url, headers=keys)
        self.plain = HTTPConnection(self.http.base_url.host, self.http.base_url.port, timeout=PATIENCE)

    def close(self) -> None:
        self.http.close()
        self.plain.close()

    def raw_post(self, path: str, content: Any) -> bytes:
        """Return the bytes of a POST over a plain socket."""
        body = json.dumps(content)
        keys = {name: self.http.headers[name] for name in ("developer-id", "user-id", "user-api-key")}
        head = "".join(f"{name}: {value}\r\n" for name, value in (keys | {"content-length": len(body)}).items())
        return f"POST {path} HTTP/1.1\r\n{head}\r\n{body}".encode()

    def post(self, noun: str, path: str, record: Any, **query: Any) -> httpx.Response:
        return self.http.post(path, json={noun: record}, params=query)

    def put(self, noun: str, path: str, record: Any, **query: Any) -> httpx.Response:
        return self.http.put(path, json={noun: record}, params=query)

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query)

    def contact(self, **fields: Any) -> httpx.Response:
        """Create a contact; `...` omits a field, here and below."""
        return self.post("contact", "/v2/contacts", self._with({"last_name": "Smith"}, fields))

    def vault(self, **fields: Any) -> httpx.Response:
        card = {"payment_method": "cc", "account_number": VISA, "exp_date": "1230"}
        return self.post("accountvault", "/v2/accountvaults", self._with(card, fields))

    def pay(self, amount: Any = "12.50", **fields: Any) -> httpx.Response:
        """Create a transaction, an approved sale by default."""
        sale = {"action": "sale", "account_number": VISA, "exp_date": "1230", "transaction_amount": amount}
        return self.post("transaction", "/v2/transactions", self._with(sale, fields))

    def paid(self, *args: Any, **fields: Any) -> Record:
        """Create a transaction, and return the record."""
        payment: Record = self.pay(*args, **fields).json()["transaction"]
        return payment

    def pay_from_bank(self, **fields: Any) -> httpx.Response:
        """Create a payment of 10.00 from a bank account."""
        return self.pay("10.00", **(BANK_ACCOUNT | fields))

    def act(self, record: dict[str, Any], action: str, **fields: Any) -> httpx.Response:
        return self.put("transaction", f"/v2/transactions/{record['id']}", {"action": action, **fields})

    def invoice(self, **fields: Any) -> httpx.Response:
        """Create a quick invoice, over 21.00 by default."""
        items = {"title": "Lunch", "due_date": "2030-01-31", "item_list": {"Soup": 10, "Tea": 11}}
        return self.post("quickinvoice", "/v2/quickinvoices", self._with(items, fields))

    def paylink(self, amount: Any = 21, **fields: Any) -> httpx.Response:
        return self.post("paylink", "/v2/paylinks", self._with({"amount_due": amount}, fields))

    def at_terminal(self, amount: Any = "12.50", **fields: Any) -> httpx.Response:
        sale = {"action": "sale", "payment_method": "cc", "transaction_amount": amount}
        sale["terminal_id"] = self.info.terminal_id
        return self.post("routertransaction", "/v2/routertransactions", self._with(sale, fields))

    def store_at_terminal(self, **fields: Any) -> httpx.Response:
        stored = {"action": "store", "payment_method": "cc"}
        stored |= {"terminal_id": self.info.terminal_id, "contact_id": self.info.contact_id}
        return self.post("routeraccountvault", "/v2/routeraccountvaults", self._with(stored, fields))

    def _with(self, defaults: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        record = {"location_id": self.info.location_id} | defaults | fields
        return {name: value for name, value in record.items() if value is not ...}


@contextmanager
def connected(sandbox: Sandbox) -> Iterator[socket.socket]:
    """Open a plain connection to a sandbox."""
    with socket.create_connection(("127.0.0.1", httpx.URL(sandbox.base_url).port)) as connection:
        connection.settimeout(10)
        yield connection


OpenShop = Callable[[SandboxInfo], Shop]


sandbox = pytest.fixture(quick_sandbox)


@pytest.fixture
def open_shop() -> Iterator[OpenShop]:
    """Open the client of any location until the test ends."""
    with ExitStack() as stack:
        yield lambda info: stack.enter_context(closing(Shop(info)))


@pytest.fixture
def shop(sandbox: Sandbox, open_shop: OpenShop) -> Shop:
    """The client of the sandbox's first location."""
    return open_shop(sandbox.info)


@pytest.fixture
def browser(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A client without credentials, like a browser."""
    with plain_http.open_client(base_url=sandbox.base_url) as client:
        yield client


@pytest.fixture
def strict_shop(open_shop: OpenShop) -> Iterator[Shop]:
    """A client of a gateway that refuses unknown fields."""
    with Sandbox(terminal_delay=0.0, strict=True) as sandbox:
        yield open_shop(sandbox.info)


manual = pytest.fixture(manual_sandbox)


@pytest.fixture
def neighbor(sandbox: Sandbox, open_shop: OpenShop) -> Shop:
    """A client in a second location of the same gateway."""
    return open_shop(sandbox.add_location())


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a gateway in its own process, on `sandbox.db`; return the process and its info."""
    with ExitStack() as stack:

        def start() -> tuple[subprocess.Popen[str], SandboxInfo]:
            command = [sys.executable, "-c", SERVE, str(tmp_path / "sandbox.db")]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own script
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            return process, SandboxInfo(**json.loads(process.stdout.readline()))

        yield start


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Start a receiver; it stops with the test."""
    with ExitStack() as stack:

        def start(*args: Any) -> Receiver:
            receiver = Receiver(*args)
            stack.callback(receiver.stop)
            return receiver

        yield start


@pytest.fixture
def receiver(listen: Listen) -> Receiver:
    """A receiver that acknowledges every postback."""
    return listen()


@pytest.fixture
def configure(shop: Shop, receiver: Receiver) -> Configure:
    """Create a config for the receiver with every switch on, and return the record."""
    return lambda resource="contact", url=receiver.url, **fields: configured(shop, url, resource, **fields)


@pytest.fixture
def eventually() -> Eventually:
    """Wait until a function returns a true value, and return it."""

    def wait(ask: Callable[[], Any]) -> Any:
        while not (response := ask()):
            time.sleep(0.005)
        return response

    return wait


@pytest.fixture
def errors() -> Errors:
    """Return the problems in a 422."""

    def read(response: httpx.Response) -> dict[str, list[str]]:
        assert response.status_code == 422, response.text
        problems: dict[str, list[str]] = response.json()["errors"]
        return problems

    return read
