"""Output files: written to a temporary file and moved to their path when complete; checks of their paths."""

import os
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Final, TextIO

from gateway_async._storage.private_file import check_owner, create_private, restrict_mode
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.columns import PROBLEMS


class AtomicFile:
    """A file of mode 0600 that is written to a `.part` file and moved to its path when complete.

    It is a context manager: an exception in the block removes the part. A part left by an earlier process is replaced.
    An existing file is replaced, or moved to the path `backup` if that is given.

    Raises:
        OSError: the part cannot be created, or the path is a symbolic link or belongs to another user. At the end of
            the block: the disk is full, or another process has started the same file again.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        check_owner(path)
        self._path = path
        self._part = part_path(path)
        self.backup: Path | None = None
        self._part.unlink(missing_ok=True)
        descriptor = create_private(self._part)
        self._part_status = os.fstat(descriptor)
        self.text: TextIO = open(descriptor, "w", encoding=encoding, errors="backslashreplace", newline="")  # noqa: SIM115, PTH123

    def __enter__(self) -> TextIO:
        return self.text

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        try:
            if kind is None:
                self._complete()
        finally:
            with suppress(OSError):  # the disk may be full
                self.text.close()
            if self._is_own():
                self._part.unlink()

    def _complete(self) -> None:
        self.text.flush()
        os.fsync(self.text.fileno())
        self.text.close()
        if not self._is_own():
            raise OSError(f"another process writes {self._path}, too")
        if self.backup:
            back_up(self._path, self.backup)
        self._part.replace(self._path)

    def _is_own(self) -> bool:
        """Return whether the part is still this process's file."""
        return self._part.exists() and os.path.samestat(self._part_status, self._part.stat())


def part_path(path: Path) -> Path:
    """The path where an incomplete file is written."""
    return path.with_name(path.name + ".part")


def backup_path(path: Path, *, unused: bool = False) -> Path:
    """The path where the previous file is kept: with a `~`, or an unused one with a number after it."""
    paths = (path.with_name(f"{path.name}~{number}") for number in count(2))
    default = path.with_name(f"{path.name}~")
    return next(other for other in chain([default], paths) if not (unused and other.exists()))


def back_up(path: Path, backup: Path) -> bool:
    """Move an existing file to its backup path, readable only by its owner. Return whether there was one."""
    if not path.exists():
        return False
    check_owner(path)
    restrict_mode(path)
    path.replace(backup)
    return True


_REPORT: Final = ("report of a migration", (b'<p class="overline">Migration', b'"rows_per_second"'))
_KINDS: Final = {
    "out": ("file of vault ids", (b"account_vault_api_id",)),
    "findings": ("file of findings", (b"finding",)),
    "rejects": ("file of rejects", tuple(map(PROBLEMS.encode, ("utf-8", "utf-16-le", "utf-32-le")))),
    "report": _REPORT,
    "report-json": _REPORT,
}
"""Option, or another name → the kind of a file, and texts of which each such file contains one."""

_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Suffixes of a file of vault ids; they select its format."""

_PEEK: Final = 65_536


def check_output(
    option: str, path: Path, *, kind: str | None = None, source: Path | None = None, force: bool = False
) -> None:
    """Reject an unusable path of an output file before anything is sent; `kind` is by default the option's name.

    Raises:
        InvalidRequestError: its folder does not exist, its suffix is unknown, it would replace the input, or another
            file is there.
    """
    _check_folder(option, path)
    if option == "out" and path.suffix.lower() not in _SUFFIXES:
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
