"""Journals by the name that a user gives: a file, or the address of a PostgreSQL."""

from pathlib import Path
from typing import TYPE_CHECKING

from gateway_async.errors import InvalidRequestError

if TYPE_CHECKING:
    from gateway_async.migration import Journal

__all__ = ["default_journal", "existing_journal", "is_database", "journal_at", "shown_place"]


def is_database(place: str) -> bool:
    """Return whether it is the address of a PostgreSQL."""
    return place.startswith(("postgresql://", "postgres://"))


def shown_place(place: str) -> str:
    """Return the name to display: the address of a database has no password."""
    from gateway_async._storage.postgres import without_password

    return without_password(place) if is_database(place) else place


def default_journal(input_path: Path | None) -> str:
    """Return the default path: beside the input, with its name.

    Raises:
        InvalidRequestError: standard input has no name.
    """
    if input_path is None:
        raise InvalidRequestError("journal: standard input needs a --journal")
    return str(input_path.with_suffix(".journal"))


def journal_at(place: str, name: str | None) -> "Journal":
    """Return the journal. It is created when it is first used.

    Raises:
        InvalidRequestError: its folder does not exist, or a database needs the migration's name.
    """
    from gateway_async.migration import PostgresJournal, SqliteJournal

    if is_database(place):
        if name is None:
            raise InvalidRequestError("name: a journal in PostgreSQL needs the migration's --name")
        return PostgresJournal(place, name)
    folder = Path(place).absolute().parent
    if not folder.is_dir():
        raise InvalidRequestError(f"journal: there is no folder {folder}")
    return SqliteJournal(place)


def existing_journal(place: str, name: str | None) -> "Journal":
    """Return a journal that must exist.

    Raises:
        InvalidRequestError: it does not exist.
    """
    if not is_database(place) and not (Path(place).is_file() and Path(place).stat().st_size):
        raise InvalidRequestError(f"journal: there is none at {place}")
    return journal_at(place, name)
