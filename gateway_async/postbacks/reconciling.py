"""What has changed but may not have been told: records are listed, and made into postbacks (contract, *Events*).

A list shows states, not changes. So of a record that was made and changed since, two postbacks are made, in this order:
CREATE, as old as the record, and UPDATE, as old as its last change; an inbox knows by their age which of them is news.
Both show the record as it is now.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import anyio
import attrs

from gateway_async._wire.postback import postback_of
from gateway_async.errors import InvalidRequestError
from gateway_async.models.codes import PostbackType
from gateway_async.models.page import Page
from gateway_async.models.postbacks import Postback
from gateway_async.models.record import Record
from gateway_async.models.time_range import TimeRange

__all__ = ["GatewayLists", "Reconciled", "raw_of", "reconcile"]

Accept = Callable[[Postback[Any]], Awaitable[bool]]
"""Stores or handles a postback, and says whether it had been missed."""

_FAR_FUTURE: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""Up to when records are asked for. By this computer's clock, "now" may be in the past of the gateway's."""

_AT_ONCE: Final = 250
"""How many records' postbacks are stored at once: an inbox writes them together."""

_MOST_FAILURES: Final = 100
"""Then it is not the postbacks that are to blame."""


@attrs.frozen
class Reconciled:
    """What a reconciliation came to.

    Attributes:
        checked: how many records the gateway listed.
        missed: of how many of them a change had not been delivered and was passed on. Without an inbox nobody knows
            what was delivered: all of them are.
    """

    checked: int
    missed: int


class _Pages(Protocol):
    def by_page(self) -> AsyncIterator[Page[Any]]: ...


class _Listed(Protocol):
    def list(self, filters: Mapping[str, Any] | None = None, *, sort: str | None = None) -> _Pages: ...


class GatewayLists(Protocol):
    """What reconciling needs of an `AsyncGateway`."""

    @property
    def contacts(self) -> _Listed:
        """The customers."""
        ...

    @property
    def account_vaults(self) -> _Listed:
        """The stored cards and bank accounts."""
        ...

    @property
    def transactions(self) -> _Listed:
        """The payments."""
        ...

    @property
    def transaction_batches(self) -> _Listed:
        """What is settled together."""
        ...


_LISTS: Final[Mapping[str, tuple[Callable[[GatewayLists], _Listed], tuple[str, ...]]]] = {
    "contact": (lambda gateway: gateway.contacts, ("modified_ts",)),
    "accountvault": (lambda gateway: gateway.account_vaults, ("modified_ts",)),
    "transaction": (lambda gateway: gateway.transactions, ("modified_ts",)),
    "transactionbatch": (lambda gateway: gateway.transaction_batches, ("created_ts", "batch_close_ts")),
}
"""Where the records of a resource are listed, and by which times; what refers to others comes after them."""


async def reconcile(
    gateway: GatewayLists, since: datetime, resources: Iterable[str | None], accept: Accept, *, stored: bool
) -> Reconciled:
    """Pass on what has changed since a moment: resource by resource, the records in the order of their making.

    They are listed in an order that no change alters: what changes meanwhile can come twice (which the list notices),
    but not be jumped over.

    Args:
        gateway: an `AsyncGateway`.
        since: an aware datetime; the gateway counts in whole seconds.
        resources: which; None among them is all. Those that cannot be listed are left out.
        accept: see `Accept`.
        stored: whether it stores postbacks, which can be done for many at once, or has them handled.

    Raises:
        InvalidRequestError: `since` is not an aware datetime, or lies beyond 2099.
        GatewayError: a list failed, or the inbox. What was passed on before stands.
        ExceptionGroup: handlers failed (`stored` being false); a hundred failures end it, fewer do not.
    """
    start, asked = _checked(since), set(resources)
    patient = _Patient(accept)
    take_all = partial(_all_taken, accept, _AT_ONCE) if stored else partial(_all_taken, patient.accept, 1)
    counts = [
        await _listed(listed(gateway), times, start, partial(_changes, resource, start, stored), take_all)
        for resource, (listed, times) in _LISTS.items()
        if resource in asked or None in asked
    ]
    patient.check()
    return Reconciled(checked=sum(checked for checked, _ in counts), missed=sum(missed for _, missed in counts))


def _checked(since: datetime) -> datetime:
    if not isinstance(since, datetime) or since.tzinfo is None:
        raise InvalidRequestError("since: must be an aware datetime (with a tzinfo)")
    if since >= _FAR_FUTURE:
        raise InvalidRequestError("since: must lie before the year 2100")
    return since.replace(microsecond=0)


Changes = Iterable[Postback[Any]]


