"""Credentials on a request, and the calls that fetch and revoke a token."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from gateway_async._secrets import Secret
from gateway_async._wire.auth import Signature, log_in, revoke, sign, sign_without_credentials
from gateway_async._wire.call import LookupResult, LookupStatus, RepeatEffect
from gateway_async._wire.query import plain_params
from gateway_async._wire.reply import Reply, read_reply
from gateway_async.credentials import AccessToken, BearerToken, Credentials, HashKey, UserApiKey
from gateway_async.errors import AuthenticationError, InvalidRequestError, MalformedReplyError, NotFoundError

# --- credentials


NOW = 1_700_000_000.9
DIGEST = hmac.new(b"hash-secret", b"user-11700000000", hashlib.sha256).hexdigest()
DEVELOPER = ("developer-id", "dev-1")
HASHED = (("user-id", "user-1"), ("timestamp", "1700000000"), ("hash-key", DIGEST))

Pairs = tuple[tuple[str, str], ...]
KEY = (DEVELOPER, ("user-id", "user-1"), ("user-api-key", "key-1"))
BASIC = f"Basic {base64.b64encode(b'user-1:key:1').decode()}"
SIGNED: list[tuple[Credentials, Pairs, Pairs]] = [
    #                                              headers, parameters
    (UserApiKey("user-1", "key-1"), KEY, ()),
    (UserApiKey("user-1", "key:1", "basic"), (DEVELOPER, ("authorization", BASIC)), ()),
    (AccessToken("token-1"), (DEVELOPER, ("access-token", "token-1")), ()),
    (BearerToken("token-1"), (DEVELOPER, ("authorization", "Bearer token-1")), ()),
    (HashKey("user-1", "hash-secret"), (DEVELOPER, *HASHED), ()),
    (UserApiKey("user-1", "key-1", "query"), (), KEY),
    (AccessToken("token-1", "query"), (), (DEVELOPER, ("access-token", "token-1"))),
    (HashKey("user-1", "hash-secret", "query"), (), (DEVELOPER, *HASHED)),
]
NAMES = [f"{type(proof).__name__}-{getattr(proof, 'send_in', 'headers')}" for proof, _, _ in SIGNED]


@pytest.mark.parametrize(("proof", "headers", "params"), SIGNED, ids=NAMES)
def test_a_signature(proof: Credentials, headers: Pairs, params: Pairs) -> None:
    """All of it are headers, or all of it parameters; it names its secrets, and shows none in its repr."""
    signature = sign(proof, "dev-1", NOW)
    assert (plain_params(signature.headers), plain_params(signature.params)) == ([*headers], [*params])
    values = [value for _, value in headers + params]
    for secret in signature.secrets:
        assert secret.reveal() not in repr(signature)
    assert any(secret.reveal() in value for secret in signature.secrets for value in values)


def test_hash_key() -> None:
    """Another second, another hash-key; the key itself is never sent, and masked with the hash-key."""
    first, second = (sign(HashKey("user-1", "hash-secret"), "dev-1", NOW + later) for later in (0, 1))
    assert dict(first.headers)["hash-key"] != dict(second.headers)["hash-key"]
    assert "hash-secret" not in str(first.headers)
    assert {secret.reveal() for secret in first.secrets} == {"hash-secret", DIGEST}


def test_without_credentials() -> None:
    """A login goes with the developer id alone."""
    assert sign_without_credentials("dev-1") == Signature(headers=(DEVELOPER,))


# --- tokens


SAMPLE = (Path(__file__).parents[1] / "samples/token-create-response.json").read_bytes()


def reply(status: int, body: bytes = b"") -> Reply:
    return Reply(status, {}, body, at=0.0)


def test_login() -> None:
    """User name, password and domain without a wrapper; neither repr nor errors see the password."""
    call = log_in("ada", "s3cret-word", "example")
    assert json.loads(call.request.body or b"") == {"username": "ada", "password": "s3cret-word", "domain": "example"}
    assert (call.request.method, call.request.path, call.request.signed, call.repeat_effect) == (
        "POST",
        "/v2/token",
        False,
        RepeatEffect.READ,
    )
    assert call.sent == {"username": "ada", "password": "***", "domain": "example"}


def test_recorded_token() -> None:
    """Every field; the token itself is a secret, of which text shows nothing."""
    token = read_reply(log_in("u", "p", "d"), reply(201, SAMPLE))
    assert token.token == Secret("abcdefghijklmnop")
    assert (token.expire, token.username, token.user_type_id, token.timezone) == (
        15,
        "myusername",
        200,
        "America/New_York",
    )
    assert token.password_expire_ts is not None
    assert (int(token.password_expire_ts.timestamp()), token.time) == (1422283692, 1402283692)
    assert token.extra == {}
    assert "abcdefghijklmnop" not in f"{token!r} {token} {token.token}"


def test_a_refusal_that_quotes_the_password_is_masked() -> None:
    with pytest.raises(AuthenticationError) as refused:
        read_reply(log_in("u", "s3cret-word", "d"), reply(401, b'{"message": "not the password: s3cret-word"}'))
    assert "s3cret-word" not in f"{refused.value} {refused.value.message}"


@pytest.mark.parametrize("body", [b"", b"{}", b'{"token": "abc"}', b'{"token": {"id": "1"}}', b"[]"])
def test_a_response_without_a_token_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReplyError, match=r"\$\.token"):
        read_reply(log_in("u", "p", "d"), reply(200, body))


@pytest.mark.parametrize("value", ["", None, 5, "\ud800"])
def test_unsendable_arguments(value: object) -> None:
    """A login that cannot be sent names all three arguments, without the password."""
    with pytest.raises(InvalidRequestError) as refused:
        log_in(value, value, value)  # type: ignore[arg-type]
    assert [line.split(":")[0] for line in refused.value.problems] == ["username", "password", "domain"]
    with pytest.raises(InvalidRequestError):
        revoke(Secret(value))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [".", ".."])
def test_a_token_that_would_name_another_path_is_not_revoked(value: str) -> None:
    with pytest.raises(InvalidRequestError, match="token"):
        revoke(Secret(value))


def test_revoking() -> None:
    """Percent-encode the token in the path, and mask it in every text."""
    call = revoke(Secret("tok/en wörd"))
    assert (call.request.method, call.request.path) == ("DELETE", "/v2/token/tok%2Fen%20w%C3%B6rd")
    assert call.repeat_effect is RepeatEffect.IDEMPOTENT
    assert "tok" not in str(call).removeprefix("DELETE /v2/token/")
    assert "w%C3%B6rd" not in repr(call)


def test_second_revocation() -> None:
    """A first 404 is an error; after a lost response it is what was wanted."""
    call = revoke(Secret("token"))
    assert call.resolver is not None
    with pytest.raises(NotFoundError):
        read_reply(call, reply(404))
    gone = reply(404, b'{"name": "Not Found", "message": "no token", "code": 0, "status": 404}')
    executed: LookupResult[Any] = LookupResult(LookupStatus.EXECUTED, True)
    assert [read_reply(call.resolver.lookup(), each) for each in (reply(204), gone)] == [executed] * 2
