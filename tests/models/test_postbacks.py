"""`Postback`: what it shows, compares and pickles, and what its handlers write."""

import pickle
from typing import Any

import attrs
import pytest

from gateway_async._wire.postback import postback_of
from gateway_async.models.postbacks import HandlerStatements, Postback

CARD = "4111111111111111"
RAW = {"id": "t1", "account_holder_name": "Ann Example", "custom_data": {"note": CARD}}


def postback(**raw: Any) -> Postback[Any]:
    return postback_of("UPDATE", "transaction", {**RAW, **raw})


def test_repr() -> None:
    """A log of postbacks holds no customer's data."""
    shown = repr(attrs.evolve(postback(), _statements=HandlerStatements()))
    assert "'UPDATE'" in shown
    assert "'t1'" in shown
    assert [word for word in ("Ann", CARD, "key", "statements") if word in shown] == []


def test_masked_repr() -> None:
    """Mask a type, a resource and an id, which are foreign texts."""
    assert CARD not in repr(postback_of(CARD, CARD, {"id": CARD}))


def test_equality() -> None:
    """Equal ones are equal and hash alike, whatever their handlers write; so they do in a set."""
    one, same = postback(), postback().with_statements(HandlerStatements())
    assert one == same
    assert {one} == {same}
    assert one != postback(id="t2")


def test_a_postback_pickles() -> None:
    """It can be handed to another process."""
    assert pickle.loads(pickle.dumps(postback())) == postback()  # noqa: S301  our own bytes


def test_its_raw_record_is_its_own() -> None:
    raw = dict(RAW)
    made = postback_of("UPDATE", "transaction", raw)
    raw["id"] = "t2"
    assert made.raw["id"] == "t1"


def test_without_an_inbox_writing_raises_at_once() -> None:
    with pytest.raises(RuntimeError, match="no inbox"):
        postback().execute("INSERT INTO effects VALUES (?)", 1)


def test_written_statements_are_kept_in_order_with_their_values() -> None:
    statements = HandlerStatements()
    with_statements = postback().with_statements(statements)
    with_statements.execute("INSERT INTO effects VALUES (?, ?)", 1, "a")
    with_statements.execute("DELETE FROM waiting")
    assert statements.close() == (("INSERT INTO effects VALUES (?, ?)", (1, "a")), ("DELETE FROM waiting", ()))


def test_late_statement() -> None:
    """A task that a handler left behind learns that its statement comes too late."""
    statements = HandlerStatements()
    with_statements = postback().with_statements(statements)
    assert statements.close() == ()
    with pytest.raises(RuntimeError, match="has ended"):
        with_statements.execute("DELETE FROM waiting")
    assert statements.close() == ()
