"""A postback as a row of an inbox's table, and back: what `SqliteInbox` and `PostgresInbox` have in common."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import attrs

from gateway_async._wire.convert import decode, encode
from gateway_async._wire.postback import postback_of
from gateway_async.errors import InvalidRequestError, PostbackRefusedError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import Claim, Letter, LetterState

__all__ = [
    "LISTING_SECONDS",
    "Row",
    "check_keep_days",
    "claim_of",
    "lane_of",
    "letter_of",
    "row_of",
    "was_missed",
    "was_told",
]

_LONGEST_LANE: Final = 200
"""An index takes no more than a third of a page."""

LISTING_SECONDS: Final = 60.0
"""What came no longer ago may be younger than the list in which a record stood."""


@attrs.frozen
class Row:
    """What is written of a postback.

    Attributes:
        key: by which it is known.
        lane: what is handled one after the other: all postbacks of a record.
        deletes: whether it tells of the record's end.
        modified: when the record was changed, UTC.
        content: the postback, as a JSON text.
        reconciled: whether it is kept only if it was missed.
    """

    key: str
    lane: str
    deletes: bool
    modified: datetime | None
    content: str
    reconciled: bool


def row_of(postback: Postback[Any]) -> Row:
    """A postback as it is kept; the record as it came."""
    content = {
        "type": postback.type,
        "resource": postback.resource,
        "number_of_attempts": postback.number_of_attempts,
        "reconciled": postback.reconciled,
        "data": postback.raw,
    }
    return Row(
        key=postback.key,
        lane=lane_of(postback),
        deletes=postback.type == "DELETE",
        modified=postback.modified_ts,
        content=encode(content).decode(),
        reconciled=postback.reconciled,
    )


def lane_of(postback: Postback[Any]) -> str:
    """The record whose postbacks are handled one after the other; of no record is it the postback itself."""
    if not postback.record_id:
        return postback.key
    lane = f"{postback.resource} {postback.record_id}"
    if len(lane) <= _LONGEST_LANE and lane.isprintable():  # no database likes zero bytes
        return lane
    return sha256(lane.encode(errors="surrogatepass")).hexdigest()


def claim_of(row: Mapping[str, Any], token: str) -> Claim:
    """A row of `number`, `key`, `content`, `attempts` and `superseded` as a claim."""
    return Claim(
        number=row["number"],
        postback=_postback(row),
        token=token,
        attempt=row["attempts"],
        superseded=bool(row["superseded"]),
    )


def letter_of(row: Mapping[str, Any]) -> Letter:
    """A row of all that is kept, times as `datetime`, as a letter."""
    state = LetterState(row["state"])
    return Letter(
        number=row["number"],
        postback=_postback(row),
        state=state,
        came_at=row["came_at"],
        attempts=row["attempts"],
        error=row["error"],
        due_at=row["due_at"] if state is LetterState.WAITING else None,
    )


def was_missed(row: Row, modified: Any, known: Mapping[str, Any]) -> bool:
    """Whether a listed state is news.

    Times are whole seconds: of two changes within one, only what they say tells that the second was missed.

    Args:
        row: the listed state.
        modified: when it was changed, as the database writes times.
        known: `newest` and `deleted` of its lane; and of what came last of those no older, if there is one, `modified`,
            `content`, and whether it came before the state was listed (`before`).
    """
    if modified is None:
        return True
    newest, deleted, last = known["newest"], known["deleted"], known["modified"]
    if any(time is not None and time > modified for time in (newest, deleted, last)) or deleted == modified:
        return False
    if last is None:
        return newest is None or bool(newest < modified)
    return bool(known["before"]) and _says_otherwise(known["content"], row.content)


def was_told(row: Row, listed: Iterable[str]) -> bool:
    """Whether `reconcile` has told before what a postback brings that is delivered late.

    A record is made once; of a change, its second and all that both say must agree. If in doubt it is told twice.

    Args:
        row: what is delivered.
        listed: the contents of what may have been listed of its record.
    """
    return any(_tells(content, row.content) for content in listed)


def _tells(listed: str, delivered: str) -> bool:
    told, now = (_postback({"key": "", "content": content}) for content in (listed, delivered))
    if not told.reconciled or told.type != now.type:
        return False
    if now.type == "CREATE":
        return True
    if told.modified_ts is None or told.modified_ts != now.modified_ts:
        return False
    otherwise = _says_otherwise(listed, delivered) or _says_otherwise(delivered, listed)
    return not otherwise and _further(told, now) == _further(now, told)


def _says_otherwise(told: str, listed: str) -> bool:
    """Whether a list says something else of a record than its last postback did, as far as both say it."""
    before, now = (_postback({"key": "", "content": content}) for content in (told, listed))
    if before.type == "DELETE" or now.type == "CREATE" or now.record is None:
        return False
    return any(getattr(before.record, name, None) != value for name, value in _said(now) if name in before.raw)


def _said(postback: Postback[Any]) -> Iterator[tuple[str, Any]]:
    """What a record says in fields of its own; not of other records, which lists and postbacks add as they like."""
    for field in attrs.fields(type(postback.record)):
        value = getattr(postback.record, field.name)
        if field.name != "extra" and value is not None and not isinstance(value, tuple | Mapping):
            yield field.name, value


def _further(postback: Postback[Any], other: Postback[Any]) -> Mapping[str, Any]:
    """What a record says in fields that no model has; as far as the other says something of them, too.

    Other records and lists are left out: postbacks and lists add them as they like.
    """
    said = postback.record.extra.items() if postback.record else ()
    return {name: value for name, value in said if name in other.raw and not isinstance(value, tuple | list | Mapping)}


def _postback(row: Mapping[str, Any]) -> Postback[Any]:
    """The postback with the key that it came under, whatever this version would make of it."""
    content = decode(row["content"].encode())
    facts = {"attempts": content["number_of_attempts"], "reconciled": content["reconciled"]}
    type_, resource, raw = content["type"], content["resource"], content["data"]
    try:
        postback = postback_of(type_, resource, raw, **facts)
    except PostbackRefusedError:  # another version of the package could read it
        postback = attrs.evolve(postback_of(type_, "", raw, **facts), resource=resource)
    return attrs.evolve(postback, key=row["key"])


def check_keep_days(days: object) -> float:
    """A number of days.

    Raises:
        InvalidRequestError: it is no number above 0.
    """
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 < days < 1e6:  # noqa: PLR2004
        raise InvalidRequestError("keep_days: must be a number of days above 0")
    return float(days)
