"""Settings of the `migrate` command, and the checks of their values."""

from pathlib import Path
from typing import Any

import attrs

from gateway_async._wire.convert.write import is_utf8
from gateway_async.cli.migrate.journals import default_journal, is_database, journal_at
from gateway_async.cli.migrate.options import Input
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.path_checks import check_out, check_rejects, check_report
from gateway_async.migration.stop_conditions import Window

__all__ = ["Order", "WrittenFiles"]


@attrs.frozen(kw_only=True)
class WrittenFiles:
    """The paths of the output files; None for those that are not written.

    Attributes:
        with_card_numbers: whether rejects are written unmasked.
        force: whether files of other programs may be replaced.
    """

    out: Path | None = None
    rejects: Path | None = None
    with_card_numbers: bool = False
    page: Path | None = None
    json: Path | None = None
    force: bool = False

    def check(self, source: Path | None, journal: Path | None) -> None:
        """Reject paths that could not be written, or would replace something else, before anything is sent.

        Raises:
            InvalidRequestError: a path is rejected; the message names it and the reason.
        """
        self._check_apart({"the input": source, "the journal": journal})
        if self.out:
            check_out(self.out, force=self.force)
        if self.rejects:
            check_rejects(self.rejects, source, force=self.force)
        elif self.with_card_numbers:
            raise InvalidRequestError("rejects-with-card-numbers: goes with --rejects")
        for name, path in (("report", self.page), ("report-json", self.json)):
            if path:
                check_report(name, path, force=self.force)

    def _check_apart(self, taken: dict[str, Path | None]) -> None:
        places = {"out": self.out, "rejects": self.rejects, "report": self.page, "report-json": self.json}
        for name, path in places.items():
            for what, other in taken.items():
                if path and other and _same(path, other):
                    raise InvalidRequestError(f"{name}: {path} is {what}")
            taken[f"--{name}"] = path


def _same(path: Path, other: Path) -> bool:
    """Return whether both paths are the same file."""
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def _window(text: str | None) -> Window | None:
    return Window.parse(text) if text else None


@attrs.frozen(kw_only=True)
class Order:
    """The options of one run. A plan needs no journal and writes nothing.

    Raises:
        InvalidRequestError: an option is wrong, or two options contradict each other.
    """

    input: Input
    files: WrittenFiles
    journal: str | None
    name: str | None
    retry_rejected: bool
    concurrency: int
    rate: float | None
    window: Window | None = attrs.field(converter=_window)
    wait_for_window: bool
    max_seconds: float | None
    max_rows: int | None
    max_rejected: int | None
    dask: str | None
    redis: str | None
    as_json: bool
    plan: bool = False

    def __attrs_post_init__(self) -> None:
        if not self.plan:
            self._check_places()
        if self.wait_for_window and not self.window:
            raise InvalidRequestError("wait-for-window: goes with --window")
        if self.dask:
            self._check_dask()
        elif self.redis:
            raise InvalidRequestError("redis: goes with --dask")

    @property
    def place(self) -> str:
        """Return the file or address of the journal."""
        return self.journal or default_journal(self.input.path)

    def opened_journal(self) -> Any:
        """Return the journal, ready for use.

        Raises:
            InvalidRequestError: its folder does not exist, or a database needs the migration's name.
        """
        return journal_at(self.place, self.name)

    def _check_places(self) -> None:
        database = is_database(self.place)
        self.files.check(self.input.path, None if database else Path(self.place))
        self.opened_journal()  # checks only: it is opened when it is first used
        if not is_utf8(self.name or Path(self.place).stem):
            raise InvalidRequestError(
                "name: the journal's name is no text that can be kept; give the migration a --name"
            )

    def _check_dask(self) -> None:
        if self.input.path is None:
            raise InvalidRequestError("dask: needs a file that all workers can read, not standard input")
        if not (self.journal and is_database(self.journal) and self.name):
            raise InvalidRequestError("dask: needs a --journal postgresql://… that all workers can reach, and a --name")
        if self.rate and not self.redis:
            raise InvalidRequestError("rate: workers share it only through a --redis")
