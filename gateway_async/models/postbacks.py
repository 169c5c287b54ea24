"""Postbacks: the gateway's notifications of changes, with the changed record (contract, *Events*)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async.models.codes import PostbackResource, PostbackType
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record | None, covariant=True)  # noqa: PLC0105  R for record


class HandlerStatements:
    """The SQL statements that the handlers of one postback collect, until the inbox executes them."""

    __slots__ = ("_is_closed", "_statements")

    def __init__(self) -> None:
        self._statements: list[tuple[str, tuple[Any, ...]]] = []
        self._is_closed = False

    def add(self, sql: str, values: tuple[Any, ...]) -> None:
        """Add a statement.

        Raises:
            RuntimeError: the statements have been taken.
        """
        if self._is_closed:
            raise RuntimeError("execute(): the handling of this postback has ended")
        self._statements.append((sql, values))

    def close(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Take all statements, in order. No more can be added afterwards."""
        self._is_closed = True
        return tuple(self._statements)


def _mask_repr(value: object) -> str:
    return mask_text(repr(value))


@attrs.frozen(kw_only=True)
class Postback(Generic[R]):
    """One change of one record."""

    type: PostbackType = attrs.field(repr=_mask_repr)
    """CREATE, UPDATE or DELETE; unknown values are kept."""
    resource: PostbackResource = attrs.field(repr=_mask_repr)
    """contact, transaction, transactionbatch or accountvault; unknown values are kept."""
    number_of_attempts: int | None
    """How often the gateway has tried to deliver it, including this time; None if not given."""
    record: R = attrs.field(repr=False, hash=False)
    """The record after the change, typed; None for an unknown resource."""
    raw: Mapping[str, Any] = attrs.field(repr=False, converter=dict, hash=False)
    """The record as received, a dict of JSON values; numbers with a fraction are `Decimal`."""
    record_id: str = attrs.field(repr=_mask_repr)
    """The record's `id`; "" if it has no id."""
    modified_ts: datetime | None
    """When the record was changed, UTC; None if the record does not contain a time.

    A batch has no such field, so it is the time when it was closed or, if open, created.
    """
    key: str = attrs.field(repr=False)
    """64 hexadecimal digits, the same for every delivery of the same change and different for any other change."""
    caught_up: bool = False
    """Whether `catch_up` found the change, instead of the gateway delivering it."""
    _statements: HandlerStatements | None = attrs.field(default=None, alias="_statements", repr=False, eq=False)

    def execute(self, sql: str, *values: Any) -> None:
        """Run a statement in the inbox's own database, from a handler.

        Statements run after all handlers of this postback have succeeded, in the transaction that marks the postback as
        handled. They take effect exactly once, or not at all if a handler or a statement fails.

        Args:
            sql: one statement, with the placeholders of the database (`?` in SQLite, `$1` in PostgreSQL).
            values: the values of the placeholders.

        Raises:
            RuntimeError: the receiver has no inbox, or the handling has ended.
        """
        if self._statements is None:
            raise RuntimeError("execute(): the receiver has no inbox")
        self._statements.add(sql, values)

    def with_statements(self, statements: HandlerStatements) -> "Postback[R]":
        """Copy the postback; the copy collects its handlers' statements in `statements`."""
        return attrs.evolve(self, _statements=statements)
