"""Parquet files as sources of rows."""

import io
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import Columns, read_rows, shards

from .files import CARD, all_of, keys, put, read, wrong

pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

pytestmark = pytest.mark.anyio


def written(folder: Path, table: dict[str, Sequence[Any]], *, group: int = 100) -> Path:
    path = folder / "cards.parquet"
    parquet.write_table(pyarrow.table(table), path, row_group_size=group, compression="none")
    return path


def cards(count: int) -> dict[str, Sequence[Any]]:
    return {"key": list(range(count)), "account_number": [CARD] * count, "exp_date": ["1230"] * count}


@pytest.mark.parametrize("number", [CARD, int(CARD), float(CARD), Decimal(CARD), CARD.encode()])
async def test_columns_of_any_type_are_read(tmp_path: Path, number: Any) -> None:
    for expiry in ("12/30", 1230, 1230.0, date(2030, 12, 1)):
        path = written(
            tmp_path, {"Customer": ["a", "b"], "card": [number] * 2, "exp-date": [expiry] * 2, "title": [None, "T"]}
        )
        rows = await read(path, columns=Columns(names={"card": "account_number"}, key="customer"))
        assert [(row.key, row.line, row.problems) for row in rows] == [("a", 1, ()), ("b", 2, ())]
        assert [row.request.title for row in rows if row.request] == [None, "T"]


async def test_how_far_it_is_can_be_told(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, cards(1000)))
    await rows.header()
    assert (rows.total, rows.unit, rows.columns) == (1000, "rows", ("key", "account_number", "exp_date"))
    assert len(await all_of(rows)) == len(await all_of(rows)) == rows.position == 1000


async def test_shards_are_row_groups(tmp_path: Path) -> None:
    path = written(tmp_path, cards(1000))
    assert [(shard.start, shard.end, shard.first_line, shard.rows) for shard in shards(path, 250)] == [
        (0, 3, 1, 300), (3, 6, 301, 300), (6, 9, 601, 300), (9, 10, 901, 100),
    ]  # fmt: skip
    assert [row for shard in shards(path, 250) for row in await read(path, shard=shard)] == await read(path)


@pytest.mark.parametrize("keep", [0, 3, 10, 0.5, 0.99])
async def test_a_cut_file_is_refused(tmp_path: Path, keep: float) -> None:
    whole = written(tmp_path, cards(100)).read_bytes()
    path = put(tmp_path, whole[: keep if isinstance(keep, int) else int(len(whole) * keep)], "cut.parquet")
    attempts: list[Callable[[], Awaitable[object]]] = [lambda: read(path), lambda: all_of(read_rows(path))]
    for attempt in attempts:
        with pytest.raises(InvalidRequestError, match=r"cut\.parquet is not a complete Parquet file"):
            await attempt()
    with pytest.raises(InvalidRequestError, match="is not a complete Parquet file"):
        shards(path, 10)


async def test_a_damaged_row_group_costs_itself_only(tmp_path: Path) -> None:
    path = written(tmp_path, cards(300))
    group = parquet.ParquetFile(path).metadata.row_group(1).column(1)
    content = bytearray(path.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    content[start : start + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    rows = await read(put(tmp_path, bytes(content), "damaged.parquet"))
    assert [line[:45] for (line,) in wrong(rows).values()] == ["row: row group 2, rows 101 to 200, cannot be "]
    assert keys(rows) == [str(key) for key in [*range(100), *range(200, 300)]]
    assert [row.line for row in rows[-2:]] == [299, 300]


async def test_a_text_that_is_none_is_its_rows_problem(tmp_path: Path) -> None:
    table = {**cards(2), "title": pyarrow.array([b"\xe9", b"ok"]).view(pyarrow.string())}
    rows = await read(written(tmp_path, table))
    assert wrong(rows) == {1: ("title: not valid UTF-8",)}


async def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="'acount': not a field"):
        await read(written(tmp_path, {**cards(1), "acount": [1]}))


async def test_a_pipe_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="cannot be read from standard input"):
        await read("-", format="parquet")


async def test_an_open_file_will_do(tmp_path: Path) -> None:
    source = io.BytesIO(written(tmp_path, cards(3)).read_bytes())
    rows = read_rows(source, format="parquet")
    assert len(await all_of(rows)) == 3


@pytest.mark.parametrize("kind", [float, int, str, Decimal])
async def test_a_key_is_the_same_in_every_format(tmp_path: Path, kind: type[Any]) -> None:
    table = {**cards(2), "key": [kind(1001), kind(1002)]}
    csv = "\n".join(["key,account_number,exp_date", *(f"{kind(key)},{CARD},1230" for key in (1001, 1002))])
    number = json.dumps if kind is not Decimal else str
    jsonl = "\n".join(
        f'{{"key": {number(kind(key))}, "account_number": "{CARD}", "exp_date": "1230"}}' for key in (1001, 1002)
    )
    for path in (written(tmp_path, table), put(tmp_path, csv), put(tmp_path, jsonl, "cards.jsonl")):
        assert keys(await read(path)) == ["1001", "1002"]
