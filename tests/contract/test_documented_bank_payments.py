"""The documented rules of bank payments (ACH), row by row, through raw HTTP and through the SDK."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.vendor_tables import read_table

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Side, Values, refusal

DAY = 24 * 60 * 60
ACH: dict[str, Any] = BANK_ACCOUNT | {"payment_method": "ach", "ach_sec_code": "WEB", "exp_date": ...}
STORED: dict[str, Any] = {"account_number": ..., "exp_date": ..., "payment_method": "ach"}


@pytest.mark.parametrize(("action", "type_id"), [("sale", 50), ("debit", 50), ("credit", 40), ("refund", 30)])
def test_new_payment(side: Side, sandbox: Sandbox, action: str, type_id: int) -> None:
    """Each bank payment starts at 131 with reason 1000 and the fixed approval code; nothing about cards is set."""
    made = _refund(side, sandbox) if action == "refund" else side.pay(action=action, **ACH)
    assert (made["type_id"], made["status_id"], made["reason_code_id"]) == (type_id, 131, 1000)
    assert made["auth_code"] == "AUTH NUM 272-172"
    assert (made["avs"], made["cvv_response"], made["batch"], made["entry_mode_id"]) == (None, None, None, "K")


def _refund(side: Side, sandbox: Sandbox, **fields: Any) -> Values:
    """Return a refund of a settled debit."""
    debit = side.pay(action="debit", **ACH)
    sandbox.advance(3 * DAY)
    source = {"previous_transaction_id": debit["id"], "ach_sec_code": "WEB"}
    return side.pay(**({"action": "refund"} | STORED | source | {"transaction_amount": "12.50"} | fields))


@pytest.mark.parametrize("source", ["account", "vault", "transaction"])
def test_routing_number(side: Side, raw_client: RawClient, sandbox: Sandbox, source: str) -> None:
    """Each source of the account gives the routing number, and the response of a vault does not show it."""
    if source == "vault":
        vault = raw_client.made("/v2/accountvaults", "accountvault", **BANK_ACCOUNT, payment_method="ach", is_company=0)
        assert vault["routing"] is None
        made = side.pay(action="debit", account_vault_id=vault["id"], **STORED)
    elif source == "transaction":
        made = _refund(side, sandbox)
    else:
        made = side.pay(action="debit", **ACH)
    assert made["routing"] == BANK_ACCOUNT["routing"]


def test_void(side: Side, sandbox: Sandbox) -> None:
    """A void of the same day sets 201, an amount of zero, and the time; after midnight it is refused."""
    debit, late = side.pay(action="debit", **ACH), side.pay(action="debit", **ACH)
    voided = side.change(debit, action="void")
    assert (voided["status_id"], voided["reason_code_id"], voided["transaction_amount"]) == (201, 1000, "0.00")
    assert ":" in voided["void_date"]
    sandbox.advance(DAY)
    assert list(refusal(lambda: side.change(late, action="void"))) == ["action"]


def test_the_effective_date_is_today_or_later(side: Side) -> None:
    assert side.pay(action="debit", **ACH)["effective_date"] is not None
    assert side.pay(action="debit", effective_date="2099-01-31", **ACH)["effective_date"] == "2099-01-31"


def test_a_refund_must_be_of_a_settled_debit(side: Side, sandbox: Sandbox) -> None:
    debit, credit = (side.pay(action=action, **ACH) for action in ("debit", "credit"))
    refund = STORED | {"ach_sec_code": "WEB", "action": "refund"}
    for _ in range(3):
        for payment in (debit, credit):
            problems = refusal(partial(side.pay, **refund, previous_transaction_id=payment["id"]))
            assert list(problems) == ["previous_transaction_id"]
        sandbox.advance(DAY)
    made = side.pay(**refund, previous_transaction_id=debit["id"])
    assert (made["status_id"], made["type_id"], made["transaction_amount"]) == (131, 30, "12.50")


def test_partial_refund(side: Side, sandbox: Sandbox) -> None:
    """The bank accepts the full amount only: a part is approved and rejected later. A credit gives a part back."""
    part, whole = _refund(side, sandbox, transaction_amount="5.00"), _refund(side, sandbox)
    credit = _refund(side, sandbox, action="credit", transaction_amount="5.00", ach_sec_code="CCD")
    assert (part["status_id"], part["reason_code_id"], credit["type_id"]) == (131, 1000, 40)
    sandbox.advance(4 * DAY)
    part, whole, credit = side.read(part), side.read(whole), side.read(credit)
    assert (part["status_id"], part["reason_code_id"], part["verbiage"]) == (331, 2119, "Rejected-R19")
    assert (whole["status_id"], whole["reason_code_id"], credit["status_id"]) == (134, 1000, 134)


NUMBERS = {
    "R": (2100, [*range(1, 48), *range(50, 54), *range(61, 75), *range(80, 84)]),
    "C": (2200, [*range(1, 14), *range(61, 70)]),
    "X": (2300, [1, *range(4, 11), 21, 22, 23, 29, 45, 71, 72, 73]),
}
CODES = [(f"{kind}{number:02}", first + number) for kind, (first, numbers) in NUMBERS.items() for number in numbers]


def test_return_codes() -> None:
    """Each documented code has its reason, and all but notices of change take the money back."""
    assert read_table("bank_codes") == [
        [code, str(reason), "corrected" if code.startswith("C") else "returned"] for code, reason in CODES
    ]


@pytest.mark.parametrize(
    ("code", "reason"), [("R01", 2101), ("R83", 2183), ("C01", 2201), ("C69", 2269), ("X73", 2373)]
)
def test_later_return(side: Side, sandbox: Sandbox, code: str, reason: int) -> None:
    """The status, the reason and the verbiage change; a notice of change keeps the status."""
    debit = side.pay(action="debit", **ACH)
    sandbox.advance(DAY)
    sandbox.return_payment(debit["id"], code)
    returned = side.read(debit)
    status = 132 if code.startswith("C") else 331
    assert (returned["status_id"], returned["reason_code_id"], returned["verbiage"]) == (
        status,
        reason,
        f"Rejected-{code}",
    )
    assert (returned["return_date"] is None) == code.startswith("C")


def test_unreturnable(side: Side, sandbox: Sandbox) -> None:
    """A card payment, a payment of today and an unknown code are refused by name."""
    debit = side.pay(action="debit", **ACH)
    for payment in (debit, side.pay()):
        with pytest.raises(InvalidRequestError, match="it is not with a bank"):
            sandbox.return_payment(payment["id"])
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: code: 'R99'"):
        sandbox.return_payment(debit["id"], "R99")


def test_a_missing_sec_code_has_the_gateways_message(side: Side) -> None:
    assert refusal(lambda: side.pay(action="debit", **ACH | {"ach_sec_code": ...})) == {
        "ach_sec_code": ["ach_sec_code cannot be blank"]
    }


CHECK = {"check_number": "1001", "image_front": "aGk=", "image_back": "aGk=", "track_data": "d072000326d100020003000c"}


@pytest.mark.parametrize(
    ("sec_code", "names"), [("TEL", ["check_number"]), ("C21", list(CHECK)), ("WEB", []), ("PPD", []), ("CCD", [])]
)
def test_fields_by_code(side: Side, sec_code: str, names: list[str]) -> None:
    """A payment by telephone needs a check number, a check image everything about the check."""
    fields = {name: CHECK[name] for name in names}
    account = ACH | {"ach_sec_code": sec_code}
    assert side.pay(action="debit", **account, **fields)["status_id"] == 131
    for name in names:
        rest = {other: value for other, value in fields.items() if other != name}
        assert list(refusal(partial(side.pay, action="debit", **account, **rest))) == [name]


CHECK_FIELDS = {"TEL": ("check_number",), "POP": ("track_data",), "C21": tuple(CHECK)}
ADDRESS = {"billing_street": "1 Main St", "billing_city": "Ada", "billing_state": "MI", "billing_zip": "49301"}
PHONE = {"billing_phone": "6165550100"}
LICENSE = {"dl_number": "D100", "dl_state": "MI"}
TERMINALS = """
    10 PPD full no
    17 CCD full no
    12 TEL full no
    20 PPD identity no
    27 CCD identity no
    23 WEB identity no
    22 TEL identity no
    11 POP identity no
    16 C21 identity no
    18 PPD full yes
    19 CCD full yes
    28 PPD identity yes
    29 CCD identity yes
