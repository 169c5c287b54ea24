"""Checks before sending: each limit at, below and above its bound, and every problem at once."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from types import MappingProxyType
from typing import Any

import pytest

from gateway_async._secrets import Secret
from gateway_async._wire.fields import fields_of
from gateway_async._wire.validation import problems
from gateway_async.models.account_vaults import (
    AccountVaultUpdate,
    AchVaultCreate,
    CardVaultCreate,
    RouterAccountVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
)
from gateway_async.models.codes import (
    AccountType,
    AchSecCode,
    PaylinkAction,
    PaymentMethod,
    PostbackResource,
    TransactionAction,
)
from gateway_async.models.contacts import ContactCreate, ContactUpdate
from gateway_async.models.files import ProductFileCreate
from gateway_async.models.paylinks import PaylinkCreate, PaylinkUpdate
from gateway_async.models.postback_configs import PostbackConfigCreate, PostbackConfigUpdate
from gateway_async.models.quick_invoices import QuickInvoiceCreate, QuickInvoiceUpdate
from gateway_async.models.request import Request
from gateway_async.models.transactions import RouterTransactionCreate, TransactionCreate, TransactionUpdate

CARD = "4111111111111111"
VALID: dict[type[Request], dict[str, Any]] = {
    CardVaultCreate: {"location_id": "loc", "account_number": CARD, "exp_date": "0930"},
    SwipedVaultCreate: {"location_id": "loc", "track_data": "track"},
    AchVaultCreate: {
        "location_id": "loc",
        "account_number": "123456789012",
        "routing": "072000326",
        "account_holder_name": "Jo",
        "account_type": "checking",
        "is_company": False,
    },
    TicketVaultCreate: {"location_id": "loc", "ticket": "ticket"},
    TransactionVaultCreate: {"location_id": "loc", "previous_transaction_id": "t"},
    VaultCopyCreate: {"location_id": "loc", "previous_account_vault_id": "v"},
    AccountVaultUpdate: {},
    RouterAccountVaultCreate: {"location_id": "loc", "terminal_id": "term", "contact_id": "c"},
    ContactCreate: {"location_id": "loc", "last_name": "Smith"},
    ContactUpdate: {},
    TransactionCreate: {
        "location_id": "loc",
        "action": "sale",
        "transaction_amount": "1.00",
        "account_number": CARD,
        "exp_date": "0930",
    },
    TransactionUpdate: {"action": "authcomplete"},
    RouterTransactionCreate: {
        "location_id": "loc",
        "action": "sale",
        "terminal_id": "term",
        "transaction_amount": "1.00",
    },
    QuickInvoiceCreate: {
        "location_id": "loc",
        "title": "Lunch",
        "due_date": date(2026, 12, 1),
        "item_list": {"Tea": "2.50"},
    },
    QuickInvoiceUpdate: {},
    PaylinkCreate: {"location_id": "loc", "amount_due": "10.00"},
    PaylinkUpdate: {},
    PostbackConfigCreate: {"location_id": "loc", "url": "https://shop.test", "resource": "contact"},
    PostbackConfigUpdate: {},
    ProductFileCreate: {"location_id": "loc", "title": "Files", "product_file_credential_id": "c"},
}
CREATES = [kind for kind in VALID if not kind.__name__.endswith("Update")]


def found(kind: type[Request], *, limits: bool = True, without: tuple[str, ...] = (), **fields: Any) -> Sequence[str]:
    """The problems of a valid request of `kind` with some fields changed or left out."""
    given = {name: value for name, value in VALID[kind].items() if name not in without}
    return problems(kind(**{**given, **fields}), limits=limits)


def found_with(kind: type[Request], field: str, value: Any, **options: Any) -> Sequence[str]:
    return found(kind, **{field: value}, **options)


@pytest.mark.parametrize("kind", VALID)
def test_a_request_with_what_it_needs_has_no_problem(kind: type[Request]) -> None:
    assert found(kind) == []


# --- lengths


def test_unchecked_limits() -> None:
    """With limits off neither lengths, patterns, required fields nor rules are checked."""
    wrong: dict[str, Any] = {
        "title": "x" * 999,
        "billing_zip": "",
        "contact_id": "a",
        "contact_api_id": "b c" * 30,
        "exp_date": "1399",
    }
    assert len(found(CardVaultCreate, without=("location_id",), **wrong)) == 7
    assert found(CardVaultCreate, without=("location_id",), limits=False, **wrong) == []


# --- patterns

PATTERNS = [
    (CardVaultCreate, "exp_date", ["0130", "1299"], ["", "1330", "0030", "130", "01/30", "01300", "０１30"], "MMYY"),
    (CardVaultCreate, "account_vault_api_id", ["a-1", "ü"], ["a b", " ", "a\t", "a\n"], "must contain no spaces"),
    (ContactCreate, "contact_api_id", ["a-1", "."], ["a b", "\u00a0"], "must contain no spaces"),
    (CardVaultCreate, "ssn4", ["0000", "8264"], ["826", "82641", "82a4", "８２６４"], "must be four digits"),
    (CardVaultCreate, "dob_year", ["1970"], ["70", "197O"], "must be four digits"),
    (TransactionCreate, "cvv", ["999", "1234"], ["", "12", "12345", "12a", "９９９"], "must be three or four digits"),
    (AchVaultCreate, "routing", ["072000326"], ["07200032", "0720003260", "07200032x"], "characters|digits only"),
    (
        TransactionCreate,
        "account_number",
        ["1234", "1" * 19],
        ["123", "1" * 20, "4111 1111 1111 1111", "４111111111111111"],
        "characters|digits only",
    ),
    (CardVaultCreate, "account_number", ["1234", "1" * 19], ["123", "1" * 20, "41x1"], "characters|digits only"),
]


@pytest.mark.parametrize(("kind", "field", "right", "wrong", "says"), PATTERNS)
def test_patterns(kind: type[Request], field: str, right: list[str], wrong: list[str], says: str) -> None:
    """A text of a certain form is matched whole, and with ASCII digits only."""
    for value in right:
        assert found_with(kind, field, value) == []
    for value in wrong:
        assert [line for line in found_with(kind, field, value) if line.startswith(f"{field}: ")], value


def test_a_problem_does_not_repeat_the_secret() -> None:
    said = " ".join(found(TransactionCreate, account_number=f"{CARD}2222", cvv="99x", track_data="t" * 257))
    assert CARD[:8] not in said
    assert "99x" not in said


# --- codes

EXPECTED = {
    (TransactionCreate, "action"): "sale, authonly, avsonly, force, refund, debit, credit",
    (TransactionUpdate, "action"): "void, authcomplete, authincrement, partialreversal, tipadjust, edit",
    (RouterTransactionCreate, "action"): "sale, authonly, avsonly, force, refund, settle",
    (TransactionCreate, "payment_method"): "cc, ach",
    (RouterTransactionCreate, "payment_method"): "cc, ach",
    (TicketVaultCreate, "payment_method"): "cc, ach",
    (TransactionCreate, "account_type"): "visa, mc, disc, amex, jcb, diners, debit, checking, savings",
    (AchVaultCreate, "account_type"): "checking, savings",
    (TransactionCreate, "ach_sec_code"): "WEB, PPD, CCD, TEL, POP, C21",
    (AchVaultCreate, "ach_sec_code"): "WEB, PPD, CCD, TEL, POP, C21",
    (PaylinkCreate, "paylink_action"): "sale, auth-only, authonly",
    (PostbackConfigCreate, "resource"): "contact, transaction, transactionbatch, accountvault",
}
OPEN = {
    "action": TransactionAction,
    "payment_method": PaymentMethod,
    "account_type": AccountType,
    "ach_sec_code": AchSecCode,
    "paylink_action": PaylinkAction,
    "resource": PostbackResource,
}


@pytest.mark.parametrize(("kind", "field"), EXPECTED)
def test_undocumented_code(kind: type[Request], field: str) -> None:
    """Another one is sent only as an open enum's value, or with limits off: a typing error is not a new code."""
    known, code = EXPECTED[kind, field], OPEN[field].__name__
    for value in known.split(", "):
        assert not [line for line in found_with(kind, field, value) if line.startswith(f"{field}: ")]
    wanted = f"{field}: unknown value 'xyz' (expected {known}; pass {code}(\"xyz\") to send it anyway)"
    assert wanted in found_with(kind, field, "xyz")
    assert wanted not in found_with(kind, field, OPEN[field]("xyz"))
    assert found_with(kind, field, "xyz", limits=False) == []


