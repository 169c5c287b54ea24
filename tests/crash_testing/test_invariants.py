"""The rules after a crash: effects on the gateway × outcomes in the ledger."""

from typing import Any

import pytest

from gateway_async._wire.call import Call, HttpRequest
from gateway_async.crash_testing import CallOutcome, Crash, CrashReport
from gateway_async.crash_testing.invariants import broken_rules, count_effects, effects_of

SALE = {
    "id": "r1",
    "transaction_api_id": "s1",
    "account_vault_id": None,
    "status_id": 101,
    "type_id": 20,
    "reason_code_id": 1000,
    "trx_source_id": 12,
}
VAULT = {"id": "v1", "account_vault_api_id": "c1"}
AT_TERMINAL = {"id": "v2", "account_vault_api_id": None}
BATCH = {"id": "b1", "is_open": 0}
POST, STORE, VOID = "POST /v2/transactions", "POST /v2/accountvaults", "PUT /v2/transactions/r1"
SETTLE, STORE_AT_TERMINAL = "POST /v2/transactionbatches/b1/settle", "POST /v2/routeraccountvaults"


def page(**changes: Any) -> dict[str, Any]:
    """A ledger page of the sandbox."""
    empty: dict[str, Any] = {"charged": {}, "refunded": {}, "stored": {}, "settled": {}}
    return {**empty, "transactions": [], "accountvaults": [], "transactionbatches": [], **changes}


CHARGED = page(charged={"s1": 1}, transactions=[SALE])
REFUNDED = page(refunded={"s1": 1}, transactions=[SALE])
STORED = page(stored={"c1": 1}, accountvaults=[VAULT])
VOIDED = page(transactions=[SALE | {"status_id": 201}])
CAPTURED = page(transactions=[SALE | {"reason_code_id": 1001}])
SETTLED = page(settled={"b1": 1}, transactionbatches=[BATCH])
STORED_AT_TERMINAL = page(accountvaults=[AT_TERMINAL])


def broken(seen: dict[str, Any], *calls: CallOutcome, **baseline: int) -> list[str]:
    """Return the broken rules, if every unknown call was listed."""
    listed = sum(call.outcome == "unknown" for call in calls)
    return broken_rules(effects_of(seen), seen, calls, listed, baseline)


@pytest.mark.parametrize(
    ("seen", "call", "api_id"),
    [
        (CHARGED, POST, "s1"),
        (REFUNDED, POST, "s1"),
        (STORED, STORE, "c1"),
        (VOIDED, VOID, None),
        (VOIDED, "PUT /v2/transactions/s1", "s1"),
        (CAPTURED, VOID, None),
        (SETTLED, SETTLE, None),
        (STORED_AT_TERMINAL, STORE_AT_TERMINAL, None),
    ],
)
def test_known_effects(seen: dict[str, Any], call: str, api_id: str | None) -> None:
    """An effect must be in the ledger as done or as unknown; every other outcome breaks the rule."""
    for outcome in ("done", "unknown"):
        assert broken(seen, CallOutcome(call=call, api_id=api_id, outcome=outcome)) == []
    for outcome in ("refused", "not_sent", "not_made", "not_begun"):
        (problem,) = broken(seen, CallOutcome(call=call, api_id=api_id, outcome=outcome))
        assert problem.endswith(f"but the ledger says {outcome}")
    (problem,) = broken(seen)
    assert problem.endswith("but the ledger says nothing")


def test_other_calls() -> None:
    """An effect is not explained by a call under another id, nor a void by the sale that it voids."""
    other = CallOutcome(call=POST, api_id="s2", outcome="unknown")
    assert broken(CHARGED, other) == ["s1 was charged, but the ledger says nothing"]
    sale = CallOutcome(call=POST, api_id="s1", outcome="done", record_id="r1")
    assert broken(VOIDED, sale) == ["r1 was voided, but the ledger says nothing"]


@pytest.mark.parametrize(("type_id", "kind"), [(20, "charged"), (30, "refunded")])
def test_unnamed_payment(type_id: int, kind: str) -> None:
    """A payment without an integrator id is explained only by an outcome that has the record's id."""
    seen = page(transactions=[SALE | {"transaction_api_id": None, "type_id": type_id}])
    unknown = CallOutcome(call=POST, api_id="s1", outcome="unknown")
    assert broken(seen, unknown) == [f"r1 was {kind}, but the ledger says nothing"]
    assert broken(seen, CallOutcome(call=POST, record_id="r1", outcome="done")) == []


