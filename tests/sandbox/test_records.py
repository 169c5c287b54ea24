"""The behavior that the main record types share."""

from typing import Any

import httpx
import pytest

from gateway_async._secrets import mask_text
from gateway_async.sandbox.runtime.gateway import IdGenerator
from gateway_async.sandbox.simulators.clock import Clock

from .conftest import Errors, Record, Shop

API_IDS = {
    "contact": "contact_api_id",
    "accountvault": "account_vault_api_id",
    "quickinvoice": "quick_invoice_api_id",
    "paylink": "paylink_api_id",
    "transaction": "transaction_api_id",
}
DELETABLE = ("contact", "accountvault", "quickinvoice", "paylink")
"""The types whose records can be deleted."""
CHANGEABLE = ("contact", "accountvault", "paylink")
"""The types whose api id a PUT may change."""
VERBS = {"quickinvoice": ["reopen", "resend"], "paylink": ["resend"]}


def make(shop: Shop, noun: str, **fields: Any) -> httpx.Response:
    makers = {"accountvault": shop.vault, "quickinvoice": shop.invoice, "transaction": shop.pay}
    return (makers | {"contact": shop.contact, "paylink": shop.paylink})[noun](**fields)


def statuses(shop: Shop, noun: str, record_id: str) -> set[int]:
    """Return the statuses of all requests for a record."""
    path = f"/v2/{noun}s/{record_id}"
    body: Record = {noun: {}}
    responses = [shop.http.request(method, path, json=body) for method in ("GET", "PUT", "DELETE")]
    responses += [shop.http.post(f"{path}/{verb}") for verb in VERBS.get(noun, [])]
    assert all(response.json()["status"] == response.status_code for response in responses)
    return {response.status_code for response in responses}


def test_a_record_is_created_and_read_again(shop: Shop) -> None:
    for noun in API_IDS:
        created = make(shop, noun)
        read = shop.get(f"/v2/{noun}s/{created.json()[noun]['id']}")
        assert (created.status_code, read.status_code) == (201, 200), noun
        assert read.json() == created.json(), noun


@pytest.mark.parametrize(("noun", "field"), API_IDS.items())
def test_api_id(shop: Shop, neighbor: Shop, errors: Errors, noun: str, field: str) -> None:
    """An api id is unique in its location. A filter matches substrings, a lookup by path is exact."""
    for name in ("1", "12"):
        assert make(shop, noun, **{field: name}).status_code == 201
    assert errors(make(shop, noun, **{field: "12"})) == {field: [f"{field} already exists in this location"]}
    assert make(neighbor, noun, **{field: "12"}).status_code == 201
    listed = shop.get(f"/v2/{noun}s", **{field: "1"}).json()[f"{noun}s"]
    assert [one[field] for one in listed] == ["12", "1"]
    found = shop.get(f"/v2/{noun}s/1", api_id=1, location_id=shop.info.location_id).json()[noun]
    assert found[field] == "1"


def test_empty_api_id(shop: Shop) -> None:
    """Several records may have the empty api id, which is shown as null; a PUT removes an id by it."""
    for noun, field in API_IDS.items():
        for empty in ("", "", None):
            created = make(shop, noun, **{field: empty})
            assert (created.status_code, created.json()[noun][field]) == (201, None)
    for noun in CHANGEABLE:
        field = API_IDS[noun]
        record = make(shop, noun, **{field: "137"}).json()[noun]
        changed = shop.put(noun, f"/v2/{noun}s/{record['id']}", {field: ""})
        assert (changed.status_code, changed.json()[noun][field]) == (200, None)
        assert make(shop, noun, **{field: "137"}).status_code == 201


@pytest.mark.parametrize("noun", sorted(API_IDS.keys() - {"contact"}))
def test_a_contact_may_be_named_by_its_api_id(shop: Shop, errors: Errors, noun: str) -> None:
    contact = shop.contact(contact_api_id="137").json()["contact"]
    assert make(shop, noun, contact_api_id="137").json()[noun]["contact_id"] == contact["id"]
    assert list(errors(make(shop, noun, contact_api_id="unknown"))) == ["contact_api_id"]


