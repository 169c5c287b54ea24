"""Peers that response payments with endless, slow, foreign or exploding responses."""

import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any, Final

import anyio

from gateway_async import AsyncGateway, GatewayError, OutcomeUnknownError, UserApiKey
from gateway_async._execution.http_client import MAX_BODY
from tests.reliability import protections
from tests.reliability.condition import Condition, Result
from tests.support.sales import sale
from tests.support.scripted_server import Wire, serving

_ENDS_WITHIN: Final = 60.0
"""Seconds after which a call hangs; its own deadline is much shorter."""

_PADDING: Final = 2 * MAX_BODY
_CHUNK: Final = b" " * (1 << 20)
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
_JSON: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

ScriptedResponse = Callable[[Wire, bytes], Awaitable[None]]
"""Answers one request with a hostile response, which contains the record that the request asks for."""


def _record(api_id: str, **changes: Any) -> bytes:
    """Return an approved transaction, as the gateway shows it."""
    record = {"id": "1" * 24, "transaction_api_id": api_id, "transaction_amount": "1.00", "last_four": "1111"}
    return json.dumps({"transaction": record | {"status_id": 101} | changes}).encode()


async def _send_endless_head(wire: Wire, _: bytes) -> None:
    await wire.send(_JSON)
    while True:
        await wire.send(b"X-Filler: " + b"x" * 1000 + b"\r\n")


