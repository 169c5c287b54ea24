"""Calls about resources without models, and single calls to any path."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import unquote

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, RepeatEffect
from gateway_async._wire.evidence import FIELDS_MATCH
from gateway_async._wire.json_text import encode
from gateway_async._wire.query import free_params, secrets_in_params
from gateway_async._wire.record_reader import Ref, read_undocumented
from gateway_async._wire.reply import Reply
from gateway_async._wire.request import RequestDefaults, prepare
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs
from gateway_async.errors import InvalidRequestError
from gateway_async.models.request import Request
from gateway_async.models.untyped import UntypedRecord

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH: Final = re.compile(r"/(v2|custom)/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})+")
_KINDS: Final = (None, "read", "write")
_TERMINAL_PATHS: Final = ("/v2/router", "/v2/deviceterms")
_SHOWN_API_IDS: Final[Mapping[str | None, str]] = {"device_terms_api_id": "device_term_api_id"}
"""Integrator id → the field of a record that shows it, where the gateway spells that differently."""


@attrs.frozen(kw_only=True)
class UntypedSpec(ResourceSpec[UntypedRecord]):
    """A resource without models. Its calls take content that `seal` has returned.

    Attributes:
        typed: the spec of the same resource with models, if there is one. The gateway is known to find its records by
            `api_id`. A gateway that ignores unknown fields would not find a record under an id that it dropped.
    """

    record: type[UntypedRecord] = UntypedRecord
    typed: ResourceSpec[Any] | None = None
    resource: str = attrs.field(
        init=False,
        default=attrs.Factory(lambda self: self.typed.resource if self.typed else self.plural, takes_self=True),
    )
    moves_money: bool = attrs.field(
        init=False, default=attrs.Factory(lambda self: bool(self.typed and self.typed.moves_money), takes_self=True)
    )

    def create_from(self, content: Any, defaults: RequestDefaults) -> Call[UntypedRecord]:
        """Build the call that creates a record.

        With an integrator id it can be looked up. It is sent again after that only if the gateway is known to find
        records by such an id. A create that names a terminal waits there, and is not sent again.

        Raises:
            InvalidRequestError: the content cannot be sent; `.problems` lists every problem.
        """
        given = content if isinstance(content, dict) else {}
        if self.api_id and not isinstance(given.get(self.api_id), str | None):
            raise InvalidRequestError(f"{self.api_id}: must be text")
        repeat_effect = RepeatEffect.NAMED if self.typed else RepeatEffect.UNNAMED
        if given.get("terminal_id"):
            repeat_effect = RepeatEffect.TERMINAL
        return self.create(content, defaults, repeat_effect=repeat_effect)

    def update_from(self, ref: Ref, content: Any, defaults: RequestDefaults) -> Call[UntypedRecord]:
        """Build the call that changes a record.

        A change is looked up in the record. An `action` is not, unless its effect on a transaction is known.

        Raises:
            InvalidRequestError: the id or the content cannot be sent; `.problems` lists every problem.
        """
        has_action = isinstance(content, dict) and content.get("action") is not None
        if has_action and self.plural == "transactions":
            return self.update_with_action(ref, content, defaults)
        return self.update(ref, content, defaults, evidence=None if has_action else FIELDS_MATCH)

    def act(
        self, ref: Ref, verb: str, defaults: RequestDefaults, *, method: str, content: Any, params: Mapping[str, Any]
    ) -> Call[UntypedRecord | None]:
        """Build the call of an action in the path. Its effect is not known, so its outcome cannot be looked up.

        Raises:
            InvalidRequestError: the id, the verb, the content or a parameter cannot be sent.
        """
        path, its_id = self.path_and_params(ref, defaults)
        if not isinstance(verb, str) or not (verb.isascii() and verb.isidentifier()):
            raise InvalidRequestError("verb: must be a word of the path, such as skipPayment")
        if method not in ("POST", "PUT", "DELETE"):
            raise InvalidRequestError("method: must be POST, PUT or DELETE")
        prepared = None if content is None else prepare(content)
        query = free_params(params)
        identity = self._identity(ref, defaults)

        def read(content: Any) -> UntypedRecord | None:
            record = read_undocumented(UntypedRecord, self.response_keys, content)
            if record is not None and isinstance(content.get(self.name), dict):
                check_belongs(identity, content[self.name])
            return record

        return Call(
            request=HttpRequest(
                method=method,
                path=f"{path}/{verb}",
                params=its_id + query,
                body=encode({self.name: prepared.content}) if prepared else None,
                secrets=(*secrets_in_params(query), *(prepared.secrets if prepared else ())),
            ),
            repeat_effect=RepeatEffect.UNNAMED,
            read=read,
            sent=prepared.masked if prepared else {},
            api_id=None if isinstance(ref, str) else ref.value,
            record_type=self.record,
        )

    def _search(self, wanted: Mapping[str, Any]) -> tuple[HttpRequest, Callable[[Any], Mapping[str, Any] | None]]:
        request, find = super()._search(wanted)

        def find_by_api_id(content: Any) -> Mapping[str, Any] | None:
            if isinstance(content, dict) and isinstance(content.get(self.plural), list):
                content = {**content, self.plural: [*map(self._with_api_id, content[self.plural])]}
            return find(content)

        return request, find_by_api_id

    def unwrap(self, content: Any) -> Mapping[str, Any]:
        """Extract the raw record of a response, with `api_id` filled in."""
        record: Mapping[str, Any] = self._with_api_id(super().unwrap(content))
        return record

    def _with_api_id(self, record: Any) -> Any:
        shown = _SHOWN_API_IDS.get(self.api_id)
        return {**record, self.api_id: record[shown]} if isinstance(record, dict) and shown in record else record

    def _record(self, data: Mapping[str, Any]) -> UntypedRecord:
        if _SHOWN_API_IDS.get(self.api_id) in data:  # under that name only, as in the gateway's response
            data = {name: value for name, value in data.items() if name != self.api_id}
        return super()._record(data)

    def _check_type(self, request: Any, kinds: tuple[type[Request], ...]) -> None:
        """Accept any content: `prepare` checks it."""

    def _fields_to_fill(self, new: Any) -> Collection[str]:
        return (self.api_id, "location_id") if self.api_id and isinstance(new, dict) else ()

    def _shown_names(self, content: Mapping[str, Any]) -> Collection[str]:
        return content.keys()  # the resource's own are not known

    def _fields_with(self, content: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG002
        return frozenset()  # as above


def free_request(method: str, path: Secret, params: Mapping[str, Any], body: Any, kind: str | None) -> Call[Reply]:
    """Build a call of any path that returns the response.

    Args:
        method: the HTTP method. A GET is a read, every other method a write that cannot be looked up.
        path: the sealed, percent-encoded path, from `/v2/` or `/custom/`.
        params: sealed query parameters.
        body: sealed content, with its wrapper; None for no body.
        kind: "read" or "write", if the method does not tell.

    Raises:
        InvalidRequestError: an argument cannot be sent; `.problems` names every one.
    """
    problems = [*_path_problems(path.reveal())]
    if method not in _METHODS:
        problems.append(f"method: must be one of {', '.join(_METHODS)}")
    if kind not in _KINDS:
        problems.append('kind: must be "read" or "write"')
    if problems:
        raise InvalidRequestError(problems)
    prepared = None if body is None else prepare(body)
    query = free_params(params)
    is_read = (kind or ("read" if method == "GET" else "write")) == "read"
    terminal_id = None if prepared is None or is_read else _terminal_id(path.reveal(), prepared.content)
    return Call(
        request=HttpRequest(
            method=method,
            path=path,
            params=query,
            body=encode(prepared.content) if prepared else None,
            secrets=(*secrets_in_params(query), *(prepared.secrets if prepared else ())),
        ),
        read=lambda content: content,
        returns_reply=True,
        repeat_effect=RepeatEffect.READ if is_read else RepeatEffect.TERMINAL if terminal_id else RepeatEffect.UNNAMED,
        sent=prepared.masked if prepared else {},
        terminal_id=terminal_id,
    )


def _path_problems(path: str) -> tuple[str, ...]:
    if not _PATH.fullmatch(path):
        return ("path: must be a percent-encoded path that starts with /v2/ or /custom/, without host and query",)
    parts = unquote(path).split("/")
    if ".." in parts or "." in parts or "" in parts[1:-1]:
        return ("path: must not contain empty or relative parts",)
    if parts[2] == "token":
        return ("path: tokens are secret (use gateway.tokens)",)
    return ()


def _terminal_id(path: str, content: Mapping[str, Any]) -> str | None:
    if not path.startswith(_TERMINAL_PATHS):
        return None
    values = [part.get("terminal_id") for part in content.values() if isinstance(part, dict)]
    return next((value for value in values if isinstance(value, str)), None)
