"""Generated broken files of a migration: a row is read, or it has its problems, or the file is refused."""

import asyncio
import io
import json
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from hypothesis import strategies as st

from gateway_async import InvalidRequestError
from gateway_async.migration import VaultRow
from tests.migration.files import CARD, HEADER, card_row, lines, read
from tests.reliability.condition import Condition, Result
from tests.reliability.generated import apply_generated

_ROWS: Final = 6
_RUBBISH: Final = (
    b'"',
    b'""',
    b"\n",
    b"\r\n",
    b"\r",
    b",",
    b";",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b"\\",
    b"",
)
_KEYS: Final = range(_ROWS)


def _csv() -> bytes:
    return lines(*map(card_row, _KEYS)).encode()


def _records() -> list[dict[str, str]]:
    return [dict(zip(HEADER.split(","), card_row(key).split(","), strict=True)) for key in _KEYS]


def _jsonl() -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in _records())


def _parquet() -> bytes:
    table, file = import_module("pyarrow").Table.from_pylist(_records()), io.BytesIO()
    import_module("pyarrow.parquet").write_table(table, file)
    return file.getvalue()


_FILES: Final[dict[str, bytes]] = {"csv": _csv(), "jsonl": _jsonl()}
if find_spec("pyarrow"):  # not on every Python
    _FILES["parquet"] = _parquet()


@st.composite
def _broken(draw: st.DrawFn, content: bytes) -> bytes:
    """Return a file with something else at one place, or cut there."""
    place = draw(st.integers(0, len(content)))
    if draw(st.integers(0, 4)) == 0:
        return content[:place]
    rubbish = draw(st.sampled_from(_RUBBISH) | st.binary(max_size=6))
    return content[:place] + rubbish + content[place + draw(st.integers(0, 9)) :]


def _check_file(data: st.DataObject, run: Callable[[Any], Any]) -> None:
    """Check that no row of a broken file is missing without a word."""
    kind = data.draw(st.sampled_from(sorted(_FILES)))
    content = data.draw(_broken(_FILES[kind]))
    rows: Sequence[VaultRow] | None = None
    try:
        rows = run(read(io.BytesIO(content), format=kind))
        problems = [problem for row in rows or () for problem in row.problems]
    except InvalidRequestError as error:
        problems = [str(error)]
    assert not any(CARD in problem for problem in problems), content
    if rows is None or kind == "parquet":  # its pages have no checksum, so that other values may be read
        return
    whole = content.count(b"\n") if kind == "jsonl" else content.count(b"\n") - 1
    assert problems or len(rows) >= min(whole, _ROWS), f"{content!r}: {[row.key for row in rows]}"


def _read_files(count: int) -> Result:
    with asyncio.Runner() as runner:
        return apply_generated(lambda data: _check_file(data, runner.run), count)


FILE_CONDITIONS: Final = (
    Condition(
        key="bad-files",
        text="generated broken files of a migration: CSV, JSON Lines, Parquet",
        count=25_000,
        short_count=300,
        run=_read_files,
    ),
)
