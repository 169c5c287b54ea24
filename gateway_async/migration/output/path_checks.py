"""Checks of output paths before anything is sent: each must be writable and must not replace another file."""

import os
from pathlib import Path
from typing import Final

from gateway_async._storage.private_file import check_owner
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.atomic_file import backup_path, part_path
from gateway_async.migration.output.vault_ids import SUFFIXES
from gateway_async.migration.rows.columns import PROBLEMS

__all__ = ["check_output"]

_REPORT: Final = ("report of a migration", (b'<p class="overline">Migration', b'"rows_per_second"'))
_KINDS: Final = {
    "out": ("file of vault ids", (b"account_vault_api_id",)),
    "findings": ("file of findings", (b"finding",)),
    "rejects": ("file of rejects", tuple(map(PROBLEMS.encode, ("utf-8", "utf-16-le", "utf-32-le")))),
    "report": _REPORT,
    "report-json": _REPORT,
}
"""Option, or another name → the kind of a file, and texts of which each such file contains one."""

_PEEK: Final = 65_536


def check_output(
    option: str, path: Path, *, kind: str | None = None, source: Path | None = None, force: bool = False
) -> None:
    """Reject an unusable path of an output file before anything is sent.

    Args:
        option: the name of its option.
        path: the path of the file.
        kind: the kind of its file, if that is not the option's name.
        source: the input, which must not be lost; None for standard input.
        force: whether another file may be replaced.

    Raises:
        InvalidRequestError: its folder does not exist, its suffix is unknown, it would replace the input, or another
            file is there.
    """
    _check_folder(option, path)
    if option == "out" and path.suffix.lower() not in SUFFIXES:
        raise InvalidRequestError(f"out: must end in .csv, .tsv, .jsonl or .ndjson, not {path.name!r}")
    roles = {part_path(path): "the temporary file"}
    if option == "rejects":
        roles[backup_path(path)] = "the backup"
    for used, role in roles.items():
        if source is not None and used.exists() and used.samefile(source):
            raise InvalidRequestError(f"{option}: {used}, the input, would be {role} of {path.name}")
    name, signatures = _KINDS[kind or option]
    if not force and (content := _content(path)) and not any(signature in content for signature in signatures):
        raise InvalidRequestError(f"{option}: {path} is not a {name} (expected --force to replace it)")


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
