"""Tokens: login, expiry and revocation."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox, SandboxInfo
from tests.support import plain_http

from .conftest import Errors, Shop, recorded

MINUTES = 60


def log_in(info: SandboxInfo | Sandbox, **changes: Any) -> httpx.Response:
    """Log in with only the developer id; `...` omits a field."""
    login = {"username": info.username, "password": info.password, "domain": info.domain} | changes
    login = {name: value for name, value in login.items() if value is not ...}
    return plain_http.post(f"{info.base_url}/v2/token", json=login, headers={"developer-id": info.developer_id})


def token_of(info: SandboxInfo | Sandbox) -> str:
    return str(log_in(info).json()["token"]["token"])


def ask(info: SandboxInfo | Sandbox, token: str, path: str = "/v2/contacts") -> int:
    """The status of a request with a token."""
    headers = {"developer-id": info.developer_id, "access-token": token}
    return plain_http.get(info.base_url + path, headers=headers).status_code


def test_login(sandbox: Sandbox) -> None:
    """The response is 201 in the recorded form, with 15 minutes."""
    sample = recorded("token-create-response")
    response = log_in(sandbox.info)
    token = response.json()["token"]
    assert (response.status_code, list(token)) == (201, list(sample))
    assert {name: type(value) for name, value in token.items()} == {name: type(sample[name]) for name in sample}
    assert (token["expire"], token["username"], token["user_type_id"]) == (15, sandbox.username, 200)
    assert token["primary_location_id"] == sandbox.location_id
    assert token["password_expire_ts"] > token["time"]
    assert ask(sandbox.info, token["token"]) == 200


def test_a_refused_login_repeats_nothing_of_it(sandbox: Sandbox) -> None:
    for field, message in [("username", "invalid user"), ("domain", "invalid user"), ("password", "invalid password")]:
        response = log_in(sandbox.info, **{field: "planted"})
        assert (response.status_code, response.json()["message"]) == (401, message)
        assert "planted" not in response.text, field


def test_domains(sandbox: Sandbox) -> None:
    """User names are unique within a domain only."""
    second = sandbox.add_location()
    assert log_in(sandbox.info, username=second.username).json()["message"] == "invalid user"
    assert log_in(second).json()["token"]["primary_location_id"] == second.location_id


def test_a_login_has_three_required_texts(sandbox: Sandbox, errors: Errors) -> None:
    for field in ("username", "password", "domain"):
        for value in (..., "", None, 7, ["x"]):
            assert list(errors(log_in(sandbox.info, **{field: value}))) == [field]


def test_login_body(sandbox: Sandbox) -> None:
    """The login has no wrapper, and needs the developer id; an unknown field has no effect. It cannot be read again."""
    url, developer = f"{sandbox.base_url}/v2/token", {"developer-id": sandbox.developer_id}
    for body in (b"[]", b'"x"', b"", b"{"):
        assert plain_http.post(url, content=body, headers=developer).status_code == 400
    assert log_in(sandbox.info, remember=True).status_code == 201
    login = {"username": sandbox.username, "password": sandbox.password, "domain": sandbox.domain}
    assert plain_http.post(url, json=login, headers={"user-id": sandbox.user_id}).status_code == 401
    assert [ask(sandbox.info, token_of(sandbox.info), path) for path in ("/v2/token", "/v2/token/x")] == [405, 405]


def test_idle_token(sandbox: Sandbox) -> None:
    """A token expires after 15 minutes without a request, and not before."""
    token = token_of(sandbox.info)
    sandbox.advance(15 * MINUTES - 5)
    assert ask(sandbox.info, token) == 200
    sandbox.advance(15 * MINUTES - 5)
    assert ask(sandbox.info, token) == 200
    sandbox.advance(15 * MINUTES)
    assert ask(sandbox.info, token) == 401


@pytest.mark.parametrize(
    ("path", "status"), [("/v2/contacts/unknown", 404), ("/v2/contacts?sort=x", 422), ("/v2/nowhere", 404)]
)
def test_a_refused_request_does_not_extend_a_token(sandbox: Sandbox, path: str, status: int) -> None:
    token = token_of(sandbox.info)
    sandbox.advance(10 * MINUTES)
    assert ask(sandbox.info, token, path) == status
    sandbox.advance(10 * MINUTES)
    assert ask(sandbox.info, token) == 401


def test_long_response(sandbox: Sandbox, shop: Shop) -> None:
    """A response after 15 minutes at a terminal extends the token again."""
    token = token_of(sandbox.info)
    sandbox.advance(14 * MINUTES)
    shop.http.headers = {"developer-id": sandbox.developer_id, "access-token": token}
    assert shop.at_terminal().status_code == 201
    sandbox.advance(14 * MINUTES)
    assert ask(sandbox.info, token) == 200


def test_revocation(sandbox: Sandbox, shop: Shop, neighbor: Shop) -> None:
    """A revocation is a 204 and ends the token at once; an ended, unknown or other user's token is a 404."""
    token, other, own, late = (token_of(sandbox.info) for _ in range(4))
    responses = [shop.http.delete(f"/v2/token/{token}") for _ in range(2)]
    assert [(response.status_code, response.content == b"") for response in responses] == [(204, True), (404, False)]
    assert token not in responses[1].text
    assert shop.http.delete("/v2/token/never%2Fwas").status_code == 404
    assert neighbor.http.delete(f"/v2/token/{other}").status_code == 404
    assert (ask(sandbox.info, token), ask(sandbox.info, other)) == (401, 200)
    theirs = neighbor.contact().json()["contact"]
    assert ask(sandbox.info, other, f"/v2/contacts/{theirs['id']}") == 404
    headers = {"developer-id": sandbox.developer_id, "access-token": own}
    url = f"{sandbox.base_url}/v2/token/{own}"
    assert [plain_http.delete(url, headers=headers).status_code for _ in range(2)] == [204, 401]
    sandbox.advance(15 * MINUTES)
    assert shop.http.delete(f"/v2/token/{late}").status_code == 404


def test_restart(tmp_path: Path) -> None:
    """After a restart a token is valid and a revoked one is not; no file contains either."""
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path) as sandbox:
        kept, revoked = token_of(sandbox.info), token_of(sandbox.info)
        headers = {"developer-id": sandbox.developer_id, "access-token": revoked}
        plain_http.delete(f"{sandbox.base_url}/v2/token/{revoked}", headers=headers)
    with Sandbox(data=path) as sandbox:
        assert (ask(sandbox.info, kept), ask(sandbox.info, revoked)) == (200, 401)
    with closing(sqlite3.connect(path)) as sql:
        dump = "\n".join(sql.iterdump())
    assert kept not in dump
    assert revoked not in dump
