"""`HttpClient`: send one request over httpx and read its response.

If that fails, the error states how far the request got.
"""

import re
import time
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import anyio
import anyio.lowlevel
import httpx

from gateway_async._execution.events import TraceHeaders, read_trace_headers
from gateway_async._execution.tokens import Authenticator
from gateway_async._http.event_loop import EventLoop
from gateway_async._http.exchange import BodyTooLongError, read_response_body
from gateway_async._http.messages import BaseUrl, LazyRequest, header_lines, headers_of
from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.transport import FRESH, POOL, DirectClient
from gateway_async._http.upload import Upload, open_upload
from gateway_async._secrets import Secret, quote_text, strip_traceback
from gateway_async._wire.auth import Signature
from gateway_async._wire.call import Call, Form, RepeatEffect
from gateway_async._wire.query import plain_params
from gateway_async._wire.reply import Reply, read_reply
from gateway_async.credentials import Credentials, user_digest
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    SendStage,
    StatusError,
)

__version__ = "0.3.0"
"""The version of this package, which the build reads here, and which the `User-Agent` header shows."""

T = TypeVar("T")

MAX_BODY: Final = 64 * 1024 * 1024
"""Maximum bytes of a response. A page of 5000 records has about 6 MB."""

_CONNECT_SECONDS: Final = 10.0

_CLOSING_SECONDS: Final = 10.0
"""Maximum seconds for closing the connections, and for revoking a token before."""

_HEADERS: Final = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "gzip, deflate"),
    ("User-Agent", f"gateway-async/{__version__}"),
)
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
"""Methods whose requests usually have a body. Some servers demand its length, also if it is empty (411)."""
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,  # raised while the tunnel is opened, before the request
    httpx.UnsupportedProtocol,
)

_FROM_PEER: Final = re.compile(r"(?s)(?<=^[1-5][0-9]{2}) .*|:? *(?:\bbytearray\()?\bb['\"].*")
"""A peer's words in an error of httpx: the reason phrase of a proxy, and lines that are not HTTP.

Both may repeat what was sent.
"""


