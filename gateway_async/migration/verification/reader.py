"""Concurrent reads of accounts, and their comparison with the journal and the input."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Final

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    NotFoundError,
    PermissionDeniedError,
    RecordDeletedError,
)
from gateway_async.migration.rows.comparison import differences
from gateway_async.migration.verification.findings import Finding, Verdict, Verification
from gateway_async.migration.verification.stored_rows import Stored
from gateway_async.models.account_vaults import AccountVault, VaultCreate

__all__ = ["Checker", "Pair"]

Pair = tuple[Stored, VaultCreate | None]
"""A stored account, and the request that should have stored it, if known."""

_MOST_UNREAD: Final = 100
_PROGRESS_SECONDS: Final = 0.1
_HOPELESS: Final = (AuthenticationError, PermissionDeniedError, ClientClosedError)


class Checker:
    """Reads accounts concurrently and compares them."""

    def __init__(
        self,
        gateway: AsyncGateway,
        result: Verification,
        concurrency: int,
        on_progress: Callable[[Verification], object] | None,
    ) -> None:
        self.result = result
        self._vaults = gateway.account_vaults
        self._concurrency = concurrency
        self._on_progress = on_progress
        self._error: GatewayError | None = None
        self._unread = 0

    async def check(self, pairs: AsyncGenerator[Pair]) -> None:
        """Check all pairs."""
        give, take = anyio.create_memory_object_stream[Pair](self._concurrency)
        async with anyio.create_task_group() as showing:
            showing.start_soon(self._show)
            async with anyio.create_task_group() as workers:
                workers.start_soon(self._give, pairs, give, workers.cancel_scope)
                for _ in range(self._concurrency):
                    workers.start_soon(self._take, take, workers.cancel_scope)
            showing.cancel_scope.cancel()
        take.close()
        if self._error is not None:
            raise self._error
        self._tell()

    async def _give(self, pairs: AsyncGenerator[Pair], give: Any, scope: anyio.CancelScope) -> None:
        with give, self._ending(scope):
            async with aclosing(pairs):
                async for pair in pairs:
                    await give.send(pair)

    async def _take(self, take: Any, scope: anyio.CancelScope) -> None:
        with self._ending(scope):
            while True:
                try:
                    entry, wanted = await take.receive()
                except anyio.EndOfStream:
                    return
                await self._look_at(entry, wanted)
                if self.result.stopped:
                    scope.cancel()

    @contextmanager
    def _ending(self, scope: anyio.CancelScope) -> Iterator[None]:
        """On an error of the block, keep it and cancel the scope, because a task group would wrap it."""
        try:
            yield
        except GatewayError as error:
            self._error = error
            scope.cancel()

    async def _look_at(self, entry: Stored, wanted: VaultCreate | None) -> None:
        try:
            vault = await self._vaults.get(entry.vault_id)
        except (NotFoundError, RecordDeletedError) as error:
            self._unread = 0
            self._found(entry, Verdict.MISSING, (error.meaning,))
        except _HOPELESS:
            raise
        except GatewayError as error:
            self._found(entry, Verdict.UNREAD, (str(error),))
            self._lose_heart(error)
        else:
            self._unread = 0
            self._compare(entry, wanted, vault)

    def _lose_heart(self, error: GatewayError) -> None:
        """Stop after many failed reads in a row, because millions of rows would fail the same way."""
        self._unread += 1
        if self._unread == _MOST_UNREAD:
            self.result.stopped = f"{self._unread} accounts in a row could not be read: {error}"

    def _compare(self, entry: Stored, wanted: VaultCreate | None, vault: AccountVault) -> None:
        known = _of_the_journal(entry, vault)
        details = dict.fromkeys([*known, *(differences(wanted, vault) if wanted is not None else ())])
        if details:
            self._found(entry, Verdict.DIFFERENT, tuple(details))
        else:
            self.result.matching += 1

    def _found(self, entry: Stored, verdict: Verdict, details: tuple[str, ...]) -> None:
        self.result.add(Finding(entry.key, entry.line, entry.vault_id, verdict, details))

    async def _show(self) -> None:
        while True:
            self._tell()
            await anyio.sleep(_PROGRESS_SECONDS)

    def _tell(self) -> None:
        if self._on_progress:
            self._on_progress(self.result)


def _of_the_journal(entry: Stored, vault: AccountVault) -> list[str]:
    """Return the differences between an account and its journal entry."""
    found: list[str] = []
    if vault.account_vault_api_id not in (entry.api_id, None):
        found.append(f"account_vault_api_id: is {vault.account_vault_api_id}, not {entry.api_id}")
    if entry.last_four is not None and vault.last_four != entry.last_four:
        found.append(f"last_four: is {vault.last_four}, not {entry.last_four}")
    return found
