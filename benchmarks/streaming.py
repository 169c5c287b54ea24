"""Speed and memory of iterating over a long list: `async for vault in gateway.account_vaults.list(...)`.

    python benchmarks/streaming.py --records 10000 100000

Another process sends ready pages, each 50 ms after its request. Each size is iterated over in a separate process,
whose peak memory is printed. Then rounds of iterating, and of awaiting one page after the other, alternate. Only their
ratio is meaningful; for a long list it should stay above 1.7.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from sandbox_process import client_of, peak_kib

from gateway_async import AsyncGateway

SECONDS_PER_PAGE: Final = 0.05
STOP_WITHIN: Final = 10
CHUNK: Final = 256 * 1024
TEXTS: Final = (
    *("title", "account_holder_name", "first_six", "last_four", "billing_address", "billing_city", "billing_state"),
    *("billing_zip", "billing_phone", "exp_date", "location_id", "contact_id", "account_vault_api_id", "customer_id"),
    *("accountvault_c1", "accountvault_c2", "accountvault_c3"),
)
ABSENT: Final = ("routing", "ach_sec_code", "dl_number", "dl_state", "ssn4", "dob_year", "terms_agree")

Row = tuple[str, float, float, float]


def page_of(number: int, size: int, records: int) -> bytes:
    """Make the response with a page of account vaults."""
    rows = [
        {
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
        for key in range((number - 1) * size, min(number * size, records))
    ]
    pagination = {"totalCount": records, "pageCount": -(-records // size)}
    body = json.dumps({"accountvaults": rows, "meta": {"pagination": pagination}}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def serve(records: int, size: int) -> None:
    """Send pages until this process is terminated."""
    pages = {number: page_of(number, size, records) for number in range(1, -(-records // size) + 1)}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                query = parse_qs(urlsplit(head.split(b" ", 2)[1].decode()).query)
                await asyncio.sleep(SECONDS_PER_PAGE)
                page = memoryview(pages[int(query["page"][0])])
                for start in range(0, len(page), CHUNK):  # at once, it would be copied again and again
                    writer.write(page[start : start + CHUNK])
                    await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def serving(records: int, size: int) -> Iterator[dict[str, Any]]:
    """Run the server in another process; yield the settings for a client."""
    options = ["--serve", "--records", str(records), "--page-size", str(size)]
    process = subprocess.Popen([sys.executable, __file__, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        names = ("developer_id", "user_id", "user_api_key", "location_id")
        yield {"base_url": url} | {name: f"a-{name.replace('_', '-')}" for name in names}
    finally:
        process.terminate()
        process.wait(STOP_WITHIN)


async def iterate(gateway: AsyncGateway, records: int, size: int) -> None:
    """Iterate over all vaults, while the next pages are fetched."""
    seen = 0
    async for _ in gateway.account_vaults.list(page_size=size):
        seen += 1
    assert seen == records, f"{seen} of {records} records"


async def serially(gateway: AsyncGateway, records: int, size: int) -> None:
    """Fetch as many pages, one after the other."""
    seen = 0
    while seen < records:
        for _ in (await gateway.account_vaults.list(page_size=size, sort="id")).records:
            seen += 1


async def seconds(walk: Callable[[AsyncGateway, int, int], Awaitable[None]], *given: Any) -> float:
    """Return the seconds that a walk takes."""
    began = time.perf_counter()
    await walk(*given)
    return time.perf_counter() - began


async def compare(facts: dict[str, Any], records: int, size: int, rounds: int) -> list[Row]:
    """Compare iterating with awaiting one page after the other; return (name, ours, peer, ratio)."""
    ahead, serial = [], []
    async with client_of(facts) as gateway:
        for _ in range(rounds):
            serial.append(await seconds(serially, gateway, records, size))
            ahead.append(await seconds(iterate, gateway, records, size))
    ratios = [one / other for one, other in zip(serial, ahead, strict=True)]
    row = f"{records} records, pages of {size}", statistics.median(ahead), statistics.median(serial)
    ratio = statistics.median(ratios)
    print(f"{row[0]}: {row[1]:.2f} s, serial {row[2]:.2f} s, {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return [(*row, ratio)]


async def peak(facts: dict[str, Any], records: int, size: int) -> None:
    """Iterate once, and print the peak memory of this process."""
    async with client_of(facts) as gateway:
        empty = peak_kib()
        await iterate(gateway, records, size)
    print(f"{records} records, pages of {size}: peak RSS {peak_kib() / 1024:.1f} MiB, {empty / 1024:.1f} before")


def main(sizes: tuple[int, ...] = (10_000, 100_000), page_size: int = 5000, rounds: int = 3) -> list[Row]:
    """Print the ratios and the memory for each number of records; return the rows."""
    for records in sizes:  # first, because a process inherits the peak of its parent
        with serving(records, page_size) as facts:
            options = ["--peak", json.dumps(facts), "--records", str(records), "--page-size", str(page_size)]
            subprocess.run([sys.executable, __file__, *options], check=True, timeout=600)
    rows: list[Row] = []
    for records in sizes:
        with serving(records, page_size) as facts:
            rows += asyncio.run(compare(facts, records, page_size, rounds))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--page-size", type=int, default=5000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peak", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(arguments.records[0], arguments.page_size))
    elif arguments.peak:
        asyncio.run(peak(arguments.peak, arguments.records[0], arguments.page_size))
    else:
        main(tuple(arguments.records), arguments.page_size)
