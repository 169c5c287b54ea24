"""Catching up: which records are listed, which postbacks they become, and failures of handlers."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import (
    AccountVaultUpdate,
    AsyncGateway,
    CardVaultCreate,
    Contact,
    ContactCreate,
    ContactUpdate,
    InvalidRequestError,
    MalformedReplyError,
    TransactionCreate,
)
from gateway_async._wire.json_text import decode
from gateway_async._wire.postback import RECORDS
from gateway_async._wire.rows import structure
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import CatchUpResult, InboxError, PostbackReceiver
from gateway_async.postbacks.missed import catch_up, raw_of
from gateway_async.sandbox import Sandbox

SAMPLES = Path(__file__).parents[1] / "samples"
LISTS = {
    "contact": ("contact-list-response", "contacts"),
    "accountvault": ("accountvault-list-response", "accountvaults"),
    "transaction": ("transaction-list-response", "transactions"),
    "transactionbatch": ("transactionbatch-list-response", "transactionbatches"),
}
SALE = TransactionCreate(action="sale", account_number="4111111111111111", exp_date="0930", transaction_amount="12.50")
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930")

pytestmark = pytest.mark.anyio

Accept = Callable[[Postback[Any]], Awaitable[bool]]


def now(sandbox: Sandbox) -> datetime:
    """Return the time of the gateway's clock, in whole seconds."""
    return datetime.fromtimestamp(int(sandbox.now()), UTC)


def collector(into: list[Postback[Any]], new: bool = True) -> Accept:
    """Takes postbacks into a list."""

    async def accept(postback: Postback[Any]) -> bool:
        into.append(postback)
        return new

    return accept


async def listed(
    gateway: AsyncGateway, since: datetime, resource: str | None, *, stored: bool = False
) -> tuple[CatchUpResult, list[Postback[Any]]]:
    """Catch up on a resource; the result, and the postbacks that were passed on."""
    found: list[Postback[Any]] = []
    return await catch_up(gateway, since, [resource], collector(found), stored=stored), found


def received(postbacks: list[Postback[Any]]) -> list[tuple[str, str, str]]:
    """Type, resource and id of each."""
    return [(postback.type, postback.resource, postback.record_id) for postback in postbacks]


@pytest.mark.parametrize("resource", LISTS)
def test_raw(resource: str) -> None:
    """`.raw` is JSON without links, and parses to the record that was listed."""
    sample, plural = LISTS[resource]
    for row in decode((SAMPLES / f"{sample}.json").read_bytes())[plural]:
        raw = raw_of(structure(RECORDS[resource], row))
        row.pop("_links", None)
        assert "_links" not in raw
        assert structure(RECORDS[resource], raw) == structure(RECORDS[resource], row)
        assert {type(value) for value in raw.values()} <= {type(None), bool, int, str, dict, list}


def test_amounts() -> None:
    """Amounts have two decimals at least, and every digit of what has more."""
    amounts = {"5": "5.00", "12.5": "12.50", "0.125": "0.125", "1e3": "1000.00"}
    for given, written in amounts.items():
        contact = structure(Contact, decode(b'{"id": "c", "contact_balance": %s}' % given.encode()))
        assert raw_of(contact)["contact_balance"] == written


def test_unknown_fields() -> None:
    """Unknown fields are written as they were listed, also sealed ones: `.raw` is what the gateway would send."""
    unknown = {"ssn": "078051120", "pin": 1234, "user": {"user_api_key": "k", "list": [{"cvv": "987"}, "x"]}}
    raw = raw_of(structure(Contact, {"id": "c", **unknown}))
    assert {name: raw[name] for name in unknown} == unknown


