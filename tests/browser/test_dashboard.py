"""The dashboard: what programs did is seen while it happens."""

from playwright.async_api import expect

from gateway_async import AsyncGateway
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER


async def test_a_request_is_seen_at_once(visitor: Visitor, gateway: AsyncGateway) -> None:
    """The log of an open page shows a request that is made later."""
    page = await visitor.open()
    await expect(page.get_by_text("No program has sent a request yet.")).to_be_visible()
    await gateway.contacts.list()
    await expect(page.get_by_text("GET /v2/contacts")).to_be_visible()
    assert await find_barriers(page) == []
