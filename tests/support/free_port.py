"""`free_port`: a port for a server that a test stops and starts again."""

import socket
from pathlib import Path
from random import randrange

FIRST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports that Linux gives to outgoing connections. One of them may be taken while the server is down."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that no program uses and that no outgoing connection gets."""
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32_768
    while True:
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", randrange(FIRST, end)))  # noqa: S311  not a secret
            except OSError:
                continue
            number: int = free.getsockname()[1]
            return number
