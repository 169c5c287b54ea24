"""The documented fields of locations, users, roles and terminals."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

Fields = Mapping[str, Any]
_NOTHING: Fields = MappingProxyType({})


@attrs.frozen(kw_only=True)
class DocumentedRecord:
    """The documented rows of one record type.

    Attributes:
        plural: the path.
        required: what a POST must have, with the other ids that the record needs.
        settable: field → a value for POST and PUT, which responses show.
        once: field → a value for POST only, which responses show.
        invalid: field → a value that is refused.
        never_shown: field → a value that no response repeats.
        deleted_again: the status of a second DELETE.
    """

    plural: str
    required: Fields
    settable: Fields = _NOTHING
    once: Fields = _NOTHING
    invalid: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    never_shown: Fields = _NOTHING
    deleted_again: int = 409


LOCATION = DocumentedRecord(
    plural="locations",
    required={"name": "Branch", "parent_id": "<location>"},
    settable={
        "account_number": "A-1",
        "address1": "5800 NW 39th AVE",
        "address2": "Suite 1",
        "city": "Gainesville",
        "state": "FL",
        "zip_code": "32606",
        "tz": "America/New_York",
        "office_phone": "3525550100",
        "fax": "3525550101",
        "office_ext_phone": "12",
        "aba": "072000326",
        "dda": "100020003000",
        "branding_domain_url": "tea.example.test",
        "branding_domain_id": "b" * 24,
        "developer_company_id": "d" * 36,
        "email_reply_to": "tea@example.test",
        "receipt_logo": "https://example.test/logo.png",
        "location_c1": "one",
        "location_c2": "two",
        "location_c3": "three",
        "contact_email_trx_receipt_default": False,
        "show_contact_files": True,
        "show_contact_notes": False,
        "recurring_notification_days_default": 3,
    },
    invalid={
        "parent_id": ("f" * 24,),
        **dict.fromkeys(("default_cc", "default_ach"), ("f" * 24,)),
        **dict.fromkeys(("show_contact_files", "show_contact_notes"), ("perhaps", 2)),
        "recurring_notification_days_default": ("soon",),
    },
)

USER = DocumentedRecord(
    plural="users",
    required={},
    settable={
        "username": "ada",
        "first_name": "Ada",
        "last_name": "Lovelace",
        "company_name": "Tea",
        "address": "Street 1",
        "email": "ada@example.test",
        "account_number": "A-1",
        "city": "Gainesville",
        "state": "FL",
        "zip": "32606",
        "home_phone": "3525550100",
        "cell_phone": "3525550101",
        "office_phone": "3525550102",
        "office_ext_phone": "12",
        "date_of_birth": "1815-12-10",
        "email_trx_receipt": True,
        "locale": "en_CA",
        "tz": "America/New_York",
        "requires_new_password": True,
        "user_type_id": 250,
        "branding_domain_id": "b" * 36,
    },
    once={"primary_location_id": "<location>"},
    invalid={
        "primary_location_id": ("f" * 24,),
        "date_of_birth": ("12/10/1815",),
        "email_trx_receipt": ("perhaps",),
        "user_type_id": ("admin",),
        "password": ("Short1", "onlyletterssss", "123456789012"),
    },
    never_shown={
        "password": "Planted-secret-1",
        "user_api_key": "planted-api-key",
        "user_hash_key": "planted-hash" * 2,
    },
)

_TIMEOUTS = {
    "card_entry_timeout": (20, 120),
    "device_terms_prompt_timeout": (5, 300),
    "overall_timeout": (30, 300),
    **dict.fromkeys(("pin_entry_timeout", "signature_submit_timeout", "tip_cashback_timeout"), (20, 50)),
    "signature_input_timeout": (10, 50),
    "transaction_timeout": (10, 20),
    "status_display_time": (1, 30),
}
_LINES = tuple(f"{place}_line_{number}" for place in ("header", "trailer") for number in range(1, 6))
_SWITCHES = (
    *("debit", "emv", "cashback_enable", "print_enable", "sig_capture_enable", "tip_enable", "is_provisioned"),
    *("validated_decryption", "active"),
)

TERMINAL = DocumentedRecord(
    plural="terminals",
    required={
        "location_id": "<location>",
        "terminal_manufacturer_id": "m" * 24,
        "terminal_application_id": "a" * 24,
        "serial_number": "1234567890AB",
    },
    settable={
        "title": "Bar",
        "terminal_cvm_id": "c" * 24,
        "payment_type_priority": "Debit",
        "terminal_manufacturer_code": "4",
        "default_product_transaction_id": "<account>",
        "location_api_id": "<own>",
        "mac_address": "00:00:5e:00:53:01",
        "local_ip_address": "192.0.2.1",
        "port": 10010,
        "terminal_number": "15",
        "communication_type": "http",
        **{name: name != "active" for name in _SWITCHES},
        **dict.fromkeys(_LINES, "Thank you"),
        "default_checkin": "15:00",
        "default_checkout": "11:00",
        "default_room_rate": "80.00",
        "default_room_number": "12",
        "tip_percents": {"percent_1": 10, "percent_2": 15, "percent_3": 20},
        "terminal_timeouts": {name: high for name, (_, high) in _TIMEOUTS.items()},
    },
    invalid={
        **dict.fromkeys(("location_id", "default_product_transaction_id", "location_api_id"), ("f" * 24,)),
        **dict.fromkeys(_SWITCHES, ("perhaps", 2)),
        "serial_number": ("12-34",),
        "port": ("http",),
        "tip_percents": ("10",),
        "terminal_timeouts": tuple(
            {name: seconds} for name, (low, high) in _TIMEOUTS.items() for seconds in (low - 1, high + 1, "soon")
        ),
    },
)

AUTH_ROLE_USER = DocumentedRecord(
    plural="authroleusers",
    required={"user_id": "<user>", "auth_role_id": 1},
    invalid={"user_id": ("f" * 24,), "auth_role_id": (0, -1, "admin")},
    deleted_again=404,
)

RECORDS = (LOCATION, USER, TERMINAL, AUTH_ROLE_USER)
