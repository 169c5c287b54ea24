"""Resources without models and single requests: what is sent, and when it is sent again."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import (
    ApiId,
    AsyncGateway,
    InvalidRequestError,
    MalformedReplyError,
    MismatchedReplyError,
    NotFoundError,
    OutcomeUnknownError,
    UntypedRecord,
    UntypedResource,
    ValidationError,
)
from gateway_async._secrets import Secret
from gateway_async._wire.call import RepeatEffect
from gateway_async._wire.untyped import free_request
from tests.support.scripted_transport import (
    LOST,
    NOT_THERE,
    Case,
    Script,
    ScriptedResponse,
    Verb,
    absent,
    case,
    echo,
    error_of,
    listed,
    record,
    refused,
    silent,
)

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"


def plans(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("plans", name="plan", api_id="plan_api_id")


def notes(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("notes", name="note")


async def test_create() -> None:
    """Values are written as by typed requests, and the record is read by its fields."""
    script = Script(post=[echo("plan")])
    new = {
        "title": "Tea",
        "transaction_amount": Decimal("12.5"),
        "active": True,
        "rate": Decimal("0.125"),
        "start_date": date(2030, 1, 2),
        "at": datetime(2030, 1, 2, tzinfo=UTC),
        "none": None,
        "tags": ["a", 1],
    }
    made = await script.run(lambda gateway: plans(gateway).create(new))
    (body,) = script.bodies("POST")
    assert len(body["plan"].pop("plan_api_id")) == 32
    assert body["plan"] == {
        "title": "Tea",
        "transaction_amount": "12.50",
        "active": 1,
        "rate": "0.125",
        "location_id": "loc",
        "start_date": "2030-01-02",
        "at": 1893542400,
        "none": None,
        "tags": ["a", 1],
    }
    assert isinstance(made, UntypedRecord)
    assert (made.id, made["id"], made["title"], made.get("nothing", 5)) == ("made", "made", "Tea", 5)
    assert ("title" in made, "nothing" in made) == (True, False)
    with pytest.raises(KeyError):
        made["nothing"]


async def test_an_empty_integrator_id_counts_as_omitted() -> None:
    script = Script(post=[echo("plan")])
    await script.run(lambda gateway: plans(gateway).create({"plan_api_id": ""}))
    (body,) = script.bodies("POST")
    assert len(body["plan"]["plan_api_id"]) == 32


async def test_no_integrator_id() -> None:
    """No id and no location are added."""
    script = Script(post=[echo("note")])
    await script.run(lambda gateway: notes(gateway).create({"note": "Tea"}))
    assert script.bodies("POST") == [{"note": {"note": "Tea"}}]


@pytest.mark.parametrize("response", [listed("transactions"), httpx.Response(200, json={})])
async def test_other_location(response: ScriptedResponse) -> None:
    """The payment is made, and looked up, at the location that the content names."""
    script = Script(post=[LOST], get=[response])
    sale = {"action": "sale", "transaction_amount": "12.50", "account_vault_id": "v", "location_api_id": "shop-2"}
    unknown = await script.fail(lambda g: transactions(g).create(sale), OutcomeUnknownError, max_attempts=1)
    assert "KeyError" not in str(unknown)
    assert "location_id" not in script.bodies("POST")[0]["transaction"]
    assert script.asked[-1].url.path == "/v2/transactions"
    assert "location_id" not in script.asked[-1].url.params


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"action": "void"}, {"status_id": 101}, {"status_id": 201}),
        ({"action": "authcomplete"}, {"status_id": 102}, {"status_id": 101}),
        ({"action": "tipadjust", "tip_amount": "3.00"}, {"tip_amount": "0.00"}, {"tip_amount": "3.00"}),
    ],
)
async def test_old_transaction(change: dict[str, str], before: dict[str, Any], after: dict[str, Any]) -> None:
    """A late response to an earlier read shows it, so the transaction is read again."""
    script = Script(put=[record("transaction", **before)], get=[record("transaction", **after)])
    changed = await script.run(lambda gateway: transactions(gateway).update("found", change))
    assert {name: changed[name] for name in after} == after
    assert script.methods == ["PUT", "GET"]


def contacts(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("contacts", name="contact", api_id="contact_api_id")


def transactions(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("transactions", name="transaction", api_id="transaction_api_id")


def overriding(untyped: Callable[[AsyncGateway], UntypedResource]) -> Verb[Any]:
    return lambda gateway: untyped(gateway).update("found", {"action": "override"})


LOCATION = {"name": "Shop", "modified_ts": 1_700_000_000, "modified_user_id": "u1"}
SAVED = {"id": "l", "name": "Shop", "modified_ts": 1_700_000_001, "modified_user_id": "u2"}
CASES = [
    case("a lost create that is found is the result", lambda g: plans(g).create({"title": "Tea"}), {"id": "found"},
         "POST GET", post=[LOST], get=[record("plan")]),
    case("a record that is not found under the id may exist without it", lambda g: plans(g).create({"title": "Tea"}),
         OutcomeUnknownError, "POST GET", post=[LOST], get=[absent]),
    case("a create without an integrator id is sent once", lambda g: notes(g).create({"note": "Tea"}),
         OutcomeUnknownError, "POST", post=[LOST]),
    case("all attempts of a lost create have one id", lambda g: contacts(g).create({"last_name": "Smith"}),
         {"id": "made"}, "POST GET POST", post=[LOST, echo("contact")], get=[absent]),
    case("no refusal counts as another request's, as the fields of the resource are not known",
         lambda g: plans(g).create({"title": "Tea"}), (ValidationError, "last_name: cannot be blank"),
         "POST GET", post=[refused(last_name="cannot be blank")], get=[NOT_THERE]),
    case("a lost change counts as made when the record shows it", lambda g: plans(g).update("found", {"title": "Tea"}),
         {"id": "found"}, "PUT GET", put=[LOST], get=[record("plan", title="Tea")]),
    case("so does one of a transaction without an action",
         lambda g: transactions(g).update("found", {"description": "Tea"}), {"id": "found"},
         "PUT GET", put=[LOST], get=[record("transaction", description="Tea")]),
    *(
        case(f"two actions of {plural} may do twice as much", overriding(untyped), OutcomeUnknownError, "PUT",
             put=[LOST])
        for plural, untyped in {"plans": plans, "transactions": transactions}.items()
    ),
    case("the gateway sets the time and the user of a change itself",
         lambda g: g.resource("locations", name="location").update("l", LOCATION), {"id": "l"}, "PUT",
         put=[httpx.Response(200, json={"location": SAVED})]),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_requests_and_outcomes_of_writes(call: Case) -> None:
    await call.check()


async def test_hidden_ids() -> None:
    """The doubt stays, however long it is looked up."""

    def ignored(request: httpx.Request) -> httpx.Response:
        return listed("plans", {"id": "1", "title": "Tea"}) if "page" in request.url.params else NOT_THERE

    script = Script(post=[LOST], get=[ignored])
    async with script.gateway(in_doubt_seconds=1) as gateway:
        unknown = await error_of(plans(gateway).create({"title": "Tea"}), OutcomeUnknownError)
        await error_of(unknown.resolve(wait=5), OutcomeUnknownError, match="plan_api_id")
    found_none = Script(post=[LOST], get=[absent])
    async with found_none.gateway(in_doubt_seconds=1) as gateway:
        unknown = await error_of(plans(gateway).create({"title": "Tea"}), OutcomeUnknownError)
        assert await unknown.resolve(wait=5) is None


async def test_terminal() -> None:
    """The call waits at the terminal and is looked up, but never sent again."""
    script = Script(post=[LOST], get=[absent])
    new = {"terminal_id": "t", "terms_conditions": "Tea"}
    await script.fail(lambda gateway: plans(gateway).create(new), OutcomeUnknownError, in_doubt_seconds=1)
    assert script.methods.count("POST") == 1
    began = anyio.current_time()
    unpaid = Script(post=[silent], get=[absent])
    await unpaid.fail(lambda g: plans(g).create(new), OutcomeUnknownError, timeout=1, terminal_timeout=50)
    assert anyio.current_time() - began >= 50


def device_terms(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("deviceterms", name="deviceterm", api_id="device_terms_api_id")


def shown_terms(**fields: Any) -> httpx.Response:
    """Return the response with device terms that were sent as `mine`."""
    return record("deviceterm", **{"device_term_api_id": "mine", **fields})


TERMS = {"terminal_id": "t", "terms_conditions": "Tea", "device_terms_api_id": "mine"}


async def test_device_terms() -> None:
    """The record has the fields of the gateway's response, and no others."""
    script = Script(post=[LOST], get=[shown_terms()])
    found = await script.run(lambda gateway: device_terms(gateway).create(TERMS))
    assert found["device_term_api_id"] == "mine"
    assert "device_terms_api_id" not in found
    assert script.methods.count("POST") == 1
    assert script.asked[1].url.path == "/v2/deviceterms/mine"


