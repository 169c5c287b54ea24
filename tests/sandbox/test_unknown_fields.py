"""Unknown fields of requests: ignored and logged, or refused by a strict gateway."""

import logging

import httpx
import pytest

from .conftest import Errors, Record, Shop

LOGGER = "gateway_async.sandbox.ignored_fields"


def test_unknown_field(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelled name changes nothing, and the log names it, on POST and on PUT."""
    created = shop.contact(lastname="Jones")
    contact = created.json()["contact"]
    changed = shop.put("contact", f"/v2/contacts/{contact['id']}", {"citty": "Paris"})
    assert (created.status_code, changed.status_code) == (201, 200)
    assert (changed.json()["contact"]["last_name"], "citty" in changed.json()["contact"]) == ("Smith", False)
    logged = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    expected = "ignored unknown fields record=contact fields="
    assert logged == [f"{expected}lastname", f"{expected}citty"]


SAMPLES: list[tuple[str, dict[str, object]]] = [
    ("at_terminal", {"account_type": "visa"}),
    ("vault", {"billing_street": "1 Main St", "description": "gold"}),
    ("pay", {"acount_vault_id": "x"}),
    ("invoice", {"itemlist": {}}),
    ("paylink", {"descripton": "Tea"}),
]


def test_sample_fields(shop: Shop) -> None:
    """Each record type ignores unknown fields of published samples, and misspelled ones."""
    for make, fields in SAMPLES:
        response: httpx.Response = getattr(shop, make)(**fields)
        assert response.status_code == 201, make
        (record,) = response.json().values()
        assert not set(fields) & ({*record} - {"account_type", "description"})


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


def test_unknown_parameter(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelled parameter changes nothing, and the log names it, whatever the request."""
    for method, path, body in requests(shop):
        caplog.clear()
        response = shop.http.request(method, path, json=body, params=httpx.URL(path).params.merge({"colour": "1"}))
        assert response.is_success, response.text
        (message,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
        assert message.startswith(f"ignored unknown parameters operation={method} /v2/")
        assert message.endswith(" parameters=colour")


def test_strict_parameters(strict_shop: Shop, errors: Errors) -> None:
    """A strict gateway names an unknown query parameter, does nothing, and knows the documented ones."""
    shop = strict_shop
    for method, path, body in requests(shop):
        response = shop.http.request(method, path, json=body, params=httpx.URL(path).params.merge({"colour": "1"}))
        assert errors(response) == {"colour": ["Colour is not a known parameter."]}
        assert shop.http.request(method, path, json=body).is_success


def test_a_known_field_that_cannot_be_set_stays_a_problem(shop: Shop, errors: Errors) -> None:
    assert list(errors(shop.contact(id="me"))) == ["id"]


@pytest.mark.parametrize("name", ["4111111111111111", "x4111111111111111", "a b", "n" * 65, "ü"])
def test_only_short_plain_words_are_logged(shop: Shop, caplog: pytest.LogCaptureFixture, name: str) -> None:
    with caplog.at_level(logging.WARNING, LOGGER):
        assert shop.contact(**{name: 1}).status_code == 201
    assert [record.getMessage() for record in caplog.records if record.name == LOGGER] == [
        "ignored unknown fields record=contact fields=(hidden)"
    ]
