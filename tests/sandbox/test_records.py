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
TEXTS = {"contact": "city", "accountvault": "title", "quickinvoice": "title", "paylink": "description"}
"""A text that a PUT may change, of each type whose records can be deleted."""
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
def test_unique_api_id(shop: Shop, neighbor: Shop, errors: Errors, noun: str, field: str) -> None:
    """A second record with the same api id is refused; another location may use it."""
    first = make(shop, noun, **{field: "137"})
    assert errors(make(shop, noun, **{field: "137"})) == {field: [f"{field} already exists in this location"]}
    assert (first.status_code, make(neighbor, noun, **{field: "137"}).status_code) == (201, 201)


def test_empty_api_id(shop: Shop) -> None:
    """Several records may have the empty api id; they show null, as records without one do."""
    for noun, field in API_IDS.items():
        for empty in ("", "", None):
            created = make(shop, noun, **{field: empty})
            assert (created.status_code, created.json()[noun][field]) == (201, None)


def test_an_empty_api_id_removes_it(shop: Shop) -> None:
    for noun, field in [(noun, API_IDS[noun]) for noun in CHANGEABLE]:
        record = make(shop, noun, **{field: "137"}).json()[noun]
        changed = shop.put(noun, f"/v2/{noun}s/{record['id']}", {field: ""})
        assert (changed.status_code, changed.json()[noun][field]) == (200, None)
        assert make(shop, noun, **{field: "137"}).status_code == 201


@pytest.mark.parametrize(("noun", "field"), API_IDS.items())
def test_api_id_filter(shop: Shop, noun: str, field: str) -> None:
    """A filter matches substrings, a lookup by path is exact."""
    for name in ("1", "12"):
        make(shop, noun, **{field: name})
    listed = shop.get(f"/v2/{noun}s", **{field: "1"}).json()[f"{noun}s"]
    assert [one[field] for one in listed] == ["12", "1"]
    found = shop.get(f"/v2/{noun}s/1", api_id=1, location_id=shop.info.location_id).json()[noun]
    assert found[field] == "1"


@pytest.mark.parametrize("noun", sorted(API_IDS.keys() - {"contact"}))
def test_a_contact_may_be_named_by_its_api_id(shop: Shop, errors: Errors, noun: str) -> None:
    contact = shop.contact(contact_api_id="137").json()["contact"]
    assert make(shop, noun, contact_api_id="137").json()[noun]["contact_id"] == contact["id"]
    assert list(errors(make(shop, noun, contact_api_id="unknown"))) == ["contact_api_id"]


@pytest.mark.parametrize("noun", TEXTS)
def test_deletion(shop: Shop, noun: str) -> None:
    """A DELETE is a 204 without a body, then 409 for every request, and in no list; an unknown record is a 404."""
    record_id = make(shop, noun).json()[noun]["id"]
    deleted = shop.http.delete(f"/v2/{noun}s/{record_id}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert shop.get(f"/v2/{noun}s/{record_id}").json()["name"] == "Conflict"
    assert (statuses(shop, noun, record_id), statuses(shop, noun, "unknown")) == ({409}, {404})
    assert record_id not in [one["id"] for one in shop.get(f"/v2/{noun}s").json()[f"{noun}s"]]
    if noun in VERBS:
        assert shop.http.post(f"/_sandbox/{noun}s/{record_id}/pay", json={}).status_code == 404


@pytest.mark.parametrize("noun", TEXTS)
def test_records_of_another_location_do_not_exist(shop: Shop, neighbor: Shop, noun: str) -> None:
    assert statuses(shop, noun, make(neighbor, noun).json()[noun]["id"]) == {404}


def test_no_id_looks_like_a_card_number() -> None:
    # Messages mask card numbers, and would hide such an id.
    ids, made = IdGenerator(Clock(), last="09a4111111110000"), set[str]()
    while len(made) < 3000:
        made.add(ids.new())
    assert [each for each in made if mask_text(each) != each] == []
    assert {each[:3] for each in made} == {"09a"}
