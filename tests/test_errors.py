"""The error tree: as drawn, picklable, facts as attributes, and no secret in any of it."""

import copy
import logging
import pickle
import re
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from datetime import date
from typing import Any

import pytest

from gateway_async import errors
from gateway_async._wire.request import RequestDefaults
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    DeclinedError,
    DuplicateError,
    GatewayError,
    InboxError,
    InvalidFieldsError,
    InvalidRequestError,
    JournalError,
    LedgerError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    PostbackRefusedError,
    RateLimitError,
    SendStage,
    ServerError,
    StatusError,
    TerminalBusyError,
    ValidationError,
)
from gateway_async.models.codes import ReasonCode, TransactionStatus
from gateway_async.models.quick_invoices import QuickInvoiceCreate
from gateway_async.models.transactions import Transaction, TransactionCreate
from gateway_async.resources.quick_invoices import QUICK_INVOICE
from gateway_async.resources.transactions import TRANSACTION


def declined() -> Transaction:
    """A transaction that the issuer refused, with something the model does not know."""
    return Transaction(
        id="t1",
        status_id=TransactionStatus.DECLINED,
        reason_code_id=ReasonCode.INSUFFICIENT_FUNDS,
        verbiage="NO FUNDS",
        extra={"folio_num": "7"},
    )


READ, WRITE = "GET /v2/contacts/1", "POST /v2/transactions"
UNSENT = {"api_id": "order-7", "sent": {"action": "sale"}, "call": WRITE}

EXAMPLES: list[tuple[type[GatewayError], dict[str, Any], str]] = [
    (InvalidRequestError, {"problems": ("title: too long", "tax: bad")}, "nothing was sent: title: too long; tax: bad"),
    (NotSentError, {"reason": "no route", "call": WRITE}, f"{WRITE} was not sent: no route"),
    (ClientClosedError, {"call": WRITE}, f"{WRITE} was not sent: the client is closed"),
    (
        NotFoundError,
        {"status_code": 404, "call": READ, "message": "no such contact"},
        f"{READ}: not found (404): no such contact",
    ),
    (
        AuthenticationError,
        {"status_code": 401, "call": READ, "is_login": True},
        f"{READ}: the credentials were not accepted (401)",
    ),
    (
        ValidationError,
        {"status_code": 422, "call": WRITE, "fields": {"tax": ("bad", "worse"), "": ("no",)}},
        f"{WRITE}: validation failed (422): tax: bad, worse; no",
    ),
    (
        DuplicateError,
        {"status_code": 422, "call": WRITE, "api_id": "order-7", "fields": {"tax": ("already exists",)}},
        f"{WRITE}: validation failed (422): tax: already exists",
    ),
    (RateLimitError, {"status_code": 429, "call": WRITE, "retry_after": 1.5}, f"{WRITE}: too many requests (429)"),
    (DeadlineExceededError, {"seconds": 30.0, "call": READ}, f"{READ} did not finish within 30 s"),
    (ConnectionLostError, {"reason": "reset", "call": READ}, f"{READ}: the connection was lost: reset"),
    (
        MalformedReplyError,
        {"path": "$.contact.id", "reason": "missing", "call": READ},
        f"{READ}: the response cannot be read at $.contact.id: missing",
    ),
    (
        MismatchedReplyError,
        {"differences": ("id is 'b', not '1'",), "call": READ},
        f"{READ}: the response belongs to another request: id is 'b', not '1'",
    ),
    (
        OutcomeUnknownError,
        {"reason": "reset", "reached": SendStage.RESPONSE_TRUNCATED, **UNSENT},
        f"{WRITE} (api id order-7): the outcome is unknown (response truncated): reset",
    ),
    (
        MismatchedWriteError,
        {"differences": ("id is 'b', not 'a'",), **UNSENT},
        f"{WRITE}: the response belongs to another request: id is 'b', not 'a'",
    ),
    (
        DeclinedError,
        {"transaction": declined(), "reason_code_id": 1616, "message": "NO FUNDS"},
        "transaction t1 was declined (reason 1616): NO FUNDS",
    ),
    (TerminalBusyError, {"terminal_id": "term-1", "holder": "till 2"}, "terminal term-1 is busy; holder: till 2"),
    (PostbackRefusedError, {"status_code": 400, "reason": "data.id: missing"}, "refused with 400: data.id: missing"),
    (LedgerError, {"location": "a.db", "reason": "it is full"}, "the ledger a.db cannot be used: it is full"),
    (InboxError, {"location": "a.db", "reason": "it is full"}, "the inbox a.db cannot be used: it is full"),
    (JournalError, {"location": "a.db", "reason": "it is full"}, "the journal a.db cannot be used: it is full"),
]
"""Class, arguments, which are attributes, and the message."""


