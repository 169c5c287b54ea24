"""The amounts that make the settlement of a batch fail, with the message of the processor.

If the last payment of a batch has such an amount, the settlement fails once. The digits of an amount are `9TTRR.FF`. TT
is the place of the error type in the alphabet. RR is that of the record type, 00 for record type 0, or 99 for none. FF
is the field.
"""

__all__ = ["BATCH_ERRORS"]


_INVALID = {
    "E A": {
        1: "Routing id",
        55: "Type",
        57: "Additional amount type",
        58: "Additional amount",
        61: "Retail quantity",
        62: "Retail amount",
        63: "Room rate",
        64: "Length of stay",
    },
    "E C": {6: "Transaction type", 7: "Date", 25: "Device serial number"},
    "E D": {
        1: "Routing id",
        4: "Routing id",
        5: "Record type",
        6: "Transaction code",
        7: "Cardholder id code",
        8: "Account source",
        9: "Account number",
        10: "Requested ACI",
        11: "Returned ACI",
        12: "Authorization source",
        13: "Sequence number",
        14: "Response code",
        15: "Approval code",
        16: "Date",
        17: "Time",
        18: "AVS result",
        19: "Transaction id",
        20: "Validation code",
        21: "Void flag",
        22: "Status",
        23: "Reimbursement attribute",
        24: "Settlement amount",
        25: "Authorized amount",
        26: "Cash-back amount",
        27: "Gratuity amount",
        28: "Total amount",
        29: "Purchase id format",
        30: "Purchase id",
        31: "Market data",
        32: "Special program",
        33: "Extra charges",
        34: "Check-in date",
        35: "Category override",
        36: "Charge type",
        37: "Check-out date",
        38: "Length of stay",
        39: "Room rate",
        40: "Optional amount id",
        41: "Optional amount",
        42: "PO number",
        43: "Restricted ticket",
        44: "Clearing number",
        45: "Clearing count",
        46: "Ticket number",
        47: "Passenger name",
        48: "Departure date",
        49: "Airport",
        50: "Trip leg",
        51: "Retrieval reference number",
        52: "Trace number",
        53: "Network id",
        54: "Settlement date",
        55: "Cash register number",
        56: "E-commerce flag",
        57: "Renter name",
        58: "Return city",
        59: "Return state",
        60: "Return place",
        61: "Order date or SEC code",
        62: "Line count or routing number",
        64: "Tax amount or group version",
        66: "Fuel unit",
        71: "Product or ACH payment type",
        72: "ACH presentment",
        74: "Tax rate or ACH reversal",
        75: "VAT amount",
        76: "VAT rate",
        77: "Line count",
        78: "Freight amount",
        79: "Duty amount",
        80: "Destination zip",
        81: "Origin zip",
        82: "Security flag",
        83: "Alternate tax flag",
        84: "Alternate tax amount",
        85: "Line count",
        86: "Service development",
        91: "Existing debt",
        92: "Goods flag",
        93: "UCAF or POS data",
        96: "Verification value",
        99: "Extension",
    },
    "E E": {6: "Encryption type", 7: "Encryption size", 8: "Encryption block"},
    "E K": {
        4: "Routing id",
        5: "Record type",
        6: "BIN",
        7: "Agent",
        8: "Chain",
        9: "Merchant number",
        10: "Store number",
        11: "Terminal number",
        12: "Device code",
        13: "Currency code",
        14: "Language",
        15: "Time zone",
        16: "Date",
        17: "Batch number",
        18: "Blocking indicator",
        19: "Travel agency code",
        20: "Travel agency name",
        21: "Local telephone number",
        22: "Service telephone number",
        23: "Key id",
        24: "Developer id",
        25: "Version",
        26: "Gateway id",
        27: "Service provider",
    },
    "E L": {1: "Routing id"},
    "E P": {
        4: "Routing id",
        5: "Record type",
        6: "Country code",
        7: "City code",
        8: "Category code",
        9: "Merchant name",
        10: "Merchant location",
        11: "Terminal id",
    },
    "E T": {
        4: "Routing id",
        5: "Record type",
        6: "Date",
        7: "Batch number",
        8: "Record count",
        9: "Hash total",
        10: "Cash-back total",
        11: "Net deposit",
    },
    "E X": {6: "Tax flag", 7: "Tax amount", 8: "Tax rate", 9: "Tax exponent", 11: "Tax type"},
}
"""The names of invalid fields, by error type and record type, and by field."""

_MISSING = {
    8: "Verification results",
    9: "Currency code",
    10: "Transaction counter",
    11: "Interchange profile",
    12: "Cryptogram",
    13: "Unpredictable number",
    14: "Issuer data",
    15: "Cryptogram information",
    16: "Capability profile",
    17: "Card sequence number",
    18: "Issuer authentication data",
    19: "CVM results",
    20: "Issuer script results",
    21: "Form factor",
}
"""The names of missing fields of a chip record (E C)."""

_SUPPORT = "Contact support"
_OTHER = {
    "B 0": {11: "Blocked terminal"},
    "C 0": {
        **dict.fromkeys(range(7), _SUPPORT),
        7: "Serial number is not set up",
        12: "Capture is not enabled for this card type",
        15: "Amex number is invalid",
        16: "Discover number is invalid",
        17: "Diners number is invalid",
        18: "Cash-back is not allowed for this card",
        21: "Card type is not active",
        22: "Amex addenda is not allowed for this card",
        23: "Account number is not translated",
    },
    "E E": {5: "Terminal is not authenticated"},
    "I -": {99: "Input or output error"},
    "P 0": {20: "Hierarchy error", 21: "Card type error"},
    "S -": {99: "Record order error"},
    "U -": {99: "Unknown error"},
}
"""Whole messages, by error type and record type, and by field."""

_PLACES = {"0": 0, "-": 99}


def _cents(types: str, field: int) -> int:
    """Return the amount of an error: `9TTRR.FF`."""
    error, record = (_PLACES.get(kind, ord(kind) - ord("A") + 1) for kind in types.split())
    return ((9 * 100 + error) * 100 + record) * 100 + field


BATCH_ERRORS = {
    _cents(types, field): text
    for types, texts in (
        *((types, {field: f"{name} is invalid" for field, name in names.items()}) for types, names in _INVALID.items()),
        ("E C", {field: f"{name} is missing" for field, name in _MISSING.items()}),
        *_OTHER.items(),
    )
    for field, text in texts.items()
}
"""The messages by amount, in cents."""
