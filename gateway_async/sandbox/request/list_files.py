"""A list as a file: comma-separated or tab-separated values, with the names of the fields in the first line."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from msgspec import Raw
from starlette.responses import Response

from gateway_async.sandbox.http.errors import ValidationError
from gateway_async.sandbox.schema.fields import Row, Table

__all__ = ["make_file"]


_DELIMITERS = {"csv": ",", "tsv": "\t"}
_CONTENT_TYPES = {"csv": "text/csv", "tsv": "text/tab-separated-values"}


def make_file(table: Table, rows: Sequence[Row], name: str) -> Response:
    """Return a page of records as a `csv` or `tsv` file.

    Raises:
        ValidationError: The format is unknown.
    """
    if name not in _DELIMITERS:
        raise ValidationError({"_format": [f"Format must be one of {', '.join(_DELIMITERS)}."]})
    text = StringIO()
    writer = csv.writer(text, delimiter=_DELIMITERS[name], lineterminator="\n")
    writer.writerow(table.shown)
    writer.writerows([_cell(value) for value in table.show(row).values()] for row in rows)
    return Response(text.getvalue(), media_type=f"{_CONTENT_TYPES[name]}; charset=utf-8")


def _cell(value: Any) -> Any:
    return bytes(value).decode() if isinstance(value, Raw) else value
