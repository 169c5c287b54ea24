"""Users, roles, keys and passwords as documented, through raw HTTP and through the SDK."""

from functools import partial
from typing import Any

import httpx
import pytest

from .raw_client import RawClient
from .sides import Side, refused

GIVEN, OWN = "Given-password-1", "Own-password-12"
DEVICE = {"terminal_manufacturer_id": "1", "terminal_application_id": "1", "serial_number": "1234567890"}


def make_user(side: Side, *, role: int | None = 1, **fields: Any) -> tuple[str, str]:
    """Create a user with a role, and return its id and a generated key."""
    user_id = side.create("users", fields)["id"]
    if role:
        side.create("authroleusers", {"user_id": user_id, "auth_role_id": role})
    return user_id, side.act("users", user_id, "generateuserapikey")["user_api_key"]


def log_in(raw_client: RawClient, username: str, password: str) -> httpx.Response:
    login = {"username": username, "password": password, "domain": raw_client.info.domain}
    return raw_client.post("/v2/token", "", login)


def test_no_role(side: Side, raw_client: RawClient) -> None:
    """Each request is a 403, also the change of a terminal; a role changes that at once."""
    user_id, key = make_user(side, role=None)
    terminal_id = raw_client.info.terminal_id
    with side.sign_in(user_id, key) as user:
        assert refused(lambda: user.get("users", user_id)).status == 403
        assert refused(lambda: user.update("terminals", terminal_id, {"title": "Bar"})).status == 403
        role = side.create("authroleusers", {"user_id": user_id, "auth_role_id": 11})
        assert user.get("users", user_id)["id"] == user_id
        side.delete("authroleusers", role["id"])
        assert refused(lambda: user.get("users", user_id)).status == 403


def test_generated_key(side: Side) -> None:
    """The response has the key alone; the key before it is no longer accepted."""
    user_id = side.create("users", {"user_api_key": "first-key"})["id"]
    side.create("authroleusers", {"user_id": user_id, "auth_role_id": 1})
    with side.sign_in(user_id, "first-key") as user:
        assert user.get("users", user_id)["user_api_key"] is None
        made = user.act("users", user_id, "generateuserapikey")
        assert {name for name, value in made.items() if value is not None} == {"user_api_key"}
        assert refused(lambda: user.get("users", user_id)).status == 401
    with side.sign_in(user_id, made["user_api_key"]) as user:
        assert user.get("users", user_id)["id"] == user_id


@pytest.mark.parametrize("key", ["", "None", "null"])
def test_no_key_is_accepted_before_one_is_given(side: Side, raw_client: RawClient, key: str) -> None:
    user_id = side.create("users", {})["id"]
    headers = {"user-id": user_id, "user-api-key": key}
    assert raw_client.http.get("/v2/users/me", headers=headers).status_code == 401
    login = {"developer-id": raw_client.info.developer_id, "user-id": user_id, "timestamp": "1", "hash-key": "0" * 64}
    assert raw_client.anonymous.get("/v2/transactions", headers=login).status_code == 401


def test_deleted_user(side: Side, raw_client: RawClient) -> None:
    """Its key, its password and its tokens are no longer accepted, and its name can be given again."""
    user_id, key = make_user(side, username="grace", password=GIVEN)
    token = log_in(raw_client, "grace", GIVEN).json()["token"]["token"]
    side.delete("users", user_id)
    with side.sign_in(user_id, key) as user:
        assert refused(lambda: user.get("users", user_id)).status == 401
    assert log_in(raw_client, "grace", GIVEN).json()["message"] == "invalid user"
    headers = {"developer-id": raw_client.info.developer_id, "access-token": token}
    assert raw_client.anonymous.get("/v2/users/me", headers=headers).status_code == 401
    side.delete("users", side.create("users", {"username": "grace"})["id"])


def test_a_user_cannot_delete_itself_or_its_location(side: Side, raw_client: RawClient) -> None:
    for plural, record_id in (("users", raw_client.info.user_id), ("locations", raw_client.info.location_id)):
        error = refused(partial(side.delete, plural, record_id))
        assert (error.status, list(error.fields)) == (422, ["id"])


def test_a_user_name_is_unique_on_create_and_update(side: Side) -> None:
    first = side.create("users", {"username": "alan"})["id"]
    second = side.create("users", {})["id"]
    taken = {"username": ["username already exists"]}
    assert refused(lambda: side.create("users", {"username": "alan"})).fields == taken
    assert refused(lambda: side.update("users", second, {"username": "alan"})).fields == taken
    assert side.update("users", first, {"username": "alan"})["username"] == "alan"
    side.delete("users", first)


def test_first_password(side: Side, raw_client: RawClient) -> None:
    """A password that another user has set works once; the user's own, sent beside it, then works repeatedly."""
    user_id, key = make_user(side, username="edsger", password=GIVEN)
    assert side.get("users", user_id)["requires_new_password"] is True
    assert [log_in(raw_client, "edsger", GIVEN).status_code for _ in range(2)] == [201, 401]
    with side.sign_in(user_id, key) as user:
        for old in ({}, {"old_password": "Wrong-password-1"}):
            error = refused(partial(user.update, "users", user_id, {"password": OWN} | old))
            assert list(error.fields) == ["old_password"]
        changed = user.update("users", user_id, {"password": OWN, "old_password": GIVEN})
    assert changed["requires_new_password"] is False
    assert [log_in(raw_client, "edsger", OWN).status_code for _ in range(2)] == [201, 201]
    assert log_in(raw_client, "edsger", GIVEN).json()["message"] == "invalid password"
    side.delete("users", user_id)