def test_a_misspelled_code_is_recognized() -> None:
    (line,) = found(TransactionCreate, action="authonyl")
    assert line.startswith("action: unknown value 'authonyl', did you mean 'authonly'? (expected sale, ")


def test_open_enum() -> None:
    """Accept an open enum's value for its own field only."""
    assert found(TransactionCreate, action=PaymentMethod.CARD)[0].startswith("action: unknown value 'cc' (")


def test_an_unknown_code_is_not_repeated_whole() -> None:
    (line,) = found(TransactionCreate, action=CARD)
    assert CARD[:12] not in line
    (line,) = found(TransactionCreate, action="x" * 5000)
    assert len(line) < 300


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (AchVaultCreate, "account_type", AccountType("x" * 33)),
        (AchVaultCreate, "ach_sec_code", AchSecCode("WEBS")),
        (PaylinkCreate, "paylink_action", PaylinkAction("x" * 11)),
    ],
)
def test_the_length_of_an_unknown_code_is_checked(kind: type[Request], field: str, value: str) -> None:
    (line,) = found_with(kind, field, value)
    assert line.startswith(f"{field}: must have ")


# --- money


@pytest.mark.parametrize("amount", [Decimal("0.00"), 0, "0", "9999999.99", Decimal("12.5"), 12, "12.500"])
def test_amounts(amount: Any) -> None:
    """A `Decimal`, an int or a text of at most ten characters, not negative, no fraction of a cent."""
    assert found(TransactionCreate, transaction_amount=amount) == []


