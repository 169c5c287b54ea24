"""Answers that the contract does not show: whatever comes is read as far as it goes."""

from collections.abc import Sequence
from typing import Any, TypeVar

from gateway_async._wire.convert import structure
from gateway_async.models.record import Record

__all__ = ["read_unshown"]

R = TypeVar("R", bound=Record)


def read_unshown(record: type[R], wrappers: Sequence[str], content: Any) -> R | None:
    """The record in one of its wrappers or in none; None when the answer is empty, or no object.

    Raises:
        FieldError: a value does not fit.
    """
    if not isinstance(content, dict):
        return None
    wrapped = (content[wrapper] for wrapper in wrappers if isinstance(content.get(wrapper), dict))
    return structure(record, next(wrapped, content))
