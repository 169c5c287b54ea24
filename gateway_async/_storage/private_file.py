"""Files with mode 0600 from the first byte, whatever the umask.

Every file that the client writes for a user is created here: SQLite files, reports, vault ids and rejects. Windows has
no modes; a file there gets the permissions of its folder.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

_MODE: Final = 0o600
_WIDER: Final = 0o177
_BINARY: Final = getattr(os, "O_BINARY", 0)
"""Without this flag, Windows would translate line endings."""

_SIDE_FILES: Final = ("-wal", "-shm", "-journal")
_creating: Final = Lock()


def create_private(path: str | Path) -> int:
    """Create a file and return its descriptor, open for reading and writing.

    Raises:
        FileExistsError: the path exists, also as a dangling symbolic link.
        OSError: it cannot be created.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, _MODE)
    if hasattr(os, "fchmod"):
        with suppress(OSError):  # a file system without modes
            os.fchmod(descriptor, _MODE)  # a umask may have taken the owner's own permissions
    return descriptor


def create_database(path: str | Path) -> None:
    """Create an empty file for SQLite unless it exists.

    SQLite gives its side files the same mode.

    Raises:
        OSError: it cannot be created.
    """
    # Closing a descriptor of a file drops the locks that SQLite holds on it in this process: no other thread may have
    # the file open before that.
    with _creating, suppress(FileExistsError):
        os.close(create_private(path))
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, "is a broken symbolic link", str(path))


def check_owner(path: str | Path, *, follow: bool = False) -> None:
    """Reject a path that is a symbolic link or another user's file.

    Root may use the files of other users.

    Args:
        path: the path to check; it need not exist.
        follow: whether it may be a symbolic link; then the target of the link is checked.

    Raises:
        PermissionError: the path is rejected; the message says why.
    """
    try:
        found = Path(path).stat(follow_symlinks=follow)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(errno.EPERM, "is a symbolic link (expected the file that it points to)", str(path))
    if hasattr(os, "geteuid") and os.geteuid() not in (0, found.st_uid):
        raise PermissionError(errno.EPERM, f"belongs to another user (uid {found.st_uid})", str(path))


def restrict_mode(path: str | Path) -> None:
    """Remove the permissions of other users from one of the package's files.

    Also applies to SQLite's side files. The file may have been created with a wider mode. A missing file, or one that
    cannot be changed, is ignored.
    """
    if not hasattr(os, "geteuid"):
        return
    for each in (Path(path), *(Path(f"{path}{suffix}") for suffix in _SIDE_FILES)):
        with suppress(OSError):  # it is missing, or is another user's
            mode = each.stat().st_mode
            if stat.S_ISREG(mode) and mode & _WIDER:
                each.chmod(_MODE)
