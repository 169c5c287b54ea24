"""The objects that an error tracker, a serializer or a debugger can reach from an error."""

import asyncio
import gc
import re
import socket
import types
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from gateway_async import AsyncGateway

CARD_PART = 8
"""The number of consecutive digits of a card number that counts as a leak."""

_LONGEST_WAY = 30

_LIVE = (
    asyncio.AbstractEventLoop,
    asyncio.Future,
    asyncio.BaseTransport,
    asyncio.BaseProtocol,
    socket.socket,
    types.CoroutineType,
    types.GeneratorType,
    types.AsyncGeneratorType,
)
"""The event loop and its tasks: they refer to everything, and no error tracker follows them."""

_CODE = (types.ModuleType, type, types.CodeType, types.FrameType, types.BuiltinFunctionType)
"""Code and running frames, which are skipped; the frames of a traceback are not."""


def leaks(error: object, planted: Iterable[str], own_files: Iterable[str]) -> set[str]:
    """Return the planted values that `error` leads to.

    Followed are causes, contexts, notes, groups, the local variables of every frame of every traceback, and
    whatever any of these refers to, the client too. Searched are all texts, and the reprs of the package's objects.

    Args:
        error: where it begins: an error, or several.
        planted: the values to find: whole, as hex or base64, and `CARD_PART` digits of a card number.
        own_files: whose frames and functions are the caller's, who may hold what they like.
    """
    forms = {form: value for value in planted for form in _forms(value)}
    pattern = re.compile("|".join(map(_as_pattern, sorted(forms, key=len, reverse=True))))
    return {
        f"{forms[match]} in {way}"
        for way, value in reachable(error, own_files)
        for text in _texts(value)
        for match in pattern.findall(text)
    }


def shown_in(text: str, planted: Iterable[str]) -> list[str]:
    """Return the planted values that `text` shows; a short one inside a longer number or word, as a port, is chance."""
    return [value for value in planted if re.search(_as_pattern(value), text)]


def _as_pattern(form: str) -> str:
    return rf"(?<![\w.]){re.escape(form)}(?!\w)" if len(form) < CARD_PART else re.escape(form)


def _forms(value: str) -> Iterator[str]:
    yield value
    yield value.encode().hex()
    yield b64encode(value.encode()).decode().rstrip("=")
    if value.isdecimal() and len(value) > CARD_PART + 4:
        yield from (value[start : start + CARD_PART] for start in range(len(value) - CARD_PART + 1))


def reachable(error: object, own_files: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every object that `error` leads to, and the way there."""
    seen: dict[int, Any] = {}
    pending: list[tuple[str, Any]] = [("error", error)]
    while pending:
        way, value = pending.pop()
        if id(value) in seen or isinstance(value, (*_LIVE, *_CODE)):
            continue
        seen[id(value)] = value  # kept alive, so that no other object gets its id
        yield way, value
        match value:
            case str() | int() | bytes() | bytearray() | memoryview():
                continue
            case types.TracebackType():
                pending += [(f"{way} > {name}", each) for name, each in _of_frame(value, frozenset(own_files))]
            case types.FunctionType(__code__=code) if code.co_filename in own_files:
                continue
            case types.FunctionType():
                pending += [(f"{way} > {value.__qualname__}", each) for each in _of_function(value)]
            case _:
                inner = f"{way} > {type(value).__name__}" if way.count(">") < _LONGEST_WAY else way
                pending += [(inner, each) for each in _of_object(value)]


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value."""
    match value:
        case str() | int():
            yield str(value)
        case bytes() | bytearray() | memoryview():
            yield bytes(value).decode("latin-1")
        case _ if _is_of_package(value) or isinstance(value, BaseException):
            yield from (repr(value), str(value))


def _is_of_package(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "gateway_async"


def _of_frame(trace: types.TracebackType, own_files: frozenset[str]) -> Iterator[tuple[str, Any]]:
    code = trace.tb_frame.f_code
    if code.co_filename not in own_files:
        yield from ((f"{code.co_qualname}.{name}", value) for name, value in trace.tb_frame.f_locals.items())
    yield "traceback", trace.tb_next


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    yield from (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _is_filled(cell: types.CellType) -> bool:
    with suppress(ValueError):
        return cell.cell_contents is not None
    return False


def _of_object(value: Any) -> Iterator[Any]:
    if isinstance(value, BaseException):
        yield from (value.__cause__, value.__context__, value.__traceback__, value.args, vars(value))
    yield from gc.get_referents(value)
    for name in (name for kind in type(value).__mro__ for name in _slots(kind)):
        with suppress(AttributeError):
            yield getattr(value, name)
    if _is_of_package(value):
        with suppress(Exception):  # some do not pickle
            yield value.__reduce_ex__(2)
        with suppress(Exception):
            yield value.__getstate__()


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def token_of(gateway: AsyncGateway) -> str | None:
    """Return the token that a `PasswordLogin` has fetched, if any."""
    token = getattr(
        gateway._executor._http._authenticator._tokens, "_token", None
    )  # the planted value, not an assertion
    return token.token.reveal() if token else None
