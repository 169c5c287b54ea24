"""The cost of receiving: a `PostbackReceiver` and an endpoint written by hand in FastAPI, both served by uvicorn.

Both check the credentials (in constant time), the size, the form, the JSON and the types of a transaction's fields, and
call a handler that does nothing. Each is served by a separate process. This process sends requests to both
alternately, over plain sockets that are kept open. Only the ratios are meaningful.

    python benchmarks/receiver.py
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

if TYPE_CHECKING:
    from gateway_async.postbacks import Inbox

USER, PASSWORD = "shop", "p4ssw0rd"
MOST_BYTES = 1_048_576
SAMPLE = Path(__file__).parents[1] / "tests" / "samples" / "postback-transaction-create.json"
NAMES = ("by hand", "receiver")


# --- the two applications


def receiver_app(inbox: "Inbox | None" = None) -> Any:
    """Make a FastAPI application with a mounted receiver."""
    from fastapi import FastAPI

    from gateway_async import Transaction
    from gateway_async.postbacks import Postback, PostbackReceiver

    receiver = PostbackReceiver(USER, PASSWORD, inbox=inbox)

    @receiver.on("transaction")
    async def handle(postback: Postback[Transaction]) -> None:
        assert postback.record.id

    @contextlib.asynccontextmanager
    async def handle_stored(_app: FastAPI) -> AsyncIterator[None]:
        async with receiver:
            yield

    app = FastAPI(lifespan=handle_stored if inbox else None)
    app.mount("/postbacks", receiver.asgi)
    return app


def app_by_hand() -> Any:
    """Make a FastAPI application with an endpoint that makes the same checks."""
    import json
    from hmac import compare_digest
    from typing import Annotated

    from fastapi import Depends, FastAPI, HTTPException, Request
    from fastapi.security import HTTPBasic, HTTPBasicCredentials
    from pydantic import ValidationError

    app, transaction, basic = FastAPI(), transaction_model(), HTTPBasic()

    @app.post("/postbacks/", status_code=204)
    async def take(request: Request, given: Annotated[HTTPBasicCredentials, Depends(basic)]) -> None:
        right = compare_digest(given.username.encode(), USER.encode())
        right &= compare_digest(given.password.encode(), PASSWORD.encode())
        if not right:
            raise HTTPException(401)
        if int(request.headers.get("content-length", "0")) > MOST_BYTES:
            raise HTTPException(413)
        form = await request.form()
        try:
            record = transaction.model_validate(json.loads(str(form["data"])))
            int(str(form["number_of_attempts"]))
        except (KeyError, ValueError, ValidationError) as error:
            raise HTTPException(400) from error
        if form.get("type") in ("CREATE", "UPDATE", "DELETE") and form.get("resource") == "transaction":
            await handle(record)

    async def handle(record: Any) -> None:
        assert record.id

    return app


def transaction_model() -> Any:
    """Make a pydantic model of `Transaction` with plain numbers and strings."""
    from typing import get_args, get_type_hints

    import attrs
    import pydantic

    from gateway_async import Transaction

    def plain(hint: Any) -> Any:
        kinds = get_args(hint) or (hint,)
        return next(
            (base for base in (bool, int, str) if isinstance(kinds[0], type) and issubclass(kinds[0], base)), hint
        )

    hints = get_type_hints(Transaction)
    names = [field.name for field in attrs.fields(Transaction) if field.name not in ("id", "extra")]
    fields: dict[str, Any] = {name: (plain(hints[name]) | None, None) for name in names}
    return pydantic.create_model(
        "TransactionRecord", __config__=pydantic.ConfigDict(extra="allow"), id=(str, ...), **fields
    )


def serve(app: Any) -> None:
    """Serve an application on a free port, and print the port."""
    import socket

    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


@contextlib.contextmanager
def served(name: str) -> Iterator[int]:
    """Serve one application in a separate process, and yield its port."""
    process = subprocess.Popen([sys.executable, __file__, "--serve", name], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)


# --- the sender


def request_bytes(record_id: str = "") -> bytes:
    """Return the bytes of a request with a transaction postback; with an id, of that transaction."""
    form = msgspec.json.decode(SAMPLE.read_bytes())
    if record_id:
        form["data"] = msgspec.json.encode({**msgspec.json.decode(form["data"]), "id": record_id}).decode()
    body = urlencode(form).encode()
    lines = [
        "POST /postbacks/ HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}",
        "Content-Type: application/x-www-form-urlencoded",
        "User-Agent: Gateway/2.0",
        "Accept: */*",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def post(port: int, requests: Sequence[bytes], at_once: int) -> tuple[float, list[float]]:
    """Send requests; return their rate and the seconds of each."""
    remaining, times = iter(requests), list[float]()

    async def one_connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in remaining:
            began = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            times.append(time.perf_counter() - began)
            assert head.startswith(b"HTTP/1.1 204"), head
        writer.close()

    started = time.perf_counter()
    async with asyncio.TaskGroup() as connections:
        for _ in range(at_once):
            connections.create_task(one_connection())
    return len(requests) / (time.perf_counter() - started), times


async def measure(
    ports: dict[str, int], options: argparse.Namespace, at_once: int
) -> dict[str, dict[str, list[float]]]:
    """Measure both applications in alternating rounds; return the figures of each round."""
    figures: dict[str, dict[str, list[float]]] = {name: {"rate": [], "p50": [], "p99": []} for name in ports}
    requests = [request_bytes()] * options.calls
    for port in ports.values():
        await post(port, requests, at_once)
    for number in range(options.rounds):
        for name in sorted(ports, reverse=number % 2 == 0):
            rate, times = await post(ports[name], requests, at_once)
            cuts = statistics.quantiles(times, n=100)
            for figure, value in (("rate", rate), ("p50", cuts[49] * 1e3), ("p99", cuts[98] * 1e3)):
                figures[name][figure].append(value)
    return figures


def show(figures: dict[str, dict[str, list[float]]], at_once: int) -> None:
    """Print the medians and the median ratios of the rounds."""
    print(f"{at_once} at once:")
    for name, rows in figures.items():
        rate, p50, p99 = (statistics.median(rows[figure]) for figure in ("rate", "p50", "p99"))
        print(f"  {name:9} {rate:7.0f} postbacks/s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms")
    ratios = {
        figure: statistics.median(
            ours / theirs for ours, theirs in zip(figures["receiver"][figure], figures["by hand"][figure], strict=True)
        )
        for figure in ("rate", "p50", "p99")
    }
    print("  ratio     " + "   ".join(f"{figure} {ratio:.2f}" for figure, ratio in ratios.items()))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=11, help="how often each is measured")
    options.add_argument("--calls", type=int, default=2000, help="postbacks in one round")
    options.add_argument("--at-once", type=int, nargs="+", default=[1, 32], help="connections")
    options.add_argument("--serve", choices=NAMES, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(receiver_app() if given.serve == "receiver" else app_by_hand())
        return
    with served("by hand") as by_hand, served("receiver") as receiver:
        for at_once in given.at_once:
            show(asyncio.run(measure({"by hand": by_hand, "receiver": receiver}, given, at_once)), at_once)


if __name__ == "__main__":
    main()
