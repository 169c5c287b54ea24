"""The operations of a row at the gateway, one step at a time: store, look up, resolve an unknown result.

A row that may have been sent is looked up by its id before it is sent again.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

import anyio

from gateway_async.errors import (
    BadRequestError,
    InvalidRequestError,
    NotFoundError,
    OutcomeUnknownError,
    RecordDeletedError,
    StatusError,
    ValidationError,
)
from gateway_async.migration.recorder import ResultRecorder
from gateway_async.migration.rows.row import RowTask, find_vault_differences, other_content
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.record import ApiId
from gateway_async.resources.account_vaults import AccountVaults

_ROW_ERRORS: Final = (BadRequestError, RecordDeletedError, ValidationError)
"""Errors that are caused by the row, not by the state of the gateway."""

Step = Callable[[RowTask], Awaitable[Any]]
"""One call to the gateway; returns the next step, or None when the row has ended."""


class RowOperations:
    """The steps of a row. Each ends the row, returns the next step, or raises if the gateway did not respond.

    Attributes:
        last_response_at: when the gateway last gave a useful response, by the event loop's clock.
    """

    def __init__(self, vaults: AccountVaults, results: ResultRecorder) -> None:
        self.last_response_at = float("-inf")
        self._vaults = vaults
        self._results = results

    async def store(self, task: RowTask) -> Step | None:
        """Store the account of a row."""
        try:
            vault = await self._vaults.create(task.request)
        except InvalidRequestError as error:
            self._results.record_invalid(task, error.problems)
        except ValidationError as error:
            if "account_vault_api_id" in error.fields:
                self._note_response()
                return partial(self.find, create_error=error)
            self._results.record_rejected(task, reasons_from(error))
        except _ROW_ERRORS as error:
            self._results.record_rejected(task, reasons_from(error))
        else:
            self._results.record_stored(task, vault)
        self._note_response()
        return None

    async def find(self, task: RowTask, create_error: StatusError | None = None) -> Step | None:
        """Look up the account under the row's id; without one, return the step that stores it.

        Args:
            task: the row.
            create_error: the error of a create that the gateway rejected, perhaps because the account exists already.
        """
        try:
            vault = await self._vaults.get(ApiId(task.sent_row.api_id, task.request.location_id))
        except NotFoundError:
            return await self._handle_not_found(task, create_error)
        except RecordDeletedError:
            self._results.record_rejected(task, ("account_vault_api_id: the account stored under this id was deleted",))
        except InvalidRequestError as error:
            self._results.record_invalid(task, error.problems)
        else:
            self._record_found(task, vault)
        self._note_response()
        return None

    async def resolve(self, task: RowTask, error: OutcomeUnknownError) -> Step | None:
        """Wait for the outcome; resend only if the gateway provably never executed the call."""
        vault = await error.resolve()
        self._note_response()
        if vault is None:
            return self.store
        self._record_found(task, cast("AccountVault", vault))
        return None

    async def _handle_not_found(self, task: RowTask, create_error: StatusError | None) -> Step | None:
        self._note_response()
        api_id = task.sent_row.api_id
        if create_error is not None:
            self._results.record_rejected(task, reasons_from(create_error))
        elif api_id != task.journal_row.api_id:
            self._results.record_rejected(task, (f"account_vault_api_id: an earlier run sent the row as {api_id}",))
        else:
            if task.has_changed:
                await self._results.record_sending(task)
            task.earlier_entry = None  # it was not executed, and the row is sent as it is now
            return self.store
        return None

    def _record_found(self, task: RowTask, vault: AccountVault) -> None:
        entry = task.earlier_entry
        if entry is not None and task.has_changed:
            self._results.record_stored_earlier(entry, vault)
            self._results.record_repeated(task, other_content(entry.line))
        elif differing := find_vault_differences(task.request, vault):
            self._results.record_rejected(
                task, (f"account_vault_api_id: belongs to another account: {'; '.join(differing)}",)
            )
        else:
            self._results.record_stored(task, vault)

    def _note_response(self) -> None:
        self.last_response_at = anyio.current_time()


def reasons_from(error: StatusError) -> tuple[str, ...]:
    """List the gateway's messages, field by field."""
    lines = tuple(f"{name}: {line}" if name else line for name, messages in error.fields.items() for line in messages)
    return lines or (error.message or f"rejected with status {error.status_code}",)
