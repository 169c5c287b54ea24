"""`ResourceSpec`: the description of a gateway resource, with pure methods that build calls.

`ACCOUNT_VAULT.create(new, scope)` returns a `Call[AccountVault]` and sends nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar

import attrs

from gateway_async._secrets import AccountNumber, Secret, mask_text
from gateway_async._wire.call import Call, Kind, LedgerEntry, LookupResult, LookupStatus
from gateway_async._wire.convert.read import FieldError, read_nothing
from gateway_async._wire.convert.records import structure
from gateway_async._wire.convert.write import encode, fields_of, unstructure
from gateway_async._wire.evidence import EXISTS, FIELDS_MATCH, Evidence, evidence_of, identifies_create, shows
from gateway_async._wire.multipart import attachment_problems, form_of, name_problems
from gateway_async._wire.outcome_query import LISTED, RECORD, OutcomeQuery
from gateway_async._wire.pagination import RawPage, decode_page, find_row, read_raw_page
from gateway_async._wire.query import Params, expansion, filters, segment_and_params
from gateway_async._wire.response_matching import AMOUNTS, check_belongs, check_changed, differences
from gateway_async._wire.validation import problems
from gateway_async.errors import InvalidRequestError, MismatchedReplyError
from gateway_async.models.files import Attachment
from gateway_async.models.identifiers import ApiId
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Request

__all__ = ["Ref", "ResourceSpec", "Scope"]

R = TypeVar("R", bound=Record)
P = TypeVar("P", bound=Record)
Ref = str | ApiId

_LISTED_ROWS: Final = 100
"""Rows that a lookup in a list reads. Filters match parts of a text, so several rows may match."""


@attrs.frozen
class Scope:
    """Settings that a client applies to every request.

    Attributes:
        location_id: the default `location_id` of creates and of `ApiId`.
        check_limits: whether to check lengths, required fields and rules before sending.
        new_id: generates an integrator id, so that a write can be looked up.
        base_url: the gateway's address, without `/v2`, for the links that customers open.
    """

    location_id: str | None
    check_limits: bool
    new_id: Callable[[], str]
    base_url: str = ""


@attrs.frozen(kw_only=True)
class ResourceSpec(Generic[R]):
    """A resource of the gateway.

    Attributes:
        name: the JSON key of a single record.
        plural: the JSON key of a list, and the resource's path.
        record: the model class of a record.
        creates: the classes that `create` takes.
        updates: the classes that `update` takes.
        api_id: the field that holds the integrator id, if the resource has one.
        response_keys: the JSON keys of a record in a response, where they differ from `name`.
        stored_as: the spec by which a created record is found, where it is another one.
        resource: the name of the resource on the client.
        moves_money: whether a create or an action moves money or stores an account, so that a ledger stores it.
    """

    name: str
    plural: str
    record: type[R]
    creates: tuple[type[Request], ...] = ()
    updates: tuple[type[Request], ...] = ()
    api_id: str | None = None
    response_keys: tuple[str, ...] = attrs.field(default=attrs.Factory(lambda self: (self.name,), takes_self=True))
    stored_as: "ResourceSpec[R] | None" = None
    resource: str = attrs.field(default=attrs.Factory(lambda self: self.plural, takes_self=True))
    moves_money: bool = False

    @property
    def path(self) -> str:
        """Return the resource's path."""
        return f"/v2/{self.plural}"

    def create(
        self,
        new: Request,
        scope: Scope,
        *,
        kind: Kind = Kind.NAMED,
        evidence: Evidence = EXISTS,
        files: Sequence[Attachment] = (),
    ) -> Call[R]:
        """Build the call that creates a record.

        `evidence` decides whether a record found under the integrator id was created by this call. With `files` the
        body is a multipart form, otherwise JSON.

        Raises:
            InvalidRequestError: `new` or the files are invalid; `.problems` lists every problem.
        """
        given = _check_type(new, self.creates)
        new = self._with_defaults(given, scope)
        wrong = attachment_problems(files, limits=scope.check_limits)
        _check(new, scope, *wrong, *(name_problems(new) if files else ()))
        content = _content(new)
        expected = _expected(new, content, self.api_id)
        name, location_id = content.get(self.api_id or ""), content.get("location_id")
        made_up = bool(name) and getattr(given, self.api_id or "", None) is None
        stored_as = self.stored_as or self
        purpose = expected | _purpose(content)
        outcome_query = (
            stored_as.outcome_query(ApiId(name, location_id), scope, purpose, evidence, content) if name else None
        )
        outcome_query = attrs.evolve(outcome_query, made_up_id=made_up) if outcome_query else None
        return Call(
            method="POST",
            path=self.path,
            kind=kind if name or kind is Kind.TERMINAL else Kind.UNNAMED,
            body=None if files else encode({self.name: content}),
            form=form_of(self.name, content, files) if files else None,
            fields=self._fields() | content.keys(),
            read=self._reader(expected),
            sent=_mask_content(new),
            secrets=(*_secrets_of(new).values(),),
            api_id=name,
            api_id_field=self.api_id or "",
            made_up_id=made_up,
            existing=partial(stored_as.existing, outcome_query, scope) if outcome_query else None,
            terminal_id=content.get("terminal_id"),
            lookup=stored_as.lookup(outcome_query) if outcome_query else None,
            ledger_entry=self._entry(location_id, outcome_query),
        )

    def get(self, ref: Ref, scope: Scope, expand: Sequence[str] = ()) -> Call[R]:
        """Build the call that reads a record.

        Raises:
            InvalidRequestError: the id or the expansion cannot be sent.
        """
        path, params = self.path_and_params(ref, scope)
        return Call(
            method="GET",
            path=path,
            params=params + expansion(expand),
            read=self._reader(self._identity(ref, scope)),
        )

    def existing(self, outcome_query: OutcomeQuery, scope: Scope) -> Call[R]:
        """Build the read of the record with the integrator id.

        The record's other values are not checked.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        if outcome_query.kind != LISTED:
            return self.get(outcome_query.ref, scope)

        def read(row: Mapping[str, Any] | None) -> R:
            if row is None:
                raise FieldError(f".{self.plural}", "no record has the integrator id")
            return self._record(row)

        return self._list_read({self.api_id or "id": outcome_query.id}, read)

    def update(
        self,
        ref: Ref,
        changes: Request,
        scope: Scope,
        *,
        evidence: Evidence | None = FIELDS_MATCH,
        moves_money: bool = False,
    ) -> Call[R]:
        """Build the call that changes a record.

        `evidence` shows that the change was made. Without it, the outcome cannot be looked up.

        Raises:
            InvalidRequestError: the id or `changes` cannot be sent; `.problems` lists every problem.
        """
        path, params = self.path_and_params(ref, scope)
        _check(_check_type(changes, self.updates), scope)
        content = _content(changes)
        changed = self._ref_after_change(ref, content)
        identity = self._identity(changed, scope)
        outcome_query = self.outcome_query(changed, scope, identity, evidence, content) if evidence else None
        return Call(
            method="PUT",
            path=path,
            params=params,
            kind=Kind.IDEMPOTENT if evidence else Kind.UNNAMED,
            body=encode({self.name: content}),
            fields=self._fields() | content.keys(),
            read=self._reader(identity),
            sent=_mask_content(changes),
            secrets=(*_secrets_of(changes).values(),),
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(outcome_query) if outcome_query else None,
            ledger_entry=self._entry(identity.get("location_id"), outcome_query) if moves_money else None,
        )

    def update_with_action(self, ref: Ref, changes: Request, scope: Scope) -> Call[R]:
        """Build the call that performs the request's `action`.

        If the record does not show whether the action was executed, the outcome cannot be looked up.

        Raises:
            InvalidRequestError: the id or `changes` cannot be sent; `.problems` lists every problem.
        """
        action = str(getattr(changes, "action", ""))
        call = self.update(ref, changes, scope, evidence=evidence_of(action), moves_money=action != "edit")
        sent = _content(changes)

        def read(content: Any) -> R:
            check_changed(action, sent, self.unwrap(content))
            return call.read(content)

        return attrs.evolve(call, read=read)

    def action(
        self,
        ref: Ref,
        verb: str,
        scope: Scope,
        *,
        method: str = "POST",
        content: Mapping[str, Any] | None = None,
        evidence: Evidence | None = None,
    ) -> Call[R]:
        """Build the call of an action in the path (`reopen`, `settle`).

        `content` is the body, if the action takes one. `evidence` shows that the action was executed. Without it, the
        outcome cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.path_and_params(ref, scope)
        identity = self._identity(ref, scope)
        sent = content or {}
        outcome_query = self.outcome_query(ref, scope, identity, evidence, sent) if evidence else None
        return Call(
            method=method,
            path=f"{path}/{verb}",
            params=params,
            kind=Kind.IDEMPOTENT if evidence else Kind.UNNAMED,
            body=encode({self.name: content}) if content else None,
            read=self._reader(identity),
            sent={name: mask_text(str(value)) for name, value in sent.items()},
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(outcome_query) if outcome_query else None,
            ledger_entry=self._entry(identity.get("location_id"), outcome_query),
        )

    def notify(self, ref: Ref, verb: str, scope: Scope, params: Params = ()) -> Call[None]:
        """Build the call that sends a notification about a record (`resend`).

        The record does not show it, so the outcome cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, its_id = self.path_and_params(ref, scope)
        return Call(method="POST", path=f"{path}/{verb}", params=its_id + params, kind=Kind.UNNAMED, read=read_nothing)

    def delete(self, ref: Ref, scope: Scope) -> Call[None]:
        """Build the call that deletes a record.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.path_and_params(ref, scope)
        lookup: Call[Any] = Call(
            method="GET",
            path=path,
            params=params,
            read=lambda _: LookupResult(LookupStatus.NOT_EXECUTED),
            not_found_result=LookupResult(LookupStatus.GONE),
            confirmation=partial(self.absence, ref, scope),
        )
        return Call(
            method="DELETE", path=path, params=params, kind=Kind.IDEMPOTENT, read=read_nothing, lookup=lookup,
            api_id=ref.value if isinstance(ref, ApiId) else None,
        )  # fmt: skip

    def absence(self, ref: Ref, scope: Scope) -> Call[LookupResult[bool]]:
        """Build the list read that confirms that a record does not exist."""
        return self._list_read(self._identity(ref, scope), _is_gone)

    def sub_resource(self, ref: Ref, part: "ResourceSpec[P]", scope: Scope) -> "Call[P]":
        """Build the call that reads a sub-resource, such as BIN info.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.path_and_params(ref, scope)
        return Call(method="GET", path=f"{path}/{part.name}", params=params, read=part._reader({}))  # noqa: SLF001

    def page(self, number: int, params: Params) -> Call[RawPage[R]]:
        """Build the call that reads page `number` (1-based) of a list."""
        return Call(
            method="GET",
            path=self.path,
            params=(*params, ("page", str(number))),
            decode=partial(decode_page, plural=self.plural),
            read=lambda content: read_raw_page(content, self.plural, number, self.record),
        )

    def _with_defaults(self, new: Request, scope: Scope) -> Request:
        """Return `new` with its omitted location and integrator id filled in.

        The location is the client's, and the id is generated.
        """
        names = fields_of(type(new))
        filled: dict[str, Any] = {}
        if "location_id" in names and getattr(new, "location_id", None) is None:
            filled["location_id"] = scope.location_id
        if self.api_id and self.api_id in names and getattr(new, self.api_id, None) is None:
            filled[self.api_id] = scope.new_id()
        return attrs.evolve(new, **filled)

    def path_and_params(self, ref: Ref, scope: Scope) -> tuple[str, Params]:
        """Return a record's path and the parameters of its id.

        The parameters tell what kind of id the path contains.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        return self._path_and_params(ref, scope.location_id)

    def _path_and_params(self, ref: Ref, location_id: str | None) -> tuple[str, Params]:
        if isinstance(ref, ApiId) and self.api_id is None:
            raise InvalidRequestError(f"id: {self.plural} are not found by an ApiId")
        segment, params = segment_and_params(ref, location_id)
        return f"{self.path}/{segment}", params

    def _identity(self, ref: Ref, scope: Scope) -> Mapping[str, Any]:
        if isinstance(ref, ApiId) and self.api_id:
            return {self.api_id: ref.value, "location_id": ref.location_id or scope.location_id}
        return {"id": ref}

    def _ref_after_change(self, ref: Ref, content: Mapping[str, Any]) -> Ref:
        """Return the reference of the record after the change.

        The change may set another integrator id.
        """
        renamed = content.get(self.api_id or "")
        return attrs.evolve(ref, value=renamed) if renamed and isinstance(ref, ApiId) else ref

    def outcome_query(
        self, ref: Ref, scope: Scope, expected: Mapping[str, Any], evidence: Evidence, sent: Mapping[str, Any]
    ) -> OutcomeQuery:
        """Return the query for the outcome of a write of `sent`."""
        api_id = ref if isinstance(ref, ApiId) else None
        location_id = (api_id.location_id or scope.location_id) if api_id else None
        return OutcomeQuery(
            kind=LISTED if api_id and not location_id else RECORD,
            resource=self.resource,
            id=api_id.value if api_id else str(ref),
            location_id=location_id,
            expected=expected,
            evidence=evidence.name,
            sent=evidence.facts(sent),
        )

    def lookup(self, outcome_query: OutcomeQuery) -> Call[LookupResult[R]]:
        """Build the read that finds out whether a write was executed: its record has the evidence.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        if outcome_query.kind == LISTED:
            return self.listing_lookup(outcome_query)
        path, params = self._path_and_params(outcome_query.ref, None)

        return Call(
            method="GET",
            path=path,
            params=params,
            read=lambda content: self._decide_outcome(outcome_query, self.unwrap(content)),
            not_found_result=LookupResult(LookupStatus.NO_RECORD),
            confirmation=partial(self.listing_lookup, outcome_query),
        )

    def _decide_outcome(self, outcome_query: OutcomeQuery, data: Mapping[str, Any]) -> LookupResult[R]:
        """Decide from the raw record whether the write was executed.

        Raises:
            MismatchedReplyError: the record has another id or location.
        """
        identity = {name: outcome_query.expected[name] for name in outcome_query.expected if name in self._identifiers}
        check_belongs(identity, data)
        differing = differences(outcome_query.expected, data)
        if not shows(outcome_query.evidence, outcome_query.sent, data):
            if not (outcome_query.made_up_id or identifies_create(outcome_query.evidence)):
                return LookupResult(LookupStatus.NOT_EXECUTED)
            differing += (f"{', '.join(outcome_query.sent)}: not as sent",)
        if not differing:
            return LookupResult(LookupStatus.EXECUTED, self._record(data))
        if outcome_query.made_up_id and str(data.get(self.api_id or "")) != outcome_query.id:
            raise MismatchedReplyError(differing)  # a record that does not show its id may be another one
        return LookupResult(LookupStatus.DIFFERENT_RECORD, self._record(data), differing)

    @property
    def _identifiers(self) -> frozenset[str]:
        return frozenset({"id", "location_id", self.api_id or "id"})

    def _list_read(self, wanted: Mapping[str, Any], read_row: Callable[[Mapping[str, Any] | None], Any]) -> Call[Any]:
        """Build the list read that finds the row with the `wanted` values.

        `read_row` gets the row, or None if the complete list does not contain it.
        """
        wanted = {name: value for name, value in wanted.items() if value is not None}
        params = (*filters(wanted), ("page", "1"), ("page_size", str(_LISTED_ROWS)))
        return Call(
            method="GET",
            path=self.path,
            params=params,
            read=lambda content: read_row(find_row(content, self.plural, wanted)),
        )

    def listing_lookup(self, outcome_query: OutcomeQuery) -> Call[LookupResult[R]]:
        """Build the list read that finds a write's record.

        Only a complete list without the record shows that the write was not executed. Without a location, the
        integrator id may be in any location that the user sees.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        name = self.api_id if outcome_query.by_api_id and self.api_id else "id"
        wanted = {name: outcome_query.id, "location_id": outcome_query.location_id}

        def read(row: Mapping[str, Any] | None) -> LookupResult[R]:
            return LookupResult(LookupStatus.NOT_EXECUTED) if row is None else self._decide_outcome(outcome_query, row)

        return self._list_read(wanted, read)

    def _entry(self, location_id: str | None, outcome_query: OutcomeQuery | None) -> LedgerEntry | None:
        if not self.moves_money:
            return None
        return LedgerEntry(resource=self.resource, location_id=location_id, outcome_query=outcome_query)

    def _fields(self) -> frozenset[str]:
        """Return every field of the resource's records and requests."""
        return _names((self.record, *self.creates, *self.updates))

    def _reader(self, expected: Mapping[str, Any]) -> Callable[[Any], R]:
        def read(content: Any) -> R:
            data = self.unwrap(content)
            check_belongs(expected, data)
            return self._record(data)

        return read

    def unwrap(self, content: Any) -> Mapping[str, Any]:
        """Return the raw record from the body of a response.

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
            raise FieldError(f".{self.response_keys[0]}{error.path}", error.reason) from None


@cache
def _names(kinds: tuple[type[Any], ...]) -> frozenset[str]:
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _check_type(request: Any, kinds: tuple[type[Request], ...]) -> Request:
    if not isinstance(request, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidRequestError(f"request: must be {names}, not {type(request).__name__}")
    return request


def _check(request: Request, scope: Scope, *more: str) -> None:
    found = [*problems(request, limits=scope.check_limits), *more]
    if found:
        raise InvalidRequestError(found)


def _expected(new: Request, content: Mapping[str, Any], api_id: str | None) -> dict[str, Any]:
    """Return the values that the response to a create must have.

    The parts of the amount are included, because they tell how much lower the record's amount may be.
    """
    names = (api_id, "location_id", *(AMOUNTS if content.get("transaction_amount") is not None else ()))
    expected = {name: content[name] for name in names if name and content.get(name) is not None}
    number = getattr(new, "account_number", None)
    if isinstance(number, AccountNumber) and number.last_four in str(number):  # a short one may not show its digits
        expected["last_four"] = number.last_four
    return expected


def _purpose(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the action that a found record must have.

    A record of another action existed before the call.
    """
    return {"action": content["action"]} if content.get("action") else {}


