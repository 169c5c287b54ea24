"""One sandbox for a whole file of tests, and a raw client for it."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from gateway_async.sandbox import Sandbox

from .raw_client import RawClient
from .sides import Side, open_sides


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A strict gateway whose terminals present cards without delay."""
    with Sandbox(terminal_delay=0.0, strict=True) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def raw_client(sandbox: Sandbox) -> Iterator[RawClient]:
    """A client for the first location of the sandbox."""
    with closing(RawClient(sandbox)) as raw_client:
        yield raw_client


@pytest.fixture(scope="module")
def sides(sandbox: Sandbox, raw_client: RawClient) -> Iterator[dict[str, Side]]:
    """Both sides of the sandbox, by name."""
    with open_sides(sandbox, raw_client) as sides:
        yield sides


@pytest.fixture(params=["HTTP", "SDK"])
def side(request: pytest.FixtureRequest, sides: dict[str, Side]) -> Side:
    """One side of the sandbox."""
    return sides[request.param]


@pytest.fixture
def product_settings(sandbox: Sandbox) -> Iterator[Callable[..., object]]:
    """Change settings of the merchant account for cards until the test ends."""
    yield sandbox.change_product
    sandbox.change_product(
        allow_partial_authorization=True, auto_decline_cvv=False, auto_decline_street=False, auto_decline_zip=False
    )
