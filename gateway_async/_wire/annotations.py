"""The annotations of a model's fields: their types and constraints."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from gateway_async.models.request import Request, Unset

V = TypeVar("V")


def once_per_class(function: Callable[[type[Any]], V]) -> Callable[[type[Any]], V]:
    """Cache a function of a class, like `functools.cache`.

    Type checkers do not know that classes are hashable, so they reject `functools.cache` here.
    """
    return cast("Callable[[type[Any]], V]", cache(function))


@once_per_class
def fields_of(kind: type[Any]) -> Mapping[str, Any]:
    """Return field name → annotation of a model, including constraints."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in attrs.fields(kind) if field.name != "extra"}


def values_of(request: Request) -> dict[str, Any]:
    """Return field name → value of a request, without `extra`."""
    names, get = _getter(type(request))
    return dict(zip(names, get(request), strict=True))


@once_per_class
def _getter(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(fields_of(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda request: tuple(getattr(request, name) for name in names)  # one name gives no tuple


def plain_type(annotation: Any) -> Any:
    """Return the type without `| None`, `| Unset` and constraints."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = tuple(plain_type(kind) for kind in get_args(annotation) if kind not in (NoneType, Unset))
        return kinds[0] if len(kinds) == 1 else Union[kinds]  # noqa: UP007  made from a tuple
    return annotation


def constraints_of(annotation: Any) -> Iterator[Any]:
    """Yield the constraints of a field, from all alternatives of its type."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from constraints_of(part)
