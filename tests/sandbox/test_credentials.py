"""Credentials: every way to send a user's key, a token or a hash-key."""

import base64
import hashlib
import hmac
from collections.abc import Mapping

import httpx
import pytest

from gateway_async.sandbox import Sandbox, SandboxInfo
from tests.support import plain_http

SentCredentials = tuple[dict[str, str], dict[str, str]]


def schemes(info: SandboxInfo, key: str | None = None) -> dict[str, SentCredentials]:
    """The same credentials in headers, in the query and as Basic."""
    key = info.user_api_key if key is None else key
    pair = {"user-id": info.user_id, "user-api-key": key}
    basic = base64.b64encode(f"{info.user_id}:{key}".encode()).decode()
    return {"headers": (pair, {}), "query": ({}, pair), "basic": ({"authorization": f"Basic {basic}"}, {})}


def ask(info: SandboxInfo, headers: Mapping[str, str | bytes], query: Mapping[str, str]) -> httpx.Response:
    raw = {name.encode(): value if isinstance(value, bytes) else value.encode() for name, value in headers.items()}
    return plain_http.get(f"{info.base_url}/v2/contacts", headers=raw, params=query)


def test_a_wrong_key_is_refused(sandbox: Sandbox) -> None:
    for scheme in ["headers", "query", "basic"]:
        for key in ["planted-secret", "", "ü"]:
            headers, query = schemes(sandbox.info, key)[scheme]
            encoded = {name: value.encode() for name, value in headers.items()}
            response = ask(sandbox.info, encoded | {"developer-id": sandbox.developer_id}, query)
            body = response.json()
            assert (response.status_code, body["status"], body["name"]) == (401, 401, "Unauthorized"), scheme
            assert "planted-secret" not in response.text


def test_a_developer_id_is_always_needed(sandbox: Sandbox) -> None:
    headers, query = schemes(sandbox.info)["headers"]
    assert ask(sandbox.info, headers, query).status_code == 401
    assert ask(sandbox.info, headers | {"developer-id": "another"}, query).status_code == 401


UNREADABLE: list[str | bytes] = [
    *("", "Basic", "Basic !", "Basic /w==", "Basic OmE=", "Bearer x"),
    *(b"Basic \xff", b"Bearer \xff"),
]


def test_an_unreadable_authorization_is_refused(sandbox: Sandbox) -> None:
    for authorization in UNREADABLE:
        headers: dict[str, str | bytes] = {"developer-id": sandbox.developer_id, "authorization": authorization}
        assert ask(sandbox.info, headers, {}).status_code == 401, authorization


@pytest.fixture
def token(sandbox: Sandbox) -> str:
    login = {"username": sandbox.username, "password": sandbox.password, "domain": sandbox.domain}
    made = plain_http.post(f"{sandbox.base_url}/v2/token", json=login, params={"developer-id": sandbox.developer_id})
    return str(made.json()["token"]["token"])


def token_schemes(token: str) -> dict[str, SentCredentials]:
    """Return the same token in the header, in the query and as a bearer token."""
    pair, bearer = {"access-token": token}, {"authorization": f"Bearer {token}"}
    return {"headers": (pair, {}), "query": ({}, pair), "bearer": (bearer, {})}


def test_an_unknown_token_is_refused(sandbox: Sandbox) -> None:
    for scheme in ["headers", "query", "bearer"]:
        for wrong in ["planted-secret", "0"]:
            headers, query = token_schemes(wrong)[scheme]
            response = ask(sandbox.info, headers | {"developer-id": sandbox.developer_id}, query)
            assert (response.status_code, "planted" in response.text) == (401, False), scheme


def signed(info: SandboxInfo, now: float, changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the parameters of a hash-key made at a time."""
    changes, timestamp = dict(changes or {}), str(int(now))
    key = changes.pop("key", info.user_hash_key)
    digest = hmac.new(key.encode(), f"{info.user_id}{timestamp}".encode(), hashlib.sha256).hexdigest()
    return {"user-id": info.user_id, "timestamp": timestamp, "hash-key": digest} | changes


def ask_signed(
    sandbox: Sandbox,
    credentials: dict[str, str],
    send_in: str = "headers",
    path: str = "/v2/transactions",
    method: str = "GET",
) -> httpx.Response:
    """Ask for something with a hash-key in headers or in the query."""
    developer = {"developer-id": sandbox.developer_id}
    headers, query = (credentials, {}) if send_in == "headers" else ({}, credentials)
    return plain_http.request(method, sandbox.base_url + path, headers=headers | developer, params=query)


def test_hash_key_boundary(sandbox: Sandbox) -> None:
    """The hash-key of another user, whose id has a zero more, does not serve with a timestamp that begins with it."""
    info, timestamp = sandbox.info, f"0{int(sandbox.now())}"
    text = f"{info.user_id}{timestamp}".encode()  # signed by the user whose id has a zero more
    digest = hmac.new(info.user_hash_key.encode(), text, hashlib.sha256).hexdigest()
    credentials = {"user-id": info.user_id, "timestamp": timestamp, "hash-key": digest}
    assert ask_signed(sandbox, credentials).status_code == 401


def test_hash_key_validity(sandbox: Sandbox) -> None:
    """A hash-key is valid repeatedly, 15 minutes before and after its timestamp, by the sandbox's clock."""
    for late, status in [(-890, 200), (0, 200), (890, 200), (-910, 401), (910, 401)]:
        credentials = signed(sandbox.info, sandbox.now())
        sandbox.advance(late)
        assert [ask_signed(sandbox, credentials).status_code for _ in range(2)] == [status] * 2


CHANGES: list[dict[str, str]] = [
    *({"key": "another"}, {"hash-key": ""}, {"hash-key": "0" * 64}),
    *({"user-id": "unknown"}, {"user-id": ""}),
    *({"timestamp": timestamp} for timestamp in ("1", "now", "", "9" * 400, "-1")),
]


def test_a_bad_hash_key_is_refused(sandbox: Sandbox) -> None:
    for changes in CHANGES:
        for send_in in ["headers", "query"]:
            response = ask_signed(sandbox, signed(sandbox.info, sandbox.now(), changes), send_in)
            assert (response.status_code, response.json()["message"]) == (401, "Hash key is invalid"), changes


def test_a_hash_key_is_lower_case_hex(sandbox: Sandbox) -> None:
    credentials = signed(sandbox.info, sandbox.now())
    digest = credentials["hash-key"]
    for spelling in (digest.upper(), base64.b64encode(bytes.fromhex(digest)).decode()):
        assert ask_signed(sandbox, credentials | {"hash-key": spelling}).status_code == 401, spelling


def test_no_link_repeats_credentials(sandbox: Sandbox, token: str) -> None:
    developer = {"developer-id": sandbox.developer_id}
    key = {"user-id": sandbox.user_id, "user-api-key": sandbox.user_api_key}
    for proof in (key, {"access-token": token}, signed(sandbox.info, sandbox.now())):
        response = plain_http.get(f"{sandbox.base_url}/v2/transactions", params=proof | developer | {"status_id": 101})
        link = response.json()["meta"]["pagination"]["links"]["self"]["href"]
        assert link == f"{sandbox.base_url}/v2/transactions?status_id=101&page=1"


def test_a_wrong_key_is_refused_despite_a_valid_token(sandbox: Sandbox, token: str) -> None:
    headers = {"user-id": sandbox.user_id, "user-api-key": "wrong", "access-token": token}
    assert ask(sandbox.info, headers | {"developer-id": sandbox.developer_id}, {}).status_code == 401
