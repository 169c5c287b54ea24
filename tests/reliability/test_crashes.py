"""Rows of the reliability table in their short form: kills, cut files, full disks, restarted servers, bad input."""

import pytest

from tests.reliability.condition import Condition
from tests.reliability.conditions import CRASH_CONDITIONS
from tests.reliability.runner import check_row


@pytest.mark.parametrize("condition", CRASH_CONDITIONS, ids=lambda condition: condition.key)
def test_crashes(condition: Condition) -> None:
    """Nothing is done twice or lost in a short run of the row."""
    check_row(condition)
