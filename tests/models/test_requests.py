"""Requests: what each needs, which values are secrets, what they show of themselves, and `UNSET`."""

import copy
import io
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pytest

from gateway_async._secrets import AccountNumber, Secret
from gateway_async.errors import InvalidRequestError
from gateway_async.models.account_vaults import (
    AccountVaultUpdate,
    AchVaultCreate,
    CardVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
)
from gateway_async.models.contacts import ContactCreate, ContactUpdate
from gateway_async.models.files import Attachment
from gateway_async.models.postback_configs import PostbackConfig, PostbackConfigCreate, PostbackConfigUpdate
from gateway_async.models.request import UNSET, Request
from gateway_async.models.time_range import TimeRange
from gateway_async.models.transactions import TransactionCreate

# --- any request


CARD = "4111111111111111"
BANK_ACCOUNT: dict[str, Any] = {
    "account_number": "123456789012",
    "routing": "072000326",
    "account_holder_name": "Jo",
    "account_type": "checking",
    "is_company": False,
}


@pytest.mark.parametrize(
    ("kind", "fields", "secrets"),
    [
        (CardVaultCreate, {"exp_date": "0930"}, {"account_number": AccountNumber(CARD)}),
        (SwipedVaultCreate, {}, {"track_data": Secret("track")}),
        (
            AchVaultCreate,
            BANK_ACCOUNT,
            {name: AccountNumber(BANK_ACCOUNT[name]) for name in ("account_number", "routing")},
        ),
        (TicketVaultCreate, {}, {"ticket": Secret("ticket-1")}),
        (TransactionCreate, {"action": "sale"}, dict.fromkeys(["account_number", "routing"], AccountNumber(CARD))),
        (TransactionCreate, {"action": "sale"}, dict.fromkeys(["cvv", "track_data", "ticket"], Secret("s"))),
    ],
)
def test_account_data(kind: type[Request], fields: dict[str, Any], secrets: dict[str, Secret]) -> None:
    """Numbers, CVV, track data and tickets become secrets as soon as the request is made."""
    new = kind(**fields | {name: secret.reveal() for name, secret in secrets.items()})
    assert {name: getattr(new, name) for name in secrets} == secrets
    assert [type(getattr(new, name)) for name in secrets] == [type(secret) for secret in secrets.values()]


def test_repr() -> None:
    """Defaults are left out; secrets are masked, personal data hidden, and `extra` shows its keys."""
    assert repr(AchVaultCreate(**BANK_ACCOUNT, ssn4="8264", extra={"loyalty": "gold"})) == (
        "AchVaultCreate(ssn4=***, account_number=AccountNumber('************9012'), "
        "account_holder_name='Jo', account_type='checking', is_company=False, "
        "routing=AccountNumber('************0326'), extra=<loyalty>)"
    )


def test_null_fields() -> None:
    """None is sent, so it is shown; what is left out is not."""
    assert repr(AccountVaultUpdate(title=None)) == "AccountVaultUpdate(title=None)"


def test_a_repr_masks_card_numbers() -> None:
    assert repr(ContactCreate(last_name="4111 1111 1111 1111")) == "ContactCreate(last_name='************1111')"


def test_masked_repr() -> None:
    """A date of birth is hidden, and so are confidential names within free-form data."""
    contact = ContactCreate(last_name="Smith", date_of_birth=date(1983, 5, 6))
    assert repr(contact) == "ContactCreate(last_name='Smith', date_of_birth=***)"
    assert repr(ContactUpdate(date_of_birth=None)) == "ContactUpdate(date_of_birth=***)"
    sale = TransactionCreate(action="sale", custom_data={"dob_year": 1983, "table": 4})
    assert repr(sale) == "TransactionCreate(action='sale', custom_data={'dob_year': '***', 'table': 4})"


@pytest.mark.parametrize(("extra", "shown"), [({}, ""), ({1: 2}, ", extra=<1>"), (5, ""), (None, "")])
def test_a_repr_survives_a_wrong_extra(extra: Any, shown: str) -> None:
    assert repr(ContactCreate(last_name="Smith", extra=extra)) == f"ContactCreate(last_name='Smith'{shown})"


