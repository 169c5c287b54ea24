"""Tags of a location, and notes about a contact."""

from .conftest import Errors, Record, Shop


def made(shop: Shop, **fields: str) -> Record:
    """Create a note about the first contact."""
    said = {"resource": "Contact", "resource_id": shop.info.contact_id, "note": "Call back"}
    record: Record = shop.post("note", "/v2/notes", said | fields).json()["note"]
    return record


def test_a_tag(shop: Shop) -> None:
    """Create, change, list, delete."""
    tag = shop.post("tag", "/v2/tags", {"title": "Rent", "location_id": shop.info.location_id}).json()["tag"]
    assert {*tag} == {"id", "location_id", "title", "created_ts", "modified_ts", "_links"}
    assert shop.put("tag", f"/v2/tags/{tag['id']}", {"title": "Lease"}).json()["tag"]["title"] == "Lease"
    assert [each["title"] for each in shop.get("/v2/tags").json()["tags"]] == ["Lease"]
    shown = shop.get(f"/v2/tags/{tag['id']}", expand="created_user").json()["tag"]
    assert shown["created_user"]["id"] == shop.info.user_id
    assert shop.http.delete(f"/v2/tags/{tag['id']}").status_code == 204
    assert shop.http.delete(f"/v2/tags/{'f' * 24}").status_code == 404


def test_notes(shop: Shop) -> None:
    """The links lead to the contact, which shows its notes on request; the newest is first, unless it was deleted."""
    older, note = made(shop), made(shop)
    made(shop, resource_id=shop.contact().json()["contact"]["id"])
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


def test_refusals(shop: Shop, neighbor: Shop, errors: Errors) -> None:
    """Unknown contacts, those of another location, and other resources have no notes."""
    said = {"resource": "Contact", "resource_id": neighbor.info.contact_id}
    assert errors(shop.post("note", "/v2/notes", said)) == {"resource_id": ["resource_id provided is not valid"]}
    said = {"resource": "Invoice", "resource_id": shop.info.contact_id}
    assert errors(shop.post("note", "/v2/notes", said)) == {"resource": ["Resource must be Contact."]}
