"""A process that can load no module, or open no file: what it says about a payment is still true."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox
from tests.support.killed_programs import facts_of
from tests.support.processes import run_python

from .struck_writes import NOT_EXECUTED

PROGRAM = str(Path(__file__).parents[1] / "support" / "failing_process.py")
SELL, FIND = "POST /v2/transactions", "GET /v2/transactions/{id}"
EXECUTED = ("reset_after_commit", "close_after_commit", "error_after_commit", "cut_body", "garbage", "silence")

Plan = dict[str, Any]


def always(operation: str, fault: str) -> Plan:
    """A fault of every request of an operation."""
    return {"operation": operation, "fault": fault, "probability": 1.0, "retry_after": 0.0}


LOST = always(SELL, "close_after_commit")
PLANS: dict[str, list[Plan]] = {
    **{fault: [always(SELL, fault)] for fault in (*EXECUTED, *NOT_EXECUTED)},
    "lookups_fail": [LOST, always(FIND, "unavailable")],
    "lookups_are_cut": [LOST, always(FIND, "cut_body")],
    "cancelled": [always(SELL, "silence")],
    "resolved": [LOST, {**always(FIND, "unavailable"), "probability": None, "times": 2}],
    "recovered": [LOST, {**always(FIND, "unavailable"), "probability": None, "times": 2}],
    "terminal": [always("POST /v2/routertransactions", "close_after_commit")],
    "invoice": [always("POST /v2/quickinvoices", "close_after_commit")],
}
"""The calls of the program, by their integrator ids, with the faults of each."""


def endings(box: Sandbox, folder: Path, **facts: Any) -> dict[str, str]:
    """Run the program, and return how each call ended."""
    facts |= facts_of(box) | {"plans": PLANS, "ledger": str(folder / "ledger.db")}
    ended = run_python(PROGRAM, json.dumps(facts))
    assert ended.stdout, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout)
    assert found.keys() == PLANS.keys()
    return found


@pytest.fixture
def box() -> Any:
    """A gateway whose terminals approve at once."""
    with Sandbox(terminal_delay=0.02) as box:
        yield box


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_imports(box: Sandbox, tmp_path: Path, backend: str) -> None:
    """Lost responses are looked up although the package was upgraded in place while the process runs."""
    found = endings(box, tmp_path, backend=backend, breakage="imports")
    expected = dict.fromkeys(PLANS, "Transaction") | {
        **dict.fromkeys(("reset_before_commit", "error_before_commit", "unavailable"), "OutcomeUnknownError"),
        "rate_limit": "RateLimitError",
        "lookups_fail": "OutcomeUnknownError",
        "lookups_are_cut": "OutcomeUnknownError",
        "cancelled": "TimeoutError",
        "invoice": "QuickInvoice",
    }
    assert found == expected


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_files(box: Sandbox, tmp_path: Path, backend: str) -> None:
    """Without a free descriptor, a payment that was made is never called unsent, and no error is a foreign one."""
    found = endings(box, tmp_path, backend=backend, breakage="files")
    charged = found.keys() & box.ledger()["charged"].keys()
    assert charged >= {*EXECUTED, "lookups_fail", "lookups_are_cut"}
    told = {found[name] for name in charged}
    assert told <= {"Transaction", "OutcomeUnknownError", "NoneType", "TimeoutError"}
    assert {found[name] for name in found.keys() - charged} <= {"OutcomeUnknownError", "NotSentError", "RateLimitError"}
