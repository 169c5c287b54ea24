"""Bugs to plant into the real code. A simulation that does not find them checks too little."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, Final
from unittest import mock

import attrs
import httpx

from gateway_async._execution import execute, http_client
from gateway_async._execution.execute import CallExecutor
from gateway_async._execution.http_client import HttpClient
from gateway_async._execution.lease_holder import LeaseHolder
from gateway_async._storage.sqlite import FileFormat
from gateway_async._wire import pagination, record_reader, reply, retry_policy
from gateway_async._wire.call import Call, Lookup, LookupResult, LookupStatus, OutcomeQuery
from gateway_async._wire.record_reader import RecordReader
from gateway_async._wire.reply import Reply
from gateway_async._wire.retry_policy import Decision, decide
from gateway_async.observe import NextStep


@contextmanager
def _retry_without_lookup() -> Iterator[None]:
    """Send a write again after a lost response, without a lookup."""

    def decide_again(*arguments: Any, **options: Any) -> Decision:
        decision = decide(*arguments, **options)
        return Decision(NextStep.AGAIN) if decision.step is NextStep.LOOK_UP else decision

    with mock.patch.object(execute, "decide", decide_again):
        yield


@contextmanager
def _lookup_that_believes_a_proxy() -> Iterator[None]:
    """Take every 404 as the gateway's own word that a record does not exist."""
    read_reply = reply._result

    def believe(call: Call[Any], received: Reply) -> Any:
        if isinstance(call, Lookup) and received.status_code == 404:
            return LookupResult(LookupStatus.NOT_EXECUTED)
        return read_reply(call, received)

    with mock.patch.object(reply, "_result", believe):
        yield


@contextmanager
def _shortened_doubt() -> Iterator[None]:
    """Assume that a request arrives within a second, whatever the option says."""
    initialize = CallExecutor.__init__

    @wraps(initialize)
    def shorten(executor: CallExecutor, *args: Any, **options: Any) -> None:
        initialize(executor, *args, **{**options, "in_doubt_seconds": 1.0})

    with mock.patch.object(CallExecutor, "__init__", shorten):
        yield


@contextmanager
def _lost_lease() -> Iterator[None]:
    """Use a terminal without holding its lease."""

    async def acquire_nothing(_holder: LeaseHolder, _call: Call[Any], _seconds: float | None) -> None:
        """Report success."""

    with mock.patch.object(LeaseHolder, "_acquire_or_renew", acquire_nothing):
        yield


@contextmanager
def _unconfirmed_lease() -> Iterator[None]:
    """Send a call to a terminal without confirming its lease, which may be lost by then."""

    async def confirm_nothing(_holder: LeaseHolder, _held: object) -> None:
        """Report success."""

    with mock.patch.object(LeaseHolder, "_confirm", confirm_nothing):
        yield


@contextmanager
def _unsynced_intent() -> Iterator[None]:
    """Commit intents without syncing them to the disk."""
    initialize = FileFormat.initialize

    @wraps(initialize)
    def forget_to_sync(file_format: FileFormat, connection: sqlite3.Connection, *args: Any, **options: Any) -> None:
        initialize(file_format, connection, *args, **options)
        connection.execute("PRAGMA synchronous = OFF")

    with mock.patch.object(FileFormat, "initialize", forget_to_sync):
        yield


@contextmanager
def _shared_lookup_connection() -> Iterator[None]:
    """Read what may prove absence on a connection that other requests use, and do not look at a list's links."""
    request = HttpClient._request

    def reuse_connection(client: HttpClient, call: Call[Any], *args: Any) -> httpx.Request:
        return request(client, attrs.evolve(call, fresh_connection=False), *args)

    with mock.patch.object(HttpClient, "_request", reuse_connection), mock.patch.object(pagination, "check_link"):
        yield


@contextmanager
def _response_without_evidence() -> Iterator[None]:
    """Take every response about the right record as the result of a change."""

    def write_reader(reader: RecordReader[Any], _query: OutcomeQuery, response: RecordReader[Any] | None = None) -> Any:
        return lambda content: reader._record((response or reader).unwrap(content))

    with mock.patch.object(RecordReader, "write_reader", write_reader):
        yield


@contextmanager
def _refusal_of_a_proxy() -> Iterator[None]:
    """Take every JSON object with a message as the gateway's own refusal."""
    is_from_gateway = reply._is_from_gateway

    def believe(status: int, content: Mapping[str, Any]) -> bool:
        return is_from_gateway(status, content) or isinstance(content.get("message"), str)

    with mock.patch.object(reply, "_is_from_gateway", believe):
        yield


@contextmanager
def _refusal_on_a_reused_connection() -> Iterator[None]:
    """Use a connection again after a refusal, and believe what comes next on it."""
    with (
        mock.patch.object(http_client, "_may_arrive_twice", return_value=False),
        mock.patch.object(retry_policy, "_MAY_BE_STALE", frozenset()),
    ):
        yield


@contextmanager
def _reused_id() -> Iterator[None]:
    """Take every record under the integrator id as the result of a create."""
    with mock.patch.object(record_reader, "find_differences", return_value=()):
        yield


PLANTED_BUGS: Final[Mapping[str, Callable[[], AbstractContextManager[None]]]] = {
    "retry-without-lookup": _retry_without_lookup,
    "lookup-that-believes-a-proxy": _lookup_that_believes_a_proxy,
    "shortened-doubt": _shortened_doubt,
    "lost-lease": _lost_lease,
    "unconfirmed-lease": _unconfirmed_lease,
    "unsynced-intent": _unsynced_intent,
    "shared-lookup-connection": _shared_lookup_connection,
    "response-without-evidence": _response_without_evidence,
    "refusal-of-a-proxy": _refusal_of_a_proxy,
    "refusal-on-a-reused-connection": _refusal_on_a_reused_connection,
    "reused-id": _reused_id,
}
"""The bugs by name. Each is planted while its context is entered."""
