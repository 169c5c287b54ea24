"""The checks of a card's billing address (AVS) and security code (CVV).

The test addresses and security codes are those of the vendor's test environment.
"""

import re

import attrs

from gateway_async.sandbox.simulators.vendor_tables import read_table

__all__ = ["AddressCheck", "check_address", "check_cvv", "is_denied_address"]


@attrs.frozen
class AddressCheck:
    """The result of an address check.

    Attributes:
        avs: GOOD, BAD, or the part that does not match (STREET, ZIP); None without an address.
        avs_enhanced: The code of the card network.
        street_matches: Whether the street matches; None if none was given.
        zip_matches: Whether the zip matches; None if none was given.
    """

    avs: str | None
    avs_enhanced: str
    street_matches: bool | None = None
    zip_matches: bool | None = None


_MATCHING_ADDRESS = ("5800 nw 39th ave", "32606")
_DENIED_ADDRESS = ("2831 nw 41st st ste j", "32615")
_ZIP = re.compile(r"([0-9]{5})(-?[0-9]{4})?")

_AVS = {(True, True): "GOOD", (True, False): "ZIP", (False, True): "STREET", (False, False): "BAD"}
"""The `avs` by whether street and zip match; STREET and ZIP name the part that does *not* match."""

_ENHANCED = {"GOOD": "Y", "ZIP": "A", "STREET": "Z", "BAD": "N"}
_NINE_DIGIT_CODES = {"GOOD": "X", "STREET": "W"}
_NO_ADDRESS = AddressCheck(None, "V")

_CVV_RESPONSES = {(brand, code): response for brand, code, response in read_table("cvv")}


def check_address(street: str | None, zip_code: str | None) -> AddressCheck:
    """Compare a billing address with the test address; a part that is not given is not compared."""
    if not street and not zip_code:
        return _NO_ADDRESS
    street_matches = _normalize(street) == _MATCHING_ADDRESS[0] if street else None
    digits = _ZIP.fullmatch(zip_code or "")
    zip_matches = bool(digits and digits[1] == _MATCHING_ADDRESS[1]) if zip_code else None
    avs = _AVS[_complete_results(street_matches, zip_matches)]
    codes = _ENHANCED | (_NINE_DIGIT_CODES if zip_matches and digits and digits[2] else {})
    return AddressCheck(avs, codes[avs], street_matches, zip_matches)


def _complete_results(street_matches: bool | None, zip_matches: bool | None) -> tuple[bool, bool]:
    """Return both results; a part that was not given counts as the other part does."""
    if street_matches is None or zip_matches is None:
        matches = bool(street_matches or zip_matches)
        return matches, matches
    return street_matches, zip_matches


def is_denied_address(street: str | None, zip_code: str | None) -> bool:
    """Return whether the billing address is the test address that declines."""
    return _normalize(street) == _DENIED_ADDRESS[0] or zip_code == _DENIED_ADDRESS[1]


def check_cvv(cvv: str | None, brand: str) -> str:
    """Return the `cvv_response`: M match, P not processed, S should be on the card, U unavailable, X no reply.

    Any other code, and a payment without one, gets N: no match.
    """
    return _CVV_RESPONSES.get(("amex" if brand == "amex" else "other", cvv or ""), "N")


def _normalize(street: str | None) -> str:
    return (street or "").lower().strip()
