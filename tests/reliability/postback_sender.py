"""`PostbackSender`: sends each postback again until it is acknowledged, as a gateway does, and some once more."""

from random import Random
from typing import Any, Final

import anyio
import httpx
import msgspec

CHANGES: Final = 10
"""The changes of each record."""

_NO_CONTENT: Final = 204
_REPEATED: Final = 0.1
"""The part of the acknowledged postbacks that are sent again."""

_PAUSE_SECONDS: Final = 0.02
_SENDERS: Final = 16
_SEED: Final = 20261121


class PostbackSender:
    """Sends the changes of records to a receiver, in order for each record.

    Args:
        records: the number of records; each is changed ten times.
        port: the port of the receiver on 127.0.0.1.
        transport: leads to a receiver in this process instead.

    Attributes:
        records: the number of records that were begun.
        acknowledged: the number of postbacks that were acknowledged, without repetitions.
        refused: the statuses of other responses than 204, while the receiver could not store a postback.
    """

    def __init__(self, records: int, port: int = 1, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self._transport = transport
        self._random = Random(_SEED)  # noqa: S311  no secret
        self._records = iter(range(records))
        self._is_stopped = False
        self.records = 0
        self.acknowledged = 0
        self.refused: list[int] = []

    async def send(self) -> None:
        """Send all postbacks, and return when they are acknowledged."""
        async with anyio.create_task_group() as tasks:
            for _ in range(_SENDERS):
                tasks.start_soon(self._send_records)

    def stop(self) -> None:
        """Send no further records; those that were begun are completed."""
        self._is_stopped = True

    async def _send_records(self) -> None:
        options: dict[str, Any] = {"auth": ("shop", "secret"), "timeout": 10, "trust_env": False}
        async with httpx.AsyncClient(transport=self._transport, **options) as client:
            for record in self._records:
                if self._is_stopped:
                    return
                self.records += 1
                for change in range(CHANGES):
                    await self._send_until_acknowledged(client, f"t{record}", change)
                    self.acknowledged += 1
                    if self._random.random() < _REPEATED:
                        await self._send_until_acknowledged(client, f"t{record}", change)

    async def _send_until_acknowledged(self, client: httpx.AsyncClient, record: str, change: int) -> None:
        data = {"id": record, "change": change, "modified_ts": 1_700_000_000 + change, "transaction_amount": "12.50"}
        form = {"type": "UPDATE", "resource": "transaction", "data": msgspec.json.encode(data).decode()}
        for attempt in range(1, 10_000):
            try:
                response = await client.post(self._url, data=form | {"number_of_attempts": str(attempt)})
            except httpx.TransportError:
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                if response.status_code == _NO_CONTENT:
                    return
                self.refused.append(response.status_code)
                await anyio.sleep(_PAUSE_SECONDS)
        raise RuntimeError("a postback was never acknowledged")
