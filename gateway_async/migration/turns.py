"""Rows whose turn has come: what is sent for each, and what the journal is told of it before."""

from collections.abc import Iterator
from typing import Any

import attrs

from gateway_async._wire.convert import is_utf8
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal import Begin, Entry
from gateway_async.migration.rows import VaultRow, api_id_of, fingerprint_of
from gateway_async.models.account_vaults import VaultCreate

__all__ = ["Row", "Turn", "key_problems", "row_given", "turn_of"]

Row = VaultRow | VaultCreate


@attrs.define
class Turn:
    """A row whose turn has come.

    Attributes:
        row: the row, as it was given.
        request: what is sent for it.
        mark: what the journal is told of it.
        known: what the journal knew of it; None if it is new.
        sent: whether it may have been sent.
    """

    row: VaultRow
    request: VaultCreate
    mark: Begin
    known: Entry | None = None
    sent: bool = False


def row_given(given: Any) -> VaultRow:
    """A row as it was given, or for a bare request.

    Raises:
        InvalidRequestError: it is neither.
    """
    if isinstance(given, VaultRow):
        return given
    if not isinstance(given, VaultCreate):
        raise InvalidRequestError(f"rows: must be VaultRows or vault-create requests, not {type(given).__name__}")
    return VaultRow(key=given.account_vault_api_id or "", request=given)


def key_problems(row: VaultRow) -> Iterator[str]:
    """Why no journal can keep a row under its key."""
    if not row.key:
        yield "key: is missing, and so is account_vault_api_id"
    elif "\0" in row.key or not is_utf8(row.key):
        yield "key: holds a character that cannot be written"


def turn_of(row: VaultRow, request: VaultCreate, migration: str) -> Turn:
    """A row's turn; a request without an id gets the one that the migration has for the row's key."""
    if request.account_vault_api_id is None:
        request = attrs.evolve(request, account_vault_api_id=api_id_of(migration, row.key))
    api_id = str(request.account_vault_api_id)
    return Turn(row, request, Begin(key=row.key, api_id=api_id, fingerprint=fingerprint_of(row), line=row.line))
