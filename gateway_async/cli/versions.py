"""The versions that matter in a bug report."""

import importlib.metadata
import platform
import re
import sqlite3
import ssl
from collections.abc import Iterator

__all__ = ["version_lines"]

_PACKAGE = "gateway-async"
_EXTRAS = ("cli", "sandbox", "postgres", "redis", "parquet", "dask")


def version_lines() -> Iterator[str]:
    """Yield the versions of the package, of Python and of the libraries."""
    yield f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"system {platform.platform()}"
    yield ssl.OPENSSL_VERSION
    yield f"SQLite {sqlite3.sqlite_version}"
    yield from (f"{name} {version}" for name, version in sorted({*_libraries()}))


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield the dependencies that are installed, with those of the extras."""
    for requirement in importlib.metadata.requires(_PACKAGE) or ():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if name == _PACKAGE or (extra and extra[1] not in _EXTRAS):
            continue
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
