"""The tables of the guides have every code, relation, example and test that they should have."""

import re
from pathlib import Path

import attrs
import pytest

import gateway_async
from gateway_async import ReasonCode
from gateway_async.sandbox.request.expands import EXPANDS

from .documents import ROOT, read

RECORDS = {
    "account_vaults": gateway_async.AccountVault,
    "contacts": gateway_async.Contact,
    "locations": gateway_async.Location,
    "locations.infos": gateway_async.LocationInfo,
    "notes": gateway_async.Note,
    "paylinks": gateway_async.Paylink,
    "quick_invoices": gateway_async.QuickInvoice,
    "recurrings": gateway_async.Recurring,
    "tags": gateway_async.Tag,
    "terminals": gateway_async.Terminal,
    "transaction_batches": gateway_async.TransactionBatch,
    "transactions": gateway_async.Transaction,
}
"""Resources whose calls take `expand`, with their records."""

NOT_HERE = {"deviceterms", "hostedpaymentpages", "postbackconfigs", "routeraccountvaults", "routertransactions"}
"""Records of the sandbox that no method with `expand` reads."""


def section(document: str, headline: str) -> str:
    """Return the text from a headline to the next headline of its level."""
    level = headline.partition(" ")[0]
    return read(document).partition(f"\n{headline}\n")[2].partition(f"\n{level} ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the table rows in a text, without the heads of the tables."""
    lines = re.findall(
        r"^\| (?!---)(.*) \|$", re.sub(r"^\|.*\|\n\|---.*\n", "", text, flags=re.MULTILINE), re.MULTILINE
    )
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]


def test_every_decline_is_in_the_table_once() -> None:
    """Each reason for which a payment can fail has one row, and no other code has one."""
    text = section("docs/guides/payments.md", "## What to do after a decline").partition("```")[0]
    shown = [int(code) for cells in rows(text) for code in cells[1].split(",")]
    expected = [code for code in ReasonCode if code < 2000 and code not in SUCCESSES]
    assert sorted(shown) == sorted(map(int, expected))


SUCCESSES = {
    ReasonCode.APPROVED,
    ReasonCode.AUTH_COMPLETED,
    ReasonCode.FORCED,
    ReasonCode.VOIDED,
    ReasonCode.PARTIALLY_APPROVED,
}


def test_the_relations_are_those_of_the_sandbox() -> None:
    """The table has every relation of each resource, in the column that says where its result is."""
    table = {cells[0].strip("`"): cells[1:] for cells in rows(section("docs/guides/lists.md", "## Expand"))}
    shown = {name: [re.findall(r"`(\w+)`", cell) for cell in cells] for name, cells in table.items()}
    expected = {}
    for name, kind in RECORDS.items():
        fields = {field.name for field in attrs.fields(kind)}
        plural = "locationinfos" if name == "locations.infos" else name.replace("_", "")
        known = sorted(EXPANDS[plural])
        in_extra = [relation for relation in known if relation not in fields]
        expected[name] = [in_extra, [relation for relation in known if relation in fields]]
    assert {name: [sorted(names) for names in cells] for name, cells in shown.items()} == expected
    plurals = {name.replace("_", "").replace("locations.infos", "locationinfos") for name in RECORDS}
    assert EXPANDS.keys() - plurals == NOT_HERE


def test_every_example_is_in_the_table() -> None:
    """The page lists each program of examples/ once."""
    shown = re.findall(r"^\| \[([\w.]+)\]\(\.\./examples/\1\)", read("docs/examples.md"), re.MULTILINE)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("command", re.findall(r"`((?:python|uvicorn) [^`]+)`", read("docs/examples.md")))
def test_a_program_says_how_it_is_run(command: str) -> None:
    """The command of the page is in the docstring of its program."""
    name = re.search(r"examples/(\w+)\.py|examples (\w+):app", command)
    assert name
    assert command in (ROOT / "examples" / f"{name[1] or name[2]}.py").read_text(encoding="utf-8")


def test_the_tests_of_the_parts_exist() -> None:
    """Each test that the page about extending names is a file."""
    named = re.findall(r"`(tests/[\w/.]+)`", read("docs/guides/extending.md"))
    assert [name for name in named if not Path(ROOT, name).is_file()] == []
    assert named != []