async def test_new_record(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A missed record becomes a CREATE with its fields as JSON, marked as caught_up."""
    start = now(sandbox)
    sale = await gateway.transactions.create(SALE)
    result, found = await listed(gateway, start, "transaction")
    assert result == CatchUpResult(1, 1)
    (postback,) = found
    assert (postback.type, postback.resource, postback.caught_up) == ("CREATE", "transaction", True)
    assert (postback.record_id, postback.modified_ts) == (sale.id, sale.created_ts)
    assert postback.record.transaction_amount == sale.transaction_amount
    assert postback.raw["transaction_amount"] == "12.50"
    assert postback.number_of_attempts is None


async def test_early_change(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A change in the second of a record's making is told by its content: it is an UPDATE of the same age, too."""
    start = now(sandbox)
    sale = await gateway.transactions.create(SALE)
    result, found = await listed(gateway, start, "transaction", stored=True)
    assert result == CatchUpResult(1, 1)
    at = sale.created_ts
    assert [(each.type, each.modified_ts) for each in found] == [("CREATE", at), ("UPDATE", at)]


async def test_changed_record(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """CREATE is as old as the record, then UPDATE as old as the change; an older record comes as UPDATE only."""
    old = await gateway.contacts.create(ContactCreate(last_name="Old"))
    still = await gateway.contacts.create(ContactCreate(last_name="Still"))
    sandbox.advance(60)
    start = now(sandbox)
    new = await gateway.contacts.create(ContactCreate(last_name="New"))
    sandbox.advance(60)
    await gateway.contacts.update(old.id, ContactUpdate(first_name="Ada"))
    await gateway.contacts.update(new.id, ContactUpdate(first_name="Ben"))
    result, found = await listed(gateway, start, "contact")
    assert result == CatchUpResult(checked=2, missed=2)
    assert received(found) == [
        ("UPDATE", "contact", old.id),
        ("CREATE", "contact", new.id),
        ("UPDATE", "contact", new.id),
    ]
    assert [postback.modified_ts for postback in found[1:]] == [new.created_ts, now(sandbox)]
    assert {postback.record.first_name for postback in found} == {"Ada", "Ben"}
    assert still.id not in {postback.record_id for postback in found}


async def test_batches(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A batch closed since then is an UPDATE as old as its closing; one made since then comes once."""
    await gateway.transactions.create(SALE)
    closed = await gateway.transaction_batches.list({"is_open": True}).first()
    assert closed
    sandbox.advance(60)
    start = now(sandbox)
    closed = await gateway.transaction_batches.settle(closed.id)
    sandbox.advance(60)
    await gateway.transactions.create(SALE)
    opened = await gateway.transaction_batches.list({"is_open": True}).first()
    assert opened
    opened = await gateway.transaction_batches.settle(opened.id)
    changes = [("CREATE", opened.id), ("UPDATE", closed.id)]
    if opened.batch_close_ts != opened.created_ts:  # a new second began in between, so its closing is a change
        changes.insert(1, ("UPDATE", opened.id))
    result, found = await listed(gateway, start, "transactionbatch")
    assert result == CatchUpResult(checked=2, missed=len(changes))
    assert received(found) == [(change, "transactionbatch", record_id) for change, record_id in changes]
    assert found[-1].modified_ts == closed.batch_close_ts


async def test_known_postbacks(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A record whose postbacks were all known is checked and not missed."""
    await gateway.contacts.create(ContactCreate(last_name="Known"))
    result = await catch_up(gateway, now(sandbox) - timedelta(1), ["contact"], collector([], new=False), stored=True)
    assert result == CatchUpResult(checked=2, missed=0)  # the sandbox's own contact is the other


async def test_clock_ahead(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Records dated in this computer's future are found."""
    start = now(sandbox)
    sandbox.advance(40 * 24 * 3600)
    vault = await gateway.account_vaults.create(CARD)
    _, found = await listed(gateway, start, "accountvault")
    assert received(found) == [("CREATE", "accountvault", vault.id)]


async def test_moving_pages(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Records changed between two pages come once each, and so do all the others."""
    sandbox.add_vaults(2500)
    found: list[Postback[Any]] = []
    collect = collector(found)

    async def accept(postback: Postback[Any]) -> bool:
        if len(found) in (0, 1000, 2000):
            sandbox.advance(5)
            await gateway.contacts.update(sandbox.contact_id, ContactUpdate(first_name=str(len(found))))
            await gateway.account_vaults.update(postback.record_id, AccountVaultUpdate(title="changed meanwhile"))
        return await collect(postback)

    result = await catch_up(gateway, now(sandbox) - timedelta(1), ["accountvault"], accept, stored=False)
    ids = [postback.record_id for postback in found if postback.type == "CREATE"]
    assert (result.checked, len(ids), len(set(ids))) == (2500, 2500, 2500)


async def test_chunks(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """An inbox gets some hundreds at a time, so that it can write them together and memory stays bounded."""
    sandbox.add_vaults(1500)
    under_way = most = 0

    async def accept(postback: Postback[Any]) -> bool:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        under_way -= 1
        return True

    result = await catch_up(gateway, now(sandbox) - timedelta(1), ["accountvault"], accept, stored=True)
    assert (result.checked, most) == (1500, 250)


async def test_without_an_inbox_handlers_run_one_after_the_other(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    sandbox.add_vaults(20)
    under_way: set[str] = set()

    async def accept(postback: Postback[Any]) -> bool:
        assert not under_way
        under_way.add(postback.record_id)
        await anyio.lowlevel.checkpoint()
        under_way.clear()
        return True

    assert await catch_up(gateway, now(sandbox) - timedelta(1), [None], accept, stored=False) == CatchUpResult(21, 21)


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        (datetime(2026, 1, 1), "since: must be an aware datetime (with a tzinfo)"),  # noqa: DTZ001
        ("2026-01-01", "since: must be an aware datetime (with a tzinfo)"),
        (datetime(2100, 1, 1, tzinfo=UTC), "since: must lie before the year 2100"),
    ],
)
async def test_since(gateway: AsyncGateway, since: Any, reason: str) -> None:
    """A `since` that names no moment is refused; nothing was listed, and no handler was called."""
    receiver = PostbackReceiver(allow_unauthenticated=True)
    with pytest.raises(InvalidRequestError) as refused:
        await receiver.catch_up(gateway, since=since)
    assert refused.value.problems == (reason,)


async def test_failing_handler(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """All handlers are called, and all failures are raised at the end."""
    sandbox.add_vaults(5)
    receiver = PostbackReceiver(allow_unauthenticated=True)
    heard: list[str] = []

    @receiver.on("accountvault")
    async def handle(postback: Postback[Any]) -> None:
        heard.append(postback.record_id)
        if len(heard) % 2:
            raise ValueError(str(len(heard)))

    with pytest.raises(ExceptionGroup) as failed:
        await receiver.catch_up(gateway, since=now(sandbox) - timedelta(1))
    assert len(heard) == 5
    assert [str(error) for error in failed.value.exceptions] == ["1", "3", "5"]


async def test_failing_handlers(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """After a hundred failures in a row, the catching up ends: it is not the postbacks that are to blame."""
    sandbox.add_vaults(300)
    heard: list[str] = []

    async def accept(postback: Postback[Any]) -> bool:
        heard.append(postback.record_id)
        raise ValueError

    with pytest.raises(ExceptionGroup) as failed:
        await catch_up(gateway, now(sandbox) - timedelta(1), ["accountvault"], accept, stored=False)
    assert (len(heard), len(failed.value.exceptions)) == (100, 100)


async def test_failing_inbox(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """The inbox's error ends the catching up and is raised as it is, out of any group."""
    sandbox.add_vaults(300)

    async def accept(postback: Postback[Any]) -> bool:
        raise InboxError("inbox.db", "the disk is full")

    with pytest.raises(InboxError, match="the disk is full"):
        await catch_up(gateway, now(sandbox) - timedelta(1), ["accountvault"], accept, stored=True)


async def test_failing_list(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Changes that were passed on before are kept; the error is the list's own."""
    sandbox.fault("GET /v2/transactions", "garbage", times=100)
    found: list[Postback[Any]] = []
    with pytest.raises(MalformedReplyError):
        await catch_up(gateway, now(sandbox) - timedelta(1), [None], collector(found), stored=False)
    assert received(found) == [("CREATE", "contact", sandbox.contact_id)]


@pytest.mark.parametrize("resource", ["contact", "accountvault", None])
async def test_only_resources_with_handlers_are_listed(
    gateway: AsyncGateway, sandbox: Sandbox, resource: str | None
) -> None:
    sandbox.add_vaults(1)
    receiver = PostbackReceiver(allow_unauthenticated=True)
    heard: list[str] = []

    @receiver.on(resource)
    async def handle(postback: Postback[Any]) -> None:
        heard.append(postback.resource)

    result = await receiver.catch_up(gateway, since=now(sandbox) - timedelta(1))
    assert heard == (["contact", "accountvault"] if resource is None else [resource])
    assert result == CatchUpResult(len(heard), len(heard))


async def test_without_handlers_nothing_is_listed(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    result = await PostbackReceiver(allow_unauthenticated=True).catch_up(gateway, since=now(sandbox) - timedelta(1))
    assert result == CatchUpResult(0, 0)
