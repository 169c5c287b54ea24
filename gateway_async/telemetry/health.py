"""The health of clients and receivers as values, and `probe`, which finds out whether calls to a gateway can work."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

import anyio
import attrs

from gateway_async._text import describe_error
from gateway_async.errors import AuthenticationError, GatewayError, PermissionDeniedError


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
        ordinary: the connections of ordinary calls; None if the client has a `transport`.
        terminal: the connections of calls at terminals; None likewise.
        terminal_queues: terminal → the number of this client's calls for it, including the one at the terminal.
        retries_left: retries that the client's retry budget allows at once.
        recorded_calls: calls in progress whose intent is in the ledger.
        unknown_outcomes: calls that ended with an unknown outcome since the client was created. They may be known now.
    """

    ordinary: PoolUse | None
    terminal: PoolUse | None
    terminal_queues: dict[str, int] = attrs.field(hash=False)
    retries_left: int
    recorded_calls: int
    unknown_outcomes: int


@attrs.frozen(kw_only=True)
class Readiness:
    """Problems that keep calls from working; None where all is well.

    Attributes:
        gateway_problem: why the gateway did not respond as it should.
        credentials_problem: why it rejected the credentials.
        ledger_problem: why the ledger cannot be read.
        open_intent_count: calls in the ledger without a known outcome, except those in progress; None without a ledger
            or if it cannot be read. Await `recover()` to resolve them.
        seconds: the duration of the request to the gateway.
    """

    gateway_problem: str | None = None
    credentials_problem: str | None = None
    ledger_problem: str | None = None
    open_intent_count: int | None = None
    seconds: float

    @property
    def is_ready(self) -> bool:
        """Whether there is no problem. Open intents are not one."""
        return self.gateway_problem is self.credentials_problem is self.ledger_problem is None


@attrs.frozen(kw_only=True)
class InboxHealth:
    """The load of an inbox at one moment, for all its processes together.

    Attributes:
        waiting: postbacks that are not handled yet, including those in progress. This is the depth of the inbox.
        in_progress: postbacks that a worker is handling now.
        retrying: records whose next postback has failed and waits for its retry.
        dead: postbacks whose handlers have failed too often.
        oldest_seconds: seconds since the oldest waiting postback was stored; None if nothing waits.
    """

    waiting: int
    in_progress: int
    retrying: int
    dead: int
    oldest_seconds: float | None


@attrs.frozen(kw_only=True)
class ReceiverHealth:
    """The results of a receiver since it was created, and the load of its inbox.

    Attributes:
        responses: HTTP status → number of responses of this receiver. Requests that your own code parses do not count.
        handled: postbacks that this receiver has handled.
        failed: attempts of this receiver in which a handler failed.
        last_handled_at: when it last handled a postback, UTC; None before the first.
        is_working: whether this process handles the postbacks of the inbox.
        inbox: the load of the inbox; None without an inbox, or if it cannot be read.
        inbox_problem: why the inbox cannot be read; None if it can, or without an inbox.
    """

    responses: Mapping[int, int] = attrs.field(hash=False)
    handled: int
    failed: int
    last_handled_at: datetime | None
    is_working: bool
    inbox: InboxHealth | None
    inbox_problem: str | None

    @property
    def accepted(self) -> int:
        """Requests that were handled or stored."""
        return self.responses.get(204, 0)

    @property
    def rejected(self) -> int:
        """Requests that got a status other than 204."""
        return sum(self.responses.values()) - self.accepted


async def probe(
    read_gateway: Callable[[], Awaitable[object]],
    count_open_intents: Callable[[], Awaitable[int]] | None,
    timeout: float,  # noqa: ASYNC109  the seconds of a scope
) -> Readiness:
    """Read from the gateway and the ledger once each, and return the problems."""
    gateway_problem = credentials_problem = ledger_problem = open_intents = None
    started = time.monotonic()
    try:
        await read_gateway()
    except PermissionDeniedError:
        pass  # the credentials were accepted
    except AuthenticationError as error:
        credentials_problem = str(error)
    except GatewayError as error:
        gateway_problem = str(error)
    seconds = time.monotonic() - started
    if count_open_intents is not None:
        ledger_problem = f"no response within {timeout:g} s"
        with anyio.move_on_after(timeout):
            open_intents, ledger_problem = await _count(count_open_intents)
    return Readiness(
        gateway_problem=gateway_problem,
        credentials_problem=credentials_problem,
        ledger_problem=ledger_problem,
        open_intent_count=open_intents,
        seconds=seconds,
    )


async def _count(count_open_intents: Callable[[], Awaitable[int]]) -> tuple[int | None, str | None]:
    try:
        return await count_open_intents(), None
    except Exception as error:  # noqa: BLE001  a ledger of the user may raise anything
        return None, describe_error(error)
