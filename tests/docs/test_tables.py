"""The tables of the documents have every code, relation, example, test and result that they should have."""

import ast
import re
from pathlib import Path

import pytest

import gateway_async
from gateway_async import GatewayError, InvalidFieldsError, ReasonCode, StatusError, __version__
from gateway_async.resources import RESOURCES
from gateway_async.sandbox.handlers.payments.issuer import TRIGGERS
from gateway_async.sandbox.request.expands import EXPANDS
from tests.contract.endpoints import CREDENTIALS, print_out_of_scope
from tests.reliability.conditions import CONDITIONS
from tests.reliability.document import PAGE, PART, PARTS

from .documents import DOCUMENTS, ROOT, blocks, read
from .sandbox_tables import TABLES


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


def test_declines() -> None:
    """Each reason for which a payment can fail has one row, and no other code has one."""
    text = section("docs/guides/payments.md", "## What to do after a decline").partition("<!-- a test")[2]
    text = text.partition("\n| text |")[0]
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


def test_relations() -> None:
    """The docstring of a resource that reads records has every relation of theirs."""
    for resource in [name for name, kind in RESOURCES.items() if kind.spec]:
        kind = RESOURCES[resource]
        found = re.search(r"`expand` accepts ([\w,\s]+)\.", str(kind.__doc__))
        shown = re.split(r",? and |,", " ".join(found[1].split())) if found else []
        known = EXPANDS.get(resource.replace("_", ""), {}) if hasattr(kind, "get") else {}
        assert sorted(name.strip() for name in shown) == sorted(known), resource


def test_every_example_is_in_the_table_once() -> None:
    shown = re.findall(r"^\| \[([\w.]+)\]\(\.\./examples/\1\)", read("docs/examples.md"), re.MULTILINE)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("command", re.findall(r"`((?:python|uvicorn) [^`]+)`", read("docs/examples.md")))
def test_commands(command: str) -> None:
    """The command of the page is in the docstring of its program."""
    name = re.search(r"examples/(\w+)\.py|examples (\w+):app", command)
    assert name
    assert command in (ROOT / "examples" / f"{name[1] or name[2]}.py").read_text(encoding="utf-8")


def test_errors() -> None:
    """The page about errors answers four questions for each of them, and its first list links each once."""
    names = {name for name in gateway_async.__all__ if name.endswith("Error")}
    names -= {base.__name__ for base in (GatewayError, InvalidFieldsError, StatusError)}
    questions = ["The money", "Now", "Log", "Prevention"]
    answered = {
        name: re.findall(r"^- \*\*(.+?):\*\* ", section("docs/reference/errors.md", f"## {name}"), re.MULTILINE)
        for name in names
    }
    assert answered == dict.fromkeys(names, questions)
    linked = re.findall(r"\[(\w+)\]\(#\w+\)", read("docs/reference/errors.md").partition("\n## ")[0])
    assert sorted(linked) == sorted(names)


def test_branches() -> None:
    """The program with every branch takes each error of a payment for what the first list says: charged or not."""
    program = blocks("docs/reference/errors.md", "python")[0].text
    lines, taken = program.splitlines(), dict[type, str]()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ExceptHandler):
            for name in re.findall(r"ga\.(\w+)", ast.unparse(node.type or node)):
                taken[getattr(gateway_async, name)] = lines[node.lineno].strip(" #").partition(":")[0]
    groups = re.findall(
        r"^- \*\*(Perhaps|Charged before|Not charged)([\s\S]*?)(?=\n- |\n\n)",
        read("docs/reference/errors.md"),
        re.MULTILINE,
    )
    expected = {
        name: "not charged" if group == "Not charged" else "perhaps charged"
        for group, text in groups
        for name in re.findall(r"\[(\w+)\]\(#", text)
    }
    first = {
        name: next((branch for caught, branch in taken.items() if issubclass(getattr(gateway_async, name), caught)), "")
        for name in expected
    }
    assert first == expected
    assert set(expected.values()) == {"not charged", "perhaps charged"}


def test_the_tests_of_the_parts_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", read("docs/guides/extending.md"))
    assert [name for name in named if not Path(ROOT, name).is_file()] == []
    assert named != []


# --- the pages about the sandbox

SANDBOX_PAGES = "\n".join(read(page) for page in DOCUMENTS if page.startswith("docs/sandbox/"))


@pytest.mark.parametrize("part", TABLES)
def test_tables(part: str) -> None:
    """The text between two marks is the table that the sandbox's code has."""
    assert f"<!-- printed: {part} -->\n\n{TABLES[part]()}\n\n<!-- end -->" in SANDBOX_PAGES


def test_outcomes() -> None:
    """The amounts in the table of outcomes are approved or declined as their row says."""
    shown = rows(section("docs/sandbox/amounts.md", "## Approved or declined cards"))
    decisions = {
        (outcome, amount): TRIGGERS[int(amount.replace(".", ""))].approved
        for outcome, sent, _ in shown
        for amount in re.findall(r"\b\d\.\d\d\b(?! of it)", sent)
        if outcome.startswith(("approved", "declined"))
    }
    wrong = {row for row, approved in decisions.items() if approved != row[0].startswith("approved")}
    assert wrong == set()
    assert len(decisions) > 15


def test_every_mark_is_known() -> None:
    assert sorted(re.findall(r"<!-- printed: (.+?) -->", SANDBOX_PAGES)) == sorted(TABLES)


# --- the README of the tests

TESTS_README = "tests/README.md"


def test_the_endpoints_without_tests_are_listed() -> None:
    assert f"\n{print_out_of_scope()}\n" in read(TESTS_README)


def test_the_credentials_are_explained() -> None:
    assert [kind for kind in CREDENTIALS if f"`{kind}`:" not in read(TESTS_README)] == []


# --- the page about reliability

RELIABILITY = {part["name"]: part["text"] for part in PART.finditer(PAGE.read_text(encoding="utf-8"))}


def results(part: str) -> list[tuple[str, str]]:
    """Return the key and the result of each row of a table."""
    return re.findall(r"^\| .*?`([\w-]+)`(?::[^|]*)? \|.* \| (\w+) \|$", RELIABILITY[part], re.MULTILINE)


def test_the_page_has_every_part() -> None:
    assert RELIABILITY.keys() == PARTS.keys()


def test_the_table_has_each_condition_passed_in_order() -> None:
    assert results("rows") == [(condition.key, "passed") for condition in CONDITIONS]


def test_every_row_failed_without_its_protections() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `([\w-]+)` \|.* \| (\w+) \|$", RELIABILITY["protections"], re.MULTILINE)
    expected = [(name, condition.key, "failed") for condition in CONDITIONS for name in condition.protections]
    assert sorted(rows) == sorted(expected)


def test_origin() -> None:
    """The page says by which version and on which day the rows were produced."""
    assert re.match(rf"Version .*{re.escape(__version__)}.*, \d{{4}}-\d\d-\d\d", RELIABILITY["origin"])
