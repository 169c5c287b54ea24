"""The fields of an account vault.

A further table has the fields of the request that fills a vault at a terminal. The fields follow the contract's
"Account vault". The account number, the track data and the routing number serve to create the vault and are not stored.
Of a card, only the brand, the first six and the last four digits are stored.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, FLAG, HIDDEN_CODE, INTEGER, TEXT, TIMESTAMP

__all__ = ["ACCOUNT_VAULT", "ROUTER_ACCOUNT_VAULT"]


_MONTHS_LEFT = "max(0, (2000 + substr(exp_date, 3, 2) - {year}) * 12 + substr(exp_date, 1, 2) - {month})"

ACCOUNT_VAULT = Table(
    "accountvault",
    "accountvaults",
    (
        Field("id", CODE, settable=NEVER),
        Field("payment_method", CODE, 2, 3, settable=ONCE, required=True),
        Field("title", TEXT, 1, 64),
        Field("account_holder_name", TEXT, 1, 60),
        *read_only(first_six=CODE, last_four=CODE),
        Field("billing_address", TEXT, 1, 32),
        Field("billing_zip", TEXT, 4, 12),
        Field("exp_date", CODE, 4, 4),
        Field("routing", HIDDEN_CODE, 9, 9, settable=ONCE, secret=True),
        Field("account_type", CODE, 1, 32),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("contact_id", CODE, 1, 36, references="contacts"),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("account_vault_api_id", TEXT, 0, 36),
        Field("dl_number", TEXT, 1, 50, secret=True),
        Field("dl_state", TEXT, 2, 2),
        Field("customer_id", TEXT, 1, 50),
        Field("ssn4", CODE, 4, 4, secret=True),
        Field("dob_year", CODE, 4, 4, secret=True),
        Field("billing_state", TEXT, 2, 26),
        Field("billing_city", TEXT, 1, 36),
        Field("billing_phone", TEXT, 1, 10),
        *(Field(f"accountvault_c{number}", TEXT, 0, 128) for number in (1, 2, 3)),
        Field("expiring_in_months", INTEGER, settable=NEVER, stored=False, column=_MONTHS_LEFT),
        Field("has_recurring", FLAG, settable=NEVER, default=0),
        Field("ach_sec_code", CODE, 3, 3),
        Field("is_company", FLAG),
        Field("terms_agree", INTEGER, 1, 1),
        Field("terms_agree_ip", TEXT, 0, 15),
        Field("active", INTEGER, settable=NEVER, default=1),
        Field("created_user_id", CODE, settable=NEVER),
        *read_only(cau_summary_status_id=INTEGER, cau_last_updated_ts=TIMESTAMP),
        Field("locale", CODE, 5, 5, settable=ONCE, stored=False),
        Field("contact_api_id", TEXT, 1, 64, stored=False),
        Field("account_number", CODE, 4, 19, settable=ONCE, stored=False, secret=True),
        Field("track_data", CODE, 1, 256, settable=ONCE, stored=False, secret=True),
        Field("ticket", CODE, 1, 36, settable=ONCE, stored=False, secret=True),
        Field("previous_transaction_id", CODE, 1, 36, settable=ONCE, stored=False),
        Field("previous_transaction_api_id", TEXT, 1, 64, settable=ONCE, stored=False),
        Field("previous_account_vault_id", CODE, 1, 36, settable=ONCE, stored=False),
        Field("previous_account_vault_api_id", TEXT, 1, 64, settable=ONCE, stored=False),
        Field("run_avs", FLAG, settable=ONCE, stored=False),
    ),
    api_id="account_vault_api_id",
)

ROUTER_ACCOUNT_VAULT = Table(
    "routeraccountvault",
    "routeraccountvaults",
    (
        Field("payment_method", CODE, 2, 3, required=True),
        Field("action", CODE, 1, 16, required=True),
        Field("location_id", CODE, 1, 36, required=True, references="locations"),
        Field("contact_id", CODE, 1, 36, required=True, references="contacts"),
        Field("terminal_id", CODE, 1, 36, required=True, references="terminals"),
    ),
)
