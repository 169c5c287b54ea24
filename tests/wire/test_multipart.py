"""Multipart bodies: their names and values, and what they cannot contain."""

import io
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateway_async._secrets import Secret
from gateway_async._wire.multipart import MAX_FILE_BYTES, attachment_problems, file_problems, form_of, name_problems
from gateway_async._wire.request import RequestDefaults
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment
from gateway_async.models.quick_invoices import QuickInvoiceCreate
from gateway_async.resources.quick_invoices import QUICK_INVOICE

DEFAULTS = RequestDefaults(location_id="loc", check_limits=True, new_id=lambda: "made-up")
FILE = Attachment("a.pdf", b"%PDF")


def invoice(**fields: Any) -> QuickInvoiceCreate:
    given: dict[str, Any] = {"title": "Lunch", "due_date": date(2026, 12, 1), "item_list": {"Tea": "2.50"}}
    return QuickInvoiceCreate(**{**given, **fields})


def flattened(content: Mapping[str, Any]) -> dict[str, str | Secret]:
    return dict(form_of("quickinvoice", content, ()).fields)


def test_extra_values() -> None:
    """Flatten every JSON value; omit null."""
    content = {"extra": {"a": [True, None, {"b": Decimal("1E+1")}], "c": date(2026, 1, 2)}, "empty": {}, "n": -5}
    assert flattened(content) == {
        "quickinvoice[extra][a][0]": "1",
        "quickinvoice[extra][a][2][b]": "10",
        "quickinvoice[extra][c]": "2026-01-02",
        "quickinvoice[n]": "-5",
    }


@pytest.mark.parametrize("name", ["Tea[1]", "a]", "[", 'say "tea"', "a\\b", "a\r\nb", "\x00"])
def test_unfit_names(name: str) -> None:
    """Brackets, quotes, backslashes and controls would be read back as something else; JSON takes them."""
    new = invoice(item_list={name: 1, "Tea": 1}, extra={"deep": [{name: 1}]})
    assert [line.split(": ")[1] for line in name_problems(new)] == ["cannot be sent with files"] * 2
    assert QUICK_INVOICE.create(new, DEFAULTS).request.form is None
    with pytest.raises(InvalidRequestError, match=r"(?s)item_list\..*: cannot be sent with files"):
        QUICK_INVOICE.create(new, DEFAULTS, files=[FILE])


@pytest.mark.parametrize("name", ["Tea", "Crème brûlée", "a.b", "1", "50% off; today", "'quoted'"])
def test_all_other_names_fit_into_a_form(name: str) -> None:
    assert list(name_problems(invoice(item_list={name: 1}))) == []


def test_fifth_file() -> None:
    """A fifth is refused before anything is sent, unless limits are left to the gateway."""
    assert list(attachment_problems([FILE] * 4)) == []
    assert list(attachment_problems([FILE] * 5)) == ["files: at most 4 can be attached, not 5"]
    assert list(attachment_problems([FILE] * 5, limits=False)) == []


def test_a_file_has_at_most_five_mebibytes() -> None:
    assert MAX_FILE_BYTES == 5_242_880


@pytest.mark.parametrize("files", [FILE, "a.pdf", b"%PDF", {"a.pdf": b""}, None, iter([FILE])])
def test_single_attachment(files: Any) -> None:
    """Reject a single attachment that is not in a sequence."""
    assert list(attachment_problems(files)) == ["files: must be a sequence of Attachment"]


NO_NAMES: list[Any] = ["", 5, "\ud800"]
NO_CONTENTS: list[Any] = [5, bytearray(b"")]
WRONG: list[tuple[Any, str]] = [
    ("a.pdf", "must be an Attachment, not str"),
    *((Attachment(name, b""), "filename must be text, and not empty") for name in NO_NAMES),
    *(
        (Attachment("a", b"", kind), 'content_type must be a media type, such as "application/pdf"')
        for kind in ("text", "text/plain\r\nx: y")
    ),
    *(
        (
            Attachment("a", no),
            f"content must be bytes, a path or a file opened for reading bytes, not {type(no).__name__}",
        )
        for no in NO_CONTENTS
    ),
]


@pytest.mark.parametrize(("attachment", "problem"), WRONG)
def test_attachment_errors(attachment: Any, problem: str) -> None:
    """Each problem names the place of its file."""
    assert list(attachment_problems([FILE, attachment])) == [f"files[1]: {problem}"]


@pytest.mark.parametrize("content", [b"", Path("a"), io.BytesIO(b"")])
def test_attachments(content: Any) -> None:
    """Bytes, a path or an open file; whether it can be read is found out later."""
    assert list(file_problems(Attachment("a", content, "text/plain; charset=utf-8"))) == []


def test_problems_of_the_request_and_of_its_files_come_together() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        QUICK_INVOICE.create(invoice(title="", item_list={"a[": 1}), DEFAULTS, files=[FILE] * 5)
    assert [line.split(":")[0] for line in refused.value.problems] == ["title", "files", "item_list.a["]
    call = QUICK_INVOICE.create(invoice(), DEFAULTS.with_options(None, False), files=[FILE] * 5)
    assert (call.request.body, call.request.form is None) == (None, False)
    assert QUICK_INVOICE.create(invoice(item_list={"a[": 1}), DEFAULTS, files=[]).request.form is None


def test_a_form_does_not_show_its_content() -> None:
    call = QUICK_INVOICE.create(invoice(ssn4="8264"), DEFAULTS, files=[FILE])
    assert "8264" not in repr(call.request.form)
    assert "PDF" not in repr(call.request.form)
