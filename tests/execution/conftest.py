"""The clock of these tests: waits and backoff cost nothing."""

from tests.support.virtual_time import virtual_time

anyio_backend = virtual_time
