"""Rows of the reliability table without the protections that they depend on."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.conditions import CONDITIONS
from tests.reliability.runner import skip_if_impossible

PROTECTED = [(condition, name) for condition in CONDITIONS for name in condition.protections]


@pytest.mark.parametrize(("condition", "protection"), PROTECTED, ids=lambda part: getattr(part, "key", part))
def test_a_row_fails_while_its_protection_is_off(condition: Condition, protection: str) -> None:
    skip_if_impossible(condition)
    with condition.protections[protection]():
        assert not condition.run(condition.short_count).passed
