"""Headers of traces: only valid ones are sent, and a failure does not stop a call."""

from typing import Any

import pytest

from gateway_async import AsyncGateway, InvalidRequestError, UserApiKey
from gateway_async._execution.events import read_trace_headers


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        ({"traceparent": "00-1-2-01"}, [("traceparent", "00-1-2-01")]),
        ({"Tracestate": "a=b"}, [("Tracestate", "a=b")]),
        ({"user-api-key": "mine", "content-length": "0"}, []),
        ({"baggage": "a\r\nuser-id: x"}, []),
        ({"baggage": "ü"}, []),
    ],
)
def test_trace_headers(headers: dict[str, str], fields: list[tuple[str, str]]) -> None:
    """Neither credentials nor line breaks nor other characters than ASCII pass."""
    assert read_trace_headers(lambda: headers) == fields


def broken() -> dict[str, str]:
    raise ZeroDivisionError


@pytest.mark.parametrize("function", [broken, lambda: None])
def test_a_failure_is_logged_and_ignored(function: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert read_trace_headers(function) == []
    assert caplog.messages == ["trace_headers failed"]


async def later() -> dict[str, str]:
    return {}


@pytest.mark.parametrize("function", [later, {"traceparent": "x"}])
def test_an_unusable_function_is_rejected(function: Any) -> None:
    with pytest.raises(InvalidRequestError, match="trace_headers: must be a plain function"):
        AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"), trace_headers=function)
