"""Check that the rows of a list match the filters that were sent.

Only filters by ids and by codes with a name such as `status_id` are compared. A gateway compares texts in its own way:
parts of them, or with other letters for accents. A value that is missing or null proves nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway_async._secrets import quote_text
from gateway_async._wire.query import Params, plain_params
from gateway_async._wire.response_matching import same_value
from gateway_async.errors import MismatchedReplyError

_COMPARED: Final = re.compile("(.*(?<!_api)_)?id")
_SYNTAX: Final = re.compile(r"[|*%\\]")
"""Ranges, wildcards and escapes: such a value is not compared."""

_CLOSED: Final = frozenset({"0", "2"})
"""`status_id`s of a closed invoice; gateways use one or the other."""


def check_rows(rows: Sequence[msgspec.Raw], params: Params) -> None:
    """Check that no row contradicts a filter.

    Raises:
        MismatchedReplyError: a row does, so the list is the response to another request.
    """
    wanted = {
        name: value for name, value in plain_params(params) if _COMPARED.fullmatch(name) and not _SYNTAX.search(value)
    }
    if not wanted:
        return
    alternatives = {name: frozenset(_alternatives(name, value)) for name, value in wanted.items()}
    decoder = _decoder(tuple(wanted))
    for row in rows:
        try:
            values = decoder.decode(row)
        except msgspec.ValidationError:
            continue  # not an object, which is reported when it is read
        for name, value in wanted.items():
            got = getattr(values, name)
            if _contradicts(alternatives[name], got):
                raise MismatchedReplyError((quote_text(f"{name} is {got!r}, not {value!r}"),))


def _alternatives(name: str, value: str) -> Iterator[str]:
    for text in value.split(","):
        yield text.strip().casefold()
    if name == "status_id" and not _CLOSED.isdisjoint(value.split(",")):
        yield from _CLOSED


def _contradicts(alternatives: Iterable[str], got: Any) -> bool:
    if got in (None, "") or isinstance(got, list | Mapping):
        return False
    if isinstance(got, str):
        return not any(each in got.casefold() for each in alternatives)  # a filter matches parts of a text
    return not any(same_value(each, got) for each in alternatives)


@lru_cache
def _decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """Return a decoder for these fields of a row."""
    return msgspec.json.Decoder(msgspec.defstruct("Row", [(name, Any, None) for name in names]))
