"""The same request through both sides: raw JSON over HTTP, and the SDK.

Each side returns plain values, so that one table of documented values can be compared with both. The SDK writes records
without a model of their requests by `gateway.resource`, and reads records by its typed resources where it has them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gateway_async import (
    ApiId,
    AsyncGateway,
    ContactCreate,
    QuickInvoiceCreate,
    RouterTransactionCreate,
    StatusError,
    TransactionCreate,
    TransactionUpdate,
    UserApiKey,
    ValidationError,
)
from gateway_async._secrets import unseal
from gateway_async.sandbox import Sandbox, SandboxInfo
from tests.support import plain_http

from .raw_client import VISA, RawClient

Values = Mapping[str, Any]

CREATES: dict[str, Callable[..., Any]] = {
    "contacts": ContactCreate,
    "quickinvoices": QuickInvoiceCreate,
    "routertransactions": RouterTransactionCreate,
    "transactions": TransactionCreate,
}
"""Path → the SDK's request for a new record; the SDK writes other records without a model."""

_TYPED = {
    "accountvaults": "account_vaults",
    "quickinvoices": "quick_invoices",
    "routertransactions": "router_transactions",
    "transactionbatches": "transaction_batches",
}
_API_IDS = {"deviceterms": "device_terms_api_id", "transactions": "transaction_api_id"}


