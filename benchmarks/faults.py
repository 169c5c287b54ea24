"""Thousands of writes under faults: check that none is done twice, and that the client knows each outcome.

    python benchmarks/faults.py --writes 10000

The writes are sales, vault stores, sales at terminals, voids and captures, 64 at once. Each fault of the sandbox
affects 2 % of them and of their lookups. The program prints the outcomes of the calls by fault, and the result of a
comparison with the sandbox's ledger. It ends with an error if a write was done twice, or if the client and the ledger
disagree.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final

import anyio
import attrs
from sandbox_process import client_of, control, sandbox_process

from gateway_async import (
    AccountVault,
    AsyncGateway,
    CardVaultCreate,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    TerminalBusyError,
    Transaction,
    TransactionCreate,
)

CARD: Final = {"account_number": "4111111111111111", "exp_date": "1230"}
CONCURRENCY: Final = 64
TERMINALS: Final = 32
TIMEOUT: Final = 8.0
RESOLVED_WITHIN: Final = 300.0
"""Seconds for which the lookup of an unknown outcome is retried. The client is certain of a missing record only after
`in_doubt_seconds` (120), and lookups fail as well."""

OUTCOMES: Final = (
    *("done", "refused", "terminal busy", "not sent"),
    *("unknown, then found", "unknown, then not made", "unknown"),
)
MADE: Final = frozenset({"done", "unknown, then found"})
VOIDED: Final = 201
AUTHORIZED: Final = 102

Made = AccountVault | Transaction


@attrs.define
class Write:
    """One call, as the client sees it.

    Attributes:
        noun: the kind of effect: a key of the sandbox's ledger page, or a change of a payment.
        name: the integrator id that was written, or the id of the payment.
        outcome: one of `OUTCOMES`.
        result: the record that the client has received.
    """

    noun: str
    name: str
    outcome: str = "unknown"
    result: Made | None = None


class Day:
    """Sends a number of writes and collects their outcomes."""

    def __init__(self, gateway: AsyncGateway, terminals: list[str]) -> None:
        self._gateway = gateway
        self._terminals = terminals
        at_terminals = (self._terminal_sale,) if terminals else ()
        self._kinds = (self._sale, self._store, self._sale, self._void, self._store, self._capture, *at_terminals)
        self.writes: list[Write] = []

    async def run(self, count: int) -> None:
        """Send `count` writes, `CONCURRENCY` at once."""
        numbers = iter(range(count))
        async with anyio.create_task_group() as tasks:
            for _ in range(CONCURRENCY):
                tasks.start_soon(self._work, numbers, count)

    async def _work(self, numbers: Iterator[int], count: int) -> None:
        for number in numbers:
            if len(self.writes) >= count:
                return
            await self._kinds[number % len(self._kinds)](f"id-{number}")

    async def _sale(self, name: str, action: str = "sale") -> Write:
        new = TransactionCreate(action=action, transaction_amount="1.00", transaction_api_id=name, **CARD)
        return await self._known("charged", name, self._gateway.transactions.create, new)

    async def _store(self, name: str) -> Write:
        name = name.replace("-", "")  # the id of a vault has only letters and digits
        new = CardVaultCreate(account_vault_api_id=name, **CARD)
        return await self._known("stored", name, self._gateway.account_vaults.create, new)

    async def _terminal_sale(self, name: str) -> Write:
        terminal = self._terminals[int(name[3:]) % len(self._terminals)]
        new = RouterTransactionCreate(
            action="sale", terminal_id=terminal, transaction_amount="1.00", transaction_api_id=name
        )
        return await self._known("charged", name, self._gateway.router_transactions.create, new)

    async def _void(self, name: str) -> None:
        sale = await self._sale(name)
        if sale.result:
            await self._known("voided", sale.result.id, self._gateway.transactions.void, sale.result.id)

    async def _capture(self, name: str) -> None:
        sale = await self._sale(name, "authonly")
        if sale.result:
            await self._known("captured", sale.result.id, self._gateway.transactions.complete, sale.result.id)

    async def _known(self, noun: str, name: str, call: Callable[[Any], Awaitable[Made]], what: object) -> Write:
        write = Write(noun, name)
        self.writes.append(write)
        try:
            write.result, write.outcome = await call(what), "done"
        except OutcomeUnknownError as unknown:
            await resolve(write, unknown)
        except NotSentError:
            write.outcome = "not sent"
        except TerminalBusyError:
            write.outcome = "terminal busy"
        except GatewayError:
            write.outcome = "refused"
        return write


async def resolve(write: Write, unknown: OutcomeUnknownError) -> None:
    """Look up the outcome of a write until it is known."""
    with anyio.move_on_after(RESOLVED_WITHIN):
        while write.outcome == "unknown":
            try:
                write.result = await unknown.resolve()
                write.outcome = "unknown, then found" if write.result else "unknown, then not made"
            except OutcomeUnknownError:
                await anyio.sleep(1)


def ledger_of(facts: dict[str, Any]) -> dict[str, Counter[str]]:
    """Count how often each effect happened, according to the sandbox's ledger."""
    page = control(facts, "GET", "ledger")
    states = {row["id"]: row["status_id"] for row in page["transactions"]}
    return {
        "charged": Counter(page["charged"]),
        "stored": Counter(page["stored"]),
        "voided": Counter(key for key, status in states.items() if status == VOIDED),
        "captured": Counter(key for key, status in states.items() if status not in (AUTHORIZED, VOIDED)),
    }


