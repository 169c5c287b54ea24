"""Generated bad inputs to the SDK, the sandbox and the receiver: each is refused or read, and nothing breaks."""

import asyncio
import logging
import socket
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import httpx
from hypothesis import strategies as st

import gateway_async
from gateway_async import InvalidRequestError
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.sandbox import Sandbox
from tests.contract.raw_client import FakeClient, RawClient
from tests.contract.reading import BY_PATH, FILES, judge_faulty
from tests.contract.record_type import RecordType, resolved
from tests.contract.record_types import RECORD_TYPES
from tests.contract.sdk_matrix import make_request, names_field
from tests.contract.strategies import EVERY_OPERATION, broken_bodies, json_values
from tests.contract.test_generated import one_request
from tests.contract.values import out_of_bounds
from tests.postbacks import test_fuzz as receiver_fuzzing
from tests.postbacks.postback_requests import SAMPLES, chunks
from tests.reliability.condition import Condition, Result
from tests.reliability.generated import apply_generated

# --- requests of the SDK

_DEFAULTS: Final = RequestDefaults(location_id="a" * 24, check_limits=True, new_id=lambda: "generated")
_CREATED: Final = st.sampled_from(
    [
        (record_type, create_mode, row)
        for record_type in RECORD_TYPES
        if isinstance(BY_PATH.get(record_type.path), ResourceSpec)
        for create_mode in record_type.create_modes
        for row in record_type.table.rows
        if row.post != "no"
        and row.name in {field.name for field in attrs.fields(getattr(gateway_async, create_mode.request))}
    ]
)
"""Each field of each request that creates a record; made once, as it hashes them all."""


def _check_request(data: st.DataObject) -> None:
    """Check that a request with a wrong value is refused before it is sent, and that the error names the field."""
    record_type, create_mode, row = data.draw(_CREATED)
    recipe = record_type.recipes_of(row.name)[0]
    body = create_mode.body(FakeClient()) | resolved(recipe.beside, FakeClient())
    request = make_request(getattr(gateway_async, create_mode.request), body)
    too_short_or_long = list(out_of_bounds(row, recipe, FakeClient()))
    is_wild: bool = data.draw(st.booleans())
    if too_short_or_long and not is_wild:
        value: Any = data.draw(st.sampled_from(too_short_or_long))
        problems = _refuse(record_type, attrs.evolve(request, **{row.name: value}))
        assert any(names_field(line, row.name) for line in problems), (
            f"{create_mode.request}.{row.name}={value!r}: {problems}"
        )
    else:
        value = data.draw(json_values)
        for line in _refuse(record_type, attrs.evolve(request, **{row.name: value})):
            assert ": " in line, f"{create_mode.request}.{row.name}={value!r}: {line}"


def _refuse(record_type: RecordType, request: Any) -> tuple[str, ...]:
    """Return the problems of a request; none if it is accepted."""
    spec: Any = BY_PATH[record_type.path]
    try:
        spec.create(request, _DEFAULTS)
    except InvalidRequestError as error:
        return tuple(map(str, error.problems))
    return ()


# --- responses to the SDK

_BODIES: Final = [path.read_bytes() for path in sorted(SAMPLES.glob("*-response.json"))]
_STATUSES: Final = (200, 201, 202, 204, 301, 304, 400, 401, 403, 404, 405, 409, 418, 422, 429, 500, 502, 503, 504)
_READ: Final = [
    operation
    for operation in EVERY_OPERATION
    if operation not in FILES and not operation.startswith("DELETE") and not operation.endswith("/resend")
]
"""The operations whose response has a record."""

_TYPES: Final = ("application/json", "text/html", "application/json; charset=latin1", "", "x")


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """Return a recorded response with something else at one place."""
    body = draw(st.sampled_from(_BODIES))
    place = draw(st.integers(0, len(body)))
    return body[:place] + draw(st.binary(max_size=6)) + body[place + draw(st.integers(0, 20)) :]


