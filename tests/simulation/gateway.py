"""`SimulatedGateway`: the real sandbox on the virtual network, with crashes and restarts."""

from typing import Final

from gateway_async.sandbox.admin import actions, seed
from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.http.webhook_client import WebhookClient
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.terminal_scripts import Script
from gateway_async.sandbox.simulators.terminals import Prompt, Sender, TerminalOptions, Terminals

__all__ = ["ADDRESS", "SimulatedGateway"]

ADDRESS: Final = ("127.0.0.1", 8080)


class _WatchedTerminals(Terminals):
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

    Args:
        store: the records.

    Attributes:
        overlaps: the integrator ids of each two calls that were at one terminal at the same time.
    """

    gateway: Gateway

    def __init__(self, store: Store) -> None:
        self._store = store
        self.overlaps: list[tuple[str, str]] = []

    async def start(self) -> None:
        """Start with the stored records, and accept connections."""
        clock = Clock()
        terminals = _WatchedTerminals(clock, self.overlaps)
        delivery = PostbackDelivery(self._store, clock, WebhookClient(()))
        self.gateway = Gateway(self._store, clock, terminals, delivery)
        listener = self.gateway.listener = Listener(make_app(self.gateway), *ADDRESS)
        await listener.bind()
        self.gateway.info = seed.load_info(self.gateway)
        await listener.open()

    async def crash(self) -> None:
        """End all connections and requests at once."""
        await self.gateway.listener.close()

    def ledger(self) -> Row:
        """Return the effects and the records, as `Sandbox.ledger()` does."""
        return actions.ledger(self.gateway)
