"""`Call[T]`: one request as a value, with how to read its answer and how to find that answer again."""

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import attrs

from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.form import Form
from gateway_async._wire.inquiry import Inquiry
from gateway_async.errors import StatusError

__all__ = ["NOT_DONE", "Call", "Entry", "Kind", "NotDone"]

T = TypeVar("T")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Kind(enum.Enum):
    """What repeating a call could do, which decides what happens when its answer is lost."""

    READ = "read"
    """Changes nothing."""
    LOOKUP = "lookup"
    """Tells what became of a write: a read, and worth more tries than others."""
    NAMED = "named write"
    """Makes a record under an integrator id, so that a lookup tells whether it was made."""
    IDEMPOTENT = "idempotent write"
    """Sets a state that reading the record shows; setting it twice is setting it once."""
    UNNAMED = "unnamed write"
    """Leaves nothing by which it could be found again."""
    TERMINAL = "terminal"
    """Waits for a person at a terminal: found by its integrator id if it has one, never sent twice."""

    @property
    def is_read(self) -> bool:
        """Whether nobody needs to know what became of such a call."""
        return self in (Kind.READ, Kind.LOOKUP)


class NotDone(enum.Enum):
    """The type of `NOT_DONE`: what a lookup answers when the write was not carried out."""

    NOT_DONE = "not done"


NOT_DONE: Final = NotDone.NOT_DONE


@attrs.frozen(kw_only=True)
class Entry:
    """What a ledger keeps of a call, beyond what the call says of itself.

    Attributes:
        resource: where the call stands on the client, such as `"router_transactions"`.
        location_id: the location in which the call's `api_id` is unique, as far as it is known.
        inquiry: what tells later whether the call was carried out; None when nothing can.
    """

    resource: str
    location_id: str | None
    inquiry: Inquiry | None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Call(Generic[T]):
    """One request to the gateway.

    Attributes:
        method, path, params: the HTTP request line; `path` is percent-encoded and starts with `/v2/`.
        body: the JSON body. It may hold a card number: it is in no repr and no log.
        form: a multipart body in its place; it is in no repr and no log either.
        read: the decoded body (None when there is none) → the result; raises `FieldError` where it does not fit and
            `MismatchedReplyError` where it answers another question.
        kind: what repeating the call could do.
        api_id: the integrator id of what is written.
        fields: what a refusal of it can name, as far as it is known; empty where it is not.
        sent: what is written, with the secrets masked, for errors and logs.
        secrets: what the body holds and no answer's text may repeat.
        terminal_id: the terminal the call waits at.
        lookup: the read that tells what became of it: the write's own result, or `NOT_DONE`.
        first: of a call at a terminal: a read that goes before it, whose result is the call to send in its place.
        writes: of a lookup: whether it is the write once more, which so much later could undo what was set since.
        then: of a lookup: what it found → the read whose result is the answer, where that is another record.
        entry: what a ledger keeps of it, if it moves money or stores an account.
        absent: the result when the gateway says that the record is not there (404, 409); `...` makes it an error.
        signed: whether credentials go with it; a login has none yet.
        refusal: the error that a refusal is, whatever its status says.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    kind: Kind = Kind.READ
    params: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    form: Form | None = None
    fields: frozenset[str] = frozenset()
    sent: Mapping[str, Any] = _NOTHING
    secrets: tuple[Secret, ...] = ()
    api_id: str | None = None
    terminal_id: str | None = None
    lookup: "Call[T | NotDone] | None" = None
    first: "Call[Call[T]] | None" = None
    writes: bool = False
    then: Callable[[Any], "Call[T]"] | None = None
    entry: Entry | None = None
    absent: Any = ...
    signed: bool = True
    refusal: type[StatusError] | None = None

    label: str = attrs.field(
        init=False,
        default=attrs.Factory(lambda self: mask_text(f"{self.method} {self.path}", self.secrets), takes_self=True),
    )
    """The request line without parameters, fit for errors and logs."""

    def as_lookup(self) -> "Call[T]":
        """The same call, tried as often as a lookup of money deserves."""
        return self if self.kind is Kind.LOOKUP else attrs.evolve(self, kind=Kind.LOOKUP)

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"<Call {self.label}>"
