"""`gateway.resource(…)`: resources that this package has no models for."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from gateway_async._execution.execute import CallExecutor
from gateway_async._execution.pages import Pages, pages_of
from gateway_async._secrets import seal
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.untyped import UntypedSpec
from gateway_async.errors import InvalidRequestError
from gateway_async.models.record import ApiId
from gateway_async.models.untyped import UntypedRecord
from gateway_async.resources import RESOURCES
from gateway_async.resources._resource import CreatableResource

_NO_PARAMS: Final[Mapping[str, Any]] = {}
_TYPED_ONLY: Final = {
    "routertransactions": "gateway.router_transactions",
    "routeraccountvaults": "gateway.router_account_vaults",
    "token": "gateway.tokens",
}
"""Paths whose calls need more than a mapping: lookups in another resource, or masked paths."""


@attrs.frozen
class UntypedResource(CreatableResource[UntypedRecord, Mapping[str, Any]]):
    """A resource of the gateway without models. Requests are mappings, and records are `UntypedRecord` values.

    The values of sensitive fields (`account_number`, `cvv`, `track_data`, …) are masked in errors and logs.
    `create_once` needs a resource of which the gateway takes each `api_id` once.
    """

    _spec: UntypedSpec

    async def create(self, new: Mapping[str, Any]) -> UntypedRecord:
        """Create a record from its fields.

        If the resource was named with an `api_id`, an omitted integrator id is generated and an omitted `location_id`
        is the client's. A lost response is then looked up by the integrator id. If the record is not found, the call is
        sent again only for resources that the package also has models for: a gateway may ignore an unknown id. Without
        an `api_id`, the call is sent again only if it was certainly not sent. With a `terminal_id`, the call waits at
        the terminal.

        Args:
            new: field → value, without the wrapper. Amounts are `Decimal`, `int` or `str`, never floats.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been created; `resolve(error)` looks it up again.
        """
        new = seal(new, self._spec.name)  # an error's traceback shows local variables
        return await self._executor.execute(self._spec.create_from(new, self._defaults))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> UntypedRecord:
        """Read a record. `expand` adds related records.

        Raises:
            NotFoundError: it does not exist; if it was deleted, `RecordDeletedError`.
        """
        return await self._executor.execute(self._spec.get(id, self._defaults, expand))

    def list(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        sort: str | None = None,
        page_size: int | None = None,
        expand: Sequence[str] = (),
    ) -> Pages[UntypedRecord]:
        """List the records that match the filters, as the typed resources do.

        Raises:
            InvalidRequestError: an argument cannot be sent; `.problems` says which and why.
        """
        filters = seal(filters, self._spec.name)  # as above
        return pages_of(self._spec, self._executor, filters, sort=sort, page_size=page_size, expand=expand)

    async def update(self, id: str | ApiId, changes: Mapping[str, Any]) -> UntypedRecord:
        """Change a record. If the response is lost, the client reads the record.

        A change with an `action` is not looked up, and is sent again only if it was certainly not sent.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects a value; `.fields` says which.
            OutcomeUnknownError: it may have been executed; `resolve(error)` looks it up again.
        """
        changes = seal(changes, self._spec.name)  # as above
        return await self._executor.execute(self._spec.update_from(id, changes, self._defaults))

    async def delete(self, id: str | ApiId) -> None:
        """Delete a record.

        Raises:
            ValidationError: the gateway refuses; `.fields` says why.
            NotFoundError: it does not exist; if it is already deleted or cannot be, `RecordDeletedError`.
        """
        await self._executor.execute(self._spec.delete(id, self._defaults))

    async def action(
        self,
        id: str | ApiId,
        verb: str,
        content: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] = _NO_PARAMS,
        method: str = "POST",
    ) -> UntypedRecord | None:
        """Perform an action of the path, such as `skipPayment`.

        The call is sent again only if it was certainly not sent.

        Args:
            id: the record.
            verb: the word in the path.
            content: the fields of the body, if the action takes one.
            params: query parameters, such as `{"skip_count": 1}`.
            method: `POST`, `PUT` or `DELETE`.

        Returns:
            The record in the response, or None for a response without one.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway refuses; `.fields` says why.
            OutcomeUnknownError: it may have been executed.
        """
        content, params = seal(content, self._spec.name), seal(params)  # as above
        call = self._spec.act(id, verb, self._defaults, method=method, content=content, params=params)
        return await self._executor.execute(call)

    @property
    def _record_type(self) -> type[UntypedRecord]:
        return UntypedRecord


def untyped_resource(
    executor: CallExecutor, defaults: RequestDefaults, plural: str, name: str, api_id: str | None
) -> UntypedResource:
    """The resource at `/v2/{plural}`.

    Raises:
        InvalidRequestError: a name cannot be part of a path or a JSON key, or the resource needs its own methods.
    """
    names = {"plural": plural, "name": name, **({} if api_id is None else {"api_id": api_id})}
    problems = [
        f"{argument}: must be a lower-case word, such as recurrings"
        for argument, value in names.items()
        if not (isinstance(value, str) and value.isascii() and value.isidentifier() and value == value.lower())
    ]
    if plural in _TYPED_ONLY:
        problems.append(f"plural: {plural} needs {_TYPED_ONLY[plural]}")
    if problems:
        raise InvalidRequestError(problems)
    typed = None if api_id is None else _typed_spec(plural, api_id)
    return UntypedResource(executor, defaults, UntypedSpec(name=name, plural=plural, api_id=api_id, typed=typed))


def _typed_spec(plural: str, api_id: str) -> ResourceSpec[Any] | None:
    """The spec of a path with models and this `api_id`. Crash recovery knows no other resources."""
    specs = (kind.spec for kind in RESOURCES.values())
    return next((spec for spec in specs if spec and (spec.plural, spec.api_id) == (plural, api_id)), None)
