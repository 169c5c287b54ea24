"""`__version__` of this package, which the build reads here, and the `User-Agent` header with it."""

from typing import Final

__version__ = "0.2.0"

USER_AGENT: Final = (b"User-Agent", f"gateway-async/{__version__}".encode())
