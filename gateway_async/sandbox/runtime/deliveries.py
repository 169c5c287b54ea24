"""Delivers postbacks: one task per config makes its attempts in order.

A stored postback is delivered, or fails after the last attempt. It survives a crash of the process, and is never
sent before the change that it reports is committed. The first attempts of a config keep the order of the changes, and
go before repeated attempts. A slow receiver delays only its own config.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from gateway_async.sandbox.http.responses import encode
from gateway_async.sandbox.http.webhook_client import Parcel
from gateway_async.sandbox.runtime.store import ALIVE, WAITING
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.state_machines.postbacks import LIFE, State, Trigger

if TYPE_CHECKING:
    from gateway_async.sandbox.http.webhook_client import Receipt, WebhookClient
    from gateway_async.sandbox.runtime.store import Store
    from gateway_async.sandbox.schema.fields import Row
    from gateway_async.sandbox.simulators.clock import Clock, Timer

KEPT = 10_000
"""How many ended postbacks are kept; all waiting postbacks are kept."""

_ATTEMPTS_KEPT = 20
_IN_LANE = f"config_id = ? AND {WAITING}"


class Deliveries:
    """Delivers the waiting postbacks of one gateway.

    Args:
        store: The store that holds the postbacks.
        clock: The clock that schedules repeated attempts.
        webhook_client: The client that makes an attempt.
    """

    def __init__(self, store: Store, clock: Clock, webhook_client: WebhookClient) -> None:
        self._store, self._clock, self._webhook_client = store, clock, webhook_client
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._timer: Timer | None = None
        self._is_open = self._is_called = False
        self._ended = 0

    def begin(self) -> None:
        """Start delivering, first the postbacks that an earlier run left."""
        self._is_open = True
        self._hasten()
        self._forget_old()
        self.wake()

    def wake(self) -> None:
        """Schedule a check for due postbacks.

        The check runs after the current callback and its transaction have ended.
        """
        if self._is_open and not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._look)

    async def idle(self) -> bool:
        """Wait until no attempt is due or in progress.

        The result says whether there was one.
        """
        self._look()
        waited = bool(self._lanes)
        while self._lanes:
            await asyncio.wait(self._lanes.values())
            self._look()
        return waited

    async def cut_off(self) -> None:
        """Cancel every attempt in progress.

        The postbacks stay stored and are delivered when `wake` is called again.
        """
        tasks = list(self._lanes.values())
        self._lanes.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Cancel every attempt in progress, and make no more."""
        self._is_open = False
        self._ring_at(None)
        await self.cut_off()

    def _look(self) -> None:
        self._is_called = False
        if not self._is_open:
            return
        now, later = self._clock.now(), []
        for config in self._store.select(POSTBACK_CONFIG, ALIVE):
            due = self._store.least(POSTBACK, "due_ts", _IN_LANE, (config["id"],))
            if due is not None and due > now:
                later.append(due)
            elif due is not None:
                self._open_lane(config["id"])
        self._ring_at(min(later, default=None))

    def _ring_at(self, when: float | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if when is None else self._clock.call_at(when, self.wake)

    def _open_lane(self, config_id: str) -> None:
        if config_id in self._lanes:
            return
        task = asyncio.get_running_loop().create_task(self._run(config_id))
        self._lanes[config_id] = task
        task.add_done_callback(lambda _: self._close_lane(config_id, task))

    def _close_lane(self, config_id: str, lane: asyncio.Task[None]) -> None:
        if self._lanes.get(config_id) is not lane:
            return
        del self._lanes[config_id]
        if error := lane.exception():  # an internal error: a restart would fail again without end
            lane.get_loop().call_exception_handler({"message": "a postback lane ended", "exception": error})
        else:
            self.wake()

    async def _run(self, config_id: str) -> None:
        while postback := self._next(config_id):
            config = self._store.select(POSTBACK_CONFIG, "id = ?", (config_id,))[0]
            number, when = last_attempt(postback) + 1, self._clock.now()
            receipt = await self._webhook_client.carry(_parcel(config, postback, number))
            attempt = {"number": number, "when": round(when, 3), "url": shown_url(config["url"])}
            self._note(postback["id"], attempt | {"status": receipt.status, "error": receipt.error}, receipt)
            await asyncio.sleep(0)  # yields to other tasks: a host that is not allowed fails without waiting

    def _next(self, config_id: str) -> Row | None:
        rest = f"{_IN_LANE} AND due_ts <= ? ORDER BY due_ts, id LIMIT 1"
        return next(iter(self._store.select(POSTBACK, rest, (config_id, self._clock.now()))), None)

    def _note(self, postback_id: str, attempt: Row, receipt: Receipt) -> None:
        """Record the result of an attempt.

        The current state of the postback and its config decides what follows.
        """
        postback = self._store.find(POSTBACK, id=postback_id)
        config = postback and self._store.find(POSTBACK_CONFIG, id=postback["config_id"])
        if postback is None or config is None:
            return
        attempts = [*attempts_of(postback), attempt][-_ATTEMPTS_KEPT:]
        changes: Row = {"attempts": encode(attempts).decode()}
        state = State(postback["state"])
        after = LIFE.after(state, _trigger(attempt["number"], config, receipt)) or state
        due = self._clock.now() + config["attempt_interval"]
        self._store.update(POSTBACK, postback_id, changes | {"state": after, "due_ts": due})
        if after is not State.WAITING:
            self._count_ended()

    def _count_ended(self) -> None:
        self._ended += 1
        if self._ended > KEPT // 10:
            self._forget_old()

    def _forget_old(self) -> None:
        self._ended = 0
        newest = f"NOT {WAITING} ORDER BY id DESC LIMIT 1 OFFSET ?"
        for row in self._store.select(POSTBACK, newest, (KEPT,)):
            self._store.clear(POSTBACK, f"NOT {WAITING} AND id <= ?", (row["id"],))

    def _hasten(self) -> None:
        """Limit each waiting time to the config's interval.

        The clock may have been ahead in an earlier run, which would delay the attempts for too long.
        """
        for config in self._store.select(POSTBACK_CONFIG, ALIVE):
            latest = self._clock.now() + config["attempt_interval"]
            for row in self._store.select(POSTBACK, f"{_IN_LANE} AND due_ts > ?", (config["id"], latest)):
                self._store.update(POSTBACK, row["id"], {"due_ts": latest})


def attempts_of(postback: Row) -> list[Row]:
    """Return the recorded attempts, newest last."""
    attempts: list[Row] = msgspec.json.decode(postback["attempts"])
    return attempts


def last_attempt(postback: Row) -> int:
    """Return the number of the last attempt; 0 before the first."""
    return max((attempt["number"] for attempt in attempts_of(postback)), default=0)


def fields_of(postback: Row, number: int) -> Row:
    """Return the four fields of the body (contract, "Events").

    Args:
        postback: The stored postback.
        number: The number of the attempt.
    """
    return {
        "type": postback["type"],
        "resource": postback["resource"],
        "number_of_attempts": number,
        "data": postback["data"],
    }


def shown_url(url: str) -> str:
    """Return a receiver's address without credentials and query string.

    Both may be secret.
    """
    scheme, _, rest = url.partition("://")
    address, query, _ = rest.partition("#")[0].partition("?")
    authority, slash, path = address.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}{'?…' if query else ''}"


def _trigger(number: int, config: Row, receipt: Receipt) -> Trigger:
    if receipt.is_acknowledged:
        return Trigger.ACKNOWLEDGE
    return Trigger.FAIL if number < config["number_of_attempts"] else Trigger.FAIL_AT_LAST


def _parcel(config: Row, postback: Row, number: int) -> Parcel:
    fields = fields_of(postback, number)
    if config["format"] == "json":
        content_type, body = "application/json", encode(fields)
    else:
        content_type, body = "application/x-www-form-urlencoded", urlencode(fields).encode()
    return Parcel(config["url"], {"content-type": content_type} | _login(config), body)


def _login(config: Row) -> dict[str, str]:
    username, password = config["basic_auth_username"], config["basic_auth_password"]
    if not username or not password:
        return {}
    return {"authorization": f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"}
