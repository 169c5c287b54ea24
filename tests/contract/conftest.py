"""One sandbox for a whole file of tests, and a merchant's desk at it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from gateway_async.sandbox import Sandbox

from .raw_client import Desk


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A gateway whose terminals do not dawdle."""
    with Sandbox(terminal_delay=0.0) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def desk(sandbox: Sandbox) -> Iterator[Desk]:
    """The desk of the sandbox's own location."""
    with closing(Desk(sandbox)) as desk:
        yield desk
