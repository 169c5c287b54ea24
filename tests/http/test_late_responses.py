"""A peer that repeats a response on a kept-alive connection: what it said of another request proves nothing."""

import contextlib
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from gateway_async import (
    AsyncGateway,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    OutcomeUnknownError,
    RecurringCreate,
    SqliteLedger,
    TransactionCreate,
    ValidationError,
)
from tests.support.scripted_server import Wire, always, gateway_at, response, serving

pytestmark = pytest.mark.anyio

NOT_THERE = {"name": "Not Found", "message": "not found", "code": 0, "status": 404}
SALE: dict[str, Any] = {"action": "sale", "account_vault_id": "vault", "transaction_amount": "12.50"}
REFUSED = TransactionCreate(**SALE | {"transaction_amount": "0.01"})
DETAILS = {"transactions": "transaction", "contacts": "contact", "recurrings": "recurring"}


class Gateway:
    """Executes each create and loses its response. A connection repeats its first response to a read for ever."""

    def __init__(self) -> None:
        self.records: dict[str, list[dict[str, Any]]] = {name: [] for name in DETAILS}
        self.creates = 0
        self.loses = True
        self.loses_reads = False

    async def serve(self, wire: Wire) -> None:
        repeated: bytes | None = None
        while True:
            head, body = await wire.request()
            method, target, _ = head.decode().split(" ", 2)
            path = urlsplit(target)
            plural, *rest = path.path.removeprefix("/v2/").split("/")
            if method == "DELETE" or (method == "GET" and self.loses_reads):
                return
            if method == "POST":
                self.creates += 1
                made = {"id": f"made-{self.creates}", "created_ts": 100, **json.loads(body)[DETAILS[plural]]}
                self.records[plural].insert(0, made)
                if self.loses:
                    return
                answer = response(201, {DETAILS[plural]: made})
            else:
                answer = self.read(plural, rest, parse_qs(path.query))
            repeated = repeated or answer
            await wire.send(repeated)

    def read(self, plural: str, rest: list[str], query: dict[str, list[str]]) -> bytes:
        rows = self.records[plural]
        if rest:
            found = [row for row in rows if rest[0] in row.values()]
            return response(200, {DETAILS[plural]: found[0]}) if found else response(404, NOT_THERE)
        filters = {name: values[0] for name, values in query.items() if name not in ("page", "page_size", "sort")}
        found = [row for row in rows if all(str(row.get(name)) == value for name, value in filters.items())]
        pagination = {"totalCount": len(found), "pageCount": 1, "perPage": 100}
        return response(200, {plural: found, "meta": {"pagination": pagination}})


def client(url: str, **options: Any) -> AsyncGateway:
    """A client with two connections, so that one is idle when the other is lost."""
    return gateway_at(url, **{"max_connections": 2, **options})


async def look_for_nothing(gateway: AsyncGateway) -> None:
    """Leave each kept-alive connection with a "not found" behind it."""
    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(fail, lambda: gateway.transactions.get("missing"))


async def fail(call: Callable[[], Awaitable[object]]) -> None:
    with contextlib.suppress(GatewayError):
        await call()


async def test_a_late_404_of_another_read_is_not_the_response_to_a_lookup() -> None:
    peer_gateway = Gateway()
    async with serving(peer_gateway.serve) as peer, client(peer.url) as gateway:
        await look_for_nothing(gateway)
        for number in (1, 2):
            assert (await gateway.transactions.create(TransactionCreate(**SALE))).id == f"made-{number}"
            await look_for_nothing(gateway)
    assert peer_gateway.creates == 2


async def test_recovery(tmp_path: Path) -> None:
    """Each lookup and each list that confirms it has a connection of its own."""
    peer_gateway = Gateway()
    path = tmp_path / "ledger.db"
    options: dict[str, Any] = {"in_doubt_seconds": 0.1, "max_attempts": 1, "max_connections": 4, "timeout": 5}
    async with serving(peer_gateway.serve) as peer:
        async with client(peer.url, ledger=SqliteLedger(path), **options) as gateway:
            peer_gateway.loses_reads = True
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(fail, lambda: gateway.transactions.create(TransactionCreate(**SALE)))
        peer_gateway.loses_reads = False
        async with client(peer.url, ledger=SqliteLedger(path), **options) as gateway:
            await look_for_nothing(gateway)
            recovered = await gateway.recover()
    assert [each.outcome for each in recovered] == ["found"] * 20


