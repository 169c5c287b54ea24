"""The log of the fields that a request has and the gateway does not know.

A gateway ignores such fields, so a misspelled name has no effect, but the log shows it. A strict sandbox refuses it.
"""

import logging
import re
from collections.abc import Sequence

__all__ = ["log_ignored_fields"]


_logger = logging.getLogger("gateway_async.sandbox.ignored_fields")
_logger.setLevel(logging.WARNING)

_PLAIN_NAME = re.compile(r"(?!\w*[0-9]{4})[A-Za-z_]\w{0,63}", re.ASCII)


def log_ignored_fields(wrapper: str, names: Sequence[str]) -> None:
    """Log the names of ignored fields; a name that may contain a number or a secret is hidden."""
    if names:
        shown = ", ".join(name if _PLAIN_NAME.fullmatch(name) else "(hidden)" for name in sorted(names))
        _logger.warning("ignored unknown fields record=%s fields=%s", wrapper, shown)
