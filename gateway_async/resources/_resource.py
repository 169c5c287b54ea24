"""The base classes of the resources, by what they can do: list, delete, write, update, and create once.

`attribute` makes an attribute of the client.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import attrs

from gateway_async._execution.execute import CallExecutor
from gateway_async._execution.pages import Pages, pages_of
from gateway_async._secrets import seal
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import DuplicateError, GatewayError, InvalidRequestError, OutcomeUnknownError
from gateway_async.models.record import ApiId, Record
from gateway_async.models.request import Request

R = TypeVar("R", bound=Record)
N_contra = TypeVar("N_contra", contravariant=True)
U_contra = TypeVar("U_contra", bound=Request, contravariant=True)
OfClient = TypeVar("OfClient", bound="Resource")


@attrs.frozen
class Resource:
    """A resource of the client.

    Attributes:
        spec: the description from which its calls are built; None if they are built without one.
    """

    _executor: CallExecutor
    _defaults: RequestDefaults

    spec: ClassVar[ResourceSpec[Any] | None] = None


class ResourceAttribute:
    """An attribute of the client that creates its resource at the first use.

    On the class, it is the resource's class, as autospec of `unittest.mock` and inspectors expect.

    Attributes:
        kind: the resource's class.
    """

    def __init__(self, kind: type[Resource]) -> None:
        self.kind = kind

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, client: Any, owner: type[Any]) -> Any:
        if client is None:
            return self.kind
        created = vars(client)[self._name] = self.kind(client._executor, client._defaults)  # noqa: SLF001  its client
        return created


def attribute(kind: type[OfClient]) -> OfClient:
    """A `ResourceAttribute`; for type checkers it is the resource."""
    return cast("OfClient", ResourceAttribute(kind))


class ListableResource(Resource, Generic[R]):
    """A resource whose records can be listed (contract, *Pagination, sorting*)."""

    spec: ClassVar[ResourceSpec[Any]]

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> R:
        """Read a record. `expand` adds related records to its `.extra`.

        Raises:
            NotFoundError: it does not exist; if it was deleted, `RecordDeletedError`.
        """
        record: R = await self._executor.execute(self.spec.get(id, self._defaults, expand))
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
        filters, extra_filters = seal(filters, self.spec.name), seal(extra_filters)  # a traceback shows local variables
        return pages_of(
            self.spec,
            self._executor,
            filters,
            sort=sort,
            page_size=page_size,
            expand=expand,
            extra_filters=extra_filters,
            names=self.spec.names_to_check if self._defaults.check_limits else None,
        )


class DeletableResource(ListableResource[R]):
    """A resource whose records can be deleted."""

    async def delete(self, id: str | ApiId) -> None:
        """Delete a record.

        Raises:
            ValidationError: the gateway refuses, for example because a recurring payment uses it; `.fields` says why.
            NotFoundError: it does not exist; if it is already deleted or cannot be, `RecordDeletedError`.
        """
        await self._executor.execute(self.spec.delete(id, self._defaults))


class WritableResource(Resource, Generic[R]):
    """A resource whose records are created or changed."""

    spec: ClassVar[ResourceSpec[Any]]

    async def resolve(self, error: OutcomeUnknownError, wait: float = 30.0) -> R | None:
        """Look up the outcome of a write again, and return its record.

        It is `error.resolve(wait)` with the record's own type: it waits at most `wait` seconds. Deletions and
        notifications return no record. Use `error.resolve()` for them.

        Returns:
            The record. None means that the write was certainly not executed.

        Raises:
            OutcomeUnknownError: the outcome is still unknown. Call `resolve` later; do not send the write again.
            InvalidRequestError: `error` is of a call that returns another record, or `wait` is not a number of 0 or
                more.
        """
        _check_error(error, OutcomeUnknownError, self._record_type)
        return cast("R | None", await error.resolve(wait))

    @property
    def _record_type(self) -> type[Record]:
        return self.spec.record


class UpdatableResource(WritableResource[R], Generic[R, U_contra]):
    """A resource whose records can be changed."""

    async def update(self, id: str | ApiId, changes: U_contra) -> R:
        """Change a record. If the response is lost, the client reads the record.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway refuses, for example because the record is closed; `.fields` says why.
            OutcomeUnknownError: it may have been changed; `resolve(error)` looks it up again.
        """
        changes = seal(changes)  # a mapping by mistake, and an error's traceback shows local variables
        record: R = await self._executor.execute(self.spec.update(id, changes, self._defaults))
        return record


class CreatableResource(WritableResource[R], ABC, Generic[R, N_contra]):
    """A resource whose creates take an integrator id (contract, *Integrator primary key*)."""

    @abstractmethod
    async def create(self, new: N_contra) -> R:
        """Create a record."""

    async def create_once(self, new: N_contra) -> R:
        """Create a record, or return the one that has its integrator id.

        `new` needs an integrator id of your own. The call can be repeated at any time, in any process: the record is
        created once. If the id is taken, the client reads its record and compares it with what `new` sends.

        Returns:
            The record, new or existing. An existing payment may have been declined, or voided since: check it.

        Raises:
            MismatchedWriteError: the record that has the id differs: it is in `.record`, and `.differences` says how.
            DuplicateError: the id is taken, but its record cannot be found, for example because it was deleted.
            InvalidRequestError: nothing was sent: the integrator id is missing, or another problem in `.problems`.
            GatewayError: as for `create`.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._once.create(new)

    async def existing(self, error: DuplicateError) -> R:
        """Read the record that has the integrator id of a refused create.

        It is `error.fetch()` with the record's own type. Its values are not compared.

        Raises:
            NotFoundError: the record has been deleted since, or is in a location that the user cannot see.
            InvalidRequestError: `error` is of a call that returns another record.
            GatewayError: the record cannot be read.
        """
        _check_error(error, DuplicateError, self._record_type)
        return cast("R", await error.fetch())

    @property
    def _once(self) -> Self:
        """The resource with creates that accept an equal record that has the id."""
        return attrs.evolve(self, defaults=attrs.evolve(self._defaults, accepts_existing=True))


def _check_error(error: Any, kind: type[GatewayError], record: type[Record]) -> None:
    if not isinstance(error, kind):
        article = "an" if kind is OutcomeUnknownError else "a"
        raise InvalidRequestError(f"error: must be {article} {kind.__name__}, not {type(error).__name__}")
    if getattr(error, "record_type", None) is not record:
        raise InvalidRequestError(
            f"error: {error.call or 'its call'} returns no {record.__name__} (expected an error of a call that does)"
        )