"""
"""The first two digits, the SEC code, when an address is needed, and whether credits are allowed."""

KINDS = [line.split() for line in TERMINALS.strip().splitlines()]
ROWS = [
    (f"{kind}1{number % 8}", sec_code, address, credit == "yes")
    for number, (kind, sec_code, address, credit) in enumerate(KINDS * 2)
]
"""Each kind of terminal twice, and each combination of proofs."""


def test_test_terminals() -> None:
    """Each kind of terminal has its SEC code, its address and its credits."""
    assert sorted(read_table("ach_terminals")) == sorted(KINDS)


@pytest.mark.parametrize(("number", "sec_code", "address", "allows_credit"), ROWS)
def test_terminal_fields(
    side: Side, raw_client: RawClient, bank_terminal: Any, number: str, sec_code: str, address: str, allows_credit: bool
) -> None:
    """Each needed field is named when missing; a credit is refused where it is not allowed."""
    bank_terminal(number)
    proofs = int(number[-1])
    needed: dict[str, Any] = LICENSE if proofs & 1 else {}
    needed = needed | ({"ssn4": "1234"} if proofs & 2 else {})
    needed = needed | (ADDRESS if address == "full" or proofs & 2 else {})
    needed = needed | (PHONE if address == "full" else {})
    needed = needed | {name: CHECK[name] for name in CHECK_FIELDS.get(sec_code, ())}
    account = ACH | {"ach_sec_code": sec_code}
    assert side.pay(action="debit", **account, **needed)["status_id"] == 131
    missing = {name: needed[name] for name in CHECK_FIELDS.get(sec_code, ()) if sec_code in ("POP", "C21")}
    assert set(refusal(lambda: side.pay(action="debit", **account, **missing)) if needed != missing else ()) == {
        name for name in needed if name not in missing
    }
    if allows_credit:
        assert side.pay(action="credit", **account, **needed)["status_id"] == 131
    else:
        assert list(refusal(lambda: side.pay(action="credit", **account, **needed))) == ["action"]


@pytest.mark.parametrize(("sec_code", "terminal"), [("POP", "1110"), ("C21", "1610")])
def test_a_terminal_for_checks_needs_the_track(side: Side, bank_terminal: Any, sec_code: str, terminal: str) -> None:
    bank_terminal(terminal)
    check = {**ACH, **CHECK, "ach_sec_code": sec_code, "track_data": ...}
    assert list(refusal(lambda: side.pay(action="debit", **check))) == ["track_data"]


@pytest.mark.parametrize("sec_code", ["POP", "C21", "WEB", "TEL"])
def test_verification(side: Side, sec_code: str) -> None:
    """A check can be verified without moving money; other bank accounts cannot."""
    check = {**ACH, **CHECK, "ach_sec_code": sec_code, "action": "avsonly", "transaction_amount": ...}
    if sec_code in ("WEB", "TEL"):
        check |= {"track_data": ...}
        assert list(refusal(lambda: side.pay(**check))) == ["action"]
        return
    made = side.pay(**check)
    assert (made["status_id"], made["type_id"], made["transaction_amount"], made["auth_code"]) == (121, 21, "0.00", "")


def test_a_test_terminal_refuses_another_sec_code(side: Side, bank_terminal: Any) -> None:
    bank_terminal("2310")
    assert side.pay(action="debit", **ACH)["status_id"] == 131
    assert list(refusal(lambda: side.pay(action="debit", **ACH | {"ach_sec_code": "PPD"}))) == ["ach_sec_code"]


def test_an_unknown_test_terminal_is_refused(sandbox: Sandbox) -> None:
    for number in ("9910", "1018", "10", "x"):
        with pytest.raises(InvalidRequestError, match=r"^nothing was sent: ach_terminal: "):
            sandbox.change_product(sandbox.ach_product_transaction_id, ach_terminal=number)


@pytest.fixture
def license_verification(sandbox: Sandbox) -> Iterator[None]:
    """Let the merchant account for bank payments verify driver's licenses until the test ends."""
    product = sandbox.ach_product_transaction_id
    sandbox.change_product(product, license_verification=True)
    yield
    sandbox.change_product(product, license_verification=False)


