"""SQL statements of `PostgresInbox`; `@` is replaced by the table's name.

All postbacks of a record have the same *ordering key* and are handled one after the other. The `head` of the key is the
next postback.

A transaction locks the row of the key before it changes the key, so its next statement sees everything that was
committed before. A transaction that stores a postback locks the key last. Therefore no head is missed, and no head is
claimed twice.
"""

from typing import Final

__all__ = [
    "ADVANCE",
    "CLAIM",
    "COUNT_ATTEMPTS",
    "CREATE",
    "DISCARD",
    "EXISTS",
    "EXTEND",
    "FAILED",
    "FIND_LATEST",
    "FIND_RECONCILED",
    "FINISH",
    "LIST_POSTBACKS",
    "LOCK_CLAIM",
    "LOCK_CREATION",
    "LOCK_KEY",
    "ORDERING_KEY_OF",
    "PRUNE_KEYS",
    "PRUNE_POSTBACKS",
    "RECORD_NEWEST",
    "REPLAY",
    "REQUEUE",
    "STORE",
    "UNDO_ATTEMPT",
]

LOCK_CREATION: Final = "SELECT pg_advisory_xact_lock(hashtextextended('gateway_async @', 0))"
EXISTS: Final = "SELECT count(*) > 0 FROM pg_class WHERE oid = to_regclass('@_keys')"
"""Reads `pg_class` so that a transaction that waited for the lock also sees tables that another one has created."""

CREATE: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    ordering_key text NOT NULL,
    deletes boolean NOT NULL,
    modified timestamptz,
    content text NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    received_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    ended_at timestamptz
);
CREATE INDEX ON @ (ordering_key, state, number);
CREATE INDEX ON @ (state, number);
CREATE INDEX ON @ (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ON @ (ordering_key) WHERE content LIKE '%"reconciled":true%';
CREATE TABLE @_keys (
    ordering_key text PRIMARY KEY,
    head bigint,
    due_at timestamptz NOT NULL,
    token text,
    newest timestamptz,
    deleted timestamptz,
    ended_at timestamptz
);
CREATE INDEX ON @_keys (due_at) WHERE head IS NOT NULL;
CREATE INDEX ON @_keys (ended_at) WHERE head IS NULL;
"""
FIND_LATEST: Final = """
SELECT newest, deleted, modified, content, received_at <= now() - $3::interval AS before
FROM (SELECT $1::text AS ordering_key) AS asked LEFT JOIN @_keys USING (ordering_key)
LEFT JOIN @ ON number = (
    SELECT number FROM @ WHERE ordering_key = $1 AND modified >= $2::timestamptz
    ORDER BY modified DESC, number DESC LIMIT 1
)
"""
# The condition matches a partial index of listed postbacks only, because a record may have changed a thousand times.
FIND_RECONCILED: Final = """SELECT content FROM @ WHERE ordering_key = $1 AND content LIKE '%"reconciled":true%'"""
STORE: Final = """
WITH new AS (
    INSERT INTO @ (key, ordering_key, deletes, modified, content)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (key) DO NOTHING
    RETURNING number, received_at
)
INSERT INTO @_keys AS keys (ordering_key, head, due_at) SELECT $2, number, received_at FROM new
ON CONFLICT (ordering_key) DO UPDATE
SET head = coalesce(keys.head, excluded.head),
    due_at = CASE WHEN keys.head IS NULL THEN excluded.due_at ELSE keys.due_at END
RETURNING 1
"""
CLAIM: Final = """
WITH due AS MATERIALIZED (
    SELECT ordering_key FROM @_keys WHERE head IS NOT NULL AND due_at <= now()
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE @_keys AS keys SET token = $1, due_at = now() + $2::interval FROM due WHERE keys.ordering_key = due.ordering_key
RETURNING keys.head
"""
COUNT_ATTEMPTS: Final = """
UPDATE @ AS postbacks SET attempts = attempts + 1 FROM @_keys AS keys
WHERE postbacks.number = ANY($1) AND keys.ordering_key = postbacks.ordering_key
RETURNING postbacks.number, key, content, attempts,
    coalesce(modified < newest, false)
    OR (NOT deletes AND deleted IS NOT NULL AND coalesce(modified <= deleted, true)) AS superseded
"""
EXTEND: Final = "UPDATE @_keys SET due_at = now() + $3::interval WHERE ordering_key = ANY($1) AND token = ANY($2)"
LOCK_CLAIM: Final = "SELECT 1 FROM @_keys WHERE ordering_key = $1 AND head = $2 AND token = $3 FOR UPDATE"
FINISH: Final = """
UPDATE @ SET state = $2, error = '', ended_at = now() WHERE number = $1 RETURNING deletes, modified
"""
RECORD_NEWEST: Final = """
UPDATE @_keys
SET newest = greatest(newest, $2), deleted = CASE WHEN $3::boolean THEN coalesce($2, 'infinity') ELSE deleted END
WHERE ordering_key = $1
"""
ADVANCE: Final = """
UPDATE @_keys
SET token = NULL, due_at = now() + $2::interval, ended_at = now(),
    head = (SELECT min(number) FROM @ WHERE ordering_key = $1 AND state = 'waiting')
WHERE ordering_key = $1
"""
FAILED: Final = "UPDATE @ SET error = $2, state = $3 WHERE number = $1"
UNDO_ATTEMPT: Final = "UPDATE @ SET attempts = attempts - 1 WHERE number = $1"
ORDERING_KEY_OF: Final = "SELECT ordering_key FROM @ WHERE number = $1"
LOCK_KEY: Final = "SELECT 1 FROM @_keys WHERE ordering_key = $1 FOR UPDATE"
REPLAY: Final = "UPDATE @ SET state = 'waiting', attempts = 0, ended_at = NULL WHERE number = $1"
DISCARD: Final = "UPDATE @ SET state = 'discarded', ended_at = now() WHERE number = $1 AND state = 'dead' RETURNING 1"
REQUEUE: Final = """
INSERT INTO @_keys AS keys (ordering_key, head, due_at) VALUES ($1, $2, now())
ON CONFLICT (ordering_key) DO UPDATE
SET due_at = now(), head = least(keys.head, excluded.head)
WHERE keys.token IS NULL
"""
LIST_POSTBACKS: Final = """
SELECT number, key, content, state, received_at, attempts, error, due_at
FROM @ LEFT JOIN @_keys USING (ordering_key)
WHERE number > $1 AND ($2::text IS NULL OR state = $2) ORDER BY number LIMIT $3
"""
PRUNE_POSTBACKS: Final = """
DELETE FROM @ WHERE number IN (SELECT number FROM @ WHERE ended_at < now() - $1::interval ORDER BY ended_at LIMIT 10000)
"""
PRUNE_KEYS: Final = """
DELETE FROM @_keys WHERE ordering_key IN (
    SELECT ordering_key FROM @_keys WHERE head IS NULL AND ended_at < now() - $1::interval
    ORDER BY ended_at LIMIT 10000 FOR UPDATE SKIP LOCKED
)
"""
