"""`gateway.recurrings` (contract, *Recurrings*)."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from gateway_async._arguments import check_numbers
from gateway_async._secrets import seal
from gateway_async._wire.call import Call
from gateway_async._wire.evidence import HAS_STATUS
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.snapshot_lookup import with_new_record_lookup, with_schedule_lookup
from gateway_async.models.record import ApiId
from gateway_async.models.recurrings import Recurring, RecurringCreate, RecurringUpdate
from gateway_async.resources._resource import DeletableResource, WritableResource
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

__all__ = ["RECURRING", "Recurrings"]

RECURRING: Final = ResourceSpec(
    name="recurring",
    plural="recurrings",
    record=Recurring,
    creates=(RecurringCreate,),
    updates=(RecurringUpdate,),
    moves_money=True,
)


class Recurrings(DeletableResource[Recurring], WritableResource[Recurring]):
    """Recurring payment plans (subscriptions), which charge a stored account.

    The gateway makes each charge by itself: a transaction with `recurring_id`, `is_recurring` and `trx_source_id` 13.

    `expand` accepts created_user, account_vault, transactions, signature, location, contact, tags and
    product_transaction. The default sort is `next_run_date`.
    """

    spec = RECURRING

    async def create(self, new: RecurringCreate) -> Recurring:
        """Create a recurring.

        The gateway takes no integrator id here. The client therefore first reads the newest recurrings of the account
        vault and keeps their ids. If the response is lost, it reads them again, and the only new one with the sent
        values is the result. It never sends the request again once it may have been sent. An equal recurring that
        another client creates for the same vault in that time would be mistaken for it. A ledger records the call.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            NotSentError: nothing was sent: no connection, the list cannot be read, or the ledger is not available.
            NotFoundError: nothing was sent, because no account vault has the `account_vault_api_id`.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been created, and would charge the customer; `resolve(error)` looks it up
                again. Do not create it again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(_create_call(new, self._defaults))

    async def update(self, id: str | ApiId, changes: RecurringUpdate) -> Recurring:
        """Change a recurring. If the response is lost, the client reads the recurring.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects a value; `.fields` says which.
            OutcomeUnknownError: it may have been changed; `resolve(error)` looks again.
        """
        changes = seal(changes)  # as above
        return await self._executor.execute(RECURRING.update(id, changes, self._defaults))

    async def skip(self, id: str, count: int = 1) -> Recurring:
        """Drop the next `count` charges. The end date stays.

        A repetition would drop further charges. The client therefore first reads the recurring. If the response is
        lost, it reads it again and compares `next_run_date`, `end_date` and the charges that ran in the meantime. It
        never sends the request again once it may have been sent. Another skip of the same recurring in that time would
        be mistaken for it. A ledger records the call.

        Raises:
            InvalidRequestError: `count` is not a whole number above 0, or the id cannot be sent.
            NotSentError: nothing was sent: no connection, or the ledger is not available.
            NotFoundError: nothing was sent: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, for example because it has ended; `.fields` says why.
            OutcomeUnknownError: the charges may have been dropped; `resolve(error)` looks again.
        """
        shift = {"next_run_date": count, "end_date": 0}
        return await self._executor.execute(
            _move_charges(id, "skipPayment", "skip_count", count, shift, self._defaults)
        )

    async def defer(self, id: str, count: int = 1) -> Recurring:
        """Move the next `count` charges to the end: `next_run_date` and `end_date` go on by `count` intervals.

        It is for installment plans, and the gateway refuses it for an ongoing recurring. A lost response is handled as
        in `skip`.

        Raises:
            InvalidRequestError: `count` is not a whole number above 0, or the id cannot be sent.
            NotSentError: nothing was sent: no connection, or the ledger is not available.
            NotFoundError: nothing was sent: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, for example because it is ongoing; `.fields` says why.
            OutcomeUnknownError: the charges may have been moved; `resolve(error)` looks again.
        """
        shift = {"next_run_date": count, "end_date": count}
        return await self._executor.execute(
            _move_charges(id, "deferPayment", "defer_count", count, shift, self._defaults)
        )

    async def hold(self, id: str) -> Recurring:
        """Place an active recurring on hold: no charge runs until `activate`.

        If the response is lost or the gateway refuses, the client reads `status`. It sends a lost request again if the
        recurring is still `active`. One that is not, such as an ended one, is returned as it is: check `.status`.

        Raises:
            NotFoundError: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, and it is active; `.fields` says why.
            OutcomeUnknownError: it may be on hold; `resolve(error)` looks again.
        """
        return await self._executor.execute(_change_status(id, "placeOnHold", "active", "on hold", self._defaults))

    async def activate(self, id: str) -> Recurring:
        """Activate a recurring that is on hold.

        A lost response and a refusal are handled as in `hold`: one that is not on hold is returned as it is.

        Raises:
            NotFoundError: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, and it is on hold; `.fields` says why.
            OutcomeUnknownError: it may be active; `resolve(error)` looks again.
        """
        return await self._executor.execute(_change_status(id, "activate", "on hold", "active", self._defaults))


def _create_call(new: RecurringCreate, defaults: RequestDefaults) -> Call[Recurring]:
    """Build the call; its prerequisites read the vault's id, if it is not given, and the existing recurrings."""
    call = RECURRING.create(new, defaults)
    location_id = new.location_id or defaults.location_id
    if new.account_vault_api_id is None:
        its_vault = {"account_vault_id": new.account_vault_id}
        return _find_by_list(call, new, its_vault if new.account_vault_id else {"location_id": location_id})
    vault = ACCOUNT_VAULT.get(ApiId(new.account_vault_api_id, location_id), defaults)

    def add_vault(content: Any) -> Call[Recurring]:
        return _find_by_list(call, new, {"account_vault_id": vault.read(content).id})

    return attrs.evolve(call, prerequisite=Call(request=vault.request, read=add_vault, fresh_connection=True))


def _find_by_list(call: Call[Recurring], new: RecurringCreate, expected: Mapping[str, Any]) -> Call[Recurring]:
    values = {
        "transaction_amount": str(new.transaction_amount),
        "interval": new.interval,
        "interval_type": str(new.interval_type),
        "start_date": new.start_date.isoformat(),
    }
    return with_new_record_lookup(call, RECURRING, expected, values=values)


def _move_charges(
    id: str,
    verb: str,
    parameter: str,
    count: int,
    expected_shift: Mapping[str, int],
    defaults: RequestDefaults,
) -> Call[Recurring]:
    check_numbers(whole=True, minimum=1, count=count)
    call = RECURRING.action(id, verb, defaults, params=((parameter, str(count)),))
    return with_schedule_lookup(attrs.evolve(call, sent={parameter: str(count)}), RECURRING, id, expected_shift)


def _change_status(id: str, verb: str, before: str, after: str, defaults: RequestDefaults) -> Call[Recurring]:
    shows = {"status": after, "status_before": before}
    return RECURRING.action(id, verb, defaults, evidence=HAS_STATUS, shows=shows)
