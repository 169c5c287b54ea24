"""The fields of a recurring (contract, "Recurrings").

The custom fields and the integrator id are those of newer gateways. A date that is not set is `0000-00-00`. While a
recurring is on hold, `held_run_date` keeps the date of its next charge.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import (
    BALANCE,
    CODE,
    DATE,
    DATE_OR_ZEROS,
    INTEGER,
    NO_DATE,
    RAW_FLAG,
    TEXT,
    TIMESTAMP,
)

__all__ = ["RECURRING"]


_CHANGE_ONLY = frozenset({"PUT"})

RECURRING = Table(
    "recurring",
    "recurrings",
    (
        Field("id", CODE, settable=NEVER),
        Field("account_vault_id", CODE, 1, 36, references="accountvaults"),
        Field("account_vault_api_id", TEXT, 1, 64, stored=False),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("interval", INTEGER, 1, 3, settable=ONCE, required=True),
        Field("interval_type", CODE, 1, 1, settable=ONCE, required=True),
        Field("start_date", DATE, settable=ONCE, required=True),
        Field("end_date", DATE_OR_ZEROS, default=NO_DATE),
        Field("next_run_date", DATE_OR_ZEROS, settable=_CHANGE_ONLY, default=NO_DATE),
        Field("transaction_amount", BALANCE, 0, 12, settable=ONCE, required=True),
        Field("installment_total_count", INTEGER, 1, 3, settable=ONCE),
        Field("installment_amount_total", BALANCE, settable=NEVER),
        Field("description", TEXT, 0, 36),
        Field("notification_days", INTEGER, 1, 2),
        Field("payment_method", CODE, 2, 3, settable=ONCE),
        Field("active", RAW_FLAG, default='"1"'),
        Field("status", CODE, settable=NEVER, default="active"),
        *read_only(recurring_type_id=CODE),
        *(Field(f"recurring_c{number}", TEXT, 0, 128) for number in (1, 2, 3)),
        Field("recurring_api_id", TEXT, 0, 64),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("created_user_id", CODE, settable=NEVER, shown=False),
        Field("held_run_date", DATE_OR_ZEROS, settable=NEVER, shown=False, default=NO_DATE),
    ),
    api_id="recurring_api_id",
    sort="next_run_date",
)
