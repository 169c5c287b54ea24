"""Delivers postbacks: one task per config makes its attempts in order.

A stored postback is delivered, or fails after the last attempt. It survives a crash of the process, and is never
sent before the change that it reports is committed. The first attempts of a config keep the order of the changes, and
go before repeated attempts. A slow receiver delays only its own config.
"""

import asyncio
from base64 import b64encode
from typing import Literal, get_args
from urllib.parse import urlencode

import msgspec

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.http.webhook_client import DeliveryResult, PostbackRequest, WebhookClient
from gateway_async.sandbox.runtime.store import ALIVE, WAITING, Store
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.clock import Clock, Timer
from gateway_async.sandbox.state_machines.postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger

PostbackFormat = Literal["json", "form"]
"""How the body of a postback is written: as JSON, as the contract says, or as a form, as some gateways do."""

MOST_ENDED = 10_000
"""How many ended postbacks are kept; all waiting postbacks are kept."""

_MOST_ATTEMPTS = 100
_WAITING_OF_CONFIG = f"config_id = ? AND {WAITING}"


class PostbackDelivery:
    """Delivers the waiting postbacks of one gateway.

    Attributes:
        postback_format: How the body of each later attempt is written.
    """

    def __init__(
        self, store: Store, clock: Clock, webhook_client: WebhookClient, postback_format: PostbackFormat = "json"
    ) -> None:
        self._store, self._clock, self._webhook_client = store, clock, webhook_client
        self.postback_format: PostbackFormat = postback_format
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timer: Timer | None = None
        self._is_running = self._check_scheduled = False
        self._ended_since_cleanup = 0

    def start(self) -> None:
        """Start delivering, first the postbacks that an earlier run left."""
        self._is_running = True
        self._limit_waiting_times()
        self._delete_old()
        self.schedule_check()

    def schedule_check(self) -> None:
        """Schedule a check for due postbacks.

        The check runs after the current callback and its transaction have ended.
        """
        if self._is_running and not self._check_scheduled:
            self._check_scheduled = True
            asyncio.get_running_loop().call_soon(self._check_due)

    async def wait_until_idle(self) -> bool:
        """Wait until no attempt is due or in progress; return whether one was."""
        self._check_due()
        waited = bool(self._tasks)
        while self._tasks:
            await asyncio.wait(self._tasks.values())
            self._check_due()
        return waited

    async def cancel_attempts(self) -> None:
        """Cancel every attempt in progress.

        The postbacks stay stored and are delivered when `schedule_check` is called again.
        """
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Cancel every attempt in progress, and make no more."""
        self._is_running = False
        self._set_timer(None)
        await self.cancel_attempts()

    def _check_due(self) -> None:
        self._check_scheduled = False
        if not self._is_running:
            return
        now, later = self._clock.now(), []
        for config in self._store.select(POSTBACK_CONFIG, ALIVE):
            postback = self._next(config["id"])
            if postback and postback["due_ts"] > now:
                later.append(postback["due_ts"])
            elif postback:
                self._start_task(config["id"])
        self._set_timer(min(later, default=None))

    def _set_timer(self, when: float | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if when is None else self._clock.call_at(when, self.schedule_check)

    def _start_task(self, config_id: str) -> None:
        if config_id in self._tasks:
            return
        task = asyncio.get_running_loop().create_task(self._run(config_id))
        self._tasks[config_id] = task
        task.add_done_callback(lambda _: self._end_task(config_id, task))

    def _end_task(self, config_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(config_id) is not task:
            return
        del self._tasks[config_id]
        if error := task.exception():  # an internal error: a restart would fail again without end
            task.get_loop().call_exception_handler({"message": "postback delivery task failed", "exception": error})
        else:
            self.schedule_check()

    async def _run(self, config_id: str) -> None:
        while (postback := self._next(config_id)) and postback["due_ts"] <= self._clock.now():
            config = self._store.select(POSTBACK_CONFIG, "id = ?", (config_id,))[0]
            number, when = last_attempt_number(postback) + 1, self._clock.now()
            result = await self._webhook_client.send(self._make_request(config, postback, number))
            attempt = {"number": number, "when": round(when, 3), "url": mask_url(config["url"])}
            self._record_attempt(
                postback["id"], attempt | {"status": result.status_code, "error": result.error}, result
            )
            await asyncio.sleep(0)  # yields to other tasks: a host that is not allowed fails without waiting

    def _make_request(self, config: Row, postback: Row, number: int) -> PostbackRequest:
        fields = body_fields(postback, number)
        if self.postback_format == "json":
            content_type, body = "application/json", encode_json(fields)
        else:
            content_type, body = "application/x-www-form-urlencoded", urlencode(fields).encode()
        return PostbackRequest(config["url"], {"content-type": content_type} | _authorization(config), body)

    def _next(self, config_id: str) -> Row | None:
        condition = f"{_WAITING_OF_CONFIG} ORDER BY due_ts, id LIMIT 1"
        return next(iter(self._store.select(POSTBACK, condition, (config_id,))), None)

    def _record_attempt(self, postback_id: str, attempt: Row, result: DeliveryResult) -> None:
        """Record the result of an attempt. The current state of the postback and its config decides what follows."""
        postback = self._store.find(POSTBACK, id=postback_id)
        config = postback and self._store.find(POSTBACK_CONFIG, id=postback["config_id"])
        if postback is None or config is None:
            return
        attempts = [*read_attempts(postback), attempt][-_MOST_ATTEMPTS:]
        changes: Row = {"attempts": encode_json(attempts).decode()}
        state = DeliveryState(postback["state"])
        after = DELIVERY_MACHINE.next_state(state, _trigger_of(attempt["number"], config, result)) or state
        due = self._clock.now() + config["attempt_interval"]
        self._store.update(POSTBACK, postback_id, changes | {"state": after, "due_ts": due})
        self._ended_since_cleanup += after is not DeliveryState.WAITING
        if self._ended_since_cleanup > MOST_ENDED // 10:
            self._delete_old()

    def _delete_old(self) -> None:
        self._ended_since_cleanup = 0
        newest = f"NOT {WAITING} ORDER BY id DESC LIMIT 1 OFFSET ?"
        for row in self._store.select(POSTBACK, newest, (MOST_ENDED,)):
            self._store.clear(POSTBACK, f"NOT {WAITING} AND id <= ?", (row["id"],))

    def _limit_waiting_times(self) -> None:
        """Limit each waiting time to the config's interval.

        The clock may have been ahead in an earlier run, which would delay the attempts for too long.
        """
        for config in self._store.select(POSTBACK_CONFIG, ALIVE):
            latest = self._clock.now() + config["attempt_interval"]
            for row in self._store.select(POSTBACK, f"{_WAITING_OF_CONFIG} AND due_ts > ?", (config["id"], latest)):
                self._store.update(POSTBACK, row["id"], {"due_ts": latest})


def check_format(postback_format: PostbackFormat) -> PostbackFormat:
    """Check the format of postbacks.

    Raises:
        ValueError: The format is unknown.
    """
    if postback_format not in get_args(PostbackFormat):
        raise ValueError(f"postback_format: must be {' or '.join(get_args(PostbackFormat))}, not {postback_format!r}.")
    return postback_format


def read_attempts(postback: Row) -> list[Row]:
    """Read the recorded attempts, newest last."""
    attempts: list[Row] = msgspec.json.decode(postback["attempts"])
    return attempts


def last_attempt_number(postback: Row) -> int:
    """The number of the last attempt; 0 before the first."""
    return max((attempt["number"] for attempt in read_attempts(postback)), default=0)


def body_fields(postback: Row, number: int) -> Row:
    """The four fields of the body (contract, "Events") in an attempt."""
    return {
        "type": postback["type"],
        "resource": postback["resource"],
        "number_of_attempts": number,
        "data": postback["data"],
    }


def mask_url(url: str) -> str:
    """Strip credentials and query, which may be secret, from an address."""
    scheme, _, rest = url.partition("://")
    address, query, _ = rest.partition("#")[0].partition("?")
    authority, slash, path = address.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}{'?…' if query else ''}"


def _trigger_of(number: int, config: Row, result: DeliveryResult) -> DeliveryTrigger:
    if result.is_acknowledged:
        return DeliveryTrigger.ACKNOWLEDGE
    return DeliveryTrigger.FAIL if number < config["number_of_attempts"] else DeliveryTrigger.FAIL_AT_LAST


def _authorization(config: Row) -> dict[str, str]:
    username, password = config["basic_auth_username"], config["basic_auth_password"]
    if not username or not password:
        return {}
    return {"authorization": f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"}
