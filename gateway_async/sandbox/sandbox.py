"""Run a sandbox from Python code, in its own thread.

A `Sandbox` can be started, controlled and stopped from any thread and any event loop.
"""

from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import CancelledError
from contextlib import ExitStack
from functools import partial, wraps
from inspect import iscoroutinefunction, isfunction
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.to_thread
import attrs
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gateway_async.client import AsyncGateway, Options
from gateway_async.credentials import UserApiKey
from gateway_async.errors import InvalidRequestError
from gateway_async.sandbox.admin import actions, seed
from gateway_async.sandbox.admin.end_of_day import EndOfDayScheduler
from gateway_async.sandbox.admin.product_settings import change_product
from gateway_async.sandbox.app import make_app
from gateway_async.sandbox.handlers.invoice_files import read_file
from gateway_async.sandbox.handlers.payment_pages import AmountInput
from gateway_async.sandbox.http.request_log import OnRequest
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.http.webhook_client import WebhookClient, read_hosts
from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.postbacks import changes, delivery_log
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.info import SandboxInfo
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery, PostbackFormat, check_format
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema import PAYLINK, QUICK_INVOICE
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import EntryMode
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.faults import FaultName, PlannedFault
from gateway_async.sandbox.simulators.terminals import Mode, NothingWaitsError, TerminalOptions, TerminalSimulator

__all__ = ["Sandbox"]

_T = TypeVar("_T")
_Args = TypeVarTuple("_Args")
_Params = ParamSpec("_Params")


@attrs.frozen
class _Running:
    """The gateway, event loop portal and exit stack of a running sandbox."""

    gateway: Gateway
    portal: BlockingPortal
    stack: ExitStack


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


def _with_short_tracebacks(owner: type[_T]) -> type[_T]:
    for name, method in [*vars(owner).items()]:
        if isfunction(method) and not iscoroutinefunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(owner, name, _raise_at_the_call(method))
    return owner


