"""`Page`."""

from gateway_async.models.page import Page


def test_a_page_does_not_print_its_records() -> None:
    page = Page(records=("a", "b"), number=1, total_count=7, page_count=4)
    assert repr(page) == "Page(records=<2 records>, number=1, total_count=7, page_count=4)"


def test_collection() -> None:
    """Iterate over a page, count its records, and test whether it has any."""
    page = Page(records=("a", "b"), number=1, total_count=7, page_count=4)
    assert (list(page), len(page), bool(page)) == (["a", "b"], 2, True)
    assert not Page(records=(), number=1, total_count=0, page_count=0)
