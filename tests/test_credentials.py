"""Credentials are checked when they are made, and never show their key."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gateway_async.credentials import AccessToken, BearerToken, HashKey, PasswordLogin, UserApiKey
from gateway_async.errors import InvalidRequestError

KEY = "planted-key-82c1"


def test_place() -> None:
    """A key goes into headers, query or Basic authorization; another place is refused before sending."""
    for send_in in ("headers", "query", "basic"):
        assert UserApiKey("user-1", KEY, send_in).send_in == send_in
    wrong: list[Any] = ["cookies", "", None, ["headers"]]
    for other in wrong:
        with pytest.raises(InvalidRequestError) as refused:
            UserApiKey("user-1", KEY, other)
        assert refused.value.problems == ("send_in: must be one of headers, query, basic",)


UNSENDABLE: list[Any] = ["", "line\nbreak", "tab\t", "käse", "nul\0", " before", "behind ", None, 5]


def test_unsendable() -> None:
    """Neither the id nor the key may hold what a header cannot carry, and the refusal does not repeat it."""
    problem = "must be printable ASCII text, not empty, without spaces around it"
    for value in UNSENDABLE:
        with pytest.raises(InvalidRequestError) as bad_id:
            UserApiKey(value, KEY)
        with pytest.raises(InvalidRequestError) as bad_key:
            UserApiKey("user-1", value)
        assert bad_id.value.problems == (f"user_id: {problem}",), value
        assert bad_key.value.problems == (f"user_api_key: {problem}",), value


def test_colon() -> None:
    """A colon in the id would end it too early in Basic authorization; elsewhere it is fine."""
    assert UserApiKey("user:1", KEY).user_id == "user:1"
    with pytest.raises(InvalidRequestError) as refused:
        UserApiKey("user:1", KEY, "basic")
    assert refused.value.problems == ("user_id: must not contain a colon in Basic authorization",)


def test_secrets() -> None:
    """No kind of credentials shows its secret."""
    kinds = (PasswordLogin("ada", KEY, "example"), AccessToken(KEY), HashKey("user-1", KEY), BearerToken(KEY))
    for credentials in kinds:
        assert KEY not in f"{credentials!r} {credentials}"
    assert repr(UserApiKey("user-1", KEY)) == (
        "UserApiKey(user_id='user-1', user_api_key=Secret('************'), send_in='headers')"
    )
    assert repr(BearerToken(partial(str, KEY))) == "BearerToken(token=<function>)"


def test_no_basic() -> None:
    """Tokens and signatures go into headers or the query: Basic authorization is for a user's key."""
    kinds: list[Callable[[Any], object]] = [
        lambda send_in: PasswordLogin("a", "b", "c", send_in),
        lambda send_in: AccessToken("t", send_in),
        lambda send_in: HashKey("u", "k", send_in),
    ]
    wrong: list[Any] = ["basic", "", None, ["query"]]
    for make, send_in in itertools.product(kinds, wrong):
        with pytest.raises(InvalidRequestError) as refused:
            make(send_in)
        assert refused.value.problems == ("send_in: must be one of headers, query",), make


def test_unsignable() -> None:
    """Tokens and keys are header text; the refusal names the argument and does not repeat it."""
    problem = "must be printable ASCII text, not empty, without spaces around it"
    kinds: list[tuple[Callable[[Any], object], str]] = [
        (AccessToken, "token"),
        (BearerToken, "token"),
        (partial(HashKey, "user"), "user_hash_key"),
    ]
    for (make, name), value in itertools.product(kinds, UNSENDABLE):
        with pytest.raises(InvalidRequestError) as refused:
            make(value)
        assert refused.value.problems == (f"{name}: {problem}",), value


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
