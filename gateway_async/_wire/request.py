"""`prepare`: check a request, and write the content to send, with its secrets still sealed.

All requests are written here, models and mappings for resources without models; `multipart` makes forms of them.
`convert` describes the notation. Fields that the request omits are not sent: None in a create, `UNSET` in an update.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async._secrets import (
    MASK,
    AccountNumber,
    Secret,
    is_confidential,
    kind_of,
    mask_fields,
    mask_passwords,
    mask_text,
    passwords_in,
    seal,
    secrets_in,
)
from gateway_async._wire.amounts import as_number, money
from gateway_async._wire.convert import write_value
from gateway_async._wire.fields import GivenFields, RequestField, given_fields, once_per_class, request_fields
from gateway_async._wire.json_text import INVALID_CHARACTER, is_text
from gateway_async._wire.validation import money_problem, problems
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import UNSET, Request

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_AMOUNT_NAMES: Final = frozenset({"tax", "amount_due", "room_rate"})
"""Names of amounts in a mapping, besides those that end in `_amount`."""

_TEXTS: Final = ("location_id", "terminal_id")
"""Fields of a mapping that the client itself uses, as text."""

_TOO_DEEP: Final = "request: nested too deeply"


@attrs.frozen
class RequestDefaults:
    """Settings that a client applies to every request.

    Attributes:
        location_id: the default `location_id` of creates and of `ApiId`.
        check_limits: whether to check lengths, required fields and rules before sending.
        new_id: generates an integrator id, so that a write can be looked up.
        base_url: the gateway's address, without `/v2`, for the links that customers open.
        accepts_existing: whether a create returns the record that has its integrator id already, if it equals what is
            sent.
    """

    location_id: str | None
    check_limits: bool
    new_id: Callable[[], str]
    base_url: str = ""
    accepts_existing: bool = False

    def with_options(self, location_id: str | None, check_limits: bool | None) -> "RequestDefaults":
        """Copy the defaults with another location or other checks; None keeps a value."""
        changes: dict[str, Any] = {"location_id": location_id, "check_limits": check_limits}
        return attrs.evolve(self, **{name: value for name, value in changes.items() if value is not None})


@attrs.define
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
    request: Request | Any,
    *,
    limits: bool = False,
    filled: Mapping[str, Any] = _NOTHING,
    more_problems: Iterable[str] = (),
) -> PreparedRequest:
    """Check a request and write its content.

    Args:
        request: the content of a create or an update: a model, or a mapping that `seal` has returned.
        limits: whether to check the limits of a model, as for `problems`.
        filled: the fields that the client fills in, instead of the request's own.
        more_problems: problems of what is sent with the request, such as files.

    Raises:
        InvalidRequestError: the request cannot be sent; `.problems` lists every problem.
    """
    try:
        prepared = _check_and_write(request, limits, filled, more_problems)
    except RecursionError:
        prepared = [_TOO_DEEP]
    if isinstance(prepared, PreparedRequest):
        return prepared
    raise InvalidRequestError(prepared)  # here, because no local variable of this function is plain


def _check_and_write(
    request: Request | Any, limits: bool, filled: Mapping[str, Any], more_problems: Iterable[str]
) -> PreparedRequest | list[str]:
    if not isinstance(request, Request):
        return [*_mapping_problems(request), *more_problems] or _write_mapping(request, filled)
    given = given_fields(request, filled)
    return [*problems(request, limits=limits, given=given), *more_problems] or _write_model(request, given)


def _secrets_of(content: Mapping[str, Any]) -> tuple[Secret, ...]:
    secrets: list[Secret] = []
    for value in content.values():
        if isinstance(value, Secret):
            secrets.append(value)
        elif isinstance(value, str):
            if "://" in value:
                secrets.extend(passwords_in(value))
        elif isinstance(value, dict | list | tuple):
            secrets.extend(secrets_in(value))
    return tuple(secrets)


# --- models: the annotation of a field says how to write it


def _write_model(request: Request, given: GivenFields) -> PreparedRequest:
    content, masked = dict(request.implied), dict(request.implied)
    writers, sends_null = _writers(type(request))
    for field, value in given:
        name = field.name
        if value is None:
            if sends_null:
                content[name] = None
            continue
        if isinstance(value, Secret):
            content[name], masked[name] = value, str(value)
            continue
        write, is_shown = writers[name]
        written = write(value)
        if isinstance(written, dict | list):
            content[name], masked[name] = seal(written), mask_text(str(mask_fields(value)))
        elif is_shown:
            text = str(value)
            content[name], masked[name] = written, mask_text(mask_passwords(text) if "://" in text else text)
        else:
            content[name], masked[name] = Secret(written), MASK
    if request.extra:
        content.update(request.extra)
        masked.update(dict.fromkeys(request.extra, MASK))
    return PreparedRequest(content, masked, _secrets_of(content))


@once_per_class
def _writers(kind: type[Any]) -> tuple[Mapping[str, tuple[Callable[[Any], Any], bool]], bool]:
    """The writer of each field and whether its value may be shown; and whether None is sent, as in an update."""
    writers = {
        field.name: (_writer(field), not is_confidential(f"{kind.__name__}.{field.name}"))
        for field in request_fields(kind)
    }
    return writers, any(field.default is UNSET for field in attrs.fields(kind))


def _writer(field: RequestField) -> Callable[[Any], Any]:
    if field.items:
        return _write_items
    if field.amounts:
        return _write_amounts
    if field.cents:
        return as_number if field.cents.number else money
    return _write_value


def _write_value(value: Any) -> Any:
    if type(value) is str or type(value) is int:
        return value
    return dict(value) if isinstance(value, Mapping) else write_value(value)  # a free-form mapping stays as it is


def _write_items(items: Mapping[str, Decimal | int | str]) -> dict[str, Decimal]:
    return {name: as_number(amount) for name, amount in items.items()}


def _write_amounts(amounts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "amount": money(entry["amount"])} for entry in amounts]


# --- mappings: the name of a field says whether it is an amount; limits and required fields are not known


def _write_mapping(content: Mapping[str, Any], filled: Mapping[str, Any]) -> PreparedRequest:
    written = {**{name: _write_named(name, value) for name, value in content.items()}, **filled}
    return PreparedRequest(written, {name: _mask(value) for name, value in written.items()}, _secrets_of(written))


def _write_named(name: str, value: Any) -> Any:
    match value:
        case dict():
            return {inner: _write_named(inner, each) for inner, each in value.items()}
        case list() | tuple():
            return [_write_named(name, each) for each in value]
        case Secret():
            written = _write_named(name, value.plain())
            return type(value).of(str(written) if is_confidential(name) else written)  # numbers of accounts are texts
        case str() | int() | Decimal() if _is_amount(name):
            return money(value)
        case _:
            return write_value(value)


def _mask(value: Any) -> str:
    if isinstance(value, AccountNumber):
        return str(value)
    return MASK if isinstance(value, Secret | dict | list) else mask_text(mask_passwords(str(value)))


def _mapping_problems(content: Any) -> list[str]:
    if isinstance(content, Secret) and issubclass(content.kind, Mapping):
        return [_TOO_DEEP]
    if not isinstance(content, dict):
        return [f"request: must be a mapping of field names to values, not {kind_of(content).__name__}"]
    texts = [f"{name}: must be text" for name in _TEXTS if not is_text(content.get(name) or "")]
    return [*_value_problems(content, ""), *texts]


def _value_problems(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if is_text(name) and name:
                yield from _value_problems(inner, f"{path}.{name}" if path else name)
            else:
                yield mask_text(f"{path or 'request'}: the name of a field must be text, not {name!r}")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _value_problems(each, f"{path}[{index}]")
    elif problem := _problem(path, value):
        yield f"{path}: {problem}"


def _problem(path: str, value: Any) -> str | None:  # noqa: PLR0911  one for each kind of value
    match value:
        case Secret():
            return _problem(path, value.plain()) if value.has_value else "must be text"
        case float():
            return "must be a Decimal, an int or a str, never a float"
        case datetime() if value.tzinfo is None:
            return "must be an aware datetime (tzinfo is missing)"
        case str() if not is_text(value):
            return INVALID_CHARACTER
        case Decimal() if not value.is_finite():
            return "is not an amount"
        case str() | int() | Decimal() if _is_amount(path.rpartition(".")[2].partition("[")[0]):
            return money_problem(value)
        case str() | int() | Decimal() | date() | None:
            return None
        case _:
            return f"a {type(value).__name__} cannot be sent"


def _is_amount(name: str) -> bool:
    return name.endswith("_amount") or name in _AMOUNT_NAMES
