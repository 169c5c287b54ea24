"""Credentials are checked when they are made, and never show their key."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gateway_async.credentials import AccessToken, BearerToken, HashKey, PasswordLogin, UserApiKey
from gateway_async.errors import InvalidRequestError

KEY = "planted-key-82c1"


def test_the_key_is_masked() -> None:
    assert repr(UserApiKey("user-1", KEY)) == (
        "UserApiKey(user_id='user-1', user_api_key=Secret('************'), send_in='headers')"
    )


@pytest.mark.parametrize("send_in", ["headers", "query", "basic"])
def test_credentials_go_into_headers_query_or_authorization(send_in: str) -> None:
    assert UserApiKey("user-1", KEY, send_in).send_in == send_in  # type: ignore[arg-type]


@pytest.mark.parametrize("send_in", ["cookies", "", None, ["headers"]])
def test_an_unknown_location_is_refused_before_sending(send_in: object) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        UserApiKey("user-1", KEY, send_in)  # type: ignore[arg-type]
    assert refused.value.problems == ("send_in: must be one of headers, query, basic",)


UNSENDABLE: list[object] = ["", "line\nbreak", "tab\t", "käse", "nul\0", " before", "behind ", None, 5]


def test_unsendable() -> None:
    """Neither the id nor the key may hold what a header cannot carry, and the refusal does not repeat it."""
    for value in UNSENDABLE:
        with pytest.raises(InvalidRequestError) as bad_id:
            UserApiKey(value, KEY)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError) as bad_key:
            UserApiKey("user-1", value)  # type: ignore[arg-type]
        assert bad_id.value.problems == (
            "user_id: must be printable ASCII text, not empty, without spaces around it",
        ), value
        assert bad_key.value.problems == (
            "user_api_key: must be printable ASCII text, not empty, without spaces around it",
        ), value


def test_colon() -> None:
    """A colon in the id would end it too early in Basic authorization; elsewhere it is fine."""
    assert UserApiKey("user:1", KEY).user_id == "user:1"
    with pytest.raises(InvalidRequestError) as refused:
        UserApiKey("user:1", KEY, "basic")
    assert refused.value.problems == ("user_id: must not contain a colon in Basic authorization",)


SECRETS = {
    "PasswordLogin": PasswordLogin("ada", KEY, "example"),
    "AccessToken": AccessToken(KEY),
    "HashKey": HashKey("user-1", KEY),
    "BearerToken": BearerToken(KEY),
}


@pytest.mark.parametrize("name", SECRETS)
def test_no_kind_shows_its_secret(name: str) -> None:
    assert KEY not in f"{SECRETS[name]!r} {SECRETS[name]}"


MAKES: list[Callable[[Any], object]] = [
    lambda send_in: PasswordLogin("a", "b", "c", send_in),
    lambda send_in: AccessToken("t", send_in),
    lambda send_in: HashKey("u", "k", send_in),
]


SEND_INS: list[object] = ["basic", "", None, ["query"]]


def test_no_basic() -> None:
    """Tokens and signatures go into headers or the query: Basic authorization is for a user's key."""
    for make in MAKES:
        for send_in in SEND_INS:
            with pytest.raises(InvalidRequestError) as refused:
                make(send_in)
            assert refused.value.problems == ("send_in: must be one of headers, query",), make


@pytest.mark.parametrize("value", ["", "line\nbreak", "käse", None, 5])
def test_unsignable(value: Any) -> None:
    """Tokens and keys are header text; the refusal names the argument and does not repeat it."""
    for make, name in ((AccessToken, "token"), (BearerToken, "token"), (partial(HashKey, "user"), "user_hash_key")):
        with pytest.raises(InvalidRequestError) as refused:
            make(value)
        assert refused.value.problems == (f"{name}: must be printable ASCII text, not empty, without spaces around it",)


def test_login() -> None:
    """A password is any text: only values that are empty or not text are refused, all at once."""
    assert PasswordLogin("ädä", "pass wörd\n", "example").username == "ädä"
    with pytest.raises(InvalidRequestError) as refused:
        PasswordLogin("", None, 5)  # type: ignore[arg-type]
    assert [line.split(":")[0] for line in refused.value.problems] == ["username", "password", "domain"]


def test_a_bearer_token_may_be_a_callable() -> None:
    async def ask() -> str:
        return "token"

    assert BearerToken(ask).token is ask
