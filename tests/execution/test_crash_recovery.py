"""Lookups of open intents after a crash: the proof that each outcome needs."""

from typing import Any

import attrs
import pytest

from gateway_async._execution.events import EventEmitter
from gateway_async._execution.lookup import OutcomeLookup
from gateway_async._execution.recovery import CrashRecovery
from gateway_async._execution.terminals import TerminalQueues, UnresolvedCalls
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus
from gateway_async.errors import MalformedReplyError, MismatchedWriteError
from gateway_async.ledger.protocol import Intent, Recovered
from tests.support.waiting import PATIENCE

from .test_ledger import intent

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

INTENT = intent(resource="account_vaults", outcome_query={"resource": "account_vaults"})


class OneIntent:
    """A ledger recorder with one open intent, whose doubt has ended."""

    def __init__(self, intent: Intent = INTENT) -> None:
        self.intent = intent
        self.outcomes: list[str] = []

    def is_from_other_gateway(self, _: Intent) -> bool:
        return False

    is_from_other_user = is_from_other_gateway

    async def open_intents(self) -> list[tuple[Intent, float]]:
        return [(self.intent, 0.0)]

    async def record_outcome(self, _: str | None, outcome: str, __: object) -> None:
        self.outcomes.append(outcome)


def lookup(status: LookupStatus, confirmation: Lookup[Any] | None = None) -> Lookup[Any]:
    return Lookup(
        request=HttpRequest(path="/v2/accountvaults"),
        read=lambda _: LookupResult(status),
        confirmation=None if confirmation is None else lambda: confirmation,
    )


async def recover(ledger: Any, by_id: Lookup[Any], wait: float = 0.0) -> Recovered:
    """The result of the one intent, whose lookup is given."""

    async def read(call: Call[Any], _seconds: float) -> Any:
        return call.read({})

    terminals, events = TerminalQueues(1, UnresolvedCalls()), EventEmitter(())
    outcome_lookup = OutcomeLookup(read, 30.0, ledger, terminals, events)
    (recovered,) = await CrashRecovery(ledger, outcome_lookup, lambda _: by_id, terminals, events).recover(wait)
    return recovered


@pytest.mark.parametrize(
    ("by_id", "listed", "outcome", "recorded"),
    [
        (LookupStatus.GONE, LookupStatus.NOT_EXECUTED, "unknown", []),
        (LookupStatus.GONE, LookupStatus.EXECUTED, "found", ["done"]),
        (LookupStatus.NO_RECORD, LookupStatus.NOT_EXECUTED, "not_made", ["not_made"]),
        (LookupStatus.NO_RECORD, LookupStatus.EXECUTED, "found", ["done"]),
        (LookupStatus.UNPROVEN, LookupStatus.EXECUTED, "unknown", []),
    ],
)
async def test_a_record_that_only_the_list_shows_proves_nothing(
    by_id: LookupStatus, listed: LookupStatus, outcome: str, recorded: list[str]
) -> None:
    ledger: Any = OneIntent()
    recovered = await recover(ledger, lookup(by_id, lookup(listed)))
    assert recovered.outcome == outcome
    assert isinstance(recovered.error, MalformedReplyError) is (outcome == "unknown")
    assert ledger.outcomes == recorded


async def test_a_list_that_lags_behind_is_read_again() -> None:
    lists = iter([lookup(LookupStatus.NOT_EXECUTED), lookup(LookupStatus.EXECUTED)])
    by_id = attrs.evolve(lookup(LookupStatus.GONE), confirmation=lambda: next(lists))
    assert (await recover(OneIntent(), by_id, wait=PATIENCE)).outcome == "found"


async def test_another_users_record() -> None:
    """Any user can see that a record shows no effect; a record that is not found may be hidden from this user."""
    ledger: Any = OneIntent()
    ledger.is_from_other_user = lambda _: True
    for status, outcome in ((LookupStatus.NOT_EXECUTED, "not_made"), (LookupStatus.NO_RECORD, "unknown")):
        assert (await recover(ledger, lookup(status, lookup(status)))).outcome == outcome


@pytest.mark.parametrize(
    ("generated_id", "outcome", "recorded"), [(True, "found", ["done"]), (False, "unknown", []), (None, "unknown", [])]
)
async def test_a_record_that_differs_is_the_calls_own_if_the_sdk_generated_its_id(
    generated_id: bool | None, outcome: str, recorded: list[str]
) -> None:
    query = {"resource": "account_vaults"} | ({} if generated_id is None else {"generated_id": generated_id})
    ledger: Any = OneIntent(intent(resource="account_vaults", outcome_query=query))
    recovered = await recover(ledger, lookup(LookupStatus.DIFFERENT_RECORD))
    assert recovered.outcome == outcome
    assert isinstance(recovered.error, MismatchedWriteError) is (outcome == "unknown")
    assert ledger.outcomes == recorded
