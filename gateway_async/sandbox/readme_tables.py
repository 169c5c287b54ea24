"""Generates the README tables of this package from its code.

A test compares the README with the result.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeVar

from gateway_async.sandbox.admin.control_calls import CONTROL_CALLS
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.issuer_decisions import TRIGGERS, Outcome
from gateway_async.sandbox.simulators.scenarios import SCENARIOS
from gateway_async.sandbox.simulators.terminal_scripts import SCRIPTS, Script
from gateway_async.sandbox.state_machines import (
    paylinks,
    postbacks,
    quick_invoices,
    terminal_requests,
    tokens,
    transaction_batches,
    transactions,
)

__all__ = ["TABLES", "card_amounts", "control_calls", "scenarios", "state_transitions", "terminal_amounts"]


_Value = TypeVar("_Value")
_Run = list[tuple[int, _Value]]

_STATE_MACHINES = (quick_invoices, paylinks, transactions, transaction_batches, postbacks, terminal_requests, tokens)
_BY_CENTS = "after as many seconds as there are cents"


def control_calls() -> str:
    """Return the table of control calls and their effects."""
    calls = (
        (path, method, call.description) for path, calls in CONTROL_CALLS.items() for method, call in calls.items()
    )
    return _table(
        ("call", "what it does"), ((f"`{method} {path}`", _code(description)) for path, method, description in calls)
    )


def scenarios() -> str:
    """Return the table of scenarios and their effects."""
    return _table(
        ("scenario", "what happens"), ((f"`{name}`", scenario.description) for name, scenario in SCENARIOS.items())
    )


def card_amounts() -> str:
    """Return the table of card amounts with a special outcome.

    They apply to a card that is entered by hand or stored in a vault. Other amounts are approved.
    """
    rows = ((_range(run), _codes(run), _outcome(run)) for run in _runs(TRIGGERS, _kind_of_outcome))
    return _table(("amount", "`reason_code_id`", "what happens"), rows)


def terminal_amounts() -> str:
    """Return the table of special amounts at a mock terminal."""
    rows = ((_range(run), _script(run)) for run in _runs(SCRIPTS, _kind_of_script))
    return _table(("amount", "what happens"), rows)


def state_transitions() -> str:
    """Return the state transition tables of all record types."""
    return "\n\n".join(module.MACHINE.to_markdown() for module in _STATE_MACHINES)


TABLES: Mapping[str, Callable[[], str]] = {
    "control calls": control_calls,
    "scenarios": scenarios,
    "card amounts": card_amounts,
    "terminal amounts": terminal_amounts,
    "state transitions": state_transitions,
}
"""The text of the README between `<!-- printed: … -->` and `<!-- end -->`, by part."""


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def _code(sentence: str) -> str:
    """Format the JSON and query parts of a sentence as code."""
    return re.sub(r"\{[^}]*\}|\?\w+=…", r"`\g<0>`", sentence)


def _runs(table: Mapping[int, _Value], kind: Callable[[int, _Value], Hashable]) -> Iterator[_Run[_Value]]:
    """Group consecutive amounts that have the same effect, in ascending order."""
    numbered = enumerate(sorted(table.items()))
    # the difference of amount and position is the same for consecutive amounts
    for _, run in groupby(numbered, lambda pair: (pair[1][0] - pair[0], kind(*pair[1]))):
        yield [item for _, item in run]


def _range(run: _Run[_Value]) -> str:
    return _span(*(show_money(cents) for cents, _ in (run[0], run[-1])))


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}–{last}"


def _kind_of_outcome(cents: int, outcome: Outcome) -> Hashable:
    """Return a key; amounts with equal keys can share a row.

    Declines can share a row if their reason codes are consecutive, as their amounts are.
    """
    return outcome.verbiage, outcome.approved or outcome.reason_code - cents


def _codes(run: _Run[Outcome]) -> str:
    return _span(*(str(outcome.reason_code) for _, outcome in (run[0], run[-1])))


def _outcome(run: _Run[Outcome]) -> str:
    _, outcome = run[-1]
    if outcome.wait:
        return f"approved {_BY_CENTS}"
    if outcome.auth_amount is not None:
        return f"{show_money(outcome.auth_amount)} of it is approved"
    return f"declined: {outcome.verbiage}"


def _kind_of_script(_cents: int, script: Script) -> Hashable:
    return script.card, script.entry_mode, script.text, script.silent, script.wait is None


def _script(run: _Run[Script]) -> str:
    _, script = run[-1]
    if script.text:
        return f"ends at once: {script.text}"
    if script.silent:
        return "no card is presented; the overall timeout ends it"
    when = f" {_BY_CENTS}" if script.wait else ""
    return f"card {script.card}, entry mode {script.entry_mode}{when}"
