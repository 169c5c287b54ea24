"""What a row asks of the gateway, one step at a time: store it, look it up, settle what became of it.

The law of this file: what may have been sent is looked up by its id before it is sent again.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol

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
from gateway_async.migration.comparing import differences
from gateway_async.migration.endings import Endings
from gateway_async.migration.turns import Turn
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.identifiers import ApiId

__all__ = ["Asking", "Step", "Vaults", "reasons_of"]

_REFUSALS: Final = (BadRequestError, RecordDeletedError, ValidationError)
"""What is wrong with the row, whatever the gateway's day."""

Step = Callable[[Turn], Awaitable[Any]]
"""One question to the gateway, or one request of it; returns the next step, or None when the row has ended."""


class Vaults(Protocol):
    """What a migration needs of `gateway.account_vaults`."""

    async def create(self, new: Any, /) -> AccountVault:
        """Store an account."""
        ...

    async def get(self, ref: Any, /) -> AccountVault:
        """Read a stored account."""
        ...


class Asking:
    """The steps. Each has the row end, says which comes next, or raises what the gateway did not answer.

    Args:
        vaults: the stored accounts.
        endings: where rows end.

    Attributes:
        answered_at: when the gateway last gave an answer that counts, by the event loop's clock.
    """

    def __init__(self, vaults: Vaults, endings: Endings) -> None:
        self.answered_at = float("-inf")
        self._vaults = vaults
        self._endings = endings

    async def store(self, turn: Turn) -> Step | None:
        """Store it."""
        try:
            vault = await self._vaults.create(turn.request)
        except InvalidRequestError as error:
            self._endings.refused(turn.row, error.problems, turn.mark)
        except ValidationError as error:
            if "account_vault_api_id" in error.fields:
                self._answered()
                return partial(self.find, refused=error)
            self._endings.rejected(turn, reasons_of(error))
        except _REFUSALS as error:
            self._endings.rejected(turn, reasons_of(error))
        else:
            self._endings.stored(turn, vault)
        self._answered()
        return None

    async def find(self, turn: Turn, refused: StatusError | None = None) -> Step | None:
        """Look up what is stored under its id; if nothing is, it is to be stored.

        Args:
            turn: the row.
            refused: that it cannot be stored, perhaps because something is.
        """
        api_id = turn.mark.api_id if turn.known is None else turn.known.api_id
        try:
            vault = await self._vaults.get(ApiId(api_id, turn.request.location_id))
        except NotFoundError:
            return self._after_nothing_found(turn, api_id, refused)
        except RecordDeletedError:
            self._endings.rejected(turn, ("account_vault_api_id: an account was stored under it, and deleted",))
        except InvalidRequestError as error:
            self._endings.refused(turn.row, error.problems, turn.mark)
        else:
            self._found(turn, vault)
        self._answered()
        return None

    async def resolve(self, turn: Turn, doubt: OutcomeUnknownError) -> Step | None:
        """Look for what may still arrive; only what certainly does not is sent again."""
        vault = await doubt.resolve()
        self._answered()
        if vault is None:
            return self.store
        self._found(turn, vault)
        return None

    def _after_nothing_found(self, turn: Turn, api_id: str, refused: StatusError | None) -> Step | None:
        self._answered()
        if refused is not None:
            self._endings.rejected(turn, reasons_of(refused))
        elif api_id != turn.mark.api_id:
            self._endings.rejected(turn, (f"account_vault_api_id: an earlier run sent it as {api_id}",), keep=False)
        else:
            return self.store
        return None

    def _found(self, turn: Turn, vault: AccountVault) -> None:
        others = differences(turn.request, vault)
        if others:
            self._endings.rejected(turn, (f"account_vault_api_id: is another account's: {'; '.join(others)}",))
        else:
            self._endings.stored(turn, vault)

    def _answered(self) -> None:
        self.answered_at = anyio.current_time()


def reasons_of(error: StatusError) -> tuple[str, ...]:
    """What the gateway said, field by field."""
    lines = tuple(f"{name}: {line}" if name else line for name, said in error.fields.items() for line in said)
    return lines or (error.message or f"refused with {error.status_code}",)
