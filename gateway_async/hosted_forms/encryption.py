"""Encryption of a hosted page's data: AES-256-CBC with a key made from a text.

The format is that of `openssl enc -aes-256-cbc -md md5`: `Salted__`, eight bytes of salt, and the encrypted data. The
key and the initialization vector are MD5 digests of the text and the salt (`EVP_BytesToKey` of OpenSSL).
"""

from hashlib import md5
from typing import Any, Final

from gateway_async._kernel import import_extra
from gateway_async._secrets import Secret

__all__ = ["SALT_BYTES", "decrypt", "encrypt"]

SALT_BYTES: Final = 8
_MAGIC: Final = b"Salted__"
_KEY_BYTES: Final = 32
_VECTOR_BYTES: Final = 16
_BLOCK_BITS: Final = 128


def encrypt(content: bytes, key: Secret, salt: bytes) -> bytes:
    """Return the salt and the encrypted content."""
    padder, encryptor = _padding().padder(), _cipher(key, salt).encryptor()
    padded = padder.update(content) + padder.finalize()
    encrypted: bytes = _MAGIC + salt + encryptor.update(padded) + encryptor.finalize()
    return encrypted


def decrypt(data: bytes, key: Secret) -> bytes:
    """Return the content. With another key it is an error, or seldom garbage.

    Raises:
        ValueError: the data has another format, or the key is wrong.
    """
    start = len(_MAGIC) + SALT_BYTES
    if not data.startswith(_MAGIC) or len(data) < start:
        raise ValueError("the data has no salt")
    decryptor, unpadder = _cipher(key, data[len(_MAGIC) : start]).decryptor(), _padding().unpadder()
    padded = decryptor.update(data[start:]) + decryptor.finalize()
    content: bytes = unpadder.update(padded) + unpadder.finalize()
    return content


def _padding() -> Any:
    return _import("padding").PKCS7(_BLOCK_BITS)


def _cipher(key: Secret, salt: bytes) -> Any:
    ciphers = _import("ciphers")
    derived = _derive(key.reveal().encode(), salt)
    return ciphers.Cipher(ciphers.algorithms.AES(derived[:_KEY_BYTES]), ciphers.modes.CBC(derived[_KEY_BYTES:]))


def _derive(key: bytes, salt: bytes) -> bytes:
    """Return the encryption key, followed by the initialization vector."""
    derived = digest = b""
    while len(derived) < _KEY_BYTES + _VECTOR_BYTES:
        digest = md5(digest + key + salt, usedforsecurity=False).digest()
        derived += digest
    return derived


def _import(module: str) -> Any:
    return import_extra(
        f"cryptography.hazmat.primitives.{module}", extra="hosted-pages", user="the URL of a hosted page"
    )
