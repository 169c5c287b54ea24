"""`Call[T]`: one request as a value, with a reader for its response and the resolver of its outcome.

Nothing changes a call. It is not frozen all the same: setting frozen attributes one by one takes 5 % of a GET.
"""

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

import attrs

from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.evidence import UnprovenError
from gateway_async._wire.json_text import decode
from gateway_async.errors import StatusError
from gateway_async.models.files import Attachment
from gateway_async.models.record import ApiId

T = TypeVar("T")

RECORD: Final = "record"
LISTED: Final = "listed"
"""The kinds of outcome queries. Ledgers on disk contain these values, so their meaning must never change."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class RepeatEffect(enum.Enum):
    """The possible effects of a repeated call.

    They decide what happens when the response is lost.
    """

    READ = "read"
    """Changes nothing."""
    LOOKUP = "lookup"
    """Reads the outcome of a write. It is repeated after more errors than other reads, and uses no retry budget."""
    NAMED = "named write"
    """Creates a record under an integrator id, so that a lookup tells whether it was created."""
    IDEMPOTENT = "idempotent write"
    """Sets a state that reading the record shows. Setting it twice has the same effect as setting it once."""
    UNNAMED = "unnamed write"
    """Creates or does something without an integrator id, and a repetition would do it again.

    Some of these writes are looked up by comparing lists or dates before and after.
    """
    TERMINAL = "terminal"
    """Waits for a person at a terminal.

    It is looked up by its integrator id, if it has one. It is not sent again if it may have been sent.
    """

    @property
    def is_read(self) -> bool:
        """Whether the call only reads, so that its outcome does not matter."""
        return self in (RepeatEffect.READ, RepeatEffect.LOOKUP)


class LookupStatus(enum.Enum):
    """The possible findings of a lookup about a write."""

    EXECUTED = "executed"
    DIFFERENT_RECORD = "different record"
    """The record with the integrator id differs from what was sent."""
    NOT_EXECUTED = "not executed"
    """The record shows that the write was not executed so far."""
    UNPROVEN = "unproven"
    """The record does not contradict the write, and does not show all that it changed."""
    NO_RECORD = "no record"
    """The record of a write does not exist: a list is without it, or the gateway says so, which a list must confirm."""
    GONE = "gone"
    """The gateway says that the record of a deletion does not exist. A list must confirm it."""


@attrs.define
class LookupResult(Generic[T]):
    """The result of a lookup.

    Attributes:
        status: what the lookup found out.
        record: the write's own result, if it was executed; the found record, if that differs or proves too little.
        differences: one line for each value that differs, or why the record proves too little.
    """

    status: LookupStatus
    record: T | None = None
    differences: tuple[str, ...] = ()

    @property
    def shows_effect(self) -> bool:
        """Whether the gateway shows an effect of the write. A differing record has still to be accepted."""
        return self.status in (LookupStatus.EXECUTED, LookupStatus.DIFFERENT_RECORD)


@attrs.frozen
class FilePart:
    """A file of a multipart body.

    Attributes:
        name: the name of the part, such as `quickinvoice[files][0]`.
        label: the name of the file in problems, such as `files[0]`.
        attachment: the file, which `_http/upload.py` opens.
        start: for an open file, its position when the call was made.
    """

    name: str
    label: str
    attachment: Attachment
    start: int = 0


@attrs.frozen(repr=False)
class Form:
    """A multipart body: text fields and files."""

    fields: tuple[tuple[str, str | Secret], ...]
    files: tuple[FilePart, ...]


def _as_secret(body: bytes | Secret | None) -> Secret | None:
    return Secret(body.decode()) if isinstance(body, bytes) else body


@attrs.define(kw_only=True, eq=False, repr=False)
class HttpRequest:
    """The request of a call.

    Attributes:
        method, path, params: the request line. `path` is percent-encoded; it may hold a token, so it is a secret.
        body: the JSON body. It may hold a card number, so it is a secret.
        form: a multipart body instead of `body`. It never appears in a repr or a log.
        secrets: the secrets in the path, the parameters and the body, which are masked in quoted response texts.
        signed: whether the request carries credentials; a login does not.
    """

    method: str = "GET"
    _path: Secret = attrs.field(alias="path", converter=Secret)
    params: tuple[tuple[str, str | Secret], ...] = ()
    _body: Secret | None = attrs.field(alias="body", default=None, converter=_as_secret)
    form: Form | None = None
    secrets: tuple[Secret, ...] = ()
    signed: bool = True

    @property
    def path(self) -> str:
        return self._path.reveal()

    @property
    def body(self) -> bytes | None:
        """The JSON body in plain text. Use it only for sending."""
        return None if self._body is None else self._body.reveal().encode()

    def without_body(self) -> "HttpRequest":
        """The same request without its body."""
        if self._body is None and self.form is None:
            return self  # only its path has secrets
        return attrs.evolve(self, body=None, form=None, secrets=())

    def __str__(self) -> str:
        """The request line without parameters, fit for errors and logs."""
        return mask_text(f"{self.method} {self.path}", self.secrets)

    def __repr__(self) -> str:
        return f"<HttpRequest {self}>"


@attrs.frozen(kw_only=True)
class OutcomeQuery:
    """Which record to read and which evidence in it shows that the write was executed.

    Attributes:
        kind: `RECORD` reads one record. `LISTED` reads a list filtered by an integrator id of an unknown location.
        resource: the resource of that record, such as `"transactions"`.
        id: the record's id or its integrator id.
        location_id: the location, if `id` is an integrator id and the location is known.
        expected: the values that the record must have to be the right one.
        evidence: the name of the `Evidence` that shows that the write was executed.
        sent: the sent values that the evidence compares.
        generated_id: whether the SDK generated the integrator id, so that the record with this id is this write's.
        is_new: whether nothing can have changed the record since this write. A ledger does not store it.
        user: the digest of the user that sent the write, in a ledger; "" if unknown. Another may not see the record.
    """

    kind: str = RECORD
    resource: str
    id: str
    location_id: str | None = None
    expected: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)
    evidence: str
    sent: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)
    generated_id: bool = False
    is_new: bool = False
    user: str = ""

    @property
    def ref(self) -> str | ApiId:
        return self.id if self.location_id is None else ApiId(self.id, self.location_id)

    @property
    def by_api_id(self) -> bool:
        return self.location_id is not None or self.kind == LISTED

    def as_json(self) -> dict[str, Any]:
        """Convert the query to a JSON object, which `read` parses."""
        return {
            "kind": self.kind,
            "resource": self.resource,
            "id": self.id,
            "location_id": self.location_id,
            "expected": dict(self.expected),
            "evidence": self.evidence,
            "sent": dict(self.sent),
            **({"generated_id": True} if self.generated_id else {}),
            **({"user": self.user} if self.user else {}),
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> "OutcomeQuery":
        """Parse a query that `as_json` returned.

        Raises:
            ValueError: `content` is not an outcome query, or is one of a later version.
        """
        try:
            return cls(**content)
        except TypeError:
            raise ValueError("not an outcome query that this version knows") from None


@attrs.frozen(kw_only=True)
class LedgerEntry:
    """The facts that a ledger stores besides the call's own attributes.

    Attributes:
        resource: the client attribute that made the call, such as `"router_transactions"`.
        location_id: the location in which the call's `api_id` is unique, if known.
        outcome_query: the query that later tells whether the call was executed; None if it cannot be found out.
    """

    resource: str
    location_id: str | None
    outcome_query: OutcomeQuery | None


@attrs.define(kw_only=True, eq=False, repr=False)
class Resolver(Generic[T]):
    """How the outcome of a write is found out.

    Attributes:
        lookup: builds the call that finds the outcome.
        existing: for a create, builds the read of the record that already has the integrator id.
        api_id_field: for a create, the field that holds the integrator id.
        generated_id: for a create, whether the SDK generated the integrator id, so that no other record can have it.
        accepts_existing: for a create, whether an equal record that has the integrator id already is the result.
    """

    lookup: Callable[[], "Lookup[T]"]
    existing: Callable[[], "Call[T]"] | None = None
    api_id_field: str = ""
    generated_id: bool = False
    accepts_existing: bool = False


def _has_common_response(call: "Call[Any]") -> bool:
    """Whether another request's response could be taken for the response to a write."""
    if call.repeat_effect is RepeatEffect.TERMINAL:
        return not call.api_id
    return call.repeat_effect is RepeatEffect.UNNAMED or call.request.method == "DELETE"


