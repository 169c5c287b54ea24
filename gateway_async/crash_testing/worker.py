"""The process to be killed: loads a scenario, reads its settings from standard input, and runs it.

It prints "begun" and "ended" on standard output. The scenario's own output goes to standard error.
"""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

from gateway_async import AsyncGateway, GatewayError, UserApiKey
from gateway_async.crash_testing.recording_ledger import RecordingLedger
from gateway_async.crash_testing.run import Scenario


def load(source: str, module: str, name: str) -> Any:
    """Load a function of a module.

    The module is imported by its name if that leads to the file, otherwise from the file.
    """
    return reduce(getattr, name.split("."), _module(source, module))


def _module(source: str, name: str) -> ModuleType:
    if name != "__main__":
        try:
            named = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            named = None
        if named and named.origin and Path(named.origin).resolve() == Path(source):
            return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location("scenario", source)
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["scenario"] = module
    spec.loader.exec_module(module)
    return module


async def _run(scenario: Scenario, settings: dict[str, Any], send_line: Callable[[bytes], object]) -> None:
    ledger = load(*settings["make_ledger"])(Path(settings["ledger"]))
    gateway = AsyncGateway(
        settings["base_url"],
        developer_id=settings["developer_id"],
        credentials=UserApiKey(settings["user_id"], settings["user_api_key"]),
        location_id=settings["location_id"],
        ledger=RecordingLedger(ledger, Path(settings["recording"])),
        **settings["options"],
    )
    async with gateway:
        send_line(b"begun\n")
        with suppress(*([GatewayError] if settings["may_fail"] else [])):
            await scenario(gateway)
        send_line(b"ended\n")


def main() -> None:
    """Run the scenario that the command line names."""
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    scenario = load(*sys.argv[1:])
    if line := sys.stdin.readline():
        anyio.run(_run, scenario, json.loads(line), lambda word: os.write(output, word))


if __name__ == "__main__":
    main()
