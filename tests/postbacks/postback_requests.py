"""Postback requests as a gateway sends them, and a receiver for them."""

# ruff: noqa: ARG002  an inbox in which nothing waits need not look at its arguments

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from gateway_async._storage.sql import QueuedStore
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Claim, PostbackReceiver, PostbackState
from gateway_async.postbacks.inbox.store import _SqlInbox

SAMPLES = Path(__file__).parents[1] / "samples"
CARD = "4111111111111111"
USER, PASSWORD = "shop", "p:ss wörd"


def basic(username: str = USER, password: str = PASSWORD, scheme: str = "Basic") -> str:
    return f"{scheme} {b64encode(f'{username}:{password}'.encode()).decode()}"


HEADERS = {"Authorization": basic(), "Content-Type": "application/x-www-form-urlencoded"}


def sale(**fields: Any) -> dict[str, Any]:
    return {
        "id": "11e936d6fc3bd9f0a5bfb0e0",
        "transaction_amount": "12.50",
        "status_id": 101,
        "modified_ts": 1_550_863_259,
        **fields,
    }


def fields(record: Any = None, **others: Any) -> dict[str, Any]:
    data = msgspec.json.encode(sale() if record is None else record).decode()
    return {"type": "UPDATE", "resource": "transaction", "number_of_attempts": "1", "data": data} | others


def form(record: Any = None, **others: Any) -> bytes:
    return urlencode(fields(record, **others)).encode()


def receiver(**options: Any) -> PostbackReceiver:
    """One that asks for credentials."""
    return PostbackReceiver(USER, PASSWORD, **options)


def recording_receiver(*words: str, **options: Any) -> tuple[PostbackReceiver, list[Postback[Any]]]:
    """A receiver, and the postbacks that its handler of `words` receives."""
    shop, received = receiver(**options), list[Postback[Any]]()

    @shop.on(*words)
    async def handle(postback: Postback[Any]) -> None:
        received.append(postback)

    return shop, received


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


class MemoryInbox(_SqlInbox[QueuedStore]):
    """An inbox that keeps nothing beyond the test, and hands out nothing; `broken` answers as a full disk would."""

    def __init__(self, *, broken: bool = False) -> None:
        self.kept: dict[str, Postback[Any]] = {}
        self.broken = broken
        self.closed = 0
        self._store: Any = self

    async def store(self, postback: Postback[Any]) -> bool:
        if self.broken:
            raise InboxError("inbox.db", "the disk is full")
        new = postback.key not in self.kept
        self.kept[postback.key] = postback
        return new

    async def complete(self, claim: Claim, state: PostbackState, statements: Any = ()) -> bool:
        """Accept the call; there are no claims."""
        return False

    async def run(self, *_: Any, **__: Any) -> Any:
        return ()

    def reopen(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        self.closed += 1


def http_scope(method: str = "POST", headers: Mapping[str, str] = HEADERS, path: str = "/") -> dict[str, Any]:
    """An ASGI request without its body."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