def lost(writes: list[Write], ledger: dict[str, Counter[str]]) -> list[Write]:
    """Return unknown writes, and those where client and ledger disagree."""
    return [
        write
        for write in writes
        if write.outcome == "unknown" or (ledger[write.noun][write.name] > 0) != (write.outcome in MADE)
    ]


def affected_by(facts: dict[str, Any]) -> dict[str, set[str]]:
    """Return fault → the ids of the affected writes.

    Writes of which only lookups were affected have an entry of their own.
    """
    affected = defaultdict[str, set[str]](set)
    for plan in control(facts, "GET", "faults")["faults"]:
        affected["(a lookup)" if plan["operation"].startswith("GET") else plan["fault"]].update(plan["affected_ids"])
    lookups = affected.pop("(a lookup)", set())
    affected["(a lookup)"] = lookups.difference(*affected.values())
    return affected


def table(writes: list[Write], affected: dict[str, set[str]]) -> str:
    """Format a table of faults × outcomes.

    A call counts for each fault that affected one of its attempts.
    """
    names = set[str]().union(*affected.values())
    rows = {fault: [write for write in writes if write.name in ids] for fault, ids in affected.items()}
    rows |= {"(nothing)": [write for write in writes if write.name not in names], "all calls": writes}
    lines = [("affected by", "calls", *OUTCOMES)]
    for fault, hit in rows.items():
        counts = Counter(write.outcome for write in hit)
        lines.append((fault, str(len(hit)), *(str(counts[outcome]) for outcome in OUTCOMES)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


async def main(count: int, *, quick: bool) -> None:
    """Send the writes, print the results, and check them."""
    with sandbox_process("--terminal-delay", "0") as facts:
        terminals = [control(facts, "POST", "terminals", {})["id"] for _ in range(0 if quick else TERMINALS)]
        for scenario in ["a bad day"] if quick else ["a bad day", "a bad day for lookups"]:
            control(facts, "POST", "faults", {"scenario": scenario})
        async with client_of(facts, timeout=TIMEOUT, terminal_timeout=TIMEOUT, max_attempts=4) as gateway:
            day, began = Day(gateway, terminals), time.perf_counter()
            await day.run(count)
            spent = time.perf_counter() - began
        affected, ledger = affected_by(facts), ledger_of(facts)
    doubles = [name for times in ledger.values() for name, count in times.items() if count > 1]
    missing = lost(day.writes, ledger)
    print(table(day.writes, affected))
    print(f"{len(day.writes)} writes in {spent:.0f} s: {len(doubles)} double, {len(missing)} lost")
    assert not doubles, doubles
    assert not missing, missing


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--quick", action="store_true", help="without what takes half a minute to be certain of")
    arguments = parser.parse_args()
    anyio.run(partial(main, quick=arguments.quick), arguments.writes, backend=arguments.backend)
