"""The clock, the faults, the terminals and the postbacks of a gateway."""

import asyncio
import time
from collections.abc import Iterable
from typing import get_args

from gateway_async.sandbox import end_of_day, seed
from gateway_async.sandbox.controls.payments import read_card_arguments
from gateway_async.sandbox.fault_effects import close_port
from gateway_async.sandbox.handlers.postbacks import is_in_effect
from gateway_async.sandbox.http.responses import unknown_name
from gateway_async.sandbox.routes import OPERATIONS, is_operation
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import (
    PostbackFormat,
    body_fields,
    check_format,
    last_attempt_number,
    mask_url,
    read_attempts,
)
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG, TERMINAL
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import EntryMode, mask_card_numbers
from gateway_async.sandbox.simulators.faults import FaultName, PlannedFault, make_plans
from gateway_async.sandbox.simulators.terminals import Script, stop_with
from gateway_async.sandbox.state_machines.postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger
from gateway_async.sandbox.state_machines.terminal_requests import TerminalRequestTrigger

_LONGEST_TITLE = 64


def now(gateway: Gateway) -> float:
    """Read the sandbox clock, in Unix seconds."""
    return gateway.clock.now()


def set_clock(gateway: Gateway, now: float) -> None:
    """Set the sandbox clock to a time in Unix seconds.

    Everything that becomes due happens at once.

    Raises:
        InvalidRequestError: The time is not between 1970 and the year 9000.
    """
    gateway.clock.set(now)


def advance(gateway: Gateway, seconds: float) -> None:
    """Move the sandbox clock forward, or back if `seconds` is negative.

    Everything that becomes due happens at once.

    Raises:
        InvalidRequestError: The clock would leave the years from 1970 to 9000.
    """
    gateway.clock.advance(seconds)


async def wait_until_idle(gateway: Gateway, *, timeout: float = 10.0, postbacks: bool = True) -> None:  # noqa: ASYNC109  # of real time
    """Wait until no request is in progress.

    After that, each request of a client that has exited was either executed or never will be. Postbacks that are
    due, and the requests that they cause, are included. A postback that waits for its next attempt is not due.
    `advance` by its `attempt_interval` makes it due.

    Args:
        timeout: The longest wait, in seconds of real time.
        postbacks: Whether to wait for postbacks as well.

    Raises:
        TimeoutError: A request or a postback is still in progress.
    """
    try:
        async with asyncio.timeout(timeout):
            await gateway.listener.wait_until_idle()
            while postbacks and await gateway.postback_delivery.wait_until_idle():
                await gateway.listener.wait_until_idle()  # receivers may send requests back
    except TimeoutError:
        subject = "a request or a postback" if postbacks else "a request"
        raise TimeoutError(f"{subject} is still in progress after {_format_seconds(timeout)}.") from None


async def fault(
    gateway: Gateway,
    operation: str,
    fault: FaultName,
    *,
    nth: int = 1,
    times: int | None = None,
    probability: float | None = None,
    seed: int | None = None,
    seconds: float = 1.0,
    retry_after: float | None = 1.0,
) -> None:
    """Plan a fault for requests of one operation, such as "POST /v2/transactions".

    Args:
        operation: Method and path, with ids as `{id}`.
        fault: The name of the fault. `refuse` closes the port after the previous request, or at once for the first.
        nth: The first matching request, counted from now, that gets the fault.
        times: How many requests get the fault; the default is 1, or no limit with a `probability`.
        probability: The chance from 0 to 1 that a matching request gets the fault; it replaces `nth`.
        seed: Makes the random choice repeatable.
        seconds: How long a `delay` or a `refuse` lasts, or how long a `drip` pauses between bytes.
        retry_after: The `Retry-After` header, in seconds; None omits it.

    Raises:
        InvalidRequestError: The fault or the operation is unknown, or the plan is inconsistent.
    """
    plan = PlannedFault(operation, fault, nth, times, probability, seed, seconds, retry_after)
    await add_plans(gateway, [plan])


