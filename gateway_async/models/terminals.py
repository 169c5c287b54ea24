"""Terminals: the devices of a location that read cards (contract, *Router transactions*).

The gateway's documents do not describe this record. Clients and its newer interface show these fields, so all but the
id are optional, and a value that does not fit its field is in `extra`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from gateway_async.models.record import Record, lenient


@lenient
@attrs.frozen(kw_only=True, eq=False, repr=False)
class Terminal(Record):
    """A terminal of a location."""

    id: str
    """The gateway's id, as `terminal_id` of a router transaction."""
    location_id: str | None = None
    """The location that owns the terminal."""
    location_api_id: str | None = None
    """The integrator's own id for that location, at most 64 characters."""
    terminal_api_id: str | None = None
    """The integrator's own id for the terminal, at most 64 characters."""
    title: str | None = None
    """The name of the terminal, at most 64 characters."""
    serial_number: str | None = None
    """The serial number of the device: at most 24 letters and digits."""
    terminal_number: str | None = None
    """The number of the terminal at the processor, at most 15 characters."""
    terminal_manufacturer_id: str | None = None
    """The id of the manufacturer."""
    terminal_manufacturer_code: str | None = None
    """The kind of device: 1, 2, 4 for a Bluetooth reader, 100 for a virtual device."""
    terminal_application_id: str | None = None
    """The id of the application that the device runs."""
    terminal_cvm_id: str | None = None
    """The id of the set of cardholder verification methods."""
    default_product_transaction_id: str | None = None
    """Default merchant account for payments."""
    payment_type_priority: str | None = None
    """Whether a card that is both counts as `Credit` or `Debit`."""
    mac_address: str | None = None
    """The hardware address of the device."""
    local_ip_address: str | None = None
    """The address of the device in the merchant's own network."""
    port: int | None = None
    """The port of the device in that network, usually 10009."""
    communication_type: str | None = None
    """The protocol to the device, such as `http`."""
    debit: bool | None = None
    """Whether it takes debit cards with a PIN."""
    emv: bool | None = None
    """Whether it reads chips."""
    cashback_enable: bool | None = None
    """Whether it offers cash-back."""
    print_enable: bool | None = None
    """Whether it prints receipts."""
    sig_capture_enable: bool | None = None
    """Whether it takes signatures."""
    tip_enable: bool | None = None
    """Whether it asks for a tip."""
    is_provisioned: bool | None = None
    """Whether the device has registered at the gateway."""
    validated_decryption: bool | None = None
    """Whether card data is decrypted by a validated service."""
    active: bool | None = None
    """Whether the terminal can be used."""
    header_line_1: str | None = None
    """The first line above a receipt, at most 32 characters."""
    header_line_2: str | None = None
    """The second line above a receipt."""
    header_line_3: str | None = None
    """The third line above a receipt."""
    header_line_4: str | None = None
    """The fourth line above a receipt."""
    header_line_5: str | None = None
    """The fifth line above a receipt."""
    trailer_line_1: str | None = None
    """The first line below a receipt, at most 32 characters."""
    trailer_line_2: str | None = None
    """The second line below a receipt."""
    trailer_line_3: str | None = None
    """The third line below a receipt."""
    trailer_line_4: str | None = None
    """The fourth line below a receipt."""
    trailer_line_5: str | None = None
    """The fifth line below a receipt."""
    default_checkin: str | None = None
    """The check-in that a stay begins with when none is given."""
    default_checkout: str | None = None
    """The check-out that a stay ends with when none is given."""
    default_room_rate: str | None = None
    """The room rate of a stay when none is given."""
    default_room_number: str | None = None
    """The room of a stay when none is given, at most 12 characters."""
    tip_percents: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The tips that the terminal offers: `percent_1` to `percent_3`."""
    terminal_timeouts: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """Seconds that the terminal waits, such as `card_entry_timeout` (20 to 120) and `overall_timeout` (30 to 300)."""
    last_registration_ts: datetime | None = None
    """When the device last registered, in UTC."""
    created_user_id: str | None = None
    """The user who created it."""
    modified_user_id: str | None = None
    """The user who changed it last."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""
