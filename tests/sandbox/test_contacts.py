"""Contacts, with their api ids, the rules of a PUT, and their notes; and the tags of a location."""

from .conftest import Errors, Record, Shop


def test_a_contact_is_found_by_the_integrators_own_id(shop: Shop, errors: Errors) -> None:
    created = shop.contact(contact_api_id="Ä/b c?%2F").json()
    path = "/v2/contacts/%C3%84%2Fb%20c%3F%252F"
    for flag in ("1", "true"):
        assert shop.get(path, api_id=flag, location_id=shop.info.location_id).json() == created
    assert errors(shop.get(path, api_id=1)) == {"location_id": ["Location Id cannot be blank."]}


def test_update_if_exists(shop: Shop, errors: Errors) -> None:
    """A known api id updates that contact, an unknown one creates it, and one is needed."""
    created = shop.contact(contact_api_id="137", last_name="Smith", update_if_exists=1)
    first = created.json()["contact"]
    again = shop.contact(contact_api_id="137", last_name="Jones", update_if_exists=1)
    assert (created.status_code, again.status_code) == (201, 200)
    assert again.json()["contact"]["id"] == first["id"]
    assert shop.get(f"/v2/contacts/{first['id']}").json()["contact"]["last_name"] == "Jones"
    assert list(errors(shop.contact(update_if_exists=1))) == ["contact_api_id"]


def test_change(shop: Shop, errors: Errors) -> None:
    """Null makes a flag false and a field without a default null; a required field cannot be emptied."""
    contact = shop.contact(first_name="Ada", city="London", company_name="Engines", email_trx_receipt=1).json()[
        "contact"
    ]
    path = f"/v2/contacts/{contact['id']}"
    changed = shop.put("contact", path, {"city": "Paris", "company_name": None, "email_trx_receipt": None})
    assert changed.status_code == 200
    expected = {"city": "Paris", "company_name": None, "email_trx_receipt": False}
    assert changed.json()["contact"] == contact | expected | {"modified_ts": changed.json()["contact"]["modified_ts"]}
    for blank in (None, ""):
        assert list(errors(shop.put("contact", path, {"last_name": blank}))) == ["last_name"]


def test_header_message_type(shop: Shop, errors: Errors) -> None:
    """Both spellings are accepted and returned, and different values are refused."""
    contact = shop.contact(header_message_type="3").json()["contact"]
    assert (contact["header_message_type_id"], contact["header_message_type"]) == (3, 3)
    path, both = f"/v2/contacts/{contact['id']}", {"header_message_type": 4, "header_message_type_id": "4"}
    for sent, kept in (({"header_message_type": 5}, 5), (both, 4), ({"header_message_type": None}, 0)):
        changed = shop.put("contact", path, sent).json()["contact"]
        assert changed["header_message_type_id"] == kept
    expected = {"header_message_type": ["Header Message Type and Header Message Type Id differ."]}
    for refused in (
        shop.put("contact", path, both | {"header_message_type": 5}),
        shop.contact(**both | {"header_message_type": 5}),
    ):
        assert errors(refused) == expected


def test_a_strict_gateway_refuses_an_unknown_field(strict_shop: Shop, errors: Errors) -> None:
    assert errors(strict_shop.contact(lastname="Smith", id="me", created_ts=1)) == {
        "lastname": ["Lastname is not a known field."],
        "id": ["Id cannot be set."],
        "created_ts": ["Created Ts cannot be set."],
    }


def test_all_problems_of_a_contact_are_reported_at_once(shop: Shop, errors: Errors) -> None:
    bad = shop.contact(last_name=..., location_id="nowhere", city=["Paris"], contact_balance="1.234", date_of_birth="x")
    assert errors(bad) == {
        "last_name": ["Last Name cannot be blank."],
        "location_id": ["location_id provided is not valid"],
        "city": ["City must be a string."],
        "contact_balance": ["Contact Balance must be an amount of at most 9 digits and 2 decimals."],
        "date_of_birth": ["Date Of Birth must be a date of the form 2025-12-31."],
    }


def test_paths_work_with_and_without_a_trailing_slash(shop: Shop) -> None:
    contact = shop.contact().json()
    assert shop.get(f"/v2/contacts/{contact['contact']['id']}/").json() == contact
    assert shop.get("/v2/contacts/").status_code == 200


def made_note(shop: Shop, **fields: str) -> Record:
    """Create a note about the first contact."""
    said = {"resource": "Contact", "resource_id": shop.info.contact_id, "note": "Call back"}
    record: Record = shop.post("note", "/v2/notes", said | fields).json()["note"]
    return record


def test_notes(shop: Shop) -> None:
    """The links lead to the contact, which shows its notes on request; the newest is first, unless it was deleted."""
    older, note = made_note(shop), made_note(shop)
    made_note(shop, resource_id=shop.contact().json()["contact"]["id"])
    contact = f"/v2/contacts/{shop.info.contact_id}"
    address = shop.info.base_url + contact
    assert note["_links"] == {"self": {"href": f"{address}/notes/{note['id']}"}, "for": {"href": address}}
    found = shop.get("/v2/notes", resource_id=shop.info.contact_id).json()["notes"]
    assert [each["id"] for each in found] == [note["id"], older["id"]]
    path = f"/v2/notes/{note['id']}"
    shown = shop.get(path, expand="created_user,visibility_group").json()["note"]
    assert (shown["created_user"]["id"], shown["visibility_group"]) == (shop.info.user_id, None)
    assert [shop.http.delete(path).status_code, shop.http.delete(path).status_code] == [204, 409]
    shown = shop.get(contact, expand="notes").json()["contact"]
    assert [(each["id"], each["note"]) for each in shown["notes"]] == [(older["id"], "Call back")]


def test_refused_notes(shop: Shop, neighbor: Shop, errors: Errors) -> None:
    """Unknown contacts, those of another location, and other resources have no notes."""
    said = {"resource": "Contact", "resource_id": neighbor.info.contact_id}
    assert errors(shop.post("note", "/v2/notes", said)) == {"resource_id": ["resource_id provided is not valid"]}
    said = {"resource": "Invoice", "resource_id": shop.info.contact_id}
    assert errors(shop.post("note", "/v2/notes", said)) == {"resource": ["Resource must be Contact."]}