async def scenario(gateway: Gateway, name: str) -> None:
    """Plan the faults of a named scenario.

    An example is "response lost after approval". The page about faults lists the scenarios.

    Raises:
        InvalidRequestError: The scenario is unknown.
    """
    await add_plans(gateway, make_plans(name))


async def add_plans(gateway: Gateway, plans: Iterable[PlannedFault]) -> None:
    """Add plans; a `refuse` of the first request closes the port at once."""
    for plan in plans:
        plan.check()
        if not is_operation(plan.operation):
            method, _, path = plan.operation.partition(" ")
            expected = "must be a method and a path of the gateway, as in POST /v2/transactions"
            raise unknown_name("operation", f"{method.upper()} {path}", OPERATIONS, expected)
        if plan.starts_immediately:
            await close_port(gateway, plan.seconds)
        else:
            gateway.faults.append(plan)


def faults(gateway: Gateway) -> list[Row]:
    """List the planned faults.

    Each plan counts the matching requests (`seen`) and those with the fault (`affected`), with `affected_ids`.
    """
    return [plan.describe() for plan in gateway.faults]


async def clear_faults(gateway: Gateway) -> None:
    """Remove every planned fault."""
    gateway.faults.clear()
    await gateway.listener.resume()


def terminals(gateway: Gateway) -> list[Row]:
    """List every terminal with the calls waiting at it."""
    return [_describe_terminal(gateway, row) for row in gateway.store.select(TERMINAL, ALIVE)]


