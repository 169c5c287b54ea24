"""Location of a journal as the user gives it: a file, or the address of a PostgreSQL database."""

from pathlib import Path

from gateway_async._secrets import is_address
from gateway_async.cli.store_location import check_location
from gateway_async.errors import InvalidRequestError
from gateway_async.migration import Journal, PostgresJournal, SqliteJournal

__all__ = ["default_journal", "open_existing_journal", "open_journal"]


def default_journal(input_path: Path | None) -> str:
    """Return the default path of the journal: the input with the suffix .journal.

    Raises:
        InvalidRequestError: the input is standard input.
    """
    if input_path is None:
        raise InvalidRequestError("journal: required with standard input")
    return str(input_path.with_suffix(".journal"))


def open_journal(location: str, name: str | None) -> Journal:
    """Return the journal at a location. It is created when it is first used.

    Raises:
        InvalidRequestError: its folder does not exist, or a database needs the migration's name or a valid address.
    """
    check_location("journal", location)
    if is_address(location):
        if name is None:
            raise InvalidRequestError("name: required with a journal in PostgreSQL")
        return PostgresJournal(location, name)
    folder = Path(location).absolute().parent
    if not folder.is_dir():
        raise InvalidRequestError(f"journal: folder {folder} does not exist")
    return SqliteJournal(location)


def open_existing_journal(location: str, name: str | None) -> Journal:
    """Return a journal that must exist.

    Raises:
        InvalidRequestError: it does not exist.
    """
    if not is_address(location) and not (Path(location).is_file() and Path(location).stat().st_size):
        raise InvalidRequestError(f"journal: {location} does not exist")
    return open_journal(location, name)
