"""What all resources have in common: a noun, and the pure verbs that make calls of it.

`ACCOUNT_VAULT.create(new, scope)` is a `Call[AccountVault]`: nothing has happened yet.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from gateway_async._secrets import AccountNumber, Secret, mask_text
from gateway_async._wire.belonging import check_belongs
from gateway_async._wire.call import NOT_DONE, Call, Kind, NotDone
from gateway_async._wire.convert import FieldError, encode, fields_of, structure, unstructure
from gateway_async._wire.form import attachment_problems, form_of, name_problems
from gateway_async._wire.limits import problems
from gateway_async._wire.paging import read_page
from gateway_async._wire.query import Params, expansion, located
from gateway_async._wire.recovery import Done, done_when, exists, says
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment
from gateway_async.models.identifiers import ApiId
from gateway_async.models.page import Page
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Request

__all__ = ["Noun", "Ref", "Scope"]

R = TypeVar("R", bound=Record)
P = TypeVar("P", bound=Record)
Ref = str | ApiId


@attrs.frozen
class Scope:
    """What a client adds to every request.

    Attributes:
        location_id: fills `location_id` where a create or an `ApiId` leaves it out.
        check_limits: check lengths, required fields and rules before sending.
        new_id: makes up an integrator id, so that a write can be looked up.
        base_url: the gateway's address, without `/v2`, for the links that customers open.
    """

    location_id: str | None
    check_limits: bool
    new_id: Callable[[], str]
    base_url: str = ""


@attrs.frozen(kw_only=True)
class Noun(Generic[R]):
    """A resource of the gateway.

    Attributes:
        name: wraps a single record in JSON.
        plural: wraps a list, and is the path.
        record: the model of an answer.
        creates: the classes that `create` takes.
        updates: the classes that `update` takes.
        api_id: the field that holds the integrator's id, if the resource has one.
        answers: the wrappers an answer may come in, where they differ from `name`.
        filed_as: the noun under which what was created is found, where it is another one.
    """

    name: str
    plural: str
    record: type[R]
    creates: tuple[type[Request], ...] = ()
    updates: tuple[type[Request], ...] = ()
    api_id: str | None = None
    answers: tuple[str, ...] = attrs.field(default=attrs.Factory(lambda self: (self.name,), takes_self=True))
    filed_as: "Noun[R] | None" = None

    @property
    def path(self) -> str:
        """Where the resource lives."""
        return f"/v2/{self.plural}"

    def create(
        self,
        new: Request,
        scope: Scope,
        *,
        kind: Kind = Kind.NAMED,
        done: Done = exists,
        files: Sequence[Attachment] = (),
    ) -> Call[R]:
        """Make a record. `done(sent, raw record)` tells whether the record that bears its integrator id is the one.

        With `files` it goes as a form, else as JSON.

        Raises:
            InvalidRequestError: with every problem of `new` and of the files.
        """
        new = self._completed(_checked_type(new, self.creates), scope)
        wrong = attachment_problems(files, limits=scope.check_limits)
        _check(new, scope, *wrong, *(name_problems(new) if files else ()))
        content = unstructure(new)
        expected = _expected(new, content, self.api_id)
        name, location_id = content.get(self.api_id or ""), content.get("location_id")
        return Call(
            method="POST",
            path=self.path,
            kind=kind if name or kind is Kind.TERMINAL else Kind.UNNAMED,
            body=None if files else encode({self.name: content}),
            form=form_of(self.name, content, files) if files else None,
            read=self._reader(expected),
            sent=_masked(new),
            secrets=_secrets_of(new),
            api_id=name,
            terminal_id=content.get("terminal_id"),
            lookup=(self.filed_as or self).lookup(ApiId(name, location_id), scope, expected, partial(done, content))
            if name and location_id
            else None,
        )

    def get(self, ref: Ref, scope: Scope, expand: Sequence[str] = ()) -> Call[R]:
        """Read a record.

        Raises:
            InvalidRequestError: the id or the expansion cannot be sent.
        """
        path, params = self.place(ref, scope)
        return Call(
            method="GET",
            path=path,
            params=params + expansion(expand),
            read=self._reader(self._identity(ref, scope)),
        )

    def update(
        self,
        ref: Ref,
        changes: Request,
        scope: Scope,
        *,
        kind: Kind = Kind.IDEMPOTENT,
        done: Done = says,
    ) -> Call[R]:
        """Change a record. `done(sent, raw record)` tells whether the change has been made.

        Raises:
            InvalidRequestError: the id cannot be sent, or with every problem of `changes`.
        """
        path, params = self.place(ref, scope)
        _check(_checked_type(changes, self.updates), scope)
        content = unstructure(changes)
        changed = self._changed(ref, content)
        identity = self._identity(changed, scope)
        told = kind is not Kind.UNNAMED
        return Call(
            method="PUT",
            path=path,
            params=params,
            kind=kind,
            body=encode({self.name: content}),
            read=self._reader(identity),
            sent=_masked(changes),
            secrets=_secrets_of(changes),
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(changed, scope, identity, partial(done, content)) if told else None,
        )

    def act(self, ref: Ref, changes: Request, scope: Scope) -> Call[R]:
        """Do what the request's `action` says; where the record would not show it, the call cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent, or with every problem of `changes`.
        """
        action = str(getattr(changes, "action", ""))
        done = done_when(action)
        return self.update(ref, changes, scope, kind=Kind.IDEMPOTENT if done else Kind.UNNAMED, done=done or says)

    def verb(
        self,
        ref: Ref,
        verb: str,
        scope: Scope,
        *,
        method: str = "POST",
        content: Mapping[str, Any] | None = None,
        done: Done | None = None,
    ) -> Call[R]:
        """Do what the last word of a path says (`reopen`, `settle`), with `content` if it takes any.

        `done(sent, raw record)` tells whether it was done; without it, it cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.place(ref, scope)
        identity = self._identity(ref, scope)
        sent = content or {}
        return Call(
            method=method,
            path=f"{path}/{verb}",
            params=params,
            kind=Kind.IDEMPOTENT if done else Kind.UNNAMED,
            body=encode({self.name: content}) if content else None,
            read=self._reader(identity),
            sent={name: mask_text(str(value)) for name, value in sent.items()},
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(ref, scope, identity, partial(done, sent)) if done else None,
        )

    def notify(self, ref: Ref, verb: str, scope: Scope, params: Params = ()) -> Call[None]:
        """Have the gateway tell somebody of a record (`resend`), which leaves no mark on it.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, its_id = self.place(ref, scope)
        return Call(method="POST", path=f"{path}/{verb}", params=its_id + params, kind=Kind.UNNAMED, read=_nothing)

    def delete(self, ref: Ref, scope: Scope) -> Call[None]:
        """Delete a record.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.place(ref, scope)
        lookup: Call[Any] = Call(method="GET", path=path, params=params, read=_still_there, absent=True)
        return Call(
            method="DELETE", path=path, params=params, kind=Kind.IDEMPOTENT, read=_nothing, lookup=lookup,
            api_id=ref.value if isinstance(ref, ApiId) else None,
        )  # fmt: skip

    def part(self, ref: Ref, part: "Noun[P]", scope: Scope) -> "Call[P]":
        """Read what hangs on a record, such as a vault's BIN info.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.place(ref, scope)
        return Call(method="GET", path=f"{path}/{part.name}", params=params, read=part._reader({}))  # noqa: SLF001

    def page(self, number: int, params: Params) -> Call[Page[R]]:
        """Read page `number` (1-based) of a list."""
        return Call(
            method="GET",
            path=self.path,
            params=(*params, ("page", str(number))),
            read=lambda content: read_page(content, self.plural, number, lambda row: structure(self.record, row)),
        )

    def _completed(self, new: Request, scope: Scope) -> Request:
        """`new` with the client's location and a made-up id where the caller left them out."""
        names = fields_of(type(new))
        filled: dict[str, Any] = {}
        if "location_id" in names and getattr(new, "location_id", None) is None:
            filled["location_id"] = scope.location_id
        if self.api_id and self.api_id in names and getattr(new, self.api_id, None) is None:
            filled[self.api_id] = scope.new_id()
        return attrs.evolve(new, **filled)

    def place(self, ref: Ref, scope: Scope) -> tuple[str, Params]:
        """A record's path, and the parameters that say what kind of id it has.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        if isinstance(ref, ApiId) and self.api_id is None:
            raise InvalidRequestError(f"id: {self.plural} are not found by an ApiId")
        segment, params = located(ref, scope.location_id)
        return f"{self.path}/{segment}", params

    def _identity(self, ref: Ref, scope: Scope) -> Mapping[str, Any]:
        if isinstance(ref, ApiId) and self.api_id:
            return {self.api_id: ref.value, "location_id": ref.location_id or scope.location_id}
        return {"id": ref}

    def _changed(self, ref: Ref, content: Mapping[str, Any]) -> Ref:
        """Where the record is found after the change, which may have given it another integrator id."""
        renamed = content.get(self.api_id or "")
        return attrs.evolve(ref, value=renamed) if renamed and isinstance(ref, ApiId) else ref

    def lookup(
        self, ref: Ref, scope: Scope, expected: Mapping[str, Any], done: Callable[[Mapping[str, Any]], bool]
    ) -> "Call[R | NotDone]":
        """The read that tells whether a write was carried out: its record, if `done` says so of it."""
        path, params = self.place(ref, scope)

        def read(content: Any) -> R | NotDone:
            data = self.unwrapped(content)
            check_belongs(expected, data)
            return self._record(data) if done(data) else NOT_DONE

        return Call(method="GET", path=path, params=params, read=read, absent=NOT_DONE)

    def _reader(self, expected: Mapping[str, Any]) -> Callable[[Any], R]:
        def read(content: Any) -> R:
            data = self.unwrapped(content)
            check_belongs(expected, data)
            return self._record(data)

        return read

    def unwrapped(self, content: Any) -> Mapping[str, Any]:
        """The raw record of an answer.

        Raises:
            FieldError: there is none.
        """
        for wrapper in self.answers:
            if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
                data: Mapping[str, Any] = content[wrapper]
                return data
        raise FieldError(f".{self.answers[0]}", "missing, or not an object")

    def _record(self, data: Mapping[str, Any]) -> R:
        try:
            return structure(self.record, data)
        except FieldError as error:
            raise FieldError(f".{self.answers[0]}{error.path}", error.reason) from None


def _checked_type(request: Any, kinds: tuple[type[Request], ...]) -> Request:
    if not isinstance(request, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidRequestError(f"request: must be {names}, not {type(request).__name__}")
    return request


def _check(request: Request, scope: Scope, *more: str) -> None:
    found = [*problems(request, limits=scope.check_limits), *more]
    if found:
        raise InvalidRequestError(found)


def _expected(new: Request, content: Mapping[str, Any], api_id: str | None) -> Mapping[str, Any]:
    """What the answer to a create must say of itself."""
    names = (api_id, "location_id", "transaction_amount")
    expected = {name: content[name] for name in names if name and content.get(name) is not None}
    number = getattr(new, "account_number", None)
    if isinstance(number, AccountNumber) and number.last_four in str(number):  # a short one may not show its digits
        expected["last_four"] = number.last_four
    return expected


def _masked(request: Request) -> Mapping[str, Any]:
    """What a request sends, fit for errors and logs: secrets in stars, personal data left out."""
    shown: dict[str, Any] = dict(request.implied)
    for field in attrs.fields(type(request)):
        value = getattr(request, field.name)
        if value not in (None, UNSET) and field.name != "extra":
            shown[field.name] = mask_text(str(value)) if field.repr else "***"
    return shown | dict.fromkeys(request.extra, "***")


def _secrets_of(request: Request) -> tuple[Secret, ...]:
    """What a request holds that is not to be shown: its secrets and its personal data."""
    secrets: list[Secret] = []
    for field in attrs.fields(type(request)):
        value = getattr(request, field.name)
        if isinstance(value, Secret):
            secrets.append(value)
        elif isinstance(value, str) and not field.repr:
            secrets.append(Secret(value))
    return tuple(secrets)


def _still_there(_: Any) -> NotDone:
    return NOT_DONE


def _nothing(_: Any) -> None:
    return None
