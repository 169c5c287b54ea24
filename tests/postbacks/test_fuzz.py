"""Random input: a postback gets a 204, the rest a 4xx, and memory does not grow.

Some hundred inputs each by default; `GATEWAY_FUZZ_INPUTS=50000 pytest tests/postbacks/test_fuzz.py` tries more.
"""

import asyncio
import contextlib
import gc
import logging
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway_async
from gateway_async.errors import PostbackRefusedError
from gateway_async.postbacks import Postback, PostbackReceiver

from .postback_requests import HEADERS, SAMPLES, basic, chunks, form, receiver

INPUTS = int(os.environ.get("GATEWAY_FUZZ_INPUTS", "1500"))
MOST_BYTES = 20_000
thoroughly = settings(
    max_examples=max(INPUTS * 9 // 20, 1), database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
"""Two tests ask with so many inputs each, and one with the rest."""

LONGEST_REASON = 120
REFUSALS = {400, 401, 405, 413}
CODES = {"type", "resource", "number_of_attempts", "data"}
RECORDS: list[dict[str, Any]] = [
    msgspec.json.decode(msgspec.json.decode(path.read_bytes())["data"])
    for path in sorted(SAMPLES.glob("postback-*.json"))
]

pytestmark = pytest.mark.timeout(max(60, INPUTS // 20))

# --- what may come

odd_texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "NaN", "1e999999999", "9" * 5000, "0000-00-00", "\x00", "a\nb", "٣", "\ufeff", "../", "0x10"]),
)
odd_numbers = st.one_of(st.integers(), st.integers(-(2**200), 2**200), st.floats(allow_nan=False, allow_infinity=False))
odd = st.recursive(
    st.one_of(st.none(), st.booleans(), odd_numbers, odd_texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A recorded record, a few of its fields otherwise."""
    record = dict(draw(st.sampled_from(RECORDS)))
    names = st.sampled_from(sorted(record)) | odd_texts
    return record | draw(st.dictionaries(names, odd, max_size=3))


def as_json(value: Any) -> str:
    """JSON text; numbers as they come."""
    return msgspec.json.encode(value, enc_hook=str).decode()


datas = st.one_of(
    records().map(as_json),
    records().map(as_json),
    odd.map(as_json),
    odd_texts,
    st.integers(0, 3000).map(lambda depth: '{"id":"1","deep":' + "[" * depth + "]" * depth + "}"),
    st.integers(0, 3000).map(lambda depth: '{"a":' * depth),
    st.sampled_from(['{"id":"1","transaction_amount":1e999999999}', '{"id":NaN}', '"\\ud800"', '{"id":"\\u0000"}']),
)
words = st.sampled_from(
    ["CREATE", "UPDATE", "DELETE", "contact", "transaction", "transactionbatch", "accountvault", "new"]
)


@st.composite
def fields(draw: st.DrawFn) -> dict[str, str]:
    """The four fields, more or less."""
    made = {"type": draw(words | odd_texts), "resource": draw(words | odd_texts), "data": draw(datas)}
    made["number_of_attempts"] = draw(st.sampled_from(["1", "3", "x"]) | odd_texts)
    for name in draw(st.sets(st.sampled_from(sorted(CODES)), max_size=1)):
        del made[name]
    return made


def urlencoded(values: dict[str, str]) -> bytes:
    """A form, with what UTF-8 cannot write as bytes of their own."""
    return urlencode(values, errors="surrogatepass").encode()


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """A good body, with something in it that is not."""
    body = draw(st.sampled_from([form(), *(path.read_bytes() for path in sorted(SAMPLES.glob("postback-*.json")))]))
    location = draw(st.integers(0, len(body)))
    rubbish = draw(st.binary(max_size=6) | st.sampled_from([b"%", b"%zz", b"%ff", b"&", b"&type=X", b'"', b"\\", b"{"]))
    return body[:location] + rubbish + body[location + draw(st.integers(0, 9)) :]


bodies = st.one_of(
    fields().map(urlencoded),
    fields().map(urlencoded),
    fields().map(msgspec.json.encode),
    broken(),
    st.binary(max_size=200),
    odd.map(as_json).map(str.encode),
    st.integers(0, 200).map(lambda count: form() + b"&a=1" * count),
    st.integers(MOST_BYTES - 5, MOST_BYTES + 5).map(lambda size: form().ljust(size, b" ")),
)
values = st.one_of(
    st.sampled_from(
        [HEADERS["Authorization"], basic("shop", ""), basic(scheme="Bearer"), "Basic", "Basic é", "Basic ===="]
    ),
    st.sampled_from(["application/json", "application/x-www-form-urlencoded; charset=latin1", "text/plain;charset=x"]),
    st.sampled_from(["0", "100", "-1", "9" * 5000, "²", "1e9", " 7 "]),
    st.text(st.characters(max_codepoint=255), max_size=30),
)
names = (
    st.sampled_from(["authorization", "Authorization", "content-type", "Content-Length", "CONTENT-TYPE"]) | odd_texts
)
headers = st.one_of(
    st.just(HEADERS),
    st.dictionaries(names, values, max_size=3).map(lambda others: {**HEADERS, **others}),
    st.dictionaries(names, values, max_size=4),
)
methods = st.sampled_from(["POST"] * 9 + ["GET", "HEAD", "", "POST "])


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """A body, cut somewhere."""
    body = draw(bodies)
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=2)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


# --- what a receiver does with it


class Shop:
    """A receiver whose handler counts what it receives, and keeps none of it."""

    def __init__(self) -> None:
        self.receiver: PostbackReceiver = receiver(max_bytes=MOST_BYTES)
        self.receiver.on()(self.handle)
        self.received = 0

    async def handle(self, postback: Postback[Any]) -> None:
        """Check what every handler may rely on."""
        assert (postback.type, postback.resource) != ("", "")
        assert postback.record is None or postback.record_id == postback.record.id != ""
        assert len(postback.key) == 64
        assert repr(postback)
        assert hash(postback)
        assert postback.modified_ts is None or postback.modified_ts.tzinfo
        self.received += 1


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Any], Any]]:
    """Runs coroutines, one after the other."""
    with asyncio.Runner() as runner:
        yield runner.run


def test_requests(run: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """The response is 204 if the handler was called, else a 4xx; there is no 5xx and no error."""
    shop = Shop()

    @thoroughly
    @given(methods, headers, pieces())
    def ask(method: str, named: dict[str, str], parts: list[bytes]) -> None:
        before = shop.received
        response = run(shop.receiver.receive(method, named, chunks(*parts)))
        assert response.status_code in (REFUSALS if shop.received == before else {204})

    ask()
    assert (shop.received > INPUTS // 100, shop.receiver._locks._locks, errors(caplog)) == (True, {}, [])


def test_bodies() -> None:
    """`parse` raises one error, which names a field and repeats nothing long of the body."""
    shop = receiver(max_bytes=MOST_BYTES)

    @thoroughly
    @given(headers, bodies)
    def ask(named: dict[str, str], body: bytes) -> None:
        with contextlib.suppress(PostbackRefusedError):
            postback = parsed(shop, named, body)
            again = parsed(shop, named, body)
            assert (again.key, again) == (postback.key, postback)

    ask()


def parsed(shop: PostbackReceiver, named: dict[str, str], body: bytes) -> Postback[Any]:
    """Return the postback of `parse`, or check its error."""
    try:
        return shop.parse(named, body)
    except PostbackRefusedError as error:
        if error.status_code not in REFUSALS or len(error.reason) > LONGEST_REASON:
            pytest.fail(f"{error!r}")
        raise


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the logged errors."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_leftovers(run: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Of the memory that the package's own lines take meanwhile, no more than a trifle is held at the end."""
    asked: list[tuple[str, dict[str, str], list[bytes]]] = []

    @settings(thoroughly, max_examples=max(INPUTS // 10, 1))
    @given(methods, headers, pieces())
    def collect(method: str, named: dict[str, str], parts: list[bytes]) -> None:
        asked.append((method, named, parts))

    collect()
    caplog.set_level(logging.ERROR, "gateway_async")  # the fixture keeps what is logged
    shop = Shop()
    with held_at_the_end() as held:
        for method, named, parts in asked:
            run(shop.receiver.receive(method, named, chunks(*parts)))
    print(f"{len(asked)} requests, {shop.received} handled; held at the end: {held[0]} bytes")  # noqa: T201  for a long run
    assert held[0] < 100_000


@contextmanager
def held_at_the_end() -> Iterator[list[int]]:
    """How many bytes that the package's own lines have taken are held at the end of the block."""
    ours = tracemalloc.Filter(True, str(Path(gateway_async.__file__).parent / "*"))
    held: list[int] = []
    tracemalloc.start()
    try:
        yield held
        gc.collect()
        held.append(sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([ours]).traces))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "inside",
    [
        "[" + "[]," * 340_000 + "1]",
        "[" + "{}," * 340_000 + "1]",
        "[" + "0.1," * 250_000 + "1]",
        '"' + "é" * 500_000 + '"',
    ],
)
def test_memory(inside: str) -> None:
    """The largest body that is taken by default, filled with what is largest when it is read, takes less than 64 MB."""
    shop = receiver()
    body = f'{{"type":"UPDATE","resource":"coupon","data":{{"inside":{inside}}}}}'.encode()
    assert 950_000 < len(body) <= 1_048_576
    tracemalloc.start()
    try:
        assert shop.parse(HEADERS, body).record is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64_000_000
