"""The report of a running migration as a page that updates itself, for browsers on this machine.

It is rendered once a second while it is open. A browser that reads slowly, or not at all, delays only its own updates.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.summary import RunContext
from gateway_async.migration.report import Report

_HOSTS: Final = ["127.0.0.1", "localhost"]
_UPDATE_SECONDS: Final = 1.0
_CLOSING_SECONDS: Final = 1.0
_HEADERS: Final = {
    "content-security-policy": "frame-ancestors 'none'",  # the page itself has the rest of its policy
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class LivePage:
    """The page and the pages that replace it, as a read-only ASGI application.

    Args:
        read: returns the current report. Without progress in its context, the migration has ended.
    """

    def __init__(self, read: Callable[[], tuple[Report, RunContext]]) -> None:
        self.app = Starlette(
            routes=[Route("/", self._show), Route("/events", self._stream)],
            # Other sites cannot read the page by a name of their own that resolves to this machine.
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False)],
        )
        self._read = read
        self._ended = anyio.Event()
        self._page = ""
        self._page_expires_at = float("-inf")

    def end(self) -> None:
        """Send the last page to the open ones."""
        self._page_expires_at = float("-inf")
        self._ended.set()

    async def _show(self, _request: Request) -> Response:
        return HTMLResponse(self._render(), headers=_HEADERS)

    async def _stream(self, request: Request) -> Response:
        return StreamingResponse(self._events(request), media_type="text/event-stream", headers=_HEADERS)

    async def _events(self, request: Request) -> AsyncIterator[str]:
        """Yield the page as a server-sent event, each second and at the end."""
        is_last = False
        while not is_last:
            is_last = self._ended.is_set()
            yield "".join(f"data: {line}\n" for line in self._render().splitlines()) + "\n"
            with anyio.move_on_after(_UPDATE_SECONDS):
                await self._ended.wait()
        with anyio.move_on_after(_CLOSING_SECONDS):  # the page closes the connection; a slow one gets a whole response
            while (await request.receive())["type"] != "http.disconnect":
                pass

    def _render(self) -> str:
        """Return the current page. All browsers share it."""
        now = anyio.current_time()
        if now >= self._page_expires_at:
            self._page = render_page(*self._read())
            self._page_expires_at = now + _UPDATE_SECONDS / 2
        return self._page
