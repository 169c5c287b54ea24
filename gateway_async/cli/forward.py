"""Forward postbacks to another address, and try again when it does not acknowledge them."""

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import attrs

from gateway_async._backoff import exponential_backoff
from gateway_async.errors import InvalidRequestError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.keyed_lock import KeyedLock
from gateway_async.sandbox.http.webhook_client import DeliveryResult, PostbackRequest, WebhookClient, read_hosts

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_OWN_HEADERS: Final = frozenset(
    {"connection", "content-length", "expect", "host", "keep-alive", "te", "transfer-encoding", "upgrade"}
)
"""Headers that belong to one connection; the others are forwarded."""


@attrs.frozen
class Target:
    """The address to which postbacks are forwarded.

    Attributes:
        url: the address, without user name and password.
        authorization: the `Authorization` header for the address; None keeps the request's.
    """

    url: str
    authorization: str | None = attrs.field(repr=False)

    @classmethod
    def parse(cls, option: str, url: str) -> "Target":
        """Read the address that an option names, which may contain a user name and a password.

        Raises:
            InvalidRequestError: it is not an http or https address.
        """
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # wrong brackets, or a port above 65535; Python's message may contain the password
            parts, is_address = urlsplit(""), False
        if not is_address:
            problem = "must be an http or https address (expected http://localhost:8000/postbacks/)"
            raise InvalidRequestError(f"{option}: {problem}")
        netloc = parts.netloc.rpartition("@")[2]
        pair = None if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = None if pair is None else f"Basic {base64.b64encode(pair.encode()).decode()}"
        return cls(urlunsplit((parts.scheme, netloc, parts.path, parts.query, "")), authorization)

    @property
    def host(self) -> str:
        """The host of the address."""
        return urlsplit(self.url).hostname or ""

    @property
    def shown(self) -> str:
        """The address without its query, which may hold a secret."""
        return self.url.partition("?")[0]


@attrs.frozen
class Forward:
    """One attempt to forward a postback.

    Attributes:
        pause: seconds until the next attempt; None after the last one.
    """

    postback: Postback[Any]
    target: Target
    attempt: int
    result: DeliveryResult
    seconds: float
    pause: float | None


class Forwarder:
    """Forwards postbacks; postbacks about the same record go one after the other.

    A postback is sent with the body and the headers that it came with, so also with its credentials.

    Args:
        target: where to.
        attempts: how often a postback is sent that is not acknowledged with a 2xx.
        on_attempt: called after each attempt.
    """

    def __init__(self, target: Target, attempts: int, on_attempt: Callable[[Forward], object]) -> None:
        self._target = target
        self._attempts = attempts
        self._on_attempt = on_attempt
        self._client = WebhookClient(read_hosts([target.host]))
        self._locks = KeyedLock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, postback: Postback[Any], headers: Mapping[str, str], body: bytes) -> None:
        """Send a postback in the background until it is acknowledged, or all attempts are used."""
        task = asyncio.create_task(self._forward(postback, headers, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> int:
        """Give up the postbacks that are not acknowledged yet, and return their number."""
        tasks = [task for task in self._tasks if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(tasks)

    async def _forward(self, postback: Postback[Any], headers: Mapping[str, str], body: bytes) -> None:
        async with self._locks.of((postback.resource, postback.record_id or postback.key)):
            for attempt in range(1, self._attempts + 1):
                pause = await self._send(postback, headers, body, attempt)
                if pause is None:
                    break
                await asyncio.sleep(pause)

    async def _send(
        self, postback: Postback[Any], headers: Mapping[str, str], body: bytes, attempt: int
    ) -> float | None:
        """Make one attempt, and return the pause before the next one."""
        began = time.perf_counter()
        result = await self._client.send(PostbackRequest(self._target.url, self._headers(headers), body))
        is_last = result.is_acknowledged or attempt == self._attempts
        pause = None if is_last else exponential_backoff(attempt, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        self._on_attempt(Forward(postback, self._target, attempt, result, time.perf_counter() - began, pause))
        return pause

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}
        return kept if self._target.authorization is None else kept | {"authorization": self._target.authorization}
