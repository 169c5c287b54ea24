"""The conditions of the reliability table, one module for each kind."""

from typing import Final

from tests.reliability.condition import Condition
from tests.reliability.conditions.clocks import CLOCK_CONDITIONS
from tests.reliability.conditions.faults import FAULT_CONDITIONS
from tests.reliability.conditions.hostile_peers import HOSTILE_CONDITIONS
from tests.reliability.conditions.load import LOAD_CONDITIONS
from tests.reliability.conditions.storms import STORM_CONDITIONS
from tests.reliability.conditions.terminals import TERMINAL_CONDITIONS
from tests.reliability.conditions.tokens import TOKEN_CONDITIONS

__all__ = ["CONDITIONS"]

CONDITIONS: Final[tuple[Condition, ...]] = (
    *LOAD_CONDITIONS,
    *TERMINAL_CONDITIONS,
    *FAULT_CONDITIONS,
    *STORM_CONDITIONS,
    *TOKEN_CONDITIONS,
    *CLOCK_CONDITIONS,
    *HOSTILE_CONDITIONS,
)
