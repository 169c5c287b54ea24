"""The clock of a gateway, and the wait for the end of its requests."""

import asyncio

from gateway_async.sandbox.runtime.gateway import Gateway


def now(gateway: Gateway) -> float:
    """Return the time of the sandbox clock, in Unix seconds."""
    return gateway.clock.now()


def set_clock(gateway: Gateway, now: float) -> None:
    """Set the sandbox clock to a time in Unix seconds.

    Everything that becomes due happens at once.

    Raises:
        InvalidRequestError: The time is not between 1970 and the year 9000.
    """
    gateway.clock.set(now)


def advance(gateway: Gateway, seconds: float) -> None:
    """Move the sandbox clock forward, or back if `seconds` is negative.

    Everything that becomes due happens at once.

    Raises:
        InvalidRequestError: The clock would leave the years from 1970 to 9000.
    """
    gateway.clock.advance(seconds)


async def wait_until_idle(gateway: Gateway, *, timeout: float = 10.0, postbacks: bool = True) -> None:  # noqa: ASYNC109  # of real time
    """Wait until no request is in progress.

    After that, each request of a client that has exited was either executed or never will be. Postbacks that are
    due, and the requests that they cause, are included. A postback that waits for its next attempt is not due.
    `advance` by its `attempt_interval` makes it due.

    Args:
        timeout: The longest wait, in seconds of real time.
        postbacks: Whether to wait for postbacks too.

    Raises:
        TimeoutError: A request or a postback is still in progress.
    """
    try:
        async with asyncio.timeout(timeout):
            await gateway.listener.wait_until_idle()
            while postbacks and await gateway.postback_delivery.wait_until_idle():
                await gateway.listener.wait_until_idle()  # receivers may send requests back
    except TimeoutError:
        subject = "a request or a postback" if postbacks else "a request"
        raise TimeoutError(f"{subject} is still in progress after {format_seconds(timeout)}.") from None


def format_seconds(number: float) -> str:
    """Format a time for a message, as in "1 second"."""
    return f"{number:g} second{'s' * (number != 1)}"
