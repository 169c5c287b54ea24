"""Check what a caller passes: seconds, days, counts and hosts."""

import ipaddress
import math
from typing import Any, Final

from gateway_async.errors import InvalidRequestError

_MOST_DAYS: Final = 999_999


def number_problems(
    unit: str = "",
    *,
    whole: bool = False,
    above: float | None = None,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    finite: bool = True,
    optional: bool = False,
    **values: Any,
) -> list[str]:
    """One line for each value that is not allowed.

    Args:
        unit: the unit in the message, such as `"seconds"`.
        whole: only whole numbers are allowed.
        above: every number must be greater.
        minimum: the smallest allowed number.
        maximum: the largest allowed number.
        finite: infinity is not allowed.
        optional: None is allowed.
        values: the arguments by name.
    """
    lowest = f" above {above:g}" if above is not None else "" if minimum == -math.inf else f" from {minimum:g}"
    highest = "" if maximum == math.inf else f" to {maximum:g}"
    expected = f"a {'whole ' if whole else ''}number{f' of {unit}' if unit else ''}{lowest}{highest}"

    def is_allowed(value: Any) -> bool:
        if value is None:
            return optional
        if not _is_number(value) or (whole and not isinstance(value, int)) or (finite and math.isinf(value)):
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


def retention_problems(keep_days: Any) -> list[str]:
    """What is wrong with the days for which a store keeps what is done."""
    return number_problems("days", above=0, maximum=_MOST_DAYS, keep_days=keep_days)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by name or address.

    No name is resolved, because a resolver may be wrong.
    """
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
