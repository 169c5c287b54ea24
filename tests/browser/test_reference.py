"""The API reference: an operation is found, sent and understood."""

import pytest
from playwright.async_api import expect

from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

PHONE = {"viewport": {"width": 375, "height": 800}}


async def test_a_contact_is_created_from_the_reference(visitor: Visitor) -> None:
    """The form of an operation holds a valid request; sending it shows the 201 and the record."""
    page = await visitor.open("/reference")
    assert await find_barriers(page) == []
    await page.get_by_label("Search").fill("create contact")
    await page.keyboard.press("Enter")
    await page.get_by_role("link", name="Create a contact").click()
    assert await find_barriers(page) == []
    await page.get_by_role("button", name="Send POST").click()
    await expect(page.get_by_role("status")).to_contain_text("201")
    await expect(page.get_by_role("region", name="Body of the response")).to_contain_text('"last_name": "Lovelace"')
    assert await find_barriers(page) == []


async def test_an_invalid_request_keeps_its_body(visitor: Visitor) -> None:
    """After a 400 the form still has what was typed."""
    page = await visitor.open("/reference/createContact")
    await page.get_by_label("Body", exact=True).fill("{")
    await page.get_by_role("button", name="Send POST").click()
    await expect(page.get_by_role("status")).to_contain_text("400")
    await expect(page.get_by_label("Body", exact=True)).to_have_value("{")


@pytest.mark.parametrize("visitor", [PHONE], indirect=True)
@pytest.mark.parametrize("path", ["/reference", "/reference/listTransactions", "/reference/attachFileToQuickInvoice"])
async def test_the_reference_fits_a_phone(visitor: Visitor, path: str) -> None:
    """No page of the reference is wider than a phone, and axe finds nothing."""
    page = await visitor.open(path)
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["viewport"]["width"]
    assert await find_barriers(page) == []
