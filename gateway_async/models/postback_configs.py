"""Postback configs: the URLs for postbacks and the changes that trigger them (contract, *Postback config*)."""

from datetime import datetime
from typing import ClassVar, Literal

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.codes import PostbackResource
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, FieldRule, Id, LocationId, Request, RequiredWhen, Unset

ConfigResource = Literal["contact", "transaction", "transactionbatch", "accountvault"] | PostbackResource


def _secret(value: str | Secret | Unset | None) -> Secret | Unset | None:
    return value if value is None or isinstance(value, Unset) else Secret(value)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PostbackConfig(Record):
    """A postback config."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    location_id: str | None = None
    """The location whose records are watched."""
    resource: PostbackResource | None = None
    """The kind of record: `contact`, `transaction`, `transactionbatch` or `accountvault`."""
    product_transaction_id: str | None = None
    """The merchant account whose transactions or batches are watched."""
    url: str | None = None
    """The URL that receives the postbacks."""
    on_create: bool | None = None
    """Whether creating a record sends a postback."""
    on_update: bool | None = None
    """Whether changing a record sends a postback."""
    on_delete: bool | None = None
    """Whether deleting a record sends a postback."""
    is_active: bool | None = None
    """Whether the config is in effect."""
    format: str | None = None
    """The format of the postbacks, such as `api-default`."""
    number_of_attempts: int | None = None
    """The maximum number of delivery attempts."""
    attempt_interval: int | None = None
    """Seconds between two attempts."""
    expands: str | None = None
    """Related records to include, separated by commas."""
    basic_auth_username: str | None = None
    """The username that the gateway sends with each postback; None unless it is expanded."""
    basic_auth_password: Secret | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The password for the username, masked; None unless it is expanded."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PostbackConfigCreate(Request):
    """A new postback config."""

    url: str
    """The URL that receives the postbacks. Required."""
    resource: ConfigResource
    """The kind of record: `contact`, `transaction`, `transactionbatch` or `accountvault`. Required."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
    product_transaction_id: Id | None = None
    """The merchant account, at most 36 characters. Required for transactions and batches."""
    on_create: bool | None = None
    """Whether creating a record sends a postback."""
    on_update: bool | None = None
    """Whether changing a record sends a postback."""
    on_delete: bool | None = None
    """Whether deleting a record sends a postback."""
    is_active: bool | None = None
    """Whether the config is in effect."""
    format: str | None = None
    """The format of the postbacks; `api-default` when omitted."""
    number_of_attempts: int | None = None
    """The maximum number of delivery attempts; 1 when omitted. Some gateways accept 1 to 5 only."""
    attempt_interval: int | None = None
    """Seconds between two attempts; 300 when omitted. Gateways of this kind are known to accept 300 to 86,400."""
    expands: str | None = None
    """Related records to include, separated by commas, such as `changelogs,tags`."""
    basic_auth_username: str | None = None
    """The username that the gateway sends with each postback."""
    basic_auth_password: Secret | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The password that the gateway sends with each postback. The repr masks it."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        RequiredWhen("product_transaction_id", "resource", ("transaction", "transactionbatch")),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PostbackConfigUpdate(Request):
    """Changes to a postback config. Omitted fields keep their values; None is sent as null."""

    url: str | Unset | None = UNSET
    """The URL that receives the postbacks."""
    resource: ConfigResource | Unset | None = UNSET
    """The kind of record: `contact`, `transaction`, `transactionbatch` or `accountvault`."""
    product_transaction_id: Id | Unset | None = UNSET
    """The merchant account, at most 36 characters. Required for transactions and batches."""
    on_create: bool | Unset | None = UNSET
    """Whether creating a record sends a postback."""
    on_update: bool | Unset | None = UNSET
    """Whether changing a record sends a postback."""
    on_delete: bool | Unset | None = UNSET
    """Whether deleting a record sends a postback."""
    is_active: bool | Unset | None = UNSET
    """Whether the config is in effect."""
    format: str | Unset | None = UNSET
    """The format of the postbacks; `api-default` is the known one."""
    number_of_attempts: int | Unset | None = UNSET
    """The maximum number of delivery attempts. Some gateways accept 1 to 5 only."""
    attempt_interval: int | Unset | None = UNSET
    """Seconds between two attempts. Gateways of this kind are known to accept 300 to 86,400."""
    expands: str | Unset | None = UNSET
    """Related records to include, separated by commas, such as `changelogs,tags`."""
    basic_auth_username: str | Unset | None = UNSET
    """The username that the gateway sends with each postback."""
    basic_auth_password: Secret | Unset | None = attrs.field(default=UNSET, converter=_secret)
    """The password that the gateway sends with each postback. The repr masks it."""