@pytest.mark.parametrize("method", ["create", "get"])
async def test_other_terms(method: str) -> None:
    """The id that a record shows is compared with the one that was asked for."""
    script = Script(post=[shown_terms(device_term_api_id="other")], get=[shown_terms(device_term_api_id="other")])
    async with script.gateway() as gateway:
        argument: Any = TERMS if method == "create" else ApiId("mine")
        await error_of(getattr(device_terms(gateway), method)(argument), MismatchedReplyError)


async def test_missing_terms() -> None:
    """A list of terms with similar ids proves that the terms do not exist, as filters match parts of a text."""

    def missing(request: httpx.Request) -> httpx.Response:
        if "page" not in request.url.params:
            return NOT_THERE
        assert request.url.params["device_terms_api_id"] == "mine"
        return listed("deviceterms", {"id": "1", "device_term_api_id": "mine too"})

    script = Script(post=[LOST], get=[missing])
    async with script.gateway(in_doubt_seconds=1, terminal_timeout=1) as gateway:
        unknown = await error_of(device_terms(gateway).create(TERMS), OutcomeUnknownError)
        assert await unknown.resolve(wait=301) is None
    assert script.methods.count("POST") == 1


async def test_reads_lists_and_deletes_take_either_id() -> None:
    script = Script(
        get=[record("plan", plan_api_id="mine"), listed("plans", {"id": "1", "n": 1}, {"id": "2"})],
        delete=[httpx.Response(204)],
    )
    async with script.gateway() as gateway:
        resource = plans(gateway)
        assert (await resource.get(ApiId("mine"), expand=("contact",)))["plan_api_id"] == "mine"
        rows = [row async for row in resource.list({"active": True}, sort="-id")]
        await resource.delete("found")
    assert [(row.id, row.get("n")) for row in rows] == [("1", 1), ("2", None)]
    assert dict(script.asked[0].url.params) == {"api_id": "1", "location_id": "loc", "expand": "contact"}
    assert dict(script.asked[1].url.params) == {"active": "1", "sort": "-id", "page_size": "1000", "page": "1"}