def test_left_out_is_the_default_of_an_update() -> None:
    fields = attrs.asdict(ContactUpdate(), recurse=False)
    del fields["extra"]
    assert set(fields.values()) == {UNSET}


def test_unset_copies_and_pickles_to_itself() -> None:
    assert repr(UNSET) == "UNSET"
    assert copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET  # noqa: S301  our own bytes


def test_keywords() -> None:
    """Positions would make two texts easy to swap."""
    with pytest.raises(TypeError):
        ContactCreate("Smith")  # type: ignore[arg-type, call-arg]


def test_a_request_rejects_changes_once_it_is_made() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ContactCreate(last_name="Smith").last_name = ""  # type: ignore[misc]


# --- account vaults


@pytest.mark.parametrize("kind", [TicketVaultCreate, TransactionVaultCreate, VaultCopyCreate])
def test_chosen_method(kind: Any) -> None:
    """A ticket, a transaction or another vault may hold a card or a bank account; a card is assumed."""
    ticket = {"ticket": "t"} if kind is TicketVaultCreate else {}
    assert kind(**ticket).payment_method == "cc"
    assert kind(payment_method="ach", **ticket).payment_method == "ach"


# --- attachments


@pytest.mark.parametrize(
    ("content", "kind"), [(b"secret bytes", "bytes"), (Path("a/b.pdf"), "path"), (io.BytesIO(b"secret bytes"), "file")]
)
def test_attachment_repr(content: object, kind: str) -> None:
    """The filename, and whether it is bytes, a path or a file."""
    assert repr(Attachment("receipt.pdf", content)) == f"Attachment('receipt.pdf', <{kind}>)"  # type: ignore[arg-type]


def test_a_card_number_in_a_filename_is_masked() -> None:
    assert "4111111111111111" not in repr(Attachment("4111111111111111.pdf", b""))


# --- postback configs


def test_password() -> None:
    """A create, an update and a record seal the password; an update can also leave it out, or remove it."""
    create = PostbackConfigCreate(url="https://shop.test", resource="contact", basic_auth_password="pw")
    assert create.basic_auth_password == Secret("pw")
    assert PostbackConfigUpdate(basic_auth_password="pw").basic_auth_password == Secret("pw")
    assert PostbackConfigUpdate(basic_auth_password=None).basic_auth_password is None
    assert PostbackConfigUpdate().basic_auth_password is UNSET
    assert PostbackConfig(id="p", basic_auth_password="pw").basic_auth_password == Secret("pw")


# --- time ranges


NAMES = ["today", "yesterday", "this week", "last week", "last 30 days", "this month", "last month"]
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("name", NAMES)
def test_the_named_ranges(name: str) -> None:
    """Each constant has the contract's name and no bounds of its own."""
    assert getattr(TimeRange, name.upper().replace(" ", "_")) == TimeRange(name, None, None)


def test_custom_span() -> None:
    """`custom` keeps both ends, in any time zone; a moment is a span too."""
    end = datetime(2025, 3, 2, tzinfo=timezone(timedelta(hours=-5)))
    assert TimeRange.custom(NOON, end) == TimeRange("custom", NOON, end)
    assert TimeRange.custom(NOON, NOON) == TimeRange("custom", NOON, NOON)


@pytest.mark.parametrize("wrong", [datetime(2025, 3, 1), date(2025, 3, 1), "2025-03-01", 1740830400, None])  # noqa: DTZ001  the mistake under test
def test_naive_end(wrong: Any) -> None:
    """Only aware datetimes say what they mean, however the range is made."""
    for make in (TimeRange.custom, partial(TimeRange, "custom")):
        for ends in ((wrong, NOON), (NOON, wrong)):
            with pytest.raises(InvalidRequestError, match="aware datetimes"):
                make(*ends)
    with pytest.raises(InvalidRequestError, match=r"name must be text \(expected TimeRange\.custom\(start, end\)"):
        TimeRange(NOON, NOON)  # type: ignore[arg-type]


def test_repeated_hour() -> None:
    """Times in one zone are compared as moments, not by their clocks, when summer time ends."""
    summer = datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=BERLIN)
    winter = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=BERLIN)
    assert TimeRange.custom(summer, winter) == TimeRange("custom", summer, winter)
    with pytest.raises(InvalidRequestError, match="end is before start"):
        TimeRange.custom(winter, summer)
