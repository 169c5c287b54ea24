"""The operations of a row at the gateway, one step at a time: store, look up, resolve an unknown result.

A row that may have been sent is looked up by its id before it is sent again.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, cast

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
from gateway_async.migration.engine.result_recorder import ResultRecorder
from gateway_async.migration.engine.row_task import RowTask
from gateway_async.migration.rows.comparison import differences
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.identifiers import ApiId

__all__ = ["RowOperations", "Step", "Vaults", "reasons_of"]

_REFUSALS: Final = (BadRequestError, RecordDeletedError, ValidationError)
"""Errors that are caused by the row, not by the state of the gateway."""

Step = Callable[[RowTask], Awaitable[Any]]
"""One call to the gateway; returns the next step, or None when the row has ended."""


class Vaults(Protocol):
    """The part of `gateway.account_vaults` that a migration needs."""

    async def create(self, new: Any, /) -> AccountVault:
        """Store an account."""
        ...

    async def get(self, ref: Any, /) -> AccountVault:
        """Read a stored account."""
        ...


class RowOperations:
    """The steps of a row.

    Each step ends the row, returns the next step, or raises if the gateway did not respond.

    Args:
        vaults: the stored accounts.
        results: records the results of rows.

    Attributes:
        answered_at: when the gateway last gave a useful response, by the event loop's clock.
    """

    def __init__(self, vaults: Vaults, results: ResultRecorder) -> None:
        self.answered_at = float("-inf")
        self._vaults = vaults
        self._results = results

    async def store(self, task: RowTask) -> Step | None:
        """Store the account of a row."""
        try:
            vault = await self._vaults.create(task.request)
        except InvalidRequestError as error:
            self._results.refused(task, error.problems)
        except ValidationError as error:
            if "account_vault_api_id" in error.fields:
                self._answered()
                return partial(self.find, refused=error)
            self._results.rejected(task, reasons_of(error))
        except _REFUSALS as error:
            self._results.rejected(task, reasons_of(error))
        else:
            self._results.stored(task, vault)
        self._answered()
        return None

    async def find(self, task: RowTask, refused: StatusError | None = None) -> Step | None:
        """Look up the account under the row's id; without one, return the step that stores it.

        Args:
            task: the row.
            refused: the error of an attempt to store it, which may mean that an account exists already.
        """
        api_id = task.mark.api_id if task.known is None else task.known.api_id
        try:
            vault = await self._vaults.get(ApiId(api_id, task.request.location_id))
        except NotFoundError:
            return self._after_nothing_found(task, api_id, refused)
        except RecordDeletedError:
            self._results.rejected(task, ("account_vault_api_id: an account was stored under it, and deleted",))
        except InvalidRequestError as error:
            self._results.refused(task, error.problems)
        else:
            self._found(task, vault)
        self._answered()
        return None

    async def resolve(self, task: RowTask, doubt: OutcomeUnknownError) -> Step | None:
        """Resolve a call that may still arrive. Only a call that certainly does not arrive is sent again."""
        vault = await doubt.resolve()
        self._answered()
        if vault is None:
            return self.store
        self._found(task, cast("AccountVault", vault))
        return None

    def _after_nothing_found(self, task: RowTask, api_id: str, refused: StatusError | None) -> Step | None:
        self._answered()
        if refused is not None:
            self._results.rejected(task, reasons_of(refused))
        elif api_id != task.mark.api_id:
            self._results.rejected(task, (f"account_vault_api_id: an earlier run sent it as {api_id}",), keep=False)
        else:
            return self.store
        return None

    def _found(self, task: RowTask, vault: AccountVault) -> None:
        others = differences(task.request, vault)
        if others:
            self._results.rejected(task, (f"account_vault_api_id: is another account's: {'; '.join(others)}",))
        else:
            self._results.stored(task, vault)

    def _answered(self) -> None:
        self.answered_at = anyio.current_time()


def reasons_of(error: StatusError) -> tuple[str, ...]:
    """Return the gateway's messages, field by field."""
    lines = tuple(f"{name}: {line}" if name else line for name, said in error.fields.items() for line in said)
    return lines or (error.message or f"refused with {error.status_code}",)
