"""How `gateway-async listen` shows what came: a line for people, or an object for programs.

What came is somebody else's: card numbers and bank data in it are masked, and it cannot steer a terminal.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.text import Text

from gateway_async._secrets import mask_text
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import OpenInt
from gateway_async.models.contacts import Contact
from gateway_async.models.postbacks import Postback
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction

__all__ = ["object_of", "refusal_line", "refusal_object", "text_of"]

_COLOURS: Final = {"CREATE": "green", "UPDATE": "yellow", "DELETE": "red"}
_HIDDEN: Final = AccountVault.hidden | Transaction.hidden | {"account_number", "cvv", "track_data"}
"""Fields of bank data, in whatever record they stand; a contact's `account_number` is its number with the merchant."""


def text_of(postback: Postback[Any], at: datetime) -> Text:
    """A line for people: when, what happened to which record, and how that stands now."""
    columns = (f"{postback.type:6}", f"{postback.resource:16}", f"{postback.record_id:24}", _state(postback.record))
    words = [_printable(column) for column in columns]
    return Text("  ").join(
        [
            _time(at),
            Text(words[0], style=_COLOURS.get(postback.type, "magenta")),
            Text(words[1], style="bold"),
            Text(words[2], style="cyan"),
            Text(words[3] + _attempt(postback)),
        ]
    )


def refusal_line(status: int, reason: str, at: datetime) -> Text:
    """A line for people: a request that was refused, and why."""
    return Text("  ").join([_time(at), Text(f"refused with {status}: {_printable(reason)}", style="bold red")])


def object_of(postback: Postback[Any], at: datetime) -> dict[str, Any]:
    """What programs get of a postback: its fields, and the record as it came under `data`."""
    hidden = _HIDDEN - ({"account_number"} if isinstance(postback.record, Contact) else set[str]())
    return {
        "event": "postback",
        "at": _iso(at),
        "type": postback.type,
        "resource": postback.resource,
        "id": mask_text(postback.record_id),
        "number_of_attempts": postback.number_of_attempts,
        "data": _masked(postback.raw, hidden),
    }


def refusal_object(status: int, reason: str, at: datetime) -> dict[str, Any]:
    """What programs get of a request that was refused."""
    return {"event": "refused", "at": _iso(at), "status": status, "reason": mask_text(reason)}


def _state(record: Any) -> str:
    match record:
        case Transaction():
            return f"{record.transaction_amount or ''} {_word(record.status_id)}".strip()
        case TransactionBatch():
            return f"batch {record.batch_num or ''} {_word(record.processing_status_id)}"
        case AccountVault():
            return f"{record.account_type or ''} …{record.last_four or ''}"
        case _:
            return ""


def _word(code: OpenInt | None) -> str:
    """A status as a word; an unknown one as its number."""
    if code is None:
        return ""
    return code.name.lower().replace("_", " ") if code.known else f"status {code:d}"


def _attempt(postback: Postback[Any]) -> str:
    count = postback.number_of_attempts
    return f"  (attempt {count})" if count and count > 1 else ""


def _time(at: datetime) -> Text:
    return Text(f"{at.astimezone():%H:%M:%S}", style="dim")


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def _printable(text: str) -> str:
    """A text without what a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in mask_text(text))


def _masked(value: Any, hidden: frozenset[str] | set[str]) -> Any:
    """JSON values without bank data, wherever it stands in them; amounts are texts."""
    match value:
        case Mapping():
            return {
                mask_text(name): "***" if name in hidden and each is not None else _masked(each, hidden)
                for name, each in value.items()
            }
        case list():
            return [_masked(each, hidden) for each in value]
        case bool() | None:
            return value
        case int() if mask_text(str(value)) == str(value):
            return value
        case _:
            return mask_text(str(value))
