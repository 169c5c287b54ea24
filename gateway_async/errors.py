"""The errors of this package as a tree, with their cause and whether a retry is safe.

    GatewayError
    ├── InvalidFieldsError          fields are invalid: `.fields`, for a web form
    │   └── InvalidRequestError     yours: nothing was sent, `.problems` lists what to correct
    ├── NotSentError                the request provably never reached the gateway, safe to repeat
    │   └── ClientClosedError       yours: the client was used after it was closed
    ├── StatusError                 the gateway refused the request: `.status_code`, `.message`
    │   ├── BadRequestError         400
    │   ├── AuthenticationError     401, or a failed login
    │   ├── PermissionDeniedError   403
    │   ├── NotFoundError           404
    │   ├── MethodNotAllowedError   405
    │   ├── RecordDeletedError      409, 410, `.fields` when the gateway names fields
    │   ├── ValidationError         422, `.fields` (an InvalidFieldsError too)
    │   │   └── DuplicateError      the integrator id is taken: `.api_id`, `await error.fetch()`
    │   ├── RateLimitError          429, `.retry_after`
    │   └── ServerError             5xx to a read (a write that gets one is looked up)
    ├── DeadlineExceededError       a read exceeded its deadline: safe to repeat
    ├── ConnectionLostError         every attempt of a read lost its connection: safe to repeat; `.reached`
    ├── MalformedReplyError         the response to a read cannot be parsed: `.path` says where
    ├── MismatchedReplyError        the response belongs to another request
    ├── OutcomeUnknownError         the outcome of a write is unknown: `.reached`, `await error.resolve()`
    │   └── MismatchedWriteError    a write got another request's response (a MismatchedReplyError too)
    ├── DeclinedError               raised only by `transaction.raise_for_decline()`
    ├── TerminalBusyError           another client or call is using the terminal
    ├── LedgerError                 the ledger's file cannot be used; a call that needs it raises NotSentError
    ├── PostbackRefusedError        the sender's: the request is not a valid postback; respond with `.status_code`
    ├── InboxError                  the inbox cannot be used: the receiver responds 503 and the gateway tries again
    └── JournalError                a migration's journal cannot be used, or belongs to another migration

Every error builds its own message from its attributes. No error ever contains a card number or a secret.
"""

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, TypeVar

from gateway_async._secrets import mask_text
from gateway_async._text import by_field

if TYPE_CHECKING:
    from gateway_async.models.record import Record

__all__ = [
    "AuthenticationError",
    "BadRequestError",
    "ClientClosedError",
    "ConnectionLostError",
    "DeadlineExceededError",
    "DeclinedError",
    "DuplicateError",
    "GatewayError",
    "InboxError",
    "InsecureConnectionWarning",
    "InvalidFieldsError",
    "InvalidRequestError",
    "JournalError",
    "LedgerError",
    "MalformedReplyError",
    "MethodNotAllowedError",
    "MismatchedReplyError",
    "MismatchedWriteError",
    "NotFoundError",
    "NotSentError",
    "OutcomeUnknownError",
    "PermissionDeniedError",
    "PostbackRefusedError",
    "RateLimitError",
    "RecordDeletedError",
    "SendStage",
    "ServerError",
    "StatusError",
    "TerminalBusyError",
    "ValidationError",
]


class SendStage(enum.StrEnum):
    """How far a request got, as far as the client can tell, in chronological order.

    In doubt, the later stage is reported: bytes that may have been sent count as sent.
    """

    NOT_CONNECTED = "not connected"
    """The request was waiting for a connection."""
    NOTHING_WRITTEN = "nothing written"
    """A connection was being opened or was open, but no byte of the request was written."""
    SENT = "sent"
    """Sent in part or whole, no response. Failures that a transport does not report in detail count as this stage."""
    RESPONSE_TRUNCATED = "response truncated"
    """The response headers arrived, but the body was truncated."""
    RESPONDED = "responded"
    """A complete response arrived that is not conclusive: a gateway failure, unreadable, or for another request."""


class InsecureConnectionWarning(UserWarning):
    """A client was created with `verify=False`, so any server can impersonate the gateway."""