def test_old_passwords(side: Side) -> None:
    """The fifth password may be the first again."""
    passwords = [f"Own-password-{number}" for number in range(1, 6)]
    user_id = side.create("users", {"password": passwords[0]})["id"]
    for password in passwords[1:4]:
        side.update("users", user_id, {"password": password})
    for password in passwords[:4]:
        error = refused(partial(side.update, "users", user_id, {"password": password}))
        assert list(error.fields) == ["password"]
    side.update("users", user_id, {"password": passwords[4]})
    side.update("users", user_id, {"password": passwords[0]})


def test_new_location(side: Side, raw_client: RawClient) -> None:
    """A new location takes payments at once, at its terminal too."""
    parent_id = raw_client.info.location_id
    location = side.create("locations", {"name": "Branch", "parent_id": parent_id})
    user_id, key = make_user(side, primary_location_id=location["id"])
    assert side.get("users", user_id)["primary_location_id"] == location["id"]
    with side.sign_in(user_id, key) as user:
        terminal = user.create("terminals", DEVICE | {"location_id": location["id"]})
        assert refused(lambda: user.get("locations", parent_id)).status == 404
        assert refused(lambda: user.get("users", raw_client.info.user_id)).status == 404
    headers = {"user-id": user_id, "user-api-key": key}
    sale = {"action": "sale", "payment_method": "cc", "transaction_amount": "1.00", "location_id": location["id"]}
    at_terminal = {"routertransaction": sale | {"terminal_id": terminal["id"]}}
    keyed = {"transaction": sale | {"account_number": "4111111111111111", "exp_date": "1230"}}
    for path, body in (("routertransactions", at_terminal), ("transactions", keyed)):
        made = raw_client.http.post(f"/v2/{path}", json=body, headers=headers)
        record = next(iter(made.json().values()))
        assert (made.status_code, record["status_id"], record["location_id"]) == (201, 101, location["id"])
        assert record["product_transaction_id"] == location["default_cc"]


def test_the_users_of_a_deleted_location(side: Side, raw_client: RawClient) -> None:
    location = side.create("locations", {"name": "Branch", "parent_id": raw_client.info.location_id})
    user_id, key = make_user(side, primary_location_id=location["id"])
    side.delete("locations", location["id"])
    with side.sign_in(user_id, key) as user:
        assert refused(lambda: user.get("users", user_id)).status == 401


def test_primary_location(side: Side, raw_client: RawClient) -> None:
    """By default it is the creator's; a deleted one is refused."""
    own = raw_client.info.location_id
    location = side.create("locations", {"name": "Branch", "parent_id": own})
    for fields in ({}, {"primary_location_id": None}):
        assert side.create("users", fields)["primary_location_id"] == own
    side.delete("locations", location["id"])
    error = refused(partial(side.create, "users", {"primary_location_id": location["id"]}))
    assert error.fields == {"primary_location_id": ["primary_location_id provided is not valid"]}


def test_a_user_can_change_but_not_lose_its_name(side: Side, raw_client: RawClient) -> None:
    error = refused(partial(side.update, "users", raw_client.info.user_id, {"username": None}))
    assert error.fields == {"username": ["Username cannot be blank."]}


def test_new_terminal(side: Side, raw_client: RawClient) -> None:
    """The terminal presents a card like the first one, until it is deleted."""
    terminal = side.create("terminals", DEVICE | {"location_id": raw_client.info.location_id})
    sale = {"action": "sale", "payment_method": "cc", "transaction_amount": "1.00", "terminal_id": terminal["id"]}
    made = raw_client.post("/v2/routertransactions", "routertransaction", sale).json()["routertransaction"]
    assert (made["status_id"], made["terminal_serial_number"]) == (101, DEVICE["serial_number"])
    side.delete("terminals", terminal["id"])
    refused = raw_client.post("/v2/routertransactions", "routertransaction", sale)
    assert (refused.status_code, refused.json()["errors"]) == (422, {"terminal_id": ["Terminal not found"]})


def test_the_default_accounts_of_a_location(side: Side, raw_client: RawClient) -> None:
    location = side.create("locations", {"name": "Branch", "parent_id": raw_client.info.location_id})
    cards, bank = location["default_cc"], location["default_ach"]
    assert side.update("locations", location["id"], {"default_cc": cards})["default_cc"] == cards
    for wrong in (bank, raw_client.info.cc_product_transaction_id):
        error = refused(partial(side.update, "locations", location["id"], {"default_cc": wrong}))
        assert error.fields == {"default_cc": ["default_cc provided is not valid"]}


def test_timeouts(side: Side, raw_client: RawClient) -> None:
    """A changed timeout leaves the others as they were."""
    made = side.create("terminals", DEVICE | {"location_id": raw_client.info.location_id})
    changed = side.update("terminals", made["id"], {"terminal_timeouts": {"overall_timeout": 60}})
    assert changed["terminal_timeouts"] == made["terminal_timeouts"] | {"overall_timeout": 60}


@pytest.mark.parametrize("plural", ["users", "terminals", "locations"])
def test_whole_record(side: Side, raw_client: RawClient, plural: str) -> None:
    """A client reads a record, changes it and sends all of it, also one that the sandbox made."""
    info = raw_client.info
    own = {"users": info.user_id, "terminals": info.terminal_id, "locations": info.location_id}
    record = raw_client.http.get(f"/v2/{plural}/{own[plural]}").json()[plural[:-1]]
    sent = {name: value for name, value in record.items() if name != "_links"}
    assert side.update(plural, own[plural], sent)["id"] == own[plural]
