"""`StateMachine`: the state machine of one record type.

It is a table that code and documents use.
"""

from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from typing import Generic, TypeVar

import attrs

_State = TypeVar("_State", bound=Enum)
_Trigger = TypeVar("_Trigger", bound=StrEnum)


class NumericState(IntEnum):
    """States that records store as numbers; the text has the number and the name."""

    def __str__(self) -> str:
        return f"{self.value} {self.name.lower().replace('_', ' ')}"


@attrs.frozen
class StateMachine(Generic[_State, _Trigger]):
    """A table of transitions.

    A transition that is not in `transitions` is not allowed.

    Attributes:
        title: The record type, as a heading.
        transitions: Maps state and trigger, both in words, to the next state.
    """

    title: str
    transitions: Mapping[tuple[_State, _Trigger], _State]

    def next_state(self, state: _State, trigger: _Trigger) -> _State | None:
        """The state after a trigger, or None if not allowed."""
        return self.transitions.get((state, trigger))

    def to_markdown(self) -> str:
        """Format the table in Markdown, for the documents."""
        rows = [f"| {state} | {trigger} | {after} |" for (state, trigger), after in self.transitions.items()]
        return "\n".join(["| from | what happens | to |", "|---|---|---|", *rows])
