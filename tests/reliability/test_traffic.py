"""Rows of the reliability table in their short form: load, faults, storms, tokens, clocks, hostile peers."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.conditions import TRAFFIC_CONDITIONS
from tests.reliability.short_form import check_row


@pytest.mark.parametrize("condition", TRAFFIC_CONDITIONS, ids=lambda condition: condition.key)
def test_nothing_is_done_twice_or_lost(condition: Condition) -> None:
    """A short run of the row passes."""
    check_row(condition)