_ErrorT = TypeVar("_ErrorT", bound="GatewayError")


class GatewayError(Exception):
    """Base class of all gateway_async errors.

    Attributes:
        call: the request, such as `"POST /v2/transactions"`; empty when the error is not about a request.
    """

    call: str = ""
    _retryable: ClassVar[bool] = False

    @property
    def retryable(self) -> bool:
        """Whether the same call can be repeated: nothing was executed, and the cause may be temporary.

        It is False for an `OutcomeUnknownError`: first find out what happened.
        """
        return self._retryable

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by attributes; `Exception` does not pass keyword arguments."""
        return _revive, (type(self), self.args, self._facts())

    def __copy__(self) -> Self:
        """Copy without traceback, cause and context.

        Libraries such as tblib, which Dask loads, make `copy` keep them otherwise, and with them what was sent.
        """
        return _revive(type(self), self.args, self._facts())

    def _facts(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _revive(kind: type[_ErrorT], args: tuple[Any, ...], facts: Mapping[str, Any]) -> _ErrorT:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidFieldsError(GatewayError):
    """The client (`InvalidRequestError`) or the gateway (`ValidationError`) refused fields of a request.

    Attributes:
        fields: field name → messages; general messages are under `""`.
    """

    fields: Mapping[str, tuple[str, ...]]

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "fields": dict(self.fields)}


class InvalidRequestError(InvalidFieldsError):
    """The request is invalid, so nothing was sent.

    Attributes:
        problems: one line for each problem, starting with the field's name.
    """

    def __init__(self, problems: Iterable[str] | str) -> None:
        lines = (problems,) if isinstance(problems, str) else problems
        self.problems: tuple[str, ...] = tuple(map(mask_text, lines))  # even a field's name may be a card number
        self.fields = MappingProxyType(by_field(self.problems))
        super().__init__("nothing was sent: " + "; ".join(self.problems))


class NotSentError(GatewayError):
    """The request provably never reached the gateway, so repeating it is safe.

    Attributes:
        reached: how far it got: `SendStage.NOT_CONNECTED` or `SendStage.NOTHING_WRITTEN`.
        ends_call: whether the client made no further attempt although some were left.
    """

    _retryable = True

    def __init__(
        self, reason: str, *, call: str = "", reached: SendStage = SendStage.NOT_CONNECTED, ends_call: bool = False
    ) -> None:
        self.reason = reason
        self.call = call
        self.reached = reached
        self.ends_call = ends_call
        super().__init__(f"{call or 'the request'} was not sent: {reason}")


class ClientClosedError(NotSentError):
    """The client was used after `aclose()`."""

    _retryable = False

    def __init__(self, *, call: str = "") -> None:
        super().__init__("the client is closed", call=call, ends_call=True)


class StatusError(GatewayError):
    """The gateway returned a status that is not a success (contract, *Errors*).

    Attributes:
        status_code: the HTTP status.
        message: the gateway's message with card numbers masked; empty when it sent none.
        fields: field name → messages, for responses that name fields.
        retry_after: seconds that the gateway asks the client to wait, or None.
        is_from_gateway: whether the gateway itself wrote the body: it has an `errors` object, or a `name` with a `code`
            or `status` equal to the HTTP status. Any other body, such as a page or a message alone, may be a proxy's,
            and does not tell whether a write was executed.
    """

    status_code: int
    meaning: ClassVar[str] = "the gateway refused"

    def __init__(
        self,
        status_code: int,
        *,
        call: str = "",
        message: str = "",
        fields: Mapping[str, tuple[str, ...]] | None = None,
        retry_after: float | None = None,
        is_from_gateway: bool = True,
    ) -> None:
        self.status_code = status_code
        self.call = call
        self.message = message
        self.fields: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(fields or {}))
        self.retry_after = retry_after
        self.is_from_gateway = is_from_gateway
        details = "; ".join([*([message] if message else []), *_lines(self.fields)])
        super().__init__(f"{call or 'the call'}: {self.meaning} ({status_code})" + (f": {details}" if details else ""))

    def _facts(self) -> dict[str, Any]:
        return {**self.__dict__, "fields": dict(self.fields)}


def _lines(fields: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [f"{name}: {', '.join(messages)}".removeprefix(": ") for name, messages in fields.items()]


class BadRequestError(StatusError):
    """400: the gateway could not read the request."""

    meaning = "the gateway could not read the request"


class AuthenticationError(StatusError):
    """401, or a login that failed: the developer id, user id, key, token or password is wrong or has expired.

    Attributes:
        is_login: whether the login failed; nothing else was sent.
        has_new_token: whether the client can replace the refused token by logging in again.
    """

    meaning = "the credentials were not accepted"

    def __init__(
        self, status_code: int = 401, *, is_login: bool = False, has_new_token: bool = False, **facts: Any
    ) -> None:
        super().__init__(status_code, **facts)
        self.is_login = is_login
        self.has_new_token = has_new_token


class PermissionDeniedError(StatusError):
    """403: this user may not do that, or the service is not enabled for the location."""

    meaning = "not permitted"


class NotFoundError(StatusError):
    """404: the record or the endpoint does not exist."""

    meaning = "not found"


class MethodNotAllowedError(StatusError):
    """405: the endpoint does not take this method."""

    meaning = "method not allowed"


class RecordDeletedError(StatusError):
    """409 or 410: the record has been deleted, or its deletion was refused (then `.fields` says why)."""

    meaning = "the record is deleted, or its deletion was refused"


class ValidationError(StatusError, InvalidFieldsError):
    """422: the gateway rejected the content of the request; `.fields` maps field → messages."""

    meaning = "validation failed"


class DuplicateError(ValidationError):
    """422: another record has the integrator id (contract, *Integrator primary key*); this request created nothing.

    A checkout that is sent twice gets this error for the second request: `fetch()` reads the first one's record. If a
    proxy sends a request twice, the record may come from a copy of this very call. Compare the record before you use
    another id.

    Attributes:
        api_id: the integrator id that the record has.
        record_type: the class of that record.
    """

    def __init__(self, status_code: int = 422, *, api_id: str = "", **facts: Any) -> None:
        super().__init__(status_code, **facts)
        self.api_id = api_id
        self.record_type: type[Any] | None = None
        self._fetch: Callable[[], Awaitable[Any]] | None = None

    def read_with(self, fetch: Callable[[], Awaitable[Any]], record_type: type[Any] | None = None) -> None:
        """Set the function that `fetch()` awaits, and the class of its result. The client calls this."""
        self._fetch = fetch
        self.record_type = record_type

    async def fetch(self) -> "Record":
        """Read the record that already has the integrator id.

        Returns:
            The record, of the type that the refused call would have returned.

        Raises:
            NotFoundError: the record has been deleted since, or is in a location that the user cannot see.
            GatewayError: the record cannot be read.
        """
        if self._fetch is None:
            raise InvalidRequestError("fetch: this error was copied and has no client (read the record by its api id)")
        record: Record = await self._fetch()
        return record

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "_fetch": None}


class RateLimitError(StatusError):
    """429: too many requests; `.retry_after` is the wait in seconds that the gateway asks for, or None."""

    meaning = "too many requests"
    _retryable = True


class ServerError(StatusError):
    """5xx to a read. The outcome of a write that gets a 5xx is looked up instead."""

    meaning = "the gateway failed"

    @property
    def retryable(self) -> bool:
        """Whether the same call can be repeated: a read can."""
        return self.call.startswith("GET ")


class DeadlineExceededError(GatewayError):
    """A read did not finish within its deadline. Nothing changed at the gateway, so repeating it is safe.

    Attributes:
        seconds: the deadline in seconds.
    """

    _retryable = True

    def __init__(self, seconds: float, *, call: str = "") -> None:
        self.seconds = seconds
        self.call = call
        super().__init__(f"{call or 'the call'} did not finish within {seconds:g} s")


class ConnectionLostError(GatewayError):
    """The connection broke or stalled before the complete response arrived.

    Attributes:
        reached: how far the request got: `SendStage.SENT` or `SendStage.RESPONSE_TRUNCATED`.
    """

    _retryable = True

    def __init__(self, reason: str, *, call: str = "", reached: SendStage = SendStage.SENT) -> None:
        self.reason = reason
        self.call = call
        self.reached = reached
        super().__init__(f"{call or 'the call'}: the connection was lost: {reason}")


class MalformedReplyError(GatewayError):
    """The gateway's response cannot be parsed.

    Attributes:
        path: the position in the body, such as `$.accountvault.exp_date`.
        reason: what is wrong at that position.
        lacks_evidence: whether it is a record that contradicts nothing, but does not show all that the call wrote.
    """

    def __init__(self, path: str, reason: str, *, call: str = "", lacks_evidence: bool = False) -> None:
        self.path = path
        self.reason = reason
        self.call = call
        self.lacks_evidence = lacks_evidence
        super().__init__(f"{call or 'the call'}: the response cannot be read at {path}: {reason}")


class MismatchedReplyError(GatewayError):
    """The response belongs to another request; the client discarded it and closed the connection.

    Attributes:
        differences: one line for each value that differs from the request.
    """

    differences: tuple[str, ...] = ()

    def __init__(self, differences: Iterable[str], *, call: str = "") -> None:
        self.differences = tuple(differences)
        self.call = call
        super().__init__(_mismatch(call, self.differences))


def _mismatch(call: str, differences: tuple[str, ...]) -> str:
    return f"{call or 'the call'}: the response belongs to another request: {'; '.join(differences)}"


class OutcomeUnknownError(GatewayError):
    """A write may have been executed: no conclusive response came, and the lookup did not find its outcome.

    The record may exist and the money may have moved. Do not make the write again under a new id. Call
    `await error.resolve()`, now or later. A repetition under the same integrator id is safe, because the gateway takes
    each id once. A write without an integrator id must not be repeated.

    Attributes:
        api_id: the integrator id under which the record can be looked up, or None when the call has none.
        sent: the content that was sent, with secrets masked.
        reached: how far the request got; of several attempts, the furthest.
        reason: a description of what happened.
        record_type: the class of the record that the call returns, or None when it returns none, such as a deletion.
    """

    if TYPE_CHECKING:
        # Makes type checkers reject `if error:`; write `error is not None`. At run time the error is true, like every
        # exception, because `logging`, `traceback` and `concurrent.futures` test it.
        def __bool__(self) -> NoReturn: ...

    def __init__(
        self,
        reason: str,
        *,
        call: str = "",
        api_id: str | None = None,
        sent: Mapping[str, Any] | None = None,
        reached: SendStage = SendStage.SENT,
        resolve: Callable[[float], Awaitable[Any]] | None = None,
        record_type: type[Any] | None = None,
    ) -> None:
        self.reason = reason
        self.call = call
        self.api_id = api_id
        self.sent: Mapping[str, Any] = dict(sent or {})
        self.reached = reached
        self._resolve = resolve
        self.record_type = record_type
        named = f" (api id {mask_text(api_id)})" if api_id else ""
        super().__init__(f"{call or 'the call'}{named}: the outcome is unknown ({reached}): {reason}")

    async def resolve(self, wait: float = 30.0) -> "Record | Literal[True] | None":
        """Look up the outcome again, waiting at most `wait` seconds.

        The wait ends early when the write can no longer arrive. A write may arrive until the client's
        `in_doubt_seconds` (120 by default) have passed since its last attempt. At a terminal, the client adds 300
        seconds from when it was sent: the device waits that long, whatever the client's `terminal_timeout` is
        (contract, *Limits*). `in_doubt_seconds` is an assumption, because the contract does not bound the delay. The
        last read may take up to the client's `timeout` longer.

        Args:
            wait: seconds to wait for a record that does not exist yet; 0 looks once.

        Returns:
            The record, such as a `Transaction` (check with `isinstance`), or True for a deletion that was executed.
            None means that the write was certainly not executed: after the time above, the gateway's own error body
            says that the record does not exist, and a list does not contain it.

        Raises:
            OutcomeUnknownError: the outcome is still unknown. Call `resolve` later; do not send the write again.
            InvalidRequestError: `wait` is not a number of 0 or more.
        """
        if self._resolve is None:
            raise self
        outcome: Record | Literal[True] | None = await self._resolve(wait)
        return outcome

    def _facts(self) -> dict[str, Any]:
        return {**self.__dict__, "_resolve": None}


class MismatchedWriteError(MismatchedReplyError, OutcomeUnknownError):
    """A write got another request's response, or its integrator id belongs to a record that differs from what was sent.

    Attributes:
        record: the record with the caller's integrator id, if the lookup found one; it may be an earlier request's.
    """

    def __init__(
        self,
        differences: Iterable[str],
        *,
        reached: SendStage = SendStage.RESPONDED,
        record: "Record | None" = None,
        **facts: Any,
    ) -> None:
        OutcomeUnknownError.__init__(self, "the response belongs to another request", reached=reached, **facts)
        self.differences = tuple(differences)
        self.record = record
        self.args = (_mismatch(self.call, self.differences),)


class DeclinedError(GatewayError):
    """The issuer or the terminal declined. Raised only by `transaction.raise_for_decline()`.

    Attributes:
        transaction: the declined transaction.
        reason_code_id: the gateway's reason code, such as 1616 (insufficient funds), or None.
    """

    def __init__(self, transaction: Any, *, reason_code_id: int | None, message: str | None) -> None:
        self.transaction = transaction
        self.reason_code_id = reason_code_id
        self.message = mask_text(message or "")
        details = f": {self.message}" if message else ""
        super().__init__(mask_text(f"transaction {transaction.id} was declined (reason {reason_code_id}){details}"))


class TerminalBusyError(GatewayError):
    """The terminal is in use, or the outcome of an earlier call there is unknown; this call charged nothing.

    Either the call was not sent, or the gateway refused it with a 403, 409 or 422 whose text says that the terminal is
    busy or in use. In the second case `__cause__` is that refusal.

    Attributes:
        terminal_id: the terminal's id.
        holder: what uses the terminal, if known: another client's `owner`, or an earlier call.
        advice: what the caller can do; empty when waiting is the only option.
    """

    _retryable = True

    def __init__(self, terminal_id: str, *, holder: str = "", advice: str = "", call: str = "") -> None:
        self.terminal_id = terminal_id
        self.holder = holder
        self.advice = advice
        self.call = call
        holder_text = f"; holder: {mask_text(holder)}" if holder else ""
        super().__init__(f"terminal {terminal_id} is busy{holder_text}" + (f"; {advice}" if advice else ""))


class LedgerError(GatewayError):
    """The ledger's file or database cannot be used.

    Attributes:
        location: the path of the file, or the address of the database without its password.
        reason: a description of the cause.
    """

    def __init__(self, location: str, reason: str) -> None:
        self.location = location
        self.reason = reason
        super().__init__(f"the ledger {location} cannot be used: {reason}")


class PostbackRefusedError(GatewayError):
    """A request is not a valid postback, or is not for this receiver (contract, *Events*).

    Attributes:
        status_code: the HTTP status to respond with: 400 malformed, 401 missing or wrong credentials, 403 a network
            that is not allowed, 405 a method other than POST, 408 too slow, 413 too large, 429 too many requests.
        reason: the problem, starting with the name of the field.
        retry_after: with 429, the whole seconds to send as `Retry-After`.
    """

    def __init__(self, status_code: int, reason: str, *, retry_after: int | None = None) -> None:
        self.status_code = status_code
        self.reason = mask_text(reason)
        self.retry_after = retry_after
        super().__init__(f"refused with {status_code}: {self.reason}")


class InboxError(GatewayError):
    """The inbox of postbacks cannot be used.

    Attributes:
        location: the path of the file, or the address of the database without its password.
        reason: a description of the cause.
    """

    def __init__(self, location: str, reason: str) -> None:
        self.location = location
        self.reason = reason
        super().__init__(f"the inbox {location} cannot be used: {reason}")


class JournalError(GatewayError):
    """The journal of a migration cannot be used, or belongs to another migration.

    Attributes:
        location: the path of the file, or the address of the database without its password.
        reason: a description of the cause.
    """

    def __init__(self, location: str, reason: str) -> None:
        self.location = location
        self.reason = reason
        super().__init__(f"the journal {location} cannot be used: {reason}")
