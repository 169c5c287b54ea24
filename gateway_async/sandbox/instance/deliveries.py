"""Postbacks on their way: each config has a lane, in which one attempt is made after the other.

The law of this file: what was noted is delivered or, after the last attempt, given up; never forgotten, whatever
the process does, and never before the change that it tells of was committed. First attempts of a config keep the
order of the changes, and go before repeats. A receiver that is slow delays its own lane and nothing else.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from gateway_async.sandbox.http.answers import encode
from gateway_async.sandbox.http.couriers import Parcel
from gateway_async.sandbox.instance.store import ALIVE, WAITING
from gateway_async.sandbox.states.postbacks import LIFE, State, Trigger
from gateway_async.sandbox.tables import POSTBACK, POSTBACK_CONFIG

if TYPE_CHECKING:
    from gateway_async.sandbox.http.couriers import Courier, Receipt
    from gateway_async.sandbox.instance.store import Store
    from gateway_async.sandbox.simulators.clock import Clock, Timer
    from gateway_async.sandbox.tables.fields import Row

KEPT = 10_000
"""How many postbacks that have ended are remembered; those that wait are all kept."""

_ATTEMPTS_KEPT = 20
_IN_LANE = f"config_id = ? AND {WAITING}"


class Deliveries:
    """The postbacks of one gateway on their way.

    Args:
        store: Where they are noted.
        clock: What times their repeats.
        courier: Who makes an attempt.
    """

    def __init__(self, store: Store, clock: Clock, courier: Courier) -> None:
        self._store, self._clock, self._courier = store, clock, courier
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._timer: Timer | None = None
        self._is_open = self._is_called = False
        self._ended = 0

    def begin(self) -> None:
        """Deliver from now on, beginning with what an earlier run has left."""
        self._is_open = True
        self._hasten()
        self._forget_old()
        self.wake()

    def wake(self) -> None:
        """Look, once the running step and its transaction are over, whether something is to be delivered."""
        if self._is_open and not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._look)

    async def idle(self) -> bool:
        """Return when no attempt is due or under way; whether there was one."""
        self._look()
        waited = bool(self._lanes)
        while self._lanes:
            await asyncio.wait(self._lanes.values())
            self._look()
        return waited

    async def cut_off(self) -> None:
        """Break off every attempt; whatever is noted is delivered when `wake` is called again."""
        lanes = list(self._lanes.values())
        self._lanes.clear()
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)

    async def close(self) -> None:
        """Break off every attempt, and make no more."""
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
        lane = asyncio.get_running_loop().create_task(self._run(config_id))
        self._lanes[config_id] = lane
        lane.add_done_callback(lambda _: self._close_lane(config_id, lane))

    def _close_lane(self, config_id: str, lane: asyncio.Task[None]) -> None:
        if self._lanes.get(config_id) is not lane:
            return
        del self._lanes[config_id]
        if trouble := lane.exception():  # an error of our own: to go on would be to fail without end
            lane.get_loop().call_exception_handler({"message": "a postback lane ended", "exception": trouble})
        else:
            self.wake()

    async def _run(self, config_id: str) -> None:
        while postback := self._next(config_id):
            config = self._store.select(POSTBACK_CONFIG, "id = ?", (config_id,))[0]
            number, when = last_attempt(postback) + 1, self._clock.now()
            receipt = await self._courier.carry(_parcel(config, postback, number))
            attempt = {"number": number, "when": round(when, 3), "url": shown_url(config["url"])}
            self._note(postback["id"], attempt | {"status": receipt.status, "error": receipt.error}, receipt)
            await asyncio.sleep(0)  # a host that is not allowed is refused without waiting for anything

    def _next(self, config_id: str) -> Row | None:
        rest = f"{_IN_LANE} AND due_ts <= ? ORDER BY due_ts, id LIMIT 1"
        return next(iter(self._store.select(POSTBACK, rest, (config_id, self._clock.now()))), None)

    def _note(self, postback_id: str, attempt: Row, receipt: Receipt) -> None:
        """Keep what became of an attempt, by the config and the postback as they are now."""
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
        """Let nothing wait longer than its interval because the clock was ahead in an earlier run."""
        for config in self._store.select(POSTBACK_CONFIG, ALIVE):
            latest = self._clock.now() + config["attempt_interval"]
            for row in self._store.select(POSTBACK, f"{_IN_LANE} AND due_ts > ?", (config["id"], latest)):
                self._store.update(POSTBACK, row["id"], {"due_ts": latest})


def attempts_of(postback: Row) -> list[Row]:
    """The attempts that were made, the newest last."""
    attempts: list[Row] = msgspec.json.decode(postback["attempts"])
    return attempts


def last_attempt(postback: Row) -> int:
    """The number of the last attempt; 0 before the first."""
    return max((attempt["number"] for attempt in attempts_of(postback)), default=0)


def fields_of(postback: Row, number: int) -> Row:
    """The four fields of the body (contract, "Events").

    Args:
        postback: As stored.
        number: Of the attempt.
    """
    return {
        "type": postback["type"],
        "resource": postback["resource"],
        "number_of_attempts": number,
        "data": postback["data"],
    }


def shown_url(url: str) -> str:
    """A receiver's address as it may be shown: without credentials, and without its query, which often is one."""
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