@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        ("10000000.00", "must have at most 10 characters including its two decimals, has 11"),
        (10**7, "must have at most 10 characters including its two decimals, has 11"),
        (CARD, "must have at most 10 characters including its two decimals, has 19"),
        ("-0.01", "must not be negative"),
        ("1.005", "has more than two decimals"),
        *((text, "is not an amount") for text in ("", "12,50", "1e2", "1_000", " 1", "NaN", "1e999999999")),
        *(
            (value, f"must be a Decimal, an int or a str, not {type(value).__name__}")
            for value in (12.5, True, b"1", Secret("1"))
        ),
    ],
)
def test_each_wrong_amount_has_its_sentence(amount: Any, problem: str) -> None:
    assert found(TransactionCreate, transaction_amount=amount) == [f"transaction_amount: {problem}"]


AMOUNTS = ("transaction_amount", "tax", "tip_amount", "subtotal_amount", "surcharge_amount")
MONEY = [
    *[(TransactionCreate, name) for name in AMOUNTS],
    *[(TransactionUpdate, name) for name in AMOUNTS],
    *[(RouterTransactionCreate, name) for name in ("transaction_amount", "tax", "room_rate")],
    (TransactionCreate, "room_rate"),
    (TransactionUpdate, "room_rate"),
    (ContactCreate, "contact_balance"),
    (ContactUpdate, "contact_balance"),
    *[(QuickInvoiceCreate, f"single_payment_{bound}_amount") for bound in ("min", "max")],
    (PaylinkCreate, "amount_due"),
]


def test_amount_fields() -> None:
    """No field that holds money is left out of the test of types below."""
    declared = {(kind, name) for kind in VALID for name in fields_of(kind) if "Cents" in str(fields_of(kind)[name])}
    assert declared == set(MONEY)


# --- types

WRONG_TYPES: list[tuple[type[Request], str, str, list[Any]]] = [
    (ContactCreate, "last_name", "text", [5, b"Smith", True]),
    (ContactCreate, "location_id", "text", [5]),
    (ContactCreate, "email_trx_receipt", "True or False", [2, "1", 1.0]),
    (ContactCreate, "header_message_type_id", "a whole number", ["3", 3.0, True]),
    (PaylinkCreate, "delivery_method", "a whole number", ["2"]),
    (ContactCreate, "date_of_birth", "a date", ["1970-01-02", datetime(1970, 1, 2, tzinfo=UTC)]),
    (TransactionCreate, "action", "text", [5]),
    (TransactionCreate, "account_number", "text", [4111111111111111]),
    (TransactionCreate, "cvv", "text", [999]),
    (TransactionCreate, "custom_data", "a mapping", [[1], "text"]),
    (CardVaultCreate, "account_number", "text", [None]),
    (AccountVaultUpdate, "terms_agree", "True or False or a whole number", ["1"]),
    (AccountVaultUpdate, "account_type", "text", [1]),
    (RouterTransactionCreate, "terminal_id", "text", [["t"]]),
    (QuickInvoiceCreate, "item_list", "a mapping", ["Tea", ["Tea"], 5, [("Tea", 1)]]),
    (QuickInvoiceCreate, "tags", "a sequence of texts", ["ab"]),
    *[(kind, field, "a Decimal, an int or a str", [0.1]) for kind, field in MONEY],
]
SURROGATE = "has an invalid character (a lone surrogate)"
UNSENDABLE: list[tuple[type[Request], str, Any, str]] = [
    *[
        (kind, field, value, f"must be {wanted}, not {type(value).__name__}")
        for kind, field, wanted, values in WRONG_TYPES
        for value in values
    ],
    (TransactionCreate, "tax", "1.005", "has more than two decimals"),
    (ContactCreate, "last_name", "\ud800", SURROGATE),
    (SwipedVaultCreate, "track_data", "\udfff", SURROGATE),
]


