"""`ResourceSpec`: the description of a gateway resource, with pure methods that build calls.

`ACCOUNT_VAULT.create(new, defaults)` returns a `Call[AccountVault]` and sends nothing. `record_reader.py` has
the reads.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, TypeVar

import attrs

from gateway_async._secrets import AccountNumber, kind_of, mask_text
from gateway_async._wire.call import (
    Call,
    HttpRequest,
    LedgerEntry,
    Lookup,
    LookupResult,
    LookupStatus,
    OutcomeQuery,
    Recovery,
    RepeatEffect,
)
from gateway_async._wire.convert import fields_of, read_nothing
from gateway_async._wire.evidence import (
    EXISTS,
    FIELDS_MATCH,
    IS_REVERSED,
    NAMES_PAYMENT,
    Evidence,
    UnprovenError,
    evidence_of,
)
from gateway_async._wire.json_text import encode
from gateway_async._wire.query import Params
from gateway_async._wire.record_reader import RecordReader, Ref, sealed_path
from gateway_async._wire.request import (
    PreparedRequest,
    RequestDefaults,
    attachment_problems,
    form_of,
    name_problems,
    prepare,
)
from gateway_async._wire.response_matching import AMOUNT_FIELDS
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment
from gateway_async.models.record import ApiId, Record
from gateway_async.models.request import Request

R = TypeVar("R", bound=Record)

_NOT_KEPT: Final = frozenset(
    {"auth_code", "effective_date", "entry_mode_id", "extra", "subtotal_amount", "tags", "tip_amount"}
)
"""Fields of a create whose values the gateway or the terminal may change."""


@attrs.frozen(kw_only=True)
class ResourceSpec(RecordReader[R]):
    """A resource of the gateway.

    A method whose arguments cannot be sent raises `InvalidRequestError`; `.problems` lists every problem.

    Attributes:
        creates: the classes that `create` takes.
        updates: the classes that `update` takes.
        stored_as: the spec by which a created record is found, where it is another one.
        moves_money: whether a create or an action moves money or stores an account, so that a ledger stores it.
    """

    creates: tuple[type[Request], ...] = ()
    updates: tuple[type[Request], ...] = ()
    stored_as: "RecordReader[R] | None" = None
    moves_money: bool = False

    def create(
        self,
        new: Request,
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
        _check_type(new, self.creates)
        defaults = own_defaults(new, defaults)
        filled = self._fill_defaults(new, defaults, fields_of(type(new)))
        wrong = () if files == () else self._file_problems(new, files, defaults)
        prepared = prepare(new, limits=defaults.check_limits, filled=filled, more_problems=wrong)
        is_generated = self.api_id in filled and bool(filled[self.api_id])
        return self._create(
            prepared, defaults, repeat_effect=repeat_effect, evidence=evidence, is_generated=is_generated, files=files
        )

    def _create(
        self,
        prepared: PreparedRequest,
        defaults: RequestDefaults,
        *,
        repeat_effect: RepeatEffect,
        evidence: Evidence,
        is_generated: bool,
        files: Sequence[Attachment] = (),
    ) -> Call[R]:
        content = prepared.content
        if content.get("action") and content.get("previous_transaction_id"):
            evidence = NAMES_PAYMENT
        expected = self._expected_values(content)
        name, location_id = content.get(self.api_id or ""), content.get("location_id")
        if defaults.accepts_existing:
            self._check_accepts_existing(content, is_named=bool(name) and not is_generated)
        stored_as = self.stored_as or self
        outcome_query, recovery, read = None, None, self._reader(expected)
        if name:
            outcome_query = stored_as.outcome_query(
                ApiId(name, location_id),
                defaults,
                expected,
                evidence,
                content,
                generated_id=is_generated,
                is_new=not defaults.accepts_existing,
            )
            recovery = stored_as.recovery(
                outcome_query,
                existing=partial(stored_as.existing, outcome_query, defaults),
                api_id_field=self.api_id or "",
                generated_id=is_generated,
                accepts_existing=defaults.accepts_existing,
            )
            read = self._reader_with_id(stored_as.write_reader(outcome_query, self))
        request = HttpRequest(
            method="POST",
            path=sealed_path(self.path),
            body=None if files else encode({self.name: content}),
            form=form_of(self.name, content, files) if files else None,
            secrets=prepared.secrets,
        )
        return Call(
            request=request,
            repeat_effect=repeat_effect if name or repeat_effect is RepeatEffect.TERMINAL else RepeatEffect.UNNAMED,
            fields=self._fields_with(content),
            read=read,
            sent=prepared.masked,
            api_id=name,
            recovery=recovery,
            ledger_entry=self._entry(location_id, outcome_query),
            terminal_id=content.get("terminal_id"),
            record_type=self.record,
        )

    def _check_accepts_existing(self, content: Mapping[str, Any], *, is_named: bool) -> None:
        problems: list[str] = []
        if not is_named:
            problems.append(f"{self.api_id or 'api_id'}: required (expected an integrator id that you chose)")
        if content.get("update_if_exists"):
            problems.append("update_if_exists: must not be set (it changes the record that has the integrator id)")
        if problems:
            raise InvalidRequestError(problems)

    def _reader_with_id(self, read: Callable[[Any], R]) -> Callable[[Any], R]:
        """Return the reader of the response to a create, which must show the integrator id."""

        def read_with_id(content: Any) -> R:
            record = read(content)
            if self.unwrap(content).get(self.api_id or "") in (None, ""):
                raise UnprovenError(f".{self.response_keys[0]}.{self.api_id}", "missing", record)
            return record

        return read_with_id

    def update(
        self,
        ref: Ref,
        changes: Request,
        defaults: RequestDefaults,
        *,
        evidence: Evidence | None = FIELDS_MATCH,
        moves_money: bool = False,
    ) -> Call[R]:
        """Build the call that changes a record.

        `evidence` shows that the change was made. Without it, the outcome cannot be looked up.
        """
        prepared = self._prepare_update(ref, changes, defaults)
        return self._update(ref, prepared, defaults, evidence, moves_money=moves_money)

    def _prepare_update(self, ref: Ref, changes: Request, defaults: RequestDefaults) -> PreparedRequest:
        self.path_and_params(ref, defaults)  # a problem of the id is reported first
        _check_type(changes, self.updates)
        return prepare(changes, limits=defaults.check_limits)

    def _update(
        self,
        ref: Ref,
        prepared: PreparedRequest,
        defaults: RequestDefaults,
        evidence: Evidence | None,
        *,
        moves_money: bool,
    ) -> Call[R]:
        path, params = self.path_and_params(ref, defaults)
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
            **self._recovery_facts(identity, outcome_query),
        )

    def _recovery_facts(self, identity: Mapping[str, Any], outcome_query: OutcomeQuery | None) -> dict[str, Any]:
        """Return the attributes of a call that depend on whether its outcome can be looked up."""
        return {
            "repeat_effect": RepeatEffect.IDEMPOTENT if outcome_query else RepeatEffect.UNNAMED,
            "read": self.write_reader(outcome_query) if outcome_query else self._reader(identity),
            "recovery": self.recovery(outcome_query) if outcome_query else None,
            "record_type": self.record,
        }

    def update_with_action(self, ref: Ref, changes: Request, defaults: RequestDefaults) -> Call[R]:
        """Build the call that performs the request's `action`.

        If the record does not show whether the action was executed, the outcome cannot be looked up.
        """
        action = str(getattr(changes, "action", ""))
        return self._update_with_action(ref, self._prepare_update(ref, changes, defaults), defaults, action)

    def _update_with_action(
        self, ref: Ref, prepared: PreparedRequest, defaults: RequestDefaults, action: str
    ) -> Call[R]:
        call = self._update(ref, prepared, defaults, evidence_of(action), moves_money=action != "edit")
        return self._with_amount_before(call, ref, defaults, prepared.content) if action == "partialreversal" else call

    def _with_amount_before(
        self, call: Call[R], ref: Ref, defaults: RequestDefaults, content: Mapping[str, Any]
    ) -> Call[R]:
        """Read the amount before a partial reversal, which shows its effect."""
        before = self.get(ref, defaults)

        def add_evidence(reply: Any) -> Call[R]:
            identity = self._identity(ref, defaults)
            amount = self.unwrap(reply).get("transaction_amount")
            before.read(reply)
            sent = {"transaction_amount": content.get("transaction_amount"), "amount_before": amount}
            if None in sent.values():
                return attrs.evolve(call, prerequisite=None)
            outcome_query = self.outcome_query(ref, defaults, identity, IS_REVERSED, sent)
            return call.with_recovery(outcome_query, self.recovery(outcome_query), self.write_reader(outcome_query))

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
            **self._recovery_facts(identity, outcome_query),
        )

    def notify(self, ref: Ref, verb: str, defaults: RequestDefaults, params: Params = ()) -> Call[None]:
        """Build the call that sends a notification about a record (`resend`).

        The record does not show it, so the outcome cannot be looked up.
        """
        path, its_id = self.path_and_params(ref, defaults)
        request = HttpRequest(method="POST", path=f"{path}/{verb}", params=its_id + params)
        return Call(request=request, repeat_effect=RepeatEffect.UNNAMED, read=read_nothing)

    def delete(self, ref: Ref, defaults: RequestDefaults) -> Call[None]:
        """Build the call that deletes a record."""
        path, params = self.path_and_params(ref, defaults)

        def lookup() -> Lookup[Any]:
            return Lookup(
                request=HttpRequest(path=path, params=params),
                read=lambda _: LookupResult(LookupStatus.NOT_EXECUTED),
                not_found_result=LookupResult(LookupStatus.GONE),
                confirmation=partial(self.absence, ref, defaults),
            )

        return Call(
            request=HttpRequest(method="DELETE", path=path, params=params),
            repeat_effect=RepeatEffect.IDEMPOTENT,
            read=read_nothing,
            api_id=ref.value if isinstance(ref, ApiId) else None,
            recovery=Recovery(lookup=lookup),
        )

    @staticmethod
    def _file_problems(new: Request, files: Sequence[Attachment], defaults: RequestDefaults) -> tuple[str, ...]:
        wrong = tuple(attachment_problems(files, limits=defaults.check_limits))
        return (*wrong, *name_problems(new)) if files else wrong

    def _fill_defaults(self, new: Any, defaults: RequestDefaults, names: Collection[str]) -> dict[str, Any]:
        """Return the integrator id and the location that `new` omits. An empty integrator id means none."""
        filled: dict[str, Any] = {}
        if self.api_id and self.api_id in names and _value(new, self.api_id) in (None, ""):
            filled[self.api_id] = defaults.new_id()
        if defaults.location_id and "location_id" in names and _value(new, "location_id") is None:
            filled["location_id"] = defaults.location_id
        return filled

    def _entry(self, location_id: str | None, outcome_query: OutcomeQuery | None) -> LedgerEntry | None:
        if not self.moves_money:
            return None
        return LedgerEntry(resource=self.resource, location_id=location_id, outcome_query=outcome_query)

    def _expected_values(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sent values that a created record must not contradict.

        The action tells the class of the transaction. The parts of the amount are included, because they tell how much
        lower the record's amount may be.
        """
        shown = self._shown_names(content)
        expected = {
            name: value
            for name, value in content.items()
            if value is not None and name not in _NOT_KEPT and (name in shown or name == "action")
        }
        if content.get("transaction_amount") is None:
            expected = {name: value for name, value in expected.items() if name not in AMOUNT_FIELDS}
        number = content.get("account_number")
        if isinstance(number, AccountNumber):
            expected.pop("account_number", None)
            if number.shown_digits:  # a short one may not show its digits
                expected["last_four"] = number.shown_digits
        return expected

    def _shown_names(self, content: Mapping[str, Any]) -> Collection[str]:  # noqa: ARG002
        return _names((self.record,))

    def _fields_with(self, content: Mapping[str, Any]) -> frozenset[str]:
        """Return the fields of all records and requests, and of `content`."""
        known = _names((self.record, *self.creates, *self.updates))
        return known if known.issuperset(content) else known | content.keys()


def own_defaults(new: Any, defaults: RequestDefaults) -> RequestDefaults:
    """Return the defaults of a create, without the client's location if the request has a `location_api_id`.

    The record is then looked up in all locations that the user sees.
    """
    return defaults if _value(new, "location_api_id") is None else attrs.evolve(defaults, location_id=None)


def _value(request: Any, name: str) -> Any:
    return request.get(name) if isinstance(request, dict) else getattr(request, name, None)


@cache
def _names(kinds: tuple[type[Any], ...]) -> frozenset[str]:
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _check_type(request: Any, kinds: tuple[type[Request], ...]) -> None:
    if not isinstance(request, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidRequestError(f"request: must be {names}, not {kind_of(request).__name__}")
