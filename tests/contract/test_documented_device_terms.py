"""The documented rows of device terms, through raw HTTP and through the SDK."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox

from .raw_client import RawClient
from .sides import Family, Side, Values, refusal, refused
from .untyped_records import device_terms as device_terms_fields

RESPONSE = {
    *("id", "location_id", "terminal_id", "require_signature", "reason_code_id", "device_term_api_id"),
    *("created_ts", "created_user_id", "signature", "_links"),
}


@pytest.fixture
def device_terms(side: Side) -> Family:
    return Family(side, "deviceterms")


@pytest.fixture
def new(raw_client: RawClient) -> dict[str, Any]:
    """The fields of terms to sign, with an integrator id."""
    return device_terms_fields(raw_client)


@pytest.fixture
def show(sandbox: Sandbox, device_terms: Family) -> Iterator[Any]:
    """Show terms at a terminal that does nothing automatically, until the test ends."""
    with ThreadPoolExecutor(1) as pool:

        def start(**fields: Any) -> Future[Values]:
            sandbox.silence()
            shown = pool.submit(device_terms.create, **fields)
            assert sandbox.wait_for_call()["state"] == "showing device terms"
            return shown

        yield start


def test_signed_terms(side: Side, device_terms: Family, raw_client: RawClient, new: dict[str, Any]) -> None:
    """The response has the signature, which is a record, and the integrator id in another spelling; not the terms."""
    made = device_terms.create(**new)
    assert {*made} == RESPONSE
    assert (made["reason_code_id"], made["require_signature"]) == (1000, 1)
    assert made["device_term_api_id"] == new["device_terms_api_id"]
    assert made["created_user_id"] == raw_client.info.user_id
    signature = made["signature"]
    assert (signature["resource"], signature["resource_id"]) == ("DeviceTerm", made["id"])
    assert {*signature} == {"id", "resource_id", "resource", "signature", "created_ts", "modified_ts"}
    (found,) = side.find("signatures", {"resource": "DeviceTerm", "resource_id": made["id"]})
    assert {field: found[field] for field in signature} == signature
    assert device_terms.get(made["id"]) == made
    assert side.get_by_api_id("deviceterms", new["device_terms_api_id"]) == made
    assert refused(lambda: device_terms.get("f" * 24)).status == 404


def test_terms_without_a_signature_are_only_accepted(device_terms: Family, new: dict[str, Any]) -> None:
    made = device_terms.create(**new | {"require_signature": 0})
    assert (made["reason_code_id"], made["require_signature"], made["signature"]) == (1000, 0, None)


REQUIRED = ["location_id", "terminal_id", "require_signature", "terms_conditions"]


def test_missing_field(raw_client: RawClient, device_terms: Family, new: dict[str, Any]) -> None:
    """Each is named but the integrator id, and the location, which the SDK fills in."""
    for name in REQUIRED:
        rest = {other: value for other, value in new.items() if other != name}
        response = raw_client.post("/v2/deviceterms", "deviceterm", rest)
        assert response.json()["errors"] == {name: [f"{name.replace('_', ' ').title()} cannot be blank."]}
        if name != "location_id":
            assert list(refusal(partial(device_terms.create, **rest))) == [name]


@pytest.mark.parametrize(("name", "length"), [("terms_conditions", 4096), ("device_terms_api_id", 36)])
def test_greatest_length(device_terms: Family, new: dict[str, Any], name: str, length: int) -> None:
    """Terms with one character too many are refused."""
    longest = new[name].ljust(length, "-")
    assert list(refusal(lambda: device_terms.create(**new | {name: longest + "-"}))) == [name]
    assert device_terms.create(**new | {name: longest})["reason_code_id"] == 1000


def test_the_integrator_id_of_accepted_terms_is_unique(device_terms: Family, new: dict[str, Any]) -> None:
    device_terms.create(**new)
    assert refusal(lambda: device_terms.create(**new)) == {
        "device_terms_api_id": ["device_terms_api_id already exists in this location"]
    }


@pytest.mark.parametrize("act", ["decline", "cancel"])
def test_declined_terms(sandbox: Sandbox, device_terms: Family, show: Any, new: dict[str, Any], act: str) -> None:
    """After a decline, the same integrator id updates the terms, with another text if wanted."""
    waiting = show(**new)
    getattr(sandbox, act)()
    declined = waiting.result()
    assert (declined["reason_code_id"], declined["signature"]) == (1500, None)
    waiting = show(**new | {"terms_conditions": "Tea is served at four.", "require_signature": 0})
    sandbox.accept_terms()
    accepted = waiting.result()
    assert (accepted["id"], accepted["reason_code_id"], accepted["require_signature"]) == (declined["id"], 1000, 0)
    listed = device_terms.list(device_terms_api_id=new["device_terms_api_id"])
    exact = [each["id"] for each in listed if each["device_term_api_id"] == new["device_terms_api_id"]]
    assert exact == [declined["id"]]


def test_timeout(sandbox: Sandbox, side: Side, show: Any, new: dict[str, Any]) -> None:
    """After 60 seconds the text is that of the terminal, and the integrator id can be used again."""
    waiting = show(**new)
    sandbox.advance(59)
    assert not waiting.done()
    sandbox.advance(1)
    assert refusal(waiting.result) == {"terminal_id": ["Timeout waiting for Customer"]}
    assert refused(lambda: side.get_by_api_id("deviceterms", new["device_terms_api_id"])).status == 404
    waiting = show(**new)
    sandbox.accept_terms()
    assert waiting.result()["reason_code_id"] == 1000


def test_unusable_terminal(raw_client: RawClient, device_terms: Family, new: dict[str, Any]) -> None:
    """The texts are the gateway's own; a terminal that takes no signature shows terms without one."""
    terminal = raw_client.http.post("/_sandbox/terminals", json={"sig_capture_enable": False}).json()["id"]
    for terminal_id, text in ((terminal, "Device is not signature capable"), ("f" * 24, "Terminal not found")):
        assert refusal(partial(device_terms.create, **new | {"terminal_id": terminal_id})) == {"terminal_id": [text]}
    new |= {"terminal_id": terminal, "require_signature": 0}
    assert device_terms.create(**new)["reason_code_id"] == 1000


