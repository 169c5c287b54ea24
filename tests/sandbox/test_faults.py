"""Faults: what a plain socket sees of each, and whether the payment was made."""

import json
import socket
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread

import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import FaultName, Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS, SCENARIOS
from gateway_async.sandbox.simulators.terminals import NothingWaitsError

from .conftest import VISA, Eventually, Record, Shop

OPERATION = "POST /v2/transactions"
CLOSED = (httpx.NetworkError, httpx.RemoteProtocolError)
"""No connection, or an open one that ends while a request uses it."""
PayRaw = Callable[..., tuple[bytes, str]]


@pytest.fixture
def pay_raw(shop: Shop, sandbox: Sandbox) -> PayRaw:
    """Send one sale over a plain socket, and return every byte until the peer is done."""

    def pay(api_id: str = "t1", idle: float = 0.3) -> tuple[bytes, str]:
        with closing(socket.create_connection(address(sandbox))) as connection:
            connection.settimeout(idle)
            connection.sendall(request_of(shop, api_id))
            return read_all(connection)

    return pay


def request_of(shop: Shop, api_id: str) -> bytes:
    """Return the bytes of one sale."""
    sale = {"action": "sale", "account_number": VISA, "exp_date": "1230", "location_id": shop.info.location_id}
    return shop.raw_post(
        "/v2/transactions", {"transaction": sale | {"transaction_amount": "1.00", "transaction_api_id": api_id}}
    )


def address(sandbox: Sandbox) -> tuple[str, int]:
    url = httpx.URL(sandbox.base_url)
    assert url.port is not None
    return url.host, url.port


def read_all(connection: socket.socket) -> tuple[bytes, str]:
    """Return every byte received, and how the connection ended: open, closed or reset."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except TimeoutError:
        return received, "open"
    except ConnectionResetError:
        return received, "reset"
    return received, "closed"


def split_response(received: bytes) -> tuple[int, bytes]:
    """Return the announced length of a response, and its body."""
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]), body


def charged(sandbox: Sandbox) -> int:
    """Return how often the payment t1 was made."""
    times: int = sandbox.ledger()["charged"].get("t1", 0)
    return times


@pytest.mark.parametrize(
    ("fault", "end", "payments"),
    [
        ("reset_before_commit", "reset", 0),
        ("reset_after_commit", "reset", 1),
        ("close_after_commit", "closed", 1),
        ("silence", "open", 1),
    ],
)
def test_lost_response(sandbox: Sandbox, pay_raw: PayRaw, fault: FaultName, end: str, payments: int) -> None:
    """No byte comes back, whether or not the payment was made."""
    sandbox.fault(OPERATION, fault)
    assert pay_raw() == (b"", end)
    assert charged(sandbox) == payments


@pytest.mark.parametrize(("fault", "payments"), [("error_before_commit", 0), ("error_after_commit", 1)])
def test_an_error_says_nothing_of_the_payment(shop: Shop, sandbox: Sandbox, fault: FaultName, payments: int) -> None:
    sandbox.fault(OPERATION, fault)
    response = shop.pay(transaction_api_id="t1")
    assert (response.status_code, response.json()["status"]) == (500, 500)
    assert charged(sandbox) == payments


@pytest.mark.parametrize(("fault", "status"), [("rate_limit", 429), ("unavailable", 503)])
def test_busy_gateway(shop: Shop, sandbox: Sandbox, fault: FaultName, status: int) -> None:
    """Nothing is executed; Retry-After has the seconds, or is omitted."""
    sandbox.fault(OPERATION, fault, retry_after=2.5)
    response = shop.pay(transaction_api_id="t1")
    assert (response.status_code, response.headers["retry-after"]) == (status, "2.5")
    sandbox.fault(OPERATION, fault, retry_after=None)
    assert "retry-after" not in shop.pay().headers
    assert charged(sandbox) == 0


def test_a_body_is_cut(sandbox: Sandbox, pay_raw: PayRaw) -> None:
    sandbox.fault(OPERATION, "cut_body")
    received, end = pay_raw()
    length, body = split_response(received)
    assert (len(body), end) == (length // 2, "closed")
    assert charged(sandbox) == 1


def test_a_response_comes_twice(sandbox: Sandbox, pay_raw: PayRaw) -> None:
    sandbox.fault(OPERATION, "duplicate_response")
    received, end = pay_raw()
    assert (received.count(b"HTTP/1.1 201"), received.count(b'"transaction_api_id":"t1"'), end) == (2, 2, "open")


def test_wrong_response(shop: Shop, sandbox: Sandbox) -> None:
    """The response is plausible but has another record; the request's own one is stored correctly."""
    sandbox.fault(OPERATION, "wrong_response")
    swapped = shop.paid("1.00", transaction_api_id="t1")
    assert swapped["transaction_api_id"] != "t1"
    assert (swapped["transaction_amount"], swapped["last_four"]) != ("1.00", "1111")
    assert charged(sandbox) == 1
    sandbox.fault("DELETE /v2/contacts/{id}", "wrong_response")
    response = shop.http.delete(f"/v2/contacts/{shop.info.contact_id}")
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize(
    ("former", "name"), [("double_answer", "duplicate_response"), ("swap_answer", "wrong_response")]
)
def test_former_names(sandbox: Sandbox, former: FaultName, name: FaultName) -> None:
    """A fault that was renamed can be planned by both names, and is listed by the new one."""
    sandbox.fault(OPERATION, former)
    assert [plan["fault"] for plan in sandbox.faults()] == [name]


