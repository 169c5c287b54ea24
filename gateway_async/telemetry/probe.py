"""`probe`: find out whether calls to a gateway can work, without raising its errors."""

import time
from collections.abc import Awaitable, Callable

import anyio

from gateway_async._kernel import describe_error
from gateway_async.errors import AuthenticationError, GatewayError, PermissionDeniedError
from gateway_async.telemetry.readiness import Readiness

__all__ = ["probe"]


async def probe(
    read_gateway: Callable[[], Awaitable[object]],
    count_open_intents: Callable[[], Awaitable[int]] | None,
    timeout: float,  # noqa: ASYNC109  the seconds of a scope
) -> Readiness:
    """Read once from gateway and ledger, and return the problems."""
    gateway_problem = credentials_problem = ledger_problem = open_intents = None
    started = time.monotonic()
    try:
        await read_gateway()
    except PermissionDeniedError:
        pass  # the credentials were accepted
    except AuthenticationError as error:
        credentials_problem = str(error)
    except GatewayError as error:
        gateway_problem = str(error)
    seconds = time.monotonic() - started
    if count_open_intents is not None:
        ledger_problem = f"no response within {timeout:g} s"
        with anyio.move_on_after(timeout):
            open_intents, ledger_problem = await _count(count_open_intents)
    return Readiness(
        gateway_problem=gateway_problem,
        credentials_problem=credentials_problem,
        ledger_problem=ledger_problem,
        open_intent_count=open_intents,
        seconds=seconds,
    )


async def _count(count_open_intents: Callable[[], Awaitable[int]]) -> tuple[int | None, str | None]:
    try:
        return await count_open_intents(), None
    except Exception as error:  # noqa: BLE001  a ledger of the user may raise anything
        return None, describe_error(error)
