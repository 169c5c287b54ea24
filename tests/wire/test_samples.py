"""Every recorded response decodes, every modeled value is right, and nothing is lost.

The expectations are read from the raw JSON by rules of their own, which share nothing with the converter.
"""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import attrs
import pytest

from gateway_async._wire.call import Call
from gateway_async._wire.pagination import RawPage
from gateway_async._wire.reply import Reply, read_reply
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import ValidationError
from gateway_async.models.account_vaults import AccountVault, BinInfo, CardVaultCreate, RouterAccountVaultCreate
from gateway_async.models.contacts import Contact
from gateway_async.models.postback_configs import PostbackConfig
from gateway_async.models.quick_invoices import QuickInvoice, QuickInvoiceCreate
from gateway_async.models.record import Record
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import RouterTransactionCreate, Transaction
from gateway_async.resources.account_vaults import ACCOUNT_VAULT, VAULT_BIN_INFO
from gateway_async.resources.contacts import CONTACT
from gateway_async.resources.postback_configs import POSTBACK_CONFIG
from gateway_async.resources.quick_invoices import QUICK_INVOICE
from gateway_async.resources.router_account_vaults import ROUTER_ACCOUNT_VAULT
from gateway_async.resources.router_transactions import ROUTER_TRANSACTION
from gateway_async.resources.transaction_batches import TRANSACTION_BATCH
from gateway_async.resources.transactions import TRANSACTION

SAMPLES = Path(__file__).parents[1] / "samples"
DEFAULTS = RequestDefaults(location_id=None, check_limits=True, new_id=lambda: "made-up")

SINGLE: dict[str, tuple[ResourceSpec[Any], type[Record]]] = {
    "accountvault-create-ach-response": (ACCOUNT_VAULT, AccountVault),
    "accountvault-create-cc-response": (ACCOUNT_VAULT, AccountVault),
    "bininfo-response": (VAULT_BIN_INFO, BinInfo),
    "contact-create-response": (CONTACT, Contact),
    "postbackconfig-create-contact-response": (POSTBACK_CONFIG, PostbackConfig),
    "postbackconfig-create-transaction-response": (POSTBACK_CONFIG, PostbackConfig),
    "quickinvoice-addtransaction-response": (QUICK_INVOICE, QuickInvoice),
    "quickinvoice-create-response": (QUICK_INVOICE, QuickInvoice),
    "quickinvoice-removetransaction-response": (QUICK_INVOICE, QuickInvoice),
    "routeraccountvault-create-response": (ROUTER_ACCOUNT_VAULT, AccountVault),
    "routertransaction-create-response": (ROUTER_TRANSACTION, Transaction),
    "transaction-ach-debit-response": (TRANSACTION, Transaction),
    "transaction-ach-void-response": (TRANSACTION, Transaction),
    "transaction-authincrement-response": (TRANSACTION, Transaction),
    "transaction-authonly-response": (TRANSACTION, Transaction),
    "transaction-refund-response": (TRANSACTION, Transaction),
}
LISTS: dict[str, tuple[ResourceSpec[Any], type[Record], int, int]] = {
    #                               noun, record, totalCount, pageCount
    "accountvault-list-response": (ACCOUNT_VAULT, AccountVault, 1, 1),
    "contact-list-response": (CONTACT, Contact, 220, 11),
    "quickinvoice-list-response": (QUICK_INVOICE, QuickInvoice, 200, 10),
    "transaction-list-response": (TRANSACTION, Transaction, 14, 5),
    "transactionbatch-list-response": (TRANSACTION_BATCH, TransactionBatch, 3, 1),
}

MONEY = {
    *("transaction_amount", "auth_amount", "subtotal_amount", "tax", "tip_amount", "room_rate", "contact_balance"),
    *("amount_due", "remaining_balance", "single_payment_min_amount", "single_payment_max_amount"),
}
TIMES = {"created_ts", "modified_ts", "batch_close_ts", "timestamp"}
FLAGS = {
    *("has_recurring", "active", "email_trx_receipt", "notification_email_sent"),
    *("is_recurring", "is_accountvault", "terms_agree", "is_company", "advance_deposit", "no_show"),
    *("allow_partial_pay", "allow_overpayment", "notification_on_due_date", "attach_files_to_email", "is_active"),
    *("is_open", "on_create", "on_update", "on_delete", "bill_payment", "is_surcharge"),
}
NUMBERS = {
    *("status_id", "type_id", "reason_code_id", "trx_source_id", "expiring_in_months", "header_message_type"),
    *("payment_status_id", "notification_days_before_due_date", "notification_days_after_due_date"),
    *("batch_num", "processing_status_id", "number_of_attempts", "attempt_interval"),
}
UNFILLED = {"{due_date}": "2026-12-01"}
"""Dates that the recordings leave blank, and the ones put in their place."""


def raw(name: str) -> Any:
    return json.loads(text(name), parse_float=str)


def text(name: str) -> str:
    content = (SAMPLES / f"{name}.json").read_text()
    for blank, value in UNFILLED.items():
        content = content.replace(blank, value)
    return content


def expected(name: str, value: Any) -> Any:
    readings: list[tuple[bool, Callable[[], Any]]] = [
        (value is None, lambda: None),
        (value is False and name not in FLAGS, lambda: None),
        (name == "void_date", lambda: datetime.strptime(f"{value}Z", "%Y-%m-%d %H:%M:%S%z")),
        (name.endswith("_date") and name not in FLAGS | NUMBERS | {"exp_date"}, lambda: date.fromisoformat(value)),
        (name in TIMES, lambda: datetime(1970, 1, 1, tzinfo=UTC).fromtimestamp(int(value), UTC)),
        (name in MONEY, lambda: Decimal(str(value))),
        (name in FLAGS, lambda: {"1": True, "0": False, "True": True, "False": False}[str(value)]),
        (name in NUMBERS, lambda: int(value)),
        (name == "item_list", lambda: {item: Decimal(str(amount)) for item, amount in value.items()}),
        (isinstance(value, list), lambda: tuple(value)),
        (isinstance(value, dict), lambda: value),
        (isinstance(value, str), lambda: value),
    ]
    return next(reading() for applies, reading in readings if applies)


