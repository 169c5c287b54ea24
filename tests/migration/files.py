"""Files for the tests of sources: written, and read whole."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gateway_async import AchVaultCreate
from gateway_async.migration import Rows, VaultRow, read_rows

CARD = "4111111111111111"
OTHER_CARD = "5555555555554444"
BANK_ACCOUNT = AchVaultCreate(
    account_number="123456789",
    account_holder_name="Ann",
    account_type="checking",
    is_company=False,
    routing="072000326",
)
HEADER = "key,account_number,exp_date,account_holder_name"


def card_row(key: object, *, name: str = "Ann") -> str:
    return f"{key},{CARD},1230,{name}"


def row(key: str, number: str = CARD) -> dict[str, str]:
    return {"key": key, "account_number": number, "exp_date": "1230"}


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def put(folder: Path, content: bytes | str, name: str = "cards.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def lines(*given: str, end: str = "\n") -> str:
    return "".join(line + end for line in (HEADER, *given))


async def all_of(rows: Rows) -> list[VaultRow]:
    return [row async for row in rows]


async def read(source: Any, **how: Any) -> list[VaultRow]:
    return await all_of(read_rows(source, **how))


def keys(rows: Iterable[VaultRow]) -> list[str]:
    return [row.key for row in rows if not row.problems]


def wrong(rows: Iterable[VaultRow]) -> dict[int | None, tuple[str, ...]]:
    return {row.line: row.problems for row in rows if row.problems}
