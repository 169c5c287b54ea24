"""The same record through both sides: raw JSON over HTTP, and the SDK.

The SDK writes records by `gateway.resource`, and reads them by its typed resources where it has them.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gateway_async import AsyncGateway, StatusError, UserApiKey, ValidationError
from gateway_async.sandbox import Sandbox
from tests.support.waiting import PATIENCE

from .two_sides import Values, plain

WRAPPERS = {"locations": "location", "users": "user", "terminals": "terminal", "authroleusers": "authroleuser"}


class RefusedRecordError(Exception):
    """A request that the gateway refused.

    Attributes:
        status: the HTTP status.
        fields: the messages of a 422, by field.
    """

    def __init__(self, status: int, fields: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {dict(fields)}")
        self.status = status
        self.fields = {name: list(messages) for name, messages in fields.items()}


@attrs.frozen
class RawRecords:
    """Raw JSON over HTTP."""

    http: httpx.Client

    def create(self, plural: str, fields: Values) -> Values:
        return self._send("POST", plural, f"/v2/{plural}", fields, 201)

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        return self._send("PUT", plural, f"/v2/{plural}/{record_id}", fields)

    def delete(self, plural: str, record_id: str) -> None:
        response = self._check(self.http.delete(f"/v2/{plural}/{record_id}"), 204)
        assert response.content == b""

    def act(self, plural: str, record_id: str, verb: str) -> Values:
        return self._send("POST", plural, f"/v2/{plural}/{record_id}/{verb}")

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        return self._send("GET", plural, f"/v2/{plural}/{record_id}", params={"expand": ",".join(expand)})

    def find(self, plural: str, filters: Values) -> list[Values]:
        records: list[Values] = self._check(self.http.get(f"/v2/{plural}", params=dict(filters)), 200).json()[plural]
        return records

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator["RecordSide"]:
        headers = {**self.http.headers, "user-id": user_id, "user-api-key": key}
        with httpx.Client(base_url=self.http.base_url, headers=headers, timeout=PATIENCE) as http:
            yield RawRecords(http)

    def _send(
        self, method: str, plural: str, path: str, fields: Values | None = None, status: int = 200, **options: Any
    ) -> Values:
        body = None if fields is None else {WRAPPERS[plural]: dict(fields)}
        response = self._check(self.http.request(method, path, json=body, **options), status)
        record: Values = response.json()[WRAPPERS[plural]]
        return record

    @staticmethod
    def _check(response: httpx.Response, status: int) -> httpx.Response:
        if response.is_client_error:
            raise RefusedRecordError(response.status_code, response.json().get("errors", {}))
        assert response.status_code == status, response.text
        return response


@attrs.frozen
class SdkRecords:
    """The SDK."""

    portal: BlockingPortal
    gateway: AsyncGateway
    info: Any

    def create(self, plural: str, fields: Values) -> Values:
        return plain(self._call(self._untyped(plural).create, fields))

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        return plain(self._call(self._untyped(plural).update, record_id, fields))

    def delete(self, plural: str, record_id: str) -> None:
        self._call(self._untyped(plural).delete, record_id)

    def act(self, plural: str, record_id: str, verb: str) -> Values:
        return plain(self._call(self._untyped(plural).action, record_id, verb))

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        return plain(self._call(lambda: self._typed(plural).get(record_id, expand=expand)))

    def find(self, plural: str, filters: Values) -> list[Values]:
        async def read() -> list[Values]:
            return [plain(record) for record in (await self._typed(plural).list(dict(filters))).records]

        found: list[Values] = self._call(read)
        return found

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator["RecordSide"]:
        options = {"developer_id": self.info.developer_id, "credentials": UserApiKey(user_id, key)}
        gateway = AsyncGateway(self.info.base_url, **options)
        with self.portal.wrap_async_context_manager(gateway) as opened:
            yield SdkRecords(self.portal, opened, self.info)

    def _untyped(self, plural: str) -> Any:
        return self.gateway.resource(plural, name=WRAPPERS[plural])

    def _typed(self, plural: str) -> Any:
        return getattr(self.gateway, plural, None) or self._untyped(plural)

    def _call(self, send: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        try:
            return self.portal.call(send, *args)
        except StatusError as error:
            fields = error.fields if isinstance(error, ValidationError) else {}
            raise RefusedRecordError(error.status_code, fields) from None


RecordSide = RawRecords | SdkRecords
"""One way to write and read records, named by the plural of their paths."""


@contextmanager
def open_record_sides(sandbox: Sandbox, http: httpx.Client) -> Iterator[dict[str, RecordSide]]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(sandbox.gateway(check_limits=False)) as gateway,
    ):
        yield {"HTTP": RawRecords(http), "SDK": SdkRecords(portal, gateway, sandbox.info)}


def record_refusal(send: Callable[[], Any]) -> RefusedRecordError:
    try:
        result = send()
    except RefusedRecordError as refused:
        return refused
    raise AssertionError(f"not refused: {result}")
