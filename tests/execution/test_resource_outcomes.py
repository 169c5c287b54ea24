"""A resource resolves the errors of its own calls, and returns its own records."""

import pickle
from typing import Any

import httpx
import pytest

from gateway_async import (
    AsyncGateway,
    Contact,
    ContactUpdate,
    DuplicateError,
    InvalidRequestError,
    NoteCreate,
    OutcomeUnknownError,
    Record,
    Transaction,
    TransactionBatch,
)
from tests.support.scripted_transport import (
    LOST,
    NOT_THERE,
    ErrorT,
    Script,
    Verb,
    absent,
    error_of,
    record,
    sell_at_terminal,
    sell_named,
)

from .test_create_once import CREATES, each_resource, stored, taken

pytestmark = pytest.mark.anyio


@each_resource
async def test_the_outcome_of_a_create_is_a_record_of_the_resource(resource: str) -> None:
    script = Script(post=[LOST], get=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(getattr(gateway, resource).create(CREATES[resource][0]), OutcomeUnknownError)
        script.responses["get"] = [stored(resource)]
        found = await getattr(gateway, resource).resolve(error)
        assert (type(found), found.id) == (error.record_type, "found")


@each_resource
async def test_proven_absence(resource: str) -> None:
    """None means that the gateway has proved that there is no record, and that the doubt is over."""
    script = Script(post=[LOST], get=[absent])
    async with script.gateway(max_attempts=1, terminal_timeout=30) as gateway:
        error = await error_of(getattr(gateway, resource).create(CREATES[resource][0]), OutcomeUnknownError)
        await error_of(getattr(gateway, resource).resolve(error, wait=0), OutcomeUnknownError)
        assert await getattr(gateway, resource).resolve(error, wait=1000) is None


LOST_CALLS: dict[str, tuple[str, Verb[Any], dict[str, Any], httpx.Response, type[Record]]] = {
    "action": ("transactions", lambda g: g.transactions.void("found"), {"put": [LOST]},
               record("transaction", status_id=201), Transaction),
    "payment at a terminal": ("transactions", sell_at_terminal, {"post": [LOST]},
                              stored("router_transactions"), Transaction),
    "settlement": ("transaction_batches", lambda g: g.transaction_batches.settle("b1"), {"post": [LOST]},
                   record("transactionbatch", id="b1", is_open=0), TransactionBatch),
    "update": ("contacts", lambda g: g.contacts.update("c1", ContactUpdate(last_name="Smith")), {"put": [LOST]},
               record("contact", id="c1", last_name="Smith"), Contact),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST_CALLS)
async def test_other_lost_calls_are_resolved_like_a_create(name: str) -> None:
    resource, verb, responses, shown, kind = LOST_CALLS[name]
    script = Script(**responses, get=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(verb(gateway), OutcomeUnknownError)
        script.responses["get"] = [shown]
        assert type(await getattr(gateway, resource).resolve(error)) is kind


async def lost_deletion(script: Script, gateway: AsyncGateway) -> OutcomeUnknownError:
    script.responses |= {"delete": [LOST], "get": [LOST]}
    return await error_of(gateway.contacts.delete("c1"), OutcomeUnknownError)


async def test_foreign_error() -> None:
    """`resolve` and `existing` refuse the error of another resource without a request."""
    script = Script(post=[LOST], get=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(sell_named(gateway), OutcomeUnknownError)
        asked = len(script.asked)
        expected = "error: POST /v2/transactions returns no Contact"
        await error_of(gateway.contacts.resolve(error), InvalidRequestError, match=expected)
        script.responses["post"] = [taken("transactions")]
        duplicate = await error_of(sell_named(gateway), DuplicateError)
        await error_of(gateway.contacts.existing(duplicate), InvalidRequestError, match=expected)
        assert len(script.asked) == asked + 1


async def test_deletion() -> None:
    """The resource's `resolve` would have no word for "it is deleted"; the error's own has one."""
    script = Script()
    async with script.gateway() as gateway:
        error = await lost_deletion(script, gateway)
        await error_of(
            gateway.contacts.resolve(error), InvalidRequestError, match="error: DELETE .* returns no Contact"
        )
        script.responses["get"] = [absent]
        assert await error.resolve() is True
        error = await error_of(gateway.tokens.delete("token"), OutcomeUnknownError)
        script.responses["delete"] = [NOT_THERE]
        assert await error.resolve() is True


async def test_untyped_record() -> None:
    """The same path was called without models, so the outcome is not the model's."""
    script = Script(post=[LOST], get=[LOST])
    async with script.gateway() as gateway:
        untyped = gateway.resource("contacts", name="contact", api_id="contact_api_id")
        error = await error_of(untyped.create({"last_name": "Smith", "contact_api_id": "mine"}), OutcomeUnknownError)
        await error_of(gateway.contacts.resolve(error), InvalidRequestError, match="returns no Contact")
        script.responses["get"] = [stored("contacts", last_name="Smith")]
        found = await untyped.resolve(error)
        assert found is not None
        assert found["id"] == "found"


async def test_a_resource_without_models_creates_once() -> None:
    script = Script(post=[taken("contacts")], get=[stored("contacts", last_name="Smith")])
    async with script.gateway() as gateway:
        untyped = gateway.resource("contacts", name="contact", api_id="contact_api_id")
        new = {"last_name": "Smith", "contact_api_id": "mine"}
        assert (await untyped.create_once(new))["id"] == "found"
        duplicate = await error_of(untyped.create(new), DuplicateError)
        assert (await untyped.existing(duplicate))["id"] == "found"
        for wrong in ({"last_name": "Smith"}, {"last_name": "Smith", "contact_api_id": ""}):
            await error_of(untyped.create_once(wrong), InvalidRequestError, match="contact_api_id: required")
        unnamed = gateway.resource("plans", name="plan")
        await error_of(unnamed.create_once({"title": "x"}), InvalidRequestError, match="api_id: required")


async def test_unresolvable() -> None:
    """A note has no integrator id, and the effect of an unknown action is not known: the error is raised again."""
    script = Script(post=[LOST])
    async with script.gateway() as gateway:
        plans = gateway.resource("plans", name="plan")
        new = NoteCreate(resource="Contact", resource_id="c")
        error = await error_of(gateway.notes.create(new), OutcomeUnknownError)
        await error_of(gateway.notes.resolve(error), OutcomeUnknownError, match="POST /v2/notes")
        error = await error_of(plans.action("p1", "activate"), OutcomeUnknownError)
        await error_of(plans.resolve(error), OutcomeUnknownError, match="POST /v2/plans/p1/activate")


async def test_other_errors() -> None:
    """`existing` takes a duplicate, and `resolve` an unknown outcome."""
    async with Script(post=[]).gateway() as gateway:
        wrong: Any = OutcomeUnknownError("lost")
        await error_of(
            gateway.contacts.existing(wrong),
            InvalidRequestError,
            match="error: must be a DuplicateError, not OutcomeUnknownError",
        )
        wrong = DuplicateError(api_id="mine")
        await error_of(
            gateway.contacts.resolve(wrong),
            InvalidRequestError,
            match="error: must be an OutcomeUnknownError, not DuplicateError",
        )


def copied(error: ErrorT) -> ErrorT:
    """Return the error as another process gets it."""
    found: ErrorT = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    return found


async def test_copied_error() -> None:
    """A pickled error has no client: it stays unknown, and says what to do."""
    script = Script(post=[LOST], get=[LOST])
    async with script.gateway() as gateway:
        error = copied(await error_of(sell_named(gateway), OutcomeUnknownError))
        assert await error_of(gateway.transactions.resolve(error), OutcomeUnknownError) is error
        script.responses["post"] = [taken("transactions")]
        duplicate = copied(await error_of(sell_named(gateway), DuplicateError))
        await error_of(gateway.transactions.existing(duplicate), InvalidRequestError, match="this error was copied")
