"""The life of a request at a terminal: every way it goes on, and every way it ends."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway_async.sandbox import NothingWaitsError, Sandbox
from gateway_async.sandbox.state_machines.terminal_requests import MACHINE, State, Trigger


@pytest.fixture
def manual():
    """A gateway at whose terminals nothing happens by itself."""
    with Sandbox(terminals="manual") as sandbox:
        yield sandbox


@pytest.fixture
def queue(manual, open_shop, eventually):
    """Make so many calls wait at the terminal."""
    shop = open_shop(manual.info)
    with ThreadPoolExecutor(8) as pool:

        def fill(count):
            for number in range(1, count + 1):
                pool.submit(shop.at_terminal, f"{number}.00")
                eventually(lambda: len(states(manual)) == number)  # noqa: B023  # waited for within the loop

        yield fill
        manual.reset()


def states(manual):
    """Where the calls at the terminal stand."""
    return [call["state"] for call in manual.terminals()[0]["waiting"]]


def test_the_next_in_line_has_its_turn_at_once(manual, queue):
    """There is no moment at which a card could be presented to nobody."""
    queue(3)
    assert states(manual) == ["waiting for a card", "queued", "queued"]
    manual.present()
    assert states(manual) == ["waiting for a card", "queued"]
    manual.cancel()
    manual.decline()
    assert states(manual) == []
    with pytest.raises(NothingWaitsError):
        manual.present()


def test_the_time_counts_in_line_too(manual, queue, eventually):
    """A call that never had its turn is over after its 300 seconds."""
    queue(2)
    manual.advance(300)
    eventually(lambda: len(manual.ledger()["transactions"]) == 2)
    assert states(manual) == []


def test_who_is_cut_off_leaves_the_line(manual, queue):
    """After a reset the next call has its turn."""
    queue(2)
    manual.reset()
    assert states(manual) == []
    queue(1)
    assert states(manual) == ["waiting for a card"]


def test_what_has_ended_stays_so():
    """No move leads away from an end, and every call comes to one."""
    lively = {State.QUEUED, State.WAITING}
    assert {before for before, _ in MACHINE.transitions} == lively
    assert {*MACHINE.transitions.values()} == {*State} - {State.QUEUED}
    assert {trigger for _, trigger in MACHINE.transitions} == {*Trigger}
