"""The base classes of the resources: `Resource`, `ListableResource` and `DeletableResource`."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from gateway_async._execution.executor import CallExecutor
from gateway_async._execution.pages import Pages, pages_of
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.scope import Scope
from gateway_async.models.identifiers import ApiId
from gateway_async.models.record import Record

__all__ = ["DeletableResource", "ListableResource", "Resource"]

R = TypeVar("R", bound=Record)


@attrs.frozen
class Resource:
    """A resource of the client.

    Attributes:
        spec: the description from which its calls are built; None if they are built without one.
    """

    _executor: CallExecutor
    _scope: Scope

    spec: ClassVar[ResourceSpec[Any] | None] = None


@attrs.frozen
class ListableResource(Resource, Generic[R]):
    """A resource whose records can be listed (contract, *Pagination, sorting*)."""

    spec: ClassVar[ResourceSpec[Any]]

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> R:  # noqa: A002
        """Read a record. `expand` adds related records to its `.extra`.

        Raises:
            NotFoundError: it does not exist; if it was deleted, `RecordDeletedError`.
        """
        record: R = await self._executor.execute(self.spec.get(id, self._scope, expand))
        return record

    def list(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        sort: str | None = None,
        page_size: int | None = None,
        expand: Sequence[str] = (),
        extra_filters: Mapping[str, Any] | None = None,
    ) -> Pages[R]:
        """List the records that match the filters.

        Nothing is fetched until the result is awaited or iterated.

        Args:
            filters: field → value. A sequence of codes, ids or numbers matches any of its values. A text matches parts
                of a text. A time field takes a `TimeRange`. A name that the record does not have is an error, unless
                the client was created with `check_limits=False`.
            sort: a field name, with a minus before it for descending order.
            page_size: records per page, at most 5000; 1000 by default when iterating.
            expand: related records to add to each record's `.extra`.
            extra_filters: filters whose names this version of the package does not know.

        Raises:
            InvalidRequestError: an argument cannot be sent; `.problems` says which and why.
        """
        return pages_of(
            self.spec,
            self._executor,
            filters,
            sort=sort,
            page_size=page_size,
            expand=expand,
            extra_filters=extra_filters,
            names=self.spec.names_to_check if self._scope.check_limits else None,
        )


@attrs.frozen
class DeletableResource(ListableResource[R]):
    """A resource whose records can be deleted."""

    async def delete(self, id: str | ApiId) -> None:  # noqa: A002
        """Delete a record.

        Raises:
            ValidationError: the gateway refuses, for example because a recurring payment uses it; `.fields` says why.
            NotFoundError: it does not exist; if it is already deleted or cannot be, `RecordDeletedError`.
        """
        await self._executor.execute(self.spec.delete(id, self._scope))
