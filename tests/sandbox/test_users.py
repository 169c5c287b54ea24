"""Users, their roles and terminals: what stays after a reset or a restart, and which values are secret."""

import hashlib
import hmac
from pathlib import Path
from typing import Any

import httpx

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.request_log import LoggedRequest
from tests.support import plain_http

from .conftest import Errors, Eventually, OpenShop, Record, Shop

PASSWORD = "Planted-secret-1"
DEVICE = {"serial_number": "1234567890", "terminal_manufacturer_id": "1", "terminal_application_id": "1"}


def made(shop: Shop, noun: str, **fields: Any) -> Record:
    response = shop.post(noun, f"/v2/{noun}s", fields)
    assert response.status_code == 201, response.text
    record: Record = response.json()[noun]
    return record


def branch(shop: Shop) -> Record:
    return made(shop, "location", name="Branch", parent_id=shop.info.location_id)


def log_in(shop: Shop, username: str, password: str) -> httpx.Response:
    login = {"username": username, "password": password, "domain": shop.info.domain}
    headers = {"developer-id": shop.info.developer_id}
    return plain_http.post(f"{shop.info.base_url}/v2/token", json=login, headers=headers)


def ids(shop: Shop, plural: str) -> list[str]:
    return [each["id"] for each in shop.get(f"/v2/{plural}").json()[plural]]


def test_reset(sandbox: Sandbox, shop: Shop) -> None:
    """A reset deletes what requests created; the sandbox's own locations, users, roles and terminals stay."""
    second = sandbox.add_location("Second", parent_id=shop.info.location_id)
    families = ("locations", "users", "authroleusers", "terminals")
    before = {plural: ids(shop, plural) for plural in families}
    made(shop, "user", primary_location_id=branch(shop)["id"])
    made(shop, "authroleuser", user_id=shop.info.user_id, auth_role_id=2)
    made(shop, "terminal", location_id=shop.info.location_id, **DEVICE)
    assert all(len(ids(shop, plural)) == len(before[plural]) + 1 for plural in families)
    sandbox.reset()
    assert {plural: ids(shop, plural) for plural in families} == before
    assert {shop.info.location_id, second.location_id} == {*before["locations"]}


def test_restored_records(sandbox: Sandbox, shop: Shop, open_shop: OpenShop) -> None:
    """A reset brings the second location, its user and its role, and the first terminal back."""
    second = sandbox.add_location("Second", parent_id=shop.info.location_id)
    assert shop.http.delete(f"/v2/locations/{second.location_id}").status_code == 204
    assert shop.http.delete(f"/v2/terminals/{shop.info.terminal_id}").status_code == 204
    (role,) = shop.get("/v2/authroleusers", user_id=second.user_id).json()["authroleusers"]
    assert shop.http.delete(f"/v2/authroleusers/{role['id']}").status_code == 204
    sandbox.reset()
    assert open_shop(second).get("/v2/users/me").json()["user"]["id"] == second.user_id
    assert shop.at_terminal().json()["routertransaction"]["status_id"] == 101


def test_info(tmp_path: Path, open_shop: OpenShop) -> None:
    """A new key, name and password of the first user are in the info, also after a restart."""
    with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
        shop = open_shop(sandbox.info)
        path = f"/v2/users/{shop.info.user_id}"
        changes = {"username": "ada", "password": PASSWORD, "old_password": sandbox.password}
        assert shop.put("user", path, changes).status_code == 200
        key = shop.http.post(f"{path}/generateuserapikey").json()["user"]["user_api_key"]
        assert (sandbox.username, sandbox.password, sandbox.user_api_key) == ("ada", PASSWORD, key)
        assert shop.get("/v2/contacts").status_code == 401
    with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
        assert (sandbox.username, sandbox.password, sandbox.user_api_key) == ("ada", PASSWORD, key)
        assert open_shop(sandbox.info).get("/v2/contacts").status_code == 200


