"""`ReceiverMetrics` and `MigrationMetrics`, as OpenTelemetry's exporters receive them."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import CardVaultCreate
from gateway_async.migration import migrate_vaults
from gateway_async.postbacks import PostbackReceiver, SqliteInbox
from gateway_async.sandbox import Sandbox
from gateway_async.telemetry import MigrationMetrics, Readiness, ReceiverMetrics
from tests.postbacks.inboxes import change
from tests.postbacks.postback_requests import CARD, HEADERS, PASSWORD, USER, chunks, form, sale
from tests.support.waiting import until

from .conftest import Recorded

pytestmark = pytest.mark.anyio


def values(recorded: Recorded, prefix: str) -> dict[tuple[str, ...], float]:
    """Return the value of each data point, by the end of its name and the values of its attributes."""
    return {
        (name.removeprefix(prefix), *map(str, point.attributes.values())): point.value
        for name, point in recorded.all_points()
        if name.startswith(prefix)
    }


async def test_inbox_gauges(recorded: Recorded, tmp_path: Path) -> None:
    """The depth, what is in progress, dead or retried, and the age of the oldest."""
    now = [1000.0]
    inbox = SqliteInbox(tmp_path / "inbox.db", now=lambda: now[0])
    for record in ("dead", "claimed", "waiting"):
        await inbox.store(change(record))
    dead, _ = await inbox.claim(2, 60)
    await inbox.fail(dead, "broken", None)
    now[0] = 1030.0
    shop = PostbackReceiver(USER, PASSWORD, inbox=inbox)
    ReceiverMetrics(meter_provider=recorded.meters).record(await shop.health())
    await inbox.aclose()
    assert values(recorded, "gateway_async.inbox.") == {
        ("available",): 1,
        ("waiting",): 2,
        ("in_progress",): 1,
        ("retrying",): 0,
        ("dead",): 1,
        ("oldest",): 30.0,
    }


async def test_an_inbox_that_cannot_be_read_sets_no_other_gauge(recorded: Recorded, tmp_path: Path) -> None:
    shop = PostbackReceiver(USER, PASSWORD, inbox=SqliteInbox(tmp_path / "missing" / "inbox.db"))
    ReceiverMetrics(meter_provider=recorded.meters).record(await shop.health())
    assert values(recorded, "gateway_async.inbox.") == {("available",): 0}


async def test_result_counters(recorded: Recorded) -> None:
    """Repeated records add only what is new, and no attribute has a card number, an id or a password."""
    shop = PostbackReceiver(USER, PASSWORD)
    shop.on("transaction")(fail_for_cards)
    metrics = ReceiverMetrics(meter_provider=recorded.meters)
    for body in (form(), form(sale(description=CARD)), b"not a postback"):
        await shop.receive("POST", HEADERS, chunks(body))
        metrics.record(await shop.health())
    metrics.record(await shop.health())
    assert values(recorded, "gateway_async.postbacks.") == {
        ("responses", "204"): 1,
        ("responses", "500"): 1,
        ("responses", "400"): 1,
        ("attempts", "done"): 1,
        ("attempts", "failed"): 1,
    }


async def fail_for_cards(postback: Any) -> None:
    if "description" in postback.raw:
        raise ValueError(CARD)


async def test_a_receiver_is_watched(recorded: Recorded) -> None:
    shop = PostbackReceiver(USER, PASSWORD)
    metrics = ReceiverMetrics(meter_provider=recorded.meters)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: metrics.watch(shop, interval=0.001))
        await shop.receive("GET", {}, chunks())
        await until(lambda: ("responses", "405") in values(recorded, "gateway_async.postbacks."))
        await shop.receive("GET", {}, chunks())
        await until(lambda: values(recorded, "gateway_async.postbacks.")["responses", "405"] == 2)
        tasks.cancel_scope.cancel()


async def test_migration_counters(recorded: Recorded, sandbox: Sandbox, tmp_path: Path) -> None:
    """At the end, the counters are the numbers of the report, and nothing is in progress."""
    rows = [
        CardVaultCreate(account_number=card, exp_date="1230", account_vault_api_id=f"row-{number}")
        for number, card in enumerate([CARD, CARD, "4111111111111112"])
    ]
    metrics = MigrationMetrics(meter_provider=recorded.meters)
    async with sandbox.gateway() as gateway:
        report = await migrate_vaults(gateway, rows, journal=tmp_path / "cards.db", on_progress=metrics.record)
    found = values(recorded, "gateway_async.migration.")
    assert report.rows == 3
    assert {name[1]: count for name, count in found.items() if name[0] == "rows"} == {
        result: count for result in ("stored", "rejected", "unknown", "skipped") if (count := getattr(report, result))
    }
    assert (found["calls",], found["limit",], found["failed_attempts",]) == (0, report.limit, report.failed_attempts)


async def test_open_intents(recorded: Recorded) -> None:
    """A readiness without a ledger sets nothing."""
    recorded.observer.record_readiness(Readiness(seconds=0.1))
    assert recorded.points("gateway_async.open_intents") == []
    recorded.observer.record_readiness(Readiness(seconds=0.1, open_intent_count=3))
    assert [point.value for point in recorded.points("gateway_async.open_intents")] == [3]
