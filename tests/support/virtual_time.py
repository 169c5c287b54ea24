"""A clock on which 300 seconds pass at once."""

import pytest
import trio.testing


@pytest.fixture
def virtual_time() -> tuple[str, dict[str, object]]:
    """Return the `anyio_backend` of a module: trio with this clock."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