def test_last_days(sandbox: Sandbox, device_terms: Family, new: dict[str, Any]) -> None:
    """The range of the last 90 days is documented for device terms."""
    made = device_terms.create(**new)
    sandbox.advance(90 * 86_400 - 3600)  # an hour for the test, on a busy machine
    assert device_terms.list(id=made["id"], created_ts="last 90 days") != []
    sandbox.advance(86_400)
    assert device_terms.list(id=made["id"], created_ts="last 90 days") == []


def test_expands(device_terms: Family, new: dict[str, Any]) -> None:
    """The related record is under the expand's name."""
    made = device_terms.create(**new)
    for name in ("created_user", "location", "terminal", "reason_code", "signature"):
        related = device_terms.get(made["id"], name)[name]
        assert related["id"] == (made["signature"]["id"] if name == "signature" else made[f"{name}_id"])


def test_wrong_controls(sandbox: Sandbox, raw_client: RawClient, show: Any, new: dict[str, Any]) -> None:
    """A card is not presented to terms, and a sale is not accepted."""
    url = f"/_sandbox/terminals/{new['terminal_id']}"
    waiting = show(**new)
    assert raw_client.http.post(f"{url}/present").status_code == 409
    assert raw_client.http.post(f"{url}/accept").json()["waiting"] == []
    assert waiting.result()["reason_code_id"] == 1000
    sandbox.silence()
    with ThreadPoolExecutor(1) as pool:
        sale = {"payment_method": "cc", "action": "sale", "transaction_amount": "1.00"}
        terminal = {"terminal_id": new["terminal_id"]}
        paid = pool.submit(raw_client.made, "/v2/routertransactions", "routertransaction", **sale, **terminal)
        sandbox.wait_for_call()
        assert raw_client.http.post(f"{url}/accept").status_code == 409
        sandbox.present()
        assert paid.result()["status_id"] == 101
