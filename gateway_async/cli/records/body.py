"""The request of a create or an update, from the options of its fields and `--data FILE`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import attrs

from gateway_async._secrets import is_confidential, mask_text
from gateway_async._wire.fields import fields_of
from gateway_async._wire.json_text import as_utf8, decode, repeated_name
from gateway_async.cli.errors import warn
from gateway_async.cli.records.values import pairs_of, read_source, value_of
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import ExactlyOne, Request

__all__ = ["field_names", "request_of", "required_names"]


def field_names(kinds: Iterable[type[Request]]) -> list[str]:
    """Return the fields of all classes of requests, each once."""
    return list(dict.fromkeys(name for kind in kinds for name in fields_of(kind)))


def request_of(
    kinds: Sequence[type[Request]],
    wrapper: str,
    fields: Mapping[str, str],
    *,
    others: Sequence[str],
    extra: Sequence[str],
    data: str | None,
) -> Request:
    """Return the request.

    Args:
        kinds: the classes to choose from, by the fields that are given.
        wrapper: the name in which a JSON body may be wrapped.
        fields: the texts by field. `@-` is a line of standard input, and `@FILE` the content of a file.
        others: `name=value` of more fields.
        extra: `name=value` of fields that this version does not know.
        data: the path of a file with an object of fields; `-` for standard input.

    Raises:
        InvalidRequestError: a field is unknown or missing, or the body is not an object.
    """
    texts = {**pairs_of("--field", others), **fields}
    body = _json_object(data, wrapper) if data else {}
    kind = _choose(kinds, {*body, *texts})
    annotations = fields_of(kind)
    unknown = pairs_of("--extra", extra)
    _warn_of_secrets(kind, texts, " (expected @- and standard input)")
    _warn_of_secrets(kind, unknown)
    given: dict[str, Any] = body | {name: read_source(name, text) for name, text in texts.items()}
    for name, value in kind.implied.items():
        if given.get(name) == value:
            del given[name]
    _check_names(kind, given)
    values = {
        name: value_of(annotations[name], value) if isinstance(value, str) else value for name, value in given.items()
    }
    return kind(**values, extra=unknown)


def _json_object(location: str, wrapper: str) -> dict[str, Any]:
    try:
        content = sys.stdin.buffer.read() if location == "-" else Path(location).read_bytes()
        found = decode(content)
        text = as_utf8(content).decode()
        repeated = repeated_name(text)
    except OSError as error:
        raise InvalidRequestError(f"--data: cannot read {location}: {error.strerror}") from None
    except ValueError:
        raise InvalidRequestError("--data: not JSON (expected an object of fields)") from None
    if repeated is not None:
        raise InvalidRequestError(f"--data: has {mask_text(repeated)} more than once")
    if isinstance(found, dict) and [*found] == [wrapper]:
        found = found[wrapper]
    if not isinstance(found, dict):
        raise InvalidRequestError("--data: must be an object of fields")
    return {str(name): value for name, value in found.items()}


def _choose(kinds: Sequence[type[Request]], names: set[str]) -> type[Request]:
    """Return the class that the given fields fit best: it knows them, and lacks the fewest."""

    def misfit(kind: type[Request]) -> tuple[int, int]:
        unknown = names - fields_of(kind).keys() - kind.implied.keys()
        choices = [rule for rule in kind.rules if isinstance(rule, ExactlyOne)]
        return len(unknown), len({*required_names(kind)} - names) + sum(not names & {*rule.fields} for rule in choices)

    return min(kinds, key=misfit)


def required_names(kind: type[Request]) -> list[str]:
    """Return the fields that a request of this class cannot lack."""
    return [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]


def _check_names(kind: type[Request], given: Mapping[str, Any]) -> None:
    """Reject unknown fields, and report missing ones.

    Raises:
        InvalidRequestError: `.problems` names every one.
    """
    known = [*fields_of(kind)]
    problems = [_unknown(name, known) for name in given if name not in known]
    problems += [f"{name}: is required" for name in required_names(kind) if name not in given]
    if problems:
        raise InvalidRequestError(problems)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    return mask_text(f"{name}: unknown field{hint} (expected a field of the resource, or --extra {name}=VALUE)")


def _warn_of_secrets(kind: type[Request], texts: Mapping[str, str], expected: str = "") -> None:
    for name, text in texts.items():
        if is_confidential(f"{kind.__name__}.{name}") and not text.startswith("@"):
            warn(mask_text(f"{name}: other users see it in the list of processes{expected}"))