@pytest.mark.parametrize("limits", [True, False])
def test_unsendable_values(limits: bool) -> None:
    """Another type, half a cent or half a character is refused by its field's name, checked limits or not."""
    for kind, field, value, problem in UNSENDABLE:
        assert found_with(kind, field, value, limits=limits) == [f"{field}: {problem}"]


@pytest.mark.parametrize("flag", [True, False, 1, 0])
def test_flags(flag: Any) -> None:
    """A flag is True or False, or the 1 or 0 that the gateway itself speaks."""
    assert found(ContactCreate, email_trx_receipt=flag, date_of_birth=date(1970, 1, 2)) == []


# --- required fields and rules


@pytest.mark.parametrize("kind", CREATES)
def test_location(kind: type[Request]) -> None:
    """Where neither the request nor the client names a location, that is a problem, except in a payment."""
    is_payment = kind in (TransactionCreate, RouterTransactionCreate)  # made in the user's primary location
    assert found(kind, without=("location_id",)) == ([] if is_payment else ["location_id: is required"])


@pytest.mark.parametrize(("kind", "field"), [(ContactCreate, "last_name"), (TransactionUpdate, "action")])
def test_required_none(kind: type[Request], field: str) -> None:
    """None passed where a value is required is named; with limits off it is the gateway's business."""
    assert found_with(kind, field, None) == [f"{field}: is required"]
    assert found_with(kind, field, None, limits=False) == []


def test_none_clears_a_field_of_an_update() -> None:
    fields: dict[str, Any] = dict.fromkeys(fields_of(AccountVaultUpdate))
    assert found(AccountVaultUpdate, **fields) == []


SOURCES = "account_number, account_vault_id, account_vault_api_id, previous_transaction_id, "
SOURCES += "previous_transaction_api_id, track_data, e_track_data, ticket"


def test_a_transaction_has_one_source() -> None:
    for source in SOURCES.split(", ")[1:]:
        assert found_with(TransactionCreate, source, "0a", without=("account_number", "exp_date")) == []
    assert found(TransactionCreate, account_vault_id="v") == [
        f"account_number, account_vault_id: exactly one of {SOURCES} is needed"
    ]
    assert found(TransactionCreate, without=("account_number",)) == [
        f"account_number: exactly one of {SOURCES} is needed"
    ]


def test_bank_account() -> None:
    """ACH without a vault says how it was agreed, what account it is, where, and whose."""
    assert found(TransactionCreate, payment_method="ach", without=("exp_date",)) == [
        f"{name}: is required when payment_method is ach"
        for name in ("ach_sec_code", "account_type", "routing", "account_holder_name")
    ]
    stored = ("account_number", "exp_date")
    assert found(TransactionCreate, payment_method="ach", account_vault_id="v", without=stored) == []


# --- invoices, paylinks, postback configs


def test_item_amount() -> None:
    """A `Decimal`, an int or a text, also below 0 for a discount; what is wrong is named by the item."""
    assert found(QuickInvoiceCreate, item_list={"Tea": Decimal("2.5"), "Cake": 4, "Off": "-1.00", "Free": 0}) == []
    wrong = {"Tea": 2.5, "Cake": "four", "Pie": None, "Egg": "1.005", "Jam": "100000000.00", CARD: True, "Rum": "1e3"}
    assert found(QuickInvoiceCreate, item_list=wrong) == [
        "item_list.Tea: must be a Decimal, an int or a str, not float",
        "item_list.Cake: is not an amount",
        "item_list.Pie: must be a Decimal, an int or a str, not NoneType",
        "item_list.Egg: has more than two decimals",
        "item_list.Jam: must have at most 11 characters including its two decimals, has 12",
        "item_list.************1111: must be a Decimal, an int or a str, not bool",
        "item_list.Rum: is not an amount",
    ]
    assert len(found(QuickInvoiceCreate, item_list=wrong, limits=False)) == 6


