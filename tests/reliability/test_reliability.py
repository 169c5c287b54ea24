"""The rows of the reliability table in their short form, and without the protections that they depend on."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.conditions import CONDITIONS
from tests.reliability.runner import missing_needs

PROTECTED = [(condition, name) for condition in CONDITIONS for name in condition.protections]


def skip_if_impossible(condition: Condition) -> None:
    """Skip a condition that needs a server which is missing."""
    if missing := missing_needs(condition):
        pytest.skip(f"needs {', '.join(missing)}")


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.key)
def test_nothing_is_done_twice_or_lost(condition: Condition) -> None:
    """A short run of the row passes."""
    skip_if_impossible(condition)
    result = condition.run(condition.short_count)
    assert result.passed, result
    assert result.count > 0


@pytest.mark.parametrize(("condition", "protection"), PROTECTED, ids=lambda part: getattr(part, "key", part))
def test_a_row_depends_on_its_protection(condition: Condition, protection: str) -> None:
    """The row fails while the protection is switched off."""
    skip_if_impossible(condition)
    with condition.protections[protection]():
        assert not condition.run(condition.short_count).passed
