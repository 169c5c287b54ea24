"""`gateway-async listen`: print postbacks as they arrive."""

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import attrs
from rich.console import Console
from rich.text import Text
from typer import BadParameter, Option

from gateway_async import PostbackConfigCreate
from gateway_async._arguments import is_loopback
from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson, HostOption, PortOption
from gateway_async.cli.forward import Forwarder, Target
from gateway_async.cli.output import print_json, warn
from gateway_async.cli.postback_format import ListenEvent, forward_event, postback_event, refusal_event
from gateway_async.cli.sandbox import fail_to_listen
from gateway_async.cli.standard_streams import OutputError
from gateway_async.cli.temporary_configs import create_configs
from gateway_async.models.codes import PostbackResource
from gateway_async.observe import logger
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.postbacks.http.adapters import AsgiApp
from gateway_async.postbacks.http.response import ReceiverResponse
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.serve import handle_signals

_REFUSED: Final = 400
_PER_MERCHANT: Final = (PostbackResource.TRANSACTION, PostbackResource.TRANSACTION_BATCH)


class ListenDisplay:
    """Prints the events of the listener.

    Attributes:
        lost: ends with the error when the output cannot be written.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._as_json = as_json

    def show_address(self, url: str, configs: int) -> None:
        """Print the address, now that postbacks can be received."""
        if self._as_json:
            return self._print({"event": "ready", "url": url, "configs": configs})
        created = pluralize(configs, "config created; it is", "configs created; they are")
        made = f"{configs} postback {created} deleted at the end. " if configs else ""
        self._print(Text(f"Listening at {url}", style="bold green"))
        return self._print(Text(f"{made}Press Ctrl-C to stop.", style="dim"))

    def show(self, event: ListenEvent) -> None:
        """Print an event with the time."""
        now = datetime.now(UTC)
        if self._as_json:
            self._print({"at": now.isoformat(timespec="milliseconds"), **event.values})
        elif event.line is not None:
            self._print(Text.assemble((f"{now.astimezone():%H:%M:%S}", "dim"), "  ", event.line))

    def _print(self, content: Text | dict[str, Any]) -> None:
        try:
            Console().print(content, soft_wrap=True) if isinstance(content, Text) else print_json([content])
        except OutputError as error:
            if not self.lost.done():
                self.lost.set_exception(error)
                self.lost.exception()  # otherwise asyncio logs it if nothing waits for it yet
            raise


@attrs.frozen(kw_only=True)
class ListenCommand:
    """Print the postbacks that a gateway sends, until Ctrl-C or SIGTERM.

    Postbacks are acknowledged but not stored. Requests that are invalid or have wrong credentials are rejected, and
    printed too. Card numbers and bank data are masked in the output.

    With --forward-to, each postback is also sent to your program, up to --forward-attempts times until it gets a 2xx.
    The status of the last attempt is printed; with --json, of every attempt. Postback configs that a killed run with
    --create-configs left behind are deleted by any other such run that lasts two minutes.
    """

    host: HostOption = "127.0.0.1"
    port: PortOption = 8788
    username: Annotated[
        str | None, Option(metavar="NAME", help="User name that requests must have (Basic authentication).")
    ] = None
    password: Annotated[str | None, Option(metavar="PASSWORD", help="Password that requests must have.")] = attrs.field(
        default=None, repr=False
    )
    create_configs: Annotated[
        bool,
        Option(
            "--create-configs",
            help="Create postback configs for this address, and delete them at the end. Credentials are generated "
            "unless you give them. Reads the GATEWAY_* variables.",
        ),
    ] = False
    resource: Annotated[
        list[PostbackResource] | None,
        Option(
            metavar="RESOURCE",
            help=f"With --create-configs: resource to send postbacks for, {', '.join(PostbackResource)}. Repeatable. "
            "Default: all, which needs --product-transaction-id.",
        ),
    ] = None
    product_transaction_id: Annotated[
        list[str] | None,
        Option(metavar="ID", help="With --create-configs: merchant account of payments and batches. Repeatable."),
    ] = None
    url: Annotated[
        str | None,
        Option(metavar="URL", help="With --create-configs: address at which the gateway reaches this command."),
    ] = None
    forward_to: Annotated[
        str | None,
        Option(metavar="URL", help="Forward each postback unchanged, with its own credentials or those in the URL."),
    ] = attrs.field(default=None, repr=False)
    forward_attempts: Annotated[
        int, Option(min=1, metavar="N", help="Maximum attempts for a postback that gets no 2xx.")
    ] = 5
    as_json: AsJson = False

    def run(self) -> None:
        """Listen until a signal."""
        if not self.create_configs and (self.resource or self.product_transaction_id or self.url):
            raise BadParameter("--resource, --product-transaction-id, --url: need --create-configs")
        if (self.username is None) != (self.password is None):
            raise BadParameter("--username and --password: use both or neither")
        username, password = self.username, self.password
        if self.create_configs and username is None:
            username, password = "listen", secrets.token_urlsafe(24)
        logger.addHandler(logging.NullHandler())  # `ListenDisplay` prints rejected requests
        receiver = PostbackReceiver(username, password, allow_unauthenticated=username is None)
        target = Target.parse("--forward-to", self.forward_to) if self.forward_to is not None else None
        if self.url is not None:
            Target.parse("--url", self.url)
        configs = [*self._configs(username, password)] if self.create_configs else []
        try:
            asyncio.run(self._listen(receiver, target, configs))
        except OSError as error:
            fail_to_listen(self.host, self.port, error)

    def _configs(self, username: str | None, password: str | None) -> Iterator[PostbackConfigCreate]:
        """The configs to create; without a URL, they are for the address that is listened on."""
        products, resources = self.product_transaction_id or [], self.resource or [*PostbackResource]
        if not products and {*resources} & {*_PER_MERCHANT}:
            raise BadParameter(
                "--product-transaction-id: required for transaction and transactionbatch "
                "(not for --resource contact --resource accountvault)"
            )
        host = urlsplit(os.environ.get("GATEWAY_BASE_URL", "")).hostname
        if self.url is None and host and not is_loopback(host):
            raise BadParameter(f"--url: required, because {host} cannot reach {self.host}")
        for resource in resources:
            for product_id in products if resource in _PER_MERCHANT else [None]:
                yield PostbackConfigCreate(
                    url=self.url or "",
                    resource=resource,
                    product_transaction_id=product_id,
                    on_create=True,
                    on_update=True,
                    on_delete=True,
                    is_active=True,
                    basic_auth_username=username,
                    basic_auth_password=password,
                )

    async def _listen(
        self, receiver: PostbackReceiver, target: Target | None, configs: Sequence[PostbackConfigCreate]
    ) -> None:
        display = ListenDisplay(as_json=self.as_json)
        forwarder = None
        if target:
            forwarder = Forwarder(target, self.forward_attempts, lambda forward: display.show(forward_event(forward)))
        async with _until_signal(), AsyncExitStack() as stack:
            if forwarder:
                stack.push_async_callback(_stop_forwarding, forwarder)
            app = _print_requests(receiver, display, forwarder)
            listener = await stack.enter_async_context(Listener(app, self.host, self.port))
            if configs:
                new = [attrs.evolve(config, url=self.url or f"{listener.url}/") for config in configs]
                await stack.enter_async_context(create_configs(new))
            display.show_address(f"{listener.url}/", len(configs))
            await display.lost


async def _stop_forwarding(forwarder: Forwarder) -> None:
    if left := await forwarder.stop():
        warn(f"{left} {pluralize(left, 'postback was', 'postbacks were')} not forwarded")


def _print_requests(receiver: PostbackReceiver, display: ListenDisplay, forwarder: Forwarder | None) -> Any:
    """Make an ASGI application that prints postbacks and rejected requests."""

    async def show(postback: Postback[Any]) -> None:
        display.show(postback_event(postback))

    async def receive(
        method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes], peer: str | None
    ) -> ReceiverResponse:
        body = bytearray()
        response = await receiver.receive(method, headers, _copy(chunks, body), peer)
        if response.status_code >= _REFUSED:
            display.show(refusal_event(response.status_code, response.body.decode(errors="replace").strip()))
        elif forwarder:
            forwarder.start(receiver.parse(headers, bytes(body)), headers, bytes(body))
        return response

    receiver.on()(show)
    return AsgiApp(receive, receiver)


async def _copy(chunks: AsyncIterable[bytes], body: bytearray) -> AsyncIterator[bytes]:
    """Yield chunks, and append them to `body`."""
    async for chunk in chunks:
        body += chunk
        yield chunk


@asynccontextmanager
async def _until_signal() -> AsyncIterator[None]:
    """Cancel the block at the first SIGINT or SIGTERM; a second one ends the process at once."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if task:
            loop.call_soon_threadsafe(task.cancel)

    with handle_signals(end), suppress(asyncio.CancelledError):
        yield
