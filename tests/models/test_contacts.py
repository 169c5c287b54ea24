"""Contacts."""

import attrs

from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate


def names(kind: type[attrs.AttrsInstance]) -> set[str]:
    return {field.name for field in attrs.fields(kind)}


def test_readable_fields() -> None:
    """Read every field of a request from the record, except the create's switch."""
    assert names(ContactCreate) - names(Contact) == {"update_if_exists"}
    assert names(ContactUpdate) <= names(ContactCreate)
