"""The conditions of the reliability table, one module for each kind."""

from typing import Final

from tests.reliability.condition import Condition

__all__ = ["CONDITIONS"]

CONDITIONS: Final[tuple[Condition, ...]] = ()