def test_item_total() -> None:
    """A sum below zero is a problem of the list, whatever the precision of the caller's decimals."""
    says = "item_list: must add up to 0.00 or more, not -0.01"
    items = {"Tea": "12345678.90", "Off": Decimal("-12345678.91")}
    with localcontext(prec=3):
        for kind in (QuickInvoiceCreate, QuickInvoiceUpdate):
            assert found(kind, item_list=items) == [says]
            assert found(kind, item_list=items | {"Cent": "0.01"}) == []
            assert found(kind, item_list=items, limits=False) == []


def test_item_name() -> None:
    """And it is not empty, and can be written."""
    assert found(QuickInvoiceCreate, item_list={5: 1, "": 1, "\ud800": 1}) == [
        "item_list.5: its name must be text",
        "item_list.: its name is empty",
        "item_list.\\ud800: its name has an invalid character (a lone surrogate)",
    ]


@pytest.mark.parametrize(("length", "fits"), [(4000, True), (4001, False)])
def test_item_list(length: int, fits: bool) -> None:
    """Measure items by their JSON; reject an empty mapping."""
    items = {"x" * (length - len('{"":1}')): 1}
    says = f"item_list: must have 5 to 4000 characters as JSON, has {length}"
    assert found(QuickInvoiceCreate, item_list=items) == ([] if fits else [says])
    assert found(QuickInvoiceCreate, item_list=items, limits=False) == []
    assert found(QuickInvoiceCreate, item_list={}) == ["item_list: must have 5 to 4000 characters as JSON, has 2"]


def test_tags_are_a_sequence_of_texts() -> None:
    assert found(QuickInvoiceCreate, tags=["a", "b"]) == found(QuickInvoiceCreate, tags=()) == []
    assert found(QuickInvoiceCreate, tags=["a", 5]) == ["tags[1]: must be text"]


@pytest.mark.parametrize("days", [0, 99])
def test_notification_days(days: int) -> None:
    """A notification is sent at most 99 days away from the due date."""
    assert found(QuickInvoiceCreate, notification_days_before_due_date=days) == []
    assert found(QuickInvoiceUpdate, notification_days_after_due_date=100) == [
        "notification_days_after_due_date: must be from 0 to 99, not 100"
    ]
    assert found(QuickInvoiceCreate, notification_days_before_due_date=-1) == [
        "notification_days_before_due_date: must be from 0 to 99, not -1"
    ]


