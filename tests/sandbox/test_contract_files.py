"""The data files of the contract: they are tidy, and a mistake in one is named."""

from pathlib import Path

import pytest

import gateway_async.sandbox
from gateway_async.sandbox.schema.loader import ContractError, read_tables

CONTRACT = Path(gateway_async.sandbox.__file__).parent / "contract"

COUPON = """
singular = "coupon"
plural = "coupons"
fields = '''
# field  kind       contract  accepted  POST      PUT  response  marks
id       id         24-36     -         no        no   yes
code     text       1-16      -         required  no   yes
kind     code:a,b   -         -         yes       yes  yes       only =a
cents    integer    1-4       -         yes?      no?  yes       =5
price    money      10        -         yes       no   yes
pin      code       4         -         yes       no   no        secret
shop_id  id         -         1-36      yes       no   yes       ->coupons
'''

[expands]
shop = "shop_id"
"""


def write(folder: Path, text: str = COUPON) -> Path:
    """Write a data file, and return its folder."""
    folder.joinpath("coupons.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_line_becomes_a_field(tmp_path: Path) -> None:
    table = read_tables(write(tmp_path))["coupons"]
    code, kind, cents = (table.by_name[name] for name in ("code", "kind", "cents"))
    assert (code.min_length, code.max_length, code.required, {*code.settable}) == (1, 16, True, {"POST"})
    assert (kind.choices, kind.default, {*kind.settable}) == (("a", "b"), "a", {"POST", "PUT"})
    assert (cents.default, cents.max_length, table.by_name["shop_id"].references) == (5, 4, "coupons")
    assert table.by_name["pin"].secret
    assert [*table.shown] == ["id", "code", "kind", "cents", "price", "shop_id"]
    assert table.expands == {"shop": "shop_id"}


MISTAKE: list[tuple[str, str, str]] = [
    ("text       1-16", "txt        1-16", r"coupons\.toml, line 7, code: unknown kind 'txt' \(expected one of"),
    ("1-16", "16..1", r"line 7, code: unknown length '16\.\.1'"),
    ("required", "requires", r"line 7, code: unknown POST 'requires' \(expected one of .*required"),
    ("yes       yes  yes ", "yes       maybe yes ", r"line 8, kind: unknown PUT 'maybe'"),
    ("no        no   yes\ncode", "no        no   often\ncode", r"line 6, id: unknown response 'often'"),
    ("only =a", "onyl =a", r"line 8, kind: unknown mark 'onyl' \(expected one of computed"),
    ("=5", "=five", r"line 9, cents: invalid literal"),
    ("1-16      -         required  no   yes", "1-16      required", r"line 7, code: 4 cells \(expected 7"),
    ("pin  ", "code ", r"line 11, code: the field has two lines"),
    ("->coupons", "->shops", r"coupons\.toml, shop_id: no records have the plural 'shops'"),
    ("plural =", "plurals =", r"coupons\.toml: unknown key 'plurals'"),
    ('plural = "coupons"', "", r"coupons\.toml: the key 'plural' is missing"),
    ('plural = "coupons"', 'plural = "coupons"\nsort = "-name"', r"coupons\.toml, sort: no field is named 'name'"),
    ('plural = "coupons"', "plural = coupons", r"coupons\.toml: Invalid value \(at line 3"),
]


def test_mistake(tmp_path: Path) -> None:
    """An error names the file, the line, the field, and what was expected."""
    for right, wrong, message in MISTAKE:
        assert right in COUPON
        with pytest.raises(ContractError, match=message):
            read_tables(write(tmp_path, COUPON.replace(right, wrong, 1)))


def test_the_columns_are_aligned() -> None:
    for path in sorted(CONTRACT.glob("*.toml")):
        for table in path.read_text(encoding="utf-8").split("'''")[1::2]:
            header, *lines = table.strip().splitlines()
            starts = [0, *(header.index(f"  {name}") + 2 for name in header.split()[2:])]
            if header.startswith("# field"):
                assert [line for line in lines if any(line[start - 1 : start].strip() for start in starts[1:])] == [], (
                    path
                )
                assert [
                    line for line in lines if any(line[start : start + 1].isspace() for start in starts[:7])
                ] == [], path
