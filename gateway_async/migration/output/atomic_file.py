"""Files that are written to a temporary file and moved to their path when complete."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gateway_async._storage.private_file import check_owner, create_private, restrict_mode

__all__ = ["AtomicFile", "back_up", "backup_path", "part_path"]


class AtomicFile:
    """A file of mode 0600 that is written to a `.part` file and moved to its path when complete.

    It is a context manager: an exception in the block removes the part. A part left by an earlier process is replaced.

    Args:
        path: the path of the file.
        encoding: its encoding.
        keep_previous: whether an existing file is moved to its backup path, instead of replaced.

    Attributes:
        text: the part, open for writing.

    Raises:
        OSError: the part cannot be created, or the path is a symbolic link or belongs to another user. At the end of
            the block: the disk is full, or another process has started the same file again.
    """

    def __init__(self, path: Path, encoding: str, *, keep_previous: bool = False) -> None:
        check_owner(path)
        self._path = path
        self._part = part_path(path)
        self._keep_previous = keep_previous
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
        """Flush the part to disk and move it to its path."""
        self.text.flush()
        os.fsync(self.text.fileno())
        self.text.close()
        if not self._is_own():
            raise OSError(f"another process writes {self._path}, too")
        if self._keep_previous:
            back_up(self._path)
        self._part.replace(self._path)

    def _is_own(self) -> bool:
        """Return whether the part is still this process's file."""
        return self._part.exists() and os.path.samestat(self._part_status, self._part.stat())


def part_path(path: Path) -> Path:
    """Return the path at which an incomplete file is written."""
    return path.with_name(path.name + ".part")


def backup_path(path: Path) -> Path:
    """Return the path at which the previous file is kept."""
    return path.with_name(path.name + "~")


def back_up(path: Path) -> Path | None:
    """Move an existing file to its backup path.

    The backup is readable only by its owner. Return its path; None without a file.
    """
    if not path.exists():
        return None
    check_owner(path)
    restrict_mode(path)
    return path.replace(backup_path(path))