@pytest.mark.parametrize("noun", DELETABLE)
def test_deletion(shop: Shop, neighbor: Shop, noun: str) -> None:
    """A DELETE is a 204 without a body, then a 409 for every request; an unknown or foreign record is a 404."""
    record_id, foreign_id = (make(owner, noun).json()[noun]["id"] for owner in (shop, neighbor))
    deleted = shop.http.delete(f"/v2/{noun}s/{record_id}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert shop.get(f"/v2/{noun}s/{record_id}").json()["name"] == "Conflict"
    assert [statuses(shop, noun, each) for each in (record_id, foreign_id, "unknown")] == [{409}, {404}, {404}]
    assert record_id not in [one["id"] for one in shop.get(f"/v2/{noun}s").json()[f"{noun}s"]]
    if noun in VERBS:
        assert shop.http.post(f"/_sandbox/{noun}s/{record_id}/pay", json={}).status_code == 404


def test_no_id_looks_like_a_card_number() -> None:
    # Messages mask card numbers, and would hide such an id.
    ids, made = IdGenerator(Clock(), last="09a4111111110000"), set[str]()
    while len(made) < 3000:
        made.add(ids.new())
    assert [each for each in made if mask_text(each) != each] == []
    assert {each[:3] for each in made} == {"09a"}


# --- unknown fields: ignored and logged, or refused by a strict gateway

LOGGER = "gateway_async.sandbox.ignored_fields"


def test_unknown_field(shop: Shop, caplog: pytest.LogCaptureFixture, errors: Errors) -> None:
    """A misspelled name changes nothing; the log names only short plain words, on POST and on PUT."""
    created = shop.contact(lastname="Jones")
    contact = created.json()["contact"]
    changed = shop.put("contact", f"/v2/contacts/{contact['id']}", {"citty": "Paris"})
    assert (created.status_code, changed.status_code) == (201, 200)
    assert (changed.json()["contact"]["last_name"], "citty" in changed.json()["contact"]) == ("Smith", False)
    hidden = ["4111111111111111", "x4111111111111111", "a b", "n" * 65, "ü"]
    for name in hidden:
        assert shop.contact(**{name: 1}).status_code == 201
    logged = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    names = ["lastname", "citty", *["(hidden)"] * len(hidden)]
    assert logged == [f"ignored unknown fields record=contact fields={name}" for name in names]
    assert list(errors(shop.contact(id="me"))) == ["id"]  # which is known, and cannot be set


def requests(shop: Shop) -> list[tuple[str, str, Record | None]]:
    """Return a request of each kind but a list: method, path and body."""
    contact = shop.contact().json()["contact"]
    invoice = shop.invoice(email="ada@example.test").json()["quickinvoice"]
    paylink = shop.paylink(email="ada@example.test").json()["paylink"]
    new: Record = {"contact": {"last_name": "Smith", "location_id": shop.info.location_id}}
    return [
        ("POST", "/v2/contacts", new),
        ("GET", f"/v2/contacts/{contact['id']}", None),
        ("PUT", f"/v2/contacts/{contact['id']}", {"contact": {"city": "Paris"}}),
        ("POST", f"/v2/quickinvoices/{invoice['id']}/resend?sms=0", None),
        ("POST", f"/v2/paylinks/{paylink['id']}/resend", None),
        ("GET", f"/v2/paylinks/{paylink['id']}?expand=contact", None),
        ("GET", "/v2/users/me", None),
        ("GET", "/v2/locationinfos?relationship=direct", None),
        ("DELETE", f"/v2/contacts/{contact['id']}", None),
    ]


def test_unknown_parameter(shop: Shop, strict_shop: Shop, errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelled parameter changes nothing, and is logged by name; a strict gateway names it and does nothing."""
    for method, path, body in requests(shop):
        caplog.clear()
        response = shop.http.request(method, path, json=body, params=httpx.URL(path).params.merge({"colour": "1"}))
        assert response.is_success, response.text
        (message,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
        assert message.startswith(f"ignored unknown parameters operation={method} /v2/")
        assert message.endswith(" parameters=colour")
    for method, path, body in requests(strict_shop):
        params = httpx.URL(path).params.merge({"colour": "1"})
        response = strict_shop.http.request(method, path, json=body, params=params)
        assert errors(response) == {"colour": ["Colour is not a known parameter."]}
        assert strict_shop.http.request(method, path, json=body).is_success