@pytest.mark.parametrize("changes", [{"trx_source_id": 8}, {"status_id": 301}, {"type_id": 21}])
def test_foreign_payments(changes: dict[str, int]) -> None:
    """A payment on an invoice's page, a decline and an address check need no ledger."""
    assert effects_of(page(transactions=[SALE | {"transaction_api_id": None} | changes])) == set()


def test_saved_card() -> None:
    """The vault that a sale stored has no integrator id and no call of its own, so it is no effect to explain."""
    assert effects_of(page(transactions=[SALE | {"account_vault_id": "v2"}], accountvaults=[AT_TERMINAL])) == set()


def test_a_second_card_without_a_name_is_a_double() -> None:
    seen = page(accountvaults=[AT_TERMINAL, AT_TERMINAL | {"id": "v3"}])
    call = CallOutcome(call=STORE_AT_TERMINAL, outcome="unknown")
    assert broken(seen, call) == ["v2 and v3 were stored at terminals, by 1 call"]
    assert broken(seen, call, call) == []
    done = CallOutcome(call=STORE_AT_TERMINAL, outcome="done", record_id="v2")
    assert broken(seen, done) == ["v3 was stored, but the ledger says nothing"]


def test_too_many() -> None:
    """Two payments under two ids are two, whatever the ledger knows of them."""
    seen = page(charged={"s1": 1, "s2": 1}, transactions=[SALE, SALE | {"id": "r2", "transaction_api_id": "s2"}])
    calls = [CallOutcome(call=POST, api_id=name, outcome="done") for name in ("s1", "s2")]
    assert count_effects(effects_of(seen)) == {"charged": 2}
    assert broken(seen, *calls, charged=1) == ["charged 2 times in all, and 1 in a fault-free run"]
    for baseline in ({"charged": 2}, {"stored": 1}, dict[str, int]()):
        assert broken(seen, *calls, **baseline) == []


def test_masked_id() -> None:
    """An id that looks like a card number is masked in the name of a call, and still belongs to its record."""
    looks_alike = "4111111111111111"
    seen = page(transactions=[SALE | {"id": looks_alike, "status_id": 201}])
    call = str(Call(request=HttpRequest(method="PUT", path=f"/v2/transactions/{looks_alike}"), read=str))
    assert looks_alike not in call
    assert broken(seen, CallOutcome(call=call, outcome="done")) == []


def test_nothing_may_be_done_twice_whatever_the_ledger_says() -> None:
    seen = page(charged={"s1": 2}, transactions=[SALE, SALE | {"id": "r2"}])
    calls = [CallOutcome(call=POST, api_id="s1", outcome="done")] * 2
    assert broken(seen, *calls) == ["s1 was charged 2 times"]


def test_invented_calls() -> None:
    """Every call that the ledger calls done has a record; so does a decline."""
    calls = CallOutcome(call=POST, api_id="s1", outcome="done")
    assert broken(page(), calls) == ["s1 does not exist, but the ledger says done"]
    declined = page(transactions=[SALE | {"status_id": 301}])
    assert broken(declined, calls) == []


def test_recover_lists_whatever_it_leaves_open() -> None:
    calls = CallOutcome(call=POST, api_id="s1", outcome="unknown")
    assert broken(CHARGED, calls) == []
    (problem,) = broken_rules(effects_of(CHARGED), CHARGED, [calls], listed=0)
    assert problem == "1 call is open in the ledger, and recover() listed 0 as unknown"


def test_report() -> None:
    """The report shows the number of crashes, the outcomes of calls, and each broken rule with its moment."""
    done = Crash(when="killed after 3.0 ms", calls=(CallOutcome(call=POST, outcome="done", recovered=True),))
    lost = Crash(
        when="cancelled at await 2", calls=(CallOutcome(call=POST, outcome="not_sent"),), problems=("s1 was lost",)
    )
    report = CrashReport("sale", (done,)) + CrashReport("sale", (lost,))
    assert report.problems == ("cancelled at await 2: s1 was lost",)
    assert str(report) == (
        "sale: 2 crashes, 1 broken rule; calls: 1 done (recovered), 1 not_sent\n  cancelled at await 2: s1 was lost"
    )
    CrashReport("sale", (done,)).check()
    with pytest.raises(AssertionError, match="s1 was lost"):
        report.check()


def test_a_report_shows_ten_broken_rules_and_counts_the_rest() -> None:
    lost = Crash(when="now", calls=(CallOutcome(call=POST),), problems=("lost",))
    assert str(CrashReport("sale", (lost,) * 12)).endswith("now: lost\n  … and 2 more")


def test_no_payment() -> None:
    """No call in any ledger is a problem too."""
    with pytest.raises(AssertionError, match="nothing was tested"):
        CrashReport("idle", (Crash(when="now"),)).check()
