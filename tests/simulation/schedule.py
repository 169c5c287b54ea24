"""`Schedule`: what a seed means: operations with their times, crashes, and the rate of faults."""

import enum
from random import Random
from typing import Final

import attrs

from tests.simulation.faults import IN_DOUBT_SECONDS, REFUSALS, Fault, Outage

_START_SECONDS: Final = 8.0
"""Seconds in which operations start."""

_SIZES: Final = (3, 3, 3, 4, 4, 5, 6, 8)
"""Numbers of operations. Small schedules find most, and run fast."""

_OUTAGES: Final = (  # a proxy that responds is the most dangerous
    Fault.REFUSE,
    Fault.LOSE_REQUEST,
    Fault.DELAY_REQUEST,
    Fault.LOSE_RESPONSE,
    Fault.PROXY,
    Fault.PROXY,
    Fault.PROXY,
    Fault.REPEAT_RESPONSE,
    Fault.REPEAT_RESPONSE,
    Fault.STATE_BEFORE,
)
_RATES: Final = (0.0, 0.05, 0.15, 0.3, 0.5)


class Action(enum.Enum):
    """The work of a program in one operation."""

    SALE = "sale"
    CAPTURE = "authorization and capture"
    VOID = "sale and void"
    REFUND = "sale and refund"
    VAULT = "account vault"
    TERMINAL = "sale at a terminal"
    READ = "list"


@attrs.frozen
class Operation:
    """One operation of a program.

    Attributes:
        number: its position in the schedule, from 0.
        till: the number of the machine.
        at: the second at which it starts.
        api_id: the integrator id; None lets the client generate it.
        pause: the seconds between an authorization and its capture.
        reuses: the number of an earlier operation with the same id and amount, for another kind of payment.
        cancel_after: the seconds after which its task is cancelled, if at all.
        resolutions: for an unknown outcome: seconds to pause, and the `wait` of the lookup, for each try.
    """

    number: int
    action: Action
    till: int
    at: float
    api_id: str | None
    cancel_after: float | None
    resolutions: tuple[tuple[float, float], ...]
    reuses: int | None = None
    pause: float = 0.0

    @property
    def amount(self) -> str:
        """The amount, different for each id."""
        return f"{20 + (self.number if self.reuses is None else self.reuses)}.00"


@attrs.frozen
class Crash:
    """A crash and the restart after it.

    Attributes:
        till: the number of the machine; None for the gateway.
        at: the second of the crash.
        down: the seconds until the restart.
        loses_power: whether the whole machine crashes, so that only synced files survive.
        recovery_wait: the `wait` of the recovery after the restart.
    """

    till: int | None
    at: float
    down: float
    loses_power: bool
    recovery_wait: float


@attrs.frozen
class Recovery:
    """One call of `recover()` while faults happen.

    Attributes:
        till: the number of the machine.
        at: the second at which it starts.
        wait: the `wait` of the call.
    """

    till: int
    at: float
    wait: float


@attrs.frozen
class ClockStep:
    """A step of all wall clocks.

    Attributes:
        at: the second at which they step.
        seconds: how far; negative is back.
    """

    at: float
    seconds: float


@attrs.frozen
class LeaseLoss:
    """How a machine loses a lease, right after it was granted.

    Attributes:
        till: the name of the machine.
        at: the second from which its next lease is lost.
        stalled: the seconds for which it then stalls, and opens no connection.
        cut_off: the seconds for which it does not reach the store of leases.
        is_flushed: whether the store forgets the lease.
    """

    till: str
    at: float
    stalled: float
    cut_off: float
    is_flushed: bool


@attrs.frozen
class Schedule:
    """The schedule of one seed.

    Attributes:
        tills: the number of machines.
        rate: the chance that a connection or a request has a fault.
        outage: when every request has the same fault, if there is such a time.
        lease_loss: how a machine loses its lease of the terminal, if it does.
    """

    seed: int
    tills: int
    operations: tuple[Operation, ...]
    crashes: tuple[Crash, ...]
    recoveries: tuple[Recovery, ...]
    clock_steps: tuple[ClockStep, ...]
    rate: float
    outage: Outage | None
    lease_loss: LeaseLoss | None

    @classmethod
    def of(cls, seed: int) -> "Schedule":
        """Return the schedule of a seed."""
        draw = Random(seed)
        tills = draw.choice((1, 2, 2))
        actions = draw.choices((*Action,), weights=(3, 2, 2, 2, 1, 5, 2), k=draw.choice(_SIZES))
        operations = [_operation(draw, number, action, tills) for number, action in enumerate(actions)]
        _reuse_an_id(draw, operations)
        return cls(
            seed=seed,
            tills=tills,
            crashes=tuple(_crashes(draw, tills)),
            recoveries=tuple(_recoveries(draw, tills)),
            clock_steps=tuple(_clock_steps(draw)),
            rate=draw.choice(_RATES),
            outage=_outage(draw) if draw.random() < 0.4 else None,
            lease_loss=_lease_loss(draw, operations) if tills > 1 else None,
            operations=tuple(operations),
        )


