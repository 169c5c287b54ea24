"""`Http`: one request and its answer, over httpx; or the error that says how far it got."""

import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from functools import lru_cache
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, urlencode

import httpx

from gateway_async._net.credentials import SIGNATURE, TARGET
from gateway_async._net.progress import PROGRESS, Progress, Stage
from gateway_async._net.signer import Signer
from gateway_async._net.transport import LANE
from gateway_async._net.upload import Upload, opened
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.form import Form
from gateway_async._wire.reply import Reply, read_reply
from gateway_async._wire.signing import Signature
from gateway_async.credentials import Credentials
from gateway_async.errors import (
    AuthenticationError,
    ConnectionLostError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    Reached,
)

__all__ = ["MAX_BODY", "Http", "cut_short"]

T = TypeVar("T")

MAX_BODY: Final = 64 * 1024 * 1024
"""Bytes of an answer; a page of 5000 records has some 6 MB."""

_CONNECT_SECONDS: Final = 10.0

_HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "user-agent": "gateway-async",
}
_JSON: Final = {"content-type": "application/json"}
_url: Final = lru_cache(maxsize=256)(httpx.URL)
"""A URL, parsed once: most calls go to one of a few."""

_NEVER_LEFT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Http:
    """Carries calls to the gateway, one request for each.

    Args:
        client: carries the requests; closed with this object.
        base_url: the gateway's address, without `/v2`.
        credentials: who is calling.
        developer_id: goes with every request.

    Attributes:
        gateway: that address, in the one form that all its spellings have.
    """

    def __init__(self, client: httpx.AsyncClient, base_url: str, credentials: Credentials, developer_id: str) -> None:
        self._client = client
        self._base_url = base_url
        self.gateway = str(httpx.URL(base_url))
        self._signer = Signer(credentials, developer_id, self._fetch)

    def check(self, call: Call[Any]) -> None:
        """Refuse a call that cannot be signed.

        Raises:
            InvalidRequestError: the gateway does not take the client's credentials there.
        """
        self._signer.check(call)

    async def aclose(self) -> None:
        """Revoke a token that was fetched; close the client and its connections."""
        try:
            await self._signer.aclose()
        finally:
            await self._client.aclose()

    async def exchange(self, call: Call[T], progress: Progress, seconds: float) -> T:
        """Send `call` and read its answer: once, or once more with a new token where the gateway refuses the old one.

        A 401 is given before anything is carried out, so nothing is done twice.

        Args:
            call: what to send.
            progress: is kept true on how far the request got.
            seconds: how long waiting for a connection may take; the caller bounds the whole.

        Raises:
            AuthenticationError: the credentials are refused, or the login is.
            NotSentError: the request provably never left.
            ConnectionLostError: it may have, and no whole answer came.
            GatewayError: what the answer says, as `read_reply` raises it.
        """
        signature = await self._signer.signature(call)
        try:
            result = await self._exchanged(call, progress, seconds, signature)
        except AuthenticationError:
            if not self._signer.renews(signature):
                raise
            progress.stage = Stage.QUEUED
            signature = await self._signer.signature(call)
            result = await self._exchanged(call, progress, seconds, signature)
        self._signer.accepted(signature)
        return result

    async def _fetch(self, call: Call[T], signature: Signature) -> T:
        return await self._exchanged(call, Progress(), _CONNECT_SECONDS, signature)

    async def _exchanged(self, call: Call[T], progress: Progress, seconds: float, signature: Signature) -> T:
        """One request, and its answer."""
        try:
            response = await self._answered(call, progress, seconds, signature)
        except Exception as error:  # noqa: BLE001  whatever a transport raises, the write may have left
            raise _failed(error, call, progress, signature) from None  # its frames hold the body and the signed URL
        progress.stage = Stage.ANSWERED  # also where the transport does not report
        try:
            return read_reply(call, await self._whole(response, call, signature))
        except (MalformedReplyError, MismatchedReplyError):
            await progress.discard()
            raise
        except GatewayError:
            raise
        except Exception as error:  # noqa: BLE001
            raise _failed(error, call, progress, signature) from None
        finally:
            await response.aclose()

    def _answered(
        self, call: Call[Any], progress: Progress, seconds: float, signature: Signature
    ) -> Coroutine[Any, Any, httpx.Response]:
        """The head of the answer; a form's files are open until it comes."""
        if call.form is not None:
            return self._uploaded(call, call.form, progress, seconds, signature)
        return self._sent(self._request(call, progress, seconds, signature))

    async def _uploaded(
        self, call: Call[Any], form: Form, progress: Progress, seconds: float, signature: Signature
    ) -> httpx.Response:
        async with opened(form) as upload:
            return await self._sent(self._request(call, progress, seconds, signature, upload))

    def _sent(self, request: httpx.Request) -> Coroutine[Any, Any, httpx.Response]:
        return self._client.send(request, stream=True, follow_redirects=False)

    async def _whole(self, response: httpx.Response, call: Call[Any], signature: Signature) -> Reply:
        chunks: list[bytes] = []
        size = 0
        async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_bytes())) as body:
            async for chunk in body:
                size += len(chunk)
                if size > MAX_BODY:
                    raise MalformedReplyError("$", f"longer than {MAX_BODY} bytes", call=str(call))
                chunks.append(chunk)
        return Reply(response.status_code, response.headers, b"".join(chunks), time.time(), signature.secrets)

    def _request(
        self, call: Call[Any], progress: Progress, seconds: float, signature: Signature, upload: Upload | None = None
    ) -> httpx.Request:
        query = urlencode(call.params, quote_via=quote, safe=",")
        target = f"{self._base_url}{call.path}" + (f"?{query}" if query else "")
        shown = mask_text(target, call.secrets)  # httpx logs the URL of every request
        phases = {"connect": min(_CONNECT_SECONDS, seconds), "pool": seconds}  # the caller bounds the others
        lane = "terminal" if call.kind is Kind.TERMINAL else "ordinary"
        extensions = {"timeout": phases, LANE: lane, PROGRESS: progress, SIGNATURE: signature}
        if shown != target:
            extensions[TARGET] = target
        described = upload.headers if upload else _JSON if call.body else {}
        content = upload or call.body
        headers = {**_HEADERS, **described}
        return httpx.Request(call.method, _url(shown), headers=headers, content=content, extensions=extensions)


def cut_short(reason: str, call: Call[Any], progress: Progress) -> GatewayError:
    """The error of an exchange that ended in its midst."""
    if progress.may_have_left:
        return ConnectionLostError(reason, call=str(call), reached=progress.reached)
    return NotSentError(reason, call=str(call), reached=progress.reached)


def _failed(error: Exception, call: Call[Any], progress: Progress, signature: Signature) -> GatewayError:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    reason = mask_text(said, (*call.secrets, *signature.secrets))
    if isinstance(error, _NEVER_LEFT) and progress.stage < Stage.SENDING:
        waiting = progress.stage is Stage.QUEUED or isinstance(error, httpx.PoolTimeout)
        reached = Reached.NOT_CONNECTED if waiting else Reached.NOTHING_WRITTEN
        return NotSentError(reason, call=str(call), reached=reached)
    return cut_short(reason, call, progress)
