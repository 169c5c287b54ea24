"""The same payment through both sides: raw JSON over HTTP, and the SDK.

Each side returns plain values, so that one table of documented values can be compared with both.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from typing import Any

import attrs
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gateway_async import AsyncGateway, TransactionCreate, TransactionUpdate, ValidationError
from gateway_async._secrets import unseal
from gateway_async.sandbox import Sandbox

from .raw_client import VISA, RawClient

Values = Mapping[str, Any]


class RefusedError(Exception):
    """A 422 of the gateway.

    Attributes:
        fields: the messages by field.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(str(fields))
        self.fields = {name: list(messages) for name, messages in fields.items()}


@attrs.frozen
class RawSide:
    """Raw JSON over HTTP."""

    raw_client: RawClient

    def pay(self, **fields: Any) -> Values:
        return self._record(self.raw_client.post("/v2/transactions", "transaction", _payment(fields)), "transaction")

    def change(self, transaction: Values, **fields: Any) -> Values:
        path = f"/v2/transactions/{transaction['id']}"
        return self._record(self.raw_client.put(path, "transaction", fields), "transaction")

    def read(self, transaction: Values, *expand: str) -> Values:
        query = {"expand": ",".join(expand)}
        response = self.raw_client.http.get(f"/v2/transactions/{transaction['id']}", params=query)
        return self._record(response, "transaction")

    def settle(self, batch_id: str) -> Values:
        return self._record(self.raw_client.http.post(f"/v2/transactionbatches/{batch_id}/settle"), "transactionbatch")

    @staticmethod
    def _record(response: Any, wrapper: str) -> Values:
        body = response.json()
        if response.status_code == 422:
            raise RefusedError(body["errors"])
        assert response.is_success, response.text
        record: Values = body[wrapper]
        return record


@attrs.frozen
class SdkSide:
    """The SDK, without its own checks, so that the gateway answers."""

    portal: BlockingPortal
    gateway: AsyncGateway

    def pay(self, **fields: Any) -> Values:
        body = {name: _typed(name, value) for name, value in _payment(fields).items()}
        return self._call(self.gateway.transactions.create, TransactionCreate(**body))

    def change(self, transaction: Values, **fields: Any) -> Values:
        return self._call(self.gateway.transactions.update, transaction["id"], TransactionUpdate(**fields))

    def read(self, transaction: Values, *expand: str) -> Values:
        return self._call(lambda: self.gateway.transactions.get(transaction["id"], expand=expand))

    def settle(self, batch_id: str) -> Values:
        return self._call(self.gateway.transaction_batches.settle, batch_id)

    def _call(self, send: Callable[..., Any], *args: Any) -> Values:
        try:
            return plain(self.portal.call(send, *args))
        except ValidationError as error:
            raise RefusedError(error.fields) from None


Side = RawSide | SdkSide
"""One way to send payments to the gateway."""


def _payment(fields: Values) -> dict[str, Any]:
    sale = {"action": "sale", "transaction_amount": "12.50", "account_number": VISA, "exp_date": "1230"}
    return {name: value for name, value in (sale | dict(fields)).items() if value is not ...}


def _typed(name: str, value: Any) -> Any:
    return date.fromisoformat(value) if name == "effective_date" else value


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
        yield {"HTTP": RawSide(raw_client), "SDK": SdkSide(portal, gateway)}


def refusal(send: Callable[[], Values]) -> dict[str, list[str]]:
    try:
        record = send()
    except RefusedError as refused:
        return refused.fields
    raise AssertionError(f"not refused: {dict(record)}")
