"""A gateway whose list of contacts changes between the requests."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import anyio
import httpx

from gateway_async import AsyncGateway, UserApiKey


class ChangingList(httpx.AsyncBaseTransport):
    """Answers list requests with the ids of the moment, in a fixed order.

    Attributes:
        ids: the list.
        changes: each request is answered after the next of these changes was made.
        largest: the gateway's maximum page size.
        fixed_size: the page size of a gateway that ignores `page_size`.
        has_meta: whether responses count records and pages.
        counts_first: whether records are counted before the change, and read after it.
        asked: number and size of the requested pages.
        stayed: the ids that were in the list all the time.
    """

    def __init__(
        self,
        ids: Sequence[str],
        changes: Sequence[Callable[["ChangingList"], object]] = (),
        *,
        largest: int = 5000,
        fixed_size: int | None = None,
        has_meta: bool = True,
        counts_first: bool = False,
    ) -> None:
        self.ids = [*ids]
        self.changes = [*changes]
        self.largest, self.fixed_size = largest, fixed_size
        self.has_meta, self.counts_first = has_meta, counts_first
        self.asked: list[tuple[int, int]] = []
        self._open = anyio.Event()
        self._open.set()
        self.stayed = set(ids)
        self._made = 0

    def insert(self, share: float) -> None:
        self._made += 1
        self.ids.insert(int(share * (len(self.ids) + 1)), f"new-{self._made}")

    def remove(self, share: float) -> None:
        if self.ids:
            self.discard(self.ids[int(share * len(self.ids))])

    def discard(self, name: str) -> None:
        if name in self.ids:
            self.ids.remove(name)
            self.stayed.discard(name)

    def hold(self) -> None:
        self._open = anyio.Event()

    def release(self) -> None:
        """Let responses be made from now on."""
        self._open.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """ScriptedResponse with a page of the list as it is when the response is made."""
        await self._open.wait()
        await anyio.lowlevel.checkpoint()
        number, wanted = int(request.url.params["page"]), int(request.url.params.get("page_size", "20"))
        self.asked.append((number, wanted))
        before = len(self.ids)
        if self.changes:
            self.changes.pop(0)(self)
        count = before if self.counts_first else len(self.ids)
        size = self.fixed_size or min(wanted, self.largest)
        shown = self.ids[(number - 1) * size : number * size]
        rows = [{"id": None if each == "null" else each, "last_name": each} for each in shown]
        pagination = {"totalCount": count, "pageCount": ceil(count / size), "currentPage": number - 1, "perPage": size}
        body: dict[str, Any] = {"contacts": rows} | ({"meta": {"pagination": pagination}} if self.has_meta else {})
        return httpx.Response(200, json=body)

    def gateway(self, **options: Any) -> AsyncGateway:
        return AsyncGateway(
            "https://gateway.test", developer_id="dev", credentials=UserApiKey("user", "key"), transport=self, **options
        )
