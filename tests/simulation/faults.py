"""`Faults`: what a seed decides to happen to connections and requests.

A request never arrives later than `MAX_LATENESS` seconds after it was sent. The client's
`in_doubt_seconds` assume such a limit.
"""

import enum
from random import Random
from typing import Final

import attrs

IN_DOUBT_SECONDS: Final = 20.0
MAX_LATENESS: Final = 16.0

_LONG_LATENCY: Final = 0.06
"""The chance that bytes need up to 3 seconds."""

_RESPONSE_BYTES: Final = 1200
"""Bytes of a longer response."""

_SILENCE: Final = 0.3
"""The chance that a cut connection stays open without a word."""


class Fault(enum.Enum):
    """Faults of a connection, a request or its response."""

    REFUSE = "the connection is refused"
    LOSE_REQUEST = "the request is lost"
    CUT_REQUEST = "the request is cut"
    DELAY_REQUEST = "the connection is reset, and the request arrives later"
    DUPLICATE_REQUEST = "the request arrives twice"
    LOSE_RESPONSE = "the response is lost"
    CUT_RESPONSE = "the response is cut"
    PROXY = "a proxy responds"
    REPEAT_RESPONSE = "the connection repeats its last response to a read, or its last refusal, for ever"
    STATE_BEFORE = "a change is answered by the state before, and is not executed"


@attrs.frozen
class ProxyResponse:
    """A response that the gateway did not make."""

    status: int
    reason: str
    content_type: str
    body: bytes

    def to_bytes(self) -> bytes:
        """Return the response as HTTP/1.1."""
        head = f"HTTP/1.1 {self.status} {self.reason}\r\ncontent-type: {self.content_type}\r\n"
        return f"{head}content-length: {len(self.body)}\r\nconnection: close\r\n\r\n".encode() + self.body


PROXY_RESPONSES: Final = (
    ProxyResponse(404, "Not Found", "text/html", b"<html><h1>404 Not Found</h1></html>"),
    ProxyResponse(404, "Not Found", "application/json", b'{"error": "no route"}'),
    ProxyResponse(502, "Bad Gateway", "text/html", b"<html><h1>502 Bad Gateway</h1></html>"),
    ProxyResponse(403, "Forbidden", "text/html", b"<html><h1>Request blocked</h1></html>"),
    ProxyResponse(200, "OK", "text/html", b"<html><h1>Welcome</h1></html>"),
    ProxyResponse(403, "Forbidden", "application/json", b'{"message": "Forbidden"}'),
    ProxyResponse(401, "Unauthorized", "application/json", b'{"message": "Unauthorized"}'),
    ProxyResponse(422, "Unprocessable", "application/json", b'{"message": "no", "code": 4, "status": "error"}'),
    ProxyResponse(429, "Too Many Requests", "application/json", b'{"message": "slow down"}'),
)
"""Pages, and JSON of a proxy's own. Behind each the gateway may have executed the request."""

REFUSALS: Final = tuple(response for response in PROXY_RESPONSES if response.status != 200)


@attrs.frozen
class RequestFault:
    """The fate of one request and its response.

    Attributes:
        kind: the fault; None without one.
        arrives: whether the request arrives at once.
        request_bytes: how many bytes of it arrive; None means all.
        copy_after: the seconds after which it arrives without its client; None means never.
        resets: whether the connection is reset at once.
        response_bytes: how many bytes of the response arrive; None means all.
        proxy: what a proxy responds.
        repeats: whether the connection repeats its last response to a read, or its last refusal, from now on.
        shows_before: whether a change arrives as a read, so that its response shows the state before.
    """

    kind: Fault | None = None
    arrives: bool = True
    request_bytes: int | None = None
    copy_after: float | None = None
    resets: bool = False
    response_bytes: int | None = None
    proxy: ProxyResponse | None = None
    repeats: bool = False
    shows_before: bool = False

    def __str__(self) -> str:
        if self.kind is None:
            return "ok"
        facts = {
            "request bytes": self.request_bytes,
            "response bytes": self.response_bytes,
            "copy after": self.copy_after and round(self.copy_after, 6),
            "status": self.proxy and self.proxy.status,
        }
        shown = [f"{name} {value}" for name, value in facts.items() if value is not None]
        return ", ".join([self.kind.value, *shown])


