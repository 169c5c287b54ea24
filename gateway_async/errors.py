"""What can go wrong, as a tree; whose fault it is; and whether it is safe to try again.

    GatewayError
    ├── InvalidRequestError         yours: nothing was sent, `.problems` says what to mend
    ├── NotSentError                nobody's: the request provably never reached the gateway, safe to repeat
    │   └── ClientClosedError       yours: the client was used after it was closed
    ├── StatusError                 the gateway said no: `.status_code`, `.message`
    │   ├── BadRequestError         400
    │   ├── AuthenticationError     401, or a failed login
    │   ├── PermissionDeniedError   403
    │   ├── NotFoundError           404
    │   ├── MethodNotAllowedError   405
    │   ├── RecordDeletedError      409, `.fields` when the gateway names fields
    │   ├── ValidationError         422, `.fields`
    │   ├── RateLimitError          429, `.retry_after`
    │   └── ServerError             5xx to a read (a write that gets one is looked up)
    ├── DeadlineExceededError       a read ran out of time: safe to repeat
    ├── ConnectionLostError         a read lost its connection, again and again: safe to repeat; `.reached`
    ├── MalformedReplyError         a read's answer cannot be understood: `.path` says where
    ├── MismatchedReplyError        the answer belongs to another request
    ├── OutcomeUnknownError         nobody can say what became of a write: `.reached`, `await error.resolve()`
    │   └── MismatchedWriteError    a write got another request's answer (a MismatchedReplyError too)
    ├── DeclinedError               asked for by `transaction.raise_for_decline()`
    ├── TerminalBusyError           someone else holds the terminal
    ├── LedgerError                 the ledger's file cannot be used; a call that needs it ends as NotSentError
    ├── PostbackRefusedError        the caller's: what came is no postback of yours; `.status_code` is what to answer
    ├── InboxError                  the inbox cannot be used: postbacks are answered 503, and the gateway tries again
    └── JournalError                a migration's journal cannot be used, or is another migration's

Every error writes its own sentence from its facts, and none of them ever holds a card number or a secret.
"""

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from gateway_async._secrets import mask_text

__all__ = [
    "AuthenticationError",
    "BadRequestError",
    "ClientClosedError",
    "ConnectionLostError",
    "DeadlineExceededError",
    "DeclinedError",
    "GatewayError",
    "InboxError",
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
    "Reached",
    "RecordDeletedError",
    "ServerError",
    "StatusError",
    "TerminalBusyError",
    "ValidationError",
]


class Reached(enum.StrEnum):
    """How far a request got, as far as this side can tell; in the order of its life.

    It claims too much rather than too little: what may have left counts as sent.
    """

    NOT_CONNECTED = "not connected"
    """It waited for a connection."""
    NOTHING_WRITTEN = "connecting, nothing written"
    """A connection was being opened and secured, or was open; none of the request was written."""
    SENT = "sent in part or whole, no answer"
    """The first byte may have left; also all that a transport does not report."""
    ANSWER_CUT = "answer cut off"
    """The head of an answer came, and its body broke off."""
    ANSWERED = "answered"
    """A whole answer came, which settles nothing: a failure of the gateway's, an unreadable one, another call's."""


