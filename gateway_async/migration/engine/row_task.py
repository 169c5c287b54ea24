"""Row tasks: the request of each row, and the entry that the journal gets before it is sent."""

from collections.abc import Iterator
from typing import Any

import attrs

from gateway_async._wire.convert.write import is_utf8
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import JournalEntry, RowStarted
from gateway_async.migration.rows.row import VaultRow, api_id_of, fingerprint_of
from gateway_async.models.account_vaults import VaultCreate

__all__ = ["InvalidRow", "Row", "RowTask", "as_vault_row", "create_row_task", "key_problems"]

Row = VaultRow | VaultCreate


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
    """A row that cannot be sent, with its problems. It keeps its position among the others."""

    row: VaultRow
    problems: tuple[str, ...]


def as_vault_row(given: Any) -> VaultRow:
    """Return the row, or a row for a bare request.

    Raises:
        InvalidRequestError: it is neither.
    """
    if isinstance(given, VaultRow):
        return given
    if not isinstance(given, VaultCreate):
        raise InvalidRequestError(f"rows: must be VaultRows or vault-create requests, not {type(given).__name__}")
    return VaultRow(key=given.account_vault_api_id or "", request=given)


def key_problems(row: VaultRow) -> Iterator[str]:
    """Return why no journal can store a row under its key."""
    if not row.key:
        yield "key: required (or account_vault_api_id)"
    elif "\0" in row.key or not is_utf8(row.key):
        yield "key: contains a character that cannot be stored"


def create_row_task(row: VaultRow, request: VaultCreate, migration: str) -> RowTask:
    """Return a row's task. A request without an id gets one made of the migration's name and the row's key."""
    if request.account_vault_api_id is None:
        request = attrs.evolve(request, account_vault_api_id=api_id_of(migration, row.key))
    api_id = str(request.account_vault_api_id)
    return RowTask(row, request, RowStarted(key=row.key, api_id=api_id, fingerprint=fingerprint_of(row), line=row.line))
