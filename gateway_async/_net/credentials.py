"""`SignedTransport`: adds the credentials below httpx, where neither its log nor its errors can show them."""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from gateway_async._net.progress import PROGRESS, Stage
from gateway_async._wire.signing import Signature

__all__ = ["TARGET", "SignedTransport"]

TARGET: Final = "gateway_async.target"
"""The request extension that holds the URL to send to, where the request itself shows a masked one."""


class SignedTransport(httpx.AsyncBaseTransport):
    """Signs every request and passes it on to the transport inside."""

    def __init__(self, inner: httpx.AsyncBaseTransport, signature: Signature) -> None:
        self._inner = inner
        self._signature = signature

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the signed copy of `request`; the original stays as it is."""
        progress = request.extensions.get(PROGRESS)
        if progress is not None:
            progress.stage = Stage.UNREPORTED  # until the transport inside says better
        return await self._inner.handle_async_request(self._signed(request))

    def _signed(self, request: httpx.Request) -> httpx.Request:
        extensions: Mapping[str, Any] = request.extensions
        url = httpx.URL(extensions[TARGET]) if TARGET in extensions else request.url
        if self._signature.params:
            url = url.copy_merge_params(dict(self._signature.params))
        headers = request.headers.copy()
        headers.update(dict(self._signature.headers))
        signed = httpx.Request(request.method, url, headers=headers, stream=request.stream, extensions=dict(extensions))
        if isinstance(signed.stream, httpx.ByteStream):
            signed.read()  # a transport of a test may want to see the content
        return signed

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()
