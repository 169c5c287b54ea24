"""Settings of the `migrate` command, and the checks of their values."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import attrs

from gateway_async import AsyncGateway
from gateway_async._secrets import is_address
from gateway_async._wire.json_text import is_utf8
from gateway_async.cli.migrate.journal_location import default_journal, open_journal
from gateway_async.cli.migrate.options import Input
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.output.files import check_output
from gateway_async.migration.stop import Window

__all__ = ["OutputFiles", "Settings", "client_factory"]

_DEFAULT_CONNECTIONS = 100


@attrs.frozen(kw_only=True)
class OutputFiles:
    """The paths of the output files; None for those that are not written.

    Attributes:
        with_card_numbers: whether rejects are written unmasked.
        force: whether files of other programs may be replaced.
    """

    vault_ids: Path | None = None
    rejects: Path | None = None
    with_card_numbers: bool = False
    html_report: Path | None = None
    json_report: Path | None = None
    force: bool = False

    def check(self, source: Path | None, journal: Path | None) -> None:
        """Reject unusable paths before anything is sent.

        Raises:
            InvalidRequestError: a path is rejected; the message names it and the reason.
        """
        others = {"the input": source, "the journal": journal}
        paths = {
            "out": self.vault_ids,
            "rejects": self.rejects,
            "report": self.html_report,
            "report-json": self.json_report,
        }
        for name, path in paths.items():
            for role, other in others.items():
                if path and other and _same(path, other):
                    raise InvalidRequestError(f"{name}: {path} is {role}")
            others[f"--{name}"] = path
            if path:
                check_output(name, path, source=source, force=self.force)
        if self.with_card_numbers and not self.rejects:
            raise InvalidRequestError("rejects-with-card-numbers: only allowed with --rejects")


def _same(path: Path, other: Path) -> bool:
    """Return whether both paths are the same file."""
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def _parse_window(text: str | None) -> Window | None:
    return Window.parse(text) if text else None


@attrs.frozen(kw_only=True)
class Settings:
    """The options of one run. A plan needs no journal and writes nothing.

    Attributes:
        serve: the port of the live page; 0 for a free one, None for no page.

    Raises:
        InvalidRequestError: an option is wrong, or two options contradict each other.
    """

    input: Input
    outputs: OutputFiles
    journal: str | None = attrs.field(repr=False)
    name: str | None
    retry_rejected: bool
    concurrency: int
    rate: float | None
    window: Window | None = attrs.field(converter=_parse_window)
    wait_for_window: bool
    max_seconds: float | None
    max_rows: int | None
    max_rejected: int | None
    dask: str | None
    redis: str | None = attrs.field(repr=False)
    as_json: bool
    serve: int | None = None
    plan: bool = False

    def __attrs_post_init__(self) -> None:
        if not self.plan:
            self._check_paths()
        if self.plan and self.serve is not None:
            raise InvalidRequestError("serve: not allowed with --plan")
        if self.wait_for_window and not self.window:
            raise InvalidRequestError("wait-for-window: only allowed with --window")
        if self.dask:
            self._check_dask()
        elif self.redis:
            raise InvalidRequestError("redis: only allowed with --dask")

    @property
    def journal_location(self) -> str:
        """Return the file or address of the journal."""
        return self.journal or default_journal(self.input.path)

    def create_journal(self) -> Journal:
        """Return a new object for the journal.

        Raises:
            InvalidRequestError: its folder does not exist, or a database needs the migration's name.
        """
        return open_journal(self.journal_location, self.name)

    def _check_paths(self) -> None:
        database = is_address(self.journal_location)
        self.outputs.check(self.input.path, None if database else Path(self.journal_location))
        self.create_journal()  # checks only: it is opened when it is first used
        if not is_utf8(self.name or Path(self.journal_location).stem):
            raise InvalidRequestError("name: the journal's file name is not valid UTF-8 (expected --name)")

    def _check_dask(self) -> None:
        if self.input.path is None:
            raise InvalidRequestError(
                "dask: not allowed with standard input (expected a file that all workers can read)"
            )
        if not (self.journal and is_address(self.journal) and self.name):
            raise InvalidRequestError(
                "dask: --journal and --name required (expected --journal postgresql://… that all workers can reach)"
            )
        if self.rate and not self.redis:
            raise InvalidRequestError("rate: --redis required with --dask")


def client_factory(concurrency: int) -> Callable[[], AsyncGateway]:
    """Return a function, which other processes can load, that makes clients."""
    return partial(AsyncGateway.from_env, max_connections=max(concurrency, _DEFAULT_CONNECTIONS))
