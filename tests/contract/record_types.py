"""How records of each type are made, and what trying a field takes.

The data files of the sandbox describe a field; this module only makes it possible to try.
"""

from collections.abc import Callable
from typing import Any

from .field_table import table
from .raw_client import BANK_ACCOUNT, RECEIVER, VISA
from .record_type import Body, CreateMode, Recipe, RecordType
from .sample_values import (
    ACCOUNT_FIELDS,
    MOVED,
    NO_METHOD,
    SHARED,
    TRACK,
    WITH_PHONE,
    address,
    fact,
    instead,
    items,
    locations_id,
    made,
    picture,
    sales_id,
    starting,
    vaults_id,
)

CARD = {"account_number": VISA, "exp_date": "1230"}
ACH = BANK_ACCOUNT | {"payment_method": "ach"}
CHECK = {"check_number": "1001", "image_front": "aGk=", "image_back": "aGk=", "track_data": TRACK}
"""The further fields of a payment by check image."""


def _at_location(**fields: Any) -> Body:
    return lambda raw_client: {"location_id": raw_client.info.location_id} | fields


def _stored(source: str, value: Callable[[Any], str]) -> Body:
    return lambda raw_client: _at_location(payment_method="cc")(raw_client) | {source: value(raw_client)}


def _sale(**source: str) -> dict[str, Any]:
    return {"action": "sale", "transaction_amount": "12.50"} | source


def _bank_vault(raw_client: Any) -> str:
    return str(raw_client.vault(**ACH, is_company=0, exp_date=...)["id"])


def _terminal(raw_client: Any) -> dict[str, Any]:
    return {"payment_method": "cc", "terminal_id": raw_client.info.terminal_id}


