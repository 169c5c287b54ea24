"""The operations of an inbox as SQL statements, for SQLite and for PostgreSQL.

All postbacks of a record have the same *ordering key* and are handled one after the other. The `head` of the key is the
next postback.

Each operation is a generator, as `_storage/sql.py` runs them. The stores replace these marks in the statements:

- `@`: the table's name
- `:now`: the current time
- `:never`: a time after any change of a record
- `:is_caught_up`: the condition of the index of listed postbacks

A transaction locks the row of the key before it changes the key, so its next statement sees everything that was
committed before. A transaction that stores a postback locks the key last. Therefore no head is missed, and no head is
claimed twice.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from gateway_async._storage.sql import Steps
from gateway_async.postbacks.inbox._mapping import (
    PostbackRow,
    claim_of,
    differs,
    health_of,
    is_already_delivered,
    ordering_key_of,
    stored_postback_of,
)
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, StoredPostback
from gateway_async.telemetry.health import InboxHealth

_LISTING_TIME: Final = timedelta(seconds=60)
"""For this time, a stored postback may be newer than the list that showed its record."""

_FIND_LATEST: Final = """
SELECT coalesce(newest > $2, FALSE) OR coalesce(deleted >= $2, FALSE) OR coalesce(modified > $2, FALSE) AS is_older,
    coalesce(newest = $2, FALSE) AS is_handled, content, received_at <= :now + $3 AS was_before
