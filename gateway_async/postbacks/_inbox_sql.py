"""What `PostgresInbox` says to its database; `@` stands for the table's name.

A *lane* is what is handled one after the other, the postbacks of a record; its `head` is the one whose turn it is. Who
changes a lane has locked its row first, in a statement of its own, so that what it reads next has everything that was
committed before; who puts a postback locks its lane last. So no head is missed, and none is claimed twice.
"""

from typing import Final

__all__ = [
    "CLAIM",
    "CLAIMED",
    "CREATE",
    "DISCARD",
    "END",
    "EXISTS",
    "FAILED",
    "FORGET_LANES",
    "FORGET_LETTERS",
    "KNOWN",
    "LANE",
    "LEARN",
    "LETTERS",
    "LINE_UP_AGAIN",
    "LISTED",
    "LOCK",
    "LOCK_CREATION",
    "LOCK_LANE",
    "NEXT",
    "PROLONG",
    "PUT",
    "REPLAY",
    "UNCOUNT",
]

LOCK_CREATION: Final = "SELECT pg_advisory_xact_lock(hashtextextended('gateway_async @', 0))"
EXISTS: Final = "SELECT count(*) > 0 FROM pg_class WHERE oid = to_regclass('@_lanes')"
"""By way of `pg_class`: a transaction that waited learns of others' tables only when it first reads one."""

CREATE: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    lane text NOT NULL,
    deletes boolean NOT NULL,
    modified timestamptz,
    content text NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    came_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    ended_at timestamptz
);
CREATE INDEX ON @ (lane, state, number);
CREATE INDEX ON @ (state, number);
CREATE INDEX ON @ (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ON @ (lane) WHERE content LIKE '%"reconciled":true%';
CREATE TABLE @_lanes (
    lane text PRIMARY KEY,
    head bigint,
    due_at timestamptz NOT NULL,
    token text,
    newest timestamptz,
    deleted timestamptz,
    ended_at timestamptz
);
CREATE INDEX ON @_lanes (due_at) WHERE head IS NOT NULL;
CREATE INDEX ON @_lanes (ended_at) WHERE head IS NULL;
"""
KNOWN: Final = """
SELECT newest, deleted, modified, content, came_at <= now() - $3::interval AS before
FROM (SELECT $1::text AS lane) AS asked LEFT JOIN @_lanes USING (lane)
LEFT JOIN @ ON number = (
    SELECT number FROM @ WHERE lane = $1 AND modified >= $2::timestamptz ORDER BY modified DESC, number DESC LIMIT 1
)
"""
# In the words of an index, which knows only what was listed: a record may have changed a thousand times.
LISTED: Final = """SELECT content FROM @ WHERE lane = $1 AND content LIKE '%"reconciled":true%'"""
PUT: Final = """
WITH new AS (
    INSERT INTO @ (key, lane, deletes, modified, content)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (key) DO NOTHING
    RETURNING number, came_at
)
INSERT INTO @_lanes AS lanes (lane, head, due_at) SELECT $2, number, came_at FROM new
ON CONFLICT (lane) DO UPDATE
SET head = coalesce(lanes.head, excluded.head),
    due_at = CASE WHEN lanes.head IS NULL THEN excluded.due_at ELSE lanes.due_at END
RETURNING 1
"""
CLAIM: Final = """
WITH due AS MATERIALIZED (
    SELECT lane FROM @_lanes WHERE head IS NOT NULL AND due_at <= now()
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE @_lanes AS lanes SET token = $1, due_at = now() + $2::interval FROM due WHERE lanes.lane = due.lane
RETURNING lanes.head
"""
CLAIMED: Final = """
UPDATE @ AS letters SET attempts = attempts + 1 FROM @_lanes AS lanes
WHERE letters.number = ANY($1) AND lanes.lane = letters.lane
RETURNING letters.number, key, content, attempts,
    coalesce(modified < newest, false)
    OR (NOT deletes AND deleted IS NOT NULL AND coalesce(modified <= deleted, true)) AS superseded
"""
PROLONG: Final = "UPDATE @_lanes SET due_at = now() + $3::interval WHERE lane = ANY($1) AND token = ANY($2)"
LOCK: Final = "SELECT 1 FROM @_lanes WHERE lane = $1 AND head = $2 AND token = $3 FOR UPDATE"
END: Final = """
UPDATE @ SET state = $2, error = '', ended_at = now() WHERE number = $1 RETURNING deletes, modified
"""
LEARN: Final = """
UPDATE @_lanes
SET newest = greatest(newest, $2), deleted = CASE WHEN $3::boolean THEN coalesce($2, 'infinity') ELSE deleted END
WHERE lane = $1
"""
NEXT: Final = """
UPDATE @_lanes
SET token = NULL, due_at = now() + $2::interval, ended_at = now(),
    head = (SELECT min(number) FROM @ WHERE lane = $1 AND state = 'waiting')
WHERE lane = $1
"""
FAILED: Final = "UPDATE @ SET error = $2, state = $3 WHERE number = $1"
UNCOUNT: Final = "UPDATE @ SET attempts = attempts - 1 WHERE number = $1"
LANE: Final = "SELECT lane FROM @ WHERE number = $1"
LOCK_LANE: Final = "SELECT 1 FROM @_lanes WHERE lane = $1 FOR UPDATE"
REPLAY: Final = "UPDATE @ SET state = 'waiting', attempts = 0, ended_at = NULL WHERE number = $1"
DISCARD: Final = "UPDATE @ SET state = 'discarded', ended_at = now() WHERE number = $1 AND state = 'dead' RETURNING 1"
LINE_UP_AGAIN: Final = """
INSERT INTO @_lanes AS lanes (lane, head, due_at) VALUES ($1, $2, now())
ON CONFLICT (lane) DO UPDATE
SET due_at = now(), head = least(lanes.head, excluded.head)
WHERE lanes.token IS NULL
"""
LETTERS: Final = """
SELECT number, key, content, state, came_at, attempts, error, due_at
FROM @ LEFT JOIN @_lanes USING (lane)
WHERE number > $1 AND ($2::text IS NULL OR state = $2) ORDER BY number LIMIT $3
"""
FORGET_LETTERS: Final = """
DELETE FROM @ WHERE number IN (SELECT number FROM @ WHERE ended_at < now() - $1::interval ORDER BY ended_at LIMIT 10000)
"""
FORGET_LANES: Final = """
DELETE FROM @_lanes WHERE lane IN (
    SELECT lane FROM @_lanes WHERE head IS NULL AND ended_at < now() - $1::interval
    ORDER BY ended_at LIMIT 10000 FOR UPDATE SKIP LOCKED
)
"""