TWICE = "contact_id, contact_api_id: only one of them may be given"
TWO_PROOFS = "ssn4, dob_year: only one of them may be given"
ID_TWICE = {"contact_id": "c", "contact_api_id": "a"}
SOURCES_OF_VAULTS: list[tuple[type[Request], str, str]] = [
    (TransactionVaultCreate, "previous_transaction_id", "previous_transaction_api_id"),
    (VaultCopyCreate, "previous_account_vault_id", "previous_account_vault_api_id"),
]
LICENSED = (CardVaultCreate, AccountVaultUpdate, TransactionCreate)
WITH_CONTACT = (*LICENSED, RouterTransactionCreate, QuickInvoiceCreate)
MOVES = ("move_account_vault", "move_account_vault_transactions")
# `tests/contract/test_documented_rules.py` has the rules of amounts.
RULES: list[tuple[type[Request], dict[str, Any], str]] = [
    *[
        (kind, {other: "x"}, f"{one}, {other}: exactly one of {one}, {other} is needed")
        for kind, one, other in SOURCES_OF_VAULTS
    ],
    *[
        (kind, {"without": (one,)}, f"{one}: exactly one of {one}, {other} is needed")
        for kind, one, other in SOURCES_OF_VAULTS
    ],
    *[(kind, ID_TWICE, TWICE) for kind in WITH_CONTACT],
    *[(kind, {"dl_number": "D1"}, "dl_state: must be given together with dl_number") for kind in LICENSED],
    *[(kind, {"dl_state": "MI"}, "dl_number: must be given together with dl_state") for kind in LICENSED],
    (TransactionUpdate, {"action": "tipadjust"}, "tip_amount: is required when action is tipadjust"),
    (TransactionCreate, {"location_api_id": "mine"}, "location_id, location_api_id: only one of them may be given"),
    *[
        (TransactionUpdate, {"action": "edit", name: True}, f"contact_id: is required when {name} is True")
        for name in MOVES
    ],
    *[
        (TransactionUpdate, {"action": "void", "contact_id": "c", name: True},
         f"{name}: must not be given when action is void")
        for name in MOVES
    ],
    (TransactionCreate, {"without": ("exp_date",)}, "exp_date: is required when payment_method is cc"),
    (QuickInvoiceCreate, {"send_text_to_pay": True}, "cell_phone: is required when send_text_to_pay is True"),
    (QuickInvoiceCreate, {"ssn4": "8264", "dob_year": "1971"}, TWO_PROOFS),
    (QuickInvoiceCreate, {"dl_number": "D1"}, "dl_state: must be given together with dl_number"),
    *[
        (PaylinkCreate, {"delivery_method": method}, f"cell_phone: is required when delivery_method is {method}")
        for method in (2, 3)
    ],
    *[
        (PostbackConfigCreate, {"resource": resource},
         f"product_transaction_id: is required when resource is {resource}")
        for resource in ("transaction", "transactionbatch")
    ],
]  # fmt: skip
KEPT_RULES: list[tuple[type[Request], dict[str, Any]]] = [
    *[(kind, {other: "x", "without": (one,)}) for kind, one, other in SOURCES_OF_VAULTS],
    *[(kind, {"contact_id": "c"}) for kind in WITH_CONTACT],
    *[(kind, {"dl_number": "D1", "dl_state": "MI"}) for kind in LICENSED],
    (TransactionCreate, {"action": TransactionAction("brand new"), "without": ("transaction_amount",)}),
    (TransactionUpdate, {"action": "tipadjust", "tip_amount": "1.00"}),
    (TransactionUpdate, {"action": "edit"}),
    (QuickInvoiceCreate, {"send_text_to_pay": True, "cell_phone": "5551234567"}),
    (QuickInvoiceCreate, {"send_text_to_pay": False}),
    (PaylinkCreate, {"delivery_method": 1}),
    (PaylinkCreate, {"delivery_method": 3, "cell_phone": "5551234567"}),
    (PaylinkUpdate, {"delivery_method": 2}),
    (PostbackConfigCreate, {"resource": "accountvault"}),
    (PostbackConfigCreate, {"resource": "transaction", "product_transaction_id": "p"}),
    (PostbackConfigUpdate, {"resource": "transaction"}),
    (PostbackConfigCreate, {"attempt_interval": 1, "number_of_attempts": 50}),
    (PaylinkCreate, {"amount_due": "99999999.99"}),
]


@pytest.mark.parametrize(("kind", "fields", "problem"), RULES)
def test_rules_between_fields(kind: type[Request], fields: dict[str, Any], problem: str) -> None:
    """Check fields that need, exclude or require each other."""
    assert found(kind, **fields) == [problem]
    assert found(kind, **fields, limits=False) == []


@pytest.mark.parametrize(("kind", "fields"), KEPT_RULES)
def test_content_that_keeps_the_rules_between_fields_is_accepted(kind: type[Request], fields: dict[str, Any]) -> None:
    assert found(kind, **fields) == []


# --- free-form JSON


@pytest.mark.parametrize("limits", [True, False])
@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (0.5, [".a: must not be a float; use a Decimal or a str"]),
        ([1, {"b": [0.5]}], [".a[1].b[0]: must not be a float; use a Decimal or a str"]),
        ({1: "x"}, [".a.1: its name must be text"]),
        ({"\ud800": "\udc00"}, [r".a.\ud800: its name has an invalid character (a lone surrogate)",
                                r".a.\ud800: has an invalid character (a lone surrogate)"]),
        (Decimal("NaN"), [".a: is not a number"]),
        ({1, 2}, [".a: cannot be sent as JSON: set"]),
        (b"x", [".a: cannot be sent as JSON: bytes"]),
        (Secret("\ud800"), [".a: has an invalid character (a lone surrogate)"]),
        ({CARD: 0.5}, [".a.************1111: must not be a float; use a Decimal or a str"]),
    ],
)  # fmt: skip
def test_unsendable_json(value: Any, lines: list[str], limits: bool) -> None:
    """Inside `custom_data` and `extra` each value that would change on the way is named by its place."""
    assert found(TransactionCreate, limits=limits, custom_data={"a": value}) == [f"custom_data{line}" for line in lines]
    assert found(TransactionCreate, limits=limits, extra={"a": value}) == [f"extra{line}" for line in lines]


