"""The process that is killed: loads a scenario, waits for its part on standard input, and plays it.

It says "begun" and "ended" on standard output; what the scenario prints there goes to standard error.
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
from typing import Any, cast

import anyio

from gateway_async import AsyncGateway, GatewayError, SqliteLedger, UserApiKey
from gateway_async.crashing.scene import Scenario
from gateway_async.crashing.witness import Witness

__all__ = ["load", "main"]


def load(source: str, module: str, name: str) -> Scenario:
    """A function of a module: by the module's name if that leads to its file, else from the file alone."""
    return cast("Scenario", reduce(getattr, name.split("."), _module(source, module)))


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
        raise ImportError(f"{source} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["scenario"] = module
    spec.loader.exec_module(module)
    return module


async def _play(scenario: Scenario, part: dict[str, Any], say: Callable[[bytes], object]) -> None:
    gateway = AsyncGateway(
        part["base_url"],
        developer_id=part["developer_id"],
        credentials=UserApiKey(part["user_id"], part["user_api_key"]),
        location_id=part["location_id"],
        ledger=Witness(SqliteLedger(part["ledger"]), Path(part["notes"])),
        **part["options"],
    )
    async with gateway:
        say(b"begun\n")
        with suppress(*([GatewayError] if part["may_fail"] else [])):
            await scenario(gateway)
        say(b"ended\n")


def main() -> None:
    """Play the scenario that the command line names."""
    wire = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    scenario = load(*sys.argv[1:])
    if line := sys.stdin.readline():
        anyio.run(_play, scenario, json.loads(line), lambda word: os.write(wire, word))


if __name__ == "__main__":
    main()
