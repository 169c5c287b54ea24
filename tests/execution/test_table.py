"""The decision table obeyed: each of its cells by real calls over a gateway that answers by script."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from gateway_async import (
    AsyncGateway,
    ConnectionLostError,
    GatewayError,
    OutcomeUnknownError,
    Reached,
    RouterTransactionCreate,
    TransactionCreate,
    TransactionUpdate,
)
from gateway_async._wire.call import Kind
from gateway_async._wire.retry_policy import TABLE, AttemptResult, Decision, NextStep
from gateway_async.observe import AttemptFailed, Event

from .scripted_transport import APPROVED, CUT, LOST, NEVER_LEFT, NOT_THERE, Answer, Script, record

pytestmark = pytest.mark.anyio

SALE: dict[str, Any] = {"action": "sale", "transaction_amount": "12.50", "transaction_api_id": "mine"}
CALLS: dict[Kind, tuple[str, Callable[[AsyncGateway], Awaitable[Any]]]] = {
    Kind.READ: ("GET", lambda g: g.transactions.get("found")),
    Kind.LOOKUP: ("GET", lambda g: g.transactions.create(TransactionCreate(ticket="card", **SALE))),
    Kind.NAMED: ("POST", lambda g: g.transactions.create(TransactionCreate(ticket="card", **SALE))),
    Kind.IDEMPOTENT: ("PUT", lambda g: g.transactions.void("found")),
    Kind.UNNAMED: (
        "PUT",
        lambda g: g.transactions.update("found", TransactionUpdate(action="partialreversal", transaction_amount=5)),
    ),
    Kind.TERMINAL: (
        "POST",
        lambda g: g.router_transactions.create(RouterTransactionCreate(terminal_id="t", **SALE)),
    ),
}
"""A call of each kind, and its method; a lookup is that of a sale whose answer was lost."""

OTHERS = record("transaction", id="other", transaction_api_id="other")
DONE = record("transaction", transaction_api_id="mine", status_id=201)
NOT_DONE = APPROVED
"""The record of a transaction that is not voided."""


def refusal(status: int) -> httpx.Response:
    """A refusal in the gateway's own words."""
    body = {"name": "Refused", "message": "no", "code": 0, "status": status}
    return httpx.Response(status, json=body)


ANSWERS: dict[AttemptResult, list[Answer]] = {
    AttemptResult.QUEUED: [httpx.PoolTimeout("no place")],
    AttemptResult.UNWRITTEN: [
        NEVER_LEFT,
        httpx.ConnectTimeout("no route"),
        httpx.ProxyError("407 Proxy Authentication Required"),
    ],
    AttemptResult.LOST: [LOST, httpx.WriteError("reset"), httpx.RemoteProtocolError("closed"), OSError("odd")],
    AttemptResult.CUT: [CUT],
    AttemptResult.UNREADABLE: [
        httpx.Response(200),
        httpx.Response(201, text="hello"),
        httpx.Response(200, json={"other": {}}),
    ],
    AttemptResult.MISMATCHED: [OTHERS],
    AttemptResult.THROTTLED: [httpx.Response(429)],
    AttemptResult.OVERLOADED: [httpx.Response(status) for status in (502, 503, 504)],
    AttemptResult.FAILED: [httpx.Response(status) for status in (500, 501, 302, 307, 408)],
    AttemptResult.ABSENT: [NOT_THERE, httpx.Response(404, json={"message": "no Route matched with those values"})],
    AttemptResult.BLOCKED: [
        httpx.Response(404, html="<h1>Not here</h1>"),
        httpx.Response(403, html="<h1>Forbidden</h1>"),
        httpx.Response(422, text="no"),
        httpx.Response(400),
    ],
    AttemptResult.INVALID: [refusal(422)],
    AttemptResult.REFUSED: [refusal(status) for status in (400, 401, 403, 405, 409, 410)],
    AttemptResult.REFUSED_LATER: [NOT_THERE, refusal(422), refusal(409)],
}


def says_not_there(answer: Answer) -> bool:
    """Whether it is what a lookup asks for, and no failure of it."""
    return answer is NOT_THERE or (isinstance(answer, httpx.Response) and answer.status_code in (409, 410))


CELLS = [
    pytest.param(result, kind, answer, id=f"{result.name}-{kind.value}-{number}")
    for result, answers in ANSWERS.items()
    for kind in Kind
    for number, answer in enumerate(answers)
    if not (kind is Kind.LOOKUP and says_not_there(answer))
]
"""Every cell, with each answer of its line."""


def is_looked_up(result: object, kind: object, _answer: object) -> bool:
    """Whether a lookup finds the outcome."""
    assert isinstance(result, AttemptResult)
    assert isinstance(kind, Kind)
    return TABLE[result][kind].step is NextStep.LOOK_UP and kind is not Kind.UNNAMED