QUICK_INVOICES = RecordType(
    table("quick_invoices"),
    "/v2/quickinvoices",
    "QuickInvoice",
    create_modes=(
        CreateMode(
            "invoice", "QuickInvoiceCreate", _at_location(title="Tea", due_date="2030-01-31", item_list={"Tea": 10})
        ),
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
    computed=frozenset({"active", "files", "transactions"}),
    resource="quick_invoices",
    change={"title": "Tea"},
)

PAYLINKS = RecordType(
    table("paylinks"),
    "/v2/paylinks",
    "Paylink",
    create_modes=(CreateMode("paylink", "PaylinkCreate", _at_location(amount_due=12)),),
    update="PaylinkUpdate",
    recipes={**SHARED, "delivery_method": WITH_PHONE},
    expanded=frozenset({"payment_url", "tags"}),
    resource="paylinks",
    change={"email": "other@example.test"},
)

ACCOUNT_VAULTS = RecordType(
    table("account_vaults"),
    "/v2/accountvaults",
    "AccountVault",
    create_modes=(
        CreateMode("card", "CardVaultCreate", _at_location(**CARD, payment_method="cc")),
        CreateMode("bank account", "AchVaultCreate", _at_location(**ACH, is_company=0), NO_METHOD),
        CreateMode(
            "swiped", "SwipedVaultCreate", _at_location(payment_method="cc", track_data=TRACK), instead("track_data")
        ),
        CreateMode(
            "ticket", "TicketVaultCreate", _stored("ticket", lambda raw_client: raw_client.ticket()), instead("ticket")
        ),
        CreateMode(
            "sale",
            "TransactionVaultCreate",
            _stored("previous_transaction_id", lambda raw_client: raw_client.sale()["id"]),
            instead("previous_transaction_id"),
        ),
        CreateMode(
            "copy",
            "VaultCopyCreate",
            _stored("previous_account_vault_id", lambda raw_client: raw_client.vault()["id"]),
            instead("previous_account_vault_id"),
        ),
    ),
    update="AccountVaultUpdate",
    recipes={
        **ACCOUNT_FIELDS,
        "previous_transaction_id": Recipe(create_mode="sale", value=made("sale")),
        "previous_transaction_api_id": Recipe(
            create_mode="sale", value=sales_id, beside={"previous_transaction_id": ...}, put=False
        ),
        "previous_account_vault_id": Recipe(create_mode="copy", value=made("vault")),
        "previous_account_vault_api_id": Recipe(
            create_mode="copy", value=vaults_id, beside={"previous_account_vault_id": ...}, put=False
        ),
    },
    computed=frozenset({"expiring_in_months"}),
    resource="account_vaults",
    change={"title": "Tea"},
    hash_key=True,
)

CONTACTS = RecordType(
    table("contacts"),
    "/v2/contacts",
    "Contact",
    create_modes=(CreateMode("contact", "ContactCreate", _at_location(last_name="Smith")),),
    update="ContactUpdate",
    recipes={
        **SHARED,
        "contact_api_id": Recipe(),
        "cell_phone": Recipe(),
        "update_if_exists": Recipe(beside={"contact_api_id": lambda raw_client: raw_client.own_id(12)}),
    },
    resource="contacts",
    change={"city": "Leeds"},
)

TRANSACTIONS = RecordType(
    table("transactions"),
    "/v2/transactions",
    "Transaction",
    create_modes=(
        CreateMode("card", "TransactionCreate", lambda _: _sale() | CARD),
        CreateMode("authorization", "TransactionCreate", lambda _: _sale() | CARD | {"action": "authonly"}),
        CreateMode("bank account", "TransactionCreate", lambda _: _sale() | ACH | {"ach_sec_code": "WEB"}, NO_METHOD),
        CreateMode(
            "forced",
            "TransactionCreate",
            lambda _: _sale() | CARD | {"action": "force", "auth_code": "123456"},
            {"action": {"action"}},
        ),
        CreateMode("swiped", "TransactionCreate", lambda _: _sale(track_data=TRACK), instead("track_data")),
        CreateMode("encrypted", "TransactionCreate", lambda _: _sale(e_track_data="0a"), instead("e_track_data")),
        CreateMode(
            "ticket", "TransactionCreate", lambda raw_client: _sale(ticket=raw_client.ticket()), instead("ticket")
        ),
        CreateMode(
            "vault",
            "TransactionCreate",
            lambda raw_client: _sale(account_vault_id=raw_client.vault()["id"]),
            instead("account_vault_id"),
        ),
        CreateMode(
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
        "ach_sec_code": (
            Recipe(create_mode="bank account", values=("WEB", "PPD", "CCD", "POP")),
            Recipe(create_mode="bank account", values=("TEL",), beside={"check_number": "1001"}),
            Recipe(create_mode="bank account", values=("C21",), beside=CHECK),
        ),
        "action": (
            Recipe(put_values=("void", "edit"), beside={"auth_code": "123456"}),
            Recipe(create_mode="bank account", values=("debit", "credit"), put=False),
        ),
        "transaction_amount": Recipe(
            create_mode="authorization",
            put_beside={"action": "authincrement"},
            put_values=("12.51", "20", "9999999.99"),
        ),
        "auth_code": Recipe(create_mode="forced", lengths=(1, 250)),
        "contact_id": Recipe(value=fact("contact_id"), becomes={"": None}),
        "e_track_data": Recipe(create_mode="encrypted", value=lambda _, length: "0a" * length if length else "x"),
        "image_front": Recipe(value=picture),
        "image_back": Recipe(value=picture),
        "locale": Recipe(value=starting("en_CA")),
        "location_api_id": Recipe(value=locations_id, beside={"location_id": ...}),
        "move_account_vault": MOVED,
        "move_account_vault_transactions": MOVED,
        "quick_invoice_id": Recipe(value=made("invoice")),
        "surcharge_amount": Recipe(put_beside={"action": "edit"}),
        "cvv": Recipe(value=starting("999")),
        "tip_amount": Recipe(put_beside={"action": "tipadjust"}),
        "notification_email_address": Recipe(value=address),
        "account_vault_id": Recipe(create_mode="vault", value=made("vault")),
        "account_vault_api_id": Recipe(create_mode="vault", value=vaults_id, beside={"account_vault_id": ...}),
        "previous_transaction_id": Recipe(
            create_mode="refund", value=made("sale"), beside={"transaction_amount": "1.00"}
        ),
        "previous_transaction_api_id": Recipe(
            create_mode="refund", value=sales_id, beside={"previous_transaction_id": ..., "transaction_amount": "1.00"}
        ),
    },
    resource="transactions",
    change={"action": "void"},
    hash_key=True,
)

ROUTER_ACCOUNT_VAULTS = RecordType(
    table("router_account_vaults"),
    "/v2/routeraccountvaults",
    create_modes=(
        CreateMode(
            "card",
            "RouterAccountVaultCreate",
            lambda raw_client: (
                _at_location(action="store", contact_id=raw_client.info.contact_id)(raw_client) | _terminal(raw_client)
            ),
        ),
    ),
    response="accountvault",
    recipes=SHARED,
    resource="router_account_vaults",
    hash_key=True,
)

ROUTER_TRANSACTIONS = RecordType(
    table("router_transactions"),
    "/v2/routertransactions",
    create_modes=(
        CreateMode(
            "card",
            "RouterTransactionCreate",
            lambda raw_client: _terminal(raw_client) | {"action": "sale", "transaction_amount": "12.50"},
        ),
    ),
    recipes={
        **SHARED,
        "auth_code": Recipe(beside={"action": "force"}),
        "batch": Recipe(beside={"action": "authonly"}),
        "notification_email_address": Recipe(value=address),
    },
    resource="router_transactions",
)

POSTBACK_CONFIGS = RecordType(
    table("postback_configs"),
    "/v2/postbackconfigs",
    "PostbackConfig",
    create_modes=(
        CreateMode("of contacts", "PostbackConfigCreate", _at_location(resource="contact", url=RECEIVER)),
        CreateMode(
            "of transactions",
            "PostbackConfigCreate",
            lambda raw_client: _at_location(
                resource="transaction", url=RECEIVER, product_transaction_id=raw_client.info.cc_product_transaction_id
            )(raw_client),
        ),
    ),
    update="PostbackConfigUpdate",
    recipes={
        **SHARED,
        "resource": Recipe(create_mode="of transactions"),
        "product_transaction_id": Recipe(create_mode="of transactions", value=fact("cc_product_transaction_id")),
        "expands": Recipe(create_mode="of transactions", value=lambda *_: "changelogs,tags"),
    },
    resource="postback_configs",
    change={"on_create": True},
)

PRODUCT_FILES = RecordType(
    table("product_files"),
    "/v2/productfiles",
    "ProductFile",
    create_modes=(
        CreateMode("storage", "ProductFileCreate", _at_location(title="Files", product_file_credential_id="c" * 24)),
    ),
    recipes=SHARED,
    resource="product_files",
)

TOKEN_REQUESTS = RecordType(
    table("tokens.request"),
    "/v2/token",
    create_modes=(
        CreateMode(
            "login",
            "",
            lambda raw_client: {name: getattr(raw_client.info, name) for name in ("username", "password", "domain")},
        ),
    ),
    wrapper="",
    response="token",
    recipes={name: Recipe(value=fact(name)) for name in ("username", "password", "domain")},
)

_MONTHLY = {"interval": 1, "interval_type": "m", "start_date": "2030-01-31", "transaction_amount": "10.00"}

RECURRINGS = RecordType(
    table("recurrings"),
    "/v2/recurrings",
    "Recurring",
    create_modes=(
        CreateMode(
            "card",
            "RecurringCreate",
            lambda raw_client: _at_location(**_MONTHLY, account_vault_id=raw_client.vault()["id"])(raw_client),
        ),
        CreateMode(
            "bank account",
            "RecurringCreate",
            lambda raw_client: _at_location(**_MONTHLY, account_vault_id=_bank_vault(raw_client))(raw_client),
        ),
    ),
    update="RecurringUpdate",
    recipes={
        **SHARED,
        "account_vault_id": Recipe(value=made("vault")),
        "account_vault_api_id": Recipe(value=vaults_id, beside={"account_vault_id": ...}),
        "payment_method": (Recipe(values=("cc",)), Recipe(create_mode="bank account", values=("ach",))),
    },
    resource="recurrings",
    change={"description": "Tea"},
    actions={"placeOnHold": "hold"},
)

TAGS = RecordType(
    table("tags"),
    "/v2/tags",
    "Tag",
    create_modes=(CreateMode("tag", "TagCreate", _at_location(title="Tea")),),
    update="TagUpdate",
    recipes=SHARED,
    resource="tags",
    change={"title": "Coffee"},
)

NOTES = RecordType(
    table("notes"),
    "/v2/notes",
    "Note",
    create_modes=(
        CreateMode(
            "of a contact",
            "NoteCreate",
            lambda raw_client: {"resource": "Contact", "resource_id": raw_client.info.contact_id},
        ),
    ),
    update="NoteUpdate",
    recipes={**SHARED, "resource_id": Recipe(value=fact("contact_id"))},
    resource="notes",
    change={"note": "Coffee"},
)

TOKENS = RecordType(table("tokens.response"), record="Token")
BATCHES = RecordType(table("transaction_batches"), record="TransactionBatch")
CHANGELOGS = RecordType(table("changelogs"))
LOCATIONS = RecordType(table("locations"), record="Location")
LOCATION_INFOS = RecordType(table("location_infos"), record="LocationInfo")
PRODUCT_TRANSACTIONS = RecordType(table("product_transactions"), record="ProductTransaction")
USERS = RecordType(table("users"), record="User")
TERMINALS = RecordType(table("terminals"), record="Terminal")
BIN_INFOS = RecordType(table("bin_infos"), record="BinInfo")

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
    RECURRINGS,
    TAGS,
    NOTES,
    LOCATIONS,
    LOCATION_INFOS,
    PRODUCT_TRANSACTIONS,
    USERS,
    TERMINALS,
)
"""One for each table of the contract."""
