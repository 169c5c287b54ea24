"""A record without a name of ours is known by being new: exactly one, and only if it says what was asked for."""

import json
from typing import Any

import attrs
import pytest

from gateway_async._wire.call import LookupStatus, OutcomeQuery
from gateway_async._wire.convert import FieldError
from gateway_async._wire.new_record import new_record, read_before
from gateway_async.errors import MismatchedReplyError
from gateway_async.resources import lookup_of
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

EXPECTED = {"contact_id": "c", "payment_method": "cc"}


def row(id: str, created_ts: Any = 100, **fields: Any) -> dict[str, Any]:
    return {"id": id, "created_ts": created_ts, "last_four": "1111", **EXPECTED, **fields}


def listed(*rows: dict[str, Any], **pagination: Any) -> dict[str, Any]:
    pagination = pagination or {"totalCount": len(rows), "pageCount": 1}
    return {"accountvaults": list(rows), "meta": {"pagination": pagination}}


def asked(*before: dict[str, Any], **pagination: Any) -> OutcomeQuery:
    """The outcome query that the list before the write gives."""
    content = listed(*before, **pagination)
    return read_before(ACCOUNT_VAULT, EXPECTED, lambda outcome_query: outcome_query).read(content)


def found(outcome_query: OutcomeQuery, *after: dict[str, Any]) -> Any:
    return new_record(ACCOUNT_VAULT, outcome_query).read(listed(*after))


def test_both_reads() -> None:
    """Both reads ask for the contact's cards, the newest first, a hundred of them."""
    expected = {"contact_id": "c", "payment_method": "cc", "sort": "-created_ts", "page": "1", "page_size": "100"}
    first = read_before(ACCOUNT_VAULT, EXPECTED, lambda outcome_query: outcome_query)
    assert dict(first.request.params) == dict(new_record(ACCOUNT_VAULT, asked()).request.params) == expected
    assert (first.request.method, first.request.path) == ("GET", "/v2/accountvaults")
    assert first.fresh_connection  # a late response could show other records


def test_only_ids_and_a_time_are_kept() -> None:
    outcome_query = asked(row("a", 7), row("b", "9"))
    assert outcome_query.sent == {"ids": ["a", "b"], "created_ts": 9, "is_complete": True}
    assert (outcome_query.id, outcome_query.expected) == ("", EXPECTED)


@pytest.mark.parametrize(
    "other",
    [
        row("b", contact_id="cc"),
        row("b", contact_id=None),
        row("b", payment_method="ach"),
        {"id": "b", "created_ts": 101},
    ],
)
def test_foreign_rows(other: dict[str, Any]) -> None:
    """Ignore rows of other contacts with a similar id, and of bank accounts."""
    assert found(asked(), other).status is LookupStatus.NO_RECORD


def test_integrator_id() -> None:
    """No integrator's id can be given there, so a vault that has one is another's, and hides nothing."""
    named = row("b", 101, account_vault_api_id="somebody-elses")
    assert found(asked(row("a")), named, row("a")).status is LookupStatus.NO_RECORD
    assert found(asked(row("a")), row("d", 102, account_vault_api_id=""), named, row("a")).record.id == "d"


def test_moved_up() -> None:
    """A deletion lets a vault beyond the page into it. The gateway's clock may have stepped back, so it may be new."""
    before = [row(f"v{number}", 100 + number) for number in range(100)]
    with pytest.raises(FieldError, match="one may be new"):
        found(asked(*before), *before[1:], row("old", 99))
    assert found(asked(*before), row("new", 199), *before[1:]).record.id == "new"
    older = attrs.evolve(asked(), sent={"ids": [], "created_ts": 200})  # by a version that kept no more
    with pytest.raises(FieldError, match="one may be new"):
        found(older, row("old", 199))
    unfiltered = asked(row("b", contact_id="x"), totalCount=9)
    with pytest.raises(FieldError, match="one may be new"):
        found(unfiltered, row("old", 99))
    assert found(unfiltered, row("new")).record.id == found(asked(totalCount=9), row("new", 1)).record.id == "new"


def test_an_id_that_a_complete_list_did_not_have_is_new_whatever_its_time() -> None:
    assert found(asked(row("b", 101)), row("b", 101), row("new", 96)).record.id == "new"


def test_longer_list() -> None:
    """The new one may be beyond its first page."""
    rows = [row(f"v{number}", 100) for number in range(100)]
    with pytest.raises(FieldError, match="one may be new"):
        found(asked(*rows), *rows)


def test_same_second() -> None:
    """The gateway's clock counts seconds, in which two cards can be stored."""
    assert found(asked(row("a", 100)), row("b", 100), row("a", 100)).record.id == "b"


@pytest.mark.parametrize(
    "content", [None, {}, {"accountvaults": {}}, listed({"contact_id": "c"}), {"accountvaults": [1]}]
)
def test_no_list(content: Any) -> None:
    """A response that cannot be read is neither "nothing there" before nor "not there" after."""
    with pytest.raises(FieldError):
        read_before(ACCOUNT_VAULT, EXPECTED, lambda outcome_query: outcome_query).read(content)
    with pytest.raises(FieldError):
        new_record(ACCOUNT_VAULT, asked()).read(content)


def test_one_count() -> None:
    """One is enough; a list of another contact, or a later page, proves nothing."""
    for pagination in ({"totalCount": 0}, {"pageCount": 1}):
        assert new_record(ACCOUNT_VAULT, asked()).read(listed(**pagination)).status is LookupStatus.NO_RECORD
    with pytest.raises(FieldError, match="one may be new"):
        new_record(ACCOUNT_VAULT, asked()).read(listed(pageCount=1, currentPage=2))
    link = {"self": {"href": "https://gateway.test/v2/accountvaults?contact_id=another"}}
    with pytest.raises(MismatchedReplyError, match=r"links\.self"):
        new_record(ACCOUNT_VAULT, asked()).read(listed(pageCount=1, links=link))


def test_json() -> None:
    """Written as JSON with its keys in any order and read again, it asks the same and finds the same."""
    outcome_query = asked(row("a"))
    lookup = lookup_of(json.loads(json.dumps(outcome_query.as_json(), sort_keys=True)))
    assert lookup is not None
    assert getattr(lookup.read(listed(row("b", 101), row("a"))).record, "id", None) == "b"
