"""Lookups of open intents after a crash: the proof that each outcome needs."""

from typing import Any

import pytest

from gateway_async._execution.events import EventEmitter
from gateway_async._execution.lookup import OutcomeLookup
from gateway_async._execution.recovery import CrashRecovery
from gateway_async._execution.terminals import TerminalQueues, UnresolvedCalls
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus
from gateway_async.ledger.protocol import Intent

from .test_ledger import intent

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

INTENT = intent(resource="account_vaults", outcome_query={"resource": "account_vaults"})


class OneIntent:
    """A ledger recorder with one open intent, whose doubt has ended."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def is_from_other_gateway(self, _: Intent) -> bool:
        return False

    async def open_intents(self) -> list[tuple[Intent, float]]:
        return [(INTENT, 0.0)]

    async def record_outcome(self, _: str | None, outcome: str, __: object) -> None:
        self.outcomes.append(outcome)


def lookup(status: LookupStatus, confirmation: Lookup[Any] | None = None) -> Lookup[Any]:
    return Lookup(
        request=HttpRequest(path="/v2/accountvaults"),
        read=lambda _: LookupResult(status),
        confirmation=None if confirmation is None else lambda: confirmation,
    )


@pytest.mark.parametrize(
    ("by_id", "listed", "outcome", "recorded"),
    [
        (LookupStatus.GONE, LookupStatus.NOT_EXECUTED, "unknown", []),
        (LookupStatus.GONE, LookupStatus.EXECUTED, "found", ["done"]),
        (LookupStatus.NO_RECORD, LookupStatus.NOT_EXECUTED, "not_made", ["not_made"]),
        (LookupStatus.NO_RECORD, LookupStatus.EXECUTED, "found", ["done"]),
    ],
)
async def test_a_record_that_only_the_list_shows_proves_nothing(
    by_id: LookupStatus, listed: LookupStatus, outcome: str, recorded: list[str]
) -> None:
    ledger: Any = OneIntent()

    async def read(call: Call[Any], _seconds: float) -> Any:
        return call.read({})

    terminals, events = TerminalQueues(1, UnresolvedCalls()), EventEmitter(())
    recovery = CrashRecovery(
        ledger,
        OutcomeLookup(read, 30.0, ledger, terminals, events),
        lambda _: lookup(by_id, lookup(listed)),
        terminals,
        events,
    )
    assert [each.outcome for each in await recovery.recover(0)] == [outcome]
    assert ledger.outcomes == recorded
