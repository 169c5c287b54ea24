"""The fields of a signature (contract, "Signatures"): a picture, and the record that it signs."""

import base64
from typing import Any

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, TIMESTAMP, Kind

__all__ = ["SIGNATURE"]


_PNG = b"\x89PNG\r\n\x1a\n"


def _read_picture(value: Any) -> str:
    try:
        picture = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError:
        picture = b""
    if not picture.startswith(_PNG):
        raise ValueError("must be a PNG in base64.")
    return str(value)


SIGNATURE = Table(
    "signature",
    "signatures",
    (
        Field("id", CODE, settable=NEVER),
        Field("resource_id", CODE, 1, 36, settable=ONCE, required=True),
        Field("resource", CODE, 1, 36, settable=ONCE, required=True),
        Field("signature", Kind("TEXT", _read_picture), settable=ONCE, required=True, secret=True),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("location_id", CODE, settable=NEVER, shown=False),
    ),
    filters=("created_ts", "modified_ts", "resource", "resource_id"),
)
