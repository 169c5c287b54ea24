"""`Program`: the operations of a simulated merchant, and what the client says about each call."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, TypeVar

import attrs

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    DuplicateError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    Request,
    RouterTransactionCreate,
    TransactionCreate,
)
from gateway_async.crash_testing.report import CallOutcome
from gateway_async.models.codes import TransactionStatus
from gateway_async.sandbox.runtime.gateway import SandboxInfo
from tests.simulation.network import VirtualNetwork
from tests.simulation.schedule import Action, Operation
from tests.simulation.till import Till

T = TypeVar("T")

_CARD: Final[Mapping[str, Any]] = {
    "account_number": "4111111111111111",
    "exp_date": "1230",
    "account_holder_name": "John Smith",
}
_SALES: Final = "POST /v2/transactions"
_TERMINAL: Final = "POST /v2/routertransactions"
_VAULTS: Final = "POST /v2/accountvaults"


@attrs.define
class Program:
    """The operations of all tills.

    Attributes:
        info: the ids of the gateway's location.
        network: for the trace.
        told: what the client said about each call whose program lived to hear it.
        mistaken: a sentence for each payment that was returned as the result of another call.
        duplicates: the calls whose integrator id another request had used before, perhaps a copy of their own.
    """

    info: SandboxInfo
    network: VirtualNetwork
    told: list[CallOutcome] = attrs.field(factory=list)
    duplicates: list[CallOutcome] = attrs.field(factory=list)
    mistaken: list[str] = attrs.field(factory=list)

    async def perform(self, operation: Operation, till: Till) -> None:
        """Perform an operation at a till."""
        calls = _Calls(self, operation, till)
        if operation.number % 3 == 0:  # as a till does that shows a list; it leaves connections behind
            await calls.read()
        elif operation.number % 3 == 1:  # its connection may repeat the refusal
            await calls.be_refused()
        await _METHODS[operation.action](calls)


@attrs.frozen
class _Calls:
    """The calls of one operation, each with what its program is told."""

    program: Program
    operation: Operation
    till: Till

    @property
    def client(self) -> AsyncGateway:
        return self.till.client

    def sell(self, action: Literal["sale", "authonly"] = "sale") -> Awaitable[Any]:
        new = TransactionCreate(
            action=action, transaction_amount=self.operation.amount, transaction_api_id=self.operation.api_id, **_CARD
        )
        return self._make(_SALES, self.operation.api_id, self._create(self.client.transactions)(new))

    async def sell_and_capture(self) -> None:
        if (reserved := await self.sell("authonly")) is not None:
            await asyncio.sleep(self.operation.pause)
            await self.change(reserved.id, self.client.transactions.complete(reserved.id))

    async def sell_and_void(self) -> None:
        if (sold := await self.sell()) is not None:
            await self.change(sold.id, self.client.transactions.void(sold.id))

    async def sell_and_refund(self) -> None:
        if (sold := await self.sell()) is not None:
            await self.refund(sold.id)

    async def be_refused(self) -> None:
        """Sell to a stored card that does not exist."""
        api_id = self.operation.api_id and f"refused-{self.operation.number}"
        new = TransactionCreate(
            action="sale", transaction_amount="9.99", account_vault_id="missing", transaction_api_id=api_id
        )
        record = await self._make(_SALES, api_id, self.client.transactions.create(new))
        if record is not None:
            number = self.operation.number
            self.program.mistaken.append(f"operation {number}: the result of a refused sale is {record.id}")

    def sell_at_terminal(self) -> Awaitable[Any]:
        new = RouterTransactionCreate(
            action="sale",
            terminal_id=self.program.info.terminal_id,
            transaction_amount=self.operation.amount,
            transaction_api_id=self.operation.api_id,
        )
        return self._make(_TERMINAL, self.operation.api_id, self._create(self.client.router_transactions)(new))

    def change(self, record_id: str, change: Awaitable[T]) -> Awaitable[T | None]:
        return self._make(f"PUT /v2/transactions/{record_id}", None, change)

    def refund(self, record_id: str) -> Awaitable[Any]:
        api_id = self.operation.api_id and f"refund-{self.operation.number}"
        refund = self.client.transactions.refund(record_id, transaction_api_id=api_id)
        return self._make(_SALES, api_id, refund)

    def store(self) -> Awaitable[Any]:
        new = CardVaultCreate(
            location_id=self.program.info.location_id, account_vault_api_id=self.operation.api_id, **_CARD
        )
        return self._make(_VAULTS, self.operation.api_id, self._create(self.client.account_vaults)(new))

    def _create(self, resource: Any) -> Callable[[Request], Awaitable[Any]]:
        """Return the method that creates a record; every second one with an integrator id is created once."""
        is_once = self.operation.api_id is not None and self.operation.number % 2
        create: Callable[[Request], Awaitable[Any]] = resource.create_once if is_once else resource.create
        return create

    def read(self) -> Awaitable[None]:
        return self.till.look_around()

    async def _make(self, call: str, api_id: str | None, result: Awaitable[T]) -> T | None:
        """Await a call and note what its program is told."""
        process = self.till.machine
        outcome, record = "unknown", None
        try:
            record = await result
            outcome = "done"
        except OutcomeUnknownError as error:
            outcome, record = await self._resolve(error)
        except NotSentError:
            outcome = "not_sent"
        except DuplicateError as error:
            self.program.duplicates.append(CallOutcome(call=call, api_id=error.api_id, outcome="done"))
            outcome, record = "duplicate", await self._fetch(error)
        except GatewayError:
            outcome = "refused"
        if outcome == "done" and self.operation.action is Action.SALE:
            self._check_sale(record)
        if process.is_running:
            record_id = getattr(record, "id", None)
            self.program.network.log(f"operation {self.operation.number}: {call} {outcome} {record_id}")
            self.program.told.append(CallOutcome(call=call, api_id=api_id, outcome=outcome, record_id=record_id))
        return record

    def _check_sale(self, record: Any) -> None:
        """Check that the result of a sale has its amount, and is not an authorization."""
        if record.status_id == TransactionStatus.AUTH_ONLY or str(record.transaction_amount) != self.operation.amount:
            self.program.mistaken.append(f"operation {self.operation.number}: the result of a sale is {record.id}")

    async def _fetch(self, error: DuplicateError) -> Any:
        try:
            return await error.fetch()
        except GatewayError:
            return None

    async def _resolve(self, error: OutcomeUnknownError) -> tuple[str, Any]:
        for pause, wait in self.operation.resolutions:
            await asyncio.sleep(pause)
            await self.read()
            try:
                record = await error.resolve(wait=wait)
            except GatewayError:
                continue
            return ("not_made" if record is None else "done"), record
        return "unknown", None


_METHODS: Final[Mapping[Action, Callable[[_Calls], Awaitable[object]]]] = {
    Action.SALE: _Calls.sell,
    Action.CAPTURE: _Calls.sell_and_capture,
    Action.VOID: _Calls.sell_and_void,
    Action.REFUND: _Calls.sell_and_refund,
    Action.VAULT: _Calls.store,
    Action.TERMINAL: _Calls.sell_at_terminal,
    Action.READ: _Calls.read,
}
