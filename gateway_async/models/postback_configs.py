"""Postback configs: the URLs for postbacks and the changes that trigger them (contract, *Postback config*)."""

from datetime import datetime
from typing import ClassVar, Literal

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.codes import PostbackResource
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Id, LocationId, Request, RequiredWhen, Rule, Unset

__all__ = ["PostbackConfig", "PostbackConfigCreate", "PostbackConfigUpdate"]

Resource = Literal["contact", "transaction", "transactionbatch", "accountvault"] | PostbackResource


def _secret(value: str | Secret | Unset | None) -> Secret | Unset | None:
    return value if value is None or isinstance(value, Unset) else Secret(value)


@attrs.frozen(kw_only=True, repr=False)
class PostbackConfig(Record):
    """A postback config.

    Attributes:
        number_of_attempts: the maximum number of delivery attempts.
        attempt_interval: seconds between two attempts.
        expands: related records to include, separated by commas.
        basic_auth_username, basic_auth_password: None unless they are expanded.
    """

    id: str
    location_id: str | None = None
    resource: PostbackResource | None = None
    product_transaction_id: str | None = None
    url: str | None = None
    on_create: bool | None = None
    on_update: bool | None = None
    on_delete: bool | None = None
    is_active: bool | None = None
    format: str | None = None
    number_of_attempts: int | None = None
    attempt_interval: int | None = None
    expands: str | None = None
    basic_auth_username: str | None = None
    basic_auth_password: Secret | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class PostbackConfigCreate(Request):
    """A new postback config.

    When omitted, `number_of_attempts` is 1 and `attempt_interval` is 300 seconds. Gateways of this kind are known to
    accept 1 to 5 attempts, 300 to 86,400 seconds apart.
    """

    url: str
    resource: Resource
    location_id: LocationId | None = None
    product_transaction_id: Id | None = None
    on_create: bool | None = None
    on_update: bool | None = None
    on_delete: bool | None = None
    is_active: bool | None = None
    format: str | None = None
    number_of_attempts: int | None = None
    attempt_interval: int | None = None
    expands: str | None = None
    basic_auth_username: str | None = None
    basic_auth_password: Secret | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))

    rules: ClassVar[tuple[Rule, ...]] = (
        RequiredWhen("product_transaction_id", "resource", ("transaction", "transactionbatch")),
    )


@attrs.frozen(kw_only=True, repr=False)
class PostbackConfigUpdate(Request):
    """Changes to a postback config. Omitted fields keep their values; None is sent as null."""

    url: str | Unset | None = UNSET
    resource: Resource | Unset | None = UNSET
    product_transaction_id: Id | Unset | None = UNSET
    on_create: bool | Unset | None = UNSET
    on_update: bool | Unset | None = UNSET
    on_delete: bool | Unset | None = UNSET
    is_active: bool | Unset | None = UNSET
    format: str | Unset | None = UNSET
    number_of_attempts: int | Unset | None = UNSET
    attempt_interval: int | Unset | None = UNSET
    expands: str | Unset | None = UNSET
    basic_auth_username: str | Unset | None = UNSET
    basic_auth_password: Secret | Unset | None = attrs.field(default=UNSET, converter=_secret)
