"""How records of each table are made, and what trying a field takes.

A table of `rows.py` describes a field; this module only makes it possible to try.
"""

from collections.abc import Callable
from typing import Any

from . import rows
from .calls import RECEIVER
from .raw_client import BANK_ACCOUNT, VISA
from .record_type import Body, Recipe, RecordType, Way
from .sample_values import (
    ACCOUNT_FIELDS,
    NO_METHOD,
    SHARED,
    TRACK,
    WITH_PHONE,
    address,
    fact,
    instead,
    items,
    made,
    sales_id,
    starting,
    vaults_id,
)

CARD = {"account_number": VISA, "exp_date": "1230"}
ACH = BANK_ACCOUNT | {"payment_method": "ach"}


def _at_location(**fields: Any) -> Body:
    return lambda raw_client: {"location_id": raw_client.info.location_id} | fields


def _stored(source: str, value: Callable[[Any], str]) -> Body:
    return lambda raw_client: _at_location(payment_method="cc")(raw_client) | {source: value(raw_client)}


def _sale(**source: str) -> dict[str, Any]:
    return {"action": "sale", "transaction_amount": "12.50"} | source


def _terminal(raw_client: Any) -> dict[str, Any]:
    return {"payment_method": "cc", "terminal_id": raw_client.info.terminal_id}


QUICK_INVOICES = RecordType(
    rows.QUICK_INVOICE,
    "/v2/quickinvoices",
    "QuickInvoice",
    ways=(
        Way("invoice", "QuickInvoiceCreate", _at_location(title="Tea", due_date="2030-01-31", item_list={"Tea": 10})),
    ),
    update="QuickInvoiceUpdate",
    recipes={
        **SHARED,
        "item_list": Recipe(value=items, lengths=(7, 4000)),
        "status_id": Recipe(becomes={2: 0}),
        "send_text_to_pay": WITH_PHONE,
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
    ways=(Way("paylink", "PaylinkCreate", _at_location(amount_due=12)),),
    update="PaylinkUpdate",
    recipes={
        **SHARED,
        "delivery_method": WITH_PHONE,
    },
    expanded=frozenset({"payment_url", "tags"}),
)

ACCOUNT_VAULTS = RecordType(
    rows.ACCOUNT_VAULT,
    "/v2/accountvaults",
    "AccountVault",
    ways=(
        Way("card", "CardVaultCreate", _at_location(**CARD, payment_method="cc")),
        Way("bank account", "AchVaultCreate", _at_location(**ACH, is_company=0), NO_METHOD),
        Way("stripe", "SwipedVaultCreate", _at_location(payment_method="cc", track_data=TRACK), instead("track_data")),
        Way(
            "ticket", "TicketVaultCreate", _stored("ticket", lambda raw_client: raw_client.ticket()), instead("ticket")
        ),
        Way(
            "sale",
            "TransactionVaultCreate",
            _stored("previous_transaction_id", lambda raw_client: raw_client.sale()["id"]),
            instead("previous_transaction_id"),
        ),
        Way(
            "copy",
            "VaultCopyCreate",
            _stored("previous_account_vault_id", lambda raw_client: raw_client.vault()["id"]),
            instead("previous_account_vault_id"),
        ),
    ),
    update="AccountVaultUpdate",
    recipes={
        **ACCOUNT_FIELDS,
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
    ways=(Way("contact", "ContactCreate", _at_location(last_name="Smith")),),
    update="ContactUpdate",
    recipes={**SHARED, "contact_api_id": Recipe(), "cell_phone": Recipe()},
)

TRANSACTIONS = RecordType(
    rows.TRANSACTION,
    "/v2/transactions",
    "Transaction",
    ways=(
        Way("card", "TransactionCreate", lambda _: _sale() | CARD),
        Way("authorisation", "TransactionCreate", lambda _: _sale() | CARD | {"action": "authonly"}),
        Way("bank account", "TransactionCreate", lambda _: _sale() | ACH | {"ach_sec_code": "WEB"}, NO_METHOD),
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
        **ACCOUNT_FIELDS,
        "action": (
            Recipe(put_values=("void", "edit")),
            Recipe(way="bank account", values=("debit", "credit"), put=False),
        ),
        "transaction_amount": Recipe(
            way="authorisation", put_beside={"action": "authincrement"}, put_values=("12.51", "20", "9999999.99")
        ),
        "auth_code": Recipe(lengths=(250,)),
        "cvv": Recipe(value=starting("999")),
        "tip_amount": Recipe(put_beside={"action": "tipadjust"}),
        "notification_email_address": Recipe(value=address),
        "account_vault_id": Recipe(way="vault", value=made("vault")),
        "account_vault_api_id": Recipe(way="vault", value=vaults_id, beside={"account_vault_id": ...}),
        "previous_transaction_id": Recipe(way="refund", value=made("sale"), beside={"transaction_amount": "1.00"}),
        "previous_transaction_api_id": Recipe(
            way="refund", value=sales_id, beside={"previous_transaction_id": ..., "transaction_amount": "1.00"}
        ),
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
                _at_location(action="store", contact_id=raw_client.info.contact_id)(raw_client) | _terminal(raw_client)
            ),
        ),
    ),
    answer="accountvault",
    recipes=SHARED,
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
    recipes=SHARED,
)

POSTBACK_CONFIGS = RecordType(
    rows.POSTBACK_CONFIG,
    "/v2/postbackconfigs",
    "PostbackConfig",
    ways=(
        Way("of contacts", "PostbackConfigCreate", _at_location(resource="contact", url=RECEIVER)),
        Way(
            "of transactions",
            "PostbackConfigCreate",
            lambda raw_client: _at_location(
                resource="transaction",
                url=RECEIVER,
                product_transaction_id=raw_client.info.cc_product_transaction_id,
            )(raw_client),
        ),
    ),
    update="PostbackConfigUpdate",
    recipes={
        **SHARED,
        "resource": Recipe(way="of transactions"),
        "product_transaction_id": Recipe(way="of transactions", value=fact("cc_product_transaction_id")),
        "expands": Recipe(way="of transactions", value=lambda *_: "changelogs,tags"),
    },
)

PRODUCT_FILES = RecordType(
    rows.PRODUCT_FILE,
    "/v2/productfiles",
    "ProductFile",
    ways=(Way("storage", "ProductFileCreate", _at_location(title="Files", product_file_credential_id="c" * 24)),),
    recipes=SHARED,
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
