"""The log of the fields and parameters that a request has and the gateway does not know.

A gateway ignores them, so a misspelled name has no effect, but the log shows it. A strict sandbox refuses it.
"""

import logging
import re
from collections.abc import Iterable, Sequence

__all__ = ["log_ignored_fields", "log_ignored_parameters"]


_logger = logging.getLogger("gateway_async.sandbox.ignored_fields")
_logger.setLevel(logging.WARNING)

_PLAIN_NAME = re.compile(r"(?!\w*[0-9]{4})[A-Za-z_]\w{0,63}", re.ASCII)


def log_ignored_fields(wrapper: str, names: Sequence[str]) -> None:
    """Log the names of ignored fields."""
    if names:
        _logger.warning("ignored unknown fields record=%s fields=%s", wrapper, _show(names))


def log_ignored_parameters(operation: str, names: Sequence[str]) -> None:
    """Log the names of ignored parameters of an operation, such as `GET /v2/contacts/{id}`."""
    if names:
        _logger.warning("ignored unknown parameters operation=%s parameters=%s", operation, _show(names))


def _show(names: Iterable[str]) -> str:
    """Return names as text; one that may contain a number or a secret is hidden."""
    return ", ".join(name if _PLAIN_NAME.fullmatch(name) else "(hidden)" for name in sorted(names))
