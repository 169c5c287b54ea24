"""The terminals of a gateway, and what a person does there."""

import asyncio
from typing import get_args

from gateway_async.sandbox import seed
from gateway_async.sandbox.controls.clock import format_seconds
from gateway_async.sandbox.controls.payments import read_card_arguments
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import TERMINAL
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import EntryMode
from gateway_async.sandbox.simulators.terminal_scripts import Script, stop_with
from gateway_async.sandbox.state_machines.terminal_requests import TerminalRequestTrigger

_LONGEST_TITLE = 64


def terminals(gateway: Gateway) -> list[Row]:
    """Return every terminal and the calls that wait at it."""
    return [_describe(gateway, row) for row in gateway.store.select(TERMINAL, ALIVE)]


def terminal(gateway: Gateway, terminal_id: str) -> Row:
    """Return one terminal and the calls that wait at it, the active one first."""
    return _describe(gateway, gateway.find_known(TERMINAL, terminal_id))


async def wait_for_call(gateway: Gateway, terminal_id: str | None = None, *, timeout: float = 10.0) -> Row:  # noqa: ASYNC109  # of real time
    """Wait until a call is active at a terminal.

    The default is the first terminal.

    Args:
        terminal_id: The id of the terminal.
        timeout: The longest wait, in seconds of real time.

    Returns:
        The active call: its `action`, its `amount`, the name of its `user`, the `User-Agent` of its `program`, its
        integrator id `api_id`, the arrival time `since` and the time `acts_at` of the next automatic action (Unix
        seconds), and its `state`.

    Raises:
        TimeoutError: No call arrived in time.
        InvalidRequestError: The terminal is unknown.
        RuntimeError: The sandbox was stopped during the wait.
    """
    known_id = _find_id(gateway, terminal_id)
    try:
        async with asyncio.timeout(timeout):
            await gateway.terminals.wait_for_call(known_id)
    except TimeoutError:
        raise TimeoutError(f"terminal {known_id}: no call arrived within {format_seconds(timeout)}.") from None
    call: Row = terminal(gateway, known_id)["waiting"][0]
    return call


def present(
    gateway: Gateway, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
) -> None:
    """Present a card to a terminal.

    Args:
        terminal_id: The id of the terminal; the default is the first one.
        card: The card number.
        entry_mode: S swiped, K keyed, C chip, P contactless, F fallback, B bar code.

    Raises:
        NothingWaitsError: No call waits at the terminal.
        InvalidRequestError: The terminal, the card or the entry mode is unknown.
    """
    _check_card(card, entry_mode)
    _act(gateway, terminal_id, TerminalRequestTrigger.CARD, Script(card, entry_mode))


def accept_terms(gateway: Gateway, terminal_id: str | None = None) -> None:
    """Let the customer accept, and sign, the terms that a terminal shows.

    Raises:
        NothingWaitsError: The terminal shows no terms.
        InvalidRequestError: The terminal is unknown.
    """
    _act(gateway, terminal_id, TerminalRequestTrigger.ACCEPT, Script())


def decline(
    gateway: Gateway, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
) -> None:
    """Decline the card, or the terms, at a terminal.

    The arguments and errors are those of `present`.
    """
    _check_card(card, entry_mode)
    script = Script(card, entry_mode, "DECLINED", ReasonCode.DENIED)
    _act(gateway, terminal_id, TerminalRequestTrigger.DECLINE, script)


def reject_pin(
    gateway: Gateway, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
) -> None:
    """Let the issuer reject the PIN at a terminal.

    The arguments and errors are those of `present`.
    """
    _check_card(card, entry_mode)
    script = Script(card, entry_mode, "BAD_PIN", ReasonCode.BAD_PIN)
    _act(gateway, terminal_id, TerminalRequestTrigger.REJECT_PIN, script)


def cancel(gateway: Gateway, terminal_id: str | None = None) -> None:
    """Press the cancel key of a terminal.

    Raises:
        NothingWaitsError: No call waits at the terminal.
        InvalidRequestError: The terminal is unknown.
    """
    _act(gateway, terminal_id, TerminalRequestTrigger.CANCEL, stop_with("CANCELLED", ReasonCode.DENIED))


def silence(gateway: Gateway, terminal_id: str | None = None) -> None:
    """Stop the automatic actions of a terminal until the next manual action.

    The next card, decline or cancellation ends the silence.

    Raises:
        InvalidRequestError: The terminal is unknown.
    """
    gateway.terminals.silence(_find_id(gateway, terminal_id))


def add_terminal(gateway: Gateway, title: str = "Terminal", *, sig_capture_enable: bool = True) -> str:
    """Add a terminal and return its id.

    Args:
        title: The title, at most 64 characters.
        sig_capture_enable: Whether the terminal can capture signatures.

    Raises:
        InvalidRequestError: The title is empty, or longer than 64 characters.
    """
    if not 0 < len(title) <= _LONGEST_TITLE:
        raise ValueError(f"title: must have 1 to {_LONGEST_TITLE} characters.")
    terminal_id = seed.add_terminal(gateway, gateway.first_location, title, sig_capture_enable=sig_capture_enable)
    gateway.live_updates.publish("terminals")
    return terminal_id


def _act(gateway: Gateway, terminal_id: str | None, trigger: TerminalRequestTrigger, script: Script) -> None:
    gateway.terminals.act(_find_id(gateway, terminal_id), trigger, script)


def _find_id(gateway: Gateway, terminal_id: str | None) -> str:
    """Return the id of a terminal that exists; None means the first one."""
    return str(gateway.find_known(TERMINAL, gateway.info.terminal_id if terminal_id is None else terminal_id)["id"])


def _check_card(card: str, entry_mode: EntryMode) -> None:
    read_card_arguments(card)
    if entry_mode not in get_args(EntryMode):
        raise ValueError(f"entry_mode: must be one of {', '.join(get_args(EntryMode))}.")


def _describe(gateway: Gateway, row: Row) -> Row:
    calls = [
        {
            "action": request.action,
            "amount": None if request.amount is None else show_money(request.amount),
            "user": request.sender.user,
            "program": request.sender.program,
            "api_id": request.sender.api_id,
            "since": int(request.since),
            "acts_at": request.acts_at,
            "state": request.state,
        }
        for request in gateway.terminals.waiting(row["id"])
    ]
    silent = gateway.terminals.is_silent(row["id"])
    mode = gateway.terminals.options.mode
    return {"id": row["id"], "title": row["title"], "mode": mode, "silent": silent, "waiting": calls}
