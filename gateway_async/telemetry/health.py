"""`Health`: the load of a client at one moment, and its unknown outcomes since it was made."""

import attrs

__all__ = ["Health", "PoolUse"]


@attrs.frozen
class PoolUse:
    """Use of one connection pool.

    Attributes:
        in_use: calls that have a connection, or open one.
        waiting: calls that wait for a connection.
        limit: maximum number of calls that have one.
    """

    in_use: int
    waiting: int
    limit: int


@attrs.frozen(kw_only=True)
class Health:
    """The load of a client at one moment.

    Attributes:
        ordinary: the connections of ordinary calls; None if the client has another transport than its own.
        terminal: the connections of calls at terminals; None likewise.
        terminal_queues: terminal → its calls of this client, the one at the terminal included.
        retries_left: retries that the client's retry budget allows at once.
        recorded_calls: calls in progress whose intent is in the ledger.
        unknown_outcomes: calls that ended with an unknown outcome since the client was made. They may be known now.
    """

    ordinary: PoolUse | None
    terminal: PoolUse | None
    terminal_queues: dict[str, int] = attrs.field(hash=False)
    retries_left: int
    recorded_calls: int
    unknown_outcomes: int