@attrs.define(kw_only=True, eq=False, repr=False)
class Call(Generic[T]):
    """One request to the gateway, the reader of its response, and what follows if the response is lost.

    Attributes:
        request: the HTTP request.
        read: function from the decoded body (None if empty) to the result. It raises `FieldError` or
            `MismatchedReplyError`.
        decode: function from the bytes of the body to what `read` takes. It raises `ValueError` if they are not JSON.
        repeat_effect: what repeating the call could change.
        api_id: the integrator id of the record to write.
        fields: the fields that a refusal of the call can name; empty if they are not known.
        sent: the content to write, with secrets masked, for errors and logs.
        resolver: for a write, how its outcome is found out; None if that is not possible.
        ledger_entry: what a ledger stores about the call, if it moves money or stores an account.
        terminal_id: the terminal at which the call waits.
        prerequisite: a read to do first. Its result is the call to send instead, which may have a prerequisite too.
        error_class: the error to raise for a refusal, regardless of its status.
        returns_reply: whether the result is the response itself, instead of what `read` returns.
        fresh_connection: whether the request has a connection of its own, so that its response cannot be a late one to
            another request. Reads that may prove absence need it, and writes with a common response.
        record_type: for a write, the class of the record that it returns; None for other results.
    """

    request: HttpRequest
    read: Callable[[Any], T]
    decode: Callable[[bytes], Any] = decode
    repeat_effect: RepeatEffect = RepeatEffect.READ
    api_id: str | None = None
    fields: frozenset[str] = frozenset()
    sent: Mapping[str, Any] = _NOTHING
    resolver: Resolver[T] | None = None
    ledger_entry: LedgerEntry | None = None
    terminal_id: str | None = None
    prerequisite: "Call[Call[T]] | None" = None
    error_class: type[StatusError] | None = None
    returns_reply: bool = False
    fresh_connection: bool = attrs.field(default=attrs.Factory(_has_common_response, takes_self=True))
    record_type: type[Any] | None = None

    def with_resolver(self, outcome_query: OutcomeQuery, resolver: Resolver[T], read: Callable[[Any], T]) -> "Call[T]":
        """Return the call to send after its prerequisite, which found out how the outcome can be looked up."""
        entry = self.ledger_entry and attrs.evolve(self.ledger_entry, outcome_query=outcome_query)
        return attrs.evolve(self, read=read, resolver=resolver, ledger_entry=entry, prerequisite=None)

    def without_body(self) -> "Call[T]":
        """The same call without its body.

        Errors keep this copy, because they may outlive the call and lookups do not need the body.
        """
        kept = self.request.without_body()
        return self if kept is self.request else attrs.evolve(self, request=kept)

    def __str__(self) -> str:
        return str(self.request)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@attrs.define(kw_only=True, eq=False, repr=False)
