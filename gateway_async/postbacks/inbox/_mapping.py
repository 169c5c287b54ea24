"""Convert postbacks to rows of an inbox's table and back; shared by `SqliteInbox` and `PostgresInbox`."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import attrs

from gateway_async._wire.json_text import decode, encode
from gateway_async._wire.postback import postback_of
from gateway_async.errors import PostbackRefusedError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, StoredPostback
from gateway_async.telemetry.health import InboxHealth

_MAX_KEY_LENGTH: Final = 200
"""The longest ordering key that is stored as it is. PostgreSQL indexes only values up to a third of a page."""


@attrs.frozen
class PostbackRow:
    """The stored columns of a postback.

    Attributes:
        key: identifies the postback.
        ordering_key: shared by all postbacks of a record, which are handled one after the other.
        deletes: whether the postback reports the deletion of the record.
        modified: when the record was changed, UTC.
        content: the postback as JSON text.
        caught_up: whether it comes from `catch_up`, and so is stored only if it was missed.
    """

    key: str
    ordering_key: str
    deletes: bool
    modified: datetime | None
    content: str = attrs.field(repr=False)
    caught_up: bool


def row_of(postback: Postback[Any]) -> PostbackRow:
    """Convert a postback to a row; the record is stored exactly as it was received."""
    content = {
        "type": postback.type,
        "resource": postback.resource,
        "number_of_attempts": postback.number_of_attempts,
        "caught_up": postback.caught_up,
        "data": postback.raw,
    }
    return PostbackRow(
        key=postback.key,
        ordering_key=ordering_key_of(postback),
        deletes=postback.type == "DELETE",
        modified=postback.modified_ts,
        content=encode(content).decode(),
        caught_up=postback.caught_up,
    )


def ordering_key_of(postback: Postback[Any]) -> str:
    """The key that all postbacks of a record share.

    A postback without a record has a key of its own.
    """
    if not postback.record_id:
        return postback.key
    ordering_key = f"{postback.resource} {postback.record_id}"
    if len(ordering_key) <= _MAX_KEY_LENGTH and ordering_key.isprintable():  # databases reject zero bytes
        return ordering_key
    return sha256(ordering_key.encode(errors="surrogatepass")).hexdigest()


def claim_of(row: Mapping[str, Any], token: str) -> Claim:
    """Convert a row with the column `superseded` to a claim."""
    return Claim(
        number=row["number"],
        postback=_postback(row),
        lock_token=token,
        attempt=row["attempts"],
        superseded=bool(row["superseded"]),
    )


def stored_postback_of(row: Mapping[str, Any]) -> StoredPostback:
    """Convert a row to a stored postback."""
    state = PostbackState(row["state"])
    return StoredPostback(
        number=row["number"],
        postback=_postback(row),
        state=state,
        received_at=_to_datetime(row["received_at"]),
        attempts=row["attempts"],
        error=row["error"],
        due_at=_to_datetime(row["due_at"]) if state is PostbackState.WAITING else None,
    )


def health_of(row: Mapping[str, Any]) -> InboxHealth:
    """Convert a row of counts; both times are the database's."""
    oldest = row["oldest"]
    age = None if oldest is None else (_to_datetime(row["moment"]) - _to_datetime(oldest)).total_seconds()
    return InboxHealth(
        waiting=row["waiting"],
        in_progress=row["in_progress"],
        retrying=row["retrying"],
        dead=row["dead"],
        oldest_seconds=age,
    )


def _to_datetime(moment: datetime | float) -> datetime:
    """Convert a time; SQLite stores it in seconds since 1970."""
    return moment if isinstance(moment, datetime) else datetime.fromtimestamp(moment, UTC)


def is_already_delivered(row: PostbackRow, listed: Iterable[str]) -> bool:
    """Whether `catch_up` has already passed on a delivered change.

    A record is created once, so its CREATE always matches. For an UPDATE, the second of the change and all fields in
    both versions must match. If in doubt, the result is False, and the change is passed on twice.

    Args:
        row: the delivered postback.
        listed: the contents of the postbacks that `catch_up` may have stored for its record.
    """
    return any(_is_same_change(content, row.content) for content in listed)


def _is_same_change(listed: str, delivered: str) -> bool:
    earlier, now = (_postback({"key": "", "content": content}) for content in (listed, delivered))
    if not earlier.caught_up or earlier.type != now.type:
        return False
    if now.type == "CREATE":
        return True
    if earlier.modified_ts is None or earlier.modified_ts != now.modified_ts:
        return False
    if differs(listed, delivered) or differs(delivered, listed):
        return False
    return _extra_fields(earlier, now) == _extra_fields(now, earlier)


def differs(earlier: str, listed: str) -> bool:
    """Whether a listed record differs in a field of both."""
    before, now = (_postback({"key": "", "content": content}) for content in (earlier, listed))
    if before.type == "DELETE" or now.type == "CREATE" or now.record is None:
        return False
    return any(getattr(before.record, name, None) != value for name, value in _scalar_fields(now) if name in before.raw)


def _scalar_fields(postback: Postback[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the scalar fields of a record.

    Nested records are omitted, since lists and postbacks differ in them.
    """
    for field in attrs.fields(type(postback.record)):
        value = getattr(postback.record, field.name)
        if field.name != "extra" and value is not None and not isinstance(value, tuple | Mapping):
            yield field.name, value


def _extra_fields(postback: Postback[Any], other: Postback[Any]) -> Mapping[str, Any]:
    """The scalar fields outside of the model that both contain.

    Nested records and lists are omitted, since lists and postbacks differ in them.
    """
    fields = postback.record.extra.items() if postback.record else ()
    return {
        name: value for name, value in fields if name in other.raw and not isinstance(value, tuple | list | Mapping)
    }


def _postback(row: Mapping[str, Any]) -> Postback[Any]:
    """Rebuild a postback with its stored key."""
    content = decode(row["content"].encode())
    values = {"attempts": content["number_of_attempts"], "caught_up": content["caught_up"]}
    type_, resource, raw = content["type"], content["resource"], content["data"]
    try:
        postback = postback_of(type_, resource, raw, **values)
    except PostbackRefusedError:  # another version of the package was able to parse it
        postback = attrs.evolve(postback_of(type_, "", raw, **values), resource=resource)
    return attrs.evolve(postback, key=row["key"])
