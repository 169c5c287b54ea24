"""Credentials → headers or parameters."""

import base64

from gateway_async._wire.signing import Signature, sign
from gateway_async.credentials import UserApiKey


def test_in_headers() -> None:
    """User id, key and developer id are headers."""
    assert sign(UserApiKey("user-1", "key-1"), "dev-1") == Signature(
        headers=(("developer-id", "dev-1"), ("user-id", "user-1"), ("user-api-key", "key-1"))
    )


def test_in_the_query() -> None:
    """All three are parameters, none is a header."""
    assert sign(UserApiKey("user-1", "key-1", "query"), "dev-1") == Signature(
        params=(("developer-id", "dev-1"), ("user-id", "user-1"), ("user-api-key", "key-1"))
    )


def test_as_basic_authorization() -> None:
    """Id and key are user name and password; the developer id is a header."""
    basic = base64.b64encode(b"user-1:key:1").decode()
    assert sign(UserApiKey("user-1", "key:1", "basic"), "dev-1") == Signature(
        headers=(("developer-id", "dev-1"), ("authorization", f"Basic {basic}"))
    )


def test_a_signature_is_not_shown() -> None:
    """Its repr has none of what it proves."""
    for place in ("headers", "query", "basic"):
        assert "key-1" not in repr(sign(UserApiKey("user-1", "key-1", place), "dev-1"))
