"""Credentials are checked when they are made, and never show their key."""

import pytest

from gateway_async.credentials import UserApiKey
from gateway_async.errors import InvalidRequestError

KEY = "planted-key-82c1"


def test_the_key_is_masked() -> None:
    """A repr shows whose key it is, not the key."""
    assert repr(UserApiKey("user-1", KEY)) == (
        "UserApiKey(user_id='user-1', user_api_key=Secret('************'), send_in='headers')"
    )


@pytest.mark.parametrize("place", ["headers", "query", "basic"])
def test_the_three_places(place: str) -> None:
    """Credentials go into headers, the query or Basic authorization."""
    assert UserApiKey("user-1", KEY, place).send_in == place  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["cookies", "", None, ["headers"]])
def test_another_place_is_refused(place: object) -> None:
    """A place that does not exist is named before anything is sent."""
    with pytest.raises(InvalidRequestError) as refused:
        UserApiKey("user-1", KEY, place)  # type: ignore[arg-type]
    assert refused.value.problems == ("send_in: must be one of headers, query, basic",)


@pytest.mark.parametrize("value", ["", "line\nbreak", "tab\t", "käse", "nul\0", None, 5])
def test_what_cannot_be_sent_is_refused(value: object) -> None:
    """Neither the id nor the key may hold what a header cannot carry, and the refusal does not repeat it."""
    with pytest.raises(InvalidRequestError) as bad_id:
        UserApiKey(value, KEY)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError) as bad_key:
        UserApiKey("user-1", value)  # type: ignore[arg-type]
    assert bad_id.value.problems == ("user_id: must be printable ASCII text, and not empty",)
    assert bad_key.value.problems == ("user_api_key: must be printable ASCII text, and not empty",)


def test_basic_authorization_takes_no_colon_in_the_id() -> None:
    """A colon would end the id too early; elsewhere it is fine."""
    assert UserApiKey("user:1", KEY).user_id == "user:1"
    with pytest.raises(InvalidRequestError) as refused:
        UserApiKey("user:1", KEY, "basic")
    assert refused.value.problems == ("user_id: must not contain a colon in Basic authorization",)