def test_a_length_is_wrong(sandbox: Sandbox, pay_raw: PayRaw) -> None:
    sandbox.fault(OPERATION, "wrong_length")
    received, _ = pay_raw()
    length, body = split_response(received)
    assert len(body) == length + 10
    assert json.loads(body)["transaction"]["transaction_api_id"] == "t1"


def test_drip(shop: Shop, sandbox: Sandbox, pay_raw: PayRaw) -> None:
    """The response arrives byte by byte, with pauses, and complete."""
    sandbox.fault(OPERATION, "drip", seconds=0)
    assert shop.paid(transaction_api_id="t0")["transaction_api_id"] == "t0"
    sandbox.fault(OPERATION, "drip", seconds=60)
    received, end = pay_raw()
    assert (received.partition(b"\r\n\r\n")[2], end) == (b"{", "open")


def test_delay(shop: Shop, sandbox: Sandbox, eventually: Eventually) -> None:
    """The payment is made at once; the response waits for the sandbox clock."""
    sandbox.fault(OPERATION, "delay", seconds=3600)
    responses = []
    waiting = Thread(target=lambda: responses.append(shop.pay(transaction_api_id="t1")))
    waiting.start()
    eventually(lambda: charged(sandbox))
    assert responses == []
    sandbox.advance(3600)
    waiting.join()
    assert responses[0].status_code == 201


@pytest.mark.parametrize(
    ("fault", "kind"), [("garbage", "application/json"), ("html", "text/html"), ("empty", "application/json")]
)
def test_a_body_that_is_not_json_keeps_the_real_status(
    shop: Shop, sandbox: Sandbox, fault: FaultName, kind: str
) -> None:
    sandbox.fault(OPERATION, fault)
    response = shop.pay(transaction_api_id="t1")
    assert (response.status_code, response.headers["content-type"]) == (201, kind)
    with pytest.raises(ValueError, match=r"."):
        response.json()
    assert charged(sandbox) == 1


def test_refused_connections(shop: Shop, sandbox: Sandbox, eventually: Eventually) -> None:
    """The port is closed for the given seconds, and idle connections are closed."""
    assert shop.get("/v2/contacts").status_code == 200
    sandbox.fault(OPERATION, "refuse", seconds=3600)
    for refused in (CLOSED, httpx.ConnectError):
        with pytest.raises(refused):
            shop.pay()
    sandbox.advance(3600)
    eventually(lambda: serves(sandbox))
    assert shop.pay().status_code == 201


def test_refusal_after_request(shop: Shop, sandbox: Sandbox, eventually: Eventually) -> None:
    """The request before the nth gets its response; then the port is closed."""
    sandbox.fault(OPERATION, "refuse", nth=2, seconds=3600)
    assert shop.pay().status_code == 201
    with pytest.raises(CLOSED):
        shop.pay()
    sandbox.advance(3600)
    eventually(lambda: serves(sandbox))
    assert [shop.pay().status_code for _ in range(2)] == [201, 201]


