"""The fields of device terms (contract, "Device terms"): terms that a customer accepts at a terminal.

Requests and filters have `device_terms_api_id`, and responses `device_term_api_id`.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BIT, CODE, INTEGER, TEXT, TIMESTAMP

__all__ = ["DEVICE_TERM"]


DEVICE_TERM = Table(
    "deviceterm",
    "deviceterms",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("terminal_id", CODE, 1, 36, settable=ONCE, required=True, references="terminals"),
        Field("require_signature", BIT, settable=ONCE, required=True),
        Field("terms_conditions", TEXT, 1, 4096, settable=ONCE, required=True, stored=False),
        *read_only(reason_code_id=INTEGER),
        Field("device_terms_api_id", TEXT, 0, 36, settable=ONCE, shown=False),
        Field("device_term_api_id", TEXT, settable=NEVER, stored=False, column="device_terms_api_id"),
        *read_only(created_ts=TIMESTAMP, created_user_id=CODE),
    ),
    api_id="device_terms_api_id",
    filters=(
        *("id", "location_id", "terminal_id", "device_terms_api_id", "reason_code_id"),
        *("created_ts", "created_user_id"),
    ),
)
