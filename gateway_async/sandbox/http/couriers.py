"""A courier carries one postback to its receiver: a POST over a connection of its own, within ten seconds.

The law of this file: nothing leaves this machine for a host that was not allowed. A name is resolved once and the
connection goes to that very address; redirects are not followed, and no proxy or `.netrc` has a say.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, NamedTuple

import httpx

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SECONDS = 10.0
"""How long an attempt may take, in real time."""

_LISTENED_TO = 64 * 1024
"""Bytes of an answer's body that are read, so that the receiver may end in good order."""

_LOCAL_NAMES = ("127.0.0.1", "::1")
"""What `localhost` means, without asking anybody."""

_TROUBLES: Mapping[type[Exception], str] = {
    httpx.ConnectError: "cannot connect",
    httpx.RemoteProtocolError: "no answer in HTTP",
    httpx.NetworkError: "the connection broke",
    httpx.InvalidURL: "the url is no address",
}


class Parcel(NamedTuple):
    """What is carried to whom."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return "Parcel(…)"  # it has credentials


class Receipt(NamedTuple):
    """What came back: the status of an answer, or what went wrong."""

    status: int | None = None
    error: str | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the receiver has it: any 2xx."""
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004  # HTTP's own number


class HostNotAllowedError(Exception):
    """A receiver that is neither on this machine nor allowed."""


def read_hosts(hosts: Collection[str]) -> frozenset[str]:
    """Read the hosts to which postbacks may go beside this machine.

    Raises:
        ValueError: One of them is no name of a host.
    """
    if isinstance(hosts, str):
        raise ValueError("postback_hosts: must be a collection of hosts, not one string.")
    return frozenset(map(_read_host, hosts))


class Courier:
    """Carries parcels, as many at once as are asked for.

    Args:
        hosts: What `read_hosts` has read: names and addresses beside this machine's own to which it may go.
    """

    def __init__(self, hosts: frozenset[str] = frozenset()) -> None:
        self._hosts = hosts

    async def carry(self, parcel: Parcel) -> Receipt:
        """Make one attempt; whatever goes wrong stands in the receipt."""
        deadline = asyncio.get_running_loop().time() + SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._ask(parcel)
        except TimeoutError:
            return Receipt(error=f"no answer within {SECONDS:g} seconds")
        except HostNotAllowedError as reason:
            return Receipt(error=str(reason))
        except Exception as trouble:  # noqa: BLE001  # every failure on the way is a failed attempt
            return Receipt(error=_describe(trouble))
        await _hear_out(answer, deadline)
        return Receipt(answer.status_code)

    async def _ask(self, parcel: Parcel) -> httpx.Response:
        url = httpx.URL(parcel.url)
        *others, last = await self._addresses(url)
        for address in others:
            with suppress(httpx.ConnectError):
                return await self._ask_at(address, url, parcel)
        return await self._ask_at(last, url, parcel)

    async def _ask_at(self, address: str, url: httpx.URL, parcel: Parcel) -> httpx.Response:
        request = httpx.Request(
            "POST",
            url.copy_with(host=address, userinfo=b""),
            headers=parcel.headers | {"host": url.netloc.decode("ascii")},
            content=parcel.body,
            extensions={"sni_hostname": _host_of(url)},
        )
        transport = self._encrypted if url.scheme == "https" else self._plain
        return await transport.handle_async_request(request)

    async def _addresses(self, url: httpx.URL) -> Sequence[str]:
        """The addresses to try, in this order."""
        host = _plain_name(_host_of(url))
        if host in self._hosts:
            return await _resolve(host, url.port or 0)
        if host == "localhost" or host.endswith(".localhost"):
            return _LOCAL_NAMES
        if _is_loopback(host):
            return (host,)
        raise HostNotAllowedError(f"host {host[:64]} is not this machine and was not allowed")

    @cached_property
    def _plain(self) -> httpx.AsyncHTTPTransport:
        return _transport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # never used, and the others take long to load

    @cached_property
    def _encrypted(self) -> httpx.AsyncHTTPTransport:
        return _transport(ssl.create_default_context())


def _transport(context: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    """A connection for each request: one that was kept might be dead, and an attempt lost with it."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)


async def _hear_out(answer: httpx.Response, deadline: float) -> None:
    """Read what the receiver says beside its status, which nobody needs, while there is time."""
    heard = 0
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout_at(deadline):
            async for chunk in answer.aiter_raw():
                heard += len(chunk)
                if heard >= _LISTENED_TO:
                    break
    with suppress(httpx.HTTPError):
        await answer.aclose()


async def _resolve(host: str, port: int) -> Sequence[str]:
    if _read_address(host):
        return (host,)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _read_host(text: str) -> str:
    name = _plain_name(text.removeprefix("[").removesuffix("]"))
    if _read_address(name) or (name and name.isascii() and name.isprintable() and not set(name) & set(" /:@?#[]*")):
        return name
    raise ValueError("postback_hosts: must be host names or addresses, without scheme, port and path.")


def _host_of(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii")


def _plain_name(host: str) -> str:
    return host.lower().removesuffix(".")


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(host)
    return None


def _is_loopback(host: str) -> bool:
    address = _read_address(host)
    mapped = getattr(address, "ipv4_mapped", None)
    return bool(address and (mapped or address).is_loopback)


def _describe(trouble: Exception) -> str:
    if isinstance(trouble, socket.gaierror):
        return "the host has no address"
    return next((text for kind, text in _TROUBLES.items() if isinstance(trouble, kind)), type(trouble).__name__)
