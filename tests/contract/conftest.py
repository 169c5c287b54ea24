"""One sandbox for a whole file of tests, and a raw client for it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from gateway_async.sandbox import Sandbox

from .raw_client import RawClient


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A gateway whose terminals present cards without delay."""
    with Sandbox(terminal_delay=0.0) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def raw_client(sandbox: Sandbox) -> Iterator[RawClient]:
    """A client for the first location of the sandbox."""
    with closing(RawClient(sandbox)) as raw_client:
        yield raw_client
