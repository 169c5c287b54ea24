"""Files that are written to a temporary file and moved to their path when complete."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gateway_async._storage.private_file import check_owner, create_private, restrict_mode

__all__ = ["AtomicFile", "back_up", "backup_path", "part_path"]


class AtomicFile:
    """A file of mode 0600 that is written to a `.part` file and moved to its path when complete."""

    def __init__(self, path: Path, encoding: str) -> None:
        self._path = path
        self._part = part_path(path)
        self._encoding = encoding

    @staticmethod
    def clear(path: Path) -> None:
        """Remove an incomplete file of a killed process. It may contain card numbers.

        Raises:
            OSError: it cannot be removed.
        """
        part_path(path).unlink(missing_ok=True)

    def open(self) -> TextIO:
        """Open the part for writing. A part left by an earlier process is removed.

        Raises:
            OSError: it cannot be created, or the path is a symbolic link or belongs to another user.
        """
        check_owner(self._path)
        self._part.unlink(missing_ok=True)
        descriptor = create_private(self._part)
        self._part_status = os.fstat(descriptor)
        self._file = open(descriptor, "w", encoding=self._encoding, errors="backslashreplace", newline="")  # noqa: SIM115, PTH123
        return self._file

    def finish(self) -> None:
        """Flush the complete part to disk and close it.

        Raises:
            OSError: the disk is full, or another process has started the same file again.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not self._is_own():
            raise OSError(f"another process writes {self._path}, too")

    def move(self) -> None:
        """Move the part to its path."""
        self._part.replace(self._path)

    def drop(self) -> None:
        """Remove the part, unless another process owns it. Errors of closing it are ignored: the disk may be full."""
        with suppress(OSError):
            self._file.close()
        if self._is_own():
            self._part.unlink()

    def _is_own(self) -> bool:
        """Return whether the part is still this process's file."""
        return self._part.exists() and os.path.samestat(self._part_status, self._part.stat())

    def __enter__(self) -> TextIO:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None:
            self.drop()
            return
        try:
            self.finish()
            self.move()
        except OSError:
            self.drop()
            raise


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