def test_other_refusals(shop: Shop, sandbox: Sandbox) -> None:
    """Before a refusal by chance a request is served, or gets another fault; clearing the faults ends it."""
    for plan, served in (({"probability": 1}, 201), ({"nth": 2}, 503)):
        sandbox.fault(OPERATION, "refuse", seconds=3600, **plan)
        if served == 503:
            sandbox.fault(OPERATION, "unavailable")
        assert shop.pay().status_code == served
        with pytest.raises(CLOSED):
            shop.pay()
        sandbox.clear_faults()
        assert shop.pay().status_code == 201


def test_nth_request(shop: Shop, sandbox: Sandbox) -> None:
    """Requests count from the creation of the plan, and as many as planned are affected."""
    shop.pay()
    sandbox.fault(OPERATION, "unavailable", nth=2, times=2)
    assert [shop.pay().status_code for _ in range(5)] == [201, 503, 503, 201, 201]


def test_a_seed_affects_the_same_requests(shop: Shop, sandbox: Sandbox) -> None:
    def statuses() -> list[int]:
        sandbox.clear_faults()
        sandbox.fault("GET /v2/contacts", "unavailable", probability=0.5, seed=7)
        return [shop.get("/v2/contacts").status_code for _ in range(30)]

    first = statuses()
    assert first == statuses()
    assert set(first) == {200, 503}


def test_planned_operation(shop: Shop, sandbox: Sandbox) -> None:
    """Other methods, paths and types are unaffected; `{id}` is any id, also with a slash, and another word that id."""
    sandbox.fault("GET /v2/contacts/{id}", "unavailable", times=2)
    assert shop.get("/v2/contacts").status_code == 200
    assert shop.http.delete("/v2/contacts/a").status_code == 404
    assert [shop.get(f"/v2/contacts/{name}").status_code for name in ("a%2Fb", "c", "d")] == [503, 503, 404]
    sandbox.fault("GET /v2/contacts/a", "unavailable")
    assert [shop.get(f"/v2/contacts/{name}").status_code for name in ("b", "a")] == [404, 503]


def test_affected_ids(shop: Shop, sandbox: Sandbox) -> None:
    """A plan lists them: the integrator ids in the bodies, or the ids in the paths."""
    for operation in (OPERATION, "POST /v2/contacts", "GET /v2/contacts/{id}"):
        sandbox.fault(operation, "error_before_commit")
    shop.pay(contact_api_id="c1", transaction_api_id="t1")
    shop.http.post("/v2/contacts", content="[[")
    shop.get("/v2/contacts/a")
    assert [plan["affected_ids"] for plan in sandbox.faults()] == [["t1"], ["contacts"], ["a"]]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_plans_the_same_from_http_and_python(shop: Shop, sandbox: Sandbox, scenario: str) -> None:
    sandbox.scenario(scenario)
    plans = sandbox.faults()
    sandbox.clear_faults()
    response = shop.http.post("/_sandbox/faults", json={"scenario": scenario})
    assert (response.status_code, response.json()["faults"]) == (201, plans)
    assert sandbox.faults() == plans != []
    if scenario == "a bad day":
        assert {plan["fault"] for plan in plans} == set(FAULTS)


MISSPELLED: dict[str, Callable[[Sandbox], object]] = {
    "operation: unknown, did you mean POST /v2/accountvaults?": lambda s: s.fault("POST /v2/account_vaults", "silence"),
    "operation: unknown, did you mean POST /v2/transactions?": lambda s: s.fault("post /v2/transaction", "silence"),
    "fault: unknown, did you mean close_after_commit?": lambda s: s.fault(OPERATION, "close_after_comit"),  # type: ignore[arg-type]
    "scenario: unknown, did you mean a bad day?": lambda s: s.scenario("a bad dya"),
    r"terminal Bar: not found\.": lambda s: s.present("Bar"),
    "entry_mode: must be one of S, K": lambda s: s.present(entry_mode="X"),  # type: ignore[arg-type]
    r"terminal \w+: no call arrived within 0.01 seconds": lambda s: s.wait_for_call(timeout=0.01),
    r"terminal \w+: no call arrived within 1 second\.": lambda s: s.wait_for_call(timeout=1),
    r"terminal \w+: no call waits there": lambda s: s.present(),
}


