"""`Listed`: what every resource with a list has."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from gateway_async._net.pages import Pages, pages_of
from gateway_async._net.sender import Sender
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.record import Record

__all__ = ["Listed"]

R = TypeVar("R", bound=Record)


@attrs.frozen
class Listed(Generic[R]):
    """A resource whose records can be listed (contract, *Pagination, sorting*)."""

    _sender: Sender
    _scope: Scope

    noun: ClassVar[Noun[Any]]

    def list(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        sort: str | None = None,
        page_size: int | None = None,
        expand: Sequence[str] = (),
    ) -> Pages[R]:
        """The records that match; nothing is fetched until the list is awaited or iterated.

        Args:
            filters: field → value. A sequence means any of its values (of codes, ids and numbers); text matches parts
                of a text; a time takes a `TimeRange`.
            sort: a field's name, with a minus before it for descending order.
            page_size: records for each page, 5000 at most; 1000 by default when iterating.
            expand: related records to add to each record's `.extra`.

        Raises:
            InvalidRequestError: something of it cannot be sent; `.problems` says what.
        """
        return pages_of(self.noun, self._sender, filters, sort=sort, page_size=page_size, expand=expand)
