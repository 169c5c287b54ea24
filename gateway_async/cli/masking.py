"""Masking of what a command prints: texts from the gateway, and its own arguments."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from gateway_async._secrets import MASK, is_confidential, mask_passwords, mask_text

__all__ = ["mask_arguments", "mask_shown", "mask_usage"]

_ID: Final = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{24}")
"""An id of the gateway: hexadecimal, with a letter. Its digits may look like a card number by chance."""


def mask_shown(text: str) -> str:
    """Mask card numbers in a text. An id of the gateway stays whole, so that it can be copied."""
    return text if _ID.fullmatch(text) else mask_text(text)


_OPTION: Final = re.compile(r"(?<=[?&])([^=&]+)=[^&]*")
_FIELD: Final = re.compile(r"((?:--set=)?([^=]+))=.*", re.DOTALL)


def _mask_argument(argument: str) -> str:
    """Mask the password of an address, and card numbers."""
    if "://" in argument:
        argument = _OPTION.sub(_mask_option, mask_passwords(argument))
    return mask_text(argument)


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """Mask the arguments of a command, among them `--set ssn4=…`."""
    masked = [_mask_argument(argument) for argument in arguments]
    for index, argument in enumerate(arguments):
        is_field = argument.startswith("--set=") or (index > 0 and arguments[index - 1] == "--set")
        found = _FIELD.fullmatch(argument) if is_field else None
        if found is not None and is_confidential(found[2]):
            masked[index] = f"{found[1]}={MASK}"
    return masked


_NAMED_VALUE: Final = re.compile(
    r"""(?:"([^"]+)"\s*:\s*|(?<![\w-])-*([\w.-]+)=)(?:"(?:[^"\\]|\\.)*"|[^\s,}&:{\["=]++(?!=))"""
)
"""A value with its name, in JSON or as NAME=VALUE."""


def mask_usage(message: str) -> str:
    """Mask what a message about wrong usage repeats of the arguments: passwords, card numbers, confidential fields."""
    return mask_text(_NAMED_VALUE.sub(_mask_named_value, mask_passwords(message)))


def _mask_named_value(found: re.Match[str]) -> str:
    name = found[1] or found[2]
    return f"{name}={MASK}" if is_confidential(name) else found[0]


def _mask_option(option: re.Match[str]) -> str:
    return f"{option[1]}={MASK}" if is_confidential(unquote(option[1])) else option[0]
