"""Postback configs that point to this machine while a command runs.

The gateway cannot list postback configs. Each run therefore writes the ids of its configs to a file of its own, and
locks it until it ends. A file without a lock belongs to a run that was killed, and the next one deletes its configs.
An address would prove less: containers may share the home folder, and each has its own 127.0.0.1.
"""

import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio
import attrs
import typer

from gateway_async import AsyncGateway, GatewayError, NotFoundError, PostbackConfigCreate, RecordDeletedError
from gateway_async._secrets import Secret
from gateway_async._storage.private_file import create_private
from gateway_async._text import pluralize
from gateway_async.cli.output import warn
from gateway_async.models.codes import PostbackResource

_PER_MERCHANT: Final = (PostbackResource.TRANSACTION, PostbackResource.TRANSACTION_BATCH)
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_FILES: Final = "listen-*.jsonl"


@attrs.frozen
class TemporaryConfigs:
    """The postback configs to create, and their target.

    Attributes:
        resources: the resources to send postbacks for.
        products: the merchant accounts whose payments and batches to send postbacks for.
        url: the address by which the gateway reaches this machine; None for the address that is listened on.
        username: the user name of the Basic credentials that the gateway sends.
        password: the password of these credentials.

    Raises:
        BadParameter: payments or batches are requested without a merchant account.
    """

    resources: Sequence[PostbackResource]
    products: Sequence[str]
    url: str | None
    username: str | None
    password: Secret | None = attrs.field(converter=attrs.converters.optional(Secret))

    def __attrs_post_init__(self) -> None:
        if not self.products and set(self.resources) & set(_PER_MERCHANT):
            raise typer.BadParameter(
                "--product-transaction-id: required for transaction and transactionbatch "
                "(not for --resource contact --resource accountvault)"
            )

    @asynccontextmanager
    async def create(self, address: str) -> AsyncIterator[int]:
        """Create the configs for a block, and yield their number. Configs that a killed run left are deleted first.

        Args:
            address: the address that is listened on.

        Raises:
            BadParameter: the gateway is not on this machine, so it cannot reach the address.
            GatewayError: a config could not be created; those created before are deleted.
        """
        if self.url is None and _is_remote(os.environ.get("GATEWAY_BASE_URL", "")):
            raise typer.BadParameter(f"--url: required, because the gateway cannot reach {address}")
        async with AsyncGateway.from_env() as gateway:
            owner = {"gateway": gateway.base_url, "user_id": os.environ.get("GATEWAY_USER_ID", "")}
            folder = _state_folder()
            await _remove_abandoned(gateway, folder, owner)
            file, config_ids = folder / _FILES.replace("*", uuid.uuid4().hex), list[str]()
            descriptor = create_private(file)
            _lock(descriptor)
            try:
                for new in self._requests(self.url or address):
                    config = await gateway.postback_configs.create(new)
                    config_ids.append(config.id)
                    os.write(descriptor, json.dumps({**owner, "id": config.id}).encode() + b"\n")
                    os.fsync(descriptor)
                yield len(config_ids)
            finally:
                try:
                    are_removed = await _remove(gateway, config_ids)
                finally:
                    os.close(descriptor)  # Windows does not delete an open file
                if are_removed:
                    await anyio.Path(file).unlink(missing_ok=True)

    def _requests(self, url: str) -> Iterator[PostbackConfigCreate]:
        for resource in self.resources:
            for product_id in self.products if resource in _PER_MERCHANT else [None]:
                yield PostbackConfigCreate(
                    url=url,
                    resource=resource,
                    product_transaction_id=product_id,
                    on_create=True,
                    on_update=True,
                    on_delete=True,
                    is_active=True,
                    basic_auth_username=self.username,
                    basic_auth_password=self.password,
                )


def _is_remote(base_url: str) -> bool:
    return urlsplit(base_url).hostname not in (*_LOCAL_HOSTS, None)


def _state_folder() -> Path:
    """Make the folder for the files: `$XDG_STATE_HOME/gateway-async`, by default in `~/.local/state`."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gateway-async"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


async def _remove_abandoned(gateway: AsyncGateway, folder: Path, owner: Mapping[str, str]) -> None:
    """Delete the configs of runs that were killed."""
    for path, config_ids in _find_abandoned(folder, owner):
        number = len(config_ids)
        warn(f"deleting {number} postback {pluralize(number, 'config')} that a killed run left")
        if await _remove(gateway, config_ids):
            await anyio.Path(path).unlink(missing_ok=True)


def _find_abandoned(folder: Path, owner: Mapping[str, str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield the files of killed runs with the ids in them. A file is locked until the next one is yielded."""
    for path in sorted(folder.glob(_FILES)):
        with suppress(FileNotFoundError), path.open("rb") as file:  # another run may have removed it
            # A run locks its file before it writes to it, so an empty one may be of a run that is about to lock it.
            if path.stat().st_size and _lock(file.fileno()):
                entries = [entry for entry in _entries(file.read()) if entry.items() >= owner.items()]
                if entries:
                    yield path, [entry["id"] for entry in entries]


def _entries(content: bytes) -> Iterator[dict[str, str]]:
    for line in content.splitlines():
        with suppress(ValueError):  # a line that was cut off
            yield json.loads(line)


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return whether no other run has locked it.

    Windows has no such lock. There, no run counts as killed.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
