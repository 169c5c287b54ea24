"""Shared settings of all tests: event loops, garbage collection, and the number of examples of hypothesis."""

import gc
import os

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_SECONDS_FOR_EXAMPLE = 5  # most need hundredths, but the machine may be busy


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Return the event loop of a test marked `anyio`."""
    backend: str = request.param
    return backend


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the time limit of a property test grow with the number of its examples."""
    for item in items:
        test = getattr(item, "obj", None)
        if getattr(test, "is_hypothesis_test", False) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SECONDS_FOR_EXAMPLE * settings().max_examples))


def pytest_collection_finish() -> None:
    """Exclude the collected tests, which exist until the end, from each garbage collection."""
    gc.collect()
    gc.freeze()
