"""The request log at a browser."""

import pytest
from playwright.async_api import expect

from gateway_async import AsyncGateway, ContactCreate, NotFoundError
from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER


async def send_write(gateway: AsyncGateway, path: str) -> None:
    """Send a write to a path that the gateway does not have."""
    with pytest.raises(NotFoundError):
        await gateway.request("POST", path, body={})


async def test_a_new_request_is_opened_and_leads_to_its_record(
    visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway
) -> None:
    page = await visitor.open("/requests")
    assert await find_barriers(page) == []
    contact = await gateway.contacts.create(ContactCreate(last_name="Smith", location_id=sandbox.info.location_id))
    await page.get_by_role("link", name="POST /v2/contacts").click()
    await expect(page.get_by_role("region", name="Body of the request")).to_contain_text('"last_name": "Smith"')
    assert await find_barriers(page) == []
    await page.get_by_role("link", name=contact.id).click()
    await expect(page.get_by_role("heading", name=contact.id)).to_be_visible()


async def test_a_filter_and_the_focus_survive_new_requests(visitor: Visitor, gateway: AsyncGateway) -> None:
    page = await visitor.open("/requests")
    await page.get_by_role("link", name="Writes").click()
    await expect(page.get_by_role("link", name="Writes")).to_have_attribute("aria-current", "true")
    await gateway.contacts.list()
    await expect(page.get_by_text("No request in the log matches this filter.")).to_be_visible()
    await send_write(gateway, "/v2/unknown")
    link = page.get_by_role("link", name="POST /v2/unknown")
    await link.focus()
    await send_write(gateway, "/v2/another")
    await expect(page.get_by_role("link", name="POST /v2/another")).to_be_visible()
    await expect(link).to_be_focused()
    await expect(page.get_by_text("GET /v2/contacts")).to_have_count(0)


@pytest.mark.parametrize(
    "visitor", [{"viewport": {"width": 375, "height": 800}, "color_scheme": "dark"}], indirect=True
)
async def test_phone_width(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """On a phone, no page of the dashboard scrolls sideways."""
    contact = await gateway.contacts.create(
        ContactCreate(last_name="Smith" * 10, location_id=sandbox.info.location_id, contact_api_id="x" * 64)
    )
    await send_write(gateway, f"/v2/{'long' * 30}")
    pages = ["/", "/requests", "/requests/1", "/requests/2", "/records", "/records/contacts"]
    page = await visitor.open()
    for path in [*pages, f"/records/contacts/{contact.id}", "/ledger", "/batches"]:
        await page.goto(sandbox.base_url + path)
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert (path, await page.evaluate(overflow)) == (path, 0)
        assert await find_barriers(page) == []
