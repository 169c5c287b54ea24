"""Rows of the reliability table in their short form: load, faults, storms, tokens, clocks, hostile peers."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.conditions import TRAFFIC_CONDITIONS
from tests.reliability.runner import check_row


@pytest.mark.parametrize("condition", TRAFFIC_CONDITIONS, ids=lambda condition: condition.key)
def test_traffic(condition: Condition) -> None:
    """Nothing is done twice or lost in a short run of the row."""
    check_row(condition)
