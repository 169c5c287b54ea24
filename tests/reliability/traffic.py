"""`Traffic`: writes of several kinds, whose outcomes are compared with the sandbox's ledger."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, Final, Literal

import anyio
import attrs

from gateway_async import (
    AccountVault,
    AsyncGateway,
    DuplicateError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    TerminalBusyError,
    Transaction,
)
from gateway_async.sandbox import Sandbox
from tests.reliability.condition import Result
from tests.support.sales import NEW_CARD, sale, sale_at

CONCURRENCY: Final = 64

_RESOLVED_WITHIN: Final = 300.0
"""Seconds for which the lookup of an unknown outcome is repeated, because lookups fail as well."""

_MADE: Final = frozenset({"done", "unknown, then found", "sent twice, then found"})
_VOIDED: Final = 201
_AUTHORIZED: Final = 102

Made = AccountVault | Transaction


@attrs.define
class Write:
    """One call, as the client sees it.

    Attributes:
        effect: a key of the sandbox's ledger, or a change of a payment.
        name: the integrator id that was written, or the id of the payment.
        outcome: "done", "sent twice, then found", "refused", "terminal busy", "not sent", "unknown", "unknown, then
            found" or "unknown, then not made".
        result: the record that the client has received.
    """

    effect: str
    name: str
    outcome: str = "unknown"
    result: Made | None = None

    @property
    def has_foreign_result(self) -> bool:
        """Return whether the result is the record of another write."""
        match self.result:
            case None:
                return False
            case AccountVault() as vault:
                return vault.account_vault_api_id != self.name
            case Transaction() as transaction:
                return self.name not in (transaction.transaction_api_id, transaction.id)


class Traffic:
    """Sends writes and collects their outcomes: sales, vault stores, voids, captures, and sales at terminals.

    Args:
        gateway: the client.
        terminals: the ids of terminals; none for no sales at terminals.
        concurrency: the number of writes that are sent at once.
        prefix: the start of all integrator ids.
        resolves: whether unknown outcomes are looked up at once; otherwise `resolve_all` does it.
    """

    def __init__(
        self,
        gateway: AsyncGateway,
        terminals: Sequence[str] = (),
        concurrency: int = CONCURRENCY,
        *,
        prefix: str = "id",
        resolves: bool = True,
    ) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._resolves = resolves
        self._unknown: list[tuple[Write, OutcomeUnknownError]] = []
        self._terminals = terminals
        self._concurrency = concurrency
        self._numbers = count()
        at_terminals = (self._sell_at_terminal,) if terminals else ()
        self._kinds = (self.sell, self._store, self.sell, self._void, self._store, self._capture, *at_terminals)
        self.writes: list[Write] = []

    async def run(self, number: int) -> None:
        """Send so many writes of all kinds."""
        until = len(self.writes) + number
        await self._send(
            lambda at: self._kinds[at % len(self._kinds)](f"{self._prefix}-{at}"), lambda: len(self.writes) < until
        )

    async def sell_many(self, number: int) -> None:
        """Send so many sales."""
        left = iter(range(number))
        await self._send(lambda at: self.sell(f"{self._prefix}-{at}"), lambda: next(left, None) is not None)

    async def _send(self, send: Callable[[int], Awaitable[object]], goes_on: Callable[[], bool]) -> None:
        async def work() -> None:
            while goes_on():
                await send(next(self._numbers))

        async with anyio.create_task_group() as tasks:
            for _ in range(self._concurrency):
                tasks.start_soon(work)

    async def resolve_all(self) -> None:
        """Look up all unknown outcomes until they are known."""
        unknown, self._unknown = self._unknown, []
        async with anyio.create_task_group() as tasks:
            for write, error in unknown:
                tasks.start_soon(_resolve, write, error)

    async def sell(self, name: str, action: Literal["sale", "authonly"] = "sale") -> Write:
        """Send a sale, and return it with its outcome."""
        return await self._record("charged", name, self._gateway.transactions.create, sale(name, "1.00", action))

    async def _store(self, name: str) -> Write:
        name = name.replace("-", "")  # the id of a vault has only letters and digits
        new = attrs.evolve(NEW_CARD, account_vault_api_id=name)
        return await self._record("stored", name, self._gateway.account_vaults.create, new)

    async def _sell_at_terminal(self, name: str) -> Write:
        terminal = self._terminals[int(name.rpartition("-")[2]) % len(self._terminals)]
        return await self.sell_at(terminal, name)

    async def sell_at(self, terminal: str, name: str) -> Write:
        """Send a sale at a terminal, and return it with its outcome."""
        new = sale_at(terminal, name, "1.00")
        return await self._record("charged", name, self._gateway.router_transactions.create, new)

    async def _void(self, name: str) -> None:
        sold = await self.sell(name)
        if sold.result:
            await self._record("voided", sold.result.id, self._gateway.transactions.void, sold.result.id)

    async def _capture(self, name: str) -> None:
        held = await self.sell(name, "authonly")
        if held.result:
            await self._record("captured", held.result.id, self._gateway.transactions.complete, held.result.id)

    async def _record(self, effect: str, name: str, call: Callable[[Any], Awaitable[Made]], what: object) -> Write:
        """Make a call, and record its outcome."""
        write = Write(effect, name)
        self.writes.append(write)
        try:
            write.result, write.outcome = await call(what), "done"
        except OutcomeUnknownError as unknown:
            if self._resolves:
                await _resolve(write, unknown)
            else:
                self._unknown.append((write, unknown))
        except NotSentError:
            write.outcome = "not sent"
        except TerminalBusyError:
            write.outcome = "terminal busy"
        except DuplicateError as duplicate:  # each write has an id of its own, so a proxy has sent this one twice
            fetched: Any = await duplicate.fetch()
            write.result, write.outcome = fetched, "sent twice, then found"
        except GatewayError:
            write.outcome = "refused"
        return write


async def _resolve(write: Write, unknown: OutcomeUnknownError) -> None:
    """Look up the outcome of a write until it is known."""
    with anyio.move_on_after(_RESOLVED_WITHIN):
        while write.outcome == "unknown":
            try:
                found: Any = await unknown.resolve()
                write.result, write.outcome = found, "unknown, then found" if found else "unknown, then not made"
            except OutcomeUnknownError:
                await anyio.sleep(1)


def compare(writes: Sequence[Write], sandbox: Sandbox, applied: int | None = None) -> Result:
    """Compare what a client knows with the ledger of a sandbox.

    Args:
        writes: the writes of all clients of the sandbox.
        sandbox: the sandbox, which is idle.
        applied: the count of the result; by default the number of writes.
    """
    effects = _effects(sandbox.ledger())
    foreign = [write.name for write in writes if write.has_foreign_result]
    outcomes = Counter(write.outcome for write in writes)
    return Result(
        count=len(writes) if applied is None else applied,
        double=sum(number > 1 for counts in effects.values() for number in counts.values()),
        lost=sum(_is_lost(write, effects) for write in writes) + len(_unexpected(writes, effects)),
        unknown=outcomes["unknown"],
        problems=(f"{len(foreign)} results are records of other writes: {', '.join(foreign[:3])}",) if foreign else (),
        notes=(f"{len(writes):,} writes: " + ", ".join(f"{n:,} {name}" for name, n in sorted(outcomes.items())),),
    )


def _is_lost(write: Write, effects: dict[str, Counter[str]]) -> bool:
    """Return whether the client reports something else than what happened."""
    return write.outcome != "unknown" and (effects[write.effect][write.name] > 0) != (write.outcome in _MADE)


def _unexpected(writes: Sequence[Write], effects: dict[str, Counter[str]]) -> set[str]:
    """Return the ids that were charged or stored, and that no write has."""
    return {*effects["charged"], *effects["stored"]} - {write.name for write in writes}


def _effects(page: dict[str, Any]) -> dict[str, Counter[str]]:
    """Count the effects that the sandbox's ledger shows."""
    states = {row["id"]: row["status_id"] for row in page["transactions"]}
    return {
        "charged": Counter(page["charged"]),
        "stored": Counter(page["stored"]),
        "voided": Counter(key for key, status in states.items() if status == _VOIDED),
        "captured": Counter(key for key, status in states.items() if status not in (_AUTHORIZED, _VOIDED)),
    }
