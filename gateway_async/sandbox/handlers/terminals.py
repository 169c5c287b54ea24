"""Terminals: the devices of a location that read cards. One that a request creates is simulated like the first one."""

import json

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.records import make_create, make_delete, make_get, make_list, make_update
from gateway_async.sandbox.schema import TERMINAL
from gateway_async.sandbox.schema.fields import Row

__all__ = ["create", "delete", "get", "get_list", "update"]


_TIMEOUT_RANGES = {
    "card_entry_timeout": range(20, 121),
    "device_terms_prompt_timeout": range(5, 301),
    "overall_timeout": range(30, 301),
    "pin_entry_timeout": range(20, 51),
    "signature_input_timeout": range(10, 51),
    "signature_submit_timeout": range(20, 51),
    "status_display_time": range(1, 31),
    "tip_cashback_timeout": range(20, 51),
    "transaction_timeout": range(10, 21),
}
"""The documented ranges of `terminal_timeouts`, in seconds."""


def _check(row: Row, values: Row, problems: Problems) -> None:
    serial_number = values.get("serial_number")
    if serial_number and not (serial_number.isascii() and serial_number.isalnum()):
        problems.add("serial_number", "Serial Number must contain only letters and digits.")
    if values.get("terminal_timeouts") is not None:
        values["terminal_timeouts"] = _merge_timeouts(row, values["terminal_timeouts"], problems)


def _merge_timeouts(row: Row, text: str, problems: Problems) -> str:
    """Return the timeouts of a terminal with those that a request names."""
    given = json.loads(text)
    for name, seconds in given.items():
        limits = _TIMEOUT_RANGES.get(name)
        if limits and (isinstance(seconds, bool) or seconds not in limits):
            problems.add("terminal_timeouts", f"{name} must be from {limits[0]} to {limits[-1]} seconds.")
    current = row.get("terminal_timeouts") or TERMINAL.by_name["terminal_timeouts"].default
    return json.dumps(json.loads(str(current)) | given)


create = make_create(TERMINAL, _check)
get = make_get(TERMINAL)
get_list = make_list(TERMINAL)
update = make_update(TERMINAL, _check)
delete = make_delete(TERMINAL)
