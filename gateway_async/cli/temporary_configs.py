"""Postback configs that point to this machine while a command runs."""

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import attrs
import typer

from gateway_async import AsyncGateway, GatewayError, NotFoundError, PostbackConfigCreate, RecordDeletedError
from gateway_async._secrets import Secret
from gateway_async._text import pluralize
from gateway_async.cli.config_id_file import ConfigIdFile, lock_abandoned_configs, state_folder
from gateway_async.cli.errors import warn
from gateway_async.models.codes import PostbackResource

__all__ = ["TemporaryConfigs"]

_PER_MERCHANT: Final = (PostbackResource.TRANSACTION, PostbackResource.TRANSACTION_BATCH)
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


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
            owner = (state_folder(), gateway.base_url, os.environ.get("GATEWAY_USER_ID", ""))
            await _remove_abandoned(gateway, *owner)
            id_file, config_ids, remaining = ConfigIdFile(*owner), list[str](), list[str]()
            try:
                for new in self._requests(self.url or address):
                    config = await gateway.postback_configs.create(new)
                    id_file.add(config.id)
                    config_ids.append(config.id)
                yield len(config_ids)
            finally:
                try:
                    remaining = await _remove(gateway, config_ids)
                finally:
                    id_file.close(remaining)

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


async def _remove_abandoned(gateway: AsyncGateway, folder: Path, address: str, user_id: str) -> None:
    """Delete the configs of runs that were killed."""
    with lock_abandoned_configs(folder, address, user_id) as found:
        for each in found:
            number = len(each.config_ids)
            warn(f"deleting {number} postback {pluralize(number, 'config')} that a killed run left")
            if not await _remove(gateway, each.config_ids):
                each.forget()


async def _remove(gateway: AsyncGateway, config_ids: Sequence[str]) -> list[str]:
    """Delete configs, and return those that are still there."""
    remaining: list[str] = []
    for config_id in config_ids:
        try:
            await gateway.postback_configs.delete(config_id)
        except (NotFoundError, RecordDeletedError):
            pass
        except GatewayError as error:
            warn(f"cannot delete the postback config {config_id}: {error}")
            remaining.append(config_id)
    return remaining
