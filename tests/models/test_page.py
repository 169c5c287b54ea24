"""`Page`."""

from gateway_async.models.page import Page


def test_a_page_does_not_print_its_records() -> None:
    """A repr says how many records there are instead of showing five thousand."""
    page = Page(records=("a", "b"), number=1, total_count=7, page_count=4)
    assert repr(page) == "Page(records=<2 records>, number=1, total_count=7, page_count=4)"