@_with_short_tracebacks
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
        strict: Whether an unknown field or query parameter is a 422. By default it is ignored, as at a gateway, and
            logged.
        allowed_hosts: Names by which the pages and control calls may be addressed, besides `host`, localhost and IP
            addresses.
        postback_format: `json` writes the bodies of postbacks as JSON, `form` as a form, as some gateways do.
        on_request: Called with a `LoggedRequest` after each request, in the thread of the sandbox.

    Raises:
        InvalidRequestError: The terminal mode or the format is unknown, the delay is negative or not finite, or a host
            is invalid.

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
    ) -> None:
        self._address = (host, port)
        self._data = None if data is None else str(data)
        self._terminal_options = TerminalOptions(terminals, terminal_delay)
        self._postback_hosts = read_hosts(postback_hosts)
        self._postback_format: PostbackFormat = check_format(postback_format)
        self._strict = strict
        self._on_request = on_request
        self._allowed_hosts = (host, *allowed_hosts)
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
            gateway = portal.call(self._open, portal, stack)
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
        """Return the `GATEWAY_*` variables of this sandbox, for programs that use `AsyncGateway.from_env()`.

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
        """Plan a fault for requests of one operation, such as "POST /v2/transactions".

        Args:
            operation: Method and path, with ids as `{id}`.
            fault: The name of the fault. `refuse` closes the port after the previous request, or at once for the first.
            nth: The first matching request, counted from now, that gets the fault.
            times: How many requests get the fault; the default is 1, or no limit with a `probability`.
            probability: The chance from 0 to 1 that a matching request gets the fault; it replaces `nth`.
            seed: Makes the random choice repeatable.
            seconds: How long a `delay` or a `refuse` lasts, or how long a `drip` pauses between bytes.
            retry_after: The `Retry-After` header, in seconds; None omits it.

        Raises:
            InvalidRequestError: The fault or the operation is unknown, or the plan is inconsistent.
        """
        plan = PlannedFault(operation, fault, nth, times, probability, seed, seconds, retry_after)
        self._call_async(actions.add_fault, plan)

    def scenario(self, name: str) -> None:
        """Plan the faults of a named scenario.

        An example is "response lost after approval". The page about faults lists the scenarios.

        Raises:
            InvalidRequestError: The scenario is unknown.
        """
        self._call_async(actions.add_scenario, name)

    def faults(self) -> list[Row]:
        """Return the planned faults.

        Each plan counts the matching requests (`seen`) and those with the fault (`affected`), with `affected_ids`.
        """
        return self._call(actions.faults)

    def clear_faults(self) -> None:
        """Remove every planned fault."""
        self._call_async(actions.clear_faults)

    def now(self) -> float:
        """Return the time of the sandbox clock, in Unix seconds."""
        return self._call(lambda gateway: gateway.clock.now())

    def set_clock(self, now: float) -> None:
        """Set the sandbox clock to a time in Unix seconds.

        Everything that becomes due happens at once.

        Raises:
            InvalidRequestError: The time is not between 1970 and the year 9000.
        """
        self._call(lambda gateway: gateway.clock.set(now))

    def advance(self, seconds: float) -> None:
        """Move the sandbox clock forward, or back if `seconds` is negative.

        Everything that becomes due happens at once.

        Raises:
            InvalidRequestError: The clock would leave the years from 1970 to 9000.
        """
        self._call(lambda gateway: gateway.clock.advance(seconds))

    def ledger(self) -> Row:
        """Count how often each integrator id was `charged`, `refunded` or `stored`.

        The result includes the records. A voided payment still counts as charged. A decline and an address check move
        no money.
        """
        return self._call(actions.ledger)

    def pay_quick_invoice(
        self, quick_invoice_id: str, amount: AmountInput | None = None, *, card: str = "4111111111111111"
    ) -> Row:
        """Pay an invoice as a customer does on its payment page.

        Args:
            quick_invoice_id: The id of the invoice.
            amount: Two-decimal money; None pays the remaining balance.
            card: The card number that the customer enters.

        Returns:
            The `transaction`, whose `status_id` tells whether it was approved, and the updated `quickinvoice`.

        Raises:
            InvalidRequestError: The invoice or the card is unknown, the invoice is closed or has expired, or it does
                not accept the amount.
        """
        return self._call_async(actions.pay, QUICK_INVOICE, quick_invoice_id, card, amount)

    def file(self, file_id: str) -> bytes:
        """Return the content of a file that is attached to an invoice.

        Raises:
            InvalidRequestError: The file is unknown.
        """
        content, _ = self._call(read_file, file_id)
        return content

    def pay_paylink(self, paylink_id: str, *, card: str = "4111111111111111") -> Row:
        """Pay a paylink as a customer does on its payment page.

        The payment covers the whole amount due. It may be declined.

        Args:
            paylink_id: The id of the paylink.
            card: The card number that the customer enters.

        Returns:
            The `transaction`, whose `status_id` tells whether it was approved, and the updated `paylink`.

        Raises:
            InvalidRequestError: The paylink or the card is unknown, or the paylink is paid or has expired.
        """
        return self._call_async(actions.pay, PAYLINK, paylink_id, card)

    def process_batch(self, batch_id: str, processing_status_id: int) -> Row:
        """Change the status of a batch as its processor does.

        Args:
            batch_id: The id of the batch.
            processing_status_id: 5 starts processing. Then 2 settles the batch, 3 fails and reopens it,
                and 6 abandons it. After a failure, 4 announces another try by the processor.

        Returns:
            The batch after the change.

        Raises:
            InvalidRequestError: The batch is unknown, or its status does not allow the change.
        """
        return self._call(actions.process_batch, batch_id, processing_status_id)

    def change_product(
        self,
        product_transaction_id: str | None = None,
        *,
        allow_partial_authorization: bool | None = None,
        auto_decline_cvv: bool | None = None,
        auto_decline_street: bool | None = None,
        auto_decline_zip: bool | None = None,
        surcharge: bool | None = None,
        level3_allow: bool | None = None,
        run_avs_on_accountvault_create: bool | None = None,
        license_verification: bool | None = None,
        ach_terminal: str | None = None,
        industry_type: str | None = None,
    ) -> Row:
        """Change settings of a merchant account, by default the one for cards.

        Args:
            product_transaction_id: The id of the merchant account.
            allow_partial_authorization: Whether less than the amount may be approved; on at first.
            auto_decline_cvv: Whether a payment is declined if its CVV could not be checked; off at first.
            auto_decline_street: Whether a payment is declined if its street does not match; off at first.
            auto_decline_zip: Whether a payment is declined if its zip does not match; off at first.
            surcharge: Whether a payment must name the parts of its amount; off at first.
            level3_allow: Whether a payment takes level 3 data; off at first.
            run_avs_on_accountvault_create: Whether the address of a card is checked before it is stored; off at first.
            license_verification: Whether a bank account needs a `customer_id`, or else `dl_number` and `dl_state`; off
                at first.
            ach_terminal: The number of a test terminal for bank payments, such as "1010"; "" removes it.
            industry_type: `retail`, `restaurant`, `lodging`, `mailorder` or `ecommerce`, which it is at first.

        Returns:
            The merchant account after the change.

        Raises:
            InvalidRequestError: The merchant account, the test terminal or the industry is unknown.
        """
        product_id = self.cc_product_transaction_id if product_transaction_id is None else product_transaction_id
        change = partial(
            change_product,
            allow_partial_authorization=allow_partial_authorization,
            auto_decline_cvv=auto_decline_cvv,
            auto_decline_street=auto_decline_street,
            auto_decline_zip=auto_decline_zip,
            surcharge=surcharge,
            level3_allow=level3_allow,
            run_avs_on_accountvault_create=run_avs_on_accountvault_create,
            license_verification=license_verification,
            ach_terminal=ach_terminal,
            industry_type=industry_type,
        )
        return self._call(change, product_id)

    def return_payment(self, transaction_id: str, code: str = "R01") -> Row:
        """Let the bank return a bank payment, or correct its data.

        The bank has a payment from the midnight after it was accepted.

        Args:
            transaction_id: The id of the payment.
            code: R and two digits for a return, C for a notice of change, X for the return of a check image.

        Returns:
            The transaction after the change.

        Raises:
            InvalidRequestError: The payment or the code is unknown, or the bank does not have the payment.
        """
        return self._call(actions.return_payment, transaction_id, code)

    def update_card(self, account_vault_id: str, card: str | None = None, exp_date: str | None = None) -> Row:
        """Let the card updater change a stored card, and post it back.

        Args:
            account_vault_id: The id of the account vault.
            card: The new number of the card; None keeps it.
            exp_date: The new expiry as MMYY; None keeps it.

        Returns:
            The account vault after the change.

        Raises:
            InvalidRequestError: The vault is unknown, deleted or a bank account, nothing is given, or a value is
                invalid.
        """
        return self._call(actions.update_card, account_vault_id, card, exp_date)

    def outbox(self, quick_invoice_id: str | None = None, paylink_id: str | None = None) -> list[Row]:
        """Return the e-mails and text messages to customers, newest last.

        The sandbox stores these messages and does not send them.

        Args:
            quick_invoice_id: Return only messages about this invoice.
            paylink_id: Return only messages about this paylink.

        Returns:
            For each message its `channel` ("email" or "sms"), the recipient `to`, the `event` ("created", "resend",
            "before due", "due", "after due", "paid"), `created_ts` in Unix seconds, `subject`, `text` with the
            link, the names of the `attachments`, and `quick_invoice_id` or `paylink_id`.
        """
        return self._call(outbox.read, quick_invoice_id, paylink_id)

    def postbacks(self, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
        """Return the postbacks of every config and their delivery attempts, newest last.

        The list has every waiting postback and the newest ten thousand that have ended.

        Args:
            config_id: Return only postbacks of this config.
            record_id: Return only postbacks about this record.

        Returns:
            For each postback its `id`, `config_id`, the config `url`, `resource`, `type`, `record_id`, `created_ts` in
            Unix seconds, the `state` ("waiting", "delivered", "failed", "cancelled"), `next_attempt_ts`, the
            `attempts` (each with its `number`, `when`, `url`, and the `status` of the response or an `error`), and
            the `body` of the last attempt. Card numbers in it are masked. Query strings of addresses are omitted.
        """
        return self._call(delivery_log.read, config_id, record_id)

    def set_postback_format(self, postback_format: PostbackFormat) -> None:
        """Write the bodies of later postbacks as `json` or as a `form`; the receiver takes both.

        Raises:
            InvalidRequestError: The format is unknown.
        """
        self._call(actions.set_postback_format, postback_format)

    def replay_postback(self, postback_id: str) -> Row:
        """Send a postback again, in whatever state it is.

        The result is the postback before that attempt.

        Raises:
            InvalidRequestError: The postback is unknown, or its config was deleted or is inactive.
        """
        return self._call(delivery_log.replay, postback_id)

    def terminals(self) -> list[Row]:
        """Return every terminal and the calls that wait at it."""
        return self._call(actions.terminals)

    def wait_for_call(self, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:
        """Wait until a call is active at a terminal.

        The default is the first terminal.

        Args:
            terminal_id: The id of the terminal.
            timeout: The longest wait, in seconds of real time.

        Returns:
            The active call: its `action`, its `amount`, the name of its `user`, the `User-Agent` of its `program`, its
            integrator id `api_id`, the arrival time `since` and the time `acts_at` of the next automatic action (Unix
            seconds), and its `state`.

        Raises:
            TimeoutError: No call arrived in time.
            InvalidRequestError: The terminal is unknown.
            RuntimeError: The sandbox was stopped during the wait.
        """
        try:
            return self._call_async(actions.wait_for_call, self._or_first_terminal(terminal_id), timeout)
        except CancelledError:
            raise RuntimeError("The sandbox is not running.") from None

    async def await_call(self, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:  # noqa: ASYNC109  # of real time
        """Wait as `wait_for_call` does, under asyncio or trio."""
        wait = partial(self.wait_for_call, terminal_id, timeout=timeout)
        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    def present(
        self, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
    ) -> None:
        """Present a card to a terminal, by default the first one.

        Args:
            terminal_id: The id of the terminal.
            card: The card number.
            entry_mode: S swiped, K keyed, C chip, P contactless, F fallback, B bar code.

        Raises:
            NothingWaitsError: No call waits at the terminal.
            InvalidRequestError: The terminal, the card or the entry mode is unknown.
        """
        self._use_card(TerminalSimulator.present, terminal_id, card, entry_mode)

    def accept_terms(self, terminal_id: str | None = None) -> None:
        """Let the customer accept, and sign, the terms that a terminal shows.

        Raises:
            NothingWaitsError: The terminal shows no terms.
            InvalidRequestError: The terminal is unknown.
        """
        self._call(actions.operate_terminal, self._or_first_terminal(terminal_id), TerminalSimulator.accept)

    def decline(
        self, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
    ) -> None:
        """Decline the card, or the terms, at a terminal.

        The arguments and errors are those of `present`.
        """
        self._use_card(TerminalSimulator.decline, terminal_id, card, entry_mode)

    def reject_pin(
        self, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
    ) -> None:
        """Let the issuer reject the PIN at a terminal.

        The arguments and errors are those of `present`.
        """
        self._use_card(TerminalSimulator.reject_pin, terminal_id, card, entry_mode)

    def cancel(self, terminal_id: str | None = None) -> None:
        """Press the cancel key of a terminal.

        Raises:
            NothingWaitsError: No call waits at the terminal.
            InvalidRequestError: The terminal is unknown.
        """
        self._call(actions.operate_terminal, self._or_first_terminal(terminal_id), TerminalSimulator.cancel)

    def silence(self, terminal_id: str | None = None) -> None:
        """Stop the automatic actions of a terminal until the next manual action.

        The next card, decline or cancellation ends the silence.

        Raises:
            InvalidRequestError: The terminal is unknown.
        """
        self._call(actions.operate_terminal, self._or_first_terminal(terminal_id), TerminalSimulator.silence)

    def add_terminal(self, title: str = "Terminal") -> str:
        """Add a terminal and return its id.

        Raises:
            InvalidRequestError: The title is empty, or longer than 64 characters.
        """
        return str(self._call(actions.add_terminal, title)["id"])

    def add_location(self, name: str = "Second", parent_id: str | None = None) -> SandboxInfo:
        """Add a location with its own user, and return its info. `parent_id` is the location above it, if any."""
        return self._call(seed.add_location, self.developer_id, name, parent_id)

    def add_vaults(self, count: int) -> None:
        """Store many account vaults, each with its own `account_vault_api_id`.

        Raises:
            InvalidRequestError: The count is negative.
        """
        self._call_async(seed.add_vaults, self._current.gateway.first_location, count)

    def ticket(self, card: str = "4111111111111111", exp_date: str = "1230") -> str:
        """Create a ticket, which can replace a card once.

        Raises:
            InvalidRequestError: The card number is invalid, or the expiry does not have the form MMYY.
        """
        return self._call(actions.add_ticket, card, exp_date)

    def wait_until_idle(self, *, timeout: float = 10.0, postbacks: bool = True) -> None:
        """Wait until no request is in progress.

        After that, each request of a client that has exited was either executed or never will be. Postbacks that are
        due, and the requests that they cause, are included. A postback that waits for its next attempt is not due.
        `advance` by its `attempt_interval` makes it due.

        Args:
            timeout: The longest wait, in seconds of real time.
            postbacks: Whether to wait for postbacks too.

        Raises:
            TimeoutError: A request or a postback is still in progress.
        """
        self._call_async(actions.wait_until_idle, timeout, postbacks)

    def reset(self) -> None:
        """Cancel waiting calls, delete records and faults, and reset the clock."""
        self._call_async(actions.reset)

    def _use_card(
        self,
        act: Callable[[TerminalSimulator, str, str, EntryMode], None],
        terminal_id: str | None,
        card: str,
        entry_mode: EntryMode,
    ) -> None:
        self._call(actions.use_card, self._or_first_terminal(terminal_id), act, card, entry_mode)

    def _or_first_terminal(self, terminal_id: str | None) -> str:
        return self.terminal_id if terminal_id is None else terminal_id

    def _call(self, function: Callable[[Gateway, Unpack[_Args]], _T], *args: *_Args) -> _T:
        return self._current.portal.call(function, self._current.gateway, *args)

    def _call_async(self, function: Callable[[Gateway, Unpack[_Args]], Awaitable[_T]], *args: *_Args) -> _T:
        return self._current.portal.call(function, self._current.gateway, *args)

    async def _open(self, portal: BlockingPortal, stack: ExitStack) -> Gateway:
        store = Store(self._data)
        stack.callback(portal.call, store.close)
        clock = Clock()
        postback_delivery = PostbackDelivery(store, clock, WebhookClient(self._postback_hosts), self._postback_format)
        terminals = TerminalSimulator(clock, self._terminal_options)
        gateway = Gateway(store, clock, terminals, postback_delivery, self._strict)
        gateway.listener = Listener(make_app(gateway, self._on_request, self._allowed_hosts), *self._address)
        await gateway.listener.bind()
        stack.callback(portal.call, gateway.listener.close)
        stack.callback(portal.call, gateway.postback_delivery.close)
        gateway.info = seed.load_info(gateway)
        gateway.refresh_info()
        changes.watch(gateway)
        EndOfDayScheduler(gateway).start()
        await gateway.listener.open()
        gateway.postback_delivery.start()
        return gateway
