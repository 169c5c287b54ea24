"""`DirectClient`: an httpx client that passes each request to its transport unchanged."""

from collections.abc import Coroutine
from typing import Any

import httpx

__all__ = ["DirectClient"]


class DirectClient(httpx.AsyncClient):
    """An httpx client without cookies, redirects, authentication flows, event hooks and httpx's log line.

    Only the transport therefore receives a request with credentials.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        super().__init__(transport=transport, trust_env=False)
        self._direct_transport = transport

    # Not a coroutine function: it would be one more frame of each call.
    def send(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, request: httpx.Request, **_options: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Send a request; return its response before the body is read."""
        return self._direct_transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the transport, also again if closing was interrupted."""
        await self._direct_transport.aclose()