async def _send_long_body(wire: Wire, record: bytes) -> None:
    """Send a record that is followed by more blanks than a client reads."""
    await wire.send(b"%bContent-Length: %d\r\n\r\n%b" % (_JSON, len(record) + _PADDING, record))
    for _ in range(_PADDING // len(_CHUNK)):
        await wire.send(_CHUNK)


async def _respond_slowly(wire: Wire, record: bytes) -> None:
    """Send one byte after the other, for longer than the deadline of the call."""
    for byte in b"%bContent-Length: %d\r\n\r\n%b" % (_JSON, len(record), record):
        await wire.send(bytes([byte]))
        await anyio.sleep(0.05)


async def _send_bomb(wire: Wire, record: bytes) -> None:
    """Send a small body that decompresses to more than a client reads."""
    start = zlib.compressobj(wbits=_RAW_DEFLATE)
    body = start.compress(record) + start.flush(zlib.Z_FULL_FLUSH) + _compressed_padding()
    await wire.send(b"%bContent-Encoding: deflate\r\nContent-Length: %d\r\n\r\n%b" % (_JSON, len(body), body))


@cache
def _compressed_padding() -> bytes:
    end = zlib.compressobj(wbits=_RAW_DEFLATE)
    return b"".join(end.compress(_CHUNK) for _ in range(_PADDING // len(_CHUNK))) + end.flush()


_FOREIGN: Final[tuple[Callable[[str], bytes], ...]] = (
    lambda _: _record("of-another-sale"),
    lambda api_id: _record(api_id, transaction_amount="999.00"),
    lambda api_id: _record(api_id, last_four="0026"),
    lambda _: b'{"contact": {"id": "2", "last_name": "Ada"}}',
    lambda _: b"<html><body>Welcome to the hotel network</body></html>",
    lambda _: b'{"transaction": ',
    lambda _: b"[]",
    lambda _: b"",
)
"""Responses to other requests, of other servers, or of a broken one."""

_numbers: Final = itertools.count()


async def _send_foreign_response(wire: Wire, record: bytes) -> None:
    """Send a response that belongs to something else, and one for each kind in turn."""
    body = _FOREIGN[next(_numbers) % len(_FOREIGN)](json.loads(record)["transaction"]["transaction_api_id"])
    await wire.send(b"%bContent-Length: %d\r\n\r\n%b" % (_JSON, len(body), body))


def _apply(response: ScriptedResponse, count: int, *, timeout: float, concurrency: int) -> Result:
    """Send `count` sales to a peer that answers each request so, also each lookup."""
    return anyio.run(_send, response, count, timeout, concurrency)


async def _send(response: ScriptedResponse, count: int, timeout: float, concurrency: int) -> Result:  # noqa: ASYNC109  of the client
    ended = Counter[str]()
    left = iter(range(count))

    async def work() -> None:
        for number in left:
            ended[await _sell(gateway, f"sale-{number}")] += 1

    async with (
        serving(partial(_serve, response)) as peer,
        AsyncGateway(
            peer.url,
            developer_id="developer",
            credentials=UserApiKey("user", "key"),
            timeout=timeout,
            max_attempts=1,
            max_connections=concurrency,
        ) as gateway,
    ):
        with anyio.move_on_after(_ENDS_WITHIN + count / concurrency * timeout):
            async with anyio.create_task_group() as tasks:
                for _ in range(concurrency):
                    tasks.start_soon(work)
    return _evaluate(count, ended)


async def _sell(gateway: AsyncGateway, api_id: str) -> str:
    """Send a sale, and return how it ended."""
    try:
        await gateway.transactions.create(sale(api_id, "1.00"))
    except OutcomeUnknownError:
        return "unknown"
    except GatewayError as error:
        return f"{type(error).__name__} instead of an unknown outcome"
    except Exception as error:  # noqa: BLE001  any other error would end the program
        return f"{type(error).__name__} instead of a GatewayError"
    return "done"


async def _serve(response: ScriptedResponse, wire: Wire) -> None:
    """Answer every request of a connection."""
    while True:
        head, body = await wire.request()
        sent = json.loads(body)["transaction"]["transaction_api_id"] if body else _id_in(head)
        await response(wire, _record(sent))


def _id_in(head: bytes) -> str:
    """Return the integrator id that a lookup asks for."""
    found = re.search(rb"sale-\d+", head)
    return found[0].decode() if found else ""


def _evaluate(count: int, ended: Counter[str]) -> Result:
    """Count accepted responses as lost: the client reports effects that do not exist."""
    wrong = {how: number for how, number in ended.items() if how not in ("done", "unknown")}
    problems = [f"{number:,} sales ended with {how}" for how, number in wrong.items()]
    if hanging := count - ended.total():
        problems.append(f"{hanging:,} sales did not end")
    return Result(count=count, lost=ended["done"], unknown=ended["unknown"], problems=tuple(problems))


def _condition(
    name: str,
    text: str,
    response: ScriptedResponse,
    *,
    whole: int = 1000,
    short: int,
    timeout: float,
    at_once: int,
    **options: Any,
) -> Condition:
    return Condition(
        key=f"hostile-{name}",
        text=f"a peer answers sales and lookups with {text}",
        count=whole,
        short_count=short,
        run=partial(_apply, response, timeout=timeout, concurrency=at_once),
        **options,
    )


HOSTILE_CONDITIONS: Final = (
    _condition("head", "endless heads", _send_endless_head, short=20, timeout=10.0, at_once=10),
    _condition(
        "body", f"bodies of {_PADDING // len(_CHUNK)} MiB", _send_long_body, whole=200, short=2, timeout=10.0, at_once=2
    ),
    _condition(
        "bomb",
        f"small bodies that decompress to {_PADDING // len(_CHUNK)} MiB",
        _send_bomb,
        whole=200,
        short=2,
        timeout=10.0,
        at_once=2,
        protections={"body-limit": protections.body_limit},
    ),
    _condition(
        "drip",
        "a byte every 50 ms",
        _respond_slowly,
        short=50,
        timeout=5.0,
        at_once=50,
        protections={"total-deadline": protections.total_deadline},
    ),
    _condition(
        "foreign",
        "responses to other requests, of other servers, or of broken ones",
        _send_foreign_response,
        short=40,
        timeout=10.0,
        at_once=50,
        protections={"response-matching": protections.check_of_responses},
    ),
)
