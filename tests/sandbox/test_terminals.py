"""Simulated terminals: automatic actions, actions of people, and waiting calls."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import NothingWaitsError, Sandbox
from gateway_async.sandbox.state_machines.terminal_requests import (
    TERMINAL_REQUEST_MACHINE,
    TerminalRequestState,
    TerminalRequestTrigger,
)

from .conftest import Errors, Eventually, OpenShop, Record, Shop


@pytest.fixture
def counter(manual: Sandbox, open_shop: OpenShop) -> Shop:
    """The client of that gateway."""
    return open_shop(manual.info)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def wait_for(manual: Sandbox, count: int) -> list[Record]:
    """Wait until some calls are at the first terminal, and return them."""
    waiting: list[Record]
    while len(waiting := manual.terminals()[0]["waiting"]) != count:
        pass
    return waiting


def test_unattended_terminal(shop: Shop) -> None:
    """An approval is a 201 under `routertransaction`, with a link to the transactions endpoint."""
    response = shop.at_terminal("12.50", transaction_api_id="t1", billing_zip="12345")
    sale = response.json()["routertransaction"]
    assert (response.status_code, sale["status_id"], sale["entry_mode_id"]) == (201, 101, "C")
    assert sale["terminal_id"] == shop.info.terminal_id
    assert sale["_links"]["self"]["href"].endswith(f"/v2/transactions/{sale['id']}")
    read = shop.get(f"/v2/transactions/{sale['id']}").json()["transaction"]
    assert read == sale


def test_stored_card(shop: Shop) -> None:
    """The response is an `accountvault` whose `active` is the string "1"."""
    response = shop.store_at_terminal()
    vault = response.json()["accountvault"]
    assert (response.status_code, vault["active"], vault["last_four"]) == (201, "1", "1111")
    assert shop.get(f"/v2/accountvaults/{vault['id']}").json()["accountvault"]["active"] == 1


def test_a_terminal_call_is_checked_before_it_waits(manual: Sandbox, counter: Shop, errors: Errors) -> None:
    missing = {"terminal_id": ["Terminal not found"]}
    elsewhere = manual.add_location().terminal_id
    assert errors(counter.at_terminal(terminal_id="nowhere")) == missing
    assert errors(counter.at_terminal(terminal_id=elsewhere)) == missing
    assert errors(counter.at_terminal(terminal_id=...)) == {"terminal_id": ["Terminal Id cannot be blank."]}
    assert errors(counter.at_terminal(payment_method="ach")) == {"payment_method": ["Payment Method must be cc."]}


def test_optional_fields(shop: Shop) -> None:
    """The transaction has the optional fields, and the contact may be named by its api id."""
    contact = shop.contact(contact_api_id="c1").json()["contact"]
    fields = {"product_transaction_id": shop.info.cc_product_transaction_id, "transaction_api_id": "t1", "tax": "0.50"}
    fields |= {"order_num": "7", "po_number": "PO1", "clerk_number": "12", "description": "Lunch"}
    fields |= {"billing_street": "5800 NW 39th AVE", "billing_zip": "32606"}
    made = shop.at_terminal(**fields, save_account=1, contact_api_id="c1").json()["routertransaction"]
    expected = fields | {"contact_id": contact["id"]}
    assert {name: made[name] for name in expected} == expected
    vault = shop.get(f"/v2/accountvaults/{made['account_vault_id']}").json()["accountvault"]
    assert vault["contact_id"] == contact["id"]


@pytest.mark.parametrize("field", ["title", "account_vault_api_id", "billing_address", "billing_zip", "contact_api_id"])
def test_store_fields(strict_shop: Shop, errors: Errors, field: str) -> None:
    """A strict gateway refuses any other field before the terminal waits."""
    assert list(errors(strict_shop.store_at_terminal(**{field: "12345"}))) == [field]


ACTIONS: list[tuple[Callable[[Sandbox], object], Record]] = [
    (
        lambda box: box.present(card="371449635398431", entry_mode="P"),
        {"status_id": 101, "account_type": "amex", "entry_mode_id": "P"},
    ),
    (lambda box: box.decline(), {"verbiage": "DECLINED", "last_four": "1111"}),
    (lambda box: box.cancel(), {"verbiage": "CANCELLED", "last_four": None}),
    (
        lambda box: box.decline(card="5454545454545454", entry_mode="P"),
        {"verbiage": "DECLINED", "reason_code_id": 1500, "last_four": "5454", "entry_mode_id": "P"},
    ),
    (
        lambda box: box.reject_pin(card="5454545454545454", entry_mode="C"),
        {"verbiage": "BAD_PIN", "reason_code_id": 1610, "account_type": "mc", "emv_receipt_data": None},
    ),
]
"""What a person does at a terminal, and the record; chip data would say that the PIN was verified."""


def test_actions(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor) -> None:
    """A waiting call names its user, program and id, and ends when a person presents or refuses a card."""
    for number, (act, expected) in enumerate(ACTIONS):
        sale = pool.submit(counter.at_terminal, "12.50", transaction_api_id=f"t{number}")
        call = manual.wait_for_call()
        assert (call["action"], call["amount"], call["state"]) == ("sale", "12.50", "waiting for a card")
        assert (call["user"], call["api_id"], call["acts_at"]) == ("Sandy Box", f"t{number}", None)
        assert call["program"].startswith("python-httpx/")
        act(manual)
        made = sale.result().json()["routertransaction"]
        assert {name: made[name] for name in {"status_id": 301} | expected} == {"status_id": 301} | expected


def test_changed_settings(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor) -> None:
    """A setting that changes while a call waits at its terminal applies to the payment."""
    sale = pool.submit(counter.at_terminal, "2.01")
    manual.wait_for_call()
    manual.change_product(allow_partial_authorization=False)
    manual.present()
    made = sale.result().json()["routertransaction"]
    assert (made["status_id"], made["verbiage"], made["auth_amount"]) == (301, "PARTIAL_AUTH", "0.00")


def test_countdown(pool: ThreadPoolExecutor, open_shop: OpenShop) -> None:
    """In auto mode a card is presented after the delay, unless the terminal is silent."""
    with Sandbox(terminal_delay=100) as sandbox:
        sale = pool.submit(open_shop(sandbox.info).at_terminal)
        call = sandbox.wait_for_call()
        assert call["acts_at"] - call["since"] == pytest.approx(100, abs=1)
        sandbox.silence()
        assert sandbox.wait_for_call()["acts_at"] is None
        sandbox.present()
        assert sale.result().status_code == 201


def test_a_cancelled_store_is_refused(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor, errors: Errors) -> None:
    stored = pool.submit(counter.store_at_terminal)
    manual.wait_for_call()
    manual.cancel()
    assert errors(stored.result()) == {"terminal_id": ["CANCELLED"]}


@pytest.mark.parametrize("act", ["present", "decline", "cancel"])
def test_ended_call(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor, act: str) -> None:
    """The response to the control call shows the next call as the active one."""
    url = f"/_sandbox/terminals/{manual.terminal_id}/{act}"
    sales = []
    for number in (1, 2):
        sales.append(pool.submit(counter.at_terminal, f"{number}.00"))
        wait_for(manual, number)
    second = counter.http.post(url).json()["waiting"]
    assert [(one["amount"], one["state"]) for one in second] == [("2.00", "waiting for a card")]
    assert counter.http.post(url).json()["waiting"] == []
    assert {sale.result().status_code for sale in sales} == {201}


@pytest.mark.anyio
async def test_wait(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor) -> None:
    """A waiting task wakes when a call comes, on asyncio and trio, and gets the call."""
    called = pool.submit(manual.wait_for_call)
    sale = pool.submit(counter.at_terminal, "12.50")
    assert called.result() == await manual.await_call()
    assert called.result().items() >= {"action": "sale", "amount": "12.50", "state": "waiting for a card"}.items()
    manual.present()
    assert sale.result().status_code == 201


def test_a_sandbox_that_stops_ends_all_waits(pool: ThreadPoolExecutor, eventually: Eventually) -> None:
    with Sandbox(terminals="manual") as sandbox:
        waiting = pool.submit(sandbox.wait_for_call, timeout=3600)
        eventually(lambda: sandbox._current.gateway.terminals._arrival._waiters)
    with pytest.raises(RuntimeError, match="not running"):
        waiting.result()


def test_terminals_do_not_wait_for_each_other(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor) -> None:
    other = manual.add_terminal()
    first = pool.submit(counter.at_terminal)
    second = pool.submit(counter.at_terminal, terminal_id=other)
    manual.wait_for_call()
    manual.wait_for_call(other)
    manual.present(other)
    assert second.result().status_code == 201
    assert not first.done()
    manual.present()
    assert first.result().status_code == 201


def test_api_id_waiting(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor, errors: Errors) -> None:
    """The same id at a second terminal is refused at once."""
    other = manual.add_terminal()
    first = pool.submit(counter.at_terminal, transaction_api_id="t1")
    manual.wait_for_call()
    assert list(errors(counter.at_terminal(transaction_api_id="t1", terminal_id=other))) == ["transaction_api_id"]
    manual.present()
    assert first.result().status_code == 201
    assert manual.ledger()["charged"] == {"t1": 1}


@pytest.mark.parametrize(("silent", "amount"), [(True, "12.50"), (False, "7.71")])
def test_silent_terminal(shop: Shop, sandbox: Sandbox, pool: ThreadPoolExecutor, silent: bool, amount: str) -> None:
    """In auto mode too, a call waits for a manual action or its timeout; 7.71 is silent by itself."""
    if silent:
        sandbox.silence()
    sale = pool.submit(shop.at_terminal, amount)
    sandbox.wait_for_call()
    sandbox.advance(299)
    sandbox.wait_for_call()
    sandbox.advance(1)
    assert sale.result().json()["routertransaction"]["verbiage"] == "Overall Request Timeout"
    assert sandbox.terminals()[0]["silent"] is silent


def test_amount_8_45_is_approved_after_45_seconds(shop: Shop, sandbox: Sandbox, pool: ThreadPoolExecutor) -> None:
    at_terminal = pool.submit(shop.at_terminal, "8.45")
    sandbox.wait_for_call()
    sandbox.advance(44)
    assert not at_terminal.done()
    sandbox.advance(1)
    assert at_terminal.result().json()["routertransaction"]["status_id"] == 101


REFUSED: list[tuple[str, Record, int, str]] = [
    *((f"HERE/{act}", {}, 409, "terminal HERE: no call waits there.") for act in ("present", "decline", "cancel")),
    *(
        (f"nowhere/{act}", {}, 404, "terminal nowhere: not found.")
        for act in ("present", "decline", "cancel", "silence")
    ),
    ("HERE/present", {"card": "4111111111111112"}, 422, "card: is not a valid card number."),
]


def test_refused_controls(manual: Sandbox, counter: Shop) -> None:
    """An action needs a waiting call; the terminal, card and entry mode are checked before. The subject comes first."""
    for path, body, status, problem in REFUSED:
        terminal, _, act = path.replace("HERE", manual.terminal_id).partition("/")
        message = problem.replace("HERE", manual.terminal_id)
        response = counter.http.post(f"/_sandbox/terminals/{terminal}/{act}", json=body)
        assert (response.status_code, response.json()["message"]) == (status, message)
        with pytest.raises(NothingWaitsError if status == 409 else InvalidRequestError, match=message.rstrip(".")):
            getattr(manual, act)(terminal, **body)
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: terminal nowhere: not found"):
        manual.wait_for_call("nowhere")
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: entry_mode: must be one of S, K, C, P, F, B"):
        manual.present(entry_mode="X")  # type: ignore[arg-type]
    for title in ("", "x" * 65):
        with pytest.raises(InvalidRequestError, match=r"title: must have 1 to 64 characters\."):
            manual.add_terminal(title)
    with pytest.raises(TimeoutError, match=f"terminal {manual.terminal_id}: no call arrived within 0.01 seconds."):
        manual.wait_for_call(timeout=0.01)  # in real time


def test_many_calls_wait_at_once(manual: Sandbox, counter: Shop, eventually: Eventually) -> None:
    terminals = [manual.add_terminal() for _ in range(200)]
    sale = {"action": "sale", "payment_method": "cc", "location_id": manual.location_id, "transaction_amount": "1.00"}

    async def sell(terminal_id: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(manual.base_url).port)
        try:
            writer.write(
                counter.raw_post("/v2/routertransactions", {"routertransaction": sale | {"terminal_id": terminal_id}})
            )
            status = await reader.readline()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        return status

    def everywhere_waiting() -> bool:
        return sum(len(one["waiting"]) for one in manual.terminals()) == len(terminals)

    async def sell_everywhere() -> list[bytes]:
        sales = [asyncio.ensure_future(sell(one)) for one in terminals]
        await asyncio.to_thread(eventually, everywhere_waiting)
        manual.advance(300)
        return await asyncio.gather(*sales)

    assert asyncio.run(sell_everywhere()) == [b"HTTP/1.1 201 Created\r\n"] * len(terminals)
    assert {one["status_id"] for one in manual.ledger()["transactions"]} == {301}


# --- the state machine of a call


@pytest.fixture
def queue(manual: Sandbox, counter: Shop, pool: ThreadPoolExecutor) -> Iterator[Callable[[int], None]]:
    """Make some calls wait at the terminal."""

    def fill(count: int) -> None:
        for number in range(1, count + 1):
            pool.submit(counter.at_terminal, f"{number}.00")
            wait_for(manual, number)

    yield fill
    manual.reset()


def states(manual: Sandbox) -> list[str]:
    return [call["state"] for call in manual.terminals()[0]["waiting"]]


def test_next_request(manual: Sandbox, queue: Callable[[int], None]) -> None:
    """There is never a moment without an active request while others wait; an aborted one leaves the queue."""
    queue(3)
    assert states(manual) == ["waiting for a card", "queued", "queued"]
    manual.present()
    assert states(manual) == ["waiting for a card", "queued"]
    manual.cancel()
    manual.decline()
    assert states(manual) == []
    queue(2)
    manual.reset()
    assert states(manual) == []
    queue(1)
    assert states(manual) == ["waiting for a card"]


def test_a_queued_call_ends_300_seconds_after_its_arrival(
    manual: Sandbox, queue: Callable[[int], None], eventually: Eventually
) -> None:
    queue(2)
    manual.advance(300)
    eventually(lambda: len(manual.ledger()["transactions"]) == 2)
    assert states(manual) == []


def test_ends() -> None:
    """No transition starts at an end, and every request can reach one."""
    unfinished = {TerminalRequestState.QUEUED, TerminalRequestState.WAITING, TerminalRequestState.TERMS_SHOWN}
    assert {before for before, _ in TERMINAL_REQUEST_MACHINE.transitions} == unfinished
    assert {*TERMINAL_REQUEST_MACHINE.transitions.values()} == {*TerminalRequestState} - {TerminalRequestState.QUEUED}
    assert {trigger for _, trigger in TERMINAL_REQUEST_MACHINE.transitions} == {*TerminalRequestTrigger}
