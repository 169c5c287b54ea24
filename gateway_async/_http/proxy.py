"""`Proxy`: an HTTP proxy, and the tunnel that it opens to a gateway (CONNECT, RFC 9110 section 9.3.6).

The request of a call is sent only after the proxy has agreed, so a refusal is never an unknown outcome.
"""

from base64 import b64encode
from typing import Final, Self
from urllib.parse import unquote

import attrs
import httpx

from gateway_async._http.response_parser import ResponseParser
from gateway_async._secrets import Secret

_FORM: Final = 'must be an address such as "http://proxy.example:3128"'
_DEFAULT_PORT: Final = 80
_PORTS: Final = range(1, 65_536)
_SUCCESS: Final = range(200, 300)


@attrs.frozen
class Proxy:
    """An HTTP proxy.

    Attributes:
        host: its name or address.
        port: its port.
        authorization: the value of the header `Proxy-Authorization`; None for a proxy without credentials.
    """

    host: str
    port: int
    authorization: Secret | None = None

    @classmethod
    def parse(cls, address: str) -> "tuple[Self | None, str]":
        """Read `http://host:port`, or `http://user:password@host:port` with percent-encoded credentials.

        Returns the proxy, and "" or what is wrong with the address. No error is raised, because its traceback would
        show the password.
        """
        try:
            url = httpx.URL(address)
            host = url.host
            is_host = bool(host.encode("idna"))  # a host that IDNA cannot decode or encode is a ValueError
        except (TypeError, ValueError, httpx.InvalidURL):
            return None, _FORM
        port = _DEFAULT_PORT if url.port is None else url.port
        is_bare = url.path in ("", "/") and not url.query and not url.fragment
        if url.scheme != "http" or not is_host or not is_bare or port not in _PORTS:
            return None, _FORM
        if not url.userinfo:
            return cls(host, port), ""
        user, _, password = url.userinfo.partition(b":")
        pair = f"{unquote(user.decode())}:{unquote(password.decode())}"
        return cls(host, port, Secret(f"Basic {b64encode(pair.encode()).decode()}")), ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a request to the proxy needs, with the plain credentials."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization.reveal()}

    def connect_request(self, host: str, port: int) -> bytes:
        """The request for a tunnel to a gateway."""
        authority = f"{_in_url(host)}:{port}"
        lines = (f"{name}: {value}" for name, value in {"Host": authority, **self.headers}.items())
        return "\r\n".join((f"CONNECT {authority} HTTP/1.1", *lines, "", "")).encode("ascii")


def _in_url(host: str) -> str:
    """A host as a URL has it: an IPv6 address in brackets, another name in ASCII."""
    return f"[{host}]" if ":" in host else host.encode("idna").decode()


class Tunnel:
    """A proxy's response to CONNECT.

    Attributes:
        is_open: whether the proxy has agreed; what follows is sent to the gateway.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._response = ResponseParser()
        self._tail = b""

    def feed(self, data: bytes) -> None:
        """Read what the proxy sent; b"" is the end of the connection.

        Raises:
            httpx.ProxyError: the proxy refused, did not speak HTTP, or sent data before the gateway can have.
        """
        response = self._response
        if not data:
            raise httpx.ProxyError("the proxy closed the connection")
        self._tail += data
        try:
            response.feed(data)
        except httpx.RemoteProtocolError as error:
            raise httpx.ProxyError(f"the proxy's response: {error}") from None
        if not response.head_seen:
            return
        if response.status not in _SUCCESS:
            raise httpx.ProxyError(f"the proxy refused: {response.status}")  # its reason phrase may repeat the password
        # Whatever its head says, a success has no body (RFC 9110): what follows is not from the gateway.
        if self._tail.partition(b"\r\n\r\n")[2]:
            raise httpx.ProxyError("the proxy sent data before the request")
        self.is_open = True
