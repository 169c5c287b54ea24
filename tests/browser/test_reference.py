"""The API reference: an operation is found, executed and understood."""

import pytest
from playwright.async_api import Page, expect

from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

PHONE = {"viewport": {"width": 375, "height": 800}}


async def open_reference(visitor: Visitor, operation: str = "") -> Page:
    page = await visitor.open(f"/reference{operation}")
    await page.locator(".opblock-tag").first.wait_for()
    return page


async def test_operation(visitor: Visitor) -> None:
    """An operation holds a valid request; executing it shows the command, the 201 and the record."""
    page = await open_reference(visitor)
    await page.get_by_role("link", name="Contacts").click()
    await page.get_by_role("button", name="Create a contact").click()
    await page.get_by_role("button", name="Execute").click()
    response = page.locator(".live-responses-table")
    await expect(response.locator(".response-col_status").last).to_contain_text("201")
    await expect(response.locator(".response-col_description").last).to_contain_text('"last_name": "Lovelace"')
    await expect(page.locator(".curl").first).to_contain_text("curl -X 'POST'")
    assert await find_barriers(page, exclude="#reference") == []  # another project makes the viewer
    await page.emulate_media(color_scheme="dark")
    assert await find_barriers(page, exclude="#reference") == []


async def test_an_invalid_request_keeps_its_body(visitor: Visitor) -> None:
    page = await open_reference(visitor, "#/Contacts/createContact")
    body = page.locator(".body-param__text")
    await body.fill("{")
    await page.get_by_role("button", name="Execute").click()
    await expect(page.locator(".live-responses-table .response-col_status").last).to_contain_text("400")
    await expect(body).to_have_value("{")


@pytest.mark.parametrize("visitor", [PHONE], indirect=True)
@pytest.mark.parametrize("operation", ["", "#/Transactions/listTransactions"])
async def test_the_reference_fits_a_phone(visitor: Visitor, operation: str) -> None:
    page = await open_reference(visitor, operation)
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