class RefusedError(Exception):
    """A 4xx of the gateway.

    Attributes:
        status: the HTTP status.
        fields: the messages of a 422, by field.
    """

    def __init__(self, status: int, fields: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {dict(fields)}")
        self.status = status
        self.fields = {name: list(messages) for name, messages in fields.items()}


class _Payments(ABC):
    """The short forms for payments, which both sides have."""

    @abstractmethod
    def create(self, plural: str, fields: Values) -> Values: ...

    @abstractmethod
    def update(self, plural: str, record_id: str, fields: Values) -> Values: ...

    @abstractmethod
    def get(self, plural: str, record_id: str, *expand: str) -> Values: ...

    def pay(self, **fields: Any) -> Values:
        return self.create("transactions", _payment(fields))

    def change(self, transaction: Values, **fields: Any) -> Values:
        return self.update("transactions", transaction["id"], fields)

    def read(self, transaction: Values, *expand: str) -> Values:
        return self.get("transactions", transaction["id"], *expand)


@attrs.frozen
class RawSide(_Payments):
    """Raw JSON over HTTP."""

    http: httpx.Client
    info: SandboxInfo

    def create(self, plural: str, fields: Values) -> Values:
        location = {"location_id": self.info.location_id} if plural in ("contacts", "quickinvoices") else {}
        return self._record("POST", plural, f"/v2/{plural}", location | dict(fields))

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        return self._record("PUT", plural, f"/v2/{plural}/{record_id}", fields)

    def delete(self, plural: str, record_id: str) -> None:
        response = self._send("DELETE", f"/v2/{plural}/{record_id}")
        assert (response.status_code, response.content) == (204, b"")

    def act(self, plural: str, record_id: str, verb: str, fields: Values | None = None) -> Values:
        return self._record("POST", plural, f"/v2/{plural}/{record_id}/{verb}", fields)

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        query = {"expand": ",".join(expand)} if expand else {}
        return self._record("GET", plural, f"/v2/{plural}/{record_id}", params=query)

    def get_by_api_id(self, plural: str, api_id: str) -> Values:
        query = {"api_id": "1", "location_id": self.info.location_id}
        return self._record("GET", plural, f"/v2/{plural}/{api_id}", params=query)

    def find(self, plural: str, filters: Values) -> list[Values]:
        records: list[Values] = self._send("GET", f"/v2/{plural}", params=dict(filters)).json()[plural]
        return records

    def read_text(self, path: str, **params: Any) -> str:
        return self._send("GET", path, params=params).text

    def settle(self, batch_id: str) -> Values:
        batch: Values = self._send("POST", f"/v2/transactionbatches/{batch_id}/settle").json()["transactionbatch"]
        return batch

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator["Side"]:
        headers = {**self.http.headers, "user-id": user_id, "user-api-key": key}
        with plain_http.open_client(base_url=self.http.base_url, headers=headers) as http:
            yield RawSide(http, self.info)

    def _record(self, method: str, plural: str, path: str, fields: Values | None = None, **options: Any) -> Values:
        body = None if fields is None else {plural[:-1]: dict(fields)}
        record: Values = self._send(method, path, json=body, **options).json()[plural[:-1]]
        return record

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        response = self.http.request(method, path, **options)
        if response.is_client_error:
            raise RefusedError(response.status_code, response.json().get("errors", {}))
        assert response.is_success, response.text
        return response


@attrs.frozen
class SdkSide(_Payments):
    """The SDK, without its own checks, so that the gateway answers."""

    portal: BlockingPortal
    gateway: AsyncGateway
    info: SandboxInfo

    def create(self, plural: str, fields: Values) -> Values:
        if plural in CREATES:
            return self._call(self._typed(plural).create, CREATES[plural](**_with_dates(fields)))
        return self._call(self._untyped(plural).create, fields)

    def update(self, plural: str, record_id: str, fields: Values) -> Values:
        if plural == "transactions":
            return self._call(self.gateway.transactions.update, record_id, TransactionUpdate(**_with_dates(fields)))
        return self._call(self._untyped(plural).update, record_id, fields)

    def delete(self, plural: str, record_id: str) -> None:
        self._ask(self._untyped(plural).delete, record_id)

    def act(self, plural: str, record_id: str, verb: str, fields: Values | None = None) -> Values:
        return self._call(self._untyped(plural).action, record_id, verb, fields)

    def get(self, plural: str, record_id: str, *expand: str) -> Values:
        return self._call(partial(self._typed(plural).get, record_id, expand=expand))

    def get_by_api_id(self, plural: str, api_id: str) -> Values:
        return self._call(self._untyped(plural).get, ApiId(api_id))

    def find(self, plural: str, filters: Values) -> list[Values]:
        async def read() -> list[Values]:
            return [plain(record) for record in (await self._typed(plural).list(dict(filters))).records]

        found: list[Values] = self._ask(read)
        return found

    def read_text(self, path: str, **params: Any) -> str:
        body: bytes = self._ask(partial(self.gateway.request, "GET", path, params=params, kind="read")).body
        return body.decode()

    def settle(self, batch_id: str) -> Values:
        return self._call(self.gateway.transaction_batches.settle, batch_id)

    @contextmanager
    def sign_in(self, user_id: str, key: str) -> Iterator["Side"]:
        credentials = UserApiKey(user_id, key)
        gateway = AsyncGateway(self.info.base_url, developer_id=self.info.developer_id, credentials=credentials)
        with self.portal.wrap_async_context_manager(gateway) as opened:
            yield SdkSide(self.portal, opened, self.info)

    def _untyped(self, plural: str) -> Any:
        return self.gateway.resource(plural, name=plural[:-1], api_id=_API_IDS.get(plural))

    def _typed(self, plural: str) -> Any:
        return getattr(self.gateway, _TYPED.get(plural, plural), None) or self._untyped(plural)

    def _call(self, send: Callable[..., Any], *args: Any) -> Values:
        return plain(self._ask(send, *args))

    def _ask(self, send: Callable[..., Any], *args: Any) -> Any:
        try:
            return self.portal.call(send, *args)
        except StatusError as error:
            fields = error.fields if isinstance(error, ValidationError) else {}
            raise RefusedError(error.status_code, fields) from None


Side = RawSide | SdkSide
"""One way to send requests to the gateway."""


def _payment(fields: Values) -> dict[str, Any]:
    """Return the fields of a sale by default; `...` omits a field."""
    sale = {"action": "sale", "transaction_amount": "12.50", "account_number": VISA, "exp_date": "1230"}
    return {name: value for name, value in (sale | dict(fields)).items() if value is not ...}


def _with_dates(fields: Values) -> dict[str, Any]:
    return {
        name: date.fromisoformat(value) if name.endswith("_date") and isinstance(value, str) and "-" in value else value
        for name, value in fields.items()
    }


def plain(record: Any) -> Values:
    known = {field.name: getattr(record, field.name) for field in attrs.fields(type(record)) if field.name != "extra"}
    return {name: _plain_value(value) for name, value in unseal(known | dict(record.extra)).items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:.2f}"
    return value.isoformat() if isinstance(value, date) else value


@contextmanager
def open_sides(sandbox: Sandbox, raw_client: RawClient) -> Iterator[dict[str, Side]]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(sandbox.gateway(check_limits=False)) as gateway,
    ):
        yield {"HTTP": RawSide(raw_client.http, sandbox.info), "SDK": SdkSide(portal, gateway, sandbox.info)}


def refused(send: Callable[[], object]) -> RefusedError:
    """Return the error of a request that must be refused."""
    try:
        result = send()
    except RefusedError as error:
        return error
    raise AssertionError(f"not refused: {result}")


def refusal(send: Callable[[], object]) -> dict[str, list[str]]:
    """Return the problems of a request that must be a 422."""
    error = refused(send)
    assert error.status == 422
    return error.fields


@attrs.frozen
class Family:
    """The records of one path, through one side."""

    side: Side
    plural: str

    def create(self, **fields: Any) -> Values:
        return self.side.create(self.plural, fields)

    def get(self, record_id: str, *expand: str) -> Values:
        return self.side.get(self.plural, record_id, *expand)

    def list(self, **filters: Any) -> list[Values]:
        return self.side.find(self.plural, filters)

    def delete(self, record_id: str) -> None:
        self.side.delete(self.plural, record_id)
