"""Let sandboxes accept an integrator id twice, so that no client can rely on the rejection of a repetition."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from gateway_async.sandbox.runtime import store
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Table


@contextmanager
def accept_duplicate_ids() -> Iterator[None]:
    """Let the sandboxes that are started in the block accept an integrator id twice."""
    indexes = store._indexes

    def plain_indexes(table: Table) -> list[str]:
        return [statement.replace("UNIQUE ", "") for statement in indexes(table)]

    _forget_empty_database()
    try:
        with patch.object(Gateway, "is_taken", lambda *_, **__: False), patch.object(store, "_indexes", plain_indexes):
            yield
    finally:
        _forget_empty_database()


def _forget_empty_database() -> None:
    """Let the next sandbox without a file make a new database to copy, with the indexes of that time."""
    store._empty_database().close()  # Python 3.13 warns of an open one that is collected
    store._empty_database.cache_clear()
