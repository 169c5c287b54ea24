"""The `Gateway` object: the state and services of one running gateway."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway_async.sandbox.runtime.identifiers import Identifiers
from gateway_async.sandbox.schema import STORED, TOKEN
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway_async.sandbox.http.server import Listener
    from gateway_async.sandbox.runtime.deliveries import Deliveries
    from gateway_async.sandbox.runtime.info import Facts
    from gateway_async.sandbox.runtime.store import Store
    from gateway_async.sandbox.schema.fields import Row, Table
    from gateway_async.sandbox.simulators.terminals import Terminals

_OWN_IDS = {table.api_id: table for table in STORED if table.api_id}
_NUMBERED = [table for table in STORED if table is not TOKEN]
"""The tables with system ids; the id of a token is its digest."""


@dataclass
class Gateway:
    """The state and services of one running gateway.

    Attributes:
        facts: The address, and the credentials and ids of the first location.
        listener: The server that accepts the requests.
    """

    store: Store
    clock: Clock
    terminals: Terminals
    deliveries: Deliveries
    faults: Faults = field(default_factory=Faults)
    listener: Listener = field(init=False)
    facts: Facts = field(init=False)

    def __post_init__(self) -> None:
        self.identifiers = Identifiers(self.clock, self.store.newest(_NUMBERED))
        self._reserved: set[tuple[str, str, str]] = set()

    @property
    def base_url(self) -> str:
        """The address of the gateway, without a trailing slash."""
        return self.listener.url

    def new_row(self, table: Table, user: Row, values: Row) -> Row:
        """Create a record in its first stored form.

        It has the defaults, the values, an id and timestamps.
        """
        now = self.clock.timestamp()
        row: Row = {field.name: field.default for field in table.kept}
        row |= {name: value for name, value in values.items() if name in row and value is not None}
        row |= {"id": self.identifiers.new(), "location_id": user["location_id"], "deleted_ts": None}
        return row | {"created_ts": now, "modified_ts": now}

    def is_taken(self, table: Table, location_id: str, api_id: str, *, but: str | None = None) -> bool:
        """Return whether an integrator id is in use.

        A record or a waiting request may use it.

        Args:
            table: The table; router requests share the ids of the records that they create.
            location_id: The location in which the id must be unique.
            api_id: The integrator id.
            but: The id of a record that may have the integrator id.
        """
        if (location_id, table.api_id, api_id) in self._reserved:
            return True
        where = {"location_id": location_id, table.api_id: api_id}
        found = self.store.find(_OWN_IDS[table.api_id], **where)
        return found is not None and found["deleted_ts"] is None and found["id"] != but

    @contextmanager
    def reserve(self, table: Table, user: Row, values: Row) -> Iterator[None]:
        """Reserve the integrator id of a request while the request waits.

        A second request cannot use the id in the meantime.
        """
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