@pytest.mark.parametrize(
    ("content", "error"), [({"contact": {"id": "other"}}, MismatchedReplyError), ("Tea", MalformedReplyError)]
)
async def test_distrusted_connection(content: Any, error: type[GatewayError]) -> None:
    """A connection whose response answers another request, or cannot be read, is not used again."""
    async with serving(always(response(200, content))) as peer, client(peer.url, max_attempts=1) as gateway:
        for number in (1, 2):
            with pytest.raises(error):
                await gateway.contacts.get("c")
            assert peer.opened == number


async def test_read_before() -> None:
    """An old list would show a new recurring as one that existed."""
    new = RecurringCreate(
        account_vault_id="vault", interval=1, interval_type="m", start_date=date(2030, 1, 1), transaction_amount="5.00"
    )
    peer_gateway = Gateway()
    async with serving(peer_gateway.serve) as peer, client(peer.url) as gateway:
        await look_for_nothing(gateway)
        assert (await gateway.recurrings.create(new)).id == "made-1"
        await look_for_nothing(gateway)
        assert (await gateway.recurrings.create(new)).id == "made-2"


async def test_refund() -> None:
    """A late copy of another payment would be refunded in its place."""
    peer_gateway = Gateway()
    peer_gateway.loses = False
    async with serving(peer_gateway.serve) as peer, client(peer.url) as gateway:
        await gateway.transactions.list().first()
        peer_gateway.records["transactions"] = [
            {"id": "a", "transaction_amount": "1.00", "payment_method": "cc", "location_id": "loc"},
            {"id": "b", "transaction_amount": "99.00", "payment_method": "cc", "location_id": "loc"},
        ]
        with pytest.raises(GatewayError):
            await gateway.transactions.get("b")  # the list, which was the first response
        refund = await gateway.transactions.refund("a")
    assert str(refund.transaction_amount) == "1.00"


async def test_deletion() -> None:
    """The deletion never arrives, and its lookups read the record on connections of their own."""
    peer_gateway = Gateway()
    peer_gateway.records["contacts"] = [{"id": "c", "last_name": "Smith"}]
    async with serving(peer_gateway.serve) as peer, client(peer.url, timeout=6) as gateway:
        await look_for_nothing(gateway)
        with pytest.raises(OutcomeUnknownError):
            await gateway.contacts.delete("c")


PAYMENTS = [
    {"id": f"{contact}{number}", "contact_id": contact, "location_id": "loc"} for contact in "xyz" for number in "12"
]


class Repeating:
    """Executes the first request of a connection, loses the others, and responses them with its first response."""

    def __init__(self, response: bytes) -> None:
        self.response = response
        self.executed = 0

    async def serve(self, wire: Wire) -> None:
        await wire.request()
        self.executed += 1
        while True:
            await wire.send(self.response)
            await wire.request()


DONE, MADE = b"HTTP/1.1 204 X\r\n\r\n", response(201, {"tip": {"id": "made"}})
VOID = {"transaction": {"action": "void"}}


@pytest.mark.parametrize(
    ("write", "response"),
    [
        (lambda gateway: gateway.recurrings.delete("r"), DONE),
        (lambda gateway: gateway.quick_invoices.remove_file("i", "f"), DONE),
        (lambda gateway: gateway.quick_invoices.resend("i"), DONE),
        (lambda gateway: gateway.resource("tips", name="tip").create({"amount": 1}), MADE),
        (lambda gateway: gateway.resource("tips", name="tip").action("x", "pay"), DONE),
        (lambda gateway: gateway.request("PUT", "/v2/transactions/t", body=VOID), MADE),
        (lambda gateway: gateway.request("POST", "/v2/routerrefunds", body={"refund": {"terminal_id": "t"}}), MADE),
    ],
    ids=["delete", "remove a file", "resend", "create without an id", "action", "request", "request at a terminal"],
)
async def test_written_calls(write: Callable[[AsyncGateway], Awaitable[object]], response: bytes) -> None:
    """A late response says as much as the right one, so each of these writes is the first request of a connection."""
    peer_gateway = Repeating(response)
    async with serving(peer_gateway.serve) as peer, client(peer.url) as gateway:
        for _ in range(3):
            await write(gateway)
    assert peer_gateway.executed == 3


async def test_list_rows() -> None:
    """Rows that contradict a filter are read again on a connection of their own."""
    peer_gateway = Gateway()
    peer_gateway.records["transactions"] = PAYMENTS
    async with serving(peer_gateway.serve) as peer, client(peer.url, max_connections=6) as gateway:
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(gateway.transactions.list({"contact_id": "x"}).first)
        for contact in "yz":
            payments = gateway.transactions.list({"contact_id": contact})
            assert [payment.id async for payment in payments] == [f"{contact}1", f"{contact}2"]
            assert [payment.id for payment in (await payments).records] == [f"{contact}1", f"{contact}2"]


