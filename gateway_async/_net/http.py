"""`Http`: one request and its answer, over httpx; or the error that says how far it got."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, urlencode

import httpx

from gateway_async._net.credentials import TARGET
from gateway_async._net.progress import PROGRESS, Progress, Stage
from gateway_async._net.transport import LANE
from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.reply import Reply, read_reply
from gateway_async.errors import (
    ConnectionLostError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
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
_NEVER_LEFT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Http:
    """Carries calls to the gateway, one request for each.

    Args:
        client: carries the requests; closed with this object.
        base_url: the gateway's address, without `/v2`.
        secrets: the credentials, which no error may repeat.
    """

    def __init__(self, client: httpx.AsyncClient, base_url: str, secrets: tuple[Secret, ...] = ()) -> None:
        self._client = client
        self._base_url = base_url
        self._secrets = secrets

    async def aclose(self) -> None:
        """Close the client and its connections."""
        await self._client.aclose()

    async def exchange(self, call: Call[T], progress: Progress, seconds: float) -> T:
        """Send `call` once and read its answer.

        Args:
            call: what to send.
            progress: is kept true on how far the request got.
            seconds: how long each phase of the exchange may take; the caller bounds the whole.

        Raises:
            NotSentError: the request provably never left.
            ConnectionLostError: it may have, and no whole answer came.
            GatewayError: what the answer says, as `read_reply` raises it.
        """
        try:
            request = self._request(call, progress, seconds)
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except Exception as error:  # noqa: BLE001  whatever a transport raises, the write may have left
            raise _failed(error, call, progress) from None  # its frames hold the body and the signed URL
        try:
            return read_reply(call, await self._whole(response, call))
        except (MalformedReplyError, MismatchedReplyError):
            await progress.discard()
            raise
        except GatewayError:
            raise
        except Exception as error:  # noqa: BLE001
            raise _failed(error, call, progress) from None
        finally:
            await response.aclose()

    async def _whole(self, response: httpx.Response, call: Call[Any]) -> Reply:
        chunks: list[bytes] = []
        size = 0
        async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_bytes())) as body:
            async for chunk in body:
                size += len(chunk)
                if size > MAX_BODY:
                    raise MalformedReplyError("$", f"longer than {MAX_BODY} bytes", call=str(call))
                chunks.append(chunk)
        return Reply(response.status_code, response.headers, b"".join(chunks), time.time(), self._secrets)

    def _request(self, call: Call[Any], progress: Progress, seconds: float) -> httpx.Request:
        query = urlencode(call.params, quote_via=quote, safe=",")
        target = f"{self._base_url}{call.path}" + (f"?{query}" if query else "")
        shown = mask_text(target)  # httpx logs the URL of every request
        phases = {"connect": min(_CONNECT_SECONDS, seconds), "read": seconds, "write": seconds, "pool": seconds}
        lane = "terminal" if call.kind is Kind.TERMINAL else "ordinary"
        extensions = {"timeout": phases, LANE: lane, PROGRESS: progress}
        if shown != target:
            extensions[TARGET] = target
        headers = _HEADERS if call.body is None else {**_HEADERS, "content-type": "application/json"}
        return httpx.Request(call.method, shown, headers=headers, content=call.body, extensions=extensions)


def cut_short(reason: str, call: Call[Any], progress: Progress) -> GatewayError:
    """The error of an exchange that ended in its midst."""
    if progress.may_have_left:
        return ConnectionLostError(reason, call=str(call))
    return NotSentError(reason, call=str(call))


def _failed(error: Exception, call: Call[Any], progress: Progress) -> GatewayError:
    reason = mask_text(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    if isinstance(error, _NEVER_LEFT) and progress.stage < Stage.SENDING:
        return NotSentError(reason, call=str(call))
    return cut_short(reason, call, progress)