def drawn_tree() -> dict[str, str]:
    """Class → parent, as the module's docstring draws it."""
    path: list[str] = []
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"    (?P<stem>[│├└─ ]*)(?P<name>[A-Z]\w+Error)\b", line)
        if drawn:
            path[len(drawn["stem"]) // 4 :] = [drawn["name"]]
            parents[path[-1]] = path[-2] if len(path) > 1 else ""
    return parents


def classes() -> list[type[GatewayError]]:
    """Every error class of the module, the root first."""
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GatewayError)]


def test_the_docstring_draws_every_class_below_its_parent() -> None:
    assert sorted(drawn_tree()) == sorted(kind.__name__ for kind in classes())
    for kind in classes():
        parent = drawn_tree()[kind.__name__]
        assert parent in ({base.__name__ for base in kind.__bases__} if parent else {""})
    assert MismatchedWriteError.__bases__ == (MismatchedReplyError, OutcomeUnknownError)


def test_field_refusals() -> None:
    """A web form catches what the client and the gateway refuse, with the messages by field."""
    for error in (InvalidRequestError("tax: bad"), ValidationError(422, fields={"tax": ("bad",)})):
        assert isinstance(error, InvalidFieldsError)
        assert error.fields == {"tax": ("bad",)}


def test_defaults_of_errors_without_facts() -> None:
    not_found, login = NotFoundError(404), AuthenticationError(401)
    assert (not_found.message, not_found.fields, not_found.retry_after, login.is_from_gateway) == ("", {}, None, True)
    assert (ClientClosedError().reason, ConnectionLostError("reset").reached) == (
        "the client is closed",
        SendStage.SENT,
    )
    assert {LedgerError("a.db", "").call, InvalidRequestError("tax: bad").call} == {""}
    assert str(SendStage.RESPONSE_TRUNCATED) == "response truncated"


def test_the_examples_cover_every_constructor() -> None:
    by_constructor = {kind.__init__ for kind in classes() if "__init__" in vars(kind)}
    assert {kind.__init__ for kind, *_ in EXAMPLES} == by_constructor


@pytest.mark.parametrize(
    "again",
    [lambda error: error, lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy],  # noqa: S301  our own bytes
    ids=["new", "pickle", "copy", "deepcopy"],
)
def test_facts(again: Callable[[GatewayError], GatewayError]) -> None:
    """The facts of an error are attributes, and the message is made from them; also of a pickled or copied error."""
    for kind, facts, sentence in EXAMPLES:
        error = again(kind(**facts))
        assert type(error) is kind
        assert {name: getattr(error, name) for name in facts} == facts
        assert str(error) == sentence


UNKNOWN_FACTS = {
    NotSentError("no route"): "the request was not sent: no route",
    StatusError(302): "the call: the gateway refused (302)",
    DeadlineExceededError(0.25): "the call did not finish within 0.25 s",
    ConnectionLostError("reset"): "the call: the connection was lost: reset",
    MalformedReplyError("$", "not JSON"): "the call: the response cannot be read at $: not JSON",
    MismatchedReplyError(["x"]): "the call: the response belongs to another request: x",
    OutcomeUnknownError("lost"): "the call: the outcome is unknown (sent): lost",
    TerminalBusyError("t"): "terminal t is busy",
    DeclinedError(declined(), reason_code_id=None, message=None): "transaction t1 was declined (reason None)",
}


def test_unknown_facts() -> None:
    """An error without a call leaves unknown facts out of its message."""
    for error, sentence in UNKNOWN_FACTS.items():
        assert str(error) == sentence


def test_the_fields_of_an_error_are_read_only() -> None:
    error = ValidationError(422, fields={"tax": ("bad",)})
    with pytest.raises(TypeError):
        error.fields["tax"] = ()  # type: ignore[index]


