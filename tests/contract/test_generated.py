"""The sandbox responds to any request in time, without a 5xx, and readably for the SDK.

A short run with fixed requests by default. `GATEWAY_FUZZ_SECONDS=1200 pytest tests/contract/test_generated.py -k long`
goes on with new ones for as long.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gateway_async.sandbox.controls.calls import CONTROL_CALLS
from gateway_async.sandbox.simulators.faults import FAULTS

from .raw_client import RawClient
from .reading import JSON, judge, judge_faulty
from .strategies import DEADLINE, EVERY_OPERATION, any_draft, ascii_text, broken_bodies, good, json_values, text

SECONDS = float(os.environ.get("GATEWAY_FUZZ_SECONDS", "0"))

SHORT = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=False
)
LONG = settings(SHORT, derandomize=False, max_examples=200)

PROMPT_FAULTS = sorted({*FAULTS} - {"refuse", "silence"})
"""Faults that end by themselves: not `silence`, and not `refuse`, which closes the port."""

CALM_CONTROLS = [
    (method, path)
    for path, controls in CONTROL_CALLS.items()
    for method in controls
    if not path.endswith(("/silence", "/reset"))
]

HAPPENINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("quickinvoices", "/_sandbox/quickinvoices/{id}/pay", {}),
    ("quickinvoices", "/_sandbox/quickinvoices/{id}/pay", {"amount": "1.00"}),
    ("paylinks", "/_sandbox/paylinks/{id}/pay", {}),
    *(("transactionbatches", "/_sandbox/transactionbatches/{id}", {"processing_status_id": n}) for n in range(1, 7)),
    ("", "/_sandbox/clock", {"advance": 86400}),
]
"""Changes of records without a request of the merchant: record type, control call, body."""

UNFIT = {
    "failed": (500, '{"message": "x"}'),
    "unavailable": (503, ""),
    "no JSON": (200, "<html>"),
    "another list": (200, '{"accountvaults": []}'),
    "another type": (200, '{"contacts": [{"id": "x", "contact_balance": "much"}]}'),
    "a record without an id": (200, '{"contacts": [{"last_name": "Smith"}]}'),
    "no reason": (422, '{"message": "x"}'),
}
"""Invalid responses to a list of contacts."""


def one_request(data: st.DataObject, raw_client: RawClient, operation: str) -> None:
    """Send one generated request for an operation, and check its response."""
    draft = any_draft(data.draw, raw_client, operation)
    judge(draft.asks, draft.send(raw_client.http))


def one_sequence(data: st.DataObject, raw_client: RawClient) -> None:
    """Send requests one after another, about records that earlier ones created."""
    pool: defaultdict[str, list[str]] = defaultdict(list)
    for _ in range(data.draw(st.integers(1, 12))):
        operation = data.draw(st.sampled_from(EVERY_OPERATION))
        record_type = operation.split("/")[2]
        draft = any_draft(data.draw, raw_client, operation)
        which = data.draw(st.integers(0, 99))  # drawn in any case: what is drawn must not depend on what was answered
        if draft.ids and pool[record_type]:
            draft = draft.about(pool[record_type][which % len(pool[record_type])])
        response = draft.send(raw_client.http)
        judge(draft.asks, response)
        pool[record_type] += ids_in(response, except_user=raw_client.info.user_id)
        happening = data.draw(st.none() | st.sampled_from(HAPPENINGS))
        if happening:
            change_a_record(raw_client, happening, pool, which)


def change_a_record(
    raw_client: RawClient, happening: tuple[str, str, dict[str, Any]], pool: Mapping[str, list[str]], which: int
) -> None:
    """Change one of the known records."""
    record_type, path, body = happening
    ids = pool.get(record_type) or ["f" * 24]
    response = raw_client.anonymous.post(path.replace("{id}", ids[which % len(ids)]), json=body, timeout=DEADLINE)
    assert response.status_code < 500, f"{path} {body} is answered with {response.status_code} {response.text}"


def ids_in(response: httpx.Response, except_user: str) -> list[str]:
    """Return the ids of the records in a response, without a user and its roles."""
    is_json = response.is_success and response.headers.get("content-type") == JSON
    body = response.json() if is_json and response.content else {}
    records = [record for value in body.values() for record in (value if isinstance(value, list) else [value])]
    found = [record for record in records if isinstance(record, dict) and "id" in record]
    return [record["id"] for record in found if except_user not in (record["id"], record.get("user_id"))]


def one_fault(data: st.DataObject, raw_client: RawClient) -> None:
    """Plan a fault, trigger it, and check that the sandbox works afterwards."""
    operation = data.draw(st.sampled_from(EVERY_OPERATION))
    draft = good(data.draw, raw_client, operation)
    plan = {"operation": operation, "fault": data.draw(st.sampled_from(PROMPT_FAULTS)), "seconds": 0}
    assert raw_client.anonymous.post("/_sandbox/faults", json=plan).status_code == 201
    with raw_client.another_client() as http, suppress(httpx.RemoteProtocolError, httpx.ReadError):
        judge_faulty(operation, draft.send(http))
    assert raw_client.anonymous.delete("/_sandbox/faults").status_code == 204
    judge("GET /v2/contacts", raw_client.http.get("/v2/contacts", params={"page_size": 1}))


def one_control(data: st.DataObject, raw_client: RawClient) -> None:
    """Send anything to a control call; the clock and the terminals stay as they are."""
    method, path = data.draw(st.sampled_from(CALM_CONTROLS))
    ids = st.sampled_from([raw_client.info.terminal_id, "f" * 24]) | ascii_text.filter(bool)
    path = path.replace("{id}", quote(data.draw(ids), safe=""))
    names = st.sampled_from(["operation", "fault", "nth", "title", "card", "exp_date", "amount", "entry_mode", "times"])
    record = st.dictionaries(names | text, json_values, max_size=3)
    body = data.draw(broken_bodies | (record | json_values).map(lambda value: json.dumps(value).encode()))
    response = raw_client.anonymous.request(method, path, content=body if method == "POST" else b"", timeout=DEADLINE)
    raw_client.anonymous.delete("/_sandbox/faults")
    assert response.status_code < 500, (
        f"{method} {path} {body!r} is answered with {response.status_code} {response.text}"
    )


def drive(run: Callable[..., None], raw_client: RawClient, *args: str, profile: settings, number: int = 0) -> None:
    """Run a function with generated data, each time in a reset sandbox."""

    @seed(number)
    @profile
    @given(st.data())
    def generated(data: st.DataObject) -> None:
        raw_client.reset()
        run(data, raw_client, *args)

    generated()


@pytest.mark.parametrize("status_and_body", UNFIT.values(), ids=UNFIT)
def test_checks(status_and_body: tuple[int, str]) -> None:
    """The checks of responses work."""
    status, body = status_and_body
    asked = httpx.Request("GET", "http://127.0.0.1/v2/contacts")
    response = httpx.Response(status, headers={"content-type": "application/json"}, text=body, request=asked)
    with pytest.raises(AssertionError, match="is answered with"):
        judge("GET /v2/contacts", response)


@pytest.mark.parametrize("operation", EVERY_OPERATION)
def test_valid_requests(raw_client: RawClient, operation: str) -> None:
    """The generated requests start from valid ones."""

    def sent(data: st.DataObject, raw_client: RawClient) -> None:
        response = good(data.draw, raw_client, operation).send(raw_client.http)
        judge(operation, response)
        assert response.is_success, response.text

    drive(sent, raw_client, profile=settings(SHORT, max_examples=8))


@pytest.mark.parametrize("operation", EVERY_OPERATION)
def test_requests(raw_client: RawClient, operation: str) -> None:
    """Each operation is tried with every kind of mistake."""
    drive(one_request, raw_client, operation, profile=settings(SHORT, max_examples=15))


def test_sequences(raw_client: RawClient) -> None:
    """Requests are about records that others created, changed and deleted."""
    drive(one_sequence, raw_client, profile=settings(SHORT, max_examples=50))


def test_faults(raw_client: RawClient) -> None:
    """The SDK names the error in a damaged response, and the sandbox keeps running."""
    drive(one_fault, raw_client, profile=settings(SHORT, max_examples=120))


def test_control_calls(raw_client: RawClient) -> None:
    """Control calls are typed by people, too."""
    drive(one_control, raw_client, profile=settings(SHORT, max_examples=200))


@pytest.mark.skipif(not SECONDS, reason="a long run is asked for by GATEWAY_FUZZ_SECONDS")
@pytest.mark.timeout(SECONDS + 600)
def test_long_run(raw_client: RawClient) -> None:
    """Everything runs with new data until the time is over."""
    end, number = time.monotonic() + SECONDS, int(time.time())
    while time.monotonic() < end:
        number += 1
        for run in (one_sequence, one_fault, one_control):
            drive(run, raw_client, profile=LONG, number=number)
        for operation in EVERY_OPERATION:
            drive(one_request, raw_client, operation, profile=settings(LONG, max_examples=50), number=number)
