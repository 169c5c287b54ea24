"""The decision table obeyed: each of its cells by real calls over a gateway that answers by script."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from gateway_async import (
    AsyncGateway,
    GatewayError,
    OutcomeUnknownError,
    PasswordLogin,
    RouterTransactionCreate,
    SendStage,
    TransactionCreate,
    UserApiKey,
)
from gateway_async._wire.call import RepeatEffect
from gateway_async._wire.retry_policy import TABLE, AttemptResult, Decision
from gateway_async.observe import AttemptFailed, Event, NextStep
from tests.support.scripted_transport import (
    APPROVED,
    CUT,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    Script,
    ScriptedResponse,
    UsedConnections,
    record,
    refusal,
)

pytestmark = pytest.mark.anyio

SALE: dict[str, Any] = {"action": "sale", "transaction_amount": "12.50", "transaction_api_id": "mine"}
CALLS: dict[RepeatEffect, tuple[str, Callable[[AsyncGateway], Awaitable[Any]]]] = {
    RepeatEffect.READ: ("GET", lambda g: g.transactions.get("found")),
    RepeatEffect.LOOKUP: ("GET", lambda g: g.transactions.create(TransactionCreate(ticket="card", **SALE))),
    RepeatEffect.NAMED: ("POST", lambda g: g.transactions.create(TransactionCreate(ticket="card", **SALE))),
    RepeatEffect.IDEMPOTENT: ("PUT", lambda g: g.transactions.void("found")),
    RepeatEffect.UNNAMED: (
        "PUT",
        lambda g: g.resource("transactions", name="transaction").update("found", {"action": "override"}),
    ),
    RepeatEffect.TERMINAL: (
        "POST",
        lambda g: g.router_transactions.create(RouterTransactionCreate(terminal_id="t", **SALE)),
    ),
}
"""A call of each effect, and its method; a lookup is that of a sale whose response was lost."""

OTHERS = record("transaction", id="other", transaction_api_id="other")
NOT_DONE = APPROVED
"""The record of a transaction that is not voided."""


def done(effect: RepeatEffect) -> httpx.Response:
    """The record after the call: a voided transaction, or a new one."""
    return record("transaction", transaction_api_id="mine", status_id=201 if effect is RepeatEffect.IDEMPOTENT else 101)


class LoggingIn(UsedConnections):
    """A gateway that answers logins apart from its script, and that may say that it uses connections again."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v2/token"):
            return httpx.Response(201, json={"token": {"id": "t", "token": "planted", "expire": 15}})
        return await super().handle_async_request(request)


RESPONSES: dict[AttemptResult, list[ScriptedResponse]] = {
    AttemptResult.QUEUED: [httpx.PoolTimeout("no place")],
    AttemptResult.UNWRITTEN: [
        NEVER_LEFT,
        httpx.ConnectTimeout("no route"),
        httpx.ProxyError("407 Proxy Authentication Required"),
    ],
    AttemptResult.LOST: [LOST, httpx.WriteError("reset"), httpx.RemoteProtocolError("closed"), OSError("odd")],
    AttemptResult.TRUNCATED: [CUT],
    AttemptResult.UNREADABLE: [
        httpx.Response(200),
        httpx.Response(201, text="hello"),
        httpx.Response(200, json={"other": {}}),
    ],
    AttemptResult.MISMATCHED: [OTHERS],
    AttemptResult.THROTTLED: [refusal(429)],
    AttemptResult.EXPIRED: [refusal(401)],
    AttemptResult.UNTRUSTED: [httpx.Response(401), httpx.Response(401, json={"message": "Unauthorized"})],
    AttemptResult.OVERLOADED: [httpx.Response(status) for status in (502, 503, 504, 429)],
    AttemptResult.FAILED: [httpx.Response(status) for status in (500, 501, 302, 307, 408)],
    AttemptResult.NOT_FOUND: [NOT_THERE],
    AttemptResult.NOT_FROM_GATEWAY: [
        httpx.Response(404, json={"message": "no Route matched with those values"}),
        httpx.Response(403, json={"message": "Forbidden"}),
        httpx.Response(401, json={"message": "Unauthorized"}),
        httpx.Response(422, json={"name": "Refused", "code": 0, "status": 400}),
        httpx.Response(400, json={"errors": ["no"]}),
        httpx.Response(404, html="<h1>Not here</h1>"),
        httpx.Response(403, html="<h1>Forbidden</h1>"),
        httpx.Response(422, text="no"),
        httpx.Response(400),
    ],
    AttemptResult.INVALID: [refusal(422)],
    AttemptResult.REFUSED: [refusal(status) for status in (400, 401, 403, 405, 409, 410)],
    AttemptResult.REFUSED_ON_USED_CONNECTION: [
        refusal(422),
        *(refusal(status) for status in (400, 401, 403, 405, 409, 410)),
    ],
    AttemptResult.REFUSED_AFTER_DOUBT: [NOT_THERE, refusal(422), refusal(409)],
}


def says_not_there(response: ScriptedResponse) -> bool:
    """Whether it is what a lookup asks for, and no failure of it."""
    return response is NOT_THERE or (isinstance(response, httpx.Response) and response.status_code in (409, 410))


CELLS = [
    pytest.param(result, effect, response, id=f"{result.name}-{effect.value}-{number}")
    for result, responses in RESPONSES.items()
    for effect in RepeatEffect
    for number, response in enumerate(responses)
    if not (effect is RepeatEffect.LOOKUP and says_not_there(response))
]
"""Every cell, with each response of its line."""