class Lookup(Call[LookupResult[T]]):
    """A call that finds the outcome of a write.

    Attributes:
        not_found_result: the result when the record does not exist (404, 409, 410); None to raise a `StatusError`.
        confirmation: builds the list read that must confirm that a record does not exist.
        follow_up: function from the found record to the lookup of the result, if that is another record.
        repeats_write: whether the lookup sends the write again, which could undo a later change.
    """

    repeat_effect: RepeatEffect = RepeatEffect.LOOKUP
    fresh_connection: bool = True
    not_found_result: LookupResult[T] | None = None
    confirmation: Callable[[], "Lookup[T]"] | None = None
    follow_up: Callable[[Any], "Lookup[Any]"] | None = None
    repeats_write: bool = False


def lookup_by_success(call: Call[T], *, missing_is_success: bool = False, repeats_write: bool = False) -> Lookup[T]:
    """A lookup that sends `call`: its success shows that the write was executed.

    The record of a write without a result is True. With `missing_is_success`, a record that does not exist shows that
    the write was executed too.
    """

    def read(content: Any) -> LookupResult[Any]:
        try:
            record = call.read(content)
        except UnprovenError as error:
            return LookupResult(LookupStatus.UNPROVEN, error.record, (str(error),))
        return LookupResult(LookupStatus.EXECUTED, True if record is None else record)

    return Lookup(
        request=call.request,
        read=read,
        fields=call.fields,
        not_found_result=LookupResult(LookupStatus.EXECUTED, cast("Any", True)) if missing_is_success else None,
        repeats_write=repeats_write,
    )
