"""`prepare`: check a request, and convert it to the content to send with its secrets still sealed."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async._secrets import (
    MASK,
    Secret,
    is_confidential,
    mask_fields,
    mask_passwords,
    mask_text,
    passwords_in,
    seal,
    secrets_in,
)
from gateway_async._wire.convert.read import once_per_class
from gateway_async._wire.convert.write import omits_none, values_of, writers_of
from gateway_async._wire.validation import problems
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import UNSET, Request

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@attrs.frozen
class PreparedRequest:
    """The content of a request without problems.

    Attributes:
        content: the JSON values to send. Secrets and personal data are sealed until they are encoded, because a
            traceback shows local variables.
        masked: the content with secrets and personal data masked.
        secrets: the secrets and personal data.
    """

    content: dict[str, Any]
    masked: Mapping[str, Any]
    secrets: tuple[Secret, ...]


def prepare(
    request: Request, *, limits: bool, filled: Mapping[str, Any] = _NOTHING, more_problems: Iterable[str] = ()
) -> PreparedRequest:
    """Check a request and write its content.

    Args:
        request: the content of a create or an update.
        limits: whether to check limits, as for `problems`.
        filled: the fields that the client fills in, instead of the request's own.
        more_problems: problems of what is sent with the request, such as files.

    Raises:
        InvalidRequestError: the request cannot be sent; `.problems` lists every problem.
    """
    prepared = _check_and_write(request, limits, filled, more_problems)
    if isinstance(prepared, PreparedRequest):
        return prepared
    raise InvalidRequestError(prepared)  # here, because no local variable of this function is plain


def _check_and_write(
    request: Request, limits: bool, filled: Mapping[str, Any], more_problems: Iterable[str]
) -> PreparedRequest | list[str]:
    """Return the prepared request, or its problems."""
    values = values_of(request)
    values.update(filled)
    found = [*problems(request, limits=limits, values=values), *more_problems]
    return found or _write(request, values)


def _write(request: Request, values: Mapping[str, Any]) -> PreparedRequest:
    content, masked = dict(request.implied), dict(request.implied)
    fields, may_be_null = _fields_to_write(type(request))
    for name, write, is_shown in fields:
        value = values[name]
        if value is None:
            if may_be_null:
                content[name] = None
        elif isinstance(value, Secret):
            content[name], masked[name] = value, str(value)
        elif value is not UNSET:
            written = write(value)
            if isinstance(written, dict | list):
                content[name], masked[name] = seal(written), mask_text(str(mask_fields(value)))
            elif is_shown:
                text = str(value)
                content[name], masked[name] = written, mask_text(mask_passwords(text) if "://" in text else text)
            else:
                content[name], masked[name] = Secret(written) if isinstance(written, str) else written, MASK
    content.update(request.extra)
    masked.update(dict.fromkeys(request.extra, MASK))
    return PreparedRequest(content, masked, tuple(_secrets_of(content)))


def _secrets_of(content: Mapping[str, Any]) -> list[Secret]:
    secrets: list[Secret] = []
    for value in content.values():
        if isinstance(value, Secret):
            secrets.append(value)
        elif isinstance(value, dict | list | tuple):
            secrets.extend(secrets_in(value))
        elif isinstance(value, str) and "://" in value:
            secrets.extend(passwords_in(value))
    return secrets


@once_per_class
def _fields_to_write(kind: type[Any]) -> tuple[tuple[tuple[str, Callable[[Any], Any], bool], ...], bool]:
    """Prepare the fields of a class.

    Returns:
        Name, writer and whether it may be shown for each field; and whether None is sent as null.
    """
    writers = writers_of(kind).items()
    fields = tuple((name, write, not is_confidential(f"{kind.__name__}.{name}")) for name, write in writers)
    return fields, not omits_none(kind)
