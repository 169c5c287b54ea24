"""Query parameters: filters, time ranges, sort, expand, and reads by integrator id."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import attrs

from gateway_async._secrets import Secret, kind_of, mask_text
from gateway_async._wire.json_text import INVALID_CHARACTER, is_text
from gateway_async.errors import InvalidRequestError
from gateway_async.models.record import ApiId
from gateway_async.models.time_range import TimeRange

Params = tuple[tuple[str, str | Secret], ...]
"""Query parameters; the values of confidential ones are sealed."""

MAX_PAGE_SIZE: Final = 5000
_CREDENTIALS: Final = frozenset({"developer-id", "user-id", "user-api-key", "access-token", "hash-key", "timestamp"})
"""Parameters that the client adds."""
_RANGE_END: Final = re.compile("_(from|to)$")
"""The end of the names that bound a custom time range."""
_RESERVED: Final = frozenset({"page", "page_size", "sort", "expand", "api_id"})


@attrs.frozen
class NamesToCheck:
    """The names that filters and sort of a resource may have.

    Attributes:
        resource: the resource, for messages.
        fields: the names.
    """

    resource: str
    fields: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def closest(self, name: str) -> str:
        """The suggestion of a similar name, if there is one."""
        similar = get_close_matches(name, sorted(self.fields), n=1)
        return f"did you mean {similar[0]}? " if similar else ""


def segment_and_params(ref: str | ApiId, location_id: str | None) -> tuple[str, Params]:
    """The percent-encoded path segment and the parameters of an id.

    An `ApiId` has the parameters `api_id` and `location_id`; a gateway id has none.

    Raises:
        InvalidRequestError: the id is empty or cannot be part of a path, or an `ApiId` has no location.
    """
    if isinstance(ref, ApiId):
        location = ref.location_id or location_id
        if not location:
            raise InvalidRequestError("location_id: an ApiId needs one, of its own or the client's")
        if not is_text(location):
            raise InvalidRequestError("location_id: must be text")
        return segment(ref.value), (("api_id", "1"), ("location_id", location))
    return segment(ref), ()


def segment(value: Any, name: str = "id") -> str:
    """An id as a percent-encoded path segment. Errors call the id `name`.

    Raises:
        InvalidRequestError: the id is empty or cannot be part of a path.
    """
    if not isinstance(value, str):
        wanted = "text or an ApiId" if name == "id" else "text"
        raise InvalidRequestError(f"{name}: must be {wanted}, not {type(value).__name__}")
    if value.split() != [value]:
        raise InvalidRequestError(f"{name}: must not be empty and must contain no spaces")
    if value in (".", ".."):
        raise InvalidRequestError(f"{name}: {value!r} cannot be part of a path")
    if not is_text(value):
        raise InvalidRequestError(f"{name}: {INVALID_CHARACTER}")
    return quote(value, safe="")


def expansion(expand: Sequence[str]) -> Params:
    """The `expand` parameter: `("contact", "location")` → `expand=contact,location`.

    Raises:
        InvalidRequestError: a name is not text, or `expand` is a single string.
    """
    if expand == ():
        return ()
    if (
        isinstance(expand, str)
        or not isinstance(expand, Sequence)
        or not all(is_text(name) and name for name in expand)
    ):
        raise InvalidRequestError('expand: must be a sequence of names, such as ("contact",)')
    return (("expand", ",".join(expand)),) if expand else ()


def list_params(
    criteria: Mapping[str, Any] | None,
    sort: str | None,
    page_size: int | None,
    expand: Sequence[str],
    *,
    extra_filters: Mapping[str, Any] | None = None,
    names: NamesToCheck | None = None,
) -> Params:
    """Build the query parameters of a list, without the paging.

    The filters were sealed before. The size of the page is only checked. `names` are the names that filters and sort
    may have; without them, and in `extra_filters`, any name is sent.

    Raises:
        InvalidRequestError: the filters, the sort, the page size or the expansion cannot be sent; `.problems` lists
            every problem.
    """
    problems = [*_size_problems(page_size), *_name_problems(criteria, sort, extra_filters, names)]
    params: list[tuple[str, str | Secret]] = []
    for part in (
        partial(filters, criteria or {}),
        partial(filters, extra_filters or {}, "extra_filters"),
        partial(_sorting, sort),
        partial(expansion, expand),
    ):
        try:
            params.extend(part())
        except InvalidRequestError as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidRequestError(problems)
    return tuple(params)


def _name_problems(criteria: Any, sort: Any, extra_filters: Any, names: NamesToCheck | None) -> Iterator[str]:
    given = criteria if isinstance(criteria, Mapping) else {}
    extra = extra_filters if isinstance(extra_filters, Mapping) else {}
    yield from (mask_text(f"{name}: is in both filters and extra_filters") for name in given if name in extra)
    if names is None:
        return
    for name in given:
        if isinstance(name, str) and name not in names and _RANGE_END.sub("", name) not in names:
            yield mask_text(f"{name}: is not a field of {names.resource} ({names.closest(name)}extra_filters sends it)")
    field = sort.removeprefix("-") if isinstance(sort, str) else ""
    if field.isidentifier() and field not in names and field not in extra:
        yield mask_text(f"sort: {field} is not a field of {names.resource} ({names.closest(field)}see its model)")


def _sorting(sort: str | None) -> Params:
    if sort is None:
        return ()
    if not isinstance(sort, str) or not sort.removeprefix("-").isidentifier():
        raise InvalidRequestError("sort: must be a field name, with a minus before it for descending order")
    return (("sort", sort),)


def _size_problems(page_size: int | None) -> list[str]:
    whole = isinstance(page_size, int) and not isinstance(page_size, bool)
    if page_size is None or (whole and 1 <= page_size <= MAX_PAGE_SIZE):
        return []
    return [f"page_size: must be a whole number from 1 to {MAX_PAGE_SIZE}"]


def plain_params(params: Iterable[tuple[str, str | Secret]]) -> list[tuple[str, str]]:
    """Parameters or headers in plain text. Use them only for sending and comparing."""
    return [(name, value.reveal() if isinstance(value, Secret) else value) for name, value in params]


def secrets_in_params(params: Params) -> Iterator[Secret]:
    """Yield the secrets in parameters, lists of alternatives also in parts."""
    for _, value in params:
        if isinstance(value, Secret):
            text = value.reveal()
            yield from map(Secret, dict.fromkeys((text, *text.split(","))))


def filters(criteria: Mapping[str, Any], argument: str = "filters") -> Params:
    """Filters by field as parameters (contract, *Endpoints*, common rules).

    Raises:
        InvalidRequestError: a value has a type that cannot be filtered by, or a name is not a field name.
    """
    if not isinstance(criteria, Mapping):
        raise InvalidRequestError(f"{argument}: must be a mapping of field names to values")

    def name_problem(name: Any) -> str | None:
        is_field = isinstance(name, str) and name.isidentifier() and name not in _RESERVED
        return None if is_field else f"{name}: cannot be used as a filter"

    return _params(criteria, name_problem)


def free_params(params: Mapping[str, Any]) -> Params:
    """Any sealed parameters, converted like filters.

    Raises:
        InvalidRequestError: `params` is not a mapping, or a name or a value cannot be sent.
    """
    if not isinstance(params, Mapping):
        raise InvalidRequestError("params: must be a mapping of names to values")

    def name_problem(name: Any) -> str | None:
        is_free = is_text(name) and name and name not in _CREDENTIALS
        return None if is_free else f"params: {name!r} cannot be a parameter"

    return _params(params, name_problem)


def _params(given: Mapping[str, Any], name_problem: Callable[[Any], str | None]) -> Params:
    problems: list[str] = []
    params: list[tuple[str, str | Secret]] = []
    for name, value in given.items():
        try:
            if problem := name_problem(name):
                problems.append(mask_text(problem))
            else:
                params.extend(_filter(name, value))
        except ValueError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise InvalidRequestError(problems)
    return tuple(params)


def _filter(name: str, value: Any) -> Iterator[tuple[str, str | Secret]]:
    if isinstance(value, TimeRange):
        yield name, value.name
        if value.start and value.end:
            yield f"{name}_from", str(int(value.start.timestamp()))
            yield f"{name}_to", str(int(value.end.timestamp()))
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        values = [*value]
        if not values:
            raise ValueError("an empty list matches nothing; leave the filter out instead")
        text = ",".join(write_param(_plain(each)) for each in values)
        yield name, Secret(text) if any(isinstance(each, Secret) for each in values) else text
    else:
        yield name, Secret(write_param(_plain(value))) if isinstance(value, Secret) else write_param(value)


def _plain(value: Any) -> Any:
    return value.plain() if isinstance(value, Secret) and value.has_value else value


def write_param(value: Any) -> str:
    """Write a value as a parameter of a query or a form; raise `ValueError` if that is not possible."""
    match value:
        case int():  # or a flag
            return str(int(value))
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case str():
            if not is_text(value):
                raise ValueError(INVALID_CHARACTER)
            return str.__str__(value)
        case datetime():
            if value.tzinfo is None:
                raise ValueError("must be an aware datetime (tzinfo is missing)")
            return str(int(value.timestamp()))
        case date():
            return value.isoformat()
        case _:
            raise ValueError(f"cannot filter by a {kind_of(value).__name__}")
