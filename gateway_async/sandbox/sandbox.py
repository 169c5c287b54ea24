"""Run a sandbox from Python code, in its own thread.

A `Sandbox` can be started, controlled and stopped from any thread and any event loop.
"""

from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import CancelledError
from contextlib import ExitStack
from functools import partial, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar, TypeVarTuple, Unpack, cast

import anyio
import anyio.to_thread
import attrs
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gateway_async.client import AsyncGateway, Options
from gateway_async.credentials import UserApiKey
from gateway_async.errors import InvalidRequestError
from gateway_async.sandbox import controls, seed
from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.end_of_day import EndOfDayScheduler
from gateway_async.sandbox.handlers import postbacks
from gateway_async.sandbox.http.request_log import OnRequest
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.http.webhook_client import WebhookClient, read_hosts
from gateway_async.sandbox.runtime.gateway import Gateway, SandboxInfo
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery, PostbackFormat, check_format
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import DEFAULT_CURRENCY, check_currency
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.terminals import Mode, NothingWaitsError, TerminalOptions, TerminalSimulator

_LARGEST_PORT = 65_535

_T = TypeVar("_T")
_Args = TypeVarTuple("_Args")
_Params = ParamSpec("_Params")


@attrs.frozen
class _Settings:
    """The options of a `Sandbox`, checked."""

    address: tuple[str, int]
    data: str | None
    terminals: TerminalOptions
    postback_hosts: frozenset[str]
    postback_format: PostbackFormat
    currency: str
    strict: bool
    on_request: OnRequest | None
    allowed_hosts: tuple[str, ...]


async def _start_gateway(settings: _Settings, portal: BlockingPortal, stack: ExitStack) -> Gateway:
    """Start a gateway in the event loop of the portal; what ends it is put on the stack."""
    store = Store(settings.data, check_settings=seed.read_info)
    stack.callback(portal.call, store.close)
    clock = Clock()
    delivery = PostbackDelivery(store, clock, WebhookClient(settings.postback_hosts), settings.postback_format)
    terminals = TerminalSimulator(clock, settings.terminals)
    gateway = Gateway(store, clock, terminals, delivery, settings.currency, settings.strict)
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


@attrs.frozen
class _Running:
    """The gateway, event loop portal and exit stack of a running sandbox."""

    gateway: Gateway
    portal: BlockingPortal
    stack: ExitStack


def _check_port(port: int) -> int:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _LARGEST_PORT:
        raise ValueError(f"port: {port!r} is not a port (expected an integer from 0 to {_LARGEST_PORT}).")
    return port


class _Info:
    """A descriptor that reads one field of the `info` of a running sandbox."""

    def __set_name__(self, owner: "type[Sandbox]", name: str) -> None:
        self._name = name

    def __get__(self, sandbox: "Sandbox", owner: "type[Sandbox]") -> str:
        return str(getattr(sandbox.info, self._name))


def _raise_at_the_call(method: Callable[_Params, _T]) -> Callable[_Params, _T]:
    """Raise an expected error without inner frames; a wrong argument is an `InvalidRequestError`."""

    @wraps(method)
    def call(*args: _Params.args, **options: _Params.kwargs) -> _T:
        try:
            return method(*args, **options)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from None
        except (NothingWaitsError, TimeoutError) as error:
            raise error.with_traceback(None) from None

    return call


def _method(control: Callable[Concatenate[Gateway, _Params], _T]) -> Callable[Concatenate["Sandbox", _Params], _T]:
    """Make a method of a control: `self` takes the place of the gateway, and the rest stays."""

    @_raise_at_the_call
    @wraps(control)
    def method(self: "Sandbox", /, *args: _Params.args, **options: _Params.kwargs) -> _T:
        return self._call(lambda gateway: control(gateway, *args, **options))

    _, *parameters = signature(control).parameters.values()
    own = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *parameters]
    vars(method)["__signature__"] = signature(control).replace(parameters=own)
    return method


