"""A file that is written beside its place, and moved there when it is whole; the former one may be kept."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

__all__ = ["WholeFile", "former_of", "keep_former", "part_of"]

_PRIVATE: Final = 0o600
_ORDINARY: Final = 0o666


class WholeFile:
    """A file that is written beside its place, and moved there when it is whole."""

    def __init__(self, path: Path, encoding: str, *, private: bool) -> None:
        self._path = path
        self._part = part_of(path)
        self._encoding = encoding
        self._mode = _PRIVATE if private else _ORDINARY

    @staticmethod
    def clear(path: Path) -> None:
        """Leave nothing of one that a process did not finish because it was killed; card numbers may be in it.

        Raises:
            OSError: it cannot be removed.
        """
        part_of(path).unlink(missing_ok=True)

    def open(self) -> TextIO:
        """Begin it anew."""
        self._part.unlink(missing_ok=True)
        number = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode)
        self._own = os.fstat(number)
        self._file = open(number, "w", encoding=self._encoding, errors="backslashreplace", newline="")  # noqa: SIM115, PTH123
        return self._file

    def finish(self) -> None:
        """Have it whole on the disk.

        Raises:
            OSError: there is no room, or another process has begun the same file anew.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not self._is_own():
            raise OSError(f"another process writes {self._path}, too")

    def move(self) -> None:
        """Move it to its place."""
        self._part.replace(self._path)

    def drop(self) -> None:
        """Leave no part of it; the disk may be full, and what is not written yet is lost."""
        with suppress(OSError):
            self._file.close()
        if self._is_own():
            self._part.unlink()

    def _is_own(self) -> bool:
        """Whether no other process has begun the part anew."""
        return self._part.exists() and os.path.samestat(self._own, self._part.stat())

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


def part_of(path: Path) -> Path:
    """Where the file of a place is written until it is whole."""
    return path.with_name(path.name + ".part")


def former_of(path: Path) -> Path:
    """Where the former file of a place is kept."""
    return path.with_name(path.name + "~")


def keep_former(path: Path) -> Path | None:
    """Keep the file that is there, as somebody may have begun to mend it; where it is now, if there is one."""
    return path.replace(former_of(path)) if path.exists() else None