@st.composite
def _wild_record(draw: st.DrawFn, operation: str) -> bytes:
    """Return records whose known fields have any values."""
    spec = BY_PATH.get("/".join(operation.partition(" ")[2].split("/")[:3]))
    if spec is None:
        return draw(broken_bodies)
    names = sorted(field.name for field in attrs.fields(spec.record)) if attrs.has(spec.record) else ["id"]
    record = draw(st.dictionaries(st.sampled_from(names), json_values, max_size=5))
    wrapper = draw(st.sampled_from([spec.name, spec.plural]))
    content = [record] if wrapper == spec.plural else record
    return httpx.Request("POST", "http://127.0.0.1", json={wrapper: content}).content


def _check_response(data: st.DataObject) -> None:
    """Check that any response is read, or raises an error of this package."""
    operation = data.draw(st.sampled_from(_READ))
    body = data.draw(_damaged() | broken_bodies | _wild_record(operation))
    headers = {"content-type": data.draw(st.sampled_from(_TYPES))}
    request = httpx.Request(operation.partition(" ")[0], "http://127.0.0.1/")
    status = data.draw(st.sampled_from(_STATUSES))
    judge_faulty(operation, httpx.Response(status, headers=headers, content=body, request=request))


# --- the sandbox

_LINES: Final = (
    b"GET /v2/contacts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST /v2/transactions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\n{}",
    b"POST /v2/transactions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
    b"PUT /v2/contacts/\xff HTTP/1.1\r\n\r\n",
)
_RESPONSE_SECONDS: Final = 10.0
_RAW_PART: Final = 5
"""One input in so many is bytes instead of an HTTP request."""


@st.composite
def _raw_bytes(draw: st.DrawFn) -> bytes:
    """Return bytes that are hardly an HTTP request."""
    line = draw(st.sampled_from(_LINES))
    place = draw(st.integers(0, len(line)))
    return draw(st.binary(max_size=200)) if draw(st.booleans()) else line[:place] + draw(st.binary()) + line[place:]


def _check_bytes(data: st.DataObject, address: tuple[str, int]) -> None:
    """Check that any bytes are answered without a 5xx, or that the connection is closed."""
    sent = data.draw(_raw_bytes())
    response = b""
    connection = socket.create_connection(address, timeout=_RESPONSE_SECONDS)
    with closing(connection), suppress(ConnectionError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            response += part
    assert not response.startswith(b"HTTP/1.1 5"), f"{sent!r}: {response[:200]!r}"


def _send_to_sandbox(count: int) -> Result:
    with Sandbox(terminal_delay=0.0, strict=True) as sandbox, closing(RawClient(sandbox)) as raw_client:
        url = urlsplit(sandbox.base_url)

        def check(data: st.DataObject) -> None:
            if data.draw(st.integers(1, _RAW_PART)) == 1:
                _check_bytes(data, (url.hostname or "", url.port or 0))
            else:
                raw_client.reset()
                one_request(data, raw_client, data.draw(st.sampled_from(EVERY_OPERATION)))

        return apply_generated(check, count)


# --- the receiver


def _send_to_receiver(count: int) -> Result:
    shop = receiver_fuzzing.Shop()
    with asyncio.Runner() as runner:

        def check(data: st.DataObject) -> None:
            before = shop.received
            named: Mapping[str, str] = data.draw(receiver_fuzzing.headers)
            parts = chunks(*data.draw(receiver_fuzzing.pieces()))
            response = runner.run(shop.receiver.receive(data.draw(receiver_fuzzing.methods), named, parts))
            assert response.status_code in (receiver_fuzzing.REFUSALS if shop.received == before else {204})

        logging.disable(logging.CRITICAL)  # each refusal is logged
        try:
            return apply_generated(check, count)
        finally:
            logging.disable(logging.NOTSET)


INPUT_CONDITIONS: Final = (
    Condition(
        key="bad-requests",
        text="generated wrong values in requests of the SDK",
        count=12_500,
        short_count=300,
        run=lambda count: apply_generated(_check_request, count),
    ),
    Condition(
        key="bad-responses",
        text="generated wrong responses to the SDK",
        count=12_500,
        short_count=300,
        run=lambda count: apply_generated(_check_response, count),
    ),
    Condition(
        key="bad-input-sandbox",
        text="generated wrong requests and bytes to the sandbox",
        count=25_000,
        short_count=100,
        run=_send_to_sandbox,
    ),
    Condition(
        key="bad-input-receiver",
        text="generated wrong requests to the receiver",
        count=25_000,
        short_count=300,
        run=_send_to_receiver,
    ),
)
