"""Iterate over a long list while the next pages are fetched, beside awaiting one page after the other.

    python benchmarks/streaming.py --records 20000 --rounds 1

Another process sends pages, each 50 ms after its request. The memory is what iterating adds to
the peak of a process of its own, beside what three pages add that are held at once.
"""

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final
from urllib.parse import parse_qs, urlsplit

from comparison import Goal, Row, beside, run
from cores import pin_client
from sandbox_process import peak_kib
from server import gateway_at, serving

from gateway_async import AsyncGateway

SECONDS_PER_PAGE: Final = 0.05
CHUNK: Final = 256 * 1024
TEXTS: Final = (
    *("title", "account_holder_name", "first_six", "last_four", "billing_address", "billing_city", "billing_state"),
    *("billing_zip", "billing_phone", "exp_date", "location_id", "contact_id", "account_vault_api_id", "customer_id"),
    *("accountvault_c1", "accountvault_c2", "accountvault_c3"),
)
ABSENT: Final = ("routing", "ach_sec_code", "dl_number", "dl_state", "ssn4", "dob_year", "terms_agree")
SPEED_GOAL: Final = Goal(1.7, at_least=True)
MEMORY_GOAL: Final = Goal(1)
PAGES: Final = 3
"""The page in use, and two that are fetched ahead."""

Walk = Callable[[AsyncGateway, int, int], Awaitable[None]]


def vault(key: int) -> bytes:
    """Write the JSON of an account vault."""
    fields = {
        "id": f"54c1c28a-5506-4935-59c9-{key:012}",
        **{name: f"{name} {key}" for name in TEXTS},
        **dict.fromkeys(ABSENT),
        "payment_method": "cc",
        "account_type": "mc",
        "has_recurring": 0,
        "active": 1,
        "created_ts": 1421951061,
        "modified_ts": 1421953145,
        "_links": {"self": {"href": f"https://gateway.example/v2/accountvaults/{key}"}},
    }
    return json.dumps(fields).encode()


def page_of(vaults: Sequence[bytes], number: int, size: int) -> bytes:
    """Make the response with a page of account vaults."""
    pagination = {"totalCount": len(vaults), "pageCount": -(-len(vaults) // size)}
    meta = json.dumps({"pagination": pagination}).encode()
    body = b'{"accountvaults": [%b], "meta": %b}' % (b", ".join(vaults[(number - 1) * size : number * size]), meta)
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def serve(records: int) -> None:
    """Send pages until this process is terminated."""
    vaults = [vault(key) for key in range(records)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                query = parse_qs(urlsplit(head.split(b" ", 2)[1].decode()).query)
                await asyncio.sleep(SECONDS_PER_PAGE)
                page = memoryview(page_of(vaults, int(query["page"][0]), int(query["page_size"][0])))
                for start in range(0, len(page), CHUNK):  # at once, it would be copied again and again
                    writer.write(page[start : start + CHUNK])
                    await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


async def iterate(gateway: AsyncGateway, records: int, size: int) -> None:
    """Iterate over all vaults, while the next pages are fetched."""
    seen = 0
    async for _ in gateway.account_vaults.list(page_size=size):
        seen += 1
    assert seen == records, f"{seen} of {records} records"


async def serially(gateway: AsyncGateway, records: int, size: int) -> None:
    """Await as many pages; every request follows the use of the page before it."""
    seen = 0
    while seen < records:
        for _ in (await gateway.account_vaults.list(page_size=size)).records:
            seen += 1


async def speed(walk: Walk, gateway: AsyncGateway, records: int, size: int) -> float:
    """Return the records per second of a walk."""
    began = time.perf_counter()
    await walk(gateway, records, size)
    return records / (time.perf_counter() - began)


async def compare_speed(url: str, records: int, size: int, rounds: int) -> Row:
    """Compare iterating with awaiting one page after the other."""
    iterating, serial = [], []
    async with gateway_at(url) as gateway:
        for _ in range(rounds):
            serial.append(await speed(serially, gateway, records, size))
            iterating.append(await speed(iterate, gateway, records, size))
    title = f"iterate over {records} records"
    return beside(title, "1/s", iterating, "page after page", serial, SPEED_GOAL)


async def hold_pages(gateway: AsyncGateway, records: int, size: int) -> None:
    """Hold three pages in memory, or fewer if there are fewer records."""
    pages = [await gateway.account_vaults.list(page_size=size) for _ in range(min(PAGES, -(-records // size)))]
    assert all(len(page.records) == size for page in pages)


async def peak_memory(url: str, walk: Walk, records: int, size: int) -> float:
    """Return the MiB that a walk adds to this process's peak."""
    async with gateway_at(url) as gateway:
        empty = peak_kib()
        await walk(gateway, records, size)
    return (peak_kib() - empty) / 1024


def peak_in_process(url: str, walk: Walk, records: int, size: int) -> float:
    """Measure the memory in this process."""
    pin_client()
    return asyncio.run(peak_memory(url, walk, records, size))


def compare_memory(url: str, records: int, size: int, rounds: int) -> Row:
    """Compare the memory of iterating with that of three pages."""
    fresh = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with fresh:
        iterating, holding = (
            [fresh.submit(peak_in_process, url, walk, records, size).result() for _ in range(rounds)]
            for walk in (iterate, hold_pages)
        )
    return beside(f"memory of {records} records", "MiB", iterating, f"{PAGES} pages held", holding, MEMORY_GOAL)


def main(rounds: int = 3, records: int = 100_000, page_size: int = 5000) -> list[Row]:
    """Measure the speed and the memory; return the comparisons."""
    with serving(__file__, "--serve", str(records)) as url:
        memory = compare_memory(url, records, page_size, rounds)  # first: a process inherits its parent's peak
        return [asyncio.run(compare_speed(url, records, page_size, rounds)), memory]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--serve", type=int)
    serving_options, _ = parser.parse_known_args()
    if serving_options.serve:
        asyncio.run(serve(serving_options.serve))
    else:
        run(main)
