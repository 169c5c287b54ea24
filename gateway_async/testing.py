"""Pytest plugin of the package: fixtures with a sandbox gateway and a client for your tests.

    @pytest.mark.asyncio
    async def test_a_sale_is_approved(gateway):
        sale = TransactionCreate(
            action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="0930"
        )
        assert (await gateway.transactions.create(sale)).approved

Pytest finds the plugin by itself. The sandbox is loaded when a test first uses it.

While `respx.mock` is active, its routes also respond to the requests of clients without a `transport` of their own.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from gateway_async._extras import missing_extra

if TYPE_CHECKING:
    from gateway_async import AsyncGateway
    from gateway_async.crash_testing import CrashReport, CrashTest
    from gateway_async.crash_testing.run import MakeLedger, Scenario
    from gateway_async.sandbox import Sandbox

__all__ = ["crash_test", "gateway", "gateway_environment", "pytest_runtest_setup", "sandbox"]

_NO_LOOP = "the fixture 'gateway' needs an event loop: mark the test with pytest.mark.anyio, or install pytest-asyncio"
_TRANSPORT = "gateway_async._http.transport.PooledTransport"


@pytest.hookimpl(tryfirst=True)  # before fixtures, which may send requests
def pytest_runtest_setup() -> None:
    """Let respx routes respond to the client's requests.

    respx itself replaces only the connections of httpx.
    """
    if "respx" not in sys.modules:
        return
    from respx.mocks import HTTPCoreMocker

    if _TRANSPORT not in HTTPCoreMocker.targets:
        _mock_transport(HTTPCoreMocker)


def _mock_transport(mocker: Any) -> None:
    """Add the client's transport to the classes that respx replaces."""
    from respx.models import PassThrough

    mock_httpcore = mocker.mock

    def mock(spec: Any) -> Any:
        if spec.__qualname__ != "PooledTransport.handle_async_request":
            return mock_httpcore(spec)

        async def handle_async_request(transport: object, request: Any) -> Any:
            await request.aread()
            try:
                return await mocker.async_handler(request)
            except PassThrough:
                return await spec(transport, request)

        return handle_async_request

    mocker.mock = mock
    mocker.add_targets(_TRANSPORT)


@pytest.fixture
def sandbox() -> Iterator["Sandbox"]:
    """Start a new sandbox gateway for each test.

    It is in memory, on a free port of 127.0.0.1, and its terminals respond without delay. It works in plain tests and
    on asyncio and trio. For other terminals, or to share one gateway between tests, define a fixture of this name with
    `gateway_async.sandbox.Sandbox`; the fixture `gateway` then uses yours.
    """
    try:
        from gateway_async.sandbox import Sandbox
    except ModuleNotFoundError as missing:
        pytest.fail(missing_extra(missing.name, extra="sandbox", user="the fixture 'sandbox'"), pytrace=False)
    with Sandbox(terminal_delay=0.0) as sandbox:
        yield sandbox


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> "AsyncGateway":
    """Open an `AsyncGateway` on the fixture `sandbox` for one async test.

    It works with pytest-asyncio, strict or auto, and with anyio's plugin, on asyncio and trio. For a client with
    options, enter `sandbox.gateway(timeout=…)` in the test.
    """
    opened: AsyncGateway = request.getfixturevalue(_opener(request))
    return opened


@pytest.fixture
def gateway_environment(sandbox: "Sandbox", monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set the `GATEWAY_*` variables of the sandbox for one test.

    Returns them. For applications that call `AsyncGateway.from_env()` themselves. Child processes inherit the
    variables.
    """
    variables = sandbox.environment()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def crash_test(sandbox: "Sandbox") -> "CrashTest":
    """Crash a scenario at many moments, and check every payment afterwards.

        async def pay(gateway):
            new = TransactionCreate(
                action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
            )
            await gateway.transactions.create(new)

        @pytest.mark.asyncio
        async def test_paying_survives_crashes(crash_test):
            await crash_test(pay, kills=20)

    `await crash_test(scenario, kills=10, seed=0, prepare=None, make_ledger=None, **options)` cancels the scenario at
    every await and kills its process at `kills` random moments. After each crash, a new client recovers with the same
    ledger. The test fails if an operation was done twice, was lost, or is open without being reported, or if more was
    charged than in a run without faults.

    It returns the report. The killed process inherits the environment, from which a scenario can read, for example, a
    terminal id. `prepare` is called with the sandbox before each run, to plan faults. `make_ledger` creates a ledger
    other than a `SqliteLedger`. `options` are the numeric options of the client (`gateway_async.crash_testing`).
    """

    async def run(
        scenario: "Scenario",
        *,
        kills: int = 10,
        seed: int = 0,
        make_ledger: "MakeLedger | None" = None,
        **options: Any,
    ) -> "CrashReport":
        from gateway_async.crash_testing import cancel_everywhere, kill_everywhere

        if make_ledger is not None:
            options["make_ledger"] = make_ledger
        report = await cancel_everywhere(scenario, sandbox, **options)
        if kills:
            report += await kill_everywhere(scenario, sandbox, kills=kills, seed=seed, **options)
        if report.problems:
            pytest.fail(str(report), pytrace=False)
        return report

    return run


def _opener(request: pytest.FixtureRequest) -> str:
    """The fixture that opens the client on the test's loop.

    Each async plugin runs only its own fixtures.
    """
    if "anyio_backend" in request.fixturenames:
        return "_gateway_on_anyio"
    if request.config.pluginmanager.has_plugin("asyncio"):
        return "_gateway_on_asyncio"
    pytest.fail(_NO_LOOP, pytrace=False)


@pytest.fixture
async def _gateway_on_anyio(sandbox: "Sandbox") -> AsyncIterator["AsyncGateway"]:
    async with sandbox.gateway() as gateway:
        yield gateway


if find_spec("pytest_asyncio"):
    import pytest_asyncio

    @pytest_asyncio.fixture
    async def _gateway_on_asyncio(sandbox: "Sandbox") -> AsyncIterator["AsyncGateway"]:
        async with sandbox.gateway() as gateway:
            yield gateway
