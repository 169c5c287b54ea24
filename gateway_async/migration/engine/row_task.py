"""Row tasks: the request of each row, and the entry that the journal gets before it is sent."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing

import attrs

from gateway_async._secrets import mask_text
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.engine.iteration import iterate
from gateway_async.migration.journal.protocol import JournalEntry, RowStarted
from gateway_async.migration.rows.row import VaultRow, api_id_of, fingerprint_of, key_problems
from gateway_async.models.account_vaults import VaultCreate

__all__ = [
    "InputRow",
    "InvalidRow",
    "RowTask",
    "as_vault_row",
    "create_row_task",
    "iterate_rows",
    "other_content",
    "row_problems",
    "same_key",
    "storable_key",
    "with_former_key",
]

InputRow = VaultRow | VaultCreate


@attrs.define
class RowTask:
    """A row that is being processed.

    Attributes:
        row: the row, as it was given.
        request: the request that is sent for it.
        journal_row: the entry that the journal gets before it is sent.
        earlier_entry: the journal's earlier entry of it; None if it is new.
        sent: whether it may have been sent.
        admitted: whether it has acquired one row of the allowance.
    """

    row: VaultRow
    request: VaultCreate
    journal_row: RowStarted
    earlier_entry: JournalEntry | None = None
    sent: bool = False
    admitted: bool = False


@attrs.frozen
class InvalidRow:
    """A row that cannot be sent, with its problems. It keeps its position among the others.

    Attributes:
        row_number: its position in the input, from 1.
    """

    row: VaultRow
    row_number: int
    problems: tuple[str, ...]


async def iterate_rows(rows: Iterable[InputRow] | AsyncIterable[InputRow]) -> AsyncGenerator[InputRow, None]:
    """Yield the rows a user gave, in order.

    Replace the given rows by the result at once, because they may be mappings with card numbers by mistake, and an
    error's traceback shows local variables.

    Raises:
        InvalidRequestError: one of them is not a row.
    """
    async with aclosing(iterate(rows)) as given:
        async for row in given:
            if not isinstance(row, VaultRow | VaultCreate):
                kind = type(row).__name__
                del row, rows
                raise InvalidRequestError(f"rows: must be VaultRows or vault-create requests, not {kind}")
            yield row


def as_vault_row(given: InputRow) -> VaultRow:
    """Return the row, or a row for a bare request."""
    if isinstance(given, VaultRow):
        return given
    return VaultRow(key=given.account_vault_api_id or "", request=given)


def row_problems(row: VaultRow) -> tuple[str, ...]:
    """Return why a row cannot be sent; nothing if it can."""
    api_id = None if row.request is None else row.request.account_vault_api_id
    problems = row.problems or tuple(key_problems(row.key, api_id))
    return problems or (() if row.request is not None else ("row: nothing to store",))


def storable_key(row: VaultRow) -> str:
    """Return the key of a row as a journal can store it.

    A card number in it is masked. A key with characters that cannot be stored is "".
    """
    return next((key for key in (row.key, mask_text(row.key)) if not any(key_problems(key, None))), "")


def create_row_task(row: VaultRow, request: VaultCreate, migration: str, row_number: int) -> RowTask:
    """Return a row's task. A request without an id gets one made of the migration's name and the row's key."""
    if request.account_vault_api_id is None:
        request = attrs.evolve(request, account_vault_api_id=api_id_of(migration, row.key))
    api_id = str(request.account_vault_api_id)
    fingerprint = fingerprint_of(row)
    return RowTask(
        row,
        request,
        RowStarted(key=row.key, api_id=api_id, fingerprint=fingerprint, line=row.line, row_number=row_number),
    )


def same_key(line: int | None) -> str:
    """Describe a row whose key an earlier row of the input has."""
    return f"key: {_name_row(line)} has the same key"


def other_content(line: int | None) -> str:
    """Describe a row whose key has an account with other content."""
    return f"key: {_name_row(line)} is stored under this key with other content"


def _name_row(line: int | None) -> str:
    return "another row" if line is None else f"line {line}"


def with_former_key(row: VaultRow) -> VaultRow:
    """Return a row with its former key and id."""
    if row.former_key is None:
        return row
    request = row.request
    if request is not None and request.account_vault_api_id == row.key:
        request = attrs.evolve(request, account_vault_api_id=row.former_key)
    return attrs.evolve(row, key=row.former_key, request=request)
