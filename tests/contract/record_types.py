"""How records of each table are made, and what trying a field takes.

A table of `rows.py` describes a field; this module only makes it possible to try.
"""

from typing import Any

from . import rows
from .raw_client import BANK_ACCOUNT, VISA
from .record_type import Recipe, RecordType, Way
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


def _location(raw_client: Any) -> dict[str, Any]:
    return {"location_id": raw_client.info.location_id}


def _stored(raw_client: Any, **source: str) -> dict[str, Any]:
    return _location(raw_client) | {"payment_method": "cc"} | source


def _sale(**source: str) -> dict[str, Any]:
    return {"action": "sale", "transaction_amount": "12.50"} | source


def _terminal(raw_client: Any) -> dict[str, Any]:
    return {"payment_method": "cc", "terminal_id": raw_client.info.terminal_id}


QUICK_INVOICES = RecordType(
    rows.QUICK_INVOICE,
    "/v2/quickinvoices",
    "QuickInvoice",
    ways=(
        Way(
            "invoice",
            "QuickInvoiceCreate",
            lambda raw_client: (
                _location(raw_client) | {"title": "Tea", "due_date": "2030-01-31", "item_list": {"Tea": 10}}
            ),
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
    computed=frozenset({"active", "files", "transactions"}),
)

PAYLINKS = RecordType(
    rows.PAYLINK,
    "/v2/paylinks",
    "Paylink",
    ways=(Way("paylink", "PaylinkCreate", lambda raw_client: _location(raw_client) | {"amount_due": 12}),),
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

ACCOUNT_VAULTS = RecordType(
    rows.ACCOUNT_VAULT,
    "/v2/accountvaults",
    "AccountVault",
    ways=(
        Way("card", "CardVaultCreate", lambda raw_client: _location(raw_client) | CARD | {"payment_method": "cc"}),
        Way(
            "bank account",
            "AchVaultCreate",
            lambda raw_client: _location(raw_client) | ACH | {"is_company": 0},
            NO_METHOD,
        ),
        Way(
            "stripe",
            "SwipedVaultCreate",
            lambda raw_client: _stored(raw_client, track_data=TRACK),
            instead("track_data"),
        ),
        Way(
            "ticket",
            "TicketVaultCreate",
            lambda raw_client: _stored(raw_client, ticket=raw_client.ticket()),
            instead("ticket"),
        ),
        Way(
            "sale",
            "TransactionVaultCreate",
            lambda raw_client: _stored(raw_client, previous_transaction_id=raw_client.sale()["id"]),
            instead("previous_transaction_id"),
        ),
        Way(
            "copy",
            "VaultCopyCreate",
            lambda raw_client: _stored(raw_client, previous_account_vault_id=raw_client.vault()["id"]),
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
    computed=frozenset({"expiring_in_months"}),
)

CONTACTS = RecordType(
    rows.CONTACT,
    "/v2/contacts",
    "Contact",
    ways=(Way("contact", "ContactCreate", lambda raw_client: _location(raw_client) | {"last_name": "Smith"}),),
    update="ContactUpdate",
    recipes={"location_id": LOCATION_ID, "email": EMAIL},
)

TRANSACTIONS = RecordType(
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
        Way("ticket", "TransactionCreate", lambda raw_client: _sale(ticket=raw_client.ticket()), instead("ticket")),
        Way(
            "vault",
            "TransactionCreate",
            lambda raw_client: _sale(account_vault_id=raw_client.vault()["id"]),
            instead("account_vault_id"),
        ),
        Way(
            "refund",
            "TransactionCreate",
            lambda raw_client: {"action": "refund", "previous_transaction_id": raw_client.sale()["id"]},
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

ROUTER_ACCOUNT_VAULTS = RecordType(
    rows.ROUTER_ACCOUNT_VAULT,
    "/v2/routeraccountvaults",
    ways=(
        Way(
            "card",
            "RouterAccountVaultCreate",
            lambda raw_client: (
                _location(raw_client)
                | _terminal(raw_client)
                | {"action": "store", "contact_id": raw_client.info.contact_id}
            ),
        ),
    ),
    answer="accountvault",
    recipes={"location_id": LOCATION_ID, "contact_id": CONTACT_ID, "terminal_id": TERMINAL_ID},
)

ROUTER_TRANSACTIONS = RecordType(
    rows.ROUTER_TRANSACTION,
    "/v2/routertransactions",
    ways=(
        Way(
            "card",
            "RouterTransactionCreate",
            lambda raw_client: _terminal(raw_client) | {"action": "sale", "transaction_amount": "12.50"},
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

POSTBACK_CONFIGS = RecordType(
    rows.POSTBACK_CONFIG,
    "/v2/postbackconfigs",
    "PostbackConfig",
    ways=(
        Way(
            "of contacts",
            "PostbackConfigCreate",
            lambda raw_client: _location(raw_client) | {"resource": "contact", "url": "https://127.0.0.1/receiver"},
        ),
        Way(
            "of transactions",
            "PostbackConfigCreate",
            lambda raw_client: (
                _location(raw_client)
                | {"resource": "transaction", "url": "https://127.0.0.1/receiver"}
                | {"product_transaction_id": raw_client.info.cc_product_transaction_id}
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

PRODUCT_FILES = RecordType(
    rows.PRODUCT_FILE,
    "/v2/productfiles",
    "ProductFile",
    ways=(
        Way(
            "storage",
            "ProductFileCreate",
            lambda raw_client: _location(raw_client) | {"title": "Files", "product_file_credential_id": "c" * 24},
        ),
    ),
    recipes={"location_id": LOCATION_ID},
)

TOKEN_REQUESTS = RecordType(
    rows.TOKEN_REQUEST,
    "/v2/token",
    ways=(
        Way(
            "login",
            "",
            lambda raw_client: {name: getattr(raw_client.info, name) for name in ("username", "password", "domain")},
        ),
    ),
    wrapper="",
    answer="token",
    recipes={name: Recipe(value=fact(name)) for name in ("username", "password", "domain")},
)

TOKENS = RecordType(rows.TOKEN, record="Token")
BATCHES = RecordType(rows.TRANSACTION_BATCH, record="TransactionBatch")
CHANGELOGS = RecordType(rows.CHANGELOG)
BIN_INFOS = RecordType(rows.BIN_INFO, record="BinInfo")

RECORD_TYPES = (
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
