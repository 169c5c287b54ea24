"""Shared settings of all tests: tiers, event loops, garbage collection, and the number of examples of hypothesis."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.servers import KINDS

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
settings.register_profile("default", _UNTIMED, max_examples=60)
settings.register_profile("thorough", _UNTIMED, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# These run when a tier, a path or "not slow" is asked for; plain `pytest` runs all other tests, the core.
_TIERS = {
    "contract": ["contract", "sandbox"],
    "docs": ["docs", "examples"],
    "house": ["architecture", "typing", "deployment"],
    "chaos": ["crash_testing", "end_to_end", "reliability", "simulation"],
}
_TIER_OF = {folder: tier for tier, folders in _TIERS.items() for folder in folders}
_POSIX_FOLDERS = {"browser", "cli", "crash_testing", "deployment", "docs", "examples", "reliability"}
_SECONDS_FOR_EXAMPLE = 5  # most need hundredths, but the machine may be busy


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Return the event loop of a test marked `anyio`."""
    backend: str = request.param
    return backend


def pytest_configure(config: pytest.Config) -> None:
    """Without arguments, run the core; with paths, all of their tests but the slow ones."""
    if not config.option.markexpr:
        is_plain = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        config.option.markexpr = " and ".join(f"not {name}" for name in ("slow", *(_TIERS if is_plain else ())))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the folders whose tests fork, kill and limit processes, on Windows."""
    is_left_out = collection_path.parent.name == "tests" and collection_path.name in _POSIX_FOLDERS
    return (sys.platform == "win32" and is_left_out) or None


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that needs a `kind` of store on each one, or on each of its module's `KINDS`, with its event loops."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "kind" in metafunc.fixturenames and not any("kind" in mark.args[0] for mark in marks):
        kinds = getattr(metafunc.module, "KINDS", KINDS)
        metafunc.definition.add_marker(pytest.mark.parametrize(("kind", "anyio_backend"), kinds))


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier, and let the time limit of a property test grow with the number of its examples."""
    for item in items:
        parts = item.path.relative_to(item.config.rootpath).parts
        if tier := _TIER_OF.get(parts[1] if parts[0] == "tests" else parts[0]):
            item.add_marker(tier)
        test = getattr(item, "obj", None)
        if getattr(test, "is_hypothesis_test", False) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SECONDS_FOR_EXAMPLE * settings().max_examples))


def pytest_runtest_setup() -> None:
    """Under mutmut, whose processes inherit full caches, run the changed functions again."""
    if "MUTANT_UNDER_TEST" in os.environ:
        for module in [module for name, module in sys.modules.items() if name.startswith("gateway_async._")]:
            for value in [*vars(module).values()]:
                getattr(value, "cache_clear", bool)()


def pytest_collectstart() -> None:
    """Collect no garbage among the tests until all are there: there is hardly any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests, which exist until the end, from each garbage collection."""
    gc.enable()
    gc.collect()
    gc.freeze()
