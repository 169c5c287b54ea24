"""A call costs few function calls, little memory and four frames; time is measured by `benchmarks/`."""

import asyncio
import contextlib
import gc
import selectors
import socket
import sys
import threading
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import CodeType, FrameType
from typing import Any, cast

import httpx
import pytest

from gateway_async import AsyncGateway, CardVaultCreate, CircuitBreaker, RouterTransactionCreate, UserApiKey
from gateway_async._wire.call import Call, HttpRequest

CONTACT = b'{"contact":{"id":"c1","first_name":"Ada","last_name":"Lovelace","created_ts":1600000000,"active":1}}'
VAULT = (
    b'{"accountvault":{"id":"v1","account_vault_api_id":"mine","account_holder_name":"Ada",'
    b'"last_four":"1111","exp_date":"1230"}}'
)
NEW = CardVaultCreate(
    account_number="4111111111111111", exp_date="1230", account_holder_name="Ada", account_vault_api_id="mine"
)

REPEATS = 20
"""Calls of which the cheapest is counted: the first ones fill caches, and a socket may delay one."""

WAITING = 200
BYTES_PER_TERMINAL_CALL = 12_500 if sys.version_info < (3, 12) else 13_500  # 3.14 has the largest objects

Verb = Callable[[AsyncGateway], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "GET": lambda gateway: gateway.contacts.get("c1"),
    "POST": lambda gateway: gateway.account_vaults.create(NEW),
}


def respond(request: httpx.Request) -> httpx.Response:
    """Respond to a call in memory."""
    content = CONTACT if request.method == "GET" else VAULT
    return httpx.Response(200, headers={"Content-Type": "application/json"}, content=content)


def gateway_at(url: str, transport: httpx.AsyncBaseTransport | None = None, **options: Any) -> AsyncGateway:
    """Make a client."""
    key = UserApiKey("u" * 24, "k" * 40)
    return AsyncGateway(
        url, developer_id="developer", credentials=key, location_id="location", transport=transport, **options
    )


class Server(threading.Thread):
    """Responds to calls from another thread, whose function calls are not counted; payments at terminals wait."""

    def __init__(self) -> None:
        super().__init__()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=WAITING)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.waiting = 0

    def run(self) -> None:
        """Serve until closed."""
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as connections, self._listener:
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is not self._listener:
                        self._respond(cast("socket.socket", key.fileobj), selector)
                        continue
                    try:
                        connection, _ = self._listener.accept()
                    except OSError:  # closed
                        return
                    selector.register(connections.enter_context(connection), selectors.EVENT_READ)

    def _respond(self, connection: socket.socket, selector: selectors.BaseSelector) -> None:
        request = connection.recv(4096)
        if not request:
            selector.unregister(connection)
            connection.close()
        elif b"/routertransactions" in request:
            self.waiting += 1
        else:
            body = CONTACT if request.startswith(b"GET") else VAULT
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)

    def close(self) -> None:
        """Stop serving."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.join()


@pytest.fixture
def server() -> Iterator[Server]:
    """Run the server during a test."""
    server = Server()
    server.start()
    yield server
    server.close()


async def function_calls(gateway: AsyncGateway, verb: Verb) -> int:
    """Count the calls of Python functions that one call of the client needs."""
    counts = []
    for _ in range(REPEATS):
        count = 0

        def profile(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(profile)
        try:
            await verb(gateway)
        finally:
            sys.setprofile(None)
        counts.append(count)
    return min(counts)


@pytest.mark.parametrize(("method", "most"), [("GET", 160), ("POST", 233)])
def test_function_calls_in_memory(method: str, most: int) -> None:
    async def count() -> int:
        async with gateway_at("https://gateway.example", httpx.MockTransport(respond)) as gateway:
            return await function_calls(gateway, VERBS[method])

    counted = asyncio.run(count())
    assert counted <= most, f"a {method} in memory needs {counted} function calls"


@pytest.mark.parametrize(("method", "most"), [("GET", 162), ("POST", 235)])
def test_function_calls_over_a_socket(server: Server, method: str, most: int) -> None:
    async def count() -> int:
        async with gateway_at(server.url) as gateway:
            return await function_calls(gateway, VERBS[method])

    counted = asyncio.run(count())
    assert counted <= most, f"a {method} over a socket needs {counted} function calls"


@pytest.mark.parametrize(("method", "most"), [("GET", 4), ("POST", 8)])
def test_function_calls_of_a_circuit_breaker(method: str, most: int) -> None:
    async def count(breaker: CircuitBreaker | None) -> int:
        transport = httpx.MockTransport(respond)
        async with gateway_at("https://gateway.example", transport, circuit_breaker=breaker) as gateway:
            return await function_calls(gateway, VERBS[method])

    assert asyncio.run(count(CircuitBreaker())) - asyncio.run(count(None)) <= most


async def until_waiting(server: Server, calls: int) -> None:
    """Wait until the server has received that many calls."""
    while server.waiting < calls:
        await asyncio.sleep(0.01)


def test_memory_of_a_waiting_terminal_call(server: Server) -> None:
    async def sell(gateway: AsyncGateway, number: int) -> object:
        new = RouterTransactionCreate(action="sale", terminal_id=f"terminal-{number}", transaction_amount="12.50")
        return await gateway.router_transactions.create(new)

    async def measure() -> float:
        async with gateway_at(server.url) as gateway:
            calls = [asyncio.create_task(sell(gateway, 0))]
            await until_waiting(server, 1)
            gc.collect()
            tracemalloc.start()
            try:
                calls += [asyncio.create_task(sell(gateway, number)) for number in range(1, WAITING + 1)]
                await until_waiting(server, WAITING + 1)
                gc.collect()
                held, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        return held / WAITING

    held = asyncio.run(measure())
    assert held <= BYTES_PER_TERMINAL_CALL, f"a waiting call holds {held:.0f} bytes"


class Suspended(httpx.AsyncBaseTransport):
    """A transport in which calls wait until they are cancelled."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Wait."""
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError(request)


def frames(coroutine: Any, last: CodeType) -> Iterator[str]:
    """Yield the names of the coroutines that wait for each other, from one to that of `last`."""
    while coroutine is not None:
        yield coroutine.cr_code.co_name
        if coroutine.cr_code is last:
            return
        coroutine = coroutine.cr_await
    raise AssertionError("the transport is not awaited")


def test_depth() -> None:
    """A waiting call is four coroutines deep, so that each wake-up is cheap and each traceback short."""

    async def suspend() -> list[str]:
        transport = Suspended()
        async with gateway_at("https://gateway.example", transport) as gateway:
            call: Call[Any] = Call(request=HttpRequest(path="/v2/contacts/c1"), read=dict)
            coroutine: Coroutine[Any, Any, object] = gateway._executor.execute(call)
            task = asyncio.create_task(coroutine)
            await transport.reached.wait()
            names = list(frames(coroutine, Suspended.handle_async_request.__code__))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return names

    assert asyncio.run(suspend()) == ["_run", "_send_once", "_send", "handle_async_request"]
