"""`Call`: a request as a value that shows no more than it may."""

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, RepeatEffect


def call(path: str = "/v2/contacts/1") -> Call[None]:
    """A call with something to hide."""
    return Call(
        request=HttpRequest(method="PUT", path=path, body=b'{"contact": {"ssn4": "8264"}}', secrets=(Secret("8264"),)),
        read=lambda _: None,
    )


def test_a_call_is_named_by_its_request_line() -> None:
    assert str(call()) == "PUT /v2/contacts/1"


def test_a_call_does_not_show_its_body() -> None:
    assert "8264" not in repr(call())
    assert "Secret" not in repr(call())


def test_a_card_number_in_the_path_is_masked() -> None:
    assert str(call("/v2/contacts/4111111111111111")) == "PUT /v2/contacts/************1111"


def test_calls_are_told_apart_by_identity() -> None:
    assert call() != call()


def test_a_call_is_a_read_unless_it_says_otherwise() -> None:
    assert (call().repeat_effect, call().resolver) == (RepeatEffect.READ, None)
