"""Reader for responses that the contract does not show, which accepts several forms."""

from collections.abc import Sequence
from typing import Any, TypeVar

from gateway_async._wire.convert import structure
from gateway_async.models.record import Record

__all__ = ["read_unshown"]

R = TypeVar("R", bound=Record)


def read_unshown(record: type[R], wrappers: Sequence[str], content: Any) -> R | None:
    """Read a record with or without a wrapper key.

    Returns None if the response is not a JSON object.

    Raises:
        FieldError: a value does not fit its field.
    """
    if not isinstance(content, dict):
        return None
    wrapped = (content[wrapper] for wrapper in wrappers if isinstance(content.get(wrapper), dict))
    return structure(record, next(wrapped, content))
