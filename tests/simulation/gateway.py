"""`SimulatedGateway`: the real sandbox on the virtual network, with crashes and restarts."""

from typing import Final

from gateway_async.sandbox import seed
from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.controls import payments
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.http.webhook_client import WebhookClient
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.terminals import Prompt, Script, Sender, TerminalOptions, TerminalSimulator

ADDRESS: Final = ("127.0.0.1", 8080)


class _WatchedTerminals(TerminalSimulator):
    """Terminals that note which calls were there at the same time."""

    def __init__(self, clock: Clock, overlaps: list[tuple[str, str]]) -> None:
        super().__init__(clock, TerminalOptions())
        self._overlaps = overlaps

    async def process(
        self, terminal_id: str, action: str, amount: int | None, sender: Sender, *, prompt: Prompt | None = None
    ) -> Script:
        """Process a call; note those that already wait at the terminal."""
        for waiting in self.waiting(terminal_id):
            self._overlaps.append((waiting.sender.api_id or "", sender.api_id or ""))
        return await super().process(terminal_id, action, amount, sender, prompt=prompt)


class SimulatedGateway:
    """A sandbox whose records survive its crashes.

    It can be used for one schedule after the other, because an application takes milliseconds to make.

    Attributes:
        gateway: the state of the running gateway.
        overlaps: the integrator ids of each two calls that were at one terminal at the same time.
    """

    def __init__(self) -> None:
        self._store = Store()
        self._empty = b""
        self.overlaps: list[tuple[str, str]] = []
        self.gateway = Gateway.__new__(Gateway)
        self._app = make_app(self.gateway)

    def reset(self) -> None:
        """Go back to the records of the first start."""
        self._empty = self._empty or self._store._connection.serialize()
        self._store._connection.deserialize(self._empty)
        self.overlaps = []

    def close(self) -> None:
        """Close the records."""
        self._store.close()

    async def start(self) -> None:
        """Start with the stored records, and accept connections."""
        clock = Clock()
        terminals = _WatchedTerminals(clock, self.overlaps)
        delivery = PostbackDelivery(self._store, clock, WebhookClient(frozenset()))
        Gateway.__init__(self.gateway, self._store, clock, terminals, delivery)  # a new state for the same application
        listener = self.gateway.listener = Listener(self._app, *ADDRESS)
        await listener.bind()
        self.gateway.info = seed.load_info(self.gateway)
        await listener.open()

    async def crash(self) -> None:
        """End all connections and requests at once."""
        await self.gateway.listener.close()

    def ledger(self) -> Row:
        """Return the effects and the records, as `Sandbox.ledger()` does."""
        return payments.ledger(self.gateway)
