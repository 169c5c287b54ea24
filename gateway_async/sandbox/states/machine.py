"""`Machine`: the life of one kind of record, as a table from which code decides and documents are printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

_State = TypeVar("_State", bound=Enum)
_Trigger = TypeVar("_Trigger", bound=StrEnum)


class Coded(IntEnum):
    """States that records carry as numbers; in words they are the number and the name."""

    def __str__(self) -> str:
        return f"{self.value} {self.name.lower().replace('_', ' ')}"


@dataclass(frozen=True)
class Machine(Generic[_State, _Trigger]):
    """What leads from where to where; whatever is not in `moves` is not allowed.

    Attributes:
        subject: Whose life it is, as a heading.
        moves: State and trigger, both in words, mapped to the state that follows.
    """

    subject: str
    moves: Mapping[tuple[_State, _Trigger], _State]

    def after(self, state: _State, trigger: _Trigger) -> _State | None:
        """The state that a trigger leads to; None when it is not allowed."""
        return self.moves.get((state, trigger))

    def print(self) -> str:
        """The table in Markdown, for the documents."""
        rows = [f"| {state} | {trigger} | {after} |" for (state, trigger), after in self.moves.items()]
        return "\n".join([f"### {self.subject}", "", "| from | what happens | to |", "|---|---|---|", *rows])
