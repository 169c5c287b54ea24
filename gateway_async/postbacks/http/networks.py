"""`AllowedNetworks`: the networks from which a receiver accepts requests."""

from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gateway_async.errors import PostbackRefusedError

Network = str | IPv4Network | IPv6Network
"""A network such as `"203.0.113.0/24"`, or a single address."""


class AllowedNetworks:
    """The networks of the gateway, checked against the address of the peer.

    Args:
        networks: the networks, without `network_problems`; None allows every peer.
    """

    def __init__(self, networks: Collection[Network] | None) -> None:
        self._networks = None if networks is None else [ip_network(network) for network in networks]

    def check(self, peer: str | None) -> None:
        """Check the address of a peer.

        On a server without IP addresses, such as one on a Unix socket, no peer is allowed.

        Raises:
            PostbackRefusedError: 403; the address is unknown or in no allowed network.
        """
        if self._networks is None:
            return
        address = _read_address(peer or "")
        if address is None:
            raise PostbackRefusedError(403, "peer: the server does not know its address")
        if not any(address in network for network in self._networks):
            raise PostbackRefusedError(403, f"peer: {address} is in no allowed network")


def network_problems(networks: Collection[Network] | None) -> Iterator[str]:
    """Yield one line for each problem of the allowed networks."""
    if isinstance(networks, str) or not isinstance(networks, Collection | None):  # an iterator could be read only once
        yield "allowed_networks: must be a collection of networks, such as ['203.0.113.0/24']"
        return
    if networks is not None and not networks:
        yield "allowed_networks: must have a network, or be None to allow every peer"
    for network in networks or ():
        try:
            ip_network(network)
        except ValueError as error:
            yield f"allowed_networks: {error} (expected a network such as '203.0.113.0/24')"


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address; one of IPv4 that a socket of IPv6 shows as mapped is the one of IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
