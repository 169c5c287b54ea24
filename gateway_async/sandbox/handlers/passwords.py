"""The rules of a user's password (contract, "Users").

It has letters and digits, and differs from the last four. A user that changes its own password sends the old one too.
A password that another user has set works for one login.
"""

import hmac
import json

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.schema.fields import Row

__all__ = ["check_password", "password_changes"]


_REMEMBERED = 4


def check_password(caller: Row, row: Row, values: Row, problems: Problems) -> None:
    """Check the new password of a user.

    The row of a new user is empty.
    """
    password, old = values.get("password"), values.get("old_password")
    if "password" not in values or "password" in problems:
        return
    if password is None:
        problems.add("password", "Password cannot be blank.")
    elif not _is_mixed(password):
        problems.add("password", "Password must contain letters and digits.")
    elif row and password in _previous(row):
        problems.add("password", f"Password must differ from the last {_REMEMBERED}.")
    if _is_own(caller, row) and not _matches(row["password"], old) and "old_password" not in problems:
        problems.add("old_password", "Old Password is not correct.")


def password_changes(caller: Row, row: Row, values: Row) -> Row:
    """Return what a new password changes in a user besides itself; empty without one."""
    if values.get("password") is None:
        return {}
    previous = [values["password"], *_previous(row)][:_REMEMBERED]
    return {
        "previous_passwords": json.dumps(previous),
        "requires_new_password": int(not _is_own(caller, row)),
        "password_used": 0,
    }


def _is_own(caller: Row, row: Row) -> bool:
    return bool(row) and bool(row["id"] == caller["id"])


def _previous(row: Row) -> list[str]:
    """Return the last passwords, the newest first. The list of a user that the sandbox made lacks its first one."""
    previous: list[str] = json.loads(row.get("previous_passwords") or "[]")
    current = row.get("password")
    return previous if current is None or current in previous else [current, *previous]


def _matches(password: str | None, given: str | None) -> bool:
    return password is not None and given is not None and hmac.compare_digest(given.encode(), password.encode())


def _is_mixed(password: str) -> bool:
    """Return whether a password has letters and digits."""
    return any(map(str.isalpha, password)) and any(map(str.isdigit, password))
