"""The money rules that must hold at the end of a schedule, when nothing can be on its way any more.

`gateway_async.crash_testing.invariants` compares the ledgers with the gateway's records. This module adds what programs
were told, and the terminals.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gateway_async.crash_testing.invariants import Effect, broken_rules, effects_of
from gateway_async.crash_testing.report import CallOutcome
from gateway_async.sandbox.schema.fields import Row
from tests.simulation.schedule import Action, Operation

_NOT_EXECUTED = frozenset({"not_sent", "refused", "not_made"})
_CHARGING = frozenset({Action.SALE, Action.CAPTURE, Action.VOID, Action.REFUND, Action.TERMINAL})


def find_broken_rules(
    page: Row,
    operations: Sequence[Operation],
    *,
    ledger: Sequence[CallOutcome],
    told: Sequence[CallOutcome],
    duplicates: Sequence[CallOutcome],
    mistaken: Sequence[str],
    unknown: int,
    overlaps: Sequence[tuple[str, str]],
    terminal_calls: Mapping[str, int],
    unleased_calls: AbstractSet[str],
    has_lost_leases: bool,
    abandoned: AbstractSet[str],
) -> Iterator[str]:
    """Yield a sentence for each broken rule.

    Args:
        page: the gateway's effects and records.
        operations: what the programs did.
        ledger: what the ledgers say about each call.
        told: what programs were told about each call.
        duplicates: the calls that the gateway refused because a record had their integrator id. The record may come
            from a copy of the same request, so `DuplicateError` tells the program to read it.
        mistaken: a sentence for each payment that was returned as the result of another call.
        unknown: how many calls the last `recover()` of each machine listed as unknown.
        overlaps: the integrator ids of each two calls that were at one terminal at the same time.
        terminal_calls: how often a client has sent each call for a terminal, by integrator id.
        unleased_calls: the integrator ids of those that were sent without a lease.
        has_lost_leases: whether a till lost a lease. Its call at the terminal goes on, if it was sent before.
        abandoned: the integrator ids of calls from machines that have crashed, whose leases may have expired.
    """
    effects = effects_of(page)
    shared = {operation.api_id for operation in operations if operation.reuses is not None}
    open_by_mistake = sum(call.outcome == "unknown" and call.api_id in shared for call in ledger)
    own = [call for call in ledger if not (call.outcome == "unknown" and call.api_id in shared)]
    yield from mistaken
    yield from broken_rules(effects, page, [*own, *duplicates], unknown - open_by_mistake, _most_effects(operations))
    yield from _find_open(own)
    yield from _find_denied(effects, [call for call in told if call.api_id not in shared])
    yield from _find_invented(page, told)
    # A capture of the sale that got the authorization's id counts as done: the record shows the money as captured.
    shown = {row["id"] for row in page["transactions"] if row["transaction_api_id"] in shared}
    changes = [call for call in (*ledger, *told) if shown.isdisjoint(call.call.split("/"))]
    yield from _find_missing_changes(effects, changes)
    for api_id, times in terminal_calls.items():
        if times > 1:
            yield f"{api_id} was sent to its terminal {times} times"
    for api_id in sorted(unleased_calls):
        yield f"{api_id} was sent to its terminal without a lease"
    for pair in overlaps:
        is_lost_after_sending = has_lost_leases and unleased_calls.isdisjoint(pair)
        if abandoned.isdisjoint(pair) and not is_lost_after_sending:
            yield f"{pair[0]} and {pair[1]} were at a terminal at the same time"


def _most_effects(operations: Sequence[Operation]) -> Mapping[str, int]:
    """Return how many effects the operations have if each is executed once."""
    actions = [operation.action for operation in operations]
    return {
        "charged": sum(action in _CHARGING for action in actions),
        "refunded": actions.count(Action.REFUND),
        "stored": actions.count(Action.VAULT),
    }


def _find_open(ledger: Sequence[CallOutcome]) -> Iterator[str]:
    for call in ledger:
        if call.outcome == "unknown":
            yield f"{call.call} {call.api_id} stays unknown after the time in doubt"


def _find_denied(effects: Collection[Effect], told: Sequence[CallOutcome]) -> Iterator[str]:
    """Find effects of calls of which a program was told that they were certainly not executed."""
    for call in told:
        if call.outcome in _NOT_EXECUTED:
            for effect in effects:
                if effect.is_of(call):
                    yield f"{effect.name} was {effect.kind}, and the program was told {call.outcome}"


def _find_invented(page: Row, told: Sequence[CallOutcome]) -> Iterator[str]:
    ids = {row["id"] for records in ("transactions", "accountvaults") for row in page[records]}
    for call in told:
        if call.outcome == "done" and call.record_id not in ids:
            yield f"{call.record_id} does not exist, and the program was told done"


def _find_missing_changes(effects: Collection[Effect], calls: Sequence[CallOutcome]) -> Iterator[str]:
    """Find captures and voids that are called done, and were not executed."""
    for call in calls:
        if call.outcome == "done" and call.call.startswith("PUT ") and not any(each.is_of(call) for each in effects):
            yield f"{call.call} was not executed, and the client says done"
