"""The constructors of all stores refuse each wrong argument, by its name, before anything is opened."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from gateway_async import InvalidRequestError, PostgresLedger, RedisTerminalLease, SqliteLedger
from gateway_async.migration import PostgresJournal, RedisRate, SqliteJournal
from gateway_async.postbacks import PostgresInbox, SqliteInbox

NO_NUMBERS: Final = (None, "30", b"30", True, float("nan"), float("inf"), -1, -0.5)
NO_PATHS: Final = (
    None,
    5,
    "",
    "cards\0.db",
    b"cards.db",
    b"postgresql://u:hush@h/db",
    Path,
    "postgresql://u:hush@h/db",
)
NO_ADDRESSES: Final = (None, 5, "", "cards.db", b"cards.db", b"postgresql://u:hush@h/db", "mysql://u:hush@h/db")
NO_TABLES: Final = (None, 7, "", "a b", 'x"; DROP', "A", "a.b.c", b"cards", "x" * 60)
NO_NAMES: Final = (None, 7, "", " ", "a\nb", b"cards")
POSTGRES: Final = {"dsn": "postgresql://127.0.0.1:1/shop"}
REDIS: Final = {"url": "redis://127.0.0.1:1/0"}

CONSTRUCTORS: Final[Mapping[Callable[..., object], tuple[Mapping[str, Any], Mapping[str, tuple[Any, ...]]]]] = {
    SqliteLedger: ({"path": "payments.db"}, {"path": NO_PATHS, "keep_days": (*NO_NUMBERS, 0)}),
    SqliteInbox: ({"path": "inbox.db"}, {"path": NO_PATHS, "keep_days": (*NO_NUMBERS, 0), "now": (None, 5)}),
    SqliteJournal: ({"path": "cards.journal"}, {"path": NO_PATHS}),
    PostgresLedger: (POSTGRES, {"dsn": NO_ADDRESSES, "table": NO_TABLES, "keep_days": (*NO_NUMBERS, 0)}),
    PostgresInbox: (POSTGRES, {"dsn": NO_ADDRESSES, "table": NO_TABLES, "keep_days": (*NO_NUMBERS, 0)}),
    PostgresJournal: ({**POSTGRES, "name": "cards"}, {"dsn": NO_ADDRESSES, "table": NO_TABLES, "name": NO_NAMES}),
    RedisTerminalLease: (
        {**REDIS, "owner": "till"},
        {"url": NO_ADDRESSES, "owner": NO_NAMES, "seconds": (*NO_NUMBERS, 0.9), "wait": NO_NUMBERS[1:]},
    ),
    RedisRate: (
        {**REDIS, "per_second": 50},
        {"url": NO_ADDRESSES, "per_second": (*NO_NUMBERS, 0), "name": NO_NAMES, "give_up_after": (*NO_NUMBERS, 0)},
    ),
}
"""The constructors of the stores: arguments that are right, and wrong values of each."""

WRONG: Final = [(make, name) for make, (_, wrong) in CONSTRUCTORS.items() for name in wrong]


@pytest.mark.parametrize(("make", "name"), WRONG)
def test_wrong_argument(make: Callable[..., object], name: str) -> None:
    """A wrong argument is named in one line, which shows no password."""
    right, wrong = CONSTRUCTORS[make]
    for value in wrong[name]:
        with pytest.raises(InvalidRequestError) as refused:
            make(**{**right, name: value})
        (problem,) = refused.value.problems
        assert problem.startswith(f"{name}: "), value
        assert "hush" not in f"{refused.value!r}", value
        # An error tracker calls repr for the local variables of the constructor.
        assert all(repr(frame.f_locals.get("self")) for frame, _ in traceback.walk_tb(refused.tb))


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_right_arguments(make: Callable[..., object]) -> None:
    """A path may also be a `Path`; nothing is opened yet."""
    right = CONSTRUCTORS[make][0]
    make(**right)
    if "path" in right:
        make(Path(right["path"]))
