"""What all resources have in common: a noun, and the pure verbs that make calls of it.

`ACCOUNT_VAULT.create(new, scope)` is a `Call[AccountVault]`: nothing has happened yet.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

import attrs

from gateway_async._secrets import AccountNumber, Secret, mask_text
from gateway_async._wire.belonging import check_belongs, check_changed
from gateway_async._wire.call import NOT_DONE, Call, Entry, Kind, NotDone
from gateway_async._wire.convert import FieldError, encode, fields_of, structure, unstructure
from gateway_async._wire.form import attachment_problems, form_of, name_problems
from gateway_async._wire.inquiry import Inquiry
from gateway_async._wire.limits import problems
from gateway_async._wire.paging import read_page
from gateway_async._wire.query import Params, expansion, located
from gateway_async._wire.recovery import EXISTS, SAYS, Mark, mark_of, shows
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
        resource: where the noun stands on the client.
        moves_money: whether making or acting on one moves money or stores an account, so that a ledger keeps it.
    """

    name: str
    plural: str
    record: type[R]
    creates: tuple[type[Request], ...] = ()
    updates: tuple[type[Request], ...] = ()
    api_id: str | None = None
    answers: tuple[str, ...] = attrs.field(default=attrs.Factory(lambda self: (self.name,), takes_self=True))
    filed_as: "Noun[R] | None" = None
    resource: str = attrs.field(default=attrs.Factory(lambda self: self.plural, takes_self=True))
    moves_money: bool = False

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
        mark: Mark = EXISTS,
        files: Sequence[Attachment] = (),
    ) -> Call[R]:
        """Make a record. By its `mark` the record that bears its integrator id is known to be the one.

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
        filed_as = self.filed_as or self
        found = ApiId(name, location_id) if name and location_id else None
        inquiry = filed_as.inquiry(found, scope, expected | _purpose(content), mark, content) if found else None
        return Call(
            method="POST",
            path=self.path,
            kind=kind if name or kind is Kind.TERMINAL else Kind.UNNAMED,
            body=None if files else encode({self.name: content}),
            form=form_of(self.name, content, files) if files else None,
            fields=self._fields(),
            read=self._reader(expected),
            sent=_masked(new),
            secrets=_secrets_of(new),
            api_id=name,
            terminal_id=content.get("terminal_id"),
            lookup=filed_as.lookup(inquiry) if inquiry else None,
            entry=self._entry(location_id, inquiry),
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
        mark: Mark | None = SAYS,
        moves_money: bool = False,
    ) -> Call[R]:
        """Change a record. Its `mark` shows that the change has been made; without one, it cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent, or with every problem of `changes`.
        """
        path, params = self.place(ref, scope)
        _check(_checked_type(changes, self.updates), scope)
        content = unstructure(changes)
        changed = self._changed(ref, content)
        identity = self._identity(changed, scope)
        inquiry = self.inquiry(changed, scope, identity, mark, content) if mark else None
        return Call(
            method="PUT",
            path=path,
            params=params,
            kind=Kind.IDEMPOTENT if mark else Kind.UNNAMED,
            body=encode({self.name: content}),
            fields=self._fields(),
            read=self._reader(identity),
            sent=_masked(changes),
            secrets=_secrets_of(changes),
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(inquiry) if inquiry else None,
            entry=self._entry(identity.get("location_id"), inquiry) if moves_money else None,
        )

    def act(self, ref: Ref, changes: Request, scope: Scope) -> Call[R]:
        """Do what the request's `action` says; where the record would not show it, the call cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent, or with every problem of `changes`.
        """
        action = str(getattr(changes, "action", ""))
        call = self.update(ref, changes, scope, mark=mark_of(action), moves_money=action != "edit")
        sent = unstructure(changes)

        def read(content: Any) -> R:
            check_changed(action, sent, self.unwrapped(content))
            return call.read(content)

        return attrs.evolve(call, read=read)

    def verb(
        self,
        ref: Ref,
        verb: str,
        scope: Scope,
        *,
        method: str = "POST",
        content: Mapping[str, Any] | None = None,
        mark: Mark | None = None,
    ) -> Call[R]:
        """Do what the last word of a path says (`reopen`, `settle`), with `content` if it takes any.

        Its `mark` shows that it was done; without one, it cannot be looked up.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self.place(ref, scope)
        identity = self._identity(ref, scope)
        sent = content or {}
        inquiry = self.inquiry(ref, scope, identity, mark, sent) if mark else None
        return Call(
            method=method,
            path=f"{path}/{verb}",
            params=params,
            kind=Kind.IDEMPOTENT if mark else Kind.UNNAMED,
            body=encode({self.name: content}) if content else None,
            read=self._reader(identity),
            sent={name: mask_text(str(value)) for name, value in sent.items()},
            api_id=ref.value if isinstance(ref, ApiId) else None,
            lookup=self.lookup(inquiry) if inquiry else None,
            entry=self._entry(identity.get("location_id"), inquiry),
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
        return self._place(ref, scope.location_id)

    def _place(self, ref: Ref, location_id: str | None) -> tuple[str, Params]:
        if isinstance(ref, ApiId) and self.api_id is None:
            raise InvalidRequestError(f"id: {self.plural} are not found by an ApiId")
        segment, params = located(ref, location_id)
        return f"{self.path}/{segment}", params

    def _identity(self, ref: Ref, scope: Scope) -> Mapping[str, Any]:
        if isinstance(ref, ApiId) and self.api_id:
            return {self.api_id: ref.value, "location_id": ref.location_id or scope.location_id}
        return {"id": ref}

    def _changed(self, ref: Ref, content: Mapping[str, Any]) -> Ref:
        """Where the record is found after the change, which may have given it another integrator id."""
        renamed = content.get(self.api_id or "")
        return attrs.evolve(ref, value=renamed) if renamed and isinstance(ref, ApiId) else ref

    def inquiry(
        self, ref: Ref, scope: Scope, expected: Mapping[str, Any], mark: Mark, sent: Mapping[str, Any]
    ) -> Inquiry:
        """How to find out, by reading the record, whether a write that sent `sent` was carried out."""
        api_id = ref if isinstance(ref, ApiId) else None
        return Inquiry(
            resource=self.resource,
            id=api_id.value if api_id else str(ref),
            location_id=api_id.location_id or scope.location_id if api_id else None,
            expected=expected,
            mark=mark.name,
            sent=mark.facts(sent),
        )

    def lookup(self, inquiry: Inquiry) -> "Call[R | NotDone]":
        """The read that tells whether a write was carried out: its record, if it bears the mark.

        Raises:
            InvalidRequestError: the id cannot be sent.
        """
        path, params = self._place(inquiry.ref, None)

        def read(content: Any) -> R | NotDone:
            data = self.unwrapped(content)
            check_belongs(inquiry.expected, data)
            return self._record(data) if shows(inquiry.mark, inquiry.sent, data) else NOT_DONE

        return Call(method="GET", path=path, params=params, read=read, absent=NOT_DONE)

    def _entry(self, location_id: str | None, inquiry: Inquiry | None) -> Entry | None:
        if not self.moves_money:
            return None
        return Entry(resource=self.resource, location_id=location_id, inquiry=inquiry)

    def _fields(self) -> frozenset[str]:
        """Every field that such a record has, or that can be sent for one."""
        return _names((self.record, *self.creates, *self.updates))

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


@cache
def _names(kinds: tuple[type[Any], ...]) -> frozenset[str]:
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _checked_type(request: Any, kinds: tuple[type[Request], ...]) -> Request:
    if not isinstance(request, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidRequestError(f"request: must be {names}, not {type(request).__name__}")
    return request


def _check(request: Request, scope: Scope, *more: str) -> None:
    found = [*problems(request, limits=scope.check_limits), *more]
    if found:
        raise InvalidRequestError(found)


def _expected(new: Request, content: Mapping[str, Any], api_id: str | None) -> dict[str, Any]:
    """What the answer to a create must say of itself."""
    names = (api_id, "location_id", "transaction_amount")
    expected = {name: content[name] for name in names if name and content.get(name) is not None}
    number = getattr(new, "account_number", None)
    if isinstance(number, AccountNumber) and number.last_four in str(number):  # a short one may not show its digits
        expected["last_four"] = number.last_four
    return expected


def _purpose(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a record that is found must have been made for: it may have borne the same name before."""
    return {"action": content["action"]} if content.get("action") else {}


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
