"""The terminals as devices, at which a person presents cards and presses keys.

The keys have the same effects as the control calls. What a device shows is live. Its keys are never replaced, so
the focus and the chosen card remain.
"""

from typing import cast

import attrs
from starlette.responses import Response

from gateway_async.sandbox import controls
from gateway_async.sandbox.handlers.terminals import find_receipts
from gateway_async.sandbox.pages.control_forms import make_forms, run_control
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import DEBIT_CARDS, TEST_CARDS, EntryMode
from gateway_async.sandbox.simulators.terminals import NothingWaitsError
from gateway_async.sandbox.state_machines.terminal_requests import TerminalRequestState


@attrs.frozen
class Card:
    """A test card to present to a terminal."""

    title: str
    number: str

    @property
    def last_four(self) -> str:
        """The only digits that a page shows."""
        return self.number[-4:]


CARDS = {
    "visa": Card("Visa", TEST_CARDS["visa"]),
    "mc": Card("Mastercard", TEST_CARDS["mc"]),
    "amex": Card("Amex", TEST_CARDS["amex"]),
    "disc": Card("Discover", TEST_CARDS["disc"]),
    "debit": Card("Debit", DEBIT_CARDS["visa"]),
}
"""The test cards, by the value in the form."""

_SHOWN_MODES: tuple[EntryMode, ...] = ("C", "P", "S", "K")
_CARD_KEYS = {
    "approve": controls.simulators.present,
    "decline": controls.simulators.decline,
    "reject_pin": controls.simulators.reject_pin,
}
"""The keys that use the chosen card."""

_KEYS = {"cancel": controls.simulators.cancel, "silence": controls.simulators.silence}


async def show_all(request: PageRequest) -> Response:
    """Handle GET /terminals: every terminal, and the form that adds one."""
    terminals = [_add_receipts(request.gateway, each) for each in controls.simulators.terminals(request.gateway)]
    shown = request.query("shown")
    return request.render(
        "terminals.html",
        terminals=terminals,
        added=max(0, len(terminals) - int(shown)) if shown.isdecimal() else 0,
        too_early=False,
        forms=make_forms(request, [controls.simulators.add_terminal], defaults={"title": ""}),
        **_choices(request),
    )


async def add(request: PageRequest) -> Response:
    """Handle POST /terminals: add a terminal."""
    terminal_id = await run_control(request, [controls.simulators.add_terminal])
    return request.redirect(f"/terminals#terminal-{terminal_id}")


async def show(request: PageRequest) -> Response:
    """Handle GET /terminals/{id}."""
    terminal = _add_receipts(request.gateway, controls.simulators.terminal(request.gateway, request.parameter("id")))
    return request.render(
        "terminal.html", terminal=terminal, too_early=bool(request.query("too_early")), **_choices(request)
    )


async def press(request: PageRequest) -> Response:
    """Handle POST /terminals/{id}: present a card or press a key."""
    terminal_id = request.parameter("id")
    try:
        _press(request.gateway, terminal_id, request.form)
    except NothingWaitsError:
        return request.redirect(f"/terminals/{terminal_id}?too_early=1")
    return request.redirect(f"/terminals/{terminal_id}")


def _press(gateway: Gateway, terminal_id: str, form: dict[str, str]) -> None:
    """Do what a key does.

    Raises:
        NothingWaitsError: No call waits at the terminal.
        ValueError: The terminal, the key, the card or the entry mode is unknown.
    """
    key, card, entry_mode = (form.get(name, "") for name in ("key", "card", "entry_mode"))
    if key in _KEYS:
        _KEYS[key](gateway, terminal_id)
        return
    if key == "approve" and _shows_terms(gateway, terminal_id):
        controls.simulators.accept_terms(gateway, terminal_id)
        return
    if key not in _CARD_KEYS:
        raise ValueError(f"key: must be one of {', '.join(_CARD_KEYS | _KEYS)}.")
    if card not in CARDS:
        raise ValueError(f"card: must be one of {', '.join(CARDS)}.")
    _CARD_KEYS[key](gateway, terminal_id, card=CARDS[card].number, entry_mode=cast("EntryMode", entry_mode))


def _shows_terms(gateway: Gateway, terminal_id: str) -> bool:
    return any(call.state == TerminalRequestState.TERMS_SHOWN for call in gateway.terminals.waiting(terminal_id))


def _add_receipts(gateway: Gateway, terminal: Row) -> Row:
    return terminal | {"receipts": find_receipts(gateway, terminal["id"])}


def _choices(request: PageRequest) -> Row:
    modes = {mode: TRANSACTION.codes["entry_mode_id"][mode] for mode in _SHOWN_MODES}
    return {"cards": CARDS, "entry_modes": modes, "delay": request.gateway.terminals.options.delay}
