"""The tables on the pages about the sandbox, from its code."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeVar

from gateway_async.sandbox.controls.calls import CONTROL_CALLS
from gateway_async.sandbox.handlers.payments.issuer import TRIGGERS, IssuerDecision
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.faults import FAULTS, SCENARIOS
from gateway_async.sandbox.simulators.terminals import SCRIPTS, Script
from gateway_async.sandbox.simulators.vendor_tables import BATCH_ERRORS
from gateway_async.sandbox.state_machines.paylinks import PAYLINK_MACHINE
from gateway_async.sandbox.state_machines.postbacks import DELIVERY_MACHINE
from gateway_async.sandbox.state_machines.quick_invoices import INVOICE_MACHINE
from gateway_async.sandbox.state_machines.recurrings import RECURRING_MACHINE
from gateway_async.sandbox.state_machines.terminal_requests import TERMINAL_REQUEST_MACHINE
from gateway_async.sandbox.state_machines.tokens import TOKEN_MACHINE
from gateway_async.sandbox.state_machines.transaction_batches import BATCH_MACHINE
from gateway_async.sandbox.state_machines.transactions import TRANSACTION_MACHINE

_Value = TypeVar("_Value")
_Run = list[tuple[int, _Value]]

_STATE_MACHINES = (
    INVOICE_MACHINE,
    PAYLINK_MACHINE,
    TRANSACTION_MACHINE,
    BATCH_MACHINE,
    RECURRING_MACHINE,
    DELIVERY_MACHINE,
    TERMINAL_REQUEST_MACHINE,
    TOKEN_MACHINE,
)
_BY_CENTS = "after as many seconds as there are cents"


def _control_calls() -> str:
    calls = [(f"{method} {path}", call) for path, calls in CONTROL_CALLS.items() for method, call in calls.items()]
    return _table(("call", "what it does"), ((f"`{name}`", _code(call.description)) for name, call in calls))


def _faults() -> str:
    return _table(("fault", "what happens"), ((f"`{name}`", effect) for name, effect in FAULTS.items()))


def _scenarios() -> str:
    rows = ((f"`{name}`", scenario.description) for name, scenario in SCENARIOS.items())
    return _table(("scenario", "what happens"), rows)


def _card_amounts() -> str:
    rows = ((_range(run), _codes(run), _outcome(run)) for run in _runs(TRIGGERS, _kind_of_outcome))
    return _table(("amount", "`reason_code_id`", "what happens"), rows)


def _terminal_amounts() -> str:
    return _table(("amount", "what happens"), ((_range(run), _script(run)) for run in _runs(SCRIPTS, _kind_of_script)))


def _batch_errors() -> str:
    rows = ((show_money(cents), text) for cents, text in sorted(BATCH_ERRORS.items()))
    return _table(("amount", "`status_message`"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "control calls": _control_calls,
    "faults": _faults,
    "scenarios": _scenarios,
    "card amounts": _card_amounts,
    "terminal amounts": _terminal_amounts,
    "batch errors": _batch_errors,
    **{f"states of a {machine.title.lower()}": machine.to_markdown for machine in _STATE_MACHINES},
}
"""The text of the pages between `<!-- printed: … -->` and `<!-- end -->`, by part."""


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


def _kind_of_outcome(cents: int, outcome: IssuerDecision) -> Hashable:
    """Return a key; amounts with equal keys can share a row.

    Declines can share a row if their reason codes are consecutive, as their amounts are.
    """
    return outcome.verbiage, outcome.approved or outcome.wait or outcome.reason_code - cents


def _codes(run: _Run[IssuerDecision]) -> str:
    return _span(*(str(int(outcome.reason_code)) for _, outcome in (run[0], run[-1])))


def _outcome(run: _Run[IssuerDecision]) -> str:
    _, outcome = run[-1]
    if outcome.wait:
        return f"approved {_BY_CENTS}" if outcome.approved else f"declined after {outcome.wait} seconds: TIMEOUT"
    if outcome.auth_amount is not None:
        return f"{show_money(outcome.auth_amount)} of it is approved"
    return f"declined: {outcome.verbiage}"


def _kind_of_script(_cents: int, script: Script) -> Hashable:
    return script.card, script.entry_mode, script.text, script.silent, script.wait is None, script.any_brand


def _script(run: _Run[Script]) -> str:
    _, script = run[-1]
    if script.text:
        return f"ends at once: {script.text}"
    if script.silent:
        return "no card is presented; the overall timeout ends it"
    when = f" {_BY_CENTS}" if script.wait else ""
    card = "a card of any brand" if script.any_brand else f"card {script.card}"
    return f"{card}, entry mode {script.entry_mode}{when}"
