"""Run all comparisons, print their tables and verdicts, and write benchmarks/results/benchmarks.json.

    pip install -e '.[benchmarks]'
    python benchmarks/run.py calls terminals

Without names, all are run, one after the other, each in a process of its own. A goal that is missed is not an error:
the machine may be busy.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import attrs
from comparison import Row, show
from cores import pin_client

PROGRAMS: Final = (
    "calls",
    "instructions",
    "terminals",
    "decoding",
    "streaming",
    "ledger",
    "migration",
    "first_get",
    "event_streams",
)
PEERS: Final = ("aiohttp", "httpx", "httptools", "stripe", "openai", "orjson", "msgspec", "pydantic")
RESULTS: Final = Path(__file__).with_name("results") / "benchmarks.json"


def measure(program: str, **options: int) -> list[Row]:
    """Run one comparison in this process."""
    pin_client()
    rows: list[Row] = importlib.import_module(program).main(**options)
    return rows


def run_all(programs: Sequence[str], **options: int) -> list[Row]:
    """Run comparisons and print their rows."""
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        for program in programs:
            began = time.perf_counter()
            measured = fresh.submit(measure, program, **options).result()
            print(f"\n{program}.py, {time.perf_counter() - began:.0f} s")
            show(measured)
            rows += measured
    return rows


def write(rows: Sequence[Row]) -> None:
    """Write the rows, and what was compared on which machine, as JSON."""
    RESULTS.parent.mkdir(exist_ok=True)
    content = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "peers": {name: importlib.metadata.version(name) for name in PEERS},
        "rows": [
            {**attrs.asdict(row), "verdict": row.verdict, "goal_text": str(row.goal) if row.goal else ""}
            for row in rows
        ],
    }
    RESULTS.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def main() -> None:
    """Run the comparisons of the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS, metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=argparse.SUPPRESS, help="how often each is measured")
    rows = run_all(**vars(parser.parse_args()))
    verdicts = [row.verdict for row in rows if row.verdict]
    print(f"\n{verdicts.count('met')} of {len(verdicts)} goals are met")
    write(rows)
    print(RESULTS)


if __name__ == "__main__":
    main()
