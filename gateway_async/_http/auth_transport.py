"""`AuthTransport`: add credentials in the transport, below `httpx.AsyncClient`.

The log and the errors of httpx therefore cannot show them.
"""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from gateway_async._http.progress import PROGRESS, Stage
from gateway_async._wire.auth import Signature

__all__ = ["SIGNATURE", "TARGET", "AuthTransport"]

SIGNATURE: Final = "gateway_async.signature"
"""The request extension that holds the `Signature` to add."""

TARGET: Final = "gateway_async.target"
"""The request extension for the real URL, if the request has a masked one."""


class AuthTransport(httpx.AsyncBaseTransport):
    """Adds the signature to every request and passes it to the inner transport."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a signed copy of `request`; the original is not changed."""
        progress = request.extensions.get(PROGRESS)
        if progress is not None:
            progress.stage = Stage.UNREPORTED  # until the inner transport reports a stage
        response = await self._inner.handle_async_request(_signed(request))
        response.extensions.pop("reason_phrase", None)  # httpx logs it, and a server may send any text in it
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def _signed(request: httpx.Request) -> httpx.Request:
    extensions: Mapping[str, Any] = request.extensions
    signature: Signature = extensions[SIGNATURE]
    url = httpx.URL(extensions[TARGET]) if TARGET in extensions else request.url
    if signature.params:
        url = url.copy_merge_params(dict(signature.params))
    signature_headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in signature.headers]
    headers = [*request.headers.raw, *signature_headers]
    kept = {name: value for name, value in extensions.items() if name not in (SIGNATURE, TARGET)}
    signed = httpx.Request(request.method, url, headers=headers, stream=request.stream, extensions=kept)
    if isinstance(signed.stream, httpx.ByteStream):
        signed.read()  # a test's transport may read the content
    return signed