async def test_action() -> None:
    """An action is sent with its parameters, and a body only if one is given; a response may be empty."""
    script = Script(post=[record("plan"), httpx.Response(204), LOST])
    async with script.gateway() as gateway:
        done = await plans(gateway).action("found", "skipPayment", params={"skip_count": 2})
        assert done is not None
        assert done.id == "found"
        assert await plans(gateway).action("found", "placeOnHold", {"why": "Tea"}) is None
        await error_of(plans(gateway).action("found", "activate"), OutcomeUnknownError)
    assert [request.url.path for request in script.asked] == [
        "/v2/plans/found/skipPayment",
        "/v2/plans/found/placeOnHold",
        "/v2/plans/found/activate",
    ]
    assert [request.content for request in script.asked] == [b"", b'{"plan":{"why":"Tea"}}', b""]
    assert script.asked[0].url.params["skip_count"] == "2"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_lost_action(method: Any) -> None:
    """The error has the integrator id and what was sent, without secrets."""
    lost: list[ScriptedResponse] = [LOST]
    script = Script(**{method.lower(): lost})
    unknown = await script.fail(
        lambda gateway: plans(gateway).action(ApiId("mine"), "pay", {"account_number": CARD}, method=method),
        OutcomeUnknownError,
    )
    assert (unknown.api_id, unknown.sent) == ("mine", {"account_number": "************1111"})