ALIASES = {"active": "is_active", "auth": "auth_code"}
"""The other name of a field, which is read where the field itself is missing."""


def check(record: Record, data: dict[str, Any]) -> None:
    """Read every key into its field or into `extra` unchanged."""
    fields = {field.name for field in attrs.fields(type(record))} - {"extra"}
    for name in fields & set(data):
        value = getattr(record, name)
        if name == "transactions":
            for transaction, row in zip(value, data[name], strict=True):
                check(transaction, row)
            continue
        assert (name, value) == (name, expected(name, data[name]))
        assert isinstance(value, bool) == (name in FLAGS and value is not None)
    missing = fields - set(data) - {ALIASES[name] for name in ALIASES.keys() & data.keys()}
    assert {name: getattr(record, name) for name in missing} == dict.fromkeys(missing)
    assert dict(record.extra) == {name: value for name, value in data.items() if name not in fields}


def answered(call: Call[Any], name: str) -> Any:
    result = read_reply(call, Reply(200, {}, text(name).encode(), at=0.0))
    return result.page([*chain(*result.slices())]) if isinstance(result, RawPage) else result


@pytest.mark.parametrize(("sample", "noun", "kind"), [(name, *row) for name, row in SINGLE.items()])
def test_a_recorded_record(sample: str, noun: ResourceSpec[Any], kind: type[Record]) -> None:
    """The response becomes its model, field by field, and what the model does not know is in `extra`."""
    ((_, data),) = raw(sample).items()
    asked = attrs.evolve(noun.get(data.get("id", "v1"), DEFAULTS), read=noun._reader({}))
    record = answered(asked, sample)
    assert type(record) is kind
    check(record, data)


@pytest.mark.parametrize(("sample", "noun", "kind", "total", "pages"), [(name, *row) for name, row in LISTS.items()])
def test_a_recorded_list(sample: str, noun: ResourceSpec[Any], kind: type[Record], total: int, pages: int) -> None:
    """Every row becomes its model, and the meta its counts."""
    rows = raw(sample)[noun.plural]
    page = answered(noun.page(1, ()), sample)
    assert (page.number, page.total_count, page.page_count, len(page.records)) == (1, total, pages, len(rows))
    for record, data in zip(page.records, rows, strict=True):
        assert type(record) is kind
        check(record, data)


def test_recorded_responses() -> None:
    """Each recorded response is in these tables; a token's is read where logins are tested."""
    recorded = {path.stem for path in SAMPLES.glob("*-response.json") if not path.stem.startswith("token-")}
    assert recorded == {*SINGLE, *LISTS}


# --- requests


def sent(call: Call[Any]) -> Any:
    """The decoded body of a call, without the api id that the client makes up."""
    content = json.loads(call.request.body or b"")
    for record in content.values():
        for made_up in ("account_vault_api_id", "transaction_api_id", "quick_invoice_api_id"):
            record.pop(made_up, None)
    return content


CARD = CardVaultCreate(
    title="Test CC Account",
    account_holder_name="John Smith",
    account_number="5454545454545454",
    exp_date="0919",
    contact_id="54c285f1-678d-9510-318c-bcb13ab0c1c2",
    location_id="sd9fusd9f-678d-9510-318c-bcb13ab4324",
)
CARD_AT_TERMINAL = RouterAccountVaultCreate(
    terminal_id="{terminal_id}", contact_id="{contact_id}", location_id="{location_id}"
)
SALE_AT_TERMINAL = RouterTransactionCreate(
    action="sale", location_id="1" * 24, transaction_amount=1, terminal_id="2" * 24, billing_zip="12345"
)
INVOICE = QuickInvoiceCreate(
    title="Invoice with min fields",
    due_date=date(2026, 12, 1),
    item_list={"item1xx": 10, "item2yy": Decimal(11)},
    location_id="{location_id}",
)


@pytest.mark.parametrize(
    ("noun", "new", "sample"),
    [
        (ACCOUNT_VAULT, CARD, "accountvault-create-cc-request"),
        (ROUTER_ACCOUNT_VAULT, CARD_AT_TERMINAL, "routeraccountvault-create-request"),
        (ROUTER_TRANSACTION, SALE_AT_TERMINAL, "routertransaction-create-request"),
        (QUICK_INVOICE, INVOICE, "quickinvoice-create-request"),
    ],
)
def test_a_recorded_request(noun: ResourceSpec[Any], new: Any, sample: str) -> None:
    """Send exactly what was recorded: implied fields, amounts with two decimals, items as numbers."""
    assert sent(noun.create(new, DEFAULTS)) == raw(sample)


def test_the_recorded_refusal() -> None:
    """A validation body names its fields."""
    reply = Reply(422, {}, (SAMPLES / "error-422-validation.json").read_bytes(), at=0.0)
    with pytest.raises(ValidationError) as refused:
        read_reply(ACCOUNT_VAULT.get("v1", DEFAULTS), reply)
    assert dict(refused.value.fields) == {
        "location_id": ("location_id provided is not valid",),
        "product_transaction_id": ("Product Transaction Id cannot be blank.",),
    }
