"""Optional libraries, which the extras of this package install."""

from importlib import import_module
from typing import Any


def import_extra(module: str, *, extra: str, user: str) -> Any:
    """Import the module of an optional library.

    Args:
        module: the module's dotted name.
        extra: the extra that installs it.
        user: the class or function that needs it, for the message.

    Raises:
        ModuleNotFoundError: the library is missing; the message says how to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(missing_extra(missing.name, extra=extra, user=user), name=missing.name) from None


def missing_extra(package: str | None, *, extra: str, user: str) -> str:
    """The message how to install a missing library."""
    return f"{user} needs an extra: pip install 'gateway-async[{extra}]' ({package} is missing)"