def _waiting_method(
    control: Callable[Concatenate[Gateway, _Params], Awaitable[_T]],
) -> Callable[Concatenate["Sandbox", _Params], _T]:
    """Make a method of an async control; the method returns when the control does."""
    return cast("Callable[Concatenate[Sandbox, _Params], _T]", _method(control))


class Sandbox:
    """A private gateway that runs during a `with` or `async with` block.

        async with Sandbox() as sandbox:
            async with sandbox.gateway() as gateway: ...

    The sandbox runs in its own thread with its own event loop. It works under asyncio, under trio and without either,
    and a caller that blocks does not block it. Its attributes can be read while it runs. Its methods are synchronous,
    except `await_call`, and may be called from any thread.

    Args:
        port: The port to listen on; 0 picks a free port.
        host: The address to listen on.
        data: A file that keeps credentials and records between runs; None keeps them in memory.
        terminals: `auto` presents a card automatically; `manual` waits for a call to `present`.
        terminal_delay: Seconds until a card is presented automatically.
        postback_hosts: Names and addresses of other hosts that may receive postbacks, besides this machine.
        strict: Whether an unknown field or query parameter is a 422. By default it is ignored, as at a real gateway,
            and logged.
        allowed_hosts: Names under which pages and control calls respond, besides `host`, localhost and IP addresses.
        postback_format: `json` writes the bodies of postbacks as JSON, `form` as a form, as some gateways do.
        currency: The ISO 4217 code of the currency that pages and messages show. The API's amounts name none.
        on_request: Called with a `LoggedRequest` after each request, in the thread of the sandbox.

    Raises:
        InvalidRequestError: The terminal mode, the format or the currency is unknown, the delay is negative or not
            finite, or the port or a host is invalid.

    Attributes:
        base_url: `http://127.0.0.1:PORT`, without a trailing slash.
        terminal_id: The id of a terminal in the location; the other ids belong to the same location.
    """

    base_url = _Info()
    developer_id = _Info()
    user_id = _Info()
    user_api_key = _Info()
    user_hash_key = _Info()
    username = _Info()
    password = _Info()
    domain = _Info()
    location_id = _Info()
    contact_id = _Info()
    cc_product_transaction_id = _Info()
    ach_product_transaction_id = _Info()
    terminal_id = _Info()

    @_raise_at_the_call
    def __init__(
        self,
        port: int = 0,
        host: str = "127.0.0.1",
        data: str | Path | None = None,
        *,
        terminals: Mode = "auto",
        terminal_delay: float = 2.0,
        postback_hosts: Collection[str] = (),
        strict: bool = False,
        on_request: OnRequest | None = None,
        allowed_hosts: Collection[str] = (),
        postback_format: PostbackFormat = "json",
        currency: str = DEFAULT_CURRENCY,
    ) -> None:
        self._settings = _Settings(
            address=(host, _check_port(port)),
            data=None if data is None else str(data),
            terminals=TerminalOptions(terminals, terminal_delay),
            postback_hosts=read_hosts(postback_hosts),
            postback_format=check_format(postback_format),
            currency=check_currency(currency),
            strict=strict,
            on_request=on_request,
            allowed_hosts=(host, *allowed_hosts),
        )
        self._running: _Running | None = None

    def __repr__(self) -> str:
        return f"<Sandbox {self.base_url}>" if self._running else "<Sandbox, not running>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    @_raise_at_the_call
    def start(self) -> None:
        """Start serving and return when the sandbox accepts requests.

        Raises:
            RuntimeError: The sandbox is running already.
            OSError: The port is taken.
            sqlite3.DatabaseError: The data file is not a database, or another sandbox uses it.
        """
        if self._running:
            raise RuntimeError("The sandbox is running already.")
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal("asyncio"))
            stack.callback(portal.call, portal.stop, True)  # ends the calls that other threads still wait for
            gateway = portal.call(_start_gateway, self._settings, portal, stack)
            self._running = _Running(gateway, portal, stack.pop_all())

    def stop(self) -> None:
        """Stop serving at once, without waiting for open requests.

        The call has no effect if the sandbox is not running.
        """
        if self._running:
            running, self._running = self._running, None
            running.stack.close()

    @property
    def info(self) -> SandboxInfo:
        """The address, the credentials and the ids, in one value.

        Raises:
            RuntimeError: The sandbox is not running.
        """
        return self._current.gateway.info

    @property
    def _current(self) -> _Running:
        if self._running is None:
            raise RuntimeError("The sandbox is not running.")
        return self._running

    def environment(self) -> dict[str, str]:
        """The `GATEWAY_*` variables of this sandbox, for programs that use `AsyncGateway.from_env()`.

        Pass them to a child process, or set them in a test: `os.environ.update(sandbox.environment())`. In pytest, the
        fixture `gateway_environment` does the latter.

        Raises:
            RuntimeError: The sandbox is not running.
        """
        return self.info.environment()

    def gateway(self, **options: Unpack[Options]) -> AsyncGateway:
        """Create a client that uses the credentials of this sandbox.

        `options` are the options of `AsyncGateway`.
        """
        options.setdefault("developer_id", self.developer_id)
        options.setdefault("credentials", UserApiKey(self.user_id, self.user_api_key))
        options.setdefault("location_id", self.location_id)
        return AsyncGateway(self.base_url, **options)

    fault = _waiting_method(controls.simulators.fault)
    scenario = _waiting_method(controls.simulators.scenario)
    faults = _method(controls.simulators.faults)
    clear_faults = _waiting_method(controls.simulators.clear_faults)
    now = _method(controls.simulators.now)
    set_clock = _method(controls.simulators.set_clock)
    advance = _method(controls.simulators.advance)

    ledger = _method(controls.payments.ledger)
    file = _method(controls.payments.file)
    pay_quick_invoice = _waiting_method(controls.payments.pay_quick_invoice)
    pay_paylink = _waiting_method(controls.payments.pay_paylink)
    process_batch = _method(controls.payments.process_batch)
    isolate_payment = _method(controls.payments.isolate_payment)
    return_payment = _method(controls.payments.return_payment)
    update_card = _method(controls.payments.update_card)
    change_product = _method(controls.payments.change_product)

    outbox = _method(controls.payments.outbox)
    postbacks = _method(controls.simulators.postbacks)
    replay_postback = _method(controls.simulators.replay_postback)
    set_postback_format = _method(controls.simulators.set_postback_format)

    terminals = _method(controls.simulators.terminals)
    wait_for_call = _waiting_method(controls.simulators.wait_for_call)

    async def await_call(self, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:  # noqa: ASYNC109  # of real time
        """Wait as `wait_for_call` does, under asyncio or trio."""
        wait = partial(self.wait_for_call, terminal_id, timeout=timeout)
        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    present = _method(controls.simulators.present)
    accept_terms = _method(controls.simulators.accept_terms)
    decline = _method(controls.simulators.decline)
    reject_pin = _method(controls.simulators.reject_pin)
    cancel = _method(controls.simulators.cancel)
    silence = _method(controls.simulators.silence)
    add_terminal = _method(controls.simulators.add_terminal)

    add_location = _method(controls.payments.add_location)
    add_vaults = _waiting_method(controls.payments.add_vaults)
    ticket = _method(controls.payments.ticket)
    wait_until_idle = _waiting_method(controls.simulators.wait_until_idle)
    reset = _waiting_method(controls.simulators.reset)

    def _call(self, function: Callable[[Gateway, Unpack[_Args]], _T], *args: *_Args) -> _T:
        running = self._current
        try:
            return running.portal.call(function, running.gateway, *args)
        except CancelledError:
            raise RuntimeError("The sandbox is not running.") from None
