"""`TimeRange`: the values that a timestamp filter takes."""

from datetime import datetime
from typing import ClassVar, Self

import attrs

from gateway_async.errors import InvalidRequestError


@attrs.frozen
class TimeRange:
    """A span of time for a `*_ts` filter (contract, *Transaction batches*, filters).

        gateway.transactions.list({"created_ts": TimeRange.LAST_30_DAYS})
        gateway.transactions.list({"created_ts": TimeRange.custom(start, end)})

    The gateway evaluates the named ranges.
    """

    name: str
    """The gateway's name of the range, such as `last 30 days` or `custom`."""
    start: datetime | None = None
    """The first moment of a custom range, with a time zone; else None."""
    end: datetime | None = None
    """The last moment of a custom range, with a time zone; else None."""

    TODAY: ClassVar["TimeRange"]
    YESTERDAY: ClassVar["TimeRange"]
    THIS_WEEK: ClassVar["TimeRange"]
    LAST_WEEK: ClassVar["TimeRange"]
    LAST_30_DAYS: ClassVar["TimeRange"]
    THIS_MONTH: ClassVar["TimeRange"]
    LAST_MONTH: ClassVar["TimeRange"]

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidRequestError("TimeRange: name must be text (expected TimeRange.custom(start, end))")
        if self.name != "custom":
            return
        ends = [each for each in (self.start, self.end) if isinstance(each, datetime) and each.tzinfo]
        if len(ends) < 2:  # noqa: PLR2004
            raise InvalidRequestError("TimeRange.custom: start and end must be aware datetimes (with a tzinfo)")
        if ends[1].timestamp() < ends[0].timestamp():  # those of one zone compare their clocks, which may be set back
            raise InvalidRequestError("TimeRange.custom: end is before start")

    @classmethod
    def custom(cls, start: datetime, end: datetime) -> Self:
        """The range from `start` to `end`, both inclusive.

        Raises:
            InvalidRequestError: a datetime has no time zone, or `end` is before `start`.
        """
        return cls("custom", start, end)


for _name in ("TODAY", "YESTERDAY", "THIS_WEEK", "LAST_WEEK", "LAST_30_DAYS", "THIS_MONTH", "LAST_MONTH"):
    setattr(TimeRange, _name, TimeRange(_name.lower().replace("_", " ")))