def is_looked_up(result: object, effect: object, _respond: object) -> bool:
    """Whether a lookup finds the outcome."""
    assert isinstance(result, AttemptResult)
    assert isinstance(effect, RepeatEffect)
    return TABLE[result][effect].step is NextStep.LOOK_UP and effect is not RepeatEffect.UNNAMED


LOOKED_UP = [cell for cell in CELLS if is_looked_up(*cell.values)]
"""Return the kinds whose outcome a lookup finds."""


class Run:
    """One call, its attempts answered as told, and what its lookups see."""

    def __init__(
        self, result: AttemptResult, effect: RepeatEffect, attempts: list[ScriptedResponse], lookup: ScriptedResponse
    ) -> None:
        self.method, self.call = CALLS[effect]
        with_token = result in (AttemptResult.EXPIRED, AttemptResult.UNTRUSTED)
        self.credentials = PasswordLogin("user", "password", "domain") if with_token else UserApiKey("user", "key")
        responses: dict[str, list[ScriptedResponse]] = {"post": [LOST], "get": [lookup], self.method.lower(): attempts}
        self.script = LoggingIn(**responses)
        self.script.reuses_connections = result is AttemptResult.REFUSED_ON_USED_CONNECTION
        self.next_steps: list[NextStep] = []
        self.result: Any = None
        self.error: GatewayError | None = None

    async def __call__(self) -> "Run":
        async with self.script.gateway(observers=[self.watch], credentials=self.credentials) as gateway:
            try:
                self.result = await self.call(gateway)
            except GatewayError as error:
                self.error = error
        return self

    def watch(self, event: Event) -> None:
        if isinstance(event, AttemptFailed) and event.call.startswith(self.method):
            self.next_steps.append(event.next_step)

    @property
    def times(self) -> int:
        return self.script.methods.count(self.method)

    @property
    def ended(self) -> str:
        match self.error:
            case None:
                return "done"
            case OutcomeUnknownError():
                return "unknown"
            case _:
                return "its error"


def after_nothing_found(effect: RepeatEffect, decision: Decision) -> tuple[str, int]:
    """How a call ends, and how often it is sent, when the next try would be answered well and nothing is found."""
    step = decision.if_not_found if decision.step is NextStep.LOOK_UP else decision.step
    return {
        NextStep.AGAIN: ("done", 2),
        NextStep.RENEW_TOKEN: ("done", 2),
        NextStep.STOP: ("unknown" if effect is RepeatEffect.LOOKUP else "its error", 1),
        NextStep.UNKNOWN: ("unknown", 1),
    }[step]


@pytest.mark.parametrize(("result", "effect", "response"), CELLS)
async def test_unsuccessful_lookup(result: AttemptResult, effect: RepeatEffect, response: ScriptedResponse) -> None:
    """The call is sent again, or ends with its error or in doubt, as the table says; the doubt says how far it got."""
    nothing = NOT_DONE if effect is RepeatEffect.IDEMPOTENT and result is not AttemptResult.NOT_FOUND else NOT_THERE
    decision = TABLE[result][effect]
    if result is AttemptResult.REFUSED_AFTER_DOUBT:
        run = await Run(result, effect, [LOST, response, done(effect)], nothing)()
        if TABLE[AttemptResult.LOST][effect].if_not_found is NextStep.UNKNOWN:
            assert (run.ended, run.times) == ("unknown", 1)  # the cell cannot come about: there is no second try
            return
        ended, times = after_nothing_found(effect, decision)
        assert (run.ended, run.times, run.next_steps[1]) == (ended, times + 1, decision.step)
    else:
        run = await Run(result, effect, [response, done(effect)], nothing)()
        assert (run.ended, run.times) == after_nothing_found(effect, decision)
        assert run.next_steps == [decision.step]
    if isinstance(run.error, OutcomeUnknownError) and effect is not RepeatEffect.LOOKUP:
        reached = SendStage.SENT if result is AttemptResult.REFUSED_AFTER_DOUBT else result.reached
        assert run.error.reached is reached
        assert f"({reached})" in str(run.error) or result is AttemptResult.MISMATCHED


@pytest.mark.parametrize(("result", "effect", "response"), LOOKED_UP)
async def test_successful_lookup(result: AttemptResult, effect: RepeatEffect, response: ScriptedResponse) -> None:
    """Return the record that the lookup finds, without another attempt."""
    if result is AttemptResult.REFUSED_AFTER_DOUBT:
        run = Run(result, effect, [LOST, response], done(effect))
        nothing = NOT_DONE if effect is RepeatEffect.IDEMPOTENT else NOT_THERE
        run.script.responses["get"] = [lambda _: nothing if run.times == 1 else done(effect)]
        await run()
        assert (run.ended, run.times) == ("done", 2)
        return
    run = await Run(result, effect, [response], done(effect))()
    assert (run.ended, run.times) == ("done", 1)
    assert run.script.methods == [run.method, "GET"]


@pytest.mark.parametrize(
    ("response", "reached"),
    [
        (httpx.PoolTimeout("no place"), SendStage.NOT_CONNECTED),
        (NEVER_LEFT, SendStage.NOTHING_WRITTEN),
        (LOST, SendStage.SENT),
        (CUT, SendStage.RESPONSE_TRUNCATED),
    ],
)
async def test_response_progress(response: ScriptedResponse, reached: SendStage) -> None:
    """A read that fails tells how far it got."""
    error: Any = await Script(get=[response]).fail(lambda g: g.transactions.get("found"), GatewayError)
    assert error.reached is reached
