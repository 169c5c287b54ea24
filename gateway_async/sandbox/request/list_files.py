"""A list as a file of comma-separated or tab-separated values; its first line has the names of the columns."""

import csv
from collections.abc import Iterable
from io import StringIO
from typing import Any

from msgspec import Raw
from starlette.responses import Response

from gateway_async.sandbox.http.errors import RefusedFieldsError

__all__ = ["make_file"]


_DELIMITERS = {"csv": ",", "tsv": "\t"}
_CONTENT_TYPES = {"csv": "text/csv", "tsv": "text/tab-separated-values"}


def make_file(columns: Iterable[str], rows: Iterable[Iterable[Any]], name: str) -> Response:
    """Return rows as a `csv` or `tsv` file.

    Raises:
        ValidationError: The format is unknown.
    """
    if name not in _DELIMITERS:
        raise RefusedFieldsError({"_format": [f"Format must be one of {', '.join(_DELIMITERS)}."]})
    text = StringIO()
    writer = csv.writer(text, delimiter=_DELIMITERS[name], lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_cell, row) for row in rows)
    return Response(text.getvalue(), media_type=f"{_CONTENT_TYPES[name]}; charset=utf-8")


def _cell(value: Any) -> Any:
    return bytes(value).decode() if isinstance(value, Raw) else value
