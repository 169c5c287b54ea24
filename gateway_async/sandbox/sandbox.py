"""The sandbox as Python code sees it: started, steered and stopped from any thread and any event loop."""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.control import seed, steering
from gateway_async.sandbox.control.nightly import Nights
from gateway_async.sandbox.http.couriers import Courier, read_hosts
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.instance.deliveries import Deliveries
from gateway_async.sandbox.instance.gateway import Gateway
from gateway_async.sandbox.instance.store import Store
from gateway_async.sandbox.nouns.invoice_files import content_of
from gateway_async.sandbox.postbacks import changes
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.faults import FaultName, Plan
from gateway_async.sandbox.simulators.terminals import Manner, Mode, Terminals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path
    from types import TracebackType

    from anyio.from_thread import BlockingPortal

    from gateway_async import AsyncGateway
    from gateway_async.client import Options
    from gateway_async.sandbox.instance.facts import Facts
    from gateway_async.sandbox.nouns.payment_pages import Amount
    from gateway_async.sandbox.simulators.cards import EntryMode
    from gateway_async.sandbox.tables.fields import Row

_T = TypeVar("_T")
_Args = TypeVarTuple("_Args")


class _Running(NamedTuple):
    """What a sandbox has while it runs."""

    gateway: Gateway
    portal: BlockingPortal
    stack: ExitStack


class _Fact:
    """A fact of a running sandbox, by the name of the attribute."""

    def __set_name__(self, owner: type[Sandbox], name: str) -> None:
        self._name = name

    def __get__(self, sandbox: Sandbox, owner: type[Sandbox]) -> str:
        return str(getattr(sandbox.facts, self._name))


