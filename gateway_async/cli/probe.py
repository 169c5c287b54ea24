"""`probe_address`: one request without credentials, which shows address, TLS and clock of a gateway."""

import http.client
import re
import socket
import ssl
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import certifi

from gateway_async._http.proxy import Proxy

__all__ = ["Probe", "ProbeError", "probe_address"]

_PATH: Final = "/v2/contacts"
_SECONDS: Final = 10.0
_DAY: Final = 86_400.0
_TUNNEL_REFUSED: Final = re.compile("Tunnel connection failed: ([0-9]{3})")


class ProbeError(Exception):
    """The gateway does not respond; `check` names the part that fails."""

    def __init__(self, check: str, message: str) -> None:
        self.check = check
        super().__init__(message)


@attrs.frozen
class Probe:
    """The result of one request.

    Attributes:
        address: the host and the port.
        seconds: the time until the response, with the connection.
        tls: version of TLS; None for plain http.
        certificate_days: days until the certificate expires.
        clock_difference: seconds by which the gateway's clock is ahead of this machine's; None without `Date` header.
    """

    address: str
    seconds: float
    tls: str | None
    certificate_days: float
    clock_difference: float | None


def probe_address(base_url: str, proxy: Proxy | None = None) -> Probe:
    """Send one request that needs no credentials; every HTTP response counts.

    Raises:
        ProbeError: the host has no address, does not respond, or its certificate is not trusted.
    """
    url = urlsplit(base_url)
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    address = f"{host}:{port}"
    connection = _connection(url.scheme, *((host, port) if proxy is None else (proxy.host, proxy.port)))
    if proxy is not None:
        connection.set_tunnel(host, port, proxy.headers)
    began = time.perf_counter()
    try:
        connection.connect()
        encrypted: Any = connection.sock
        tls = encrypted.version() if url.scheme == "https" else None
        days = _certificate_days(encrypted) if tls else 0.0
        sent_at = time.time()
        connection.request("GET", f"{url.path.rstrip('/')}{_PATH}", headers={"connection": "close"})
        response = connection.getresponse()
        received_at = time.time()
    except ssl.SSLCertVerificationError as error:
        raise ProbeError("tls", f"{address}: the certificate is not trusted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise ProbeError("tls", f"{address}: TLS failed: {error.reason}") from None
    except socket.gaierror:
        raise ProbeError("gateway", f"{proxy.host if proxy else host}: the name has no address") from None
    except TimeoutError:
        raise ProbeError("gateway", f"{address}: no response within {_SECONDS:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise ProbeError("gateway", f"{address}: {_reason(error)}") from None
    finally:
        connection.close()
    seconds = time.perf_counter() - began
    return Probe(address, seconds, tls, days, _difference(response.getheader("date"), (sent_at + received_at) / 2))


def _reason(error: Exception) -> str:
    """Say why there is no response.

    A proxy's reason phrase is left out, because it may repeat the password.
    """
    refused = _TUNNEL_REFUSED.match(str(error))
    return f"the proxy refused: {refused[1]}" if refused else getattr(error, "strerror", None) or "no HTTP response"


def _connection(scheme: str, host: str, port: int) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=_SECONDS)
    context = ssl.create_default_context(cafile=certifi.where())
    return http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=context)


def _certificate_days(encrypted: ssl.SSLSocket) -> float:
    certificate: Any = encrypted.getpeercert()
    return (ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) / _DAY


def _difference(header: str | None, now: float) -> float | None:
    """Return the seconds by which a `Date` header is ahead of `now`; its resolution is one second."""
    try:
        sent = parsedate_to_datetime(header or "")
    except ValueError:
        return None
    moment = sent if sent.tzinfo else sent.replace(tzinfo=UTC)
    ahead = moment.timestamp() - now
    return ahead if abs(ahead) > 1 else 0.0
