"""Everything one running gateway knows and has, in one place."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway_async.sandbox.instance.identifiers import Identifiers
from gateway_async.sandbox.simulators.clock import Clock
from gateway_async.sandbox.simulators.faults import Faults
from gateway_async.sandbox.tables import STORED, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway_async.sandbox.http.server import Listener
    from gateway_async.sandbox.instance.deliveries import Deliveries
    from gateway_async.sandbox.instance.facts import Facts
    from gateway_async.sandbox.instance.store import Store
    from gateway_async.sandbox.simulators.terminals import Terminals
    from gateway_async.sandbox.tables.fields import Row, Table

_OWN_IDS = {table.api_id: table for table in STORED if table.api_id}
_NUMBERED = [table for table in STORED if table is not TOKEN]
"""The tables with system ids; a token's is its digest."""


@dataclass
class Gateway:
    """One running gateway.

    Attributes:
        facts: Its address, and the credentials and ids of its first location.
        listener: What serves it.
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
        """Where it can be reached, without a trailing slash."""
        return self.listener.url

    def new_row(self, table: Table, user: Row, values: Row) -> Row:
        """A record as it is stored first: defaults, then the values, an id and the time."""
        now = self.clock.timestamp()
        row: Row = {field.name: field.default for field in table.kept}
        row |= {name: value for name, value in values.items() if name in row and value is not None}
        row |= {"id": self.identifiers.new(), "location_id": user["location_id"], "deleted_ts": None}
        return row | {"created_ts": now, "modified_ts": now}

    def is_taken(self, table: Table, location_id: str, api_id: str, *, but: str | None = None) -> bool:
        """Whether a record of the location, or a request that still waits, has an integrator id.

        Args:
            table: The family; router requests share the ids of the records they make.
            location_id: Where it must be unique.
            api_id: The integrator id.
            but: The id of the record that may have it.
        """
        if (location_id, table.api_id, api_id) in self._reserved:
            return True
        where = {"location_id": location_id, table.api_id: api_id}
        found = self.store.find(_OWN_IDS[table.api_id], **where)
        return found is not None and found["deleted_ts"] is None and found["id"] != but

    @contextmanager
    def reserve(self, table: Table, user: Row, values: Row) -> Iterator[None]:
        """Hold the integrator id of a request while it waits, so that a second request cannot take it."""
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
