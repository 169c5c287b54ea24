"""Texts of errors and output: problem lines, plurals, descriptions of exceptions."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Self

from gateway_async._secrets import mask_text

_LINE: Final = re.compile(r"([\w.\[\]-]+(?:, [\w.\[\]-]+)*): (.+)", re.DOTALL)


class Problem(str):
    """A problem of a request, as the line `field: message`, or `field, other: message`.

    Attributes:
        fields: the names of the fields, or paths into them such as `item_list.Tea`; empty for a general problem.
        message: the description of the problem.
    """

    __slots__ = ("fields", "message")

    fields: tuple[str, ...]
    message: str

    def __new__(cls, message: str, *fields: str) -> Self:
        """Build the line from its parts."""
        problem = super().__new__(cls, f"{', '.join(fields)}: {message}" if fields else message)
        problem.fields = fields
        problem.message = message
        return problem

    def __reduce__(self) -> tuple[type[Self], tuple[str, ...]]:
        return type(self), (self.message, *self.fields)

    @classmethod
    def of(cls, line: str) -> "Problem":
        """Parse a line. A line that does not start with a field's name is a general problem."""
        if isinstance(line, Problem):
            return line
        parts = _LINE.fullmatch(line)
        return cls(parts[2], *parts[1].split(", ")) if parts else cls(line)


def by_field(problems: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Group the messages of problems by field. General problems are under `""`."""
    found: dict[str, tuple[str, ...]] = {}
    for problem in map(Problem.of, problems):
        for name in problem.fields or ("",):
            found[name] = (*found.get(name, ()), problem.message)
    return found


def pluralize(number: float, noun: str, many: str = "") -> str:
    """Choose the form of a noun that follows a number: call, calls. `many` is an irregular plural."""
    return noun if number == 1 else many or f"{noun}s"


def first_error(error: BaseException) -> BaseException:
    """The first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def describe_error(error: BaseException) -> str:
    """Describe the type and the message of an exception, masked."""
    return mask_text(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
