"""The reliability table has every row, and none that failed."""

import re

from gateway_async import __version__
from tests.reliability.conditions import CONDITIONS
from tests.reliability.document import PAGE, PART, PARTS

TEXTS = {part["name"]: part["text"] for part in PART.finditer(PAGE.read_text(encoding="utf-8"))}


def results(part: str) -> list[tuple[str, str]]:
    """Return the key and the result of each row of a table."""
    return re.findall(r"^\| .*?`([\w-]+)`(?::[^|]*)? \|.* \| (\w+) \|$", TEXTS[part], re.MULTILINE)


def test_the_page_has_every_part() -> None:
    assert TEXTS.keys() == PARTS.keys()


def test_the_table_has_each_condition_passed_in_order() -> None:
    assert results("rows") == [(condition.key, "passed") for condition in CONDITIONS]


def test_every_row_failed_without_its_protections() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `([\w-]+)` \|.* \| (\w+) \|$", TEXTS["protections"], re.MULTILINE)
    expected = [(name, condition.key, "failed") for condition in CONDITIONS for name in condition.protections]
    assert sorted(rows) == sorted(expected)


def test_origin() -> None:
    """The page says by which version and on which day the rows were produced."""
    assert re.match(rf"Version .*{re.escape(__version__)}.*, \d{{4}}-\d\d-\d\d", TEXTS["origin"])