@pytest.mark.parametrize(
    ("verb", "method", "problem"),
    [
        *((verb, "POST", "verb: must be a word") for verb in (5, "", "../x", "skip-payment", "größe")),
        ("pay", "GET", "method: must be POST"),
    ],
)
async def test_refused_action(verb: Any, method: Any, problem: str) -> None:
    """Nothing but a word becomes a part of the path."""
    script = Script()
    await script.fail(lambda g: plans(g).action("found", verb, method=method), InvalidRequestError, match=problem)
    assert script.methods == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"transaction_amount": 12.5}, "transaction_amount: must be a Decimal"),
        ({"lines": [{"unit_cost": 1.5}]}, r"(^|\s)lines\[0\].unit_cost: must be a Decimal"),
        ({"lines": {"tax": "much"}}, r"lines.tax: is not an amount"),
        ({"rate": Decimal("NaN")}, "rate: is not an amount"),
        ({"account_number": "4111\ud800"}, "account_number: has an invalid character"),
        ({"transaction_amount": "12.505"}, "transaction_amount: has more than two decimals"),
        ({"tax": Decimal("NaN")}, "tax: is not an amount"),
        ({"tip_amount": ["1.00", "much"]}, r"tip_amount\[1\]: is not an amount"),
        ({"title": b"Tea"}, "title: a bytes cannot be sent"),
        ({"title": "\ud800"}, "title: has an invalid character"),
        ({"at": datetime(2030, 1, 2)}, "at: must be an aware datetime"),  # noqa: DTZ001
        ({5: "x"}, "request: the name of a field must be text"),
        ({"account_number": 4.5}, "account_number: must be text"),
        ({"plan_api_id": 5}, "plan_api_id: must be text"),
        ({"location_id": 5}, "location_id: must be text"),
        ([], "request: must be a mapping"),
    ],
)
async def test_unsendable_content(content: Any, problem: str) -> None:
    """Nothing is sent, and the problem has the path of its field."""
    script = Script()
    await script.fail(lambda gateway: plans(gateway).create(content), InvalidRequestError, match=problem)
    if "plan_api_id" not in content:
        await script.fail(lambda gateway: plans(gateway).update("x", content), InvalidRequestError, match=problem)
    assert script.methods == []


async def test_masked_fields() -> None:
    """A gateway that echoes them leaks nothing, at any depth of the content."""
    echoed = refused(account_number=f"{CARD} is bad", other="no 99887766 and 987")
    new = {"account_number": CARD, "deep": [{"cvv": 987, "password": "99887766"}]}
    sent: list[Verb[Any]] = [
        lambda gateway: plans(gateway).create(new),
        lambda gateway: plans(gateway).action("found", "pay", new),
        lambda gateway: gateway.request("POST", "/v2/plans", body={"plan": new}),
    ]
    for send in sent:
        script = Script(post=[echoed])
        error = await script.fail(send, ValidationError)
        assert not any(secret in f"{error} {error.fields}" for secret in (CARD, "99887766", "987"))
        assert script.bodies("POST")[0]["plan"]["deep"] == [{"cvv": "987", "password": "99887766"}]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"plural": "../plans"}, "plural: must be"),
        ({"plural": "routertransactions"}, "gateway.router_transactions"),
        ({"name": ""}, "name: must be"),
        ({"api_id": "plan api id"}, "api_id: must be"),
    ],
)
async def test_resource_names(arguments: dict[str, Any], problem: str) -> None:
    """Nothing but a word becomes a part of a path."""
    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError, match=problem):
            gateway.resource(**{"plural": "plans", "name": "plan", **arguments})


async def test_response() -> None:
    """`gateway.request` returns the status, the headers and the JSON with exact fractions."""
    script = Script(get=[httpx.Response(200, headers={"x-y": "z"}, json={"n": 1.25})])
    reply = await script.run(lambda gateway: gateway.request("GET", "/v2/info", params={"a": [1, 2], "_format": "x"}))
    assert (reply.status_code, reply.headers["X-Y"], reply.json()) == (200, "z", {"n": Decimal("1.25")})
    assert dict(script.asked[0].url.params) == {"a": "1,2", "_format": "x"}
    assert reply.secrets == ()


async def test_get() -> None:
    """A read can be sent again; a file of another type is returned as it is."""
    script = Script(get=[LOST, httpx.Response(200, content=b"a,b\n")])
    reply = await script.run(lambda gateway: gateway.request("GET", "/v2/transactions"))
    assert reply.body == b"a,b\n"
    with pytest.raises(MalformedReplyError, match="not JSON"):
        reply.json()


