"""Masking of card numbers in texts from the gateway that a command prints."""

import re
from typing import Final

from gateway_async._secrets import mask_text

__all__ = ["mask_shown"]

_ID: Final = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{24}")
"""An id of the gateway: hexadecimal, with a letter. Its digits may look like a card number by chance."""


def mask_shown(text: str) -> str:
    """Mask card numbers in a text. An id of the gateway stays whole, so that it can be copied."""
    return text if _ID.fullmatch(text) else mask_text(text)
