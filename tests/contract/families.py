"""How records of each table are made, and what trying a field takes.

A table of `rows.py` says what a field is; what stands here only makes it possible to try.
"""

from typing import Any

from . import rows
from .raw_client import BANK_ACCOUNT, VISA
from .record_type import Family, Recipe, Way
from .sample_values import (
    ACH_PRODUCT,
    BANK,
    CC_PRODUCT,
    CONTACT_ALIAS,
    CONTACT_ID,
    DL_NUMBER,
    DL_STATE,
    EMAIL,
    EXPIRY,
    LOCATION_ID,
    METHOD,
    NO_METHOD,
    NUMBER,
    PHONE,
    ROUTING,
    TERMINAL_ID,
    TRACK,
    WITH_PHONE,
    YEAR,
    fact,
    instead,
    items,
    made,
    sales_id,
    starting,
    ticket,
    track,
    vaults_id,
)

CARD = {"account_number": VISA, "exp_date": "1230"}
ACH = BANK_ACCOUNT | {"payment_method": "ach"}


def _place(desk: Any) -> dict[str, Any]:
    return {"location_id": desk.info.location_id}


def _stored(desk: Any, **source: str) -> dict[str, Any]:
    return _place(desk) | {"payment_method": "cc"} | source


def _sale(**source: str) -> dict[str, Any]:
    return {"action": "sale", "transaction_amount": "12.50"} | source


def _terminal(desk: Any) -> dict[str, Any]:
    return {"payment_method": "cc", "terminal_id": desk.info.terminal_id}


QUICK_INVOICES = Family(
    rows.QUICK_INVOICE,
    "/v2/quickinvoices",
    "QuickInvoice",
    ways=(
        Way(
            "invoice",
            "QuickInvoiceCreate",
            lambda desk: _place(desk) | {"title": "Tea", "due_date": "2030-01-31", "item_list": {"Tea": 10}},
        ),
    ),
    update="QuickInvoiceUpdate",
    recipes={
        "location_id": LOCATION_ID,
        "contact_id": CONTACT_ID,
        "contact_api_id": CONTACT_ALIAS,
        "item_list": Recipe(value=items, lengths=(7, 4000)),
        "status_id": Recipe(becomes={2: 0}),
        "email": EMAIL,
        "cell_phone": PHONE,
        "send_text_to_pay": WITH_PHONE,
        "cc_product_transaction_id": CC_PRODUCT,
        "ach_product_transaction_id": ACH_PRODUCT,
        "dl_number": DL_NUMBER,
        "dl_state": DL_STATE,
        "dob_year": YEAR,
    },
    arguments=frozenset({"files"}),
    expanded=frozenset({"payment_url"}),
    left_open=frozenset(
        {
            "quick_invoice_api_id",
            "allow_overpayment",
            "cell_phone",
            "send_text_to_pay",
            "customer_id",
            "dl_number",
            "dl_state",
            "ssn4",
            "dob_year",
        }
    ),
    worked_out=frozenset({"active", "files", "transactions"}),
)

PAYLINKS = Family(
    rows.PAYLINK,
    "/v2/paylinks",
    "Paylink",
    ways=(Way("paylink", "PaylinkCreate", lambda desk: _place(desk) | {"amount_due": 12}),),
    update="PaylinkUpdate",
    recipes={
        "location_id": LOCATION_ID,
        "contact_id": CONTACT_ID,
        "contact_api_id": CONTACT_ALIAS,
        "email": EMAIL,
        "cell_phone": PHONE,
        "delivery_method": WITH_PHONE,
        "cc_product_transaction_id": CC_PRODUCT,
        "ach_product_transaction_id": ACH_PRODUCT,
    },
    expanded=frozenset({"payment_url", "tags"}),
)

