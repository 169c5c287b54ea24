"""A gateway that answers by script: what each request gets, in order, and what it was asked."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import anyio
import attrs
import httpx
import pytest

from gateway_async import AsyncGateway, RouterTransactionCreate, Transaction, TransactionCreate, UserApiKey
from gateway_async._http.progress import PROGRESS
from gateway_async.observe import Event

SALE = TransactionCreate(action="sale", account_vault_id="vault", transaction_amount="12.50")
NAMED_SALE = attrs.evolve(SALE, transaction_api_id="mine")
SALE_AT_TERMINAL = RouterTransactionCreate(
    action="sale", terminal_id="t", transaction_amount="12.50", transaction_api_id="mine"
)

ResultT = TypeVar("ResultT")
EventT = TypeVar("EventT", bound=Event)
ErrorT = TypeVar("ErrorT", bound=BaseException)
Verb = Callable[[AsyncGateway], Awaitable[ResultT]]
ScriptedResponse = (
    httpx.Response | BaseException | Callable[[httpx.Request], "Awaitable[ScriptedResponse] | ScriptedResponse"]
)


Outcome = dict[str, Any] | type[Exception] | tuple[type[Exception], str | dict[str, Any]]
"""Fields of a result, or the class of an error, perhaps with words of its text or with fields."""


class BrokenOff(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Half of it."""
        yield b'{"transaction": '
        raise LOST


class Script(httpx.AsyncBaseTransport):
    """Answers each request with the next of its responses; the last one stays."""

    def __init__(self, **responses: list[ScriptedResponse]) -> None:
        self.responses = {method: [*given] for method, given in responses.items()}
        self.asked: list[httpx.Request] = []
        self.events: list[Event] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await anyio.lowlevel.checkpoint()
        self.asked.append(request)
        queue = self.responses[request.method.lower()]
        response = queue.pop(0) if len(queue) > 1 else queue[0]
        while callable(response):
            given = response(request)
            response = await given if isinstance(given, Awaitable) else given
        if isinstance(response, BaseException):
            raise response
        if isinstance(response.stream, BrokenOff):
            return httpx.Response(response.status_code, stream=response.stream)
        if response.is_success:
            response = with_api_id(request, response)
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.asked]

    def bodies(self, method: str) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.asked if request.method == method]

    def gateway(self, **options: Any) -> AsyncGateway:
        """A client of this gateway, whose events are kept."""
        given: dict[str, Any] = {"location_id": "loc", "credentials": UserApiKey("user", "key")}
        given |= {"observers": [self.events.append], **options}
        return AsyncGateway("https://gateway.test", developer_id="dev", transport=self, **given)

    def events_of(self, kind: type[EventT]) -> list[EventT]:
        return [event for event in self.events if isinstance(event, kind)]

    async def run(self, verb: Verb[ResultT], **options: Any) -> ResultT:
        """Make one call by a client of its own, and return the result."""
        async with self.gateway(**options) as gateway:
            return await verb(gateway)

    async def fail(self, verb: Verb[Any], kind: type[ErrorT], *, match: str | None = None, **options: Any) -> ErrorT:
        """Make one call by a client of its own, and return the error that it has to end with."""
        async with self.gateway(**options) as gateway:
            return await error_of(verb(gateway), kind, match=match)

    async def cancel(self, verb: Verb[Any], seconds: float, **options: Any) -> None:
        """Make one call by a client of its own, and cancel it after so many seconds."""
        async with self.gateway(**options) as gateway:
            with anyio.move_on_after(seconds) as scope:
                await verb(gateway)
        assert scope.cancelled_caught


class UsedConnections(Script):
    """A gateway that may say that each connection had been used before."""

    reuses_connections = True

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions[PROGRESS].is_reused = self.reuses_connections
        return await super().handle_async_request(request)


@attrs.frozen
class Case:
    """One call, and what it should come to.

    Attributes:
        outcome: the fields of the result, or the error.
        requests: the methods of all requests; lookups in a row count as one GET.
        options: options of the client.
        ends: the second at which the call ends, in virtual time.
        gets: how many GETs there are.
    """

    verb: Verb[Any]
    responses: dict[str, list[ScriptedResponse]]
    outcome: Outcome
    requests: str
    options: dict[str, Any]
    ends: float | None
    gets: int | None

    async def check(self) -> None:
        """Make the call, and compare the fields of its result or error, and what was sent."""
        script = Script(**self.responses)
        if isinstance(self.outcome, dict):
            found, fields = await script.run(self.verb, **self.options), self.outcome
        else:
            kind, said = self.outcome if isinstance(self.outcome, tuple) else (self.outcome, {})
            match, fields = (said, {}) if isinstance(said, str) else (None, said)
            found = await script.fail(self.verb, kind, match=match, **self.options)
        assert {name: getattr(found, name) for name in fields} == fields
        assert re.sub("GET( GET)+", "GET", " ".join(script.methods)) == self.requests
        assert len({request.content for request in script.asked if request.method != "GET"}) <= 1, "a repeat differs"
        assert self.gets in (None, script.methods.count("GET")), script.methods
        assert self.ends in (None, anyio.current_time()), anyio.current_time()


