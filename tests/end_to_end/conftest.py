"""A sandbox whose terminals wait for a person."""

from collections.abc import Iterator

import pytest

from gateway_async.sandbox import Sandbox


@pytest.fixture
def sandbox_by_hand() -> Iterator[Sandbox]:
    """Start a sandbox whose terminals wait for commands."""
    with Sandbox(terminals="manual") as sandbox:
        yield sandbox
