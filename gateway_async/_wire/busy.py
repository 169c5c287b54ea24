"""Detection of refusals that say that the terminal is busy.

The contract shows no such response, so the text of a 403, 409 or 422 decides. It counts if one sentence contains
"terminal" and then "busy" or "in use", or if a message about the field `terminal_id` contains "busy" or "in use".
"""

import re
from typing import Final

from gateway_async.errors import StatusError

__all__ = ["says_busy"]

_STATUSES: Final = (403, 409, 422)
_BUSY: Final = re.compile(r"(?i)\bterminal\b[^.;\n]*?(?<!not )\b(busy|in use)\b")


def says_busy(refusal: StatusError) -> bool:
    """Return whether the gateway refused because the terminal is in use."""
    said = [refusal.message, *(f"{_name(field)} {line}" for field, lines in refusal.fields.items() for line in lines)]
    return refusal.status_code in _STATUSES and any(map(_BUSY.search, said))


def _name(field: str) -> str:
    return "terminal" if field == "terminal_id" else ""
