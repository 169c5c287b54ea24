"""The same record through both sides: raw JSON over HTTP, and the SDK.

The SDK writes records by `gateway.resource`, and reads them by its typed resources where it has them.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

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


class RecordSide(Protocol):
    """One way to write and read records, named by the plural of their paths."""

    def create(self, plural: str, fields: Values) -> Values:
        """POST a record, and return it."""
        ...

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        """PUT a record, and return it."""
        ...

    def delete(self, plural: str, record_id: str) -> None:
        """DELETE a record."""
        ...

    def act(self, plural: str, record_id: str, verb: str) -> Values:
        """POST an action without a body, and return the record of the response."""
        ...

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        """GET a record with expands."""
        ...

    def find(self, plural: str, filters: Values) -> list[Values]:
        """GET the first page of a list."""
        ...

    def sign_in(self, user_id: str, key: str) -> "AbstractContextManager[RecordSide]":
        """Open the same side with the key of another user."""
        ...


@attrs.frozen
class RawRecords:
    """Raw JSON over HTTP."""

    http: httpx.Client

    def create(self, plural: str, fields: Values) -> Values:
        """POST a record; the status is 201."""
        return self._send("POST", plural, f"/v2/{plural}", fields, 201)

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        """PUT a record."""
        return self._send("PUT", plural, f"/v2/{plural}/{record_id}", fields)

    def delete(self, plural: str, record_id: str) -> None:
        """DELETE a record; the response has no body."""
        response = self._check(self.http.delete(f"/v2/{plural}/{record_id}"), 204)
        assert response.content == b""

    def act(self, plural: str, record_id: str, verb: str) -> Values:
        """POST an action."""
        return self._send("POST", plural, f"/v2/{plural}/{record_id}/{verb}")

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        """GET a record."""
        return self._send("GET", plural, f"/v2/{plural}/{record_id}", params={"expand": ",".join(expand)})

    def find(self, plural: str, filters: Values) -> list[Values]:
        """GET a list."""
        records: list[Values] = self._check(self.http.get(f"/v2/{plural}", params=dict(filters)), 200).json()[plural]
        return records

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator[RecordSide]:
        """Open a client with another key."""
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
        """Create a record."""
        return plain(self._call(self._untyped(plural).create, fields))

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        """Update a record."""
        return plain(self._call(self._untyped(plural).update, record_id, fields))

    def delete(self, plural: str, record_id: str) -> None:
        """Delete a record."""
        self._call(self._untyped(plural).delete, record_id)

    def act(self, plural: str, record_id: str, verb: str) -> Values:
        """Perform an action of the path."""
        return plain(self._call(self._untyped(plural).action, record_id, verb))

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        """Read a record."""
        return plain(self._call(lambda: self._typed(plural).get(record_id, expand=expand)))

    def find(self, plural: str, filters: Values) -> list[Values]:
        """List records."""

        async def read() -> list[Values]:
            return [plain(record) for record in (await self._typed(plural).list(dict(filters))).records]

        found: list[Values] = self._call(read)
        return found

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator[RecordSide]:
        """Open a client with another key."""
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


@contextmanager
def open_record_sides(sandbox: Sandbox, http: httpx.Client) -> Iterator[dict[str, RecordSide]]:
    """Open both sides of a sandbox, by name."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(sandbox.gateway(check_limits=False)) as gateway,
    ):
        yield {"HTTP": RawRecords(http), "SDK": SdkRecords(portal, gateway, sandbox.info)}


def record_refusal(send: Callable[[], Any]) -> RefusedRecordError:
    """Return the error of a refused request."""
    try:
        result = send()
    except RefusedRecordError as refused:
        return refused
    raise AssertionError(f"not refused: {result}")
