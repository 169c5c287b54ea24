"""Calls about resources without models, and single calls to any path."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import unquote

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, RepeatEffect
from gateway_async._wire.evidence import EXISTS, FIELDS_MATCH
from gateway_async._wire.json_text import encode
from gateway_async._wire.query import free_params, secrets_in_params
from gateway_async._wire.record_reader import Ref
from gateway_async._wire.reply import Reply, read_undocumented
from gateway_async._wire.request import RequestDefaults, prepare
from gateway_async._wire.resource import ResourceSpec, own_defaults
from gateway_async._wire.response_matching import check_belongs
from gateway_async.errors import InvalidRequestError
from gateway_async.models.untyped import UntypedRecord

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH: Final = re.compile(r"/(v2|custom)/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})+")
_KINDS: Final = (None, "read", "write")
_TERMINAL_PATHS: Final = ("/v2/router", "/v2/deviceterms")


@attrs.frozen(kw_only=True)
class UntypedSpec(ResourceSpec[UntypedRecord]):
    """A resource without models. Its calls take content that `seal` has returned.

    Attributes:
        is_known: whether the gateway is known to find the records by `api_id`. A gateway that ignores unknown fields
            would not find a record under an id that it dropped.
        shown_api_id: the field of a record that shows the integrator id, where it is spelled differently.
    """

    is_known: bool
    shown_api_id: str | None = None

    def create_from(self, content: Any, defaults: RequestDefaults) -> Call[UntypedRecord]:
        """Build the call that creates a record.

        With an integrator id it can be looked up. It is sent again after that only if the gateway is known to find
        records by such an id. A create that names a terminal waits there, and is not sent again.

        Raises:
            InvalidRequestError: the content cannot be sent; `.problems` lists every problem.
        """
        defaults = own_defaults(content, defaults)
        names = (self.api_id, "location_id") if self.api_id and isinstance(content, dict) else ()
        filled = self._fill_defaults(content, defaults, names)
        prepared = prepare(content, filled=filled)
        name = prepared.content.get(self.api_id or "")
        if name is not None and not isinstance(name, str):
            raise InvalidRequestError(f"{self.api_id}: must be text")
        repeat_effect = RepeatEffect.NAMED if self.is_known else RepeatEffect.UNNAMED
        if prepared.content.get("terminal_id"):
            repeat_effect = RepeatEffect.TERMINAL
        return self._create(
            prepared,
            defaults,
            repeat_effect=repeat_effect,
            evidence=EXISTS,
            is_generated=bool(name) and self.api_id in filled,
        )

    def update_from(self, ref: Ref, content: Any, defaults: RequestDefaults) -> Call[UntypedRecord]:
        """Build the call that changes a record.

        A change is looked up in the record. An `action` is not, unless its effect on a transaction is known.

        Raises:
            InvalidRequestError: the id or the content cannot be sent; `.problems` lists every problem.
        """
        self.path_and_params(ref, defaults)  # a problem of the id is reported first
        prepared = prepare(content)
        action = prepared.content.get("action")
        if action is None:
            return self._update(ref, prepared, defaults, FIELDS_MATCH, moves_money=False)
        if self.plural != "transactions":
            return self._update(ref, prepared, defaults, None, moves_money=False)
        return self._update_with_action(ref, prepared, defaults, str(action))

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
        return request, lambda content: find(self._with_api_ids(content))

    def unwrap(self, content: Any) -> Mapping[str, Any]:
        """Return the raw record of a response, with `api_id` filled in."""
        return self._with_api_id(super().unwrap(content))

    def _with_api_ids(self, content: Any) -> Any:
        if self.shown_api_id is None or not (isinstance(content, dict) and isinstance(content.get(self.plural), list)):
            return content
        rows = [self._with_api_id(row) if isinstance(row, dict) else row for row in content[self.plural]]
        return {**content, self.plural: rows}

    def _with_api_id(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.shown_api_id is None or self.api_id is None or self.shown_api_id not in record:
            return record
        return {**record, self.api_id: record[self.shown_api_id]}

    def _record(self, data: Mapping[str, Any]) -> UntypedRecord:
        if self.shown_api_id in data:  # under that name only, as in the gateway's response
            data = {name: value for name, value in data.items() if name != self.api_id}
        return super()._record(data)

    def _shown_names(self, content: Mapping[str, Any]) -> Collection[str]:
        return content.keys()  # those of the resource are not known

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
