"""Apply generated inputs to a function; the same ones each time, so that a failure can be repeated."""

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.reliability.condition import Result

_SEED: Final = 20261123
_LONGEST_PROBLEM: Final = 500


def apply_generated(apply: Callable[[st.DataObject], object], count: int) -> Result:
    """Call a function with `count` generated inputs; its first exception is the problem."""
    applied = 0

    @seed(_SEED)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.data())
    def apply_all(data: st.DataObject) -> None:
        nonlocal applied
        applied += 1
        apply(data)

    problems: Sequence[str] = ()
    try:
        apply_all()
    except Exception as error:  # noqa: BLE001  whatever the input has led to
        problems = (f"input {applied}: {type(error).__name__}: {error}"[:_LONGEST_PROBLEM],)
    return Result(count=applied, problems=tuple(problems))
