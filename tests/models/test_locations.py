"""Locations, users and terminals: secrets are masked, and odd values make no record unreadable."""

from typing import Any

import attrs
import pytest

from gateway_async import Location, LocationInfo, ProductTransaction, Secret, Terminal, User
from gateway_async._secrets import seal
from gateway_async._wire.convert import FieldError
from gateway_async._wire.rows import structure
from gateway_async.models.record import Record

KINDS: list[type[Record]] = [Location, LocationInfo, ProductTransaction, Terminal, User]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_value(kind: type[Record]) -> None:
    """A list or a word where something else is expected leaves the rest of the record readable."""
    for field in (field for field in attrs.fields(kind) if field.name not in ("id", "extra")):
        is_list = any(word in str(field.type) for word in ("tuple", "Sequence"))
        odd: Any = "soon" if is_list else [{"a": [1]}]
        record = structure(kind, {"id": "x", field.name: odd})
        assert getattr(record, field.name) is None, field.name
        assert record.extra == seal({field.name: odd})


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_has_an_id(kind: type[Record]) -> None:
    with pytest.raises(FieldError, match="id: missing"):
        structure(kind, {"name": "Shop", "title": "Counter"})


def test_location_secrets() -> None:
    """Neither keys nor the bank account are in the repr; `reveal()` returns a key."""
    location = structure(
        Location,
        {"id": "x", "location_api_key": "key-1", "ticket_hash_key": "key-2", "aba": "072000326", "dda": "100020003000"},
    )
    shown = repr(location)
    assert not [secret for secret in ("key-1", "key-2", "072000326", "100020003000") if secret in shown]
    assert location.location_api_key == Secret("key-1")
    assert location.ticket_hash_key is not None
    assert location.ticket_hash_key.reveal() == "key-2"


def test_user_secrets() -> None:
    """Keys are masked, and a password that a gateway returns is in `extra`, whose values are not shown."""
    user = structure(User, {"id": "x", "user_api_key": "key-1", "user_hash_key": "key-2", "password": "word-3"})
    assert not [secret for secret in ("key-1", "key-2", "word-3") if secret in repr(user)]
    assert user.user_api_key == Secret("key-1")


def test_location_info() -> None:
    """Both are records, with unknown settings in their `extra`."""
    info = structure(
        LocationInfo,
        {
            "id": "x",
            "product_transactions": [{"id": "p", "payment_method": "cc", "vt_require_zip": True}],
            "terminals": [{"id": "t", "title": "Counter", "local_ip_address": "10.0.0.7", "port": "10009"}],
            "product_recurring": {"require_full_payment": 1},
        },
    )
    assert info.product_transactions == (
        ProductTransaction(id="p", payment_method="cc", extra={"vt_require_zip": True}),
    )
    assert info.terminals == (Terminal(id="t", title="Counter", local_ip_address="10.0.0.7", port=10009),)
    assert info.product_recurring == {"require_full_payment": 1}
