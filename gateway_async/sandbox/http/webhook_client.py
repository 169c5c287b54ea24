"""The HTTP client that posts one postback to its receiver.

Each POST uses a new connection and is limited to ten seconds. It sends nothing from this machine to a host that was not
allowed. It resolves a name once and connects to that address. It does not follow redirects and ignores proxy settings
and `.netrc`.
"""

import asyncio
import socket
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address

import attrs
import httpx

SECONDS = 10.0
"""The longest duration of an attempt, in seconds of real time."""

_BODY_LIMIT = 64 * 1024
"""Bytes of a response body that are read, to let the receiver finish normally."""

_LOCAL_NAMES = ("127.0.0.1", "::1")
"""The addresses of `localhost`, used without a DNS query."""

_METADATA = frozenset(map(ip_address, ("fd00:ec2::254", "100.100.100.200")))
"""Addresses of cloud metadata that are not link-local."""

_ERROR_TEXTS: Mapping[type[Exception], str] = {
    httpx.ConnectError: "cannot connect",
    httpx.RemoteProtocolError: "no HTTP response",
    httpx.NetworkError: "the connection failed",
    httpx.InvalidURL: "the url is invalid",
}


@attrs.frozen
class PostbackRequest:
    """One postback request: address, headers and body."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return "PostbackRequest(…)"  # the headers contain credentials


@attrs.frozen
class DeliveryResult:
    """The result of an attempt: the response status, or an error."""

    status_code: int | None = None
    error: str | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the receiver acknowledged the postback: any 2xx."""
        return self.status_code is not None and self.status_code // 100 == 2  # noqa: PLR2004  # the first digit of a success status


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

    `hosts` is the result of `read_hosts`: allowed names and addresses besides this machine.
    """

    def __init__(self, hosts: frozenset[str] = frozenset()) -> None:
        self._hosts = hosts

    async def send(self, request: PostbackRequest) -> DeliveryResult:
        """Make one attempt and return its result, even a failure."""
        deadline = asyncio.get_running_loop().time() + SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._post(request)
        except TimeoutError:
            return DeliveryResult(error=f"no response within {SECONDS:g} seconds")
        except HostNotAllowedError as reason:
            return DeliveryResult(error=str(reason))
        except Exception as error:  # noqa: BLE001  # every failure counts as a failed attempt
            return DeliveryResult(error=_describe(error))
        await _discard_body(response, deadline)
        return DeliveryResult(response.status_code)

    async def _post(self, postback: PostbackRequest) -> httpx.Response:
        url = httpx.URL(postback.url)
        *others, last = await self._addresses(url)
        for address in others:
            with suppress(httpx.ConnectError):
                return await self._post_to(address, url, postback)
        return await self._post_to(last, url, postback)

    async def _post_to(self, address: str, url: httpx.URL, postback: PostbackRequest) -> httpx.Response:
        request = httpx.Request(
            "POST",
            url.copy_with(host=address, userinfo=b""),
            headers=postback.headers | {"host": url.netloc.decode("ascii")},
            content=postback.body,
            extensions={"sni_hostname": _host_of(url)},
        )
        transport = self._encrypted_transport if url.scheme == "https" else self._plain_transport
        return await transport.handle_async_request(request)

    async def _addresses(self, url: httpx.URL) -> Sequence[str]:
        """The addresses to try, in order."""
        host = _normalize(_host_of(url))
        if host in self._hosts:
            return await _resolve(host, url.port or 0)
        if host == "localhost" or host.endswith(".localhost"):
            return _LOCAL_NAMES
        if _is_loopback(host):
            return (host,)
        raise HostNotAllowedError(f"host {host[:64]} is not this machine and was not allowed")

    @cached_property
    def _plain_transport(self) -> httpx.AsyncHTTPTransport:
        unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a default context takes long to load
        return _make_transport(unused)

    @cached_property
    def _encrypted_transport(self) -> httpx.AsyncHTTPTransport:
        return _make_transport(ssl.create_default_context())


def _make_transport(context: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    """Create a transport that opens a new connection for each request.

    A reused connection might have been closed by the receiver, which would waste an attempt.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)


async def _discard_body(response: httpx.Response, deadline: float) -> None:
    """Read and discard the response body, up to a limit."""
    received = 0
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout_at(deadline):
            async for chunk in response.aiter_raw():
                received += len(chunk)
                if received >= _BODY_LIMIT:
                    break
    with suppress(httpx.HTTPError):
        await response.aclose()


async def _resolve(host: str, port: int) -> Sequence[str]:
    if _read_address(host):
        return (host,)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]) for *_, address in found if not _is_reserved(str(address[0]))]
    if not addresses:
        raise HostNotAllowedError(f"host {host[:64]} has only addresses that may not receive postbacks")
    return addresses


def _read_host(text: str) -> str:
    name = _normalize(text.removeprefix("[").removesuffix("]"))
    if _read_address(name) or (name and name.isascii() and name.isprintable() and not set(name) & set(" /:@?#[]*")):
        return name
    raise ValueError("postback_hosts: must be host names or addresses, without scheme, port and path.")


def _host_of(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii")


def _normalize(host: str) -> str:
    return host.lower().removesuffix(".")


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(host)
    return None


def _is_loopback(host: str) -> bool:
    address = _read_address(host)
    return bool(address and _unmapped(address).is_loopback)


def _is_reserved(host: str) -> bool:
    """Whether an allowed name must not lead to an address.

    Clouds offer metadata, with credentials, at a link-local address. An address that the user has allowed itself is not
    checked.
    """
    address = _read_address(host)
    if address is None:
        return True
    address = _unmapped(address)
    return address.is_link_local or address.is_unspecified or address.is_multicast or address in _METADATA


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return getattr(address, "ipv4_mapped", None) or address


def _describe(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "the host has no address"
    return next((text for kind, text in _ERROR_TEXTS.items() if isinstance(error, kind)), type(error).__name__)