ACCOUNT_VAULTS = Family(
    rows.ACCOUNT_VAULT,
    "/v2/accountvaults",
    "AccountVault",
    ways=(
        Way("card", "CardVaultCreate", lambda desk: _place(desk) | CARD | {"payment_method": "cc"}),
        Way("bank account", "AchVaultCreate", lambda desk: _place(desk) | ACH | {"is_company": 0}, NO_METHOD),
        Way("stripe", "SwipedVaultCreate", lambda desk: _stored(desk, track_data=TRACK), instead("track_data")),
        Way("ticket", "TicketVaultCreate", lambda desk: _stored(desk, ticket=desk.ticket()), instead("ticket")),
        Way(
            "sale",
            "TransactionVaultCreate",
            lambda desk: _stored(desk, previous_transaction_id=desk.sale()["id"]),
            instead("previous_transaction_id"),
        ),
        Way(
            "copy",
            "VaultCopyCreate",
            lambda desk: _stored(desk, previous_account_vault_id=desk.vault()["id"]),
            instead("previous_account_vault_id"),
        ),
    ),
    update="AccountVaultUpdate",
    recipes={
        "location_id": LOCATION_ID,
        "contact_id": CONTACT_ID,
        "contact_api_id": CONTACT_ALIAS,
        "payment_method": METHOD,
        "account_number": NUMBER,
        "exp_date": EXPIRY,
        "account_type": BANK,
        "routing": ROUTING,
        "is_company": BANK,
        "ach_sec_code": BANK,
        "dl_number": DL_NUMBER,
        "dl_state": DL_STATE,
        "dob_year": YEAR,
        "track_data": Recipe(way="stripe", value=track, lengths=(256,)),
        "ticket": Recipe(way="ticket", value=ticket),
        "previous_transaction_id": Recipe(way="sale", value=made("sale")),
        "previous_transaction_api_id": Recipe(
            way="sale", value=sales_id, beside={"previous_transaction_id": ...}, put=False
        ),
        "previous_account_vault_id": Recipe(way="copy", value=made("vault")),
        "previous_account_vault_api_id": Recipe(
            way="copy", value=vaults_id, beside={"previous_account_vault_id": ...}, put=False
        ),
    },
    worked_out=frozenset({"expiring_in_months"}),
)

CONTACTS = Family(
    rows.CONTACT,
    "/v2/contacts",
    "Contact",
    ways=(Way("contact", "ContactCreate", lambda desk: _place(desk) | {"last_name": "Smith"}),),
    update="ContactUpdate",
    recipes={"location_id": LOCATION_ID, "email": EMAIL},
)

TRANSACTIONS = Family(
    rows.TRANSACTION,
    "/v2/transactions",
    "Transaction",
    ways=(
        Way("card", "TransactionCreate", lambda _: _sale() | CARD),
        Way("authorisation", "TransactionCreate", lambda _: _sale() | CARD | {"action": "authonly"}),
        Way(
            "bank account",
            "TransactionCreate",
            lambda _: _sale() | ACH | {"ach_sec_code": "WEB"},
            NO_METHOD,
        ),
        Way("stripe", "TransactionCreate", lambda _: _sale(track_data=TRACK), instead("track_data")),
        Way("ticket", "TransactionCreate", lambda desk: _sale(ticket=desk.ticket()), instead("ticket")),
        Way(
            "vault",
            "TransactionCreate",
            lambda desk: _sale(account_vault_id=desk.vault()["id"]),
            instead("account_vault_id"),
        ),
        Way(
            "refund",
            "TransactionCreate",
            lambda desk: {"action": "refund", "previous_transaction_id": desk.sale()["id"]},
            {
                "action": {"action", "transaction_amount"},
                "previous_transaction_id": {"previous_transaction_id", "account_number", "transaction_amount"},
            },
        ),
    ),
    update="TransactionUpdate",
    recipes={
        "location_id": LOCATION_ID,
        "contact_id": CONTACT_ID,
        "contact_api_id": CONTACT_ALIAS,
        "payment_method": METHOD,
        "action": (
            Recipe(put_values=("void", "edit")),
            Recipe(way="bank account", values=("debit", "credit"), put=False),
        ),
        "account_number": NUMBER,
        "exp_date": EXPIRY,
        "account_type": BANK,
        "routing": ROUTING,
        "ach_sec_code": BANK,
        "transaction_amount": Recipe(
            way="authorisation", put_beside={"action": "authincrement"}, put_values=("12.51", "20", "9999999.99")
        ),
        "auth_code": Recipe(lengths=(250,)),
        "cvv": Recipe(value=starting("999")),
        "tip_amount": Recipe(put_beside={"action": "tipadjust"}),
        "notification_email_address": EMAIL,
        "product_transaction_id": CC_PRODUCT,
        "account_vault_id": Recipe(way="vault", value=made("vault")),
        "account_vault_api_id": Recipe(way="vault", value=vaults_id, beside={"account_vault_id": ...}),
        "previous_transaction_id": Recipe(way="refund", value=made("sale"), beside={"transaction_amount": "1.00"}),
        "previous_transaction_api_id": Recipe(
            way="refund", value=sales_id, beside={"previous_transaction_id": ..., "transaction_amount": "1.00"}
        ),
        "track_data": Recipe(way="stripe", value=track, lengths=(256,)),
        "ticket": Recipe(way="ticket", value=ticket),
        "dl_number": DL_NUMBER,
        "dl_state": DL_STATE,
        "dob_year": YEAR,
    },
)

