"""Find missed changes: list records and convert them to postbacks (contract, *Events*).

A list shows states, not changes. A record that was created and changed since then yields two postbacks, in this order:
a CREATE with the time of creation, and an UPDATE with the time of the last change. An inbox decides by these times
which of them was missed. Both show the record as it is now.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import anyio
import attrs

from gateway_async._secrets import unseal
from gateway_async._wire.postback import postback_of
from gateway_async.errors import InvalidRequestError
from gateway_async.models.codes import PostbackType
from gateway_async.models.page import Page
from gateway_async.models.postbacks import Postback
from gateway_async.models.record import Record
from gateway_async.models.time_range import TimeRange

Accept = Callable[[Postback[Any]], Awaitable[bool]]
"""Store or handle a postback, and return whether it was missed."""

_FAR_FUTURE: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""The end of the listed time range. "Now" would not do, because this computer's clock may be behind the gateway's."""

_CONCURRENT_RECORDS: Final = 250
"""How many records are stored concurrently, which lets the inbox write their postbacks together."""

_MAX_FAILURES: Final = 100
"""Failures after which catching up stops: single postbacks do not cause so many."""


@attrs.frozen
class CatchUpResult:
    """The result of catching up.

    Attributes:
        checked: how many records the gateway listed.
        missed: how many of them had a change that was not delivered before and was passed on now. Without an inbox,
            this is unknown, so all listed records count.
    """

    checked: int
    missed: int


class _PageSource(Protocol):
    def by_page(self) -> AsyncIterator[Page[Any]]: ...


class _Listable(Protocol):
    def list(self, filters: Mapping[str, Any] | None = None, *, sort: str | None = None) -> _PageSource: ...


class GatewayLists(Protocol):
    """The part of an `AsyncGateway` that catching up uses."""

    @property
    def contacts(self) -> _Listable:
        """The customers."""
        ...

    @property
    def account_vaults(self) -> _Listable:
        """The stored cards and bank accounts."""
        ...

    @property
    def transactions(self) -> _Listable:
        """The payments."""
        ...

    @property
    def transaction_batches(self) -> _Listable:
        """The transaction batches."""
        ...


_LISTS: Final[Mapping[str, tuple[Callable[[GatewayLists], _Listable], tuple[str, ...]]]] = {
    "contact": (lambda gateway: gateway.contacts, ("modified_ts",)),
    "accountvault": (lambda gateway: gateway.account_vaults, ("modified_ts",)),
    "transaction": (lambda gateway: gateway.transactions, ("modified_ts",)),
    "transactionbatch": (lambda gateway: gateway.transaction_batches, ("created_ts", "batch_close_ts")),
}
"""Resource → its list, and the time fields to filter by. Records that refer to others come after them."""


async def catch_up(
    gateway: GatewayLists, since: datetime, resources: Iterable[str | None], accept: Accept, *, stored: bool
) -> CatchUpResult:
    """Pass on the changes since a moment, resource by resource.

    Records are listed in order of creation, which no change alters. A record that stays in the list is passed on once,
    whatever is created, changed and deleted meanwhile.

    Args:
        gateway: an `AsyncGateway`.
        since: an aware datetime; the gateway counts in whole seconds.
        resources: the resources to list; None among them means all. Resources that cannot be listed are ignored.
        accept: see `Accept`.
        stored: whether `accept` stores postbacks, which is done for many at once, or handles them.

    Raises:
        InvalidRequestError: `since` is not an aware datetime, or is after 2099.
        GatewayError: a list or the inbox failed. Changes that were passed on before are kept.
        ExceptionGroup: handlers failed (only if `stored` is false). Catching up stops at 100 failures; with fewer it
            continues to the end.
    """
    start, asked = _check_since(since), set(resources)
    collector = _FailureCollector(accept)
    accept_all = (
        partial(_accept_all, accept, _CONCURRENT_RECORDS) if stored else partial(_accept_all, collector.accept, 1)
    )
    counts = [
        await _list_changes(listed(gateway), times, start, partial(_changes, resource, start, stored), accept_all)
        for resource, (listed, times) in _LISTS.items()
        if resource in asked or None in asked
    ]
    collector.check()
    return CatchUpResult(checked=sum(checked for checked, _ in counts), missed=sum(missed for _, missed in counts))


def _check_since(since: datetime) -> datetime:
    if not isinstance(since, datetime) or since.tzinfo is None:
        raise InvalidRequestError("since: must be an aware datetime (with a tzinfo)")
    if since >= _FAR_FUTURE:
        raise InvalidRequestError("since: must lie before the year 2100")
    return since.replace(microsecond=0)


Changes = Iterable[Postback[Any]]