def test_restart(tmp_path: Path, open_shop: OpenShop) -> None:
    """A user and its role survive, and the first user gets a lost role back."""
    with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
        shop = open_shop(sandbox.info)
        user = made(shop, "user", user_api_key="planted-key")
        (own,) = ids(shop, "authroleusers")
        made(shop, "authroleuser", user_id=user["id"], auth_role_id=1)
        assert shop.http.delete(f"/v2/authroleusers/{own}").status_code == 204
        assert shop.get("/v2/contacts").status_code == 403
    with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
        shop = open_shop(sandbox.info)
        assert shop.get("/v2/contacts").status_code == 200
        assert shop.http.get("/v2/users/me", headers={"user-id": user["id"], "user-api-key": "planted-key"}).is_success


def test_new_user(sandbox: Sandbox, shop: Shop) -> None:
    """Without a role a user logs in and out, and has no other rights; with one, its hash-key signs requests."""
    key, now = "planted-hash-key-of-24-or-more", str(int(sandbox.now()))
    user = made(shop, "user", username="ada", password=PASSWORD, user_hash_key=key)
    token = log_in(shop, "ada", PASSWORD).json()["token"]
    assert (token["id"], token["primary_location_id"]) == (user["id"], shop.info.location_id)
    headers = {"developer-id": shop.info.developer_id, "access-token": token["token"]}
    with plain_http.open_client(base_url=shop.info.base_url, headers=headers) as http:
        refused = http.get("/v2/contacts")
        assert (refused.status_code, refused.json()["message"]) == (403, "The user has no rights before it has a role.")
        assert http.delete(f"/v2/token/{token['token']}").status_code == 204
    made(shop, "authroleuser", user_id=user["id"], auth_role_id=1)
    digest = hmac.new(key.encode(), f"{user['id']}{now}".encode(), hashlib.sha256).hexdigest()
    signed = {"developer-id": shop.info.developer_id, "user-id": user["id"], "timestamp": now, "hash-key": digest}
    assert plain_http.get(f"{shop.info.base_url}/v2/transactions", params=signed).status_code == 200


def test_logged_secrets(open_shop: OpenShop, errors: Errors, eventually: Eventually) -> None:
    """Neither a refusal nor its log entry shows a password or a key."""
    entries: list[LoggedRequest] = []
    with Sandbox(on_request=entries.append) as sandbox:
        shop = open_shop(sandbox.info)
        for fields in ({"password": "planted"}, {"user_hash_key": "planted"}, {"password": PASSWORD, "username": ""}):
            response = shop.post("user", "/v2/users", fields)
            assert errors(response)
            assert "lanted" not in response.text
        eventually(lambda: len(entries) == 3)  # a request is logged after its response
        assert "lanted" not in str(entries)
        assert PASSWORD not in repr(sandbox.info)


def test_a_deleted_terminal_is_not_listed(sandbox: Sandbox, shop: Shop) -> None:
    terminal = made(shop, "terminal", location_id=shop.info.location_id, **DEVICE)
    assert terminal["id"] in [each["id"] for each in sandbox.terminals()]
    shop.http.delete(f"/v2/terminals/{terminal['id']}")
    assert [each["id"] for each in sandbox.terminals()] == [shop.info.terminal_id]
    info = shop.get("/v2/locationinfos", expand="terminals").json()["locationinfos"][0]
    location = shop.get(f"/v2/locations/{shop.info.location_id}", expand="terminal").json()["location"]
    assert [each["id"] for each in info["terminals"]] == [shop.info.terminal_id]
    assert [each["id"] for each in location["terminal"]] == [shop.info.terminal_id]
    assert len(shop.get("/v2/locationinfos").json()["locationinfos"][0]["terminals"]) == 1


def test_visible_locations(shop: Shop, open_shop: OpenShop, sandbox: Sandbox) -> None:
    """A user sees the locations directly below its own; a parent is the caller's own location."""
    second = sandbox.add_location("Second", parent_id=shop.info.location_id)
    below = branch(open_shop(second))
    assert shop.get(f"/v2/locations/{below['id']}").status_code == 404
    refused = shop.post("location", "/v2/locations", {"name": "Tea", "parent_id": second.location_id})
    assert refused.json()["errors"] == {"parent_id": ["parent_id provided is not valid"]}
