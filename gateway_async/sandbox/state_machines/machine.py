"""`Machine`: the state machine of one record type.

It is a table that code and documents use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

_State = TypeVar("_State", bound=Enum)
_Trigger = TypeVar("_Trigger", bound=StrEnum)


class Coded(IntEnum):
    """States that records store as numbers.

    The text form is the number and the name.
    """

    def __str__(self) -> str:
        return f"{self.value} {self.name.lower().replace('_', ' ')}"


@dataclass(frozen=True)
class Machine(Generic[_State, _Trigger]):
    """A table of transitions.

    A transition that is not in `moves` is not allowed.

    Attributes:
        subject: The record type, as a heading.
        moves: Maps state and trigger, both in words, to the next state.
    """

    subject: str
    moves: Mapping[tuple[_State, _Trigger], _State]

    def after(self, state: _State, trigger: _Trigger) -> _State | None:
        """Return the state after a trigger, or None if not allowed."""
        return self.moves.get((state, trigger))

    def print(self) -> str:
        """Return the table in Markdown, for the documents."""
        rows = [f"| {state} | {trigger} | {after} |" for (state, trigger), after in self.moves.items()]
        return "\n".join([f"### {self.subject}", "", "| from | what happens | to |", "|---|---|---|", *rows])