@pytest.mark.parametrize("message", MISSPELLED)
def test_misspelled_name(sandbox: Sandbox, message: str) -> None:
    """The error names the nearest fault, and its traceback has one frame of the package, that of the method."""
    with pytest.raises((InvalidRequestError, NothingWaitsError, TimeoutError), match=message) as raised:
        MISSPELLED[message](sandbox)
    frames = [entry.frame.code.path for entry in raised.traceback]
    assert [Path(str(path)).name for path in frames[2:]] == ["sandbox.py"]


def test_wait_until_idle(shop: Shop, sandbox: Sandbox) -> None:
    """A payment of a disconnected caller is still made; an open request is not idle."""
    with closing(socket.create_connection(address(sandbox))) as connection:
        connection.sendall(request_of(shop, "left"))
    sandbox.wait_until_idle()
    assert sandbox.ledger()["charged"] == {"left": 1}
    sandbox.fault(OPERATION, "silence")
    with closing(socket.create_connection(address(sandbox))) as connection:
        connection.sendall(request_of(shop, "waits"))
        with pytest.raises(TimeoutError, match="still in progress"):
            sandbox.wait_until_idle(timeout=0.1)
    sandbox.wait_until_idle()


def test_plans_over_http(shop: Shop, sandbox: Sandbox) -> None:
    """Plans are created, shown with their counts, and removed."""
    plan = {"operation": OPERATION, "fault": "unavailable", "nth": 2}
    assert shop.http.post("/_sandbox/faults", json=plan).status_code == 201
    assert [shop.pay().status_code for _ in range(3)] == [201, 503, 201]
    shown = shop.get("/_sandbox/faults").json()["faults"]
    assert shown == sandbox.faults()
    assert [(one["fault"], one["seen"], one["affected"]) for one in shown] == [("unavailable", 3, 1)]
    assert shop.http.delete("/_sandbox/faults").status_code == 204
    assert shop.get("/_sandbox/faults").json() == {"faults": []}


def test_taken_port(shop: Shop, sandbox: Sandbox, eventually: Eventually) -> None:
    """An outgoing connection may use the port for a while."""
    host, port = address(sandbox)
    sandbox.fault(OPERATION, "refuse", seconds=10)
    with (
        closing(socket.create_server((host, 0))) as elsewhere,
        closing(socket.create_connection(elsewhere.getsockname(), source_address=(host, port))) as outgoing,
    ):
        outgoing.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sandbox.advance(10)
        with pytest.raises(httpx.ConnectError):
            shop.pay()
    eventually(lambda: serves(sandbox))
    assert shop.pay().status_code == 201


def serves(sandbox: Sandbox) -> bool:
    return sandbox._current.gateway.listener._server.is_serving()


INCONSISTENT_PLAN: list[tuple[Record, str]] = [
    ({"fault": "fire"}, "fault"),
    ({"operation": "transactions"}, "operation"),
    ({"operation": "POST /v2/nothing"}, "operation"),
    ({"fault": "delay", "seconds": -1}, "seconds"),
    ({"retry_after": -1}, "retry_after"),
    ({"nth": 0}, "nth"),
    ({"times": 0}, "times"),
    ({"probability": 2}, "probability"),
]


def test_inconsistent_plan(shop: Shop, sandbox: Sandbox) -> None:
    """HTTP and Python name the wrong field first, and nothing is planned."""
    for wrong, subject in INCONSISTENT_PLAN:
        plan: Record = {"operation": OPERATION, "fault": "html"} | wrong
        response = shop.http.post("/_sandbox/faults", json=plan)
        assert (response.status_code, response.json()["message"].partition(":")[0]) == (422, subject)
        with pytest.raises(InvalidRequestError, match=f"^nothing was sent: {subject}: "):
            sandbox.fault(**plan)
        assert sandbox.faults() == [], wrong
    response = shop.http.post("/_sandbox/faults", json={"scenario": "sunshine"})
    assert (response.status_code, response.json()["message"].partition(":")[0]) == (422, "scenario")
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: scenario: must be one of response lost after a"):
        sandbox.scenario("sunshine")
    valid: Record = {"operation": OPERATION, "fault": "html"}
    malformed: list[object] = [valid | {"nth": "1"}, valid | {"when": 1}, {"fault": "html"}, []]
    for plan_of_wrong_type in malformed:
        response = shop.http.post("/_sandbox/faults", json=plan_of_wrong_type)
        assert (response.status_code, response.json()["status"]) == (400, 400)