def test_sendable_json() -> None:
    """Everything that JSON has, dates, decimals and read-only mappings."""
    value: Any = {"a": [None, True, 1, "x", Secret("x"), Decimal("1.5"), date(2025, 1, 2), (1,), MappingProxyType({})]}
    assert found(TransactionCreate, custom_data=value, extra=value) == []


def test_extra_does_not_shadow_a_field() -> None:
    assert found(CardVaultCreate, extra={"title": "x", "payment_method": "ach"}) == [
        "title: has its own field, so it cannot be in extra",
        "payment_method: has its own field, so it cannot be in extra",
    ]


def test_extra_is_a_mapping() -> None:
    assert found(ContactCreate, extra=["x"]) == ["extra: must be a mapping of field names to JSON values"]


# --- all at once


def test_problem_order() -> None:
    """Report all problems in this order: types, limits, rules, extra."""
    assert found(
        AchVaultCreate,
        without=("location_id",),
        title="",
        routing="1",
        is_company="no",
        contact_id="c",
        contact_api_id="a b",
        dl_number="D1",
        extra={"rate": 0.5},
    ) == [
        "location_id: is required",
        "contact_api_id: must contain no spaces",
        "title: must have 1 to 64 characters, has 0",
        "is_company: must be True or False, not str",
        "routing: must have 9 characters, has 1",
        "contact_id, contact_api_id: only one of them may be given",
        "dl_state: must be given together with dl_number",
        "extra.rate: must not be a float; use a Decimal or a str",
    ]


# --- amounts with types, tags, encrypted swipes

AMOUNTS_FOUND: list[tuple[Any, list[str]]] = [
    ([{"type": "4S", "amount": "12.50"}, {"type": "4U", "amount": Decimal("999999999.99")}], []),
    ([{"type": "4S", "amount": 12.5}], ["[0].amount: must be a Decimal, an int or a str, not float"]),
    ([{"type": "4S"}], ["[0].amount: is not an amount"]),
    ([{"type": "healthcare", "amount": 1}], ["[0].type: must have 2 characters"]),
    (
        [{"type": "4S", "amount": "1000000000.00"}],
        ["[0].amount: must have at most 12 characters including its two decimals, has 13"],
    ),
    (["4S", {"type": "4S"}], ["[0]: must be a mapping of type and amount, not str", "[1].amount: is not an amount"]),
    ([{"type": "4S", "amount": 1, "rate": 0.5}], ["[0].rate: must not be a float; use a Decimal or a str"]),
    ("4S", [": must be a sequence of texts, not str"]),
]


@pytest.mark.parametrize(("amounts", "said"), AMOUNTS_FOUND)
def test_additional_amounts(amounts: Any, said: list[str]) -> None:
    """Each amount is money of at most twelve characters, with a type of two; its position is named."""
    problems = found(TransactionCreate, additional_amounts=amounts)
    assert list(problems) == [f"additional_amounts{line}" for line in said]


@pytest.mark.parametrize("tags", ["vip", ["vip", "new"], ("vip",)])
def test_tags_are_one_title_or_several(tags: Any) -> None:
    assert found(TransactionCreate, tags=tags) == []
    assert found(TransactionUpdate, tags=tags) == []
    assert found(TransactionCreate, tags=b"vip") == ["tags: must be a sequence of texts or text, not bytes"]
    assert found(TransactionCreate, tags=[5]) == ["tags[0]: must be text"]


def test_check() -> None:
    """The number on a check comes with the line that a reader read; no other two sources go together."""
    check: dict[str, Any] = {"payment_method": "ach", "ach_sec_code": "C21", "account_type": "checking"}
    check |= {"account_holder_name": "Jo", "routing": "072000326", "track_data": "line"}
    assert found(TransactionCreate, without=("exp_date",), **check) == []
    assert found(TransactionCreate, without=("exp_date",), ticket="t", **check) == [
        f"account_number, track_data, ticket: exactly one of {SOURCES} is needed"
    ]
