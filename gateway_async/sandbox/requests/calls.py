"""A request as the families of records see it: who asks, what about, and what was sent.

Whatever arrives here is met with a record or a 4xx: a body that is too large, not UTF-8, not JSON,
nested without end or says one thing twice is refused in words.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from gateway_async.sandbox.http.errors import InvalidError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.requests.expands import Expand
    from gateway_async.sandbox.tables.fields import Row

BODY_LIMIT = 10 * 1024 * 1024
"""Bytes of the largest JSON body that is read."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of one user.

    Attributes:
        user: The caller, whose `location_id` bounds what there is.
        expands: The relations that the answer's records shall carry.
    """

    gateway: Gateway
    user: Row
    query: Mapping[str, str]
    expands: Mapping[str, Expand]
    request: Request

    def path_id(self, name: str = "id") -> str:
        """An id in the path, percent-decoded.

        Raises:
            RefusedError: 404, it is not UTF-8 and so nobody's id.
        """
        try:
            return unquote(self.request.path_params[name], errors="strict")
        except UnicodeDecodeError:
            raise RefusedError(404, "The record cannot be found.") from None

    async def record(self, wrapper: str) -> Row:
        """The object under the wrapper key of the body.

        Raises:
            RefusedError: 400, 413; the body holds no such object.
        """
        body = await read_json(self.request)
        if not isinstance(body, dict) or not isinstance(body.get(wrapper), dict):
            raise RefusedError(400, f'The body must be an object with the record under "{wrapper}".')
        if unknown := sorted(body.keys() - {wrapper}):
            raise RefusedError(400, f'The body holds more than "{wrapper}": {", ".join(unknown)[:100]}.')
        record: Row = body[wrapper]
        return record


def read_query(request: Request) -> dict[str, str]:
    """The query parameters.

    Raises:
        RefusedError: 400, they are not UTF-8.
        InvalidError: One of them is given twice.
    """
    try:
        pairs = parse_qsl(request.scope["query_string"].decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise RefusedError(400, "The query string is not UTF-8.") from None
    query = dict(pairs)
    if len(query) < len(pairs):
        raise InvalidError({name: [f"{name} is given twice."] for name in _twice(pairs)})
    return query


async def read_json(request: Request) -> Any:
    """The JSON body; numbers with a point are Decimals.

    Raises:
        RefusedError: 400, 413.
    """
    try:
        text = (await read_body(request)).decode()
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_read_object)
        if "\\u" in text:
            _refuse_lone_surrogates(value)
    except UnicodeError:
        raise RefusedError(400, "The body holds text that is not Unicode.") from None
    except RecursionError:
        raise RefusedError(400, "The body is nested too deeply.") from None
    except ValueError as problem:
        raise RefusedError(400, f"The body is not JSON: {_reason(problem)}.") from None
    return value


async def read_body(request: Request) -> bytes:
    """The body.

    Raises:
        RefusedError: 413, it is larger than `BODY_LIMIT`.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise RefusedError(413, f"The body is larger than {BODY_LIMIT} bytes.")
    return bytes(body)


def _read_object(pairs: list[tuple[str, Any]]) -> Row:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"{_twice(pairs)[0][:100]!r} occurs twice in one object")
    return record


def _twice(pairs: Sequence[tuple[str, Any]]) -> list[str]:
    return [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_lone_surrogates(value: Any) -> None:
    json.dumps(value, ensure_ascii=False, default=str).encode()


def _reason(problem: ValueError) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"{problem.msg} at character {problem.pos}"
    return str(problem)
