"""The short form of a row, as tests run it."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.runner import missing_needs


def skip_if_impossible(condition: Condition) -> None:
    """Skip a test whose condition needs a server that is missing."""
    if missing := missing_needs(condition):
        pytest.skip(f"needs {', '.join(missing)}")


def check_row(condition: Condition) -> None:
    """Run a condition a few times, and check that it passes."""
    skip_if_impossible(condition)
    result = condition.run(condition.short_count)
    assert result.passed, result
    assert result.count > 0