def case(
    sentence: str,
    verb: Verb[Any],
    outcome: Outcome,
    requests: str,
    *,
    options: dict[str, Any] | None = None,
    ends: float | None = None,
    gets: int | None = None,
    **responses: list[ScriptedResponse],
) -> Any:
    """Return a `Case` as the parameter of a test."""
    return pytest.param(Case(verb, responses, outcome, requests, options or {}, ends, gets), id=sentence)


async def error_of(call: Awaitable[object], kind: type[ErrorT], *, match: str | None = None) -> ErrorT:
    with pytest.raises(kind, match=match) as caught:
        await call
    return caught.value


async def sell(gateway: AsyncGateway) -> Transaction:
    """Charge the stored card, under an id that the client makes up."""
    return await gateway.transactions.create(SALE)


async def sell_named(gateway: AsyncGateway) -> Transaction:
    """Charge the stored card, under an id of the caller's."""
    return await gateway.transactions.create(NAMED_SALE)


async def sell_at_terminal(gateway: AsyncGateway, **options: Any) -> Transaction:
    """Charge the card that the customer presents."""
    return await gateway.router_transactions.create(SALE_AT_TERMINAL, **options)


def echo(wrapper: str, **changes: Any) -> Callable[[httpx.Request], httpx.Response]:
    """A response that carries out a create: the sent record with an id, and `changes`."""

    def respond(request: httpx.Request) -> httpx.Response:
        (content,) = json.loads(request.content).values()
        number = content.pop("account_number", None)
        card = {"last_four": number[-4:]} if number else {}
        return httpx.Response(201, json={wrapper: {"id": "made", **content, **card, **changes}})

    return respond


def with_api_id(request: httpx.Request, response: httpx.Response) -> httpx.Response:
    """The response with the integrator id that was sent, or by which a record is read, unless the script names one."""
    try:
        ((wrapper, shown),) = response.json().items()
        field = API_IDS[wrapper]
        if request.method == "POST":
            ((_, sent),) = json.loads(request.content).items()
            api_id = sent[field]
        else:
            _, api_id = request.url.params["api_id"], request.url.path.rsplit("/", 1)[1]
        named = {field: api_id} if field not in shown else {}
    except (ValueError, AttributeError, KeyError, TypeError):
        return response
    return (
        httpx.Response(response.status_code, content=json.dumps({wrapper: {**shown, **named}})) if named else response
    )


API_IDS = {
    "accountvault": "account_vault_api_id",
    "contact": "contact_api_id",
    "paylink": "paylink_api_id",
    "plan": "plan_api_id",
    "quickinvoice": "quick_invoice_api_id",
    "routertransaction": "transaction_api_id",
    "transaction": "transaction_api_id",
}


async def silent(_: httpx.Request) -> httpx.Response:
    """Read the request and never respond, like an idle terminal."""
    await anyio.sleep_forever()
    raise AssertionError


def record(wrapper: str, **fields: Any) -> httpx.Response:
    return httpx.Response(200, json={wrapper: {"id": "found", **fields}})


def listed(plural: str, *rows: dict[str, Any]) -> httpx.Response:
    pagination = {"totalCount": len(rows), "perPage": 100, "pageCount": 1 if rows else 0, "currentPage": 0}
    return httpx.Response(200, json={plural: rows, "meta": {"pagination": pagination}})


def absent(request: httpx.Request) -> httpx.Response:
    """Respond as if there were no record: a 404, and a list without it."""
    return listed(request.url.path.rsplit("/", 1)[1]) if "page" in request.url.params else NOT_THERE


NOT_THERE = httpx.Response(404, json={"name": "Not Found", "message": "not found", "code": 0, "status": 404})
LOST = httpx.ReadError("connection reset")
APPROVED = record("transaction", status_id=101)
FOUND = record("transaction", transaction_api_id="mine", status_id=101)
CUT = httpx.Response(200, stream=BrokenOff())
NEVER_LEFT = httpx.ConnectError("connection refused")


def refusal(status: int, message: str = "no", **headers: str) -> httpx.Response:
    """A refusal whose body the gateway itself wrote."""
    body = {"name": "Refused", "message": message, "code": 0, "status": status}
    return httpx.Response(status, json=body, headers=headers)


def forbidden() -> httpx.Response:
    return refusal(403, "You are not allowed to do this")


def refused(**fields: str) -> httpx.Response:
    return httpx.Response(422, json={"errors": {name: [message] for name, message in fields.items()}})
