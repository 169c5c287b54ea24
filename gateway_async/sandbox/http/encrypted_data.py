"""The encrypted data of a hosted page's URL: base64 of AES-256-CBC, with a salt and a key made from a text."""

import json
from base64 import b64decode
from decimal import Decimal
from hashlib import md5
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

__all__ = ["read_encrypted_data"]


def read_encrypted_data(text: str, key: str) -> Any:
    """Decrypt the data of a URL; return its JSON value.

    Raises:
        ValueError: It has another format, or another key encrypted it.
    """
    data = b64decode(text, validate=True)
    if data[:8] != b"Salted__":
        raise ValueError("The data has no salt.")
    content = _decrypt(data[16:], _derive(key.encode(), data[8:16]))
    try:
        return json.loads(content.decode(), parse_float=Decimal)
    except RecursionError:
        raise ValueError("The data is nested too deeply.") from None


def _derive(key: bytes, salt: bytes) -> bytes:
    """Return 32 bytes for the key and 16 for the initialization vector."""
    first = md5(key + salt, usedforsecurity=False).digest()
    second = md5(first + key + salt, usedforsecurity=False).digest()
    return first + second + md5(second + key + salt, usedforsecurity=False).digest()


def _decrypt(encrypted: bytes, derived: bytes) -> bytes:
    decryptor = Cipher(algorithms.AES(derived[:32]), modes.CBC(derived[32:])).decryptor()
    unpadder = PKCS7(128).unpadder()
    padded = decryptor.update(encrypted) + decryptor.finalize()
    return unpadder.update(padded) + unpadder.finalize()
