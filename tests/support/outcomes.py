"""Outcomes of calls that were in doubt, as records of a known type."""

from typing import TypeVar

from gateway_async import OutcomeUnknownError
from gateway_async.models.record import Record

RecordT = TypeVar("RecordT", bound=Record)


async def resolved(error: OutcomeUnknownError, kind: type[RecordT]) -> RecordT:
    """Look the outcome up; it has to be a record of this type."""
    record = await error.resolve()
    assert isinstance(record, kind)
    return record
