"""The documented expands, default orders and codes, row by row, through raw HTTP and through the SDK."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gateway_async import ReasonCode, TransactionSource
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema.codes import REASONS as TITLES

from . import calls
from .documented_codes import REASONS, SOURCES
from .raw_client import RawClient
from .sides import SdkSide, Side

OF_TRANSACTIONS = [
    "account_vault",
    "changelogs",
    "contact",
    "created_user",
    "entrymode",
    "is_completable",
    "is_refundable",
    "is_reversible",
    "is_settled",
    "is_voidable",
    "location",
    "product_transaction",
    "quick_invoice",
    "reason_code",
    "recurring",
    "signature",
    "status",
    "surcharge",
    "surcharge_transaction",
    "tags",
    "transaction_histories",
    "type",
    "transaction_level3",
]
LISTS = {"changelogs", "tags", "transaction_histories"}
RECORDS = {"contact", "created_user", "location", "product_transaction"}
CODES = {
    "entrymode": {"id": "K", "title": "Keyed"},
    "reason_code": {"id": 1000, "title": TITLES[1000]},
    "status": {"id": 101, "title": "Approved"},
    "type": {"id": 20, "title": "Sale"},
}
FLAGS = {
    "is_completable": False,
    "is_refundable": True,
    "is_reversible": True,
    "is_settled": False,
    "is_voidable": True,
}


def test_transaction(side: Side, raw_client: RawClient) -> None:
    """The record, the code in words, the flag or the list is under the expand's name; null without one."""
    sale = side.pay(contact_id=raw_client.info.contact_id)
    shown = {name: side.read(sale, name)[name] for name in OF_TRANSACTIONS}
    expected = {
        **{name: shown[name] | {"id": sale[f"{name}_id"]} for name in RECORDS},
        **{name: [] for name in LISTS},
        **CODES,
        **FLAGS,
    }
    assert {name: list(value) if name in LISTS else value for name, value in shown.items()} == {
        name: expected.get(name) for name in OF_TRANSACTIONS
    }


def test_all_expands_are_asked_for_at_once(side: Side) -> None:
    assert set(OF_TRANSACTIONS) <= set(side.read(side.pay(), *OF_TRANSACTIONS))


def test_a_surcharge_has_at_most_three_percent(side: Side, sandbox: Sandbox) -> None:
    sandbox.change_product(surcharge=True)
    sale = side.pay(subtotal_amount="12.50")
    surcharge = side.read(sale, "surcharge")["surcharge"]
    sandbox.change_product(surcharge=False)
    assert (surcharge["surcharge_rate"], surcharge["run_as_separate_transaction"]) == ("3.0", False)


PATHS = {
    "contact": ("created_user", "notes", "location", "user"),
    "accountvault": (
        *("location", "contact", "signature", "created_user", "product_transaction"),
        *("account_vault_cau_product_transaction", "account_vault_cau_logs"),
    ),
    "quickinvoice": (
        *("contact", "email_blacklist", "files", "location", "tags", "created_user"),
        *("quick_invoice_settings", "quick_invoice_views", "payment_url"),
    ),
    "paylink": ("contact", "email_blacklist", "sms_blacklist", "location", "tags", "created_user", "payment_url"),
    "recurring": (
        *("created_user", "account_vault", "transactions", "signature", "location", "contact", "tags"),
        "product_transaction",
    ),
    "location": (
        *("branding_domain", "created_user", "developer_company", "product_transactions", "product_recurring"),
        *("product_file", "parent", "terminal"),
    ),
    "tag": ("created_user",),
    "note": ("created_user", "visibility_group"),
    "terminal": (
        *("location", "created_user", "terminal_application", "terminal_cvm", "terminal_manufacturer"),
        *("terminal_routers", "has_terminal_routers", "changelogs"),
    ),
}


@pytest.mark.parametrize("wrapper", PATHS)
def test_other_records(sides: dict[str, Any], raw_client: RawClient, wrapper: str) -> None:
    """Each name is a key of the response, on both sides; a record is that whose id the record has."""
    record_id = MAKERS[wrapper](raw_client)
    sdk: SdkSide = sides["SDK"]
    resource = getattr(sdk.gateway, RESOURCES[wrapper])
    for name in PATHS[wrapper]:
        found = raw_client.http.get(f"/v2/{wrapper}s/{record_id}", params={"expand": name}).json()[wrapper]
        if name in RELATED and f"{name}_id" in found:
            assert (found[name] and found[name]["id"]) == found[f"{name}_id"], name
        assert name in found
        record = sdk.portal.call(partial(resource.get, record_id, expand=(name,)))
        assert name in record.extra or getattr(record, name, ...) is not ..., name


RELATED = {"account_vault", "contact", "created_user", "location", "product_transaction"}
"""The relations that are records of the sandbox."""

RESOURCES = {
    "contact": "contacts",
    "accountvault": "account_vaults",
    "quickinvoice": "quick_invoices",
    "paylink": "paylinks",
    "recurring": "recurrings",
    "location": "locations",
    "tag": "tags",
    "note": "notes",
    "terminal": "terminals",
}
MAKERS: dict[str, Callable[[RawClient], str]] = {
    "contact": lambda raw_client: str(raw_client.contact()["id"]),
    "accountvault": lambda raw_client: str(raw_client.vault(contact_id=raw_client.info.contact_id)["id"]),
    "quickinvoice": lambda raw_client: calls.invoice(raw_client, contact_id=raw_client.info.contact_id),
    "paylink": calls.paylink,
    "recurring": calls.recurring,
    "location": lambda raw_client: raw_client.info.location_id,
    "tag": calls.tag,
    "note": calls.note,
    "terminal": lambda raw_client: raw_client.info.terminal_id,
}
"""Wrapper → the id of a record."""


@pytest.mark.parametrize(
    ("path", "order"),
    [
        *((path, {"id": "desc"}) for path in ("transactions", "accountvaults", "tags", "notes")),
        *((path, {"id": "desc"}) for path in ("locations", "users", "terminals", "authroleusers")),
        ("recurrings", {"next_run_date": "asc"}),
        ("locationinfos", {"created_ts": "desc"}),
    ],
)
def test_default_order(raw_client: RawClient, path: str, order: dict[str, str]) -> None:
    """The response says by which column it is sorted."""
    assert raw_client.http.get(f"/v2/{path}").json()["meta"]["sort"]["attributes"] == order


def test_reason_codes() -> None:
    """The SDK knows the name and text of each, the sandbox has the same texts, and another code has no text."""
    assert {code: ReasonCode(code).description for code in REASONS if ReasonCode(code).known} == TITLES
    assert (ReasonCode(1999).known, ReasonCode(1999).description) == (False, "")


def test_the_sdk_names_each_source() -> None:
    assert [code for code in SOURCES if not TransactionSource(code).known] == []
