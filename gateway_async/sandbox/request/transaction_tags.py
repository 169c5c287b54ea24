"""The tags of a transaction: requests name them by title, and responses show `{id, title}`.

A title that no tag of the location has becomes a new tag, which `GET /v2/tags` then lists.
"""

import json

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TAG
from gateway_async.sandbox.schema.fields import Row

__all__ = ["find_tags", "show_tags"]


def find_tags(gateway: Gateway, user: Row, values: Row) -> Row:
    """Return the stored form of `tags`: ids instead of titles, if given."""
    if values.get("tags") is None:
        return {}
    titles = dict.fromkeys(json.loads(values["tags"]))
    return {"tags": json.dumps([_find_or_create(gateway, user, title) for title in titles])}


def show_tags(gateway: Gateway, transaction: Row) -> list[Row]:
    """Return the tags of a transaction, without deleted ones."""
    found = (gateway.store.find(TAG, id=tag_id) for tag_id in json.loads(transaction["tags"]))
    return [{"id": tag["id"], "title": tag["title"]} for tag in found if tag and tag["deleted_ts"] is None]


def _find_or_create(gateway: Gateway, user: Row, title: str) -> str:
    known = gateway.store.filter(TAG, location_id=user["location_id"], title=title)
    tag = next((tag for tag in known if tag["deleted_ts"] is None), None)
    return str((tag or gateway.create(TAG, user, {"title": title}))["id"])
