"""How often each integrator id moved money, or stored an account.

More than once means that a program did something twice.
"""

import attrs

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TRANSACTION
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES, TransactionType
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines.transactions import TransactionState


@attrs.frozen
class CountedEffect:
    """Something that should happen once for each integrator id.

    Attributes:
        table: The table of the records that had the effect.
        condition: The SQL condition that those records match.
    """

    table: Table
    condition: str

    @property
    def _where(self) -> str:
        return f"{self.condition} AND {self.table.api_id} IS NOT NULL"

    def count_by_id(self, gateway: Gateway, most: int = -1) -> dict[str, int]:
        """Count the effects of each id.

        Repeated ids are first, then the newest ones. There is a limit only if `most` is given.
        """
        column = self.table.api_id
        order = f"GROUP BY {column} ORDER BY count(*) > 1 DESC, max(rowid) DESC LIMIT ?"
        return dict(gateway.store.query(self.table, (column, "count(*)"), f"{self._where} {order}", (most,)))

    def count_ids(self, gateway: Gateway) -> tuple[int, int]:
        """Count the ids, and those with more than one effect."""
        columns = ("count(*) OVER ()", "sum(count(*) > 1) OVER ()")
        found = gateway.store.query(self.table, columns, f"{self._where} GROUP BY {self.table.api_id} LIMIT 1")
        total, repeated = found[0] if found else (0, 0)
        return total, repeated

    def find_records(self, gateway: Gateway, api_ids: list[str]) -> list[Row]:
        """Find the records with one of the ids, whatever their effect."""
        marks = ", ".join("?" * len(api_ids))
        return gateway.store.select(self.table, f"{self.table.api_id} IN ({marks}) ORDER BY rowid", api_ids)


_REFUNDING = f"({', '.join(str(int(each)) for each in REFUNDING_TYPES)})"
_MOVED_MONEY = f"status_id <> {int(TransactionState.DECLINED)} AND type_id <> {int(TransactionType.ADDRESS_CHECK)}"

COUNTED_EFFECTS = {
    "charged": CountedEffect(TRANSACTION, f"{_MOVED_MONEY} AND type_id NOT IN {_REFUNDING}"),
    "refunded": CountedEffect(TRANSACTION, f"{_MOVED_MONEY} AND type_id IN {_REFUNDING}"),
    "stored": CountedEffect(ACCOUNT_VAULT, "1"),
}
"""The effects that are counted, by name."""
