"""Files with the ids of the postback configs of `listen` commands, so that those of a killed one can be deleted.

The gateway cannot list postback configs. Each run therefore writes the ids of its configs to a file of its own, and
holds a lock on it while it runs. A file without a lock belongs to a run that was killed.
"""

import json
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from gateway_async._storage.private_file import create_private

__all__ = ["AbandonedConfigs", "ConfigIdFile", "lock_abandoned_configs", "state_folder"]

_PATTERN: Final = "listen-*.jsonl"


def state_folder() -> Path:
    """Return the folder for the files: `$XDG_STATE_HOME/gateway-async`, by default in `~/.local/state`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gateway-async"


class ConfigIdFile:
    """The file with the ids of the configs of one run.

    Args:
        folder: the folder of the file; it is created.
        gateway: the address of the gateway.
        user_id: the user who creates the configs.
    """

    def __init__(self, folder: Path, gateway: str, user_id: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._owner = {"gateway": gateway, "user_id": user_id}
        self._path = folder / _PATTERN.replace("*", uuid.uuid4().hex)
        self._descriptor = create_private(self._path)
        _lock(self._descriptor)

    def add(self, config_id: str) -> None:
        """Record a config, on disk before this returns."""
        os.write(self._descriptor, json.dumps({**self._owner, "id": config_id}).encode() + b"\n")
        os.fsync(self._descriptor)

    def close(self, remaining: Sequence[str]) -> None:
        """Release the file, and delete it if no config remains."""
        os.close(self._descriptor)
        if not remaining:
            self._path.unlink(missing_ok=True)


@attrs.frozen
class AbandonedConfigs:
    """The configs of a run that was killed."""

    config_ids: Sequence[str]
    _path: Path = attrs.field(alias="path")

    def forget(self) -> None:
        """Delete the file, because the configs are deleted."""
        self._path.unlink(missing_ok=True)


@contextmanager
def lock_abandoned_configs(folder: Path, gateway: str, user_id: str) -> Iterator[list[AbandonedConfigs]]:
    """Yield the configs of killed runs at a gateway. Another command does not get them during the block."""
    found: list[AbandonedConfigs] = []
    with ExitStack() as held:
        for path in sorted(folder.glob(_PATTERN)):
            with suppress(OSError):  # another run removed it
                file = held.enter_context(path.open("rb"))
                if _lock(file.fileno()) and (ids := _ids_in(path, gateway, user_id)):
                    found.append(AbandonedConfigs(ids, path))
        yield found


def _ids_in(path: Path, gateway: str, user_id: str) -> list[str]:
    """Return the ids in a file for this user and gateway."""
    ids: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError, KeyError, TypeError):  # a line that was cut off
            entry = json.loads(line)
            if (entry["gateway"], entry["user_id"]) == (gateway, user_id):
                ids.append(str(entry["id"]))
    return ids


def _lock(descriptor: int) -> bool:
    """Lock a file until its descriptor is closed.

    Returns:
        Whether no other process had it locked.

    Windows has no such lock; there no file counts as that of a killed run.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
