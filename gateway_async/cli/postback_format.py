"""Format postbacks for `gateway-async listen`: as a line for people, or as a JSON object for programs.

The content is untrusted. Card numbers and bank data are masked, and control characters are replaced.
"""

from typing import Any, Final

import attrs
from rich.text import Text

from gateway_async._secrets import MASK, Secret, seal_fields
from gateway_async._text import pluralize
from gateway_async.cli.forward import Forward
from gateway_async.cli.output import mask_shown, printable
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import OpenInt
from gateway_async.models.postbacks import Postback
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction

_COLORS: Final = {"CREATE": "green", "UPDATE": "yellow", "DELETE": "red"}


@attrs.frozen
class ListenEvent:
    """What `listen` shows of one event.

    Attributes:
        values: the JSON object for programs.
        line: the line for people; None if they do not see the event.
    """

    values: dict[str, Any]
    line: Text | None


def postback_event(postback: Postback[Any]) -> ListenEvent:
    """Show a postback: for programs the masked record as it was received, for people the record's current state."""
    columns = (f"{postback.type:6}", f"{postback.resource:16}", f"{postback.record_id:24}", _state(postback.record))
    words = [_clean(column) for column in columns]
    line = Text("  ").join(
        [
            Text(words[0], style=_COLORS.get(postback.type, "magenta")),
            Text(words[1], style="bold"),
            Text(words[2], style="cyan"),
            Text(words[3] + _attempt(postback)),
        ]
    )
    values = {
        "event": "postback",
        "type": mask_shown(postback.type),
        "resource": mask_shown(postback.resource),
        "id": mask_shown(postback.record_id),
        "number_of_attempts": postback.number_of_attempts,
        "data": _mask_values(seal_fields(postback.raw, postback.resource)),
    }
    return ListenEvent(values, line)


def refusal_event(status: int, reason: str) -> ListenEvent:
    """Show a rejected request with the reason."""
    line = Text(f"postback rejected with {status}: {_clean(reason)}", style="bold red")
    return ListenEvent({"event": "refused", "status": status, "reason": mask_shown(reason)}, line)


def forward_event(forward: Forward) -> ListenEvent:
    """Show an attempt to forward a postback; people see only the last one."""
    result, attempt, pause = forward.result, forward.attempt, forward.pause
    is_done = result.is_acknowledged
    values = {
        "event": "forwarded" if is_done else "not_forwarded",
        "resource": mask_shown(forward.postback.resource),
        "id": mask_shown(forward.postback.record_id),
        "url": forward.target.shown,
        "attempt": attempt,
        "status": result.status_code,
        "error": result.error,
        "seconds": round(forward.seconds, 3),
        "again_in": pause,  # seconds until the next attempt
    }
    took = f"attempt {attempt}, {forward.seconds * 1000:.0f} ms"
    line = Text.assemble(
        ("→ ", "dim"),
        (result.error or str(result.status_code), "green" if is_done else "bold red"),
        f"  {_clean(forward.postback.type)} {_clean(forward.postback.record_id)}  {forward.target.shown}  ",
        (took if is_done else f"given up after {attempt} {pluralize(attempt, 'attempt')}", "dim"),
    )
    return ListenEvent(values, line if pause is None else None)


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


def _clean(text: str) -> str:
    """Mask a text and replace control characters, which a terminal would interpret."""
    return printable(mask_shown(text))


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
