"""The automatic actions of a mock terminal: what it does for each trigger amount.

The tables are those of the vendor's test environment. Amounts are in cents.
"""

import secrets

import attrs

from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.simulators.cards import TEST_CARDS

_CARDS = tuple(TEST_CARDS.values())


@attrs.frozen
class Script:
    """The automatic actions of a mock terminal for a trigger amount.

    Attributes:
        card: The card that is presented, if any.
        any_brand: Whether a card of any brand is presented instead of `card`.
        text: The final message if the terminal ends without an approval.
        wait: Seconds until the action; None for the usual delay.
        silent: Whether the terminal does nothing until the overall timeout.
    """

    card: str | None = TEST_CARDS["visa"]
    entry_mode: str = "C"
    text: str | None = None
    reason_code: int = ReasonCode.COMMUNICATION_ERROR
    wait: int | None = None
    silent: bool = False
    any_brand: bool = False

    def with_drawn_card(self) -> "Script":
        """Return the script, with a random card if it allows any."""
        return attrs.evolve(self, card=secrets.choice(_CARDS), any_brand=False) if self.any_brand else self


def stop_with(text: str, reason_code: int = ReasonCode.COMMUNICATION_ERROR) -> Script:
    """Create a script that ends at once, without a card."""
    return Script(None, text=text, reason_code=reason_code, wait=0)


_ENTRY_MODES = {710: "K"} | dict.fromkeys((711, 712, 713), "S")
_ENTRY_MODES |= dict.fromkeys((714, 715, 716, 717), "C") | dict.fromkeys((718, 719, 720, 721), "P")

SCRIPTS = {
    501: stop_with("CONNECT ERROR"),
    531: stop_with("TIMEOUT"),
    599: stop_with("ABORTED", ReasonCode.DENIED),
    **{cents: Script(entry_mode=mode, any_brand=True) for cents, mode in _ENTRY_MODES.items()},
    **{750 + n: Script(card, "K") for n, card in enumerate(TEST_CARDS.values())},
    **{754 + n: Script(card, "S") for n, card in enumerate(TEST_CARDS.values())},
    770: stop_with("Transaction Timeout"),
    771: Script(silent=True),
    772: stop_with("Card Entry Timeout"),
    773: stop_with("Pin Entry Timeout"),
    775: stop_with("Signature Input Timeout"),
    776: stop_with("Signature Storage Timeout"),
    **{800 + seconds: Script(wait=seconds) for seconds in range(100)},
}
"""Amounts in cents and their effects at a mock terminal; any other amount is a chip card."""
