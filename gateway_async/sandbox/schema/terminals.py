"""The fields of a terminal, as clients and the vendor's newer interface show them."""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["TERMINAL", "TIMEOUT_RANGES"]


TIMEOUT_RANGES = {
    "card_entry_timeout": range(20, 121),
    "device_terms_prompt_timeout": range(5, 301),
    "overall_timeout": range(30, 301),
    "pin_entry_timeout": range(20, 51),
    "signature_input_timeout": range(10, 51),
    "signature_submit_timeout": range(20, 51),
    "status_display_time": range(1, 31),
    "tip_cashback_timeout": range(20, 51),
    "transaction_timeout": range(10, 21),
}
"""The documented ranges of `terminal_timeouts`, in seconds."""

_TIMEOUTS = (
    '{"card_entry_timeout":120,"device_terms_prompt_timeout":60,"overall_timeout":300,"pin_entry_timeout":30,'
    '"signature_input_timeout":50,"signature_submit_timeout":30,"status_display_time":7,"tip_cashback_timeout":30,'
    '"transaction_timeout":20}'
)

_SWITCHES = {
    "debit": 1,
    "emv": 1,
    "cashback_enable": 0,
    "print_enable": 0,
    "sig_capture_enable": 1,
    "tip_enable": 0,
    "is_provisioned": 1,
    "validated_decryption": 0,
    "active": 1,
}
_LINES = tuple(f"{place}_line_{number}" for place in ("header", "trailer") for number in range(1, 6))

_DEVICE_CODES = ("1", "2", "4", "100")
"""Kinds of devices; 4 is a Bluetooth reader, 100 a virtual device."""

TERMINAL = Table(
    "terminal",
    "terminals",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("location_api_id", CODE, 1, 64),
        Field("terminal_api_id", CODE, 0, 64),
        Field("title", TEXT, 0, 64),
        Field("serial_number", CODE, 1, 24, required=True),
        Field("terminal_number", CODE, 0, 15),
        Field("terminal_manufacturer_id", CODE, 1, 36, required=True),
        Field("terminal_manufacturer_code", CODE, choices=_DEVICE_CODES, default="100"),
        Field("terminal_application_id", CODE, 1, 36, required=True),
        Field("terminal_cvm_id", CODE, 1, 36),
        Field("default_product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("payment_type_priority", TEXT, choices=("Credit", "Debit"), default="Credit"),
        *(Field(name, CODE, 0, 64) for name in ("mac_address", "local_ip_address")),
        Field("port", INTEGER, 1, 5, default=10009),
        Field("communication_type", CODE, 1, 32, default="http"),
        *(Field(name, FLAG, default=default) for name, default in _SWITCHES.items()),
        *(Field(name, TEXT, 0, 32) for name in _LINES),
        *(Field(f"default_{name}", TEXT, 0, 12) for name in ("checkin", "checkout", "room_rate", "room_number")),
        Field("tip_percents", OBJECT),
        Field("terminal_timeouts", OBJECT, default=_TIMEOUTS),
        *read_only(last_registration_ts=TIMESTAMP, created_user_id=CODE, modified_user_id=CODE),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
    ),
    api_id="terminal_api_id",
)
