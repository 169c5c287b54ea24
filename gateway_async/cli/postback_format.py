"""Format postbacks for `gateway-async listen`: as a line for people, or as a JSON object for programs.

The content is untrusted. Card numbers and bank data are masked, and control characters are replaced.
"""

from datetime import UTC, datetime
from typing import Any, Final

from rich.text import Text

from gateway_async._secrets import MASK, Secret, seal_fields
from gateway_async._text import pluralize
from gateway_async.cli.forward import Forward
from gateway_async.cli.output import mask_shown
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import OpenInt
from gateway_async.models.postbacks import Postback
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction

_COLORS: Final = {"CREATE": "green", "UPDATE": "yellow", "DELETE": "red"}


def text_of(postback: Postback[Any], at: datetime) -> Text:
    """Format a postback as a line: time, type, resource, record id and the record's current state."""
    columns = (f"{postback.type:6}", f"{postback.resource:16}", f"{postback.record_id:24}", _state(postback.record))
    words = [_clean(column) for column in columns]
    return Text("  ").join(
        [
            _time(at),
            Text(words[0], style=_COLORS.get(postback.type, "magenta")),
            Text(words[1], style="bold"),
            Text(words[2], style="cyan"),
            Text(words[3] + _attempt(postback)),
        ]
    )


def refusal_line(status: int, reason: str, at: datetime) -> Text:
    """Format a rejected request as a line with the reason."""
    return Text("  ").join([_time(at), Text(f"postback rejected with {status}: {_clean(reason)}", style="bold red")])


def object_of(postback: Postback[Any], at: datetime) -> dict[str, Any]:
    """Convert a postback to a JSON object; `data` is the masked record as it was received."""
    return {
        "event": "postback",
        "at": _iso(at),
        "type": mask_shown(postback.type),
        "resource": mask_shown(postback.resource),
        "id": mask_shown(postback.record_id),
        "number_of_attempts": postback.number_of_attempts,
        "data": _mask_values(seal_fields(postback.raw, postback.resource)),
    }


def refusal_object(status: int, reason: str, at: datetime) -> dict[str, Any]:
    """Convert a rejected request to a JSON object."""
    return {"event": "refused", "at": _iso(at), "status": status, "reason": mask_shown(reason)}


def forward_line(forward: Forward) -> Text:
    """Format the last attempt to forward a postback as a line: status, address and duration."""
    result, attempt = forward.result, forward.attempt
    outcome = str(result.status_code) if result.error is None else result.error
    duration = f"attempt {attempt}, {forward.seconds * 1000:.0f} ms"
    given_up = f"given up after {attempt} {pluralize(attempt, 'attempt')}"
    return Text.assemble(
        ("          → ", "dim"),
        (outcome, "green" if result.is_acknowledged else "bold red"),
        f"  {_clean(forward.postback.type)} {_clean(forward.postback.record_id)}  {forward.target.shown}  ",
        (duration if result.is_acknowledged else given_up, "dim"),
    )


def forward_object(forward: Forward, at: datetime) -> dict[str, Any]:
    """Convert an attempt to forward a postback to a JSON object; `again_in` is the pause before the next attempt."""
    return {
        "event": "forwarded" if forward.result.is_acknowledged else "not_forwarded",
        "at": _iso(at),
        "resource": mask_shown(forward.postback.resource),
        "id": mask_shown(forward.postback.record_id),
        "url": forward.target.shown,
        "attempt": forward.attempt,
        "status": forward.result.status_code,
        "error": forward.result.error,
        "seconds": round(forward.seconds, 3),
        "again_in": forward.pause,
    }


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
    """Return the name of a status, or an unknown status's number."""
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


def _clean(text: str) -> str:
    """Mask a text and replace control characters, which a terminal would interpret."""
    return "".join(character if character.isprintable() else "?" for character in mask_shown(text))


def _mask_values(value: Any) -> Any:
    """Mask the sealed and the other values of nested JSON; amounts become strings."""
    match value:
        case Secret():
            return MASK
        case dict():
            return {mask_shown(name): _mask_values(each) for name, each in value.items()}
        case list():
            return [_mask_values(each) for each in value]
        case bool() | None:
            return value
        case int() if mask_shown(str(value)) == str(value):
            return value
        case _:
            return mask_shown(str(value))
