"""The clock of these tests: waits and backoff cost nothing."""

import pytest
import trio.testing


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Return trio with virtual time, in which 300 seconds pass at once."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
