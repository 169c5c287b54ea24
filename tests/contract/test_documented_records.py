"""The documented fields of locations, users, roles and terminals, row by row, through raw HTTP and through the SDK."""

from functools import partial
from itertools import count
from typing import Any

import pytest

from .documented_records import RECORDS, USER, DocumentedRecord, Fields
from .raw_client import RawClient
from .sides import Side, refused

SERIAL = count(1)
OWN_IDS = {"locations": "location_api_id", "terminals": "terminal_api_id"}


@pytest.fixture
def ids(raw_client: RawClient) -> dict[str, str]:
    """The ids that the rows name in angle brackets."""
    info = raw_client.info
    account = info.cc_product_transaction_id
    own = raw_client.location_api_id()
    return {"<location>": info.location_id, "<user>": info.user_id, "<account>": account, "<own>": own}


def filled(fields: Fields, ids: dict[str, str]) -> dict[str, Any]:
    """Return fields with the ids that they name, and a user name that no other user has."""
    values = {name: ids.get(value, value) if isinstance(value, str) else value for name, value in fields.items()}
    return values | ({"username": f"user-{next(SERIAL)}"} if "username" in values else {})


def having(kind: str) -> list[Any]:
    """Return a parameter for each record type that has rows of a kind, such as `lengths`."""
    return each_record(*(record for record in RECORDS if getattr(record, kind)))


def each_record(*records: DocumentedRecord) -> list[Any]:
    """Return a parameter for each record type."""
    return [pytest.param(record, id=record.plural) for record in records]


@pytest.mark.parametrize("record", each_record(*RECORDS))
def test_create(side: Side, ids: dict[str, str], record: DocumentedRecord) -> None:
    """The response, and a later read, have the values that were sent, by a POST or by a PUT."""
    sent = filled({**record.required, **record.once, **record.settable}, ids)
    made = side.create(record.plural, sent)
    read = side.get(record.plural, made["id"])
    changes = filled(record.settable, ids)
    smallest = side.create(record.plural, filled(record.required, ids))
    changed = side.update(record.plural, smallest["id"], changes) if changes else {}
    for name, value in sent.items():
        assert (made[name], read[name]) == (value, value), name
    assert {name: changed[name] for name in changes} == changes


@pytest.mark.parametrize("record", having("required"))
def test_required_field(side: Side, ids: dict[str, str], record: DocumentedRecord) -> None:
    """A POST without it names it."""
    for name in record.required:
        sent = {other: value for other, value in filled(record.required, ids).items() if other != name}
        error = refused(partial(side.create, record.plural, sent))
        assert (error.status, list(error.fields)) == (422, [name])


@pytest.mark.parametrize("record", having("invalid"))
def test_invalid_value(side: Side, ids: dict[str, str], record: DocumentedRecord) -> None:
    """The problem is that of the field."""
    for name, value in [(name, value) for name, values in record.invalid.items() for value in values]:
        sent = filled(record.required, ids) | {name: value}
        error = refused(partial(side.create, record.plural, sent))
        assert (error.status, list(error.fields)) == (422, [name]), value


def test_secrets(side: Side, raw_client: RawClient) -> None:
    """Passwords are never there, keys are null, and a list does not tell by filter or sort whether a guess is right."""
    made = side.create("users", USER.never_shown)
    shown = [made, side.get("users", made["id"]), *side.find("users", {"id": made["id"]})]
    shown.append(side.update("users", made["id"], {"first_name": "Ada"}))
    assert len(shown) == 4
    for record in shown:
        assert (record["user_api_key"], record["user_hash_key"]) == (None, None)
        assert not {"password", "old_password", "previous_passwords", "domain"} & {*record}
        assert not any(secret in str(record) for secret in USER.never_shown.values())
    for name in ("user_api_key", "user_hash_key", "password"):
        for query in ({name: "guess"}, {"sort": name}):
            assert raw_client.http.get("/v2/users", params=query).status_code == 422


@pytest.mark.parametrize("record", each_record(*RECORDS))
def test_deletion(side: Side, ids: dict[str, str], record: DocumentedRecord) -> None:
    """The record is gone, also from the list; a second DELETE has the documented status."""
    made = side.create(record.plural, filled(record.required, ids))
    side.delete(record.plural, made["id"])
    assert refused(lambda: side.delete(record.plural, made["id"])).status == record.deleted_again
    assert refused(lambda: side.get(record.plural, made["id"])).status == record.deleted_again
    assert side.find(record.plural, {"id": made["id"]}) == []
    assert refused(lambda: side.delete(record.plural, "f" * 24)).status == 404


@pytest.mark.parametrize(("plural", "name"), OWN_IDS.items())
def test_integrator_id(side: Side, ids: dict[str, str], plural: str, name: str) -> None:
    """A repeated id is refused until its record is deleted; an empty one may be on several, and replaces another."""
    (record,) = (record for record in RECORDS if record.plural == plural)
    required = filled(record.required, ids)
    made = [side.create(plural, required | {name: ""}) for _ in range(2)]
    assert [each[name] for each in made] == [None, None]
    own = {name: f"mine-{next(SERIAL)}"}
    named = side.update(plural, made[0]["id"], own)
    error = refused(lambda: side.create(plural, required | own))
    assert error.fields == {name: [f"{name} already exists in this location"]}
    assert side.update(plural, named["id"], {name: ""})[name] is None
    again = side.create(plural, required | own)
    side.delete(plural, again["id"])
    assert side.create(plural, required | own)[name] == own[name]
