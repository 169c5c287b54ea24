"""Postbacks: what the gateway tells of a change, and the record as it is after it (contract, *Events*)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async.models.codes import PostbackResource, PostbackType
from gateway_async.models.record import Record

__all__ = ["Postback", "Writes"]

R = TypeVar("R", bound=Record | None, covariant=True)  # noqa: PLC0105  R for record


class Writes:
    """The statements of one handling of a postback, until they are taken to be carried out."""

    __slots__ = ("_statements", "_taken")

    def __init__(self) -> None:
        self._statements: list[tuple[str, tuple[Any, ...]]] = []
        self._taken = False

    def add(self, sql: str, values: tuple[Any, ...]) -> None:
        """One more statement.

        Raises:
            RuntimeError: they have been taken.
        """
        if self._taken:
            raise RuntimeError("the handling of this postback has ended: nothing can be written with it any more")
        self._statements.append((sql, values))

    def take(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """All statements, in order; no other can be added."""
        self._taken = True
        return tuple(self._statements)


def _masked(value: object) -> str:
    return mask_text(repr(value))


@attrs.frozen(kw_only=True)
class Postback(Generic[R]):
    """One change of one record.

    Attributes:
        type: CREATE, UPDATE or DELETE; a new word is kept.
        resource: contact, transaction, transactionbatch or accountvault; a new word is kept.
        number_of_attempts: how often the gateway has tried to deliver it, this time included; None if it did not say.
        record: the record as it is now, typed; None for a resource that is not known.
        raw: the record as it came, a dict of JSON values; numbers with a fraction are `Decimal`.
        record_id: the record's `id`; "" if it has none.
        modified_ts: when the record was changed, UTC; of a batch, which has no such field, when it was closed, or else
            made; None if it does not say.
        key: 64 hexadecimal digits, the same for every delivery of the same change and for no other.
        reconciled: whether it was not delivered, but found by `reconcile`.
    """

    type: PostbackType = attrs.field(repr=_masked)
    resource: PostbackResource = attrs.field(repr=_masked)
    number_of_attempts: int | None
    record: R = attrs.field(repr=False, hash=False)
    raw: Mapping[str, Any] = attrs.field(repr=False, converter=dict, hash=False)
    record_id: str = attrs.field(repr=_masked)
    modified_ts: datetime | None
    key: str = attrs.field(repr=False)
    reconciled: bool = False
    _writes: Writes | None = attrs.field(default=None, alias="_writes", repr=False, eq=False)

    def write(self, sql: str, *values: Any) -> None:
        """In a handler, with an inbox: have a statement run in the inbox's own database.

        It runs after the handlers of this postback have succeeded, in the transaction that marks it handled: its effect
        is there exactly once, or not at all if a handler or a statement fails.

        Args:
            sql: one statement; its placeholders are the database's (`?` in SQLite, `$1` in PostgreSQL).
            values: what they stand for.

        Raises:
            RuntimeError: there is no inbox, or the handling has ended.
        """
        if self._writes is None:
            raise RuntimeError("there is no inbox to write with: give the receiver one, and write in its handlers")
        self._writes.add(sql, values)

    def writing(self, writes: Writes) -> "Postback[R]":
        """This postback, with a place for what its handlers write."""
        return attrs.evolve(self, _writes=writes)
