"""The HTTP client that posts one postback to its receiver.

Each POST uses a new connection and is limited to ten seconds. It sends nothing from this machine to a host that was not
allowed. It resolves a name once and connects to that address. It does not follow redirects and ignores proxy settings
and `.netrc`.
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
"""The longest duration of an attempt, in seconds of real time."""

_LISTENED_TO = 64 * 1024
"""Bytes of a response body that are read, so that the receiver can finish normally."""

_LOCAL_NAMES = ("127.0.0.1", "::1")
"""The addresses of `localhost`, used without a DNS query."""

_TROUBLES: Mapping[type[Exception], str] = {
    httpx.ConnectError: "cannot connect",
    httpx.RemoteProtocolError: "no answer in HTTP",
    httpx.NetworkError: "the connection broke",
    httpx.InvalidURL: "the url is no address",
}


class Parcel(NamedTuple):
    """One postback request: address, headers and body."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return "Parcel(…)"  # the headers contain credentials


class Receipt(NamedTuple):
    """The result of an attempt: the response status, or an error."""

    status: int | None = None
    error: str | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the receiver acknowledged the postback: any 2xx."""
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004  # the first digit of a success status


class HostNotAllowedError(Exception):
    """The receiver is neither on this machine nor an allowed host."""


def read_hosts(hosts: Collection[str]) -> frozenset[str]:
    """Validate the hosts that may receive postbacks besides this machine.

    Raises:
        ValueError: A value is not a valid host name or address.
    """
    if isinstance(hosts, str):
        raise ValueError("postback_hosts: must be a collection of hosts, not one string.")
    return frozenset(map(_read_host, hosts))


class WebhookClient:
    """Sends postbacks; several can be in progress at once.

    Args:
        hosts: The result of `read_hosts`: allowed names and addresses besides those of this machine.
    """

    def __init__(self, hosts: frozenset[str] = frozenset()) -> None:
        self._hosts = hosts

    async def carry(self, parcel: Parcel) -> Receipt:
        """Make one attempt and return its result, also when it fails."""
        deadline = asyncio.get_running_loop().time() + SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._ask(parcel)
        except TimeoutError:
            return Receipt(error=f"no answer within {SECONDS:g} seconds")
        except HostNotAllowedError as reason:
            return Receipt(error=str(reason))
        except Exception as error:  # noqa: BLE001  # every failure counts as a failed attempt
            return Receipt(error=_describe(error))
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
        """Return the addresses to try, in order."""
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
        return _transport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # never used; a default context takes long to load

    @cached_property
    def _encrypted(self) -> httpx.AsyncHTTPTransport:
        return _transport(ssl.create_default_context())


def _transport(context: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    """Create a transport that opens a new connection for each request.

    A kept connection might have been closed by the receiver, which would waste an attempt.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)


async def _hear_out(answer: httpx.Response, deadline: float) -> None:
    """Read and discard the response body, up to a limit and the deadline."""
    received = 0
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout_at(deadline):
            async for chunk in answer.aiter_raw():
                received += len(chunk)
                if received >= _LISTENED_TO:
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