def _operation(draw: Random, number: int, action: Action, tills: int) -> Operation:
    return Operation(
        number,
        action,
        till=draw.randrange(tills),
        at=draw.uniform(0.0, _START_SECONDS),
        api_id=f"operation-{number}" if draw.random() < 0.6 else None,
        cancel_after=draw.uniform(0.0, 4.0) if draw.random() < 0.12 else None,
        resolutions=tuple(_resolution(draw) for _ in range(draw.choice((0, 1, 1, 2, 2)))),
    )


def _reuse_an_id(draw: Random, operations: list[Operation]) -> None:
    """Let a sale have the integrator id of an authorization, by mistake."""
    authorizations = [each for each in operations if each.action is Action.CAPTURE and each.api_id is not None]
    sales = [each for each in operations if each.action is Action.SALE]
    if authorizations and sales:
        sale, first = draw.choice(sales), draw.choice(authorizations)
        at = first.at + draw.uniform(0.3, 2.0)
        operations[sale.number] = attrs.evolve(sale, at=at, api_id=first.api_id, reuses=first.number)
        operations[first.number] = attrs.evolve(first, pause=draw.uniform(0.0, 6.0))


def _clock_steps(draw: Random) -> list[ClockStep]:
    """Return the steps of the wall clocks: by seconds, as they are adjusted, or by an hour."""
    steps = draw.choice((0, 0, 0, 1, 2))
    return [ClockStep(draw.uniform(0.0, 60.0), draw.choice((-3600.0, -5.0, 5.0, 3600.0))) for _ in range(steps)]


def _resolution(draw: Random) -> tuple[float, float]:
    """Return the pause before a lookup, often after the time in doubt, and its `wait`."""
    pause = draw.choice((0.0, draw.uniform(0.0, 8.0), IN_DOUBT_SECONDS + 1.0))
    return pause, draw.choice((0.0, 0.5, 3.0))


def _crashes(draw: Random, tills: int) -> list[Crash]:
    """Return the crashes of machines, and perhaps one of the gateway; each machine crashes once at most."""
    crashed = [till for till in range(tills) if draw.random() < 0.25]
    targets = [*crashed, *([None] if draw.random() < 0.2 else [])]
    return [
        Crash(
            till,
            at=draw.uniform(0.05, _START_SECONDS + 4.0),
            down=draw.uniform(0.1, 12.0),
            loses_power=draw.random() < 0.5,
            recovery_wait=draw.choice((0.0, 2.0)),
        )
        for till in targets
    ]


def _recoveries(draw: Random, tills: int) -> list[Recovery]:
    """Return pairs of recoveries: the first sees the open intents, and the second comes after most are in doubt."""
    pairs = [till for till in range(tills) if draw.random() < 0.25]
    times = ((0.0, 30.0), (35.0, 80.0))
    return [Recovery(till, draw.uniform(*at), draw.choice((0.0, 0.0, 2.0))) for till in pairs for at in times]


def _outage(draw: Random) -> Outage:
    start = draw.uniform(0.0, 10.0)
    seconds = draw.choice((draw.uniform(1.0, 10.0), draw.uniform(25.0, 60.0), draw.uniform(25.0, 60.0)))
    return Outage(start, start + seconds, draw.choice(_OUTAGES), draw.choice(REFUSALS))


def _lease_loss(draw: Random, operations: list[Operation]) -> LeaseLoss | None:
    """Let two tills use the terminal at about the same time; the first loses its lease."""
    terminals = [each for each in operations if each.action is Action.TERMINAL]
    if len(terminals) < 2 or draw.random() < 0.3:
        return None
    first, second = draw.sample(terminals, 2)
    operations[first.number] = attrs.evolve(first, till=0)
    stalled = draw.uniform(4.0, 9.0)
    operations[second.number] = attrs.evolve(second, till=1, at=first.at + draw.uniform(0.0, stalled))
    cut_off, is_flushed = draw.choice(((0.0, False), (draw.uniform(5.0, 20.0), False), (0.0, True)))
    return LeaseLoss("till-0", first.at, stalled, cut_off, is_flushed)