def terminal(gateway: Gateway, terminal_id: str) -> Row:
    """Read one terminal with the calls waiting at it, the active one first."""
    return _describe_terminal(gateway, gateway.find_known(TERMINAL, terminal_id))


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
        raise TimeoutError(f"terminal {known_id}: no call arrived within {_format_seconds(timeout)}.") from None
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

    Takes the same arguments and raises the same errors as `present`.
    """
    script = Script(card, entry_mode, "DECLINED", ReasonCode.DENIED)
    _act(gateway, terminal_id, TerminalRequestTrigger.DECLINE, script)


def reject_pin(
    gateway: Gateway, terminal_id: str | None = None, *, card: str = "4111111111111111", entry_mode: EntryMode = "C"
) -> None:
    """Let the issuer reject the PIN at a terminal.

    Takes the same arguments and raises the same errors as `present`.
    """
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
    """Add a terminal.

    Args:
        title: The title, at most 64 characters.
        sig_capture_enable: Whether the terminal can capture signatures.

    Returns:
        The id of the terminal.

    Raises:
        InvalidRequestError: The title is empty, or longer than 64 characters.
    """
    if not 0 < len(title) <= _LONGEST_TITLE:
        raise ValueError(f"title: must have 1 to {_LONGEST_TITLE} characters.")
    terminal_id = seed.add_terminal(gateway, gateway.first_location, title, sig_capture_enable=sig_capture_enable)
    gateway.live_updates.publish("terminals")
    return terminal_id


def _act(gateway: Gateway, terminal_id: str | None, trigger: TerminalRequestTrigger, script: Script) -> None:
    if script.card is not None:
        read_card_arguments(script.card)
    if script.entry_mode not in get_args(EntryMode):
        raise ValueError(f"entry_mode: must be one of {', '.join(get_args(EntryMode))}.")
    gateway.terminals.act(_find_id(gateway, terminal_id), trigger, script)


def _find_id(gateway: Gateway, terminal_id: str | None) -> str:
    """Return the id of a terminal that exists; None means the first one."""
    return str(gateway.find_known(TERMINAL, gateway.info.terminal_id if terminal_id is None else terminal_id)["id"])


def _describe_terminal(gateway: Gateway, row: Row) -> Row:
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


def postbacks(gateway: Gateway, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
    """List the postbacks of every config with their delivery attempts, newest last.

    The list has every waiting postback and the newest ten thousand that have ended.

    Args:
        config_id: Return only postbacks of this config.
        record_id: Return only postbacks about this record.

    Returns:
        For each postback its `id`, `config_id`, the config `url`, `resource`, `type`, `record_id`, `created_ts` in
        Unix seconds, the `state` ("waiting", "delivered", "failed", "cancelled"), `next_attempt_ts`, the
        `attempts` (each with its `number`, `when`, `url`, and the `status` of the response or an `error`), and
        the `body` of the last attempt. Card numbers in it are masked. Query strings of addresses are omitted.
    """
    return _show_postbacks(gateway, gateway.store.filter(POSTBACK, config_id=config_id, record_id=record_id))


def newest_postbacks(gateway: Gateway, most: int, state: str = "") -> list[Row]:
    """List the newest postbacks, newest first; by default in every state."""
    where = "? IN (state, '') ORDER BY id DESC LIMIT ?"
    return _show_postbacks(gateway, gateway.store.select(POSTBACK, where, (state, most)))


def postback(gateway: Gateway, postback_id: str) -> Row:
    """Read one postback."""
    return _show_postbacks(gateway, [gateway.find_known(POSTBACK, postback_id)])[0]


def postback_format(gateway: Gateway) -> PostbackFormat:
    """Read the format in which the bodies of postbacks are written."""
    return gateway.postback_delivery.postback_format


def set_postback_format(gateway: Gateway, postback_format: PostbackFormat) -> None:
    """Write the bodies of later postbacks as `json` or as a `form`; the receiver takes both.

    Raises:
        InvalidRequestError: The format is unknown.
    """
    gateway.postback_delivery.postback_format = check_format(postback_format)


def replay_postback(gateway: Gateway, postback_id: str) -> Row:
    """Send a postback again, in whatever state it is.

    The result is the postback before that attempt.

    Raises:
        InvalidRequestError: The postback is unknown, or its config was deleted or is inactive.
    """
    row = gateway.find_known(POSTBACK, postback_id)
    config = gateway.store.select(POSTBACK_CONFIG, "id = ?", (row["config_id"],))[0]
    if not is_in_effect(config):
        raise ValueError(f"postback {postback_id}: its config was deleted, or is not active.")
    changes: Row = {
        "state": DELIVERY_MACHINE.next_state(DeliveryState(row["state"]), DeliveryTrigger.REPLAY),
        "due_ts": 0,
    }
    gateway.store.update(POSTBACK, postback_id, changes)
    gateway.postback_delivery.schedule_check()
    return _show_postback(row | changes, config)


def _show_postbacks(gateway: Gateway, rows: list[Row]) -> list[Row]:
    configs = {config["id"]: config for config in gateway.store.select(POSTBACK_CONFIG)}
    return [_show_postback(row, configs[row["config_id"]]) for row in rows]


def _show_postback(row: Row, config: Row) -> Row:
    body = body_fields(row, max(1, last_attempt_number(row)))
    shown = POSTBACK.show(row) | {"attempts": read_attempts(row), "url": mask_url(config["url"])}
    due = shown.pop("due_ts")
    shown["next_attempt_ts"] = (due or row["created_ts"]) if row["state"] == DeliveryState.WAITING else None
    return shown | {"body": body | {"data": mask_card_numbers(body["data"])}}


async def reset(gateway: Gateway) -> None:
    """Cancel waiting calls, delete records and faults, and reset the clock."""
    await gateway.listener.cancel_requests()
    await clear_faults(gateway)
    await gateway.postback_delivery.cancel_attempts()
    gateway.clock.set(time.time())
    seed.delete_records(gateway)
    gateway.terminals.reset()
    end_of_day.skip_to_today(gateway)


def _format_seconds(number: float) -> str:
    """Format a time for a message, as in "1 second"."""
    return f"{number:g} second{'s' * (number != 1)}"
