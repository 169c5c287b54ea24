"""Run conditions of the reliability table, all or those named: `python -m tests.reliability kill-migration`."""

import sys
import time

from tests.reliability.conditions import CONDITIONS

for condition in CONDITIONS:
    if condition.key in sys.argv[1:] or not sys.argv[1:]:
        started = time.monotonic()
        print(condition.key, condition.run(condition.short_count), f"{time.monotonic() - started:.1f} s")  # noqa: T201
