"""The `Gateway` object: the state and services of one running gateway."""

import re
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.http.responses import UnknownRecordError
from gateway_async.sandbox.http.server import Listener
from gateway_async.sandbox.runtime.live_pages import LiveUpdates, SubmittedForms
from gateway_async.sandbox.runtime.postback_delivery import PostbackDelivery
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema import STORED, TOKEN, USER
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import DEFAULT_CURRENCY
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.faults import PlannedFault
from gateway_async.sandbox.simulators.terminals import TerminalSimulator

IN_ENVIRONMENT = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
"""The fields of `SandboxInfo` that `AsyncGateway.from_env()` reads from variables such as `GATEWAY_BASE_URL`."""

_TIME_DIGITS = 16
"""The number of leading hexadecimal digits that increase; the digits after them are random."""

_LIKE_CARD = re.compile(r"[0-9]{13}")
_KEPT_REQUESTS = 500
_TABLES_BY_API_ID = {table.api_id: table for table in STORED if table.api_id}
_WITH_SYSTEM_ID = [table for table in STORED if table is not TOKEN]
"""The tables with system ids; the id of a token is its digest."""

_CREDENTIALS = ("username", "password", "domain", "user_api_key", "user_hash_key")


def _mask(_secret: Any) -> str:
    return "***"


@attrs.frozen(kw_only=True)
class SandboxInfo:
    """The address of a sandbox, a user's credentials and ids.

    The ids belong to the user's location. The repr masks the secrets.
    """

    base_url: str
    developer_id: str
    user_id: str
    user_api_key: str = attrs.field(repr=_mask)
    user_hash_key: str = attrs.field(repr=_mask)
    username: str
    password: str = attrs.field(repr=_mask)
    domain: str
    location_id: str
    contact_id: str
    cc_product_transaction_id: str
    ach_product_transaction_id: str
    terminal_id: str

    def environment(self) -> dict[str, str]:
        """The variables that `AsyncGateway.from_env()` reads, with the secrets."""
        return {f"GATEWAY_{name.upper()}": getattr(self, name) for name in IN_ENVIRONMENT} | {"GATEWAY_ALLOW_HTTP": "1"}


class IdGenerator:
    """Creates system ids that always increase.

    Each id is greater than the one before, even when the clock is set back or the gateway restarts. `last` is the
    greatest existing id; empty without records.
    """

    def __init__(self, clock: Clock, last: str = "") -> None:
        self._clock = clock
        self._last = int(last[:_TIME_DIGITS] or "0", 16)

    def new(self) -> str:
        """A new, unused id. No message masks it as a card number."""
        self._last = max(self._last + 1, int(self._clock.now() * 1000) << 16)
        while _LIKE_CARD.search(name := f"{self._last:0{_TIME_DIGITS}x}{secrets.token_hex(4)}"):
            self._last += 1
        return name


@attrs.define(eq=False)
class Gateway:
    """The state and services of one running gateway.

    Attributes:
        currency: The currency of the amounts that pages and messages show.
        strict: Whether an unknown field or parameter of a request is a problem; else it is ignored and logged.
        faults: The active fault plans.
        ids: Creates the ids of new records.
        listener: The server that accepts the requests.
        info: The address, and the credentials and ids of the first location.
        requests: The newest requests, the last one at the end.
        live_updates: Tells open pages what changed.
        csrf_token: What every form of a page has to return.
        submitted_forms: The forms that must not be handled twice.
    """

    store: Store
    clock: Clock
    terminals: TerminalSimulator
    postback_delivery: PostbackDelivery
    currency: str = DEFAULT_CURRENCY
    strict: bool = False
    faults: list[PlannedFault] = attrs.field(factory=list, init=False)
    ids: IdGenerator = attrs.field(init=False)
    listener: Listener = attrs.field(init=False)
    info: SandboxInfo = attrs.field(init=False)
    requests: deque[LoggedRequest] = attrs.field(factory=lambda: deque(maxlen=_KEPT_REQUESTS), init=False)
    live_updates: LiveUpdates = attrs.field(factory=LiveUpdates, init=False)
    csrf_token: str = attrs.field(factory=secrets.token_urlsafe, init=False)
    submitted_forms: SubmittedForms = attrs.field(factory=SubmittedForms, init=False)
    _reserved: set[tuple[str, str, str]] = attrs.field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.ids = IdGenerator(self.clock, self.store.newest(_WITH_SYSTEM_ID))
        self.store.on_change = lambda: self.live_updates.publish("records")
        self.terminals.on_change = lambda: self.live_updates.publish("terminals")

    @property
    def base_url(self) -> str:
        """The address of the gateway, without a trailing slash."""
        return self.listener.url

    @property
    def first_location(self) -> Row:
        """The location whose credentials are in `info`, as the owner of new records."""
        return {"location_id": self.info.location_id}

    def refresh_info(self) -> None:
        """Update the credentials of the first user in `info`; a request may have changed them."""
        user = self.store.find(USER, id=self.info.user_id)
        if user is not None:
            self.info = attrs.evolve(self.info, **{name: user[name] for name in _CREDENTIALS})

    def find_known(self, table: Table, record_id: str) -> Row:
        """Find the record with an id.

        Raises:
            UnknownRecordError: No record has it.
        """
        row = self.store.find(table, id=record_id)
        if row is None:
            raise UnknownRecordError(table.singular, record_id)
        return row

    def new_row(self, table: Table, user: Row, values: Row) -> Row:
        """A new record: defaults, values, an id, timestamps and the creator."""
        now = self.clock.timestamp()
        row: Row = {field.name: field.default for field in table.stored}
        known = {"created_user_id": user.get("id"), "modified_user_id": user.get("id")} | values
        row |= {name: value for name, value in known.items() if name in row and value is not None}
        row |= {"id": self.ids.new(), "location_id": user["location_id"], "deleted_ts": None}
        return row | {"created_ts": now, "modified_ts": now}

    def create(self, table: Table, user: Row, values: Row) -> Row:
        """Store a new record, and return it."""
        row = self.new_row(table, user, values)
        self.store.insert(table, row)
        return row

    def change(self, table: Table, row: Row, changes: Row) -> Row:
        """Store changes of a record and their time; return the changed record."""
        changes = changes | {"modified_ts": self.clock.timestamp()}
        self.store.update(table, row["id"], changes)
        return row | changes

    def is_taken(self, table: Table, location_id: str, api_id: str, *, except_id: str | None = None) -> bool:
        """Whether an integrator id is in use in a location.

        A record or a waiting request may use it. The record with the id `except_id` does not count. Router requests
        share the integrator ids of the records that they create. The integrator id of a location is unique everywhere.
        """
        if (location_id, table.api_id, api_id) in self._reserved:
            return True
        stored = _TABLES_BY_API_ID[table.api_id]
        where = {"location_id": location_id} if "location_id" in stored.by_name else {}
        found = self.store.find_alive(stored, **where, **{table.api_id: api_id})
        return found is not None and found["id"] != except_id

    @contextmanager
    def reserve(self, table: Table, user: Row, values: Row) -> Iterator[None]:
        """Reserve the integrator id of a request while the request waits."""
        api_id = values.get(table.api_id)
        if api_id is None:
            yield
            return
        key = (str(user["location_id"]), table.api_id, str(api_id))
        self._reserved.add(key)
        try:
            yield
        finally:
            self._reserved.discard(key)
