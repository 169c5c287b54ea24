"""`ResourceSpec`: the description of a gateway resource, with pure methods that build calls.

`ACCOUNT_VAULT.create(new, defaults)` returns a `Call[AccountVault]` and sends nothing. `record_reader.py` has
the reads.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import attrs

from gateway_async._secrets import Secret, kind_of, mask_text
from gateway_async._wire.amounts import money
from gateway_async._wire.call import (
    Call,
    HttpRequest,
    LedgerEntry,
    Lookup,
    LookupResult,
    LookupStatus,
    OutcomeQuery,
    RepeatEffect,
    Resolver,
)
from gateway_async._wire.convert import read_nothing
from gateway_async._wire.evidence import (
    EXISTS,
    FIELDS_MATCH,
    IS_REVERSED,
    NAMES_PAYMENT,
    Evidence,
    UnprovenError,
    evidence_of,
)
from gateway_async._wire.fields import fields_of
from gateway_async._wire.json_text import encode
from gateway_async._wire.multipart import attachment_problems, form_of, name_problems
from gateway_async._wire.query import Params, expansion
from gateway_async._wire.record_reader import RecordReader, Ref, sealed_path
from gateway_async._wire.request import RequestDefaults, prepare
from gateway_async._wire.response_matching import expected_values
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment
from gateway_async.models.record import ApiId, Record
from gateway_async.models.request import UNSET, Request

R = TypeVar("R", bound=Record)


@attrs.frozen(kw_only=True)
class ResourceSpec(RecordReader[R]):
    """A resource of the gateway.

    A method whose arguments cannot be sent raises `InvalidRequestError`; `.problems` lists every problem.

    Attributes:
        creates: the classes that `create` takes.
        updates: the classes that `update` takes.
        stored_as: the spec to find a created record with, if it is another one.
        moves_money: whether a create or an action moves money or stores an account, so that a ledger stores it.
    """

    creates: tuple[type[Request], ...] = ()
    updates: tuple[type[Request], ...] = ()
    stored_as: "RecordReader[R] | None" = None
    moves_money: bool = False

    def create(
        self,
        new: Request | Any,
        defaults: RequestDefaults,
        *,
        repeat_effect: RepeatEffect = RepeatEffect.NAMED,
        evidence: Evidence = EXISTS,
        files: Sequence[Attachment] = (),
    ) -> Call[R]:
        """Build the call that creates a record.

        `evidence` decides whether a record found under the integrator id was created by this call. With `files` the
        body is a multipart form, otherwise JSON.
        """
        self._check_type(new, self.creates)
        defaults = _own_defaults(new, defaults)
        filled = self._fill_defaults(new, defaults)
        wrong = () if files == () else self._file_problems(new, files, defaults)
        prepared = prepare(new, limits=defaults.check_limits, filled=filled, more_problems=wrong)
        content = prepared.content
        if content.get("action") and content.get("previous_transaction_id"):
            evidence = NAMES_PAYMENT
        return Call(
            request=HttpRequest(
                method="POST",
                path=sealed_path(self.path),
                body=None if files else encode({self.name: content}),
                form=form_of(self.name, content, files) if files else None,
                secrets=prepared.secrets,
            ),
            fields=self._fields_with(content),
            sent=prepared.masked,
            terminal_id=content.get("terminal_id"),
            record_type=self.record,
            **self._facts_of_create(
                content, defaults, repeat_effect, evidence, is_generated=bool(filled.get(self.api_id or ""))
            ),
        )

    def _facts_of_create(
        self,
        content: Mapping[str, Any],
        defaults: RequestDefaults,
        repeat_effect: RepeatEffect,
        evidence: Evidence,
        *,
        is_generated: bool,
    ) -> dict[str, Any]:
        """The attributes of a create that depend on whether its record can be looked up."""
        name, location_id = content.get(self.api_id or ""), content.get("location_id")
        if defaults.accepts_existing:
            self._check_accepts_existing(content, is_named=bool(name) and not is_generated)
        expected = expected_values(content, self._shown_names(content))
        if not name:
            is_terminal = repeat_effect is RepeatEffect.TERMINAL
            return {
                "repeat_effect": RepeatEffect.TERMINAL if is_terminal else RepeatEffect.UNNAMED,
                "read": self._reader(expected),
                "ledger_entry": self._entry(location_id, None),
            }
        stored_as = self.stored_as or self
        outcome_query = stored_as.outcome_query(
            ApiId(name, location_id),
            defaults,
            expected,
            evidence,
            content,
            generated_id=is_generated,
            is_new=not defaults.accepts_existing,
        )
        return {
            "repeat_effect": repeat_effect,
            "api_id": name,
            "read": self._reader_with_id(stored_as.write_reader(outcome_query, self)),
            "resolver": stored_as.resolver(
                outcome_query,
                existing=partial(stored_as.existing, outcome_query, defaults),
                api_id_field=self.api_id,
                generated_id=is_generated,
                accepts_existing=defaults.accepts_existing,
            ),
            "ledger_entry": self._entry(location_id, outcome_query),
        }

    def _check_accepts_existing(self, content: Mapping[str, Any], *, is_named: bool) -> None:
        problems: list[str] = []
        if not is_named:
            problems.append(f"{self.api_id or 'api_id'}: required (expected an integrator id that you chose)")
        if content.get("update_if_exists"):
            problems.append("update_if_exists: must not be set (it changes the record that has the integrator id)")
        if problems:
            raise InvalidRequestError(problems)

    def _reader_with_id(self, read: Callable[[Any], R]) -> Callable[[Any], R]:
        """The reader of the response to a create, which must show the integrator id."""

        def read_with_id(content: Any) -> R:
            record = read(content)
            if self.unwrap(content).get(self.api_id or "") in (None, ""):
                raise UnprovenError(f".{self.response_keys[0]}.{self.api_id}", "missing", record)
            return record

        return read_with_id

    def update(
        self,
        ref: Ref,
        changes: Request | Any,
        defaults: RequestDefaults,
        *,
        evidence: Evidence | None = FIELDS_MATCH,
        moves_money: bool = False,
    ) -> Call[R]:
        """Build the call that changes a record.

        `evidence` shows that the change was made. Without it, the outcome cannot be looked up.
        """
        path, params = self.path_and_params(ref, defaults)
        self._check_type(changes, self.updates)
        prepared = prepare(changes, limits=defaults.check_limits)
        content = prepared.content
        renamed = content.get(self.api_id or "")
        changed = attrs.evolve(ref, value=renamed) if renamed and isinstance(ref, ApiId) else ref
        identity = self._identity(changed, defaults)
        outcome_query = self.outcome_query(changed, defaults, identity, evidence, content) if evidence else None
        body = encode({self.name: content})
        return Call(
            request=HttpRequest(method="PUT", path=path, params=params, body=body, secrets=prepared.secrets),
            fields=self._fields_with(content),
            sent=prepared.masked,
            api_id=ref.value if isinstance(ref, ApiId) else None,
            ledger_entry=self._entry(identity.get("location_id"), outcome_query) if moves_money else None,
            **self._facts_of_write(identity, outcome_query),
        )

    def _facts_of_write(self, identity: Mapping[str, Any], outcome_query: OutcomeQuery | None) -> dict[str, Any]:
        """The attributes of a call that depend on whether its outcome can be looked up."""
        return {
            "repeat_effect": RepeatEffect.IDEMPOTENT if outcome_query else RepeatEffect.UNNAMED,
            "read": self.write_reader(outcome_query) if outcome_query else self._reader(identity),
            "resolver": self.resolver(outcome_query) if outcome_query else None,
            "record_type": self.record,
        }

    def update_with_action(self, ref: Ref, changes: Request | Any, defaults: RequestDefaults) -> Call[R]:
        """Build the call that performs the request's `action`.

        If the record does not show whether the action was executed, the outcome cannot be looked up.
        """
        given = _value(changes, "action")
        action = str.__str__(given) if isinstance(given, str) else ""  # `str()` of an enum's member may be its name
        call = self.update(ref, changes, defaults, evidence=evidence_of(action), moves_money=action != "edit")
        return self._with_amount_before(call, ref, defaults, changes) if action == "partialreversal" else call

    def _with_amount_before(
        self, call: Call[R], ref: Ref, defaults: RequestDefaults, changes: Request | Any
    ) -> Call[R]:
        """Read the amount before a partial reversal, which shows its effect."""
        before = self.get(ref, defaults)

        def add_evidence(reply: Any) -> Call[R]:
            identity = self._identity(ref, defaults)
            amount_before = self.unwrap(reply).get("transaction_amount")
            before.read(reply)
            amount = _value(changes, "transaction_amount")
            if amount in (None, UNSET) or isinstance(amount, Secret) or amount_before is None:
                return call
            sent = {"transaction_amount": money(amount), "amount_before": amount_before}
            outcome_query = self.outcome_query(ref, defaults, identity, IS_REVERSED, sent)
            return call.with_resolver(outcome_query, self.resolver(outcome_query), self.write_reader(outcome_query))

        return attrs.evolve(call, prerequisite=Call(request=before.request, read=add_evidence, fresh_connection=True))

    def action(
        self,
        ref: Ref,
        verb: str,
        defaults: RequestDefaults,
        *,
        method: str = "POST",
        content: Mapping[str, Any] | None = None,
        params: Params = (),
        evidence: Evidence | None = None,
        shows: Mapping[str, Any] | None = None,
    ) -> Call[R]:
        """Build the call of an action in the path (`reopen`, `settle`).

        `content` is the body, if the action takes one, and `params` are further parameters. `evidence` shows that the
        action was executed. Without it, the outcome cannot be looked up. It compares the record with `shows`, or else
        with the body.
        """
        path, its_id = self.path_and_params(ref, defaults)
        identity = self._identity(ref, defaults)
        sent = content or {}
        outcome_query = self.outcome_query(ref, defaults, identity, evidence, shows or sent) if evidence else None
        body = encode({self.name: content}) if content else None
        return Call(
            request=HttpRequest(method=method, path=f"{path}/{verb}", params=its_id + params, body=body),
            sent={name: mask_text(str(value)) for name, value in sent.items()},
            api_id=ref.value if isinstance(ref, ApiId) else None,
            ledger_entry=self._entry(identity.get("location_id"), outcome_query),
            **self._facts_of_write(identity, outcome_query),
        )

    def notify(self, ref: Ref, verb: str, defaults: RequestDefaults, params: Params = ()) -> Call[None]:
        """Build the call that sends a notification about a record (`resend`).

        The record does not show it, so the outcome cannot be looked up.
        """
        path, its_id = self.path_and_params(ref, defaults)
        request = HttpRequest(method="POST", path=f"{path}/{verb}", params=its_id + params)
        return Call(request=request, repeat_effect=RepeatEffect.UNNAMED, read=read_nothing)

    def delete(
        self,
        ref: Ref,
        defaults: RequestDefaults,
        part: str = "",
        *,
        expand: Sequence[str] = (),
        is_deleted: Callable[[Any], LookupResult[Any]] = lambda _: LookupResult(LookupStatus.NOT_EXECUTED),
    ) -> Call[None]:
        """Build the call that deletes a record, or a part of it, such as `/files/1`.

        `is_deleted` decides from the record, which the lookup reads with `expand`, whether the part was deleted.
        """
        path, params = self.path_and_params(ref, defaults)

        def lookup() -> Lookup[Any]:
            return Lookup(
                request=HttpRequest(path=path, params=params + expansion(expand)),
                read=is_deleted,
                not_found_result=LookupResult(LookupStatus.GONE),
                confirmation=partial(self.absence, ref, defaults),
            )

        return Call(
            request=HttpRequest(method="DELETE", path=f"{path}{part}", params=params),
            repeat_effect=RepeatEffect.IDEMPOTENT,
            read=read_nothing,
            api_id=ref.value if isinstance(ref, ApiId) else None,
            resolver=Resolver(lookup=lookup),
        )

    @staticmethod
    def _file_problems(new: Request, files: Sequence[Attachment], defaults: RequestDefaults) -> tuple[str, ...]:
        wrong = tuple(attachment_problems(files, limits=defaults.check_limits))
        return (*wrong, *name_problems(new)) if files else wrong

    def _fill_defaults(self, new: Any, defaults: RequestDefaults) -> dict[str, Any]:
        """Return the integrator id and the location that `new` omits. An empty integrator id means none."""
        filled: dict[str, Any] = {}
        names = self._fields_to_fill(new)
        if self.api_id and self.api_id in names and _value(new, self.api_id) in (None, ""):
            filled[self.api_id] = defaults.new_id()
        if defaults.location_id and "location_id" in names and _value(new, "location_id") is None:
            filled["location_id"] = defaults.location_id
        return filled

    def _fields_to_fill(self, new: Any) -> Collection[str]:
        return fields_of(type(new))

    def _check_type(self, request: Any, kinds: tuple[type[Request], ...]) -> None:
        if not isinstance(request, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise InvalidRequestError(f"request: must be {names}, not {kind_of(request).__name__}")

    def _entry(self, location_id: str | None, outcome_query: OutcomeQuery | None) -> LedgerEntry | None:
        if not self.moves_money:
            return None
        return LedgerEntry(resource=self.resource, location_id=location_id, outcome_query=outcome_query)

    def _shown_names(self, content: Mapping[str, Any]) -> Collection[str]:  # noqa: ARG002
        return _names((self.record,))

    def _fields_with(self, content: Mapping[str, Any]) -> frozenset[str]:
        """The fields of all records and requests, and of `content`."""
        known = _names((self.record, *self.creates, *self.updates))
        return known if known.issuperset(content) else known | content.keys()


def _own_defaults(new: Any, defaults: RequestDefaults) -> RequestDefaults:
    """The defaults of a create, without the client's location if the request has a `location_api_id`.

    The record is then looked up in all locations that the user sees.
    """
    return defaults if _value(new, "location_api_id") is None else attrs.evolve(defaults, location_id=None)


def _value(request: Any, name: str) -> Any:
    return request.get(name) if isinstance(request, dict) else getattr(request, name, None)


@cache
def _names(kinds: tuple[type[Any], ...]) -> frozenset[str]:
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))