class Sandbox:
    """A gateway of your own, for as long as the `with` or `async with` block lasts.

        async with Sandbox() as sandbox:
            async with sandbox.gateway() as gateway: ...

    It runs in a thread with an event loop of its own: it works under asyncio and trio and without
    either, and a caller who blocks does not block it. Its attributes can be read while it runs; its
    methods are synchronous and may be called from any thread.

    Args:
        port: Where to listen; 0 picks a free port.
        host: The address to listen on.
        data: A file that keeps credentials and records from one run to the next; None for memory.
        terminals: `auto`, where a card comes by itself, or `manual`, where `present` brings it.
        terminal_delay: Seconds until a card comes by itself.
        postback_hosts: Names and addresses of hosts beside this machine to which postbacks may go.

    Raises:
        ValueError: There is no such mode of terminals, the delay is no time to wait, or a host is none.

    Attributes:
        base_url: `http://127.0.0.1:PORT`, without a trailing slash.
        terminal_id: A terminal of the location, as the other ids are.
    """

    base_url = _Fact()
    developer_id = _Fact()
    user_id = _Fact()
    user_api_key = _Fact()
    user_hash_key = _Fact()
    username = _Fact()
    password = _Fact()
    domain = _Fact()
    location_id = _Fact()
    contact_id = _Fact()
    cc_product_transaction_id = _Fact()
    ach_product_transaction_id = _Fact()
    terminal_id = _Fact()

    def __init__(
        self,
        port: int = 0,
        host: str = "127.0.0.1",
        data: str | Path | None = None,
        terminals: Mode = "auto",
        terminal_delay: float = 2.0,
        postback_hosts: Collection[str] = (),
    ) -> None:
        self._address = (host, port)
        self._data = None if data is None else str(data)
        self._manner = Manner(terminals, terminal_delay)
        self._postback_hosts = read_hosts(postback_hosts)
        self._running: _Running | None = None

    def __repr__(self) -> str:
        return f"<Sandbox {self.base_url}>" if self._running else "<Sandbox, not running>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    def start(self) -> None:
        """Start serving; returns when requests are answered.

        Raises:
            RuntimeError: It is running already.
            OSError: The port is taken.
            sqlite3.DatabaseError: The data file is no database, or another sandbox has it.
        """
        if self._running:
            raise RuntimeError("The sandbox is running already.")
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal("asyncio"))
            stack.callback(portal.call, portal.stop, True)  # lets go who still waits for a call
            gateway = portal.call(self._open, portal, stack)
            self._running = _Running(gateway, portal, stack.pop_all())

    def stop(self) -> None:
        """Stop serving at once, whatever still waits. A sandbox that does not run is left as it is."""
        if self._running:
            running, self._running = self._running, None
            running.stack.close()

    @property
    def facts(self) -> Facts:
        """The address, the credentials and the ids, in one value.

        Raises:
            RuntimeError: The sandbox is not running.
        """
        return self._live.gateway.facts

    @property
    def _live(self) -> _Running:
        if self._running is None:
            raise RuntimeError("The sandbox is not running.")
        return self._running

    def gateway(self, **options: Unpack[Options]) -> AsyncGateway:
        """A client that holds the credentials of this sandbox; `options` are those of `AsyncGateway`."""
        from gateway_async import AsyncGateway, UserApiKey  # the sandbox stands without the SDK

        credentials = UserApiKey(self.user_id, self.user_api_key)
        options.setdefault("developer_id", self.developer_id)
        options.setdefault("credentials", credentials)
        options.setdefault("location_id", self.location_id)
        return AsyncGateway(self.base_url, **options)

    def fault(
        self,
        operation: str,
        fault: FaultName,
        *,
        nth: int = 1,
        times: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
        seconds: float = 1.0,
        retry_after: float | None = 1.0,
    ) -> None:
        """Plan a misfortune for requests of one operation, such as "POST /v2/transactions".

        Args:
            operation: Method and path, with ids as `{id}`.
            fault: What shall happen. `refuse` closes the port behind the request before, for the first at once.
            nth: The first matching request from now on that is struck.
            times: How many are struck; 1, and without limit by chance.
            probability: The chance of each matching request, from 0 to 1, instead of `nth`.
            seed: Makes chance repeatable.
            seconds: How long a `delay`, the pause between bytes of a `drip`, or a `refuse` lasts.
            retry_after: What `Retry-After` says, in seconds; None leaves it out.

        Raises:
            ValueError: There is no such fault or operation.
        """
        plan = Plan(operation, fault, nth, times, probability, seed, seconds, retry_after)
        self._run(steering.add_fault, plan)

    def scenario(self, name: str) -> None:
        """Plan a named misfortune, such as "answer lost after approval"; the README of the sandbox lists them.

        Raises:
            ValueError: There is none of that name.
        """
        self._run(steering.add_scenario, name)

    def faults(self) -> list[Row]:
        """The plans of misfortune, each with the requests it has `seen` and `struck`, and `struck_ids`."""
        return self._call(steering.faults)

    def clear_faults(self) -> None:
        """Give up every plan of misfortune."""
        self._run(steering.clear_faults)

    def now(self) -> float:
        """What the sandbox clock shows, in Unix seconds."""
        return self._call(lambda gateway: gateway.clock.now())

    def set_clock(self, now: float) -> None:
        """Set the sandbox clock to a time in Unix seconds; whatever falls due happens at once.

        Raises:
            ValueError: It is not a time from 1970 to the year 9000.
        """
        self._call(lambda gateway: gateway.clock.set(now))

    def advance(self, seconds: float) -> None:
        """Move the sandbox clock; whatever falls due happens at once.

        Raises:
            ValueError: It would leave the years from 1970 to 9000.
        """
        self._call(lambda gateway: gateway.clock.advance(seconds))

    def ledger(self) -> Row:
        """How often each integrator id was `charged`, `refunded` or `stored`, and the records.

        A payment that was voided was charged all the same; a decline and an address check move no money.
        """
        return self._call(steering.ledger)

    def pay_quick_invoice(
        self, quick_invoice_id: str, amount: Amount | None = None, *, card: str = "4111111111111111"
    ) -> Row:
        """Do what a customer does on the page of an invoice: pay, or be declined.

        Args:
            quick_invoice_id: The invoice.
            amount: Two-decimal money; None for all that remains.
            card: The number that is keyed.

        Returns:
            The `transaction`, whose `status_id` tells what the issuer said, and the `quickinvoice` as it is now.

        Raises:
            ValueError: There is no such invoice or card, the invoice is closed or has expired, or it does not take
                such an amount.
        """
        return self._run(steering.pay_quick_invoice, quick_invoice_id, card, amount)

    def file(self, file_id: str) -> bytes:
        """What a file holds that was attached to an invoice.

        Raises:
            ValueError: There is no such file.
        """
        content, _ = self._call(content_of, file_id)
        return content

    def pay_paylink(self, paylink_id: str, *, card: str = "4111111111111111") -> Row:
        """Do what a customer does on the page of a paylink: pay what is due, or be declined.

        Args:
            paylink_id: The paylink.
            card: The number that is keyed.

        Returns:
            The `transaction`, whose `status_id` tells what the issuer said, and the `paylink` as it is now.

        Raises:
            ValueError: There is no such paylink or card, or the paylink is paid or has expired.
        """
        return self._run(steering.pay_paylink, paylink_id, card)

    def process_batch(self, batch_id: str, processing_status_id: int) -> Row:
        """Do what only the processor of a batch does.

        Args:
            batch_id: The batch.
            processing_status_id: 5 takes the batch, and then 2 settles it, 3 fails and opens it again, 6 gives it up;
                after a failure, 4 says that the processor will try again.

        Returns:
            The batch as it is now.

        Raises:
            ValueError: There is no such batch, or that cannot follow its status.
        """
        return self._call(steering.process_batch, batch_id, processing_status_id)

    def outbox(self, quick_invoice_id: str | None = None, paylink_id: str | None = None) -> list[Row]:
        """The e-mails and text messages that customers would have got, the newest last.

        Args:
            quick_invoice_id: Only what is about this invoice.
            paylink_id: Only what is about this paylink.

        Returns:
            Of each its `channel` ("email" or "sms"), whom it is `to`, the `occasion` ("created", "resend",
            "before due", "due", "after due", "paid"), `created_ts` in Unix seconds, `subject`, `text` with the
            link, the names of the `attachments`, and `quick_invoice_id` or `paylink_id`.
        """
        return self._call(steering.notices, quick_invoice_id, paylink_id)

    def postbacks(self, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
        """The postbacks of every config and what became of them, the newest last.

        All that wait are there, and of those that have ended the newest ten thousand.

        Args:
            config_id: Only those of this config.
            record_id: Only those about this record.

        Returns:
            Of each its `id`, `config_id`, the `url` of the config, `resource`, `type`, `record_id`, `created_ts` in
            Unix seconds, the `state` ("waiting", "delivered", "failed", "cancelled"), `next_attempt_ts`, the
            `attempts` (each with its `number`, `when`, `url`, and the `status` of the answer or an `error`), and
            the `body` as it was sent last. Card numbers in it are masked; queries of addresses are left out.
        """
        return self._call(steering.postbacks, config_id, record_id)

    def replay_postback(self, postback_id: str) -> Row:
        """Send a postback once more, whatever became of it; returns it as it is before that attempt.

        Raises:
            ValueError: There is no such postback, or its config was deleted or is not active.
        """
        return self._call(steering.replay_postback, postback_id)

    def terminals(self) -> list[Row]:
        """Every terminal and what waits at it."""
        return self._call(steering.terminals)

    def wait_for_call(self, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:
        """Wait until a call is at a terminal, by default the first one, and return it.

        Args:
            terminal_id: Which terminal.
            timeout: How long to wait, in seconds of real time.

        Returns:
            The `action`, the `amount`, `since` when (Unix seconds) and the `state` of the call whose turn it is.

        Raises:
            TimeoutError: None came.
            ValueError: There is no such terminal.
            RuntimeError: The sandbox was stopped meanwhile.
        """
        try:
            return self._run(steering.wait_for_call, self._at(terminal_id), timeout)
        except CancelledError:
            raise RuntimeError("The sandbox is not running.") from None

    async def called(self, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:  # noqa: ASYNC109  # of real time
        """`wait_for_call` for asyncio and trio."""
        wait = partial(self.wait_for_call, terminal_id, timeout=timeout)
        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    def present(
        self, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
    ) -> None:
        """Bring a card to a terminal, by default the first one.

        Args:
            terminal_id: Which terminal.
            card: Its number.
            entry_mode: S swiped, K keyed, C chip, P contactless, F fallback, B bar code.

        Raises:
            NothingWaitsError: No call waits there.
            ValueError: There is no such terminal, card or entry mode.
        """
        self._call(steering.present, self._at(terminal_id), card, entry_mode)

    def decline(self, terminal_id: str | None = None) -> None:
        """Let the issuer decline the card at a terminal.

        Raises:
            NothingWaitsError: No call waits there.
            ValueError: There is no such terminal.
        """
        self._call(steering.decline, self._at(terminal_id))

    def cancel(self, terminal_id: str | None = None) -> None:
        """Press the red key of a terminal.

        Raises:
            NothingWaitsError: No call waits there.
            ValueError: There is no such terminal.
        """
        self._call(steering.cancel, self._at(terminal_id))

    def silence(self, terminal_id: str | None = None) -> None:
        """Let a terminal do nothing more by itself until the next card, decline or cancellation.

        Raises:
            ValueError: There is no such terminal.
        """
        self._call(steering.silence, self._at(terminal_id))

    def add_terminal(self, title: str = "Terminal") -> str:
        """Make one more terminal and return its id."""
        return self._call(seed.add_terminal, {"location_id": self.location_id}, title)

    def add_location(self, name: str = "Second") -> Facts:
        """Make one more location with a user of its own, and return its facts."""
        return self._call(seed.add_location, self.developer_id, name)

    def add_vaults(self, count: int) -> None:
        """Store many account vaults at once, each with an `account_vault_api_id` of its own.

        Raises:
            ValueError: The count is negative.
        """
        self._run(seed.add_vaults, {"location_id": self.location_id}, count)

    def ticket(self, card: str = "4111111111111111", exp_date: str = "1230") -> str:
        """Make a ticket, which stands for a card once.

        Raises:
            ValueError: It is no card number, or the expiry is not of the form MMYY.
        """
        account = steering.read_test_card(card, exp_date)
        return self._call(seed.add_ticket, {"location_id": self.location_id}, account)

    def wait_until_idle(self, *, timeout: float = 10.0, postbacks: bool = True) -> None:
        """Wait until no request is under way: then whatever a client sent that has gone was done, or never will be.

        Postbacks that are due are waited for too, and the requests to which they lead. One that waits for its
        next attempt is not due; `advance` by its `attempt_interval` makes it so.

        Args:
            timeout: How long to wait, in seconds of real time.
            postbacks: Whether postbacks are waited for.

        Raises:
            TimeoutError: A request, or a postback, still is.
        """
        self._run(steering.wait_until_idle, timeout, postbacks)

    def reset(self) -> None:
        """Cut off whatever waits, forget records and faults, and set the clock right."""
        self._run(steering.reset)

    def _at(self, terminal_id: str | None) -> str:
        return self.terminal_id if terminal_id is None else terminal_id

    def _call(self, act: Callable[[Gateway, Unpack[_Args]], _T], *args: *_Args) -> _T:
        return self._live.portal.call(act, self._live.gateway, *args)

    def _run(self, act: Callable[[Gateway, Unpack[_Args]], Awaitable[_T]], *args: *_Args) -> _T:
        return self._live.portal.call(act, self._live.gateway, *args)

    async def _open(self, portal: BlockingPortal, stack: ExitStack) -> Gateway:
        store = Store(self._data)
        stack.callback(portal.call, store.close)
        clock = Clock()
        deliveries = Deliveries(store, clock, Courier(self._postback_hosts))
        gateway = Gateway(store, clock, Terminals(clock, self._manner), deliveries)
        gateway.listener = Listener(make_app(gateway), *self._address)
        await gateway.listener.bind()
        stack.callback(portal.call, gateway.listener.close)
        stack.callback(portal.call, gateway.deliveries.close)
        gateway.facts = seed.first_location(gateway)
        changes.watch(gateway)
        Nights(gateway).begin()
        await gateway.listener.open()
        gateway.deliveries.begin()
        return gateway
