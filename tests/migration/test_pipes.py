"""Standard input and named pipes are read as data arrives, and closed on cancellation."""

import io
import itertools
import os
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import read_rows
from tests.support.waiting import PATIENCE

from .files import CARD, HEADER, all_of, card_row, keys, lines, read

pytestmark = pytest.mark.anyio


_NUMBERS = itertools.count(500)
"""Of pipes, each once: a thread that still looks at the one before must not find the next one there."""


class Pipe:
    """A pipe that replaces standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        out, self.into = os.pipe()
        self.out = os.dup2(out, next(_NUMBERS))
        os.close(out)
        monkeypatch.setattr(sys, "stdin", open(self.out, encoding="utf-8"))  # noqa: SIM115, PTH123  closed below

    def write(self, text: str) -> None:
        os.write(self.into, text.encode())

    def end(self) -> None:
        os.close(self.into)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    pipe = Pipe(monkeypatch)
    yield pipe
    sys.stdin.close()


async def test_rows_are_there_as_soon_as_they_have_come(pipe: Pipe) -> None:
    pipe.write(lines(card_row(1), '2,"'))
    rows = read_rows("-", format="csv").__aiter__()
    with anyio.fail_after(PATIENCE):
        assert (await anext(rows)).key == "1"
        async with anyio.create_task_group() as group:
            ticks: list[int] = []
            group.start_soon(_tick, ticks, pipe)
            assert (await anext(rows)).key == "2"
        pipe.end()
        assert [row async for row in rows] == []
    assert ticks == [0, 1, 2]


async def _tick(ticks: list[int], pipe: Pipe) -> None:
    for number in range(3):
        ticks.append(number)
        await anyio.sleep(0.01)
    pipe.write(CARD + '",1230,Ann\n')


async def test_a_silent_pipe_can_be_left(pipe: Pipe) -> None:
    pipe.write(HEADER + "\n")
    before = set(threading.enumerate())
    with anyio.move_on_after(0.05) as scope:
        await read("-", format="csv")
    assert scope.cancelled_caught
    pipe.end()
    assert len(set(threading.enumerate()) - before) <= 2


async def test_a_pipe_is_read_once(pipe: Pipe) -> None:
    pipe.write(lines(card_row(1)))
    pipe.end()
    rows = read_rows("-", format="csv")
    await rows.header()
    assert rows.total is None
    assert keys(await all_of(rows)) == ["1"]
    with pytest.raises(InvalidRequestError, match="source: cannot be read twice"):
        await all_of(rows)


async def test_a_named_pipe_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "cards.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(lines(card_row(1)),))
    writer.start()
    assert keys(await read(path)) == ["1"]
    writer.join()


async def test_standard_input_may_be_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = io.TextIOWrapper(io.BytesIO(lines(card_row(1)).encode()))
    monkeypatch.setattr(sys, "stdin", stand_in)
    assert keys(await read("-", format="csv")) == ["1"]
    assert not stand_in.closed


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux says what is open")
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
async def test_a_file_that_is_left_in_the_middle_is_closed(tmp_path: Path, kind: str) -> None:
    text = lines(*map(card_row, range(2000))) if kind == "csv" else f'{{"key":"1","account_number":"{CARD}"}}\n' * 2000
    path = tmp_path / f"cards.{kind}"
    path.write_text(text, encoding="utf-8")
    rows = read_rows(path)
    iterator: Any = aiter(rows)
    await anext(iterator)
    assert str(path) in open_files()
    await rows.aclose()
    assert str(path) not in open_files()
    assert len(await all_of(rows)) == 2000
    await iterator.aclose()


def open_files() -> list[str]:
    return [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]  # one may be closed meanwhile
