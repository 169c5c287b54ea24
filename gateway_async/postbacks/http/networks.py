"""`AllowedNetworks`: the networks from which a receiver accepts requests."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gateway_async.errors import PostbackRefusedError

__all__ = ["AllowedNetworks", "Network"]

Network = str | IPv4Network | IPv6Network
"""A network such as `"203.0.113.0/24"`, or a single address."""


class AllowedNetworks:
    """The networks of the gateway, checked against the address of the peer.

    Args:
        networks: the networks; None allows every peer.

    Raises:
        ValueError: a network is invalid or has host bits, or the collection is empty.
        TypeError: `networks` is a single text.
    """

    def __init__(self, networks: Collection[Network] | None) -> None:
        if isinstance(networks, str):
            raise TypeError("allowed_networks: must be a collection of networks, such as ['203.0.113.0/24']")
        self._networks = None if networks is None else [_read_network(network) for network in networks]
        if self._networks == []:
            raise ValueError("allowed_networks: must have a network, or be None to allow every peer")

    def check(self, peer: str | None) -> None:
        """Check the address of a peer.

        A server without IP addresses, such as one on a Unix socket, has no peer that is allowed.

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


def _read_network(network: Network) -> IPv4Network | IPv6Network:
    try:
        return ip_network(network)
    except ValueError as error:
        raise ValueError(f"allowed_networks: {error} (expected such as '203.0.113.0/24')") from None


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; one of IPv4 that a socket of IPv6 shows as mapped is the one of IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
