"""Postback configs that point to this machine while a command runs.

The gateway cannot list postback configs. Each run therefore writes the ids of its configs to a file of its own, and
renews the time of that file while it lives. A run that sees no renewal of another file for minutes deletes its configs:
they belong to a run that was killed. No clock is read: it may jump, and goes on while a laptop sleeps. No process or
address has to be found, so this also works between containers and hosts that share the home folder.
"""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from gateway_async import AsyncGateway, GatewayError, NotFoundError, PostbackConfigCreate, RecordDeletedError
from gateway_async._storage.private_file import create_private
from gateway_async._text import pluralize
from gateway_async.cli.output import warn

_FILES: Final = "listen-*.jsonl"
_RENEWAL_SECONDS: Final = 15.0
_MISSED_RENEWALS: Final = 8
"""Own renewals, in which another run has not renewed its lease, after which it counts as killed: two minutes."""

_CREATION_SECONDS: Final = 10.0
"""Seconds that Ctrl-C waits for the id of a config that is being created; without it, nothing can delete the config."""


@asynccontextmanager
async def create_configs(configs: Sequence[PostbackConfigCreate]) -> AsyncIterator[None]:
    """Create configs for a block. Configs that a killed run left are deleted.

    Raises:
        GatewayError: a config could not be created; those created before are deleted.
    """
    async with AsyncGateway.from_env() as gateway:
        lease = _Lease(gateway, {"gateway": gateway.base_url, "user_id": os.environ.get("GATEWAY_USER_ID", "")})
        renewal = asyncio.create_task(lease.renew_often())
        try:
            for new in configs:
                await _finish(lease.create(new))
            yield
        finally:
            renewal.cancel()
            await lease.end()


class _Lease:
    """The file that names the configs of a run, and shows that the run lives.

    Args:
        gateway: the client that deletes configs.
        owner: the gateway and the user that the configs belong to.
    """

    def __init__(self, gateway: AsyncGateway, owner: Mapping[str, str]) -> None:
        self._config_ids: list[str] = []
        self._gateway = gateway
        self._owner = owner
        self._missed: dict[Path, tuple[int, int]] = {}
        self._file = _state_folder() / _FILES.replace("*", uuid.uuid4().hex)
        os.close(create_private(self._file))

    async def create(self, new: PostbackConfigCreate) -> None:
        """Create a config, and write it down."""
        config_id = (await self._gateway.postback_configs.create(new)).id
        self._config_ids.append(config_id)
        with self._file.open("ab") as file:
            file.write(json.dumps({**self._owner, "id": config_id}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    async def renew_often(self) -> None:
        """Renew the lease, and delete the configs of runs that have not renewed theirs."""
        while True:
            try:
                os.utime(self._file)
            except FileNotFoundError:
                warn(f"{self._file} is gone: another run may have deleted the postback configs; start this one again")
                return
            except OSError as error:
                warn(f"cannot renew {self._file}: {error.strerror}")
            else:
                await self._remove_abandoned()
            await asyncio.sleep(_RENEWAL_SECONDS)

    async def end(self) -> None:
        """Delete the configs; the file remains if one is left."""
        if await _remove(self._gateway, self._config_ids):
            self._file.unlink(missing_ok=True)

    async def _remove_abandoned(self) -> None:
        for path in sorted(self._file.parent.glob(_FILES)):
            with suppress(OSError):  # another run may have removed it, or another user owns it
                if path == self._file or not self._is_abandoned(path):
                    continue
                entries = [entry for entry in _entries(path.read_bytes()) if entry.items() >= self._owner.items()]
                if entries:
                    number = len(entries)
                    warn(f"deleting {number} postback {pluralize(number, 'config')} that a killed run left behind")
                    if await _remove(self._gateway, [entry["id"] for entry in entries]):
                        path.unlink()

    def _is_abandoned(self, path: Path) -> bool:
        renewed_at = path.stat().st_mtime_ns
        known, missed = self._missed.get(path, (renewed_at, -1))
        missed = missed + 1 if known == renewed_at else 0
        self._missed[path] = renewed_at, missed
        return missed >= _MISSED_RENEWALS


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work. A cancellation lets it end first, if it does so soon."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_CREATION_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise


def _state_folder() -> Path:
    """Make the folder for the files: `$XDG_STATE_HOME/gateway-async`, by default in `~/.local/state`."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gateway-async"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _entries(content: bytes) -> Iterator[dict[str, str]]:
    for line in content.splitlines():
        with suppress(ValueError):  # a line that was cut off
            entry = json.loads(line)
            if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                yield entry


async def _remove(gateway: AsyncGateway, config_ids: Sequence[str]) -> bool:
    """Delete configs. Return whether none of them is left."""
    are_removed = True
    for config_id in config_ids:
        try:
            await gateway.postback_configs.delete(config_id)
        except (NotFoundError, RecordDeletedError):
            pass
        except GatewayError as error:
            warn(f"cannot delete the postback config {config_id}: {error}")
            are_removed = False
    return are_removed
