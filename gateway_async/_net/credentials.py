"""`SignedTransport`: adds the credentials below httpx, where neither its log nor its errors can show them."""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from gateway_async._net.progress import PROGRESS, Stage
from gateway_async._wire.signing import Signature

__all__ = ["SIGNATURE", "TARGET", "SignedTransport"]

SIGNATURE: Final = "gateway_async.signature"
"""The request extension that holds the `Signature` to add."""

TARGET: Final = "gateway_async.target"
"""The request extension that holds the URL to send to, where the request itself shows a masked one."""


class SignedTransport(httpx.AsyncBaseTransport):
    """Adds its signature to every request and passes it on to the transport inside."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the signed copy of `request`; the original stays as it is."""
        progress = request.extensions.get(PROGRESS)
        if progress is not None:
            progress.stage = Stage.UNREPORTED  # until the transport inside says better
        return await self._inner.handle_async_request(_signed(request))

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()


def _signed(request: httpx.Request) -> httpx.Request:
    extensions: Mapping[str, Any] = request.extensions
    signature: Signature = extensions[SIGNATURE]
    url = httpx.URL(extensions[TARGET]) if TARGET in extensions else request.url
    if signature.params:
        url = url.copy_merge_params(dict(signature.params))
    proof = [(name.encode("ascii"), value.encode("ascii")) for name, value in signature.headers]
    headers = [*request.headers.raw, *proof]
    kept = {name: value for name, value in extensions.items() if name not in (SIGNATURE, TARGET)}
    signed = httpx.Request(request.method, url, headers=headers, stream=request.stream, extensions=kept)
    if isinstance(signed.stream, httpx.ByteStream):
        signed.read()  # a transport of a test may want to see the content
    return signed