class HttpClient:
    """Sends calls to the gateway, one request for each.

    Attributes:
        gateway: `base_url`, normalized so that all its spellings are equal.
        user: the `user_digest` of the credentials.
        is_closed: whether later calls are rejected.
    """

    def __init__(
        self,
        client: DirectClient,
        base_url: str,
        credentials: Credentials,
        developer_id: str,
        trace_headers: TraceHeaders | None = None,
    ) -> None:
        self._client = client
        self._trace_headers = trace_headers
        url = httpx.URL(base_url)
        self.gateway = str(url)
        self.user = user_digest(credentials)
        self._base = BaseUrl.parse(url)
        self._signed_lines: tuple[Signature, Secret] | None = None
        self._authenticator = Authenticator(credentials, developer_id, self._fetch)
        self.is_closed = False
        self._event_loop: EventLoop | None = None

    def check(self, call: Call[Any]) -> None:
        """Check that the client is usable, and that its credentials can sign the call."""
        self.check_usable(call)
        self._authenticator.check(call)

    def check_usable(self, call: Call[Any] | str) -> None:
        """Check that the client is open and belongs to this event loop; raise `NotSentError` otherwise.

        A connection belongs to the event loop that opened it, and would hang in another one.
        """
        if self.is_closed:
            raise ClientClosedError(call=str(call))
        if self._event_loop is None:
            self._event_loop = EventLoop()
        elif not self._event_loop.is_current:
            raise _in_another_event_loop(call)

    def now(self) -> float:
        return anyio.current_time() if self._event_loop is None else self._event_loop.now()

    def deadline(self, at: float) -> anyio.CancelScope:
        """Open a cancel scope that ends at the time `at`, by the clock of `now()`; `forget` it after its block."""
        return anyio.CancelScope(deadline=at) if self._event_loop is None else self._event_loop.deadline(at)

    def forget(self, deadline: anyio.CancelScope) -> None:
        """Drop a cancel scope whose block has ended, so that it never gets a timer."""
        if self._event_loop is not None:
            self._event_loop.open_scopes.pop(deadline, None)

    def check_closable(self) -> None:
        """Check that an open client is closed in its own event loop; raise `NotSentError` otherwise."""
        if not self.is_closed and self._event_loop and not self._event_loop.is_current:
            raise _in_another_event_loop("aclose()")

    async def aclose(self) -> None:
        """Revoke a token that was fetched; close the connections. Later calls are rejected.

        Raises:
            GatewayError: they do not close in time.
        """
        self.is_closed = True
        with anyio.move_on_after(_CLOSING_SECONDS):
            try:
                await self._authenticator.aclose()
            finally:
                await self._client.aclose()
            return
        raise GatewayError(f"the connections were not closed within {_CLOSING_SECONDS:g} s")

    def send(self, call: Call[T], progress: Progress) -> Coroutine[Any, Any, T]:
        """Send `call` once and read its response.

        `progress` shows how far the request got. The caller limits the time.

        Raises:
            AuthenticationError: the credentials or the login were rejected.
            NotSentError: the request was certainly not sent.
            ConnectionLostError: it may have been sent, and no complete response arrived.
            GatewayError: the error in the response, as `read_reply` raises it.
        """
        signature = self._authenticator.ready_signature(call)
        if signature is None:
            return self._send_with_token(call, progress)
        return self._send(call, progress, signature)

    async def _send_with_token(self, call: Call[T], progress: Progress) -> T:
        """Send `call` with a token; drop the token if it is rejected."""
        signature = await self._authenticator.fetch_signature(call)
        try:
            result = await self._send(call, progress, signature)
        except AuthenticationError as error:
            if self._authenticator.discard_token(signature):
                error.has_new_token = True
            raise
        self._authenticator.extend_token(signature)
        return result

    def _fetch(self, call: Call[T], signature: Signature) -> Coroutine[Any, Any, T]:
        return self._send(call, Progress(), signature)

    async def _send(self, call: Call[T], progress: Progress, signature: Signature) -> T:
        """Send one request and read its response.

        The frames below contain plain secrets. Every error, also a cancellation, is therefore detached from them: none
        gives access to the body, the URL or a header. For the same reason, no local variable holds the request.
        """
        response: httpx.Response | None
        reply: Reply | None
        try:
            if progress.before_sending is not None:
                await progress.check()  # the package's own transport repeats it once there is a connection
            if call.request.form is None:
                response = await self._client.send(self._request(call, progress, signature))
            else:
                response = await self._open_form(call, call.request.form, progress, signature)
            progress.stage = Stage.RESPONSE_STARTED  # also if the transport does not report it
            progress.status_code = response.status_code
            reply = Reply(
                response.status_code,
                headers_of(response),
                await read_response_body(response, MAX_BODY),
                time.time(),
                signature.secrets,
            )
            return read_reply(call, reply)
        except GatewayError as error:
            if isinstance(error, MalformedReplyError | MismatchedReplyError) or _may_arrive_twice(call, error):
                await progress.discard()
            failure: BaseException = strip_traceback(error)
        except BodyTooLongError:
            await progress.discard()
            failure = MalformedReplyError("$", f"longer than {MAX_BODY} bytes", call=str(call))
        except Exception as error:  # noqa: BLE001  whatever a transport raises, the write may have been sent
            failure = _to_gateway_error(error, call, progress, signature)
        except BaseException as error:  # noqa: BLE001  a cancellation must be re-raised as the same object
            failure = strip_traceback(error)
        response = reply = None
        try:
            raise failure
        finally:
            del failure  # its traceback refers to this frame

    async def _open_form(self, call: Call[Any], form: Form, progress: Progress, signature: Signature) -> httpx.Response:
        """Send a request with files, which are open until its response begins."""
        response: httpx.Response | None = None
        try:
            async with open_upload(form) as upload:
                response = await self._client.send(self._request(call, progress, signature, upload))
                return response  # noqa: RET504  its connection is released below if closing the files fails
        except BaseException:
            if response is not None:  # closing the files failed, or was cancelled
                await response.aclose()
            raise

    def _request(
        self, call: Call[Any], progress: Progress, signature: Signature, upload: Upload | None = None
    ) -> httpx.Request:
        target, body, lines = call.request.path, call.request.body or b"", self._lines(signature)
        if params := (*call.request.params, *signature.params):
            target = f"{target}?{urlencode(plain_params(params), quote_via=quote, safe=',')}"
        if call.fresh_connection:
            lines += "Connection: close\r\n"
        if self._trace_headers is not None:
            lines += header_lines(read_trace_headers(self._trace_headers))
        if upload is not None:
            lines += header_lines(upload.headers.items())
        elif body:
            lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        elif call.request.method in _WITH_BODY:
            lines += "Content-Length: 0\r\n"
        request = LazyRequest(
            call.request.method,
            self._base,
            target,
            lines,
            body if upload is None else upload,
            {
                "timeout": {"connect": _CONNECT_SECONDS},
                POOL: "terminal" if call.repeat_effect is RepeatEffect.TERMINAL else "ordinary",
                PROGRESS: progress,
                FRESH: call.fresh_connection,
            },
        )
        progress.stage = Stage.UNREPORTED  # until the transport reports a stage
        return request

    def _lines(self, signature: Signature) -> str:
        """The headers that all requests with a signature have."""
        if self._signed_lines is None or self._signed_lines[0] is not signature:
            fields = (("Host", self._base.host), *_HEADERS, *plain_params(signature.headers))
            self._signed_lines = signature, Secret(header_lines(fields))
        return self._signed_lines[1].reveal()


def _in_another_event_loop(call: Call[Any] | str) -> NotSentError:
    return NotSentError("the client belongs to another event loop (expected one client for each loop)", call=str(call))


def _may_arrive_twice(call: Call[Any], error: GatewayError) -> bool:
    """Whether a second copy of the response could be taken for the refusal of the next write."""
    return (
        not call.repeat_effect.is_read
        and isinstance(error, StatusError)
        and error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    )


def interruption_error(reason: str, call: Call[Any], progress: Progress) -> GatewayError:
    """Build the error of an interrupted request."""
    if progress.may_have_been_sent:
        return ConnectionLostError(reason, call=str(call), reached=progress.reached)
    return NotSentError(reason, call=str(call), reached=progress.reached)


def _to_gateway_error(error: Exception, call: Call[Any], progress: Progress, signature: Signature) -> GatewayError:
    said = _FROM_PEER.sub("", str(error))
    description = f"{type(error).__name__}: {said}" if said else type(error).__name__
    reason = quote_text(description, (*call.request.secrets, *signature.secrets))
    if isinstance(error, _NOT_SENT) and progress.stage is Stage.UNREPORTED:
        reached = SendStage.NOT_CONNECTED if isinstance(error, httpx.PoolTimeout) else SendStage.NOTHING_WRITTEN
        return NotSentError(reason, call=str(call), reached=reached)
    return interruption_error(reason, call, progress)