async def _list_changes(
    records: _Listable,
    times: tuple[str, ...],
    start: datetime,
    changes: Callable[[Record], Changes],
    accept_all: Callable[[Iterable[Changes]], Awaitable[int]],
) -> tuple[int, int]:
    """List a resource and pass on its changes.

    Returns:
        How many records were listed, and how many of them had missed changes.
    """
    checked = missed = 0
    for index, time in enumerate(times):
        pages = records.list({time: TimeRange.custom(start, _FAR_FUTURE)}, sort="created_ts").by_page()
        async for page in pages:
            fresh = [each for each in page.records if not _was_listed_by(each, times[:index], start)]
            checked += len(fresh)
            missed += await accept_all(changes(each) for each in fresh)
    return checked, missed


def _was_listed_by(record: Record, times: tuple[str, ...], start: datetime) -> bool:
    """Whether a record was already listed by one of these times."""
    return any(_is_since(start, getattr(record, time, None)) for time in times)


def _is_since(start: datetime, moment: datetime | None) -> bool:
    return moment is not None and moment >= start


def _changes(resource: str, start: datetime, stored: bool, record: Record) -> Iterator[Postback[Any]]:
    """Yield the postbacks of a listed record, in order.

    A record that was changed in the second of its creation also yields an UPDATE, if an inbox can decide whether that
    was missed.
    """
    created: datetime | None = getattr(record, "created_ts", None)
    changed: datetime | None = getattr(record, "modified_ts", None) or getattr(record, "batch_close_ts", None)
    raw = raw_of(record)
    is_new = _is_since(start, created)
    if is_new:
        yield _postback(PostbackType.CREATE, resource, raw, created)
    if not is_new or (created and changed and (changed > created or stored)):
        yield _postback(PostbackType.UPDATE, resource, raw, changed)


def _postback(type_: PostbackType, resource: str, raw: Mapping[str, Any], at: datetime | None) -> Postback[Any]:
    return attrs.evolve(postback_of(type_, resource, raw, caught_up=True), modified_ts=at)


def raw_of(record: Record) -> dict[str, Any]:
    """Convert a record to the JSON values of a postback.

    Amounts are strings with two decimals, times are whole Unix seconds, and missing fields are None. Links are omitted,
    since postbacks do not contain them.
    """
    names = (field.name for field in attrs.fields(type(record)) if field.name != "extra")
    raw: dict[str, Any] = {name: _to_json(getattr(record, name)) for name in names} | unseal(record.extra)
    raw.pop("_links", None)
    return raw


def _amount(value: Decimal) -> str:
    whole, _, decimals = f"{value:f}".partition(".")
    return f"{whole}.{decimals:0<2}"


_CONVERSIONS: Sequence[tuple[type[Any], Callable[[Any], Any]]] = (
    (bool, bool),
    (int, int),
    (str, str.__str__),
    (Decimal, _amount),
    (datetime, lambda moment: int(moment.timestamp())),
    (date, date.isoformat),
    (Mapping, dict),
    (tuple, list),
)
"""Type of a field → its conversion to JSON; the first match applies."""


def _to_json(value: Any) -> Any:
    if value is None:  # the most frequent case
        return None
    return next((convert(value) for kind, convert in _CONVERSIONS if isinstance(value, kind)), value)


async def _accept_all(accept: Accept, concurrency: int, records: Iterable[Changes]) -> int:
    """Pass on the changes of records, `concurrency` records at a time.

    Returns:
        How many records had missed changes.
    """
    missed, waiting = 0, iter(records)
    while some := list(islice(waiting, concurrency)):
        missed += await _accept_together(accept, some)
    return missed


async def _accept_together(accept: Accept, records: Iterable[Changes]) -> int:
    missed: list[bool] = []
    errors: list[Exception] = []

    async def accept_record(changes: Changes) -> None:
        try:
            missed.append(any([await accept(change) for change in changes]))
        except Exception as error:  # noqa: BLE001  raised below, and not in a group
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for changes in records:
            tasks.start_soon(accept_record, changes)
    if errors:
        raise errors[0]
    return sum(missed)


@attrs.define(eq=False, repr=False)
class _FailureCollector:
    """Passes on all postbacks, and collects the failures of their handlers until the end."""

    _accept: Accept
    _errors: list[Exception] = attrs.field(init=False, factory=list)

    async def accept(self, postback: Postback[Any]) -> bool:
        """Handle a postback; a failure is collected and counts as missed."""
        try:
            return await self._accept(postback)
        except Exception as error:  # noqa: BLE001  raised at the end
            self._errors.append(error)
            if len(self._errors) == _MAX_FAILURES:
                self.check()
            return True

    def check(self) -> None:
        """Raise the collected failures.

        Raises:
            ExceptionGroup: at least one handler has failed.
        """
        if self._errors:
            raise ExceptionGroup("handlers failed while catching up", self._errors)