async def _listed(
    records: _Listed,
    times: tuple[str, ...],
    start: datetime,
    changes: Callable[[Record], Changes],
    take_all: Callable[[Iterable[Changes]], Awaitable[int]],
) -> tuple[int, int]:
    """How many records of a resource were listed, and of how many something was missed."""
    checked = missed = 0
    for place, time in enumerate(times):
        pages = records.list({time: TimeRange.custom(start, _FAR_FUTURE)}, sort="created_ts").by_page()
        async for page in pages:
            fresh = [each for each in page.records if not _is_among(each, times[:place], start)]
            checked += len(fresh)
            missed += await take_all(changes(each) for each in fresh)
    return checked, missed


def _is_among(record: Record, times: tuple[str, ...], start: datetime) -> bool:
    """Whether a record was listed by one of these times before."""
    return any(_is_since(start, getattr(record, time, None)) for time in times)


def _is_since(start: datetime, moment: datetime | None) -> bool:
    return moment is not None and moment >= start


def _changes(resource: str, start: datetime, stored: bool, record: Record) -> Iterator[Postback[Any]]:
    """The postbacks that a listed record stands for, in their order.

    One that was changed in the second of its making is an UPDATE, too, if an inbox can tell whether that is news.
    """
    created: datetime | None = getattr(record, "created_ts", None)
    changed = _last_changed(record)
    raw = raw_of(record)
    is_new = _is_since(start, created)
    if is_new:
        yield _postback(PostbackType.CREATE, resource, raw, created)
    if not is_new or (created and changed and (changed > created or stored)):
        yield _postback(PostbackType.UPDATE, resource, raw, changed)


def _last_changed(record: Record) -> datetime | None:
    """A batch says when it was closed, the others when they were changed."""
    moment: datetime | None = getattr(record, "modified_ts", None) or getattr(record, "batch_close_ts", None)
    return moment


def _postback(type_: PostbackType, resource: str, raw: Mapping[str, Any], at: datetime | None) -> Postback[Any]:
    return attrs.evolve(postback_of(type_, resource, raw, reconciled=True), modified_ts=at)


def raw_of(record: Record) -> dict[str, Any]:
    """A record as a postback would bring it: JSON values that read as the same record.

    Amounts are texts with two decimals, times whole Unix seconds; what the record does not say is None. Links are
    left out, since no postback has them.
    """
    names = (field.name for field in attrs.fields(type(record)) if field.name != "extra")
    raw = {name: _plain(getattr(record, name)) for name in names} | dict(record.extra)
    raw.pop("_links", None)
    return raw


def _amount(value: Decimal) -> str:
    whole, _, decimals = f"{value:f}".partition(".")
    return f"{whole}.{decimals:0<2}"


_PLAIN: Sequence[tuple[type[Any], Callable[[Any], Any]]] = (
    (bool, bool),
    (int, int),
    (str, str.__str__),
    (Decimal, _amount),
    (datetime, lambda moment: int(moment.timestamp())),
    (date, date.isoformat),
    (Mapping, dict),
    (tuple, list),
)
"""How JSON writes what a record holds; the first kind that fits."""


def _plain(value: Any) -> Any:
    if value is None:  # as most are
        return None
    return next((written(value) for kind, written in _PLAIN if isinstance(value, kind)), value)


async def _all_taken(accept: Accept, at_once: int, records: Iterable[Changes]) -> int:
    """Of how many records something was taken; so many at once."""
    missed, waiting = 0, iter(records)
    while some := list(islice(waiting, at_once)):
        missed += await _taken_together(accept, some)
    return missed


async def _taken_together(accept: Accept, records: Iterable[Changes]) -> int:
    missed: list[bool] = []
    errors: list[Exception] = []

    async def one(changes: Changes) -> None:
        try:
            missed.append(any([await accept(change) for change in changes]))
        except Exception as error:  # noqa: BLE001  raised below, and not in a group
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for changes in records:
            tasks.start_soon(one, changes)
    if errors:
        raise errors[0]
    return sum(missed)


class _Patient:
    """Has postbacks handled; one that cannot be handled does not keep the others from it."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._errors: list[Exception] = []

    async def accept(self, postback: Postback[Any]) -> bool:
        """Have a postback handled; a failure counts as missed, and is kept."""
        try:
            return await self._accept(postback)
        except Exception as error:  # noqa: BLE001  raised at the end
            self._errors.append(error)
            if len(self._errors) == _MOST_FAILURES:
                self.check()
            return True

    def check(self) -> None:
        """Raise what the handlers raised.

        Raises:
            ExceptionGroup: at least one has failed.
        """
        if self._errors:
            raise ExceptionGroup("handlers failed while reconciling", self._errors)
