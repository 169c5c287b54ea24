"""The same record without a model through both sides: raw JSON over HTTP, and `gateway.resource(…)`."""

from collections.abc import Callable
from typing import Any

import attrs
from anyio.from_thread import BlockingPortal

from gateway_async import ApiId, NotFoundError, RecordDeletedError, UntypedResource, ValidationError

from .raw_client import RawClient
from .two_sides import RefusedError, SdkSide, Side, Values, plain


class AbsentError(Exception):
    """A 404 or 409 of the gateway.

    Attributes:
        status: the status.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@attrs.frozen
class RawFamily:
    """Raw JSON over HTTP."""

    raw_client: RawClient
    plural: str
    name: str

    def create(self, **fields: Any) -> Values:
        return self._record(self.raw_client.post(f"/v2/{self.plural}", self.name, fields))

    def get(self, record_id: str, *expand: str) -> Values:
        query = {"expand": ",".join(expand)} if expand else {}
        return self._record(self.raw_client.http.get(f"/v2/{self.plural}/{record_id}", params=query))

    def get_by_api_id(self, api_id: str) -> Values:
        query = {"api_id": "1", "location_id": self.raw_client.info.location_id}
        return self._record(self.raw_client.http.get(f"/v2/{self.plural}/{api_id}", params=query))

    def list(self, **filters: Any) -> list[Values]:
        records: list[Values] = self._body(self.raw_client.http.get(f"/v2/{self.plural}", params=filters))[self.plural]
        return records

    def delete(self, record_id: str) -> int:
        response = self.raw_client.http.delete(f"/v2/{self.plural}/{record_id}")
        if response.status_code != 204:
            self._body(response)
        return response.status_code

    def _record(self, response: Any) -> Values:
        record: Values = self._body(response)[self.name]
        return record

    @staticmethod
    def _body(response: Any) -> Any:
        if response.status_code == 422:
            raise RefusedError(response.json()["errors"])
        if response.status_code in (404, 409):
            raise AbsentError(response.status_code)
        assert response.is_success, response.text
        return response.json()


@attrs.frozen
class SdkFamily:
    """The SDK's access to resources without models."""

    portal: BlockingPortal
    resource: UntypedResource

    def create(self, **fields: Any) -> Values:
        return plain(self._call(self.resource.create, fields))

    def get(self, record_id: str, *expand: str) -> Values:
        return plain(self._call(lambda: self.resource.get(record_id, expand=expand)))

    def get_by_api_id(self, api_id: str) -> Values:
        return plain(self._call(self.resource.get, ApiId(api_id)))

    def list(self, **filters: Any) -> list[Values]:
        sort = filters.pop("sort", None)
        return [plain(record) for record in self._call(lambda: self.resource.list(filters, sort=sort).to_list())]

    def delete(self, record_id: str) -> int:
        self._call(self.resource.delete, record_id)
        return 204

    def _call(self, send: Callable[..., Any], *args: Any) -> Any:
        try:
            return self.portal.call(send, *args)
        except (NotFoundError, RecordDeletedError) as error:
            raise AbsentError(error.status_code) from None
        except ValidationError as error:
            raise RefusedError(error.fields) from None


Family = RawFamily | SdkFamily
"""One way to send the requests of a resource."""


def family_of(side: Side, raw_client: RawClient, plural: str, name: str, api_id: str | None = None) -> Family:
    if isinstance(side, SdkSide):
        return SdkFamily(side.portal, side.gateway.resource(plural, name=name, api_id=api_id))
    return RawFamily(raw_client, plural, name)


def absence(send: Callable[[], object]) -> int:
    try:
        send()
    except AbsentError as absent:
        return absent.status
    raise AssertionError("the record exists")
