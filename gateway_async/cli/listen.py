"""`gateway-async listen`: print postbacks as they arrive."""

import asyncio
import json
import logging
import secrets
import signal
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import attrs
import typer
from rich.console import Console
from rich.text import Text
from typer import BadParameter, Option

from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson, HostOption, PortOption
from gateway_async.cli.forward import Forward, Forwarder, Target
from gateway_async.cli.output import warn
from gateway_async.cli.postback_format import (
    forward_line,
    forward_object,
    object_of,
    refusal_line,
    refusal_object,
    text_of,
)
from gateway_async.cli.sandbox import fail_to_listen
from gateway_async.cli.standard_streams import OutputError
from gateway_async.cli.temporary_configs import TemporaryConfigs
from gateway_async.errors import InvalidRequestError
from gateway_async.models.codes import PostbackResource
from gateway_async.observe import logger
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.postbacks.http.adapters import AsgiApp
from gateway_async.postbacks.http.response import ReceiverResponse
from gateway_async.sandbox.http.server import Listener

_REFUSED: Final = 400


@attrs.define
class PostbackDisplay:
    """Prints the events of the listener.

    Attributes:
        as_json: whether to print one JSON object on each line, for programs.
    """

    as_json: bool
    _failure: OutputError | None = attrs.field(default=None, init=False)
    _failed: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    def ready(self, url: str, configs: int) -> None:
        """Print the address, now that postbacks can be received."""
        self._show(Text(f"Listening at {url}", style="bold green"), {"event": "ready", "url": url, "configs": configs})
        if not self.as_json:
            created = pluralize(configs, "config created; it is", "configs created; they are")
            made = f"{configs} postback {created} deleted at the end. " if configs else ""
            self._show(Text(f"{made}Press Ctrl-C to stop.", style="dim"), {})

    def postback(self, postback: Postback[Any]) -> None:
        """Print a postback."""
        at = datetime.now(UTC)
        self._show(text_of(postback, at), object_of(postback, at) if self.as_json else {})

    def print_refused(self, response: ReceiverResponse) -> None:
        """Print a rejected request."""
        at, reason = datetime.now(UTC), response.body.decode(errors="replace").strip()
        self._show(refusal_line(response.status_code, reason, at), refusal_object(response.status_code, reason, at))

    def print_forwarded(self, forward: Forward) -> None:
        """Print an attempt to forward a postback; people get the last one only."""
        if self.as_json or forward.pause is None:
            self._show(forward_line(forward), forward_object(forward, datetime.now(UTC)))

    def _show(self, text: Text, content: Mapping[str, Any]) -> None:
        try:
            typer.echo(json.dumps(content)) if self.as_json else Console().print(text, soft_wrap=True)
        except OutputError as error:
            self._failure = error
            self._failed.set()
            raise

    async def wait_until_lost(self) -> None:
        """Wait until the output cannot be written.

        Raises:
            OutputError: always, at the end.
        """
        await self._failed.wait()
        if self._failure:
            raise self._failure


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
        target = _target("--forward-to", self.forward_to)
        _target("--url", self.url)
        configs = None
        if self.create_configs:
            resources = self.resource or list(PostbackResource)
            configs = TemporaryConfigs(resources, self.product_transaction_id or [], self.url, username, password)
        display = PostbackDisplay(self.as_json)
        forwarder = Forwarder(target, self.forward_attempts, display.print_forwarded) if target else None
        try:
            asyncio.run(_listen(self.host, self.port, _receiver(username, password), configs, display, forwarder))
        except OSError as error:
            fail_to_listen(self.host, self.port, error)


def _receiver(username: str | None, password: str | None) -> PostbackReceiver:
    logger.addHandler(logging.NullHandler())  # `PostbackDisplay` prints rejected requests
    try:
        return PostbackReceiver(username, password, allow_unauthenticated=username is None and password is None)
    except InvalidRequestError as error:
        raise BadParameter("; ".join(error.problems)) from None


def _target(option: str, url: str | None) -> Target | None:
    try:
        return None if url is None else Target.parse(url)
    except ValueError as error:
        raise BadParameter(f"{option}: {error}") from None


async def _listen(
    host: str,
    port: int,
    receiver: PostbackReceiver,
    configs: TemporaryConfigs | None,
    display: PostbackDisplay,
    forwarder: Forwarder | None,
) -> None:
    with _stop_on_signals():
        async with AsyncExitStack() as stack:
            if forwarder:
                stack.push_async_callback(_stop_forwarding, forwarder)
            listener = Listener(_print_requests(receiver, display, forwarder), host, port)
            await listener.bind()
            stack.push_async_callback(listener.close)
            await listener.open()
            made = await stack.enter_async_context(configs.create(f"{listener.url}/")) if configs else 0
            display.ready(f"{listener.url}/", made)
            await display.wait_until_lost()


async def _stop_forwarding(forwarder: Forwarder) -> None:
    if left := await forwarder.stop():
        warn(f"{left} {pluralize(left, 'postback was', 'postbacks were')} not forwarded")


def _print_requests(receiver: PostbackReceiver, display: PostbackDisplay, forwarder: Forwarder | None) -> Any:
    """Make an ASGI application that prints postbacks and rejected requests."""

    async def show(postback: Postback[Any]) -> None:
        display.postback(postback)

    async def receive(
        method: str, headers: Mapping[str, str], chunks: AsyncIterable[bytes], peer: str | None
    ) -> ReceiverResponse:
        body = bytearray()
        response = await receiver.receive(method, headers, _copy(chunks, body), peer)
        if response.status_code >= _REFUSED:
            display.print_refused(response)
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


@contextmanager
def _stop_on_signals() -> Iterator[None]:
    """Cancel the block at the first SIGINT or SIGTERM."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def end(number: int, _frame: Any) -> None:
        signal.signal(number, former[signal.Signals(number)])  # a second signal ends the process at once
        if task:
            loop.call_soon_threadsafe(task.cancel)

    former = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with suppress(asyncio.CancelledError):
            yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
