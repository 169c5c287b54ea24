"""Checks of output paths before anything is sent: each must be writable and must not replace another file."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gateway_async._storage.private_file import check_owner
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.atomic_file import backup_path, part_path
from gateway_async.migration.output.vault_ids import SUFFIXES
from gateway_async.migration.rows.columns import PROBLEMS

__all__ = ["check_rejects", "check_report", "check_vault_ids"]

_REPORT_SIGNATURES: Final = (b'<p class="overline">Migration', b'"rows_per_second"')
_PEEK: Final = 65_536


def check_vault_ids(path: Path, *, force: bool = False) -> None:
    """Reject an unusable path for vault ids before anything is sent.

    Raises:
        InvalidRequestError: its folder does not exist, its suffix is unknown, or another file is there.
    """
    _check_folder("out", path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidRequestError(f"out: must end in .csv, .tsv, .jsonl or .ndjson, not {path.name!r}")
    if not force:
        _check_content("out", path, "file of vault ids", (b"account_vault_api_id",))


def check_rejects(path: Path, source: Path | None, *, force: bool = False) -> None:
    """Reject an unusable path for rejects before anything is sent.

    Args:
        path: the path of the rejects.
        source: the input, which they must not replace; None for standard input.
        force: whether another file may be replaced.

    Raises:
        InvalidRequestError: its folder does not exist, it is the input, or another file is there.
    """
    _check_folder("rejects", path)
    if source is not None and path.exists() and path.samefile(source):
        raise InvalidRequestError(f"rejects: {path} is the input")
    for used, role in ((backup_path(path), "the backup"), (part_path(path), "the temporary file")):
        if source is not None and used.exists() and used.samefile(source):
            raise InvalidRequestError(f"rejects: {used}, the input, would be {role} of {path.name}")
    if not force:
        column_names = [PROBLEMS.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-32-le")]
        _check_content("rejects", path, "file of rejects", column_names)


def check_report(name: str, path: Path, *, force: bool = False) -> None:
    """Reject an unusable path for a report before anything is sent.

    Raises:
        InvalidRequestError: its folder does not exist, or another file is there.
    """
    _check_folder(name, path)
    if not force:
        _check_content(name, path, "report of a migration", _REPORT_SIGNATURES)


def _check_folder(name: str, path: Path) -> None:
    if path.is_dir():
        raise InvalidRequestError(f"{name}: {path} is a folder")
    if path.exists() and not path.is_file():
        raise InvalidRequestError(f"{name}: {path} is not a regular file")
    if not path.absolute().parent.is_dir():
        raise InvalidRequestError(f"{name}: folder {path.absolute().parent} does not exist")
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        raise InvalidRequestError(f"{name}: folder {path.absolute().parent} is not writable")
    try:
        check_owner(path)
    except PermissionError as error:
        raise InvalidRequestError(f"{name}: {path} {error.strerror}") from None


def _check_content(name: str, path: Path, kind: str, signatures: Iterable[bytes]) -> None:
    content = _content(path)
    if content and not any(signature in content for signature in signatures):
        raise InvalidRequestError(f"{name}: {path} is not a {kind} (expected --force to replace it)")


def _content(path: Path) -> bytes:
    """Return the beginning and the end of a file. Parquet has its header at the end."""
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK)
            file.seek(max(_PEEK, path.stat().st_size - _PEEK))
            return head + file.read(_PEEK)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InvalidRequestError(f"{path}: cannot be read: {error.strerror}") from None