@pytest.mark.parametrize("response", [LOST, httpx.Response(503), httpx.Response(200, html="<p>Hi</p>")])
async def test_other_methods(response: ScriptedResponse) -> None:
    """Without a definite response its outcome is unknown."""
    methods: list[Any] = ["POST", "PUT", "DELETE", "PATCH"]
    script = Script(post=[response], put=[response], delete=[response], patch=[response])
    async with script.gateway() as gateway:
        for method in methods:
            unknown = await error_of(gateway.request(method, "/v2/plans", body={"plan": {}}), OutcomeUnknownError)
            assert unknown.sent == {"plan": "***"}
    assert script.methods == methods


async def test_kinds() -> None:
    """A POST that reads is repeated, and a GET that writes is not."""
    script = Script(post=[LOST, httpx.Response(200, json={})], get=[LOST])
    async with script.gateway() as gateway:
        assert (await gateway.request("POST", "/v2/search", body={"q": "Tea"}, kind="read")).json() == {}
        await error_of(gateway.request("GET", "/v2/plans/1/start", kind="write"), OutcomeUnknownError)
    assert script.methods == ["POST", "POST", "GET"]


async def test_a_refused_request_is_the_error_of_its_status() -> None:
    script = Script(get=[NOT_THERE], post=[refused(title="bad")])
    async with script.gateway() as gateway:
        await error_of(gateway.request("GET", "/v2/plans/1"), NotFoundError)
        error = await error_of(gateway.request("POST", "/v2/plans", body={"plan": {}}), ValidationError)
    assert (dict(error.fields), error.__cause__) == ({"title": ("bad",)}, None)


async def test_an_empty_response_has_no_json() -> None:
    script = Script(delete=[httpx.Response(204)])
    reply = await script.run(lambda gateway: gateway.request("DELETE", "/v2/plans/1"))
    assert (reply.status_code, reply.json()) == (204, None)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        *(
            ({"path": path}, "path: must")
            for path in (
                *("/v1/plans", "v2/plans", "/v2/", "https://other.test/v2/plans", "//other.test/v2/plans", 5),
                *(
                    "/v2/plans?x=1",
                    "/v2/plans#x",
                    "/v2/a b",
                    "/v2/%zz",
                    "/v2/../x",
                    "/v2/./x",
                    "/v2/%2e%2e/x",
                    "/v2/x%2F..%2Fy",
                    "/v2//x",
                ),
            )
        ),
        ({"path": "/v2/token/abc"}, "gateway.tokens"),
        ({"method": "get"}, "method: must be one of"),
        ({"kind": "maybe"}, "kind: must be"),
        ({"params": {"user-id": "x"}}, "params: 'user-id' cannot be a parameter"),
        ({"params": {"x": 1.5}}, "x: cannot filter by a float"),
        ({"params": "x"}, "params: must be a mapping"),
        ({"method": "POST", "body": {"plan": {"tax": 1.5}}}, "plan.tax: must be a Decimal"),
        ({"method": "POST", "body": "x"}, "request: must be a mapping"),
    ],
)
async def test_a_request_to_another_host_path_or_user_is_refused(arguments: dict[str, Any], problem: str) -> None:
    script = Script()
    call: dict[str, Any] = {"method": "GET", "path": "/v2/plans", **arguments}
    await script.fail(lambda gateway: gateway.request(**call), InvalidRequestError, match=problem)
    assert script.methods == []


@pytest.mark.parametrize("name", ["routertransaction", "deviceterm"])
async def test_terminal_request(name: str) -> None:
    """Such a request is never repeated. It may last as long as a customer needs."""
    script = Script(post=[LOST])
    body = {name: {"terminal_id": "t"}}
    async with script.gateway() as gateway:
        await error_of(gateway.request("POST", f"/v2/{name}s", body=body), OutcomeUnknownError)
        call = free_request("POST", Secret(f"/v2/{name}s"), {}, body, None)
    assert script.methods == ["POST"]
    assert (call.repeat_effect, call.terminal_id) == (RepeatEffect.TERMINAL, "t")
    other = free_request("POST", Secret(f"/v2/{name}s"), {}, {name: {"title": "Tea"}}, None)
    assert (other.repeat_effect, other.terminal_id) == (RepeatEffect.UNNAMED, None)
