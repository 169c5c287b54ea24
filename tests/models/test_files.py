"""Attachments: what they show of themselves."""

import io
from pathlib import Path

import pytest

from gateway_async.models.files import Attachment


@pytest.mark.parametrize(
    ("content", "kind"), [(b"secret bytes", "bytes"), (Path("a/b.pdf"), "path"), (io.BytesIO(b"secret bytes"), "file")]
)
def test_attachment_repr(content: object, kind: str) -> None:
    """The filename, and whether it is bytes, a path or a file."""
    assert repr(Attachment("receipt.pdf", content)) == f"Attachment('receipt.pdf', <{kind}>)"  # type: ignore[arg-type]


def test_a_card_number_in_a_filename_is_masked() -> None:
    assert "4111111111111111" not in repr(Attachment("4111111111111111.pdf", b""))
