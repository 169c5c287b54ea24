"""Answers that the contract does not show."""

from typing import Any

import pytest

from gateway_async._wire.convert import FieldError
from gateway_async._wire.unshown import read_unshown
from gateway_async.models.files import QuickInvoiceFile


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"file": {"id": "f"}}, QuickInvoiceFile(id="f")),
        ({"other": {"id": "f"}}, QuickInvoiceFile(extra={"other": {"id": "f"}})),
        ({"id": "f", "size": 5}, QuickInvoiceFile(id="f", extra={"size": 5})),
        ({"file": "f"}, QuickInvoiceFile(extra={"file": "f"})),
        ({}, QuickInvoiceFile()),
        (None, None),
        ([{"id": "f"}], None),
        ("f", None),
    ],
)
def test_an_answer_is_read_as_far_as_it_goes(content: Any, found: QuickInvoiceFile | None) -> None:
    """In a known wrapper or in none; what is no object says nothing."""
    assert read_unshown(QuickInvoiceFile, ("file",), content) == found


def test_what_does_not_fit_is_still_a_problem() -> None:
    """A field that the model has must be of its type."""
    with pytest.raises(FieldError, match="id: not a text"):
        read_unshown(QuickInvoiceFile, ("file",), {"id": []})
