"""Does a refusal say that the terminal is busy?

The contract shows no such answer, so this believes words, and only plain ones: a 403, 409 or 422 that says "terminal"
and then "busy" or "in use" in one sentence, or says "busy" or "in use" of the field `terminal_id`.
"""

import re
from typing import Final

from gateway_async.errors import StatusError

__all__ = ["says_busy"]

_STATUSES: Final = (403, 409, 422)
_BUSY: Final = re.compile(r"(?i)\bterminal\b[^.;\n]*?(?<!not )\b(busy|in use)\b")


def says_busy(refusal: StatusError) -> bool:
    """Whether the gateway refuses since someone else uses the terminal."""
    said = [refusal.message, *(f"{_name(field)} {line}" for field, lines in refusal.fields.items() for line in lines)]
    return refusal.status_code in _STATUSES and any(map(_BUSY.search, said))


def _name(field: str) -> str:
    return "terminal" if field == "terminal_id" else ""