def _mask_content(request: Request) -> Mapping[str, Any]:
    """Return a request's content with secrets and personal data masked."""
    shown: dict[str, Any] = dict(request.implied)
    for field in attrs.fields(type(request)):
        value = getattr(request, field.name)
        if value not in (None, UNSET) and field.name != "extra":
            shown[field.name] = mask_text(str(value)) if field.repr else "***"
    return shown | dict.fromkeys(request.extra, "***")


def _secrets_of(request: Request) -> dict[str, Secret]:
    """Return a request's secrets and personal data by field name."""
    secrets: dict[str, Secret] = {}
    for field in attrs.fields(type(request)):
        value = getattr(request, field.name)
        if isinstance(value, Secret):
            secrets[field.name] = value
        elif isinstance(value, str) and not field.repr:
            secrets[field.name] = Secret(value)
    return secrets


def _content(request: Request) -> dict[str, Any]:
    """Return the content to send, with secrets masked until it is encoded.

    A traceback shows local variables, so an error raised before encoding must not contain plain secrets.
    """
    return unstructure(request) | _secrets_of(request)


def _is_gone(row: Mapping[str, Any] | None) -> LookupResult[bool]:
    return LookupResult(LookupStatus.EXECUTED, True) if row is None else LookupResult(LookupStatus.NOT_EXECUTED)