ROUTER_ACCOUNT_VAULTS = Family(
    rows.ROUTER_ACCOUNT_VAULT,
    "/v2/routeraccountvaults",
    ways=(
        Way(
            "card",
            "RouterAccountVaultCreate",
            lambda desk: _place(desk) | _terminal(desk) | {"action": "store", "contact_id": desk.info.contact_id},
        ),
    ),
    answer="accountvault",
    recipes={"location_id": LOCATION_ID, "contact_id": CONTACT_ID, "terminal_id": TERMINAL_ID},
)

ROUTER_TRANSACTIONS = Family(
    rows.ROUTER_TRANSACTION,
    "/v2/routertransactions",
    ways=(
        Way(
            "card",
            "RouterTransactionCreate",
            lambda desk: _terminal(desk) | {"action": "sale", "transaction_amount": "12.50"},
        ),
    ),
    recipes={
        "location_id": LOCATION_ID,
        "terminal_id": TERMINAL_ID,
        "contact_id": CONTACT_ID,
        "contact_api_id": CONTACT_ALIAS,
        "product_transaction_id": CC_PRODUCT,
    },
)

POSTBACK_CONFIGS = Family(
    rows.POSTBACK_CONFIG,
    "/v2/postbackconfigs",
    "PostbackConfig",
    ways=(
        Way(
            "of contacts",
            "PostbackConfigCreate",
            lambda desk: _place(desk) | {"resource": "contact", "url": "https://127.0.0.1/receiver"},
        ),
        Way(
            "of transactions",
            "PostbackConfigCreate",
            lambda desk: (
                _place(desk)
                | {"resource": "transaction", "url": "https://127.0.0.1/receiver"}
                | {"product_transaction_id": desk.info.cc_product_transaction_id}
            ),
        ),
    ),
    update="PostbackConfigUpdate",
    recipes={
        "location_id": LOCATION_ID,
        "resource": Recipe(way="of transactions"),
        "product_transaction_id": Recipe(way="of transactions", value=fact("cc_product_transaction_id")),
        "expands": Recipe(way="of transactions", value=lambda *_: "changelogs,tags"),
    },
)

PRODUCT_FILES = Family(
    rows.PRODUCT_FILE,
    "/v2/productfiles",
    "ProductFile",
    ways=(
        Way(
            "storage",
            "ProductFileCreate",
            lambda desk: _place(desk) | {"title": "Files", "product_file_credential_id": "c" * 24},
        ),
    ),
    recipes={"location_id": LOCATION_ID},
)

TOKEN_REQUESTS = Family(
    rows.TOKEN_REQUEST,
    "/v2/token",
    ways=(
        Way(
            "login",
            "",
            lambda desk: {name: getattr(desk.info, name) for name in ("username", "password", "domain")},
        ),
    ),
    wrapper="",
    answer="token",
    recipes={name: Recipe(value=fact(name)) for name in ("username", "password", "domain")},
)

TOKENS = Family(rows.TOKEN, record="Token")
BATCHES = Family(rows.TRANSACTION_BATCH, record="TransactionBatch")
CHANGELOGS = Family(rows.CHANGELOG)
BIN_INFOS = Family(rows.BIN_INFO, record="BinInfo")

FAMILIES = (
    QUICK_INVOICES,
    PAYLINKS,
    ACCOUNT_VAULTS,
    BIN_INFOS,
    BATCHES,
    CHANGELOGS,
    POSTBACK_CONFIGS,
    TOKEN_REQUESTS,
    TOKENS,
    ROUTER_ACCOUNT_VAULTS,
    ROUTER_TRANSACTIONS,
    PRODUCT_FILES,
    CONTACTS,
    TRANSACTIONS,
)
"""One for each table, in the order of `rows.TABLES`."""