PROOFS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["customer_id"]),
    ({"customer_id": ""}, ["customer_id"]),
    ({"customer_id": "c1"}, []),
    (LICENSE, []),
    (LICENSE | {"customer_id": "c1"}, []),
]
"""The fields of a customer, and those that are missing where licenses are verified."""


@pytest.mark.usefixtures("license_verification")
@pytest.mark.parametrize(("fields", "missing"), PROOFS)
def test_a_bank_payment_needs_a_license_or_a_customer(side: Side, fields: dict[str, Any], missing: list[str]) -> None:
    if missing:
        assert list(refusal(lambda: side.pay(action="debit", **ACH, **fields))) == missing
    else:
        assert side.pay(action="debit", **ACH, **fields)["status_id"] == 131


@pytest.mark.usefixtures("license_verification")
@pytest.mark.parametrize(("fields", "missing"), [proof for proof in PROOFS if proof[0].get("customer_id") != ""])
def test_vault_license(side: Side, raw_client: RawClient, fields: dict[str, Any], missing: list[str]) -> None:
    """A payment from the vault needs no more, and one by card nothing."""
    account = BANK_ACCOUNT | {"payment_method": "ach", "is_company": 0, "location_id": raw_client.info.location_id}
    response = raw_client.post("/v2/accountvaults", "accountvault", account | fields)
    if missing:
        assert list(response.json()["errors"]) == missing
    else:
        vault_id = response.json()["accountvault"]["id"]
        assert side.pay(action="debit", account_vault_id=vault_id, **STORED)["status_id"] == 131
    assert side.pay()["status_id"] == 101


@pytest.fixture
def bank_terminal(sandbox: Sandbox) -> Iterator[Any]:
    """Choose the test terminal of the merchant account until the test ends."""
    product = sandbox.ach_product_transaction_id
    yield lambda number: sandbox.change_product(product, ach_terminal=number)
    sandbox.change_product(product, ach_terminal="")
