"""The fields of a hosted page (`field_configuration`): their problems, and their values as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway_async._secrets import is_confidential
from gateway_async._wire.json_text import is_utf8
from gateway_async.hosted_forms.fields import value_problems, write_field
from gateway_async.hosted_forms.settings import flag_problem

__all__ = ["configuration_problems", "write_setting"]

_PARTS: Final = ("header", "body")
_KEYS: Final = ("id", "value", "label", "readonly", "visible")
_ENTERED_ONLY: Final = frozenset({"exp_date", "account_holder_name"})
"""Further fields whose values only the customer enters."""


def configuration_problems(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each invalid part or field of a page."""
    for part, content in configuration.items():
        path = f"field_configuration.{part}"
        if part not in _PARTS:
            yield f"{path}: is not a part of a page (expected {' or '.join(_PARTS)})"
        elif not isinstance(content, Mapping) or not isinstance(content.get("fields"), list | tuple):
            yield f"{path}.fields: must be a list"
        else:
            yield from (f"{path}.{name}: is unknown (expected fields)" for name in content if name != "fields")
            for index, field in enumerate(content["fields"]):
                yield from (f"{path}.fields[{index}]{problem}" for problem in _field_problems(field))


def _field_problems(field: Any) -> Iterator[str]:
    if not isinstance(field, Mapping):
        yield ": must be a mapping"
        return
    yield from (f".{key}: is unknown (expected {', '.join(_KEYS)})" for key in field if key not in _KEYS)
    name, label = field.get("id"), field.get("label")
    if not isinstance(name, str) or not is_utf8(name) or not name:
        yield ".id: must be the name of a field"
    elif field.get("value") is not None:
        yield from _value_problems(name, field["value"])
    if label is not None and not (isinstance(label, str) and is_utf8(label)):
        yield ".label: must be text"
    for key in ("readonly", "visible"):
        if field.get(key) is not None and (problem := flag_problem(field[key])):
            yield f".{key}: {problem}"


def _value_problems(name: str, value: Any) -> Iterator[str]:
    if name in _ENTERED_ONLY or is_confidential(name):
        yield f".value: {name} can only be entered on the page"
    else:
        yield from (f".value: {line}" for line in value_problems("hostedpaymentpage", name, value))


def write_setting(name: str, value: Any) -> Any:
    """Return the value of a page's setting as JSON has it."""
    if name != "field_configuration" or value is None:
        return write_field(name, value)
    return {
        part: {**content, "fields": [_write(field) for field in content["fields"]]} for part, content in value.items()
    }


def _write(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field as JSON has it: an amount with two decimals."""
    return {key: write_field(field["id"], value) if key == "value" else value for key, value in field.items()}
