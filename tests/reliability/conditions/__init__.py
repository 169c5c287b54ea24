"""The conditions of the reliability table, one module for each kind."""

from typing import Final

from tests.reliability.condition import Condition
from tests.reliability.conditions.faults import FAULT_CONDITIONS

__all__ = ["CONDITIONS"]

CONDITIONS: Final[tuple[Condition, ...]] = (*FAULT_CONDITIONS,)