def test_fields() -> None:
    """`.fields` has the shape of a `ValidationError`'s; a problem of two fields is under both, of none under `""`."""
    new = TransactionCreate(action="salee", transaction_amount="1.001", contact_id="c", contact_api_id="c")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError) as caught:
        TRANSACTION.create(new, RequestDefaults(location_id="loc", check_limits=True, new_id=lambda: "made-up"))
    error = caught.value
    assert error.fields.keys() == {"action", "transaction_amount", "account_number", "contact_id", "contact_api_id"}
    assert error.fields["transaction_amount"] == ("has more than two decimals",)
    assert error.fields["contact_id"] == error.fields["contact_api_id"] == ("only one of them may be given",)
    assert "contact_id, contact_api_id: only one of them may be given" in error.problems
    assert ValidationError(422, fields=error.fields).fields == error.fields
    for copied in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301  our own bytes
        assert (copied.problems, copied.fields) == (error.problems, error.fields)


def test_items() -> None:
    """The name of an item is part of its field, whatever text it contains."""
    new = QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 1), item_list={"Tea: green, hot": "1.001"})
    with pytest.raises(InvalidRequestError) as caught:
        QUICK_INVOICE.create(new, RequestDefaults(location_id="loc", check_limits=True, new_id=lambda: "made-up"))
    assert dict(caught.value.fields) == {"item_list.Tea: green, hot": ("has more than two decimals",)}


@pytest.mark.parametrize(
    ("problems", "fields"),
    [
        ("timeout: must be a number", {"timeout": ("must be a number",)}),
        (["a: is required", "a: must be text: not int", "b, c: x"],
         {"a": ("is required", "must be text: not int"), "b": ("x",), "c": ("x",)}),
        ("there is no such file: /a/b", {"": ("there is no such file: /a/b",)}),
        ("/a/b.csv: cannot be read", {"": ("/a/b.csv: cannot be read",)}),
        ([], {}),
    ],
)  # fmt: skip
def test_named_fields(problems: Any, fields: dict[str, tuple[str, ...]]) -> None:
    """A line of a problem that begins with names is about them."""
    assert InvalidRequestError(problems).fields == fields


def test_confused_name() -> None:
    """A form may confuse name and value; the message names the field."""
    error = InvalidRequestError(["5454545454545454: must not be a float", "memo: is required"])
    assert error.problems == ("************5454: must not be a float", "memo: is required")
    assert "54545454" not in str(error) + repr(error.fields)


def test_masked_ids() -> None:
    """An id that looks like a card number is masked in the message; the attribute keeps it."""
    error = OutcomeUnknownError("lost", api_id="4111111111111111", reached=SendStage.RESPONDED)
    assert str(error) == "the call (api id ************1111): the outcome is unknown (responded): lost"
    assert error.api_id == "4111111111111111"


@pytest.mark.asyncio
async def test_resolve() -> None:
    """`resolve()` returns what the lookup finds, and looks for as long as it is told: 30 seconds by default."""
    waits: list[float] = []

    async def found(wait: float) -> str:
        waits.append(wait)
        return "the record"

    error = OutcomeUnknownError("lost", resolve=found)
    responses: list[object] = [await error.resolve(), await error.resolve(5), await error.resolve(wait=0)]
    assert responses == ["the record"] * 3
    assert waits == [30.0, 5, 0]


def test_truth_value(caplog: pytest.LogCaptureFixture) -> None:
    """Type checkers refuse to ask whether an outcome is true; the standard library asks, and gets a response."""
    error = OutcomeUnknownError("lost")
    logging.getLogger("till").error("what now?", exc_info=error)
    assert "the outcome is unknown" in caplog.text
    assert "the outcome is unknown" in "".join(traceback.format_exception(error))
    future: Future[None] = Future()
    future.set_exception(error)
    with pytest.raises(OutcomeUnknownError):
        future.result()


RETRYABLE = {
    NotSentError("no route"): True,
    ClientClosedError(): False,
    RateLimitError(429): True,
    ServerError(500, call="GET /v2/contacts/1"): True,
    ServerError(500, call="POST /v2/contacts"): False,
    DeadlineExceededError(30): True,
    ConnectionLostError("reset"): True,
    TerminalBusyError("t"): True,
    OutcomeUnknownError("reset"): False,
    InvalidRequestError("amount: required"): False,
    NotFoundError(404): False,
    MismatchedReplyError(["id"]): False,
}


def test_retryable() -> None:
    """Only errors after which nothing was executed, and which may pass, can be retried."""
    for error, retryable in RETRYABLE.items():
        assert error.retryable is retryable
