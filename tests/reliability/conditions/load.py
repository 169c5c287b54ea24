"""A steady load of account vaults, with the memory of clients and sandboxes."""

import sqlite3
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import anyio
import attrs

from gateway_async import AsyncGateway, CardVaultCreate, GatewayError, OutcomeUnknownError
from tests.reliability.condition import Condition, Result, add_up
from tests.support.sales import CARD
from tests.support.sandboxes import SandboxProcess, resident_kib, sandbox_process

_PAIRS: Final = 2
"""Pairs of a client and a sandbox, each in two processes."""

_FOR_EACH_PAIR: Final = 10_000
"""The smallest share of a pair; less is stored by one."""

_CONCURRENCY: Final = 32
_PREFIX: Final = "vault"
_STORED: Final = 1
_UNKNOWN: Final = 2
_KIB_PER_MIB: Final = 1024
_MAX_GROWTH: Final = 16 * _KIB_PER_MIB
"""KiB by which the memory of a process may grow after the first tenth, whatever the number of vaults is."""


@attrs.frozen
class _Memory:
    """The memory of a client and of its sandbox, in KiB."""

    client: int
    sandbox: int


@attrs.define
class _Load:
    """The vaults of one pair.

    Attributes:
        reported: for each vault, `_STORED`, `_UNKNOWN` or 0, as the client reported it.
        errors: the number of calls that failed, without those with an unknown outcome.
        memory: the memory after a tenth of the vaults, and at the end.
    """

    reported: bytearray
    errors: int = 0
    memory: list[_Memory] = attrs.field(factory=list)


def _apply(count: int) -> Result:
    """Store `count` vaults by pairs of a client and a sandbox, and add up their results."""
    pairs = _PAIRS if count >= _FOR_EACH_PAIR * _PAIRS else 1
    with ProcessPoolExecutor(pairs, get_context("spawn")) as processes:
        return add_up([*processes.map(_store_share, repeat(count // pairs, pairs))])


def _store_share(count: int) -> Result:
    """Store vaults in a sandbox with a database file, and compare the file with the responses."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "sandbox.db"
        with sandbox_process("--data", str(database)) as sandbox:
            load = anyio.run(_store, sandbox, count)
            sandbox.stop()
        return _evaluate(load, database)


async def _store(sandbox: SandboxProcess, count: int) -> _Load:
    load = _Load(bytearray(count))
    async with sandbox.gateway() as gateway:
        for part in (range(count // 10), range(count // 10, count)):
            await _store_part(gateway, load, part)
            load.memory.append(_Memory(resident_kib(), resident_kib(sandbox.process.pid)))
    return load


async def _store_part(gateway: AsyncGateway, load: _Load, part: range) -> None:
    left = iter(part)

    async def work() -> None:
        for number in left:
            new = CardVaultCreate(account_vault_api_id=f"{_PREFIX}{number}", **CARD)
            try:
                await gateway.account_vaults.create(new)
                load.reported[number] = _STORED
            except OutcomeUnknownError:
                load.reported[number] = _UNKNOWN
            except GatewayError:
                load.errors += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(_CONCURRENCY):
            tasks.start_soon(work)


def _evaluate(load: _Load, database: Path) -> Result:
    """Compare every vault of the database with the responses, and the memory at the end with that of the beginning."""
    stored = bytearray(len(load.reported))
    double = 0
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT account_vault_api_id FROM accountvaults WHERE account_vault_api_id LIKE ?"
        for (api_id,) in connection.execute(query, (f"{_PREFIX}%",)):
            number = int(api_id.removeprefix(_PREFIX))
            double += stored[number]
            stored[number] = _STORED
    first, last = load.memory
    grown = {"client": last.client - first.client, "sandbox": last.sandbox - first.sandbox}
    problems = [
        f"the {name} grew by {kib // _KIB_PER_MIB} MiB (expected at most {_MAX_GROWTH // _KIB_PER_MIB})"
        for name, kib in grown.items()
        if kib > _MAX_GROWTH
    ]
    if load.errors:
        problems.append(f"{load.errors:,} calls failed")
    return Result(
        count=len(stored),
        double=double,
        lost=sum(told not in (is_stored, _UNKNOWN) for told, is_stored in zip(load.reported, stored, strict=True)),
        unknown=load.reported.count(_UNKNOWN),
        problems=tuple(problems),
        notes=(_note("client", first.client, last.client), _note("sandbox", first.sandbox, last.sandbox)),
    )


def _note(name: str, first: int, last: int) -> str:
    return (
        f"memory of a {name}: {first // _KIB_PER_MIB} MiB after a tenth of its vaults, "
        f"{last // _KIB_PER_MIB} MiB at the end"
    )


LOAD_CONDITIONS: Final = (
    Condition(
        key="steady-load",
        text="account vaults are stored without a pause; the memory stays flat",
        count=1_000_000,
        short_count=500,
        run=_apply,
    ),
)