class GatewayError(Exception):
    """The root of every error that this package raises on purpose.

    Attributes:
        call: what was being done, such as `"POST /v2/transactions"`; empty when no call was under way.
    """

    call: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by facts: the subclasses' constructors take keywords, which `Exception` would not replay."""
        return _revive, (type(self), self.args, self._facts())

    def _facts(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _revive(kind: type[GatewayError], args: tuple[Any, ...], facts: Mapping[str, Any]) -> GatewayError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidRequestError(GatewayError):
    """The request cannot be right, so nothing was sent.

    Attributes:
        problems: one line for each thing to mend, starting with the field's name.
    """

    def __init__(self, problems: Iterable[str] | str) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("nothing was sent: " + "; ".join(self.problems))


class NotSentError(GatewayError):
    """The request provably never reached the gateway, so repeating it is safe.

    Attributes:
        reached: how far it got: `Reached.NOT_CONNECTED` or `Reached.NOTHING_WRITTEN`.
    """

    def __init__(self, reason: str, *, call: str = "", reached: Reached = Reached.NOT_CONNECTED) -> None:
        self.reason = reason
        self.call = call
        self.reached = reached
        super().__init__(f"{call or 'the request'} was not sent: {reason}")


class ClientClosedError(NotSentError):
    """The client was used after `aclose()`."""

    def __init__(self, *, call: str = "") -> None:
        super().__init__("the client is closed", call=call)


class StatusError(GatewayError):
    """The gateway answered with a status that is not a success (contract, *Errors*).

    Attributes:
        status_code: the HTTP status.
        message: the gateway's own words, card numbers masked; empty when it sent none.
        fields: field name → messages, for the answers that name fields.
        retry_after: seconds that the gateway asks to wait, or None.
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
    ) -> None:
        self.status_code = status_code
        self.call = call
        self.message = message
        self.fields: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(fields or {}))
        self.retry_after = retry_after
        said = "; ".join([*([message] if message else []), *_lines(self.fields)])
        super().__init__(f"{call or 'the call'}: {self.meaning} ({status_code})" + (f": {said}" if said else ""))

    def _facts(self) -> dict[str, Any]:
        return {**self.__dict__, "fields": dict(self.fields)}


def _lines(fields: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [f"{name}: {', '.join(messages)}" for name, messages in fields.items()]


class BadRequestError(StatusError):
    """400: the gateway could not read the request."""

    meaning = "the gateway could not read the request"


class AuthenticationError(StatusError):
    """401, or a login that failed: the developer id, user id, key, token or password is wrong or has expired."""

    meaning = "the credentials were not accepted"


class PermissionDeniedError(StatusError):
    """403: this user may not do that, or the service is not enabled for the location."""

    meaning = "not permitted"


class NotFoundError(StatusError):
    """404: no such record or endpoint."""

    meaning = "not found"


class MethodNotAllowedError(StatusError):
    """405: the endpoint does not take this method."""

    meaning = "method not allowed"


class RecordDeletedError(StatusError):
    """409: the record has been deleted, or its deletion was refused (then `.fields` says why)."""

    meaning = "the record is deleted or cannot be"


class ValidationError(StatusError):
    """422: the gateway understood the request and refuses its content; `.fields` maps field → messages."""

    meaning = "validation failed"


class RateLimitError(StatusError):
    """429: too many requests; `.retry_after` is the pause the gateway asks for, in seconds, or None."""

    meaning = "too many requests"


class ServerError(StatusError):
    """5xx to a read; a write that gets one is looked up."""

    meaning = "the gateway failed"


class DeadlineExceededError(GatewayError):
    """A read did not finish within its deadline. Nothing changed at the gateway: repeat it when you like.

    Attributes:
        seconds: the deadline.
    """

    def __init__(self, seconds: float, *, call: str = "") -> None:
        self.seconds = seconds
        self.call = call
        super().__init__(f"{call or 'the call'} did not finish within {seconds:g} s")


class ConnectionLostError(GatewayError):
    """The connection broke, or nothing more came over it, before the whole answer was there.

    Attributes:
        reached: how far the request got: `Reached.SENT` or `Reached.ANSWER_CUT`.
    """

    def __init__(self, reason: str, *, call: str = "", reached: Reached = Reached.SENT) -> None:
        self.reason = reason
        self.call = call
        self.reached = reached
        super().__init__(f"{call or 'the call'}: the connection was lost: {reason}")


class MalformedReplyError(GatewayError):
    """The gateway's answer cannot be understood.

    Attributes:
        path: where in the body, such as `$.accountvault.exp_date`.
        reason: what is wrong there.
    """

    def __init__(self, path: str, reason: str, *, call: str = "") -> None:
        self.path = path
        self.reason = reason
        self.call = call
        super().__init__(f"{call or 'the call'}: the answer cannot be read at {path}: {reason}")


class MismatchedReplyError(GatewayError):
    """The answer belongs to another request; it was thrown away with its connection.

    Attributes:
        differences: one line for each value that differs from what was asked.
    """

    differences: tuple[str, ...] = ()

    def __init__(self, differences: Iterable[str], *, call: str = "") -> None:
        self.differences = tuple(differences)
        self.call = call
        super().__init__(_mismatch(call, self.differences))


def _mismatch(call: str, differences: tuple[str, ...]) -> str:
    return f"{call or 'the call'}: the answer belongs to another request: {'; '.join(differences)}"


class OutcomeUnknownError(GatewayError):
    """A write left, no trustworthy answer came, and looking it up did not settle it.

    The record may exist, the money may have moved. Do not send it again: ask `await error.resolve()`, now or later.

    Attributes:
        api_id: the integrator id under which it can be looked up, or None when the call has none.
        sent: what was sent, secrets masked.
        reached: how far it got, the furthest of its attempts.
        reason: what happened, in words.
    """

    if TYPE_CHECKING:
        # "Is it true?" has no answer here, so type checkers refuse `if error:` (write `is not None`). At run time it is
        # true as every exception is: `logging`, `traceback` and `concurrent.futures` ask.
        def __bool__(self) -> NoReturn: ...

    def __init__(
        self,
        reason: str,
        *,
        call: str = "",
        api_id: str | None = None,
        sent: Mapping[str, Any] | None = None,
        reached: Reached = Reached.SENT,
        resolve: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        self.reason = reason
        self.call = call
        self.api_id = api_id
        self.sent: Mapping[str, Any] = dict(sent or {})
        self.reached = reached
        self._resolve = resolve
        named = f" (api id {mask_text(api_id)})" if api_id else ""
        super().__init__(f"{call or 'the call'}{named}: the outcome is unknown ({reached}): {reason}")

    async def resolve(self) -> Any:
        """Look the write up again; for up to 30 seconds, as long as it may still arrive at the gateway.

        Returns:
            The record (True for a deletion that was carried out), or None when it is certain that the write was not
            carried out: it is still not there when nothing can be under way any more.

        Raises:
            OutcomeUnknownError: it still cannot be told. A terminal may take a card for as long as `terminal_timeout`.
        """
        if self._resolve is None:
            raise self
        return await self._resolve()

    def _facts(self) -> dict[str, Any]:
        return {**self.__dict__, "_resolve": None}


class MismatchedWriteError(MismatchedReplyError, OutcomeUnknownError):
    """A write got another request's answer, and looking it up did not settle what became of it."""

    def __init__(
        self,
        differences: Iterable[str],
        *,
        call: str = "",
        api_id: str | None = None,
        sent: Mapping[str, Any] | None = None,
        reached: Reached = Reached.ANSWERED,
        resolve: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        lines = tuple(differences)
        facts: dict[str, Any] = {"call": call, "api_id": api_id, "sent": sent, "resolve": resolve}
        reason = "the answer belongs to another request"
        OutcomeUnknownError.__init__(self, reason, reached=reached, **facts)
        self.differences = lines
        self.args = (_mismatch(call, lines),)


class DeclinedError(GatewayError):
    """The issuer or the terminal said no. Raised only by `transaction.raise_for_decline()`.

    Attributes:
        transaction: the declined transaction.
        reason_code_id: the gateway's reason code, such as 1616 (insufficient funds), or None.
    """

    def __init__(self, transaction: Any, *, reason_code_id: int | None, message: str | None) -> None:
        self.transaction = transaction
        self.reason_code_id = reason_code_id
        self.message = mask_text(message or "")
        said = f": {self.message}" if message else ""
        super().__init__(mask_text(f"transaction {transaction.id} was declined (reason {reason_code_id}){said}"))


class TerminalBusyError(GatewayError):
    """Someone else is using the terminal, or an earlier call there is not settled; this call charged nothing.

    Either it was not sent, or the gateway refused it with a 403, 409 or 422 that says in words that the terminal is
    busy or in use (then `__cause__` is that refusal).

    Attributes:
        terminal_id: the terminal.
        holder: who holds it, as far as it is known: another client's `owner`, or an earlier call.
        advice: what to do about it; empty when waiting is all.
    """

    def __init__(self, terminal_id: str, *, holder: str = "", advice: str = "", call: str = "") -> None:
        self.terminal_id = terminal_id
        self.holder = holder
        self.advice = advice
        self.call = call
        held = f": {mask_text(holder)} holds it" if holder else ""
        super().__init__(f"terminal {terminal_id} is busy{held}" + (f"; {advice}" if advice else ""))


class LedgerError(GatewayError):
    """A ledger's file cannot be used.

    Attributes:
        path: the file.
        reason: why, in words.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the ledger {path} cannot be used: {reason}")


class PostbackRefusedError(GatewayError):
    """What came is no postback, or not for this receiver (contract, *Events*).

    Attributes:
        status_code: the HTTP status to answer: 400 malformed, 401 no or wrong credentials, 405 another method than
            POST, 413 too large.
        reason: what is wrong, by the name of the field.
    """

    def __init__(self, status_code: int, reason: str) -> None:
        self.status_code = status_code
        self.reason = mask_text(reason)
        super().__init__(f"refused with {status_code}: {self.reason}")


class InboxError(GatewayError):
    """An inbox of postbacks cannot be used.

    Attributes:
        place: the file, or the database.
        reason: why, in words.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"the inbox {place} cannot be used: {reason}")


class JournalError(GatewayError):
    """The journal of a migration cannot be used, or belongs to another migration.

    Attributes:
        place: the file, or the database.
        reason: why, in words.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"the journal {place} cannot be used: {reason}")