FROM (SELECT CAST($1 AS text) AS ordering_key) AS asked LEFT JOIN @_keys USING (ordering_key)
LEFT JOIN @ ON number = (
    SELECT number FROM @ WHERE ordering_key = $1 AND modified >= $2 ORDER BY modified DESC, number DESC LIMIT 1
)
"""
# The condition matches a partial index of listed postbacks only, because a record may have changed a thousand times.
_FIND_CAUGHT_UP: Final = "SELECT ordering_key, content FROM @ WHERE ordering_key = ANY($1) AND :is_caught_up"
_CLAIM: Final = """
WITH due AS MATERIALIZED (
    SELECT ordering_key FROM @_keys WHERE head IS NOT NULL AND due_at <= :now
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE @_keys AS keys SET token = $1, due_at = :now + $2 FROM due WHERE keys.ordering_key = due.ordering_key
RETURNING head
"""
_COUNT_ATTEMPTS: Final = """
UPDATE @ SET attempts = attempts + 1 WHERE number = ANY($1)
RETURNING number, key, content, attempts, (
    SELECT coalesce(modified < newest, FALSE)
        OR (NOT deletes AND deleted IS NOT NULL AND coalesce(modified <= deleted, TRUE))
    FROM @_keys AS keys WHERE keys.ordering_key = @.ordering_key
) AS superseded
"""
_EXTEND: Final = "UPDATE @_keys SET due_at = :now + $3 WHERE ordering_key = ANY($1) AND token = ANY($2)"
_LOCK_CLAIM: Final = "SELECT 1 FROM @_keys WHERE ordering_key = $1 AND head = $2 AND token = $3 FOR UPDATE"
_FINISH: Final = """
UPDATE @ SET state = $2, error = '', ended_at = :now WHERE number = $1 RETURNING deletes, modified
"""
_RECORD_NEWEST: Final = """
UPDATE @_keys
SET newest = CASE WHEN newest >= $2 THEN newest ELSE coalesce($2, newest) END,
    deleted = CASE WHEN $3 THEN coalesce($2, :never) ELSE deleted END
WHERE ordering_key = $1
"""
_ADVANCE: Final = """
UPDATE @_keys
SET token = NULL, due_at = :now + $2, ended_at = :now,
    head = (SELECT min(number) FROM @ WHERE ordering_key = $1 AND state = 'waiting')
WHERE ordering_key = $1
"""
_FAILED: Final = "UPDATE @ SET error = $2, state = $3 WHERE number = $1"
_UNDO_ATTEMPT: Final = "UPDATE @ SET attempts = attempts - 1 WHERE number = $1"
_ORDERING_KEY_OF: Final = "SELECT ordering_key FROM @ WHERE number = $1"
_LOCK_KEY: Final = "SELECT 1 FROM @_keys WHERE ordering_key = $1 FOR UPDATE"
_REPLAY: Final = "UPDATE @ SET state = 'waiting', attempts = 0, ended_at = NULL WHERE number = $1"
_REQUEUE: Final = """
INSERT INTO @_keys AS keys (ordering_key, head, due_at) VALUES ($1, $2, :now)
ON CONFLICT (ordering_key) DO UPDATE
SET due_at = :now, head = CASE WHEN keys.head < excluded.head THEN keys.head ELSE excluded.head END
WHERE keys.token IS NULL
"""
_DISCARD: Final = """
UPDATE @ SET state = 'discarded', ended_at = :now WHERE number = $1 AND state = 'dead' RETURNING number
"""
_LIST_POSTBACKS: Final = """
SELECT number, key, content, state, received_at, attempts, error, due_at
FROM @ LEFT JOIN @_keys USING (ordering_key)
WHERE number > $1 AND {} ORDER BY number LIMIT $2
"""
_PRUNE_POSTBACKS: Final = """
DELETE FROM @ WHERE number IN (SELECT number FROM @ WHERE ended_at < :now + $1 ORDER BY ended_at LIMIT 10000)
"""
_PRUNE_KEYS: Final = """
DELETE FROM @_keys WHERE ordering_key IN (
    SELECT ordering_key FROM @_keys WHERE head IS NULL AND ended_at < :now + $1
    ORDER BY ended_at LIMIT 10000 FOR UPDATE SKIP LOCKED
)
"""

# Each part reads an index only as far as its own rows: handled postbacks cost nothing.
_READ_HEALTH: Final = """
SELECT :now AS moment, in_progress, retrying,
    (SELECT count(*) FROM @ WHERE state = 'waiting') AS waiting,
    (SELECT count(*) FROM @ WHERE state = 'dead') AS dead,
    (SELECT received_at FROM @ WHERE state = 'waiting' ORDER BY number LIMIT 1) AS oldest
FROM (
    SELECT count(token) AS in_progress, count(*) - count(token) AS retrying
    FROM @_keys WHERE head IS NOT NULL AND due_at > :now
) AS later
"""


def store(
    insert: Callable[[Sequence[PostbackRow]], Steps[set[str]]], rows: Sequence[PostbackRow]
) -> Steps[Sequence[bool]]:
    """Store postbacks, and return for each whether it was new; `insert` returns the keys of the new ones."""
    keys: set[str] = set()
    for some in ([row for row in rows if not row.caught_up], *_split_by_key([row for row in rows if row.caught_up])):
        if some and (new := (yield from select_new(some))):
            keys |= yield from insert(new)
    are_new: list[bool] = []
    for row in rows:
        are_new.append(row.key in keys)
        keys.discard(row.key)  # of two with the same key in one batch, only the first is new
    return are_new


def _split_by_key(rows: Sequence[PostbackRow]) -> Iterator[Sequence[PostbackRow]]:
    """Split rows into rounds with distinct ordering keys.

    Each state is compared with the states stored before, so rows of one key cannot be stored together.
    """
    while rows:
        firsts: dict[str, PostbackRow] = {}
        later = [row for row in rows if firsts.setdefault(row.ordering_key, row) is not row]
        yield list(firsts.values())
        rows = later


def select_new(rows: Sequence[PostbackRow]) -> Steps[Sequence[PostbackRow]]:
    """Return the rows to store: delivered changes not passed on yet, and listed states that were missed.

    Listed states must have distinct ordering keys.
    """
    listed: dict[str, list[str]] = {}
    if delivered := [row.ordering_key for row in rows if not row.caught_up]:
        for found in (yield _FIND_CAUGHT_UP, (delivered,)):
            listed.setdefault(found["ordering_key"], []).append(found["content"])
    new: list[PostbackRow] = []
    for row in rows:
        if row.caught_up:
            is_new = yield from _was_missed(row)
        else:
            is_new = not is_already_delivered(row, listed.get(row.ordering_key, ()))
        if is_new:
            new.append(row)
    return new


def _was_missed(row: PostbackRow) -> Steps[bool]:
    """Whether a listed state of a record was missed.

    Times are whole seconds. If two changes happen within one second, only their contents show that the second one was
    missed.
    """
    if row.modified is None:
        return True
    (known,) = yield _FIND_LATEST, (row.ordering_key, row.modified, -_LISTING_TIME)
    if known["is_older"]:
        return False
    if known["content"] is None:  # no stored postback is as new
        return not known["is_handled"]
    return bool(known["was_before"]) and differs(known["content"], row.content)


def claim(limit: int, seconds: float, token: str) -> Steps[Sequence[Claim]]:
    """Claim due postbacks."""
    heads = [row["head"] for row in (yield _CLAIM, (token, timedelta(seconds=seconds), limit))]
    rows = (yield _COUNT_ATTEMPTS, (heads,)) if heads else ()
    return [claim_of(row, token) for row in sorted(rows, key=lambda row: int(row["number"]))]


def extend(claims: Sequence[Claim], seconds: float) -> Steps[None]:
    """Extend the claims that are still valid."""
    keys, tokens = [ordering_key_of(claim.postback) for claim in claims], [claim.lock_token for claim in claims]
    yield _EXTEND, (keys, tokens, timedelta(seconds=seconds))


def release(claim: Claim) -> Steps[None]:
    """Release a claim without counting the attempt."""
    if (yield from lock_claim(claim)):
        yield _UNDO_ATTEMPT, (claim.number,)
        yield from _end_claim(claim)


def lock_claim(claim: Claim) -> Steps[bool]:
    """Whether a claim is still valid; if so, lock its ordering key until the transaction ends."""
    return bool((yield _LOCK_CLAIM, (ordering_key_of(claim.postback), claim.number, claim.lock_token)))


def finish_claim(claim: Claim, state: PostbackState) -> Steps[None]:
    """Mark a postback as handled; its claim is locked."""
    ((row),) = yield _FINISH, (claim.number, str(state))
    if state is PostbackState.HANDLED:
        yield _RECORD_NEWEST, (ordering_key_of(claim.postback), row["modified"], row["deletes"])
    yield from _end_claim(claim)


def complete(claim: Claim, state: PostbackState, execute: Callable[[Any], Any] | None) -> Steps[bool | Exception]:
    """Mark a postback as handled; `execute` executes its handlers' statements, and returns an error, if any.

    Returns whether the claim was still valid.
    """
    if not (yield from lock_claim(claim)):
        return False
    problem: Exception | None = (yield execute) if execute else None
    if problem:
        return problem
    yield from finish_claim(claim, state)
    return True


def fail_claim(claim: Claim, error: str, retry_in: float | None) -> Steps[None]:
    """Record the failure of a handler."""
    if (yield from lock_claim(claim)):
        state = PostbackState.DEAD if retry_in is None else PostbackState.WAITING
        yield _FAILED, (claim.number, error, str(state))
        yield from _end_claim(claim, retry_in or 0)


def _end_claim(claim: Claim, pause: float = 0) -> Steps[None]:
    """End a claim; the next postback of its ordering key is due after `pause` seconds."""
    yield _ADVANCE, (ordering_key_of(claim.postback), timedelta(seconds=pause))


def list_postbacks(state: PostbackState | None, after: int, limit: int) -> Steps[Sequence[StoredPostback]]:
    """List stored postbacks."""
    if state is None:
        rows = yield _LIST_POSTBACKS.format("TRUE"), (after, limit)
    else:
        rows = yield _LIST_POSTBACKS.format("state = $3"), (after, limit, str(state))
    return [stored_postback_of(row) for row in rows]


def read_health() -> Steps[InboxHealth]:
    """Count the postbacks that wait, are in progress or dead."""
    ((row),) = yield _READ_HEALTH, ()
    return health_of(row)


def replay(number: int) -> Steps[bool]:
    """Make a postback waiting again."""
    for row in (yield _ORDERING_KEY_OF, (number,)):
        yield _LOCK_KEY, (row["ordering_key"],)
        yield _REPLAY, (number,)
        yield _REQUEUE, (row["ordering_key"], number)
        return True
    return False


def discard(number: int) -> Steps[bool]:
    """Give up a dead postback."""
    return bool((yield _DISCARD, (number,)))


def prune(age: timedelta) -> Steps[None]:
    """Delete some postbacks and keys that ended longer than `age` ago."""
    yield _PRUNE_POSTBACKS, (-age,)
    yield _PRUNE_KEYS, (-age,)
