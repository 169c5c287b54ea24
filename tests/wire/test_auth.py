"""Credentials → headers or parameters."""

import base64
import hashlib
import hmac

import pytest

from gateway_async._wire.auth import Signature, check_supported, sign, sign_without_credentials
from gateway_async._wire.call import Call, HttpRequest
from gateway_async._wire.query import plain_params
from gateway_async.credentials import AccessToken, BearerToken, Credentials, HashKey, PasswordLogin, UserApiKey
from gateway_async.errors import InvalidRequestError

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


SUPPORTED = ["accountvaults", "accountvaults/1/bininfo", "routeraccountvaults", "transactions/1"]
UNSUPPORTED = ["contacts", "quickinvoices/1/reopen", "paylinks", "routertransactions", "transactionbatches"]
OTHERS: list[Credentials] = [UserApiKey("u", "k"), PasswordLogin("u", "p", "d"), AccessToken("t"), BearerToken("t")]


def call(path: str, *, signed: bool = True) -> Call[object]:
    return Call(request=HttpRequest(path=f"/v2/{path}", signed=signed), read=lambda _: None)


@pytest.mark.parametrize("path", SUPPORTED)
def test_hash_key_endpoints(path: str) -> None:
    """A hash-key signs account vaults and what belongs to them, router account vaults and transactions."""
    check_supported(HashKey("user", "key"), call(path))


@pytest.mark.parametrize("path", UNSUPPORTED)
def test_elsewhere_a_hash_key_is_refused_before_anything_is_sent(path: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"credentials: HashKey cannot sign GET /v2/{path}"):
        check_supported(HashKey("user", "key"), call(path))
    check_supported(HashKey("user", "key"), call(path, signed=False))


@pytest.mark.parametrize("credentials", OTHERS, ids=lambda each: type(each).__name__)
def test_other_credentials_sign_everything(credentials: Credentials) -> None:
    for path in SUPPORTED + UNSUPPORTED:
        check_supported(credentials, call(path))
