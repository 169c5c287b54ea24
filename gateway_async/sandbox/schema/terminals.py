"""The fields of a terminal, as clients and the vendor's newer interface show them."""

from gateway_async.sandbox.schema.fields import NEVER, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["TERMINAL"]


_TIMEOUTS = (
    '{"card_entry_timeout":120,"device_terms_prompt_timeout":60,"overall_timeout":300,"pin_entry_timeout":30,'
    '"signature_input_timeout":50,"signature_submit_timeout":30,"status_display_time":7,"tip_cashback_timeout":30,'
    '"transaction_timeout":20}'
)
"""Within the documented ranges, in seconds."""

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

TERMINAL = Table(
    "terminal",
    "terminals",
    (
        *read_only(id=CODE, location_id=CODE, location_api_id=CODE, terminal_api_id=CODE, title=TEXT),
        *read_only(serial_number=CODE, terminal_number=CODE, terminal_manufacturer_id=CODE),
        Field("terminal_manufacturer_code", CODE, settable=NEVER, default="100"),
        *read_only(terminal_application_id=CODE, terminal_cvm_id=CODE, default_product_transaction_id=CODE),
        Field("payment_type_priority", TEXT, settable=NEVER, default="Credit"),
        *read_only(mac_address=CODE, local_ip_address=CODE),
        Field("port", INTEGER, settable=NEVER, default=10009),
        Field("communication_type", CODE, settable=NEVER, default="http"),
        *(Field(name, FLAG, settable=NEVER, default=default) for name, default in _SWITCHES.items()),
        *(Field(name, TEXT, settable=NEVER) for name in _LINES),
        *read_only(default_checkin=TEXT, default_checkout=TEXT, default_room_rate=TEXT, default_room_number=TEXT),
        *read_only(tip_percents=OBJECT),
        Field("terminal_timeouts", OBJECT, settable=NEVER, default=_TIMEOUTS),
        *read_only(last_registration_ts=TIMESTAMP, created_user_id=CODE, modified_user_id=CODE),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
    ),
    api_id="terminal_api_id",
)
