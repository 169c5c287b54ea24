"""The start of a gateway: its parts, its data and its port."""

from contextlib import ExitStack

import attrs
from anyio.from_thread import BlockingPortal

from gateway_async.sandbox import postbacks
from gateway_async.sandbox.admin import seed
from gateway_async.sandbox.admin.end_of_day import EndOfDayScheduler
from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.http.request_log import OnRequest
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.http.webhook_client import WebhookClient
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery, PostbackFormat
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.terminals import TerminalOptions, TerminalSimulator


@attrs.frozen
class GatewaySettings:
    """The options of a `Sandbox`, checked."""

    address: tuple[str, int]
    data: str | None
    terminals: TerminalOptions
    postback_hosts: frozenset[str]
    postback_format: PostbackFormat
    strict: bool
    on_request: OnRequest | None
    allowed_hosts: tuple[str, ...]


async def start_gateway(settings: GatewaySettings, portal: BlockingPortal, stack: ExitStack) -> Gateway:
    """Start a gateway in the event loop of the portal; what ends it is put on the stack."""
    store = Store(settings.data)
    stack.callback(portal.call, store.close)
    clock = Clock()
    delivery = PostbackDelivery(store, clock, WebhookClient(settings.postback_hosts), settings.postback_format)
    gateway = Gateway(store, clock, TerminalSimulator(clock, settings.terminals), delivery, settings.strict)
    gateway.listener = Listener(make_app(gateway, settings.on_request, settings.allowed_hosts), *settings.address)
    await gateway.listener.bind()
    stack.callback(portal.call, gateway.listener.close)
    stack.callback(portal.call, delivery.close)
    gateway.info = seed.load_info(gateway)
    gateway.refresh_info()
    postbacks.watch(gateway)
    EndOfDayScheduler(gateway).start()
    await gateway.listener.open()
    delivery.start()
    return gateway
