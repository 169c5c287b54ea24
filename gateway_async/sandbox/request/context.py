"""A request as the handlers see it: user, target and body.

Every request gets a record or a 4xx. A body is refused with a message if it is too large, is not UTF-8, is not JSON,
is nested too deeply or repeats a key.
"""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, unquote

import attrs
from starlette.requests import Request

from gateway_async.sandbox.http.responses import RefusedError, RefusedFieldsError
from gateway_async.sandbox.request.expands import Expand
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row

BODY_LIMIT = 10 * 1024 * 1024
"""The size limit of a JSON body, in bytes."""


@attrs.frozen
class RequestContext:
    """One request of one user.

    Attributes:
        user: The caller; its `location_id` limits which records are visible.
        expands: The relations to include in the records of the response.
    """

    gateway: Gateway
    user: Row
    query: Mapping[str, str]
    expands: Mapping[str, Expand]
    request: Request

    def path_id(self, name: str = "id") -> str:
        """An id from the path, percent-decoded.

        Raises:
            RefusedError: 404, the id is not UTF-8, so no record can have it.
        """
        try:
            return unquote(self.request.path_params[name], errors="strict")
        except UnicodeDecodeError:
            raise RefusedError(404, "The record cannot be found.") from None

    async def read_record(self, wrapper: str) -> Row:
        """Read the object under the wrapper key of the body.

        Raises:
            RefusedError: 400 or 413; the body has no such object or is too large.
        """
        body = await read_json(self.request)
        if not isinstance(body, dict) or not isinstance(body.get(wrapper), dict):
            raise RefusedError(400, f'The body must be an object with the record under "{wrapper}".')
        if unknown := sorted(body.keys() - {wrapper}):
            raise RefusedError(400, f'The body holds more than "{wrapper}": {", ".join(unknown)[:100]}.')
        record: Row = body[wrapper]
        return record


def read_query(request: Request) -> dict[str, str]:
    """Read the query parameters.

    Raises:
        RefusedError: 400, the query is not UTF-8.
        RefusedFieldsError: A parameter is given twice.
    """
    try:
        pairs = parse_qsl(request.scope["query_string"].decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise RefusedError(400, "The query string is not UTF-8.") from None
    query = dict(pairs)
    if len(query) < len(pairs):
        raise RefusedFieldsError({name: [f"{name} is given twice."] for name in _find_duplicates(pairs)})
    return query


async def read_json(request: Request) -> Any:
    """Read the JSON body; numbers with a decimal point become Decimals.

    Raises:
        RefusedError: 400, the body is not valid JSON; 413, it is too large.
    """
    try:
        text = (await read_body(request)).decode()
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_read_object)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False, default=str).encode()  # a lone surrogate cannot be encoded
    except UnicodeError:
        raise RefusedError(400, "The body holds text that is not Unicode.") from None
    except RecursionError:
        raise RefusedError(400, "The body is nested too deeply.") from None
    except ValueError as problem:
        raise RefusedError(400, f"The body is not JSON: {_describe_error(problem)}.") from None
    return value


async def read_body(request: Request) -> bytes:
    """Read the body.

    Raises:
        RefusedError: 413, the body is larger than `BODY_LIMIT`.
    """
    return b"".join([chunk async for chunk in read_chunks(request, "body", BODY_LIMIT)])


async def read_chunks(request: Request, name: str, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the parts of a body or form as they arrive.

    Raises:
        RefusedError: 413, it is larger than the limit.
    """
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > limit:
            raise RefusedError(413, f"The {name} is larger than {limit} bytes.")
        yield chunk


def _read_object(pairs: list[tuple[str, Any]]) -> Row:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"{_find_duplicates(pairs)[0][:100]!r} occurs twice in one object")
    return record


def _find_duplicates(pairs: Sequence[tuple[str, Any]]) -> list[str]:
    return [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _describe_error(problem: ValueError) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"{problem.msg} at character {problem.pos}"
    return str(problem)
