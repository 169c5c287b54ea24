"""The state machine of a request at a terminal."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway_async.sandbox import NothingWaitsError, Sandbox
from gateway_async.sandbox.state_machines.terminal_requests import (
    TERMINAL_REQUEST_MACHINE,
    TerminalRequestState,
    TerminalRequestTrigger,
)

from .conftest import Eventually, OpenShop


@pytest.fixture
def queue(manual: Sandbox, open_shop: OpenShop, eventually: Eventually) -> Iterator[Callable[[int], None]]:
    """Make some calls wait at the terminal."""
    shop = open_shop(manual.info)
    with ThreadPoolExecutor(8) as pool:

        def fill(count: int) -> None:
            for number in range(1, count + 1):
                pool.submit(shop.at_terminal, f"{number}.00")
                eventually(lambda: len(states(manual)) == number)  # noqa: B023  # waited for within the loop

        yield fill
        manual.reset()


def states(manual: Sandbox) -> list[str]:
    return [call["state"] for call in manual.terminals()[0]["waiting"]]


def test_next_request(manual: Sandbox, queue: Callable[[int], None]) -> None:
    """There is never a moment without an active request while others wait."""
    queue(3)
    assert states(manual) == ["waiting for a card", "queued", "queued"]
    manual.present()
    assert states(manual) == ["waiting for a card", "queued"]
    manual.cancel()
    manual.decline()
    assert states(manual) == []
    with pytest.raises(NothingWaitsError):
        manual.present()


def test_a_queued_call_ends_300_seconds_after_its_arrival(
    manual: Sandbox, queue: Callable[[int], None], eventually: Eventually
) -> None:
    queue(2)
    manual.advance(300)
    eventually(lambda: len(manual.ledger()["transactions"]) == 2)
    assert states(manual) == []


def test_an_aborted_request_leaves_the_queue(manual: Sandbox, queue: Callable[[int], None]) -> None:
    queue(2)
    manual.reset()
    assert states(manual) == []
    queue(1)
    assert states(manual) == ["waiting for a card"]


def test_ends() -> None:
    """No transition starts at an end, and every request can reach one."""
    unfinished = {TerminalRequestState.QUEUED, TerminalRequestState.WAITING, TerminalRequestState.TERMS_SHOWN}
    assert {before for before, _ in TERMINAL_REQUEST_MACHINE.transitions} == unfinished
    assert {*TERMINAL_REQUEST_MACHINE.transitions.values()} == {*TerminalRequestState} - {TerminalRequestState.QUEUED}
    assert {trigger for _, trigger in TERMINAL_REQUEST_MACHINE.transitions} == {*TerminalRequestTrigger}