_OK: Final = RequestFault()


@attrs.frozen
class Outage:
    """A time in which every request has the same fault.

    Attributes:
        start: its first second.
        end: the second after it.
        proxy: what a proxy responds, if that is the fault.
    """

    start: float
    end: float
    fault: Fault
    proxy: ProxyResponse


@attrs.define
class Faults:
    """The faults of one schedule.

    Attributes:
        seed: the seed of the schedule.
        rate: the chance that a connection or a request has a fault.
        outage: when every request has the same fault, if there is such a time.
        healed: whether faults have ended.
    """

    seed: int
    rate: float
    outage: Outage | None = None
    healed: bool = False

    def of_connection(self, number: int) -> "ConnectionFaults":
        """Return the faults of a connection.

        Each connection draws from its own sequence, so that the order of events on others does not matter.
        """
        return ConnectionFaults(self, number, Random(self.seed << 16 | number))

    def fault_of_outage(self, now: float) -> Fault | None:
        """Return the fault that every request has now."""
        is_out = self.outage is not None and self.outage.start <= now < self.outage.end
        return self.outage.fault if is_out and self.outage else None


@attrs.define
class ConnectionFaults:
    """The faults of one connection.

    Attributes:
        number: the number of the connection, from 1.
    """

    _all: Faults
    number: int
    _random: Random

    def latency(self) -> float:
        """Return the seconds that bytes need in one direction."""
        if not self._all.healed and self._random.random() < _LONG_LATENCY:
            return self._random.uniform(0.05, 3.0)
        return self._random.uniform(0.001, 0.05)

    def of_connecting(self, now: float) -> Fault | None:
        """Return the fault while the connection is opened."""
        fault = self._draw(now)
        return fault if fault in {Fault.REFUSE, Fault.LOSE_REQUEST} else None

    def of_request(self, now: float, size: int) -> RequestFault:
        """Return the fault of a request of `size` bytes."""
        draw, fault = self._random, _OK
        match self._draw(now):
            case Fault.LOSE_REQUEST as kind:
                fault = RequestFault(kind, arrives=False)
            case Fault.CUT_REQUEST as kind:
                fault = RequestFault(kind, request_bytes=draw.randrange(size), resets=True)
            case Fault.DELAY_REQUEST as kind:
                fault = RequestFault(kind, arrives=False, copy_after=draw.uniform(0.0, MAX_LATENESS), resets=True)
            case Fault.DUPLICATE_REQUEST as kind:
                fault = RequestFault(kind, copy_after=draw.uniform(0.0, MAX_LATENESS))
            case Fault.LOSE_RESPONSE as kind:
                fault = RequestFault(kind, response_bytes=0)
            case Fault.CUT_RESPONSE as kind:
                fault = RequestFault(kind, response_bytes=draw.randrange(_RESPONSE_BYTES))
            case Fault.PROXY as kind:
                late = draw.uniform(0.0, MAX_LATENESS)
                copy_after = draw.choice((None, draw.uniform(0.0, 0.1), late, late))
                fault = RequestFault(kind, arrives=False, copy_after=copy_after, proxy=self._proxy_response(now))
            case Fault.REPEAT_RESPONSE as kind:
                fault = RequestFault(kind, repeats=True)
            case Fault.STATE_BEFORE as kind:
                fault = RequestFault(kind, shows_before=True)
        return fault

    def is_silent(self) -> bool:
        """Return whether a cut connection stays open without a word."""
        return self._random.random() < _SILENCE

    def _proxy_response(self, now: float) -> ProxyResponse:
        if self._all.outage is not None and self._all.fault_of_outage(now) is Fault.PROXY:
            return self._all.outage.proxy
        return self._random.choice(PROXY_RESPONSES)

    def _draw(self, now: float) -> Fault | None:
        if self._all.healed:
            return None
        if (fault := self._all.fault_of_outage(now)) is not None:
            return fault
        return self._random.choice((*Fault, Fault.PROXY)) if self._random.random() < self._all.rate else None
