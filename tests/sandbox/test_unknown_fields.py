"""Unknown fields of requests: ignored and logged, or refused by a strict gateway."""

import logging

import httpx
import pytest

from .conftest import Errors, Shop

LOGGER = "gateway_async.sandbox.ignored_fields"


def test_an_unknown_field_is_ignored_and_logged(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelled name changes nothing, and the log names it, on POST and on PUT."""
    created = shop.contact(lastname="Jones")
    contact = created.json()["contact"]
    changed = shop.put("contact", f"/v2/contacts/{contact['id']}", {"citty": "Paris"})
    assert (created.status_code, changed.status_code) == (201, 200)
    assert (changed.json()["contact"]["last_name"], "citty" in changed.json()["contact"]) == ("Smith", False)
    logged = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    expected = "ignored unknown fields record=contact fields="
    assert logged == [f"{expected}lastname", f"{expected}citty"]


SAMPLES = [
    ("at_terminal", {"account_type": "visa"}),
    ("vault", {"billing_street": "1 Main St", "description": "gold"}),
    ("pay", {"acount_vault_id": "x"}),
    ("invoice", {"itemlist": {}}),
    ("paylink", {"descripton": "Tea"}),
]


@pytest.mark.parametrize(("make", "fields"), SAMPLES, ids=[make for make, _ in SAMPLES])
def test_each_record_type_ignores_what_clients_send(shop: Shop, make: str, fields: dict[str, object]) -> None:
    """Such fields are those of published samples, and misspelled ones."""
    response: httpx.Response = getattr(shop, make)(**fields)
    assert response.status_code == 201
    (record,) = response.json().values()
    assert not set(fields) & ({*record} - {"account_type", "description"})


@pytest.mark.parametrize(("make", "fields"), SAMPLES, ids=[make for make, _ in SAMPLES])
def test_a_strict_gateway_names_them(strict_shop: Shop, errors: Errors, make: str, fields: dict[str, object]) -> None:
    """Each unknown field is a problem of its own."""
    assert set(errors(getattr(strict_shop, make)(**fields))) == set(fields)


def test_a_known_field_that_cannot_be_set_stays_a_problem(shop: Shop, errors: Errors) -> None:
    """Only unknown names are ignored."""
    assert list(errors(shop.contact(id="me"))) == ["id"]


@pytest.mark.parametrize("name", ["4111111111111111", "x4111111111111111", "a b", "n" * 65, "ü"])
def test_the_log_hides_a_name_that_may_be_a_secret(shop: Shop, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """Only short plain words are logged."""
    with caplog.at_level(logging.WARNING, LOGGER):
        assert shop.contact(**{name: 1}).status_code == 201
    assert [record.getMessage() for record in caplog.records if record.name == LOGGER] == [
        "ignored unknown fields record=contact fields=(hidden)"
    ]