LOOKED_UP = [cell for cell in CELLS if is_looked_up(*cell.values)]
"""Return the kinds whose outcome a lookup finds."""


class Run:
    """One call, its attempts answered as told, and what its lookups see."""

    def __init__(self, kind: Kind, attempts: list[Answer], lookup: Answer) -> None:
        self.method, self.call = CALLS[kind]
        answers: dict[str, list[Answer]] = {"post": [LOST], "get": [lookup], self.method.lower(): attempts}
        self.script = Script(**answers)
        self.verdicts: list[str] = []
        self.result: Any = None
        self.error: GatewayError | None = None

    async def __call__(self) -> "Run":
        """Make the call."""
        async with self.script.gateway(observers=[self.watch]) as gateway:
            try:
                self.result = await self.call(gateway)
            except GatewayError as error:
                self.error = error
        return self

    def watch(self, event: Event) -> None:
        """Note what is done after an attempt."""
        if isinstance(event, AttemptFailed) and event.call.startswith(self.method):
            self.verdicts.append(event.verdict)

    @property
    def times(self) -> int:
        """How often the call was sent."""
        return self.script.methods.count(self.method)

    @property
    def ended(self) -> str:
        """How the call ended."""
        match self.error:
            case None:
                return "done"
            case OutcomeUnknownError():
                return "unknown"
            case _:
                return "its error"


def after_nothing_found(kind: Kind, decision: Decision) -> tuple[str, int]:
    """How a call ends, and how often it is sent, when the next try would be answered well and nothing is found."""
    step = decision.if_not_found if decision.step is NextStep.LOOK_UP else decision.step
    return {
        NextStep.AGAIN: ("done", 2),
        NextStep.STOP: ("unknown" if kind is Kind.LOOKUP else "its error", 1),
        NextStep.UNKNOWN: ("unknown", 1),
    }[step]


@pytest.mark.parametrize(("result", "kind", "answer"), CELLS)
async def test_a_cell_is_obeyed_when_the_lookup_finds_nothing(
    result: AttemptResult, kind: Kind, answer: Answer
) -> None:
    """The call is sent again, or ends with its error or in doubt, as the table says; the doubt says how far it got."""
    nothing = NOT_DONE if kind is Kind.IDEMPOTENT else NOT_THERE
    decision = TABLE[result][kind]
    if result is AttemptResult.REFUSED_LATER:
        run = await Run(kind, [LOST, answer, DONE], nothing)()
        if TABLE[AttemptResult.LOST][kind].if_not_found is NextStep.UNKNOWN:
            assert (run.ended, run.times) == ("unknown", 1)  # the cell cannot come about: there is no second try
            return
        ended, times = after_nothing_found(kind, decision)
        assert (run.ended, run.times, run.verdicts[1]) == (ended, times + 1, decision.step.value)
    else:
        run = await Run(kind, [answer, DONE], nothing)()
        assert (run.ended, run.times) == after_nothing_found(kind, decision)
        assert run.verdicts == [decision.step.value]
    if isinstance(run.error, OutcomeUnknownError) and kind is not Kind.LOOKUP:
        reached = Reached.SENT if result is AttemptResult.REFUSED_LATER else result.reached
        assert run.error.reached is reached
        assert f"({reached})" in str(run.error) or result is AttemptResult.MISMATCHED


@pytest.mark.parametrize(("result", "kind", "answer"), LOOKED_UP)
async def test_a_cell_is_obeyed_when_the_lookup_finds_it(result: AttemptResult, kind: Kind, answer: Answer) -> None:
    """Return the record that the lookup finds, without another attempt."""
    if result is AttemptResult.REFUSED_LATER:
        run = Run(kind, [LOST, answer], DONE)
        nothing = NOT_DONE if kind is Kind.IDEMPOTENT else NOT_THERE
        run.script.answers["get"] = [lambda _: nothing if run.times == 1 else DONE]
        await run()
        assert (run.ended, run.times) == ("done", 2)
        return
    run = await Run(kind, [answer], DONE)()
    assert (run.ended, run.times) == ("done", 1)
    assert run.script.methods == [run.method, "GET"]


@pytest.mark.parametrize(
    ("answer", "reached"),
    [(LOST, Reached.SENT), (CUT, Reached.RESPONSE_CUT)],
)
async def test_a_lost_connection_says_how_far_it_got(answer: Answer, reached: Reached) -> None:
    """A read that lost its answer tells whether any of it came."""
    error = await Script(get=[answer]).fail(lambda g: g.transactions.get("found"), ConnectionLostError)
    assert error.reached is reached