async def test_a_read_whose_response_shows_another_record_is_repeated() -> None:
    peer_gateway = Gateway()
    peer_gateway.records["transactions"] = PAYMENTS
    async with serving(peer_gateway.serve) as peer, client(peer.url, max_connections=6) as gateway:
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(gateway.transactions.get, "x2")
        for name in ("x1", "y1", "z2", "x1"):
            assert (await gateway.transactions.get(name)).id == name


async def test_contradicting_rows() -> None:
    """A gateway that ignores the filter would otherwise have its other payments refunded."""

    async def ignore_filters(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.send(response(200, {"transactions": PAYMENTS, "meta": {"pagination": {"pageCount": 1}}}))

    async with serving(ignore_filters) as peer, client(peer.url) as gateway:
        for filters in ({"contact_id": "y"}, {"id": "y1"}, {"contact_id": ["y", "z"]}):
            with pytest.raises(MismatchedReplyError, match=r"belongs to another request: (contact_)?id is"):
                await gateway.transactions.list(filters)
        assert (
            len((await gateway.transactions.list({"contact_id": ["x", "y", "z"], "location_id": "loc"})).records) == 6
        )


class Behind:
    """Executes each sale. A connection that has answered a read answers a sale with the refusal of another one."""

    def __init__(self, status: int) -> None:
        self.refusal = response(status, {"name": "Refused", "message": "no", "code": 0, "status": status})
        self.sales: list[dict[str, Any]] = []
        self.answers_reads = True
        self.creates: list[int] = []

    async def serve(self, wire: Wire) -> None:
        creates, is_behind = 0, False
        while True:
            head, body = await wire.request()
            method, target, _ = head.decode().split(" ", 2)
            if method == "GET" and not self.answers_reads:
                return
            if method == "GET":
                found = [each for each in self.sales if each["transaction_api_id"] in target]
                await wire.send(response(200, {"transaction": found[0]}) if found else response(404, NOT_THERE))
                is_behind = True
                continue
            creates += 1
            self.creates.append(creates)
            sale = json.loads(body)["transaction"]
            if sale["transaction_amount"] != "0.01":
                made = {"id": f"made-{len(self.sales)}", "status_id": 101, "reason_code_id": 1000, **sale}
                self.sales.append(made)
                await wire.send(self.refusal if is_behind else response(201, {"transaction": made}))
            else:
                await wire.send(self.refusal)


async def test_after_a_refusal() -> None:
    """A copy of the refusal cannot be taken for that of the next write."""
    peer_gateway = Behind(422)
    async with serving(peer_gateway.serve) as peer, client(peer.url, max_connections=1) as gateway:
        for _ in range(2):
            await fail(lambda: gateway.transactions.create(REFUSED))
    assert peer_gateway.creates == [1, 1]


@pytest.mark.parametrize("status", [400, 402, 403, 409, 410, 422])
async def test_foreign_refusal(status: int, tmp_path: Path) -> None:
    """The sale that it seems to refuse is found, and recorded as done; the connection is not used again."""
    peer_gateway = Behind(status)
    ledger = SqliteLedger(tmp_path / "ledger.db")
    async with serving(peer_gateway.serve) as peer, client(peer.url, ledger=ledger, max_connections=1) as gateway:
        await fail(lambda: gateway.transactions.create(REFUSED))
        for number in range(2):
            await fail(lambda: gateway.transactions.get("missing"))
            assert (await gateway.transactions.create(TransactionCreate(**SALE))).id == f"made-{number}"
        assert await gateway.recover() == []
        entries = [entry async for entry in ledger.entries(datetime.now(UTC) - timedelta(minutes=1))]
    assert len(peer_gateway.sales) == 2
    assert [each.outcome for each in entries] == ["refused", "done", "done"]


async def test_failed_lookup() -> None:
    """The sale was executed. A refusal on a new connection is believed even then."""
    peer_gateway = Behind(422)
    async with serving(peer_gateway.serve) as peer, client(peer.url, max_connections=1) as gateway:
        peer_gateway.answers_reads = False
        with pytest.raises(ValidationError):
            await gateway.transactions.create(REFUSED)
        peer_gateway.answers_reads = True
        await fail(lambda: gateway.transactions.get("missing"))
        peer_gateway.answers_reads = False
        with pytest.raises(OutcomeUnknownError) as unknown:
            await gateway.transactions.create(TransactionCreate(**SALE))
        peer_gateway.answers_reads = True
        sale = await gateway.transactions.resolve(unknown.value)
    assert sale is not None
    assert sale.id == "made-0"
