"""Check arguments of the public interface: numbers of seconds, counts, header values, callbacks."""

import math
from typing import Any

from gateway_async.errors import InvalidRequestError

__all__ = ["check_numbers", "is_count", "is_number", "number_problems"]


def is_number(value: Any) -> bool:
    """Return whether `value` is an int or a float, but not NaN.

    Booleans are not numbers here; infinity is one.
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def is_count(value: Any) -> bool:
    """Return whether `value` is a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def number_problems(
    unit: str = "",
    *,
    whole: bool = False,
    above: float | None = None,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    finite: bool = True,
    **values: Any,
) -> list[str]:
    """Return one line for each value that is not allowed.

    Args:
        unit: the unit in the message, such as `"seconds"`.
        whole: only whole numbers are allowed.
        above: every number must be greater.
        minimum: the smallest allowed number.
        maximum: the largest allowed number.
        finite: infinity is not allowed.
        values: the arguments by name.
    """
    lowest = f" above {above:g}" if above is not None else "" if minimum == -math.inf else f" from {minimum:g}"
    highest = "" if maximum == math.inf else f" to {maximum:g}"
    expected = f"a {'whole ' if whole else ''}number{f' of {unit}' if unit else ''}{lowest}{highest}"

    def is_allowed(value: Any) -> bool:
        if not is_number(value) or (whole and not isinstance(value, int)) or (finite and math.isinf(value)):
            return False
        return minimum <= value <= maximum and (above is None or value > above)

    return [f"{name}: must be {expected}" for name, value in values.items() if not is_allowed(value)]


def check_numbers(unit: str = "", **constraints_and_values: Any) -> None:
    """Check arguments as `number_problems` does.

    Raises:
        InvalidRequestError: an argument is not such a number; `.problems` names every one.
    """
    if problems := number_problems(unit, **constraints_and_values):
        raise InvalidRequestError(problems)
