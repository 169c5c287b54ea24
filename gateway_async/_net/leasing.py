"""`Leasing`: a terminal's lease, waited for, prolonged while a call has it, and given back.

The law of this file: without a lease nothing is sent; what was sent goes on without one.
"""

import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import anyio

from gateway_async._net.beside import beside
from gateway_async._net.screen import Screen
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call
from gateway_async.errors import NotSentError, TerminalBusyError
from gateway_async.leases import TerminalLease
from gateway_async.observe import Event, LeaseInDoubt, TerminalState

__all__ = ["Leasing"]

_ASK_SECONDS: Final = (0.2, 0.4)
"""The shortest and the longest pause before who waits asks again; chance decides, so that they do not come together."""
_RELEASE_SECONDS: Final = 2.0
"""How long giving back may take: it is not worth more, since the lease runs out by itself."""


class Leasing:
    """Takes leases in the name of one client.

    Args:
        lease: the store; closed with this object.
        tell: told of a lease in doubt.
    """

    def __init__(self, lease: TerminalLease, tell: Callable[[Event], None]) -> None:
        self._lease = lease
        self._tell = tell
        self._token = ""

    @asynccontextmanager
    async def held(self, call: Call[Any], screen: Screen, keep: Callable[[], bool]) -> AsyncIterator[None]:
        """Hold the lease of the call's terminal; when the block ends, give it back unless `keep()`.

        Raises:
            NotSentError: the store could not be asked.
            TerminalBusyError: somebody else has it, for longer than the lease's `wait`.
        """
        try:
            await self._wait(call, screen)
        except NotSentError:
            raise
        except BaseException:
            await self._release(call)  # its place in the line
            raise
        try:
            async with beside(partial(self._prolong, call)):
                yield
        finally:
            if not keep():
                await self._release(call)

    async def aclose(self) -> None:
        """Close the store."""
        await self._lease.aclose()

    async def _wait(self, call: Call[Any], screen: Screen) -> None:
        wait, began = self._lease.wait, anyio.current_time()
        while (holder := await self._taken(call)) is not None:
            left = None if wait is None else began + wait - anyio.current_time()
            if left is not None and left <= 0:
                raise TerminalBusyError(call.terminal_id or "", holder=holder, call=str(call))
            screen.show(TerminalState.HELD, holder=holder, seconds=left)
            pause = random.uniform(*_ASK_SECONDS)  # noqa: S311
            await anyio.sleep(pause if left is None else min(pause, left))

    async def _taken(self, call: Call[Any]) -> str | None:
        try:
            return await self._ask(call)
        except Exception as error:  # noqa: BLE001  whatever a store raises, it could not be asked
            raise NotSentError(f"the terminal's lease cannot be had: {_said(error)}", call=str(call)) from None

    async def _ask(self, call: Call[Any]) -> str | None:
        """Take or prolong; None, or who has it. A store gets a third of the time that a lease lasts."""
        self._token = self._token or uuid.uuid4().hex  # not earlier: processes that are forked share what was made
        with anyio.fail_after(self._lease.seconds / 3):
            return await self._lease.take(call.terminal_id or "", self._token)

    async def _prolong(self, call: Call[Any]) -> None:
        """Prolong the lease for ever; tell of a doubt when it begins."""
        doubt = ""
        while True:
            await anyio.sleep(self._lease.seconds / 3)
            before, doubt = doubt, await self._doubt(call)
            if doubt and not before:
                self._tell(
                    LeaseInDoubt(call=str(call), api_id=call.api_id, terminal_id=call.terminal_id or "", reason=doubt)
                )

    async def _doubt(self, call: Call[Any]) -> str:
        """Prolong the lease, or say why not."""
        try:
            holder = await self._ask(call)
        except Exception as error:  # noqa: BLE001
            return _said(error)
        return "" if holder is None else f"{holder} has it"

    async def _release(self, call: Call[Any]) -> None:
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(Exception):
            await self._lease.release(call.terminal_id or "", self._token)


def _said(error: Exception) -> str:
    """What a store's error says, fit for a message."""
    return mask_text(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
