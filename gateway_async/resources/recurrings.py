"""`gateway.recurrings` (contract, *Recurrings*)."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

import attrs
from attrs.filters import exclude

from gateway_async._arguments import check_numbers
from gateway_async._secrets import seal
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus, OutcomeQuery, Resolver
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import EXISTS, HAS_STATUS
from gateway_async._wire.new_record import with_new_record_lookup
from gateway_async._wire.query import expansion, segment
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs
from gateway_async._wire.rows import structure
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.codes import IntervalType, RecurringStatus
from gateway_async.models.record import ApiId
from gateway_async.models.recurrings import Recurring, RecurringCreate, RecurringUpdate
from gateway_async.resources._resource import DeletableResource, UpdatableResource
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

RECURRING: Final = ResourceSpec(
    name="recurring",
    plural="recurrings",
    record=Recurring,
    creates=(RecurringCreate,),
    updates=(RecurringUpdate,),
    moves_money=True,
)

SCHEDULE_CHANGE: Final = "schedule_change"
"""The kind of the outcome query of a skip or a deferral. Ledgers on disk contain it, so it must never change."""

_DAYS: Final[Mapping[str, int]] = {IntervalType.DAY: 1, IntervalType.WEEK: 7}
_DAYS_OF_MONTH: Final = 30.44
_TOLERANCE: Final = 3
"""Slack in days: gateways may count months differently at the end of a month."""


class Recurrings(DeletableResource[Recurring], UpdatableResource[Recurring, RecurringUpdate]):
    """Recurring payment plans (subscriptions), which charge a stored account.

    The gateway makes each charge by itself: a transaction with `recurring_id`, `is_recurring` and `trx_source_id` 13.

    `expand` accepts created_user, account_vault, transactions, signature, location, contact, tags and
    product_transaction. The default sort is `next_run_date`.
    """

    spec = RECURRING

    async def create(self, new: RecurringCreate) -> Recurring:
        """Create a recurring.

        The gateway takes no integrator id here, so the client first reads the newest recurrings of the account vault
        and keeps their ids. If the response is lost, it reads them again, and the only new one with the sent values is
        the result. It never sends the request again once it may have been sent. An equal recurring that another client
        creates for the same vault in that time would be mistaken for it. A ledger records the call.

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

    async def skip(self, id: str, count: int = 1) -> Recurring:
        """Skip the next `count` charges. The end date stays. If none is left, the recurring ends.

        A repetition would drop further charges, so the client first reads the recurring. If the response is lost, it
        reads it again and compares `next_run_date`, `end_date` and the charges that ran in the meantime. It never sends
        the request again once it may have been sent. Another skip of the same recurring in that time would be mistaken
        for it. A ledger records the call.

        Raises:
            InvalidRequestError: `count` is not a whole number above 0, or the id cannot be sent.
            NotSentError: nothing was sent: no connection, or the ledger is not available.
            NotFoundError: nothing was sent: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, for example because it has ended; `.fields` says why.
            OutcomeUnknownError: the charges may have been dropped; `resolve(error)` looks again.
        """
        return await self._executor.execute(_move_charges(id, "skip", count, self._defaults))

    async def defer(self, id: str, count: int = 1) -> Recurring:
        """Move the next `count` charges to the end: `next_run_date` and `end_date` move by `count` intervals.

        It is for installment plans, and the gateway refuses it for an ongoing recurring. A lost response is handled as
        in `skip`.

        Raises:
            InvalidRequestError: `count` is not a whole number above 0, or the id cannot be sent.
            NotSentError: nothing was sent: no connection, or the ledger is not available.
            NotFoundError: nothing was sent: it does not exist; if it was deleted, `RecordDeletedError`.
            ValidationError: the gateway refuses, for example because it is ongoing; `.fields` says why.
            OutcomeUnknownError: the charges may have been moved; `resolve(error)` looks again.
        """
        return await self._executor.execute(_move_charges(id, "defer", count, self._defaults))

    async def hold(self, id: str) -> Recurring:
        """Place an active recurring on hold: no charge runs until `activate`.

        If the response is lost or the gateway refuses, the client reads `status`. It sends a lost request again if the
        recurring is still `active`. Any other, such as an ended one, is returned as it is: check `.status`.

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


def _move_charges(id: str, verb: str, count: int, defaults: RequestDefaults) -> Call[Recurring]:
    check_numbers(whole=True, minimum=1, count=count)
    sent = {f"{verb}_count": str(count)}
    call = RECURRING.action(id, f"{verb}Payment", defaults, params=(*sent.items(),))
    shift = {"next_run_date": count, "end_date": count if verb == "defer" else 0}
    return _with_schedule_lookup(attrs.evolve(call, sent=sent), id, shift)


def _change_status(id: str, verb: str, before: str, after: str, defaults: RequestDefaults) -> Call[Recurring]:
    shows = {"status": after, "status_before": before}
    return RECURRING.action(id, verb, defaults, evidence=HAS_STATUS, shows=shows)


@attrs.frozen(kw_only=True)
class _Schedule:
    """The schedule of a recurring, as plain values. A ledger stores all of them but `has_ended`."""

    next_run_date: str | None
    end_date: str | None
    interval: int | None
    interval_type: str | None
    transaction_ids: list[str] | None
    has_ended: bool = False

    @classmethod
    def of(cls, record: Recurring) -> "_Schedule":
        return cls(
            next_run_date=record.next_run_date.isoformat() if record.next_run_date else None,
            end_date=record.end_date.isoformat() if record.end_date else None,
            interval=record.interval,
            interval_type=None if record.interval_type is None else str(record.interval_type),
            transaction_ids=_ids(record.extra.get("transactions")),
            has_ended=record.status == RecurringStatus.ENDED and record.next_run_date is None,
        )


def _ids(records: Any) -> list[str] | None:
    if not isinstance(records, list) or not all(isinstance(each, dict) and each.get("id") for each in records):
        return None
    return [str(each["id"]) for each in records]


def _with_schedule_lookup(call: Call[Recurring], id: str, expected_shift: Mapping[str, int]) -> Call[Recurring]:
    """Add the lookup of a schedule change to a skip or a deferral. Its prerequisite reads the recurring.

    `expected_shift` is how many intervals the write moves `next_run_date` and `end_date`.
    """

    def add_lookup(content: Any) -> Call[Recurring]:
        before = _Schedule.of(_read_recurring(id, content))
        outcome_query = OutcomeQuery(
            kind=SCHEDULE_CHANGE,
            resource=RECURRING.resource,
            id=id,
            evidence=EXISTS.name,
            sent={"before": attrs.asdict(before, filter=exclude("has_ended")), "expected_shift": dict(expected_shift)},
        )

        def read(content: Any) -> Recurring:
            record = call.read(content)
            _check_moved(before, _Schedule.of(record), expected_shift)
            return record

        return call.with_resolver(outcome_query, Resolver(lookup=partial(schedule_change, outcome_query)), read)

    return attrs.evolve(call, prerequisite=Call(request=_read_request(id), read=add_lookup, fresh_connection=True))


def schedule_change(outcome_query: OutcomeQuery) -> Lookup[Recurring]:
    """Build the lookup of a skip or a deferral.

    Each charge that ran in the meantime has moved the next charge by one interval. A payment of a declined charge moves
    nothing. A skip or a deferral moves the next charge further.

    - If it has moved by the charges that ran and by those to skip, the write was executed.
    - If no charge ran, and the recurring has ended because those to skip were its last ones, the write was executed.
    - If it has moved by fewer than those to skip, or the end has not moved with it, it was not executed so far.
    - In every other case, the outcome stays unknown.
    """
    before = _Schedule(**outcome_query.sent["before"])
    expected_shift = outcome_query.sent["expected_shift"]

    def read(content: Any) -> LookupResult[Recurring]:
        record = _read_recurring(outcome_query.id, content)
        if _was_executed(before, _Schedule.of(record), expected_shift):
            return LookupResult(LookupStatus.EXECUTED, record)
        return LookupResult(LookupStatus.NOT_EXECUTED)

    return Lookup(request=_read_request(outcome_query.id), read=read)


def _read_request(id: str) -> HttpRequest:
    return HttpRequest(path=f"{RECURRING.path}/{segment(id)}", params=expansion(("transactions",)))


def _read_recurring(id: str, content: Any) -> Recurring:
    data = RECURRING.unwrap(content)
    check_belongs({"id": id}, data)
    return structure(Recurring, data)


def _check_moved(before: _Schedule, after: _Schedule, expected_shift: Mapping[str, int]) -> None:
    """Check that the response to the write shows the moved schedule. It does not show the charges that ran meanwhile.

    Raises:
        MismatchedReplyError: the next charge has not moved, so the schedule is that from before the write.
        FieldError: it has moved otherwise, or the response does not show it.
    """
    if before.next_run_date is not None and before.next_run_date == after.next_run_date:
        raise MismatchedReplyError((f"next_run_date is still {after.next_run_date}",))
    if before.next_run_date is None or not before.interval:
        return
    runs_unknown = attrs.evolve(before, transaction_ids=[]), attrs.evolve(after, transaction_ids=[])
    if not _was_executed(*runs_unknown, expected_shift):
        raise FieldError(".recurring.next_run_date", "it has not moved as the call moves it")


def _was_executed(before: _Schedule, after: _Schedule, expected_shift: Mapping[str, int]) -> bool:
    """Whether the schedule has moved as the write moves it.

    Raises:
        FieldError: the schedules do not tell.
    """
    if before.transaction_ids is None or after.transaction_ids is None:
        raise FieldError(".recurring.transactions", "missing, so a charge may have run")
    runs = len(set(after.transaction_ids) - set(before.transaction_ids))
    if after.has_ended and not runs and before.end_date == after.end_date and _ends(before, expected_shift):
        return True
    next_moved = _intervals(before, before.next_run_date, after.next_run_date)
    end_moved = 0 if before.end_date == after.end_date else _intervals(before, before.end_date, after.end_date)
    if (next_moved, end_moved) == (runs + expected_shift["next_run_date"], expected_shift["end_date"]):
        return True
    if 0 <= next_moved <= runs and end_moved == 0:
        if next_moved < expected_shift["next_run_date"] or expected_shift["end_date"]:
            return False
        raise FieldError(".recurring.next_run_date", "it has moved by a charge or by this call")
    raise FieldError(".recurring.next_run_date", "it has moved by another number of intervals")


def _ends(schedule: _Schedule, expected_shift: Mapping[str, int]) -> bool:
    """Whether the write moves the next charge past the end, so that none is left."""
    if not schedule.next_run_date or not schedule.end_date or not schedule.interval or expected_shift["end_date"]:
        return False
    first, last = date.fromisoformat(schedule.next_run_date), date.fromisoformat(schedule.end_date)
    number = expected_shift["next_run_date"] * schedule.interval
    try:
        if schedule.interval_type == IntervalType.MONTH:
            return _add_months(first, number) > last - timedelta(days=_TOLERANCE)
        return first + timedelta(days=number * _DAYS[schedule.interval_type or ""]) > last
    except KeyError:
        return False
    except (OverflowError, ValueError):  # after the year 9999
        return True


def _intervals(schedule: _Schedule, start: str | None, end: str | None) -> int:
    """The number of intervals between two dates.

    Raises:
        FieldError: it is not a whole number, or a date or the interval is missing.
    """
    if start is None or end is None or not schedule.interval:
        raise FieldError(".recurring", "it shows no next charge, no end or no interval")
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    days = (last - first).days
    if schedule.interval_type == IntervalType.MONTH:
        number = round(days / (_DAYS_OF_MONTH * schedule.interval))
        fits = abs((_add_months(first, number * schedule.interval) - last).days) <= _TOLERANCE
    else:
        number, rest = divmod(days, schedule.interval * _DAYS.get(schedule.interval_type or "", 1))
        fits = not rest and schedule.interval_type in _DAYS
    if not fits:
        raise FieldError(".recurring", "its dates are not a number of intervals apart")
    return number


def _add_months(day: date, months: int) -> date:
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
