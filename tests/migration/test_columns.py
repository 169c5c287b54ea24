"""Which column is which field."""

from pathlib import Path

import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import Columns

from .files import CARD


def problems_of(columns: Columns, *header: str) -> tuple[str, ...]:
    with pytest.raises(InvalidRequestError) as caught:
        columns.map_header(header)
    return caught.value.problems


@pytest.mark.parametrize(
    "name", ["account_number", "Account Number", " ACCOUNT-NUMBER ", "account.number", "_account__number_"]
)
def test_names_fit_however_they_are_written(name: str) -> None:
    assert Columns().map_header([name]).fields == ("account_number",)


def test_a_named_column_fits() -> None:
    mapping = Columns(names={"Card No": "account_number"}).map_header(["card no", "exp_date"])
    assert mapping.fields == ("account_number", "exp_date")
    assert mapping.fields_by_column(["card no", "exp_date"]) == {"card no": "account_number", "exp_date": "exp_date"}


@pytest.mark.parametrize(
    ("columns", "header", "key", "fields"),
    [
        (Columns(), ("exp_date", "Key"), 1, ("exp_date", None)),
        (Columns(), ("account_vault_api_id",), None, ("account_vault_api_id",)),
        (Columns(key="Customer"), ("exp_date", "customer"), 1, ("exp_date", None)),
        (Columns(key="customer_id"), ("customer_id",), 0, ("customer_id",)),
        (Columns(key="No", names={"No": "customer_id"}), ("No",), 0, ("customer_id",)),
    ],
)
def test_the_key_is_found(
    columns: Columns, header: tuple[str, ...], key: int | None, fields: tuple[str | None]
) -> None:
    mapping = columns.map_header([*header, "account_number"])
    assert mapping.key == key
    assert mapping.fields[:-1] == fields


@pytest.mark.parametrize("sign", ["#", "№", "***", "$", "(1)"])
def test_a_column_of_signs_is_a_column(sign: str) -> None:
    header = (sign, "", "account_number", "%")
    (problem, _) = problems_of(Columns(), *header)
    assert problem.startswith(f"{sign!r}: not a field of an account vault")
    assert Columns(names={sign: "title"}, ignore=["%"]).map_header(header).fields[0] == "title"
    mapping = Columns(key=f" {sign} ", ignore=["%"]).map_header(header)
    assert (mapping.key, mapping.unnamed) == (0, (1,))


def test_a_column_without_a_name_is_no_key_of_another_name() -> None:
    assert Columns(key="").map_header(("account_number", " ")).key == 1
    assert "'#': not a column of the file" in problems_of(Columns(key="#"), "", "account_number")[0]


def test_a_column_that_may_name_the_rows_is_answered_by_the_key() -> None:
    said = problems_of(Columns(), "Customer No", "Card Number", "exp_date")
    assert said[0].startswith(
        "'Customer No': not a field of an account vault; --key 'Customer No' if it names the rows"
    )
    assert "(expected --map 'Customer No=FIELD' or --ignore 'Customer No'" in said[0]
    assert "--key" not in said[1].partition(" (expected")[0]
    for header in (("key", "Customer No"), ("account_vault_api_id", "Customer No")):
        assert "names the rows" not in problems_of(Columns(), *header, "exp_date")[0]


@pytest.mark.parametrize(
    ("columns", "header", "said"),
    [
        (Columns(), ("acount_number", "exp_date"), "'acount_number': not a field.*did you mean account_number"),
        (Columns(), ("exp_date", "Exp-Date"), "exp_date: mapped from 2 columns: 'exp_date', 'Exp-Date'"),
        (
            Columns(names={"Card": "account_number"}),
            ("exp_date",),
            "'Card': not a column of the file \\(columns: 'exp_date'\\)",
        ),
        (Columns(key="Customer"), ("exp_date",), "'Customer': not a column of the file"),
        (Columns(key="account_number"), ("account_number",), "key: account_number not allowed"),
        (Columns(), ("key", "KEY", "exp_date"), "key: column 'key' appears twice"),
        (Columns(constants={"title": "x"}), ("title",), "title: both a column and a constant"),
        (Columns(), ("a", "b"), "no column is a field of an account vault; is the first line the header"),
    ],
)
def test_what_does_not_fit_is_named(columns: Columns, header: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        columns.map_header(header)


def test_a_column_is_mapped_to_one_field() -> None:
    with pytest.raises(InvalidRequestError, match="names: 'Card No' and 'card_no' are one column"):
        Columns(names={"Card No": "account_number", "Expiry": "exp_date", "card_no": "title"})
    Columns(names={"Card No": "account_number", "card_no": "account_number"})


def test_everything_that_does_not_fit_is_said_at_once() -> None:
    assert len(problems_of(Columns(), "wrong", "worse", "exp_date", "exp date")) == 3


@pytest.mark.parametrize("columns", [Columns(), Columns(key="customer"), Columns(names={"Card": "account_number"})])
def test_a_file_without_header_shows_no_short_number(columns: Columns) -> None:
    said = " ".join(problems_of(columns, "k1", CARD, "7391", "12/30", "1230"))
    assert "is the first line the header" in said
    assert [number for number in ("7391", "12/30", "1230") if number in said] == []


@pytest.mark.parametrize("shown", [CARD, "4111 1111 1111 1111", "4111-1111-1111-1112", "072000326"])
def test_a_file_without_header_shows_no_number(shown: str) -> None:
    said = " ".join(problems_of(Columns(), shown, "exp_date"))
    assert shown not in said
    assert shown[:7] not in said


def test_columns_can_be_left_out() -> None:
    mapping = Columns(ignore=["Notes", "title"]).map_header(["notes", "Title", "problems", "exp_date"])
    assert mapping.fields == (None, None, None, "exp_date")


def test_a_toml_file_says_it_all(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(
        'key = "Customer"\nignore = ["Notes"]\n[columns]\n"Card No" = "account_number"\n[constants]\nrun_avs = true\n'
    )
    expected = Columns({"Card No": "account_number"}, {"run_avs": "True"}, "Customer", ["Notes"])
    assert Columns.from_toml(path) == expected
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as an editor on Windows saves it
    assert Columns.from_toml(path) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[colums]", "colums"),
        ("key = 3", "key"),
        ("[columns]\na = 1", "columns"),
        ("[columns]\na = 'acount_number'", "names: 'acount_number' is not a field.*account_number"),
        ("[constants]\nfoo = 'x'", "constants: 'foo' is not a field"),
        ("nonsense", "cannot be read"),
        (None, "No such file"),
    ],
)
def test_a_wrong_toml_file_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "map.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidRequestError, match=said):
        Columns.from_toml(path)


def test_constants_are_shown_masked() -> None:
    assert "constants={'ssn4': '***', 'run_avs': '1'}" in repr(Columns(constants={"ssn4": "4829", "run_avs": "1"}))
