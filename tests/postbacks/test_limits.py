"""`AllowedNetworks` and `RateLimit`: which peers may send postbacks, and how many in a second."""

from ipaddress import ip_network
from typing import Any

import pytest

from gateway_async.errors import PostbackRefusedError
from gateway_async.postbacks.http.networks import AllowedNetworks, network_problems
from gateway_async.postbacks.http.rate_limit import RateLimit

GATEWAY = ["203.0.113.0/24", "198.51.100.7", ip_network("2001:db8::/32")]

ALLOWED = ("203.0.113.0", "203.0.113.255", "198.51.100.7", "2001:db8:1::1", "::ffff:203.0.113.9", "::ffff:cb00:7109")
OTHERS = ("203.0.114.1", "198.51.100.8", "2001:db9::1", "127.0.0.1", "::1", "::203.0.113.9", "64:ff9b::203.0.113.9")
UNKNOWN = (None, "", "unix:", "testclient", "203.0.113.9:80", "203.0.113.9, 198.51.100.7")


def test_allowed_peers() -> None:
    """Networks, single addresses, and IPv4 as a socket of IPv6 shows it, are allowed; by default every peer is."""
    for peer in ALLOWED:
        AllowedNetworks(GATEWAY).check(peer)
    for any_peer in (None, "192.0.2.1", "unix:"):
        AllowedNetworks(None).check(any_peer)


def test_refused_peers() -> None:
    """Any other peer is 403, with the address, so that a log shows which network is missing, if it can be checked."""
    reasons = dict.fromkeys(OTHERS, "is in no allowed network") | dict.fromkeys(UNKNOWN, "does not know")
    for peer, reason in reasons.items():
        with pytest.raises(PostbackRefusedError, match=reason) as caught:
            AllowedNetworks(GATEWAY).check(peer)
        assert caught.value.status_code == 403, peer


def test_invalid_network() -> None:
    """The characters of a text would be taken for networks, and an iterator can be read only once."""
    others: Any = ("203.0.113.0/24", iter(["203.0.113.0/24"]))
    for networks in ([], ["203.0.113.1/24"], ["gateway.example"], [""], ["203.0.113.0/33"], *others):
        word = "must be a collection" if networks in others else ""
        assert [line.startswith(f"allowed_networks: {word}") for line in network_problems(networks)] == [True]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def allowed(limit: RateLimit, requests: int) -> int:
    """Return how many of some requests at the same time are allowed."""
    return sum(is_allowed(limit) for _ in range(requests))


def is_allowed(limit: RateLimit) -> bool:
    """Return whether one request is allowed."""
    try:
        limit.check()
    except PostbackRefusedError:
        return False
    return True


def test_limit() -> None:
    """As many at once as in a second; after a second as many again, and never more. A refused one costs nothing."""
    clock = Clock()
    limit = RateLimit(5, clock)
    assert allowed(limit, 1000) == 5
    for now, count in ((0.4, 2), (1000, 5), (1001, 5)):
        clock.now = now
        assert allowed(limit, 20) == count, now
    assert allowed(RateLimit(None), 10_000) == 10_000


@pytest.mark.parametrize(("per_second", "seconds"), [(100, 1), (1, 1), (0.5, 2), (0.1, 10)])
def test_wait(per_second: float, seconds: int) -> None:
    """The seconds to wait are whole, at least one; after them a request is allowed."""
    clock = Clock()
    limit = RateLimit(per_second, clock)
    while is_allowed(limit):
        pass
    with pytest.raises(PostbackRefusedError) as caught:
        limit.check()
    assert (caught.value.status_code, caught.value.retry_after) == (429, seconds)
    clock.now = seconds
    limit.check()
