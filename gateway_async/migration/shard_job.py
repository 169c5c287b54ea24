"""One shard of a migration, run in any process.

No secret is sent to a shard or returned from it. A shard may run again, also twice at once. Stored rows are in the
journal, and rows that may have been sent are looked up by their id.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from gateway_async._background import closing_async
from gateway_async._secrets import Secret
from gateway_async._text import pluralize
from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import Journal, RowResult, RowState
from gateway_async.migration.journal.store import PostgresJournal, open_limited_journal
from gateway_async.migration.migrate import migrate_rows
from gateway_async.migration.rate import Rate, RedisRate
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow, iterate_rows
from gateway_async.migration.sources.boundaries import Shard
from gateway_async.migration.sources.files import Rows, read_rows
from gateway_async.migration.stop import RowAllowance, SharedRowAllowance


def seal_shard_address(address: Any) -> Any:
    """Seal an address, because it may contain a password; anything else stays as it is."""
    return Secret(address) if isinstance(address, str) else address


def _absolute(path: str | PathLike[str]) -> str:
    return str(Path(path).absolute())


@attrs.frozen
class ShardResult:
    """The result of one shard, with its rejected, repeated and unknown rows."""

    report: Report
    results: tuple[RowResult, ...]


@attrs.frozen(kw_only=True)
class ShardJob:
    """The data that a process needs to run shards. It can be pickled, and its repr shows no address.

    Attributes:
        journal: the address of a PostgreSQL, or a function that opens another kind of journal.
        since: the journal's first run that belongs to this migration; 0 before it has started.
        rate: calls per second over all processes, with `redis`; or a function that opens a rate.
        concurrency: of one process.
        max_rows: of all processes together.
        reading: further arguments of `read_rows`.
        size: size of the file in bytes when it was split into shards; by default, now.
    """

    path: str = attrs.field(converter=_absolute)
    name: str
    journal: Secret | Callable[[], Journal] = attrs.field(repr=False, converter=seal_shard_address)
    gateway: Callable[[], AsyncGateway] = attrs.field(default=AsyncGateway.from_env, repr=False)
    since: int = 0
    rate: float | Callable[[], Rate] | None = None
    redis: Secret | None = attrs.field(default=None, repr=False, converter=seal_shard_address)
    concurrency: int = 64
    give_up_after: float = 600.0
    max_rows: int | None = None
    reading: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    size: int = attrs.field(default=attrs.Factory(lambda self: self._measure(), takes_self=True))

    def _measure(self, where: str = "") -> int:
        try:
            with Path(self.path).open("rb") as file:
                return file.seek(0, 2)
        except OSError as error:
            raise InvalidRequestError(f"path: {self.path} cannot be read{where}: {error.strerror}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the addresses in plain, because the workers connect to them."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        plain = {name: value.reveal() for name, value in fields.items() if isinstance(value, Secret)}
        return partial(type(self), **fields | plain), ()

    async def check(self) -> None:
        """Raise `InvalidRequestError` if the file is another one here, or no client can be created."""
        self._check_file()
        async with self.gateway():
            pass

    def _check_file(self) -> None:
        if (size := self._measure(where=" here")) != self.size:
            raise InvalidRequestError(
                f"path: {self.path} has {size} {pluralize(size, 'byte')} here "
                f"(expected {self.size}, as on the coordinator)"
            )

    def rows_of(self, shard: Shard) -> Rows:
        """Read the rows of a shard from the file."""
        return read_rows(self.path, shard=shard, **self.reading)

    async def run(self, shard: Shard, **callbacks: Any) -> ShardResult:
        """Store the rows of one shard.

        Each shard starts a run of the journal, and all runs since the first count as one. So two processes with the
        same shard do not take each other's rows for their own. A row that this migration has already read in another
        line has a duplicate key. A row read in the same line is the row itself, from a process that died or works on
        the same shard.

        The callbacks are `stop_when` and `on_progress` of `migrate_vaults`.

        Raises:
            InvalidRequestError: the file is not available here.
            JournalError: the journal cannot be used.
        """
        self._check_file()
        results: list[RowResult] = []

        def collect(_row: VaultRow, result: RowResult) -> None:
            if result.state is not RowState.STORED:
                results.append(result)

        async with (
            self.gateway() as gateway,
            closing_async(self._create_rate()) as rate,
            self.open_journal() as journal,
            closing_async(self._create_allowance(journal)) as allowance,
        ):
            report = await migrate_rows(
                gateway,
                iterate_rows(self.rows_of(shard)),
                journal,
                is_shard=True,
                name=self.name,
                allowance=allowance,
                concurrency=self.concurrency,
                rate=rate,
                give_up_after=self.give_up_after,
                since=self.since,
                on_row=collect,
                **callbacks,
            )
        return ShardResult(attrs.evolve(report, samples=()), tuple(results))

    @asynccontextmanager
    async def open_journal(self) -> AsyncIterator[Any]:
        """Open the journal, and close it after a block; with `max_rows` it counts reserved rows, too."""
        journal = self.journal() if callable(self.journal) else PostgresJournal(self.journal, self.name)
        async with open_limited_journal(journal) as limited:
            if self.max_rows is not None and not hasattr(journal, "reserve_rows"):
                raise InvalidRequestError("max_rows: not possible with this journal (expected SQLite or PostgreSQL)")
            yield limited

    def _create_rate(self) -> Rate | None:
        if self.rate is None or callable(self.rate):
            return self.rate and self.rate()
        return None if self.redis is None else RedisRate(self.redis, self.rate, name=self.name)

    def _create_allowance(self, journal: Any) -> RowAllowance:
        if self.max_rows is None:
            return RowAllowance(None)
        return SharedRowAllowance(partial(journal.reserve_rows, limit=self.max_rows))
