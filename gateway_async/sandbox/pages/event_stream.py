"""Server-sent events, which tell an open page to load again.

An event has the name of what changed, and no content. A page asks for the parts of it that show this.
"""

import asyncio
import random
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.runtime.live_pages import LiveUpdates

_SPREAD_SECONDS = 0.25
"""How long an event may be delayed. Each stream waits for a different time, so many streams cause no peak of work."""
_SILENCE_SECONDS = 15.0
"""Seconds after which a comment is sent, to notice a lost browser."""


async def stream(request: PageRequest) -> Response:
    """Handle GET /events; the query has the versions that the page shows."""
    events = _events(request.gateway.live_updates, dict(request.http_request.query_params))
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _events(updates: LiveUpdates, seen: dict[str, str]) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    while True:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                await updates.wait(seen)
        except TimeoutError:
            yield ": still here\n\n"
            continue
        await asyncio.sleep(random.uniform(0, _SPREAD_SECONDS))  # noqa: S311  not a secret
        latest = updates.versions()
        yield "".join(f"event: {topic}\ndata:\n\n" for topic, version in latest.items() if seen.get(topic) != version)
        seen = latest
