"""Paylinks, batches and postback configs: the SDK against the sandbox."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_async import (
    ApiId,
    AsyncGateway,
    DeliveryMethod,
    NotFoundError,
    PaylinkCreate,
    PaylinkStatus,
    PaylinkUpdate,
    PostbackConfigCreate,
    PostbackConfigUpdate,
    ProductFileCreate,
    RecordDeletedError,
    TimeRange,
)
from gateway_async.sandbox import Sandbox
from tests.support.sales import sale

pytestmark = pytest.mark.anyio


async def test_paylink(gateway: AsyncGateway) -> None:
    """Create, read by both ids, list, change, send again, delete; and then it is gone."""
    links = gateway.paylinks
    made = await links.create(
        PaylinkCreate(
            amount_due=Decimal("12.50"),
            paylink_api_id="link-1",
            email="jo@example.test",
            delivery_method=DeliveryMethod.EMAIL,
            paylink_action="auth-only",
            display_billing_fields=True,
        )
    )
    assert (made.amount_due, made.status_id, made.active) == (Decimal("12.50"), PaylinkStatus.UNPAID, True)
    assert (made.delivery_method, made.paylink_action, made.display_billing_fields) == (1, "auth-only", True)
    assert (await links.get(made.id)).id == (await links.get(ApiId("link-1"))).id == made.id
    changed = await links.update(ApiId("link-1"), PaylinkUpdate(description="Shoes"))
    assert changed.description == "Shoes"
    assert [link.id async for link in links.list({"status_id": 0})] == [made.id]
    await links.resend(ApiId("link-1"))
    assert links.payment_url(made.id).endswith(f"?paylink_id={made.id}")
    await links.delete(made.id)
    with pytest.raises(RecordDeletedError):
        await links.get(made.id)


async def test_batch(gateway: AsyncGateway) -> None:
    """An open batch, found by its filters, is settled."""
    await gateway.transactions.create(sale())
    batches = gateway.transaction_batches
    (batch,) = [each async for each in batches.list({"is_open": True, "created_ts": TimeRange.TODAY})]
    assert (batch.is_open, batch.processing_status_id, batch.batch_close_ts) == (True, 1, None)
    settled = await batches.settle(batch.id)
    assert (settled.id, settled.is_open, settled.processing_status_id) == (batch.id, False, 2)
    assert settled.batch_close_ts is not None
    when = settled.batch_close_ts
    closed = batches.list({"processing_status_id": [2, 6], "batch_close_ts": TimeRange.custom(when, when)})
    assert [each.id async for each in closed] == [batch.id]


@pytest.mark.parametrize("fault", ["", "close_after_commit", "reset_before_commit"])
async def test_postback_config(gateway: AsyncGateway, sandbox: Sandbox, fault: Any) -> None:
    """A config is created, changed and deleted with flags in any spelling; lost changes are sent again."""
    configs = gateway.postback_configs
    made = await configs.create(
        PostbackConfigCreate(url="https://127.0.0.1:1/in", resource="contact", on_create=True, basic_auth_password="pw")
    )
    assert (made.on_create, made.is_active, made.number_of_attempts, made.attempt_interval) == (True, True, 1, 300)
    for method in ("PUT", "DELETE") if fault else ():
        sandbox.fault(f"{method} /v2/postbackconfigs/{{id}}", fault)
    changed = await configs.update(made.id, PostbackConfigUpdate(on_update=True, attempt_interval=5))
    assert (changed.on_update, changed.attempt_interval, changed.resource) == (True, 5, "contact")
    await configs.delete(made.id)
    with pytest.raises((NotFoundError, RecordDeletedError)):
        await configs.delete(made.id)


async def test_file_storage(gateway: AsyncGateway) -> None:
    """The gateway's record is parsed as far as it is complete."""
    made = await gateway.product_files.create(ProductFileCreate(title="Files", product_file_credential_id="c" * 24))
    assert made.title in ("Files", None)
