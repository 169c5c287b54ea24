"""`RecordReader`: where the records of a resource are found, with pure methods that build reads and lookups.

`RecordReader.evaluate` decides whether a record belongs to a write and shows its effect. It evaluates the response to
the write (`write_reader`) and the record that a lookup finds (`lookup`) alike.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Generic, TypeVar, cast

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import (
    LISTED,
    RECORD,
    Call,
    HttpRequest,
    Lookup,
    LookupResult,
    LookupStatus,
    OutcomeQuery,
    Resolver,
)
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import Evidence, UnprovenError, describe_missing, is_executed
from gateway_async._wire.pagination import LISTED_ROWS, RawPage, decode_page, find_row, read_raw_page
from gateway_async._wire.query import (
    NamesToCheck,
    Params,
    expansion,
    filters,
    secrets_in_params,
    segment,
    segment_and_params,
)
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.response_matching import check_belongs, find_differences
from gateway_async._wire.rows import structure
from gateway_async.errors import InvalidRequestError, MismatchedReplyError
from gateway_async.models.record import ApiId, Record

R = TypeVar("R", bound=Record)
P = TypeVar("P", bound=Record)
Ref = str | ApiId


@attrs.frozen(kw_only=True)
class RecordReader(Generic[R]):
    """The records of a resource, and how to read them.

    A method that takes an id raises `InvalidRequestError` if it cannot be sent.

    Attributes:
        name: the JSON key of a single record.
        plural: the JSON key of a list, and the resource's path.
        record: the model class of a record.
        api_id: the field that holds the integrator id, if the resource has one.
        response_keys: the JSON keys of a record in a response, where they differ from `name`.
        resource: the name of the resource on the client.
    """

    name: str
    plural: str
    record: type[R]
    api_id: str | None = None
    response_keys: tuple[str, ...] = attrs.field(default=attrs.Factory(lambda self: (self.name,), takes_self=True))
    resource: str = attrs.field(default=attrs.Factory(lambda self: self.plural, takes_self=True))

    @property
    def path(self) -> str:
        return f"/v2/{self.plural}"

    @property
    def names_to_check(self) -> NamesToCheck:
        """The names that filters and sort of the resource may have."""
        record: Any = self.record  # mypy does not take a class with a variable as hashable
        return _names_to_check(self.resource, record)

    def get(self, ref: Ref, defaults: RequestDefaults, expand: Sequence[str] = ()) -> Call[R]:
        path, params = self.path_and_params(ref, defaults)
        request = HttpRequest(path=path, params=params + expansion(expand))
        return Call(request=request, read=self._reader(self._identity(ref, defaults)))

    def get_by_word(self, word: str) -> Call[R]:
        """Build the call that reads the record `word`, such as `me`."""
        return Call(request=HttpRequest(path=sealed_path(f"{self.path}/{word}")), read=self._reader({}))

    def existing(self, outcome_query: OutcomeQuery, defaults: RequestDefaults) -> Call[R]:
        """Build the read of the record with the integrator id. The record's other values are not checked."""
        if outcome_query.kind != LISTED:
            return self.get(outcome_query.ref, defaults)

        def read(row: Mapping[str, Any] | None) -> R:
            if row is None:
                raise FieldError(f".{self.plural}", "no record has the integrator id")
            return self._record(row)

        request, find = self._search({self.api_id or "id": outcome_query.id})
        return Call(request=request, read=lambda content: read(find(content)))

    def sub_resource(self, ref: Ref, part: "RecordReader[P]", defaults: RequestDefaults) -> Call[P]:
        path, params = self.path_and_params(ref, defaults)
        request = HttpRequest(path=f"{path}/{part.name}", params=params)
        return Call(request=request, read=part._reader({}))  # noqa: SLF001

    def page(self, number: int, params: Params) -> Call[RawPage[R]]:
        """Build the call that reads page `number` (1-based) of a list."""
        return Call(
            request=HttpRequest(
                path=sealed_path(self.path),
                params=(*params, ("page", str(number))),
                secrets=tuple(secrets_in_params(params)),
            ),
            decode=partial(decode_page, plural=self.plural, singular=self.name),
            read=lambda content: read_raw_page(content, self.plural, number, self.record, params),
        )

    def absence(self, ref: Ref, defaults: RequestDefaults) -> Lookup[Any]:
        """Build the list read that confirms that a record does not exist."""
        request, find = self._search(self._identity(ref, defaults))
        return Lookup(request=request, read=lambda content: _is_gone(find(content)))

    def path_and_params(self, ref: Ref, defaults: RequestDefaults) -> tuple[str, Params]:
        """A record's path and the parameters of its id.

        The parameters tell what kind of id the path contains.
        """
        return self._path_and_params(ref, defaults.location_id)

    def _path_and_params(self, ref: Ref, location_id: str | None) -> tuple[str, Params]:
        if isinstance(ref, ApiId) and self.api_id is None:
            raise InvalidRequestError(f"id: {self.plural} cannot be found by an ApiId")
        last_segment, params = segment_and_params(ref, location_id)
        return f"{self.path}/{last_segment}", params

    def _identity(self, ref: Ref, defaults: RequestDefaults) -> Mapping[str, Any]:
        if isinstance(ref, ApiId) and self.api_id:
            return {self.api_id: ref.value, "location_id": ref.location_id or defaults.location_id}
        return {"id": ref}

    def outcome_query(
        self,
        ref: Ref,
        defaults: RequestDefaults,
        expected: Mapping[str, Any],
        evidence: Evidence,
        sent: Mapping[str, Any],
        *,
        generated_id: bool = False,
        is_new: bool = False,
    ) -> OutcomeQuery:
        """The query for the outcome of a write of `sent`."""
        api_id = ref if isinstance(ref, ApiId) else None
        location_id = (api_id.location_id or defaults.location_id) if api_id else None
        return OutcomeQuery(
            kind=LISTED if api_id and not location_id else RECORD,
            resource=self.resource,
            id=api_id.value if api_id else str(ref),
            location_id=location_id,
            expected=expected,
            evidence=evidence.name,
            sent=evidence.facts(sent),
            generated_id=generated_id,
            is_new=is_new,
        )

    def resolver(self, outcome_query: OutcomeQuery, **facts: Any) -> Resolver[R]:
        """The resolver of a write whose record `outcome_query` finds.

        `facts` are the other attributes of the resolver.
        """
        if outcome_query.kind == RECORD and not outcome_query.generated_id:
            segment(outcome_query.id)
        return Resolver(lookup=partial(self.lookup, outcome_query), **facts)

    def lookup(self, outcome_query: OutcomeQuery) -> Lookup[R]:
        """Build the read that finds out whether a write was executed: its record has the evidence."""
        if outcome_query.kind == LISTED:
            return self.listing_lookup(outcome_query)
        path, params = self._path_and_params(outcome_query.ref, None)
        return Lookup(
            request=HttpRequest(path=path, params=params),
            read=lambda content: self.evaluate(outcome_query, self._with_id(outcome_query, self.unwrap(content))),
            not_found_result=LookupResult(LookupStatus.NO_RECORD),
            confirmation=partial(self.listing_lookup, outcome_query),
        )

    def _with_id(self, outcome_query: OutcomeQuery, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the raw record, if it shows the integrator id that was asked for.

        Raises:
            FieldError: it does not show the id that was asked for, so it may be another record.
        """
        if outcome_query.by_api_id and self.api_id and data.get(self.api_id) in (None, ""):
            raise FieldError(f".{self.response_keys[0]}.{self.api_id}", "missing")
        return data

    def evaluate(self, outcome_query: OutcomeQuery, data: Mapping[str, Any]) -> LookupResult[R]:
        """Decide from the raw record whether the write was executed.

        The record comes from the write's own response, or from a lookup.

        Raises:
            MismatchedReplyError: the record has another id or location.
            FieldError: the record does not show enough.
        """
        expected = outcome_query.expected
        differing = find_differences(expected, data, is_new=outcome_query.is_new)
        if differing:
            check_belongs({name: expected[name] for name in expected if name in self._identifiers}, data)
        unproven: tuple[str, ...] = ()
        try:
            is_shown = is_executed(outcome_query.evidence, outcome_query.sent, data)
        except UnprovenError as error:
            is_shown = True
            unproven = () if outcome_query.generated_id else (str(error),)
        if not is_shown:
            return LookupResult(LookupStatus.NOT_EXECUTED)
        if not differing:
            status = LookupStatus.UNPROVEN if unproven else LookupStatus.EXECUTED
            return LookupResult(status, self._record(data), unproven)
        if outcome_query.generated_id and str(data.get(self.api_id or "")) != outcome_query.id:
            raise MismatchedReplyError(differing)  # a record that does not show its id may be another one
        return LookupResult(LookupStatus.DIFFERENT_RECORD, self._record(data), differing)

    def write_reader(
        self, outcome_query: OutcomeQuery, response: "RecordReader[Any] | None" = None
    ) -> Callable[[Any], R]:
        """Return the reader of a write's own response, which evaluates the record as a lookup does.

        `response` unwraps the response, if its keys differ. The reader raises

        - `MismatchedReplyError` if the record is another one, or shows that the write was not executed,
        - `UnprovenError` if it does not show all that the write changed,
        - `FieldError` if it does not show enough, such as the integrator id of a create.
        """

        def read(content: Any) -> R:
            data = (response or self).unwrap(content)
            found = self.evaluate(outcome_query, data)
            match found.status:
                case LookupStatus.EXECUTED:
                    return cast("R", found.record)
                case LookupStatus.UNPROVEN:
                    raise UnprovenError(f".{self.response_keys[0]}", found.differences[0], found.record)
                case LookupStatus.DIFFERENT_RECORD:
                    raise MismatchedReplyError(found.differences)
                case _:
                    raise MismatchedReplyError((describe_missing(outcome_query.evidence, outcome_query.sent, data),))

        return read

    @property
    def _identifiers(self) -> frozenset[str]:
        return frozenset({"id", "location_id", self.api_id or "id"})

    def _search(self, wanted: Mapping[str, Any]) -> tuple[HttpRequest, Callable[[Any], Mapping[str, Any] | None]]:
        """Build the list read that finds the row with the `wanted` values.

        The function returns the row in a response, or None if the complete list does not contain it.
        """
        wanted = {name: value for name, value in wanted.items() if value is not None}
        params = (*filters(wanted), ("page", "1"), ("page_size", str(LISTED_ROWS)))
        request = HttpRequest(path=sealed_path(self.path), params=params)
        return request, lambda content: find_row(content, self.plural, wanted, params)

    def listing_lookup(self, outcome_query: OutcomeQuery) -> Lookup[R]:
        """Build the list read that finds a write's record.

        Only a complete list without the record shows that the write was not executed. Without a location, the
        integrator id may be in any location that the user sees.
        """
        name = self.api_id if outcome_query.by_api_id and self.api_id else "id"
        wanted = {name: outcome_query.id, "location_id": outcome_query.location_id}

        def read(row: Mapping[str, Any] | None) -> LookupResult[R]:
            return LookupResult(LookupStatus.NO_RECORD) if row is None else self.evaluate(outcome_query, row)

        request, find = self._search(wanted)
        return Lookup(request=request, read=lambda content: read(find(content)))

    def _reader(self, expected: Mapping[str, Any]) -> Callable[[Any], R]:
        def read(content: Any) -> R:
            data = self.unwrap(content)
            check_belongs(expected, data)
            return self._record(data)

        return read

    def unwrap(self, content: Any) -> Mapping[str, Any]:
        """Extract the raw record from the body of a response.

        Raises:
            FieldError: the body does not contain a record.
        """
        for wrapper in self.response_keys:
            if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
                data: Mapping[str, Any] = content[wrapper]
                return data
        raise FieldError(f".{self.response_keys[0]}", "missing, or not an object")

    def _record(self, data: Mapping[str, Any]) -> R:
        try:
            return structure(self.record, data)
        except FieldError as error:
            raise error.under(f".{self.response_keys[0]}") from None


def read_undocumented(record: type[R], wrappers: Sequence[str], content: Any) -> R | None:
    """Read a record with or without a wrapper key.

    It is for responses that the contract does not show. Returns None if the response is not a JSON object.

    Raises:
        FieldError: a value does not fit its field.
    """
    if not isinstance(content, dict):
        return None
    wrapped = (content[wrapper] for wrapper in wrappers if isinstance(content.get(wrapper), dict))
    return structure(record, next(wrapped, content))


@cache
def sealed_path(path: str) -> Secret:
    """Seal a list's path once, because all calls share it."""
    return Secret(path)


@cache
def _names_to_check(resource: str, record: type[Any]) -> NamesToCheck:
    return NamesToCheck(resource, frozenset(field.name for field in attrs.fields(record)) - {"extra"})


def _is_gone(row: Mapping[str, Any] | None) -> LookupResult[bool]:
    return LookupResult(LookupStatus.EXECUTED, True) if row is None else LookupResult(LookupStatus.NOT_EXECUTED)
