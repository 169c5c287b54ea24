"""The pytest plugin works in a project without configuration, and loads nothing before it is used."""

import pytest

# Imported here, because pytester unloads the modules that a run in this process imports.
# Later tests would import them a second time.
import gateway_async.client
import gateway_async.sandbox  # noqa: F401

pytest_plugins = ["pytester"]

STRICT = ("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")
ASK = """
    from gateway_async import AsyncGateway

    async def ask(gateway):
        assert isinstance(gateway, AsyncGateway)
        assert await gateway.contacts.list().count() > 0
"""


def test_sandbox(pytester: pytest.Pytester) -> None:
    """A test without an event loop gets a running sandbox, and the next test gets another one."""
    pytester.makepyfile(
        """
        import httpx
        import pytest

        @pytest.mark.parametrize("run", range(2))
        def test_answers(sandbox, run, addresses=set()):
            addresses.add(sandbox.user_api_key)
            assert len(addresses) == run + 1
            assert httpx.get(f"{sandbox.base_url}/_sandbox/clock").status_code == 200
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=2)


def test_async_plugins(pytester: pytest.Pytester) -> None:
    """Tests of pytest-asyncio in strict mode and of anyio on both loops work in one file."""
    pytester.makepyfile(
        ASK
        + """
    import pytest

    @pytest.mark.asyncio
    async def test_on_pytest_asyncio(gateway):
        await ask(gateway)

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_on_anyio(gateway, anyio_backend):
        await ask(gateway)
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=3)


def test_auto_mode(pytester: pytest.Pytester) -> None:
    """With `asyncio_mode=auto` a test needs no mark, and its own fixture may use the client."""
    pytester.makepyfile(
        ASK
        + """
    import pytest

    @pytest.fixture
    async def contact(gateway):
        yield await gateway.contacts.list().first()
        await ask(gateway)

    async def test_unmarked(gateway, contact):
        assert await gateway.contacts.get(contact.id) == contact
        """
    )
    pytester.runpytest(*STRICT, "--asyncio-mode=auto").assert_outcomes(passed=1)


def test_the_gateway_is_closed_after_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ASK
        + """
    import pytest
    from gateway_async import ClientClosedError

    kept = []

    @pytest.mark.asyncio
    async def test_keeps_it(gateway):
        await ask(gateway)
        kept.append(gateway)

    @pytest.mark.asyncio
    async def test_finds_it_closed():
        with pytest.raises(ClientClosedError):
            await ask(kept[0])
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=2)


def test_own_sandbox(pytester: pytest.Pytester) -> None:
    """A fixture named `sandbox` in the project replaces the plugin's."""
    pytester.makepyfile(
        ASK
        + """
    import pytest
    from gateway_async.sandbox import Sandbox

    @pytest.fixture(scope="module")
    def sandbox():
        with Sandbox(terminals="manual") as sandbox:
            yield sandbox

    @pytest.mark.asyncio
    async def test_is_the_clients(sandbox, gateway):
        assert sandbox.base_url in repr(gateway)
        await ask(gateway)
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=1)


def test_a_missing_extra_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        sys.modules["starlette"] = None

        def test_needs_the_extra(sandbox): ...
        """
    )
    result = pytester.runpytest_subprocess(*STRICT)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*pip install 'gateway-async[[]sandbox]' (starlette* is missing)"])


def test_a_missing_event_loop_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_needs_a_loop(gateway): ...")
    result = pytester.runpytest("-p", "no:asyncio")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mark the test with pytest.mark.anyio, or install pytest-asyncio*"])


def test_imports(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing the package loads no server in tests that do not use it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import sys

        def test_of_something_else():
            for_use = {"gateway_async.crash_testing", "gateway_async.sandbox", "starlette", "uvicorn"}
            assert "gateway_async.testing" in sys.modules
            assert not for_use & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "gateway_async.testing").assert_outcomes(passed=1)


MOCKED = """
    import httpx
    import pytest
    import respx

    from gateway_async import AsyncGateway, NotFoundError, NotSentError, UserApiKey

    URL = "http://localhost:9/v2/contacts/c1"  # no server listens there
    CONTACT = {"contact": {"id": "c1"}}

    def client():
        return AsyncGateway("http://localhost:9", developer_id="d", credentials=UserApiKey("u", "k"))
"""


def test_respx(pytester: pytest.Pytester) -> None:
    """Decorator, `with` block and fixture of respx reach a client, also one that was made before, on both loops."""
    pytester.makepyfile(
        MOCKED
        + """
    from gateway_async import CardVaultCreate

    pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

    @respx.mock
    async def test_decorator():
        route = respx.get(URL).respond(json=CONTACT)
        async with client() as gateway:
            assert (await gateway.contacts.get("c1")).id == "c1"
        assert route.called
        assert route.calls.last.request.headers["user-id"] == "u"

    async def test_client_that_was_made_before():
        async with client() as gateway:
            with pytest.raises(NotSentError):
                await gateway.with_options(max_attempts=1).contacts.get("c1")
            for router in (respx.mock, respx.mock(using="httpcore")):
                with router:
                    router.get(URL).respond(json=CONTACT)
                    assert (await gateway.contacts.get("c1")).id == "c1"
            with pytest.raises(NotSentError):
                await gateway.with_options(max_attempts=1).contacts.get("c1")

    @pytest.mark.respx(base_url="http://localhost:9/v2")
    async def test_fixture(respx_mock):
        respx_mock.get("/contacts/c1").respond(json=CONTACT)
        async with client() as gateway, httpx.AsyncClient() as http:
            assert (await gateway.contacts.get("c1")).id == "c1"
            assert (await http.get(URL)).json() == CONTACT

    async def test_body_and_error(respx_mock):
        vaults = respx_mock.post("http://localhost:9/v2/accountvaults")
        vaults.side_effect = httpx.ConnectError
        async with client() as gateway:
            new = CardVaultCreate(
                account_number="4111111111111111", exp_date="1230", account_holder_name="Ada", location_id="l"
            )
            with pytest.raises(NotSentError):
                await gateway.with_options(max_attempts=1).account_vaults.create(new)
        assert b"4111111111111111" in vaults.calls.last.request.content
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=8)


def test_passing_route(pytester: pytest.Pytester) -> None:
    """A route that passes through is answered over the client's own connections, uploads included."""
    pytester.makepyfile(
        """
        from datetime import date

        import pytest
        from gateway_async import Attachment, QuickInvoiceCreate

        @pytest.mark.anyio
        @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
        async def test_pass_through(gateway, sandbox, respx_mock):
            new = QuickInvoiceCreate(title="Tea", due_date=date(2031, 1, 31), item_list={"Tea": "1.00"})
            passed = respx_mock.route(host="127.0.0.1").pass_through()
            invoice = await gateway.quick_invoices.create(new, files=[Attachment("a.pdf", b"%PDF-1.4")])
            assert await gateway.quick_invoices.get(invoice.id) == invoice
            assert passed.call_count == 2
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=2)


def test_uncalled_route(pytester: pytest.Pytester) -> None:
    """An uncalled route fails its test, and a request without a route is not sent."""
    pytester.makepyfile(
        MOCKED
        + """
    @pytest.mark.asyncio
    @respx.mock(assert_all_called=True)
    async def test_uncalled(respx_mock):
        respx_mock.get(URL).respond(json=CONTACT)
        respx_mock.get("http://localhost:9/v2/contacts/c2").respond(json=CONTACT)
        async with client() as gateway:
            await gateway.contacts.get("c1")

    @pytest.mark.asyncio
    @respx.mock
    async def test_missing():
        async with client() as gateway:
            await gateway.contacts.get("c1")
        """
    )
    result = pytester.runpytest(*STRICT)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*RESPX: some routes were not called!*", "*AllMockedAssertionError*not mocked!*"])


def test_no_respx_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With this plugin alone, routes respond as soon as a module of tests has imported respx."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        MOCKED
        + """
    @respx.mock
    def test_with_asyncio():
        import asyncio

        async def get():
            async with client() as gateway:
                return await gateway.contacts.get("c1")

        respx.get(URL).respond(json=CONTACT)
        assert asyncio.run(get()).id == "c1"
        """
    )
    result = pytester.runpytest_subprocess(*STRICT[:2], "-p", "gateway_async.testing")
    result.assert_outcomes(passed=1)


def test_early_router(pytester: pytest.Pytester) -> None:
    """A router that a `conftest.py` starts, and a fixture of the session, reach the client too."""
    pytester.makeconftest(
        """
        import pytest
        import respx

        def pytest_configure():
            respx.start()
            respx.get("http://localhost:9/v2/contacts/c1").respond(json={"contact": {"id": "c1"}})

        def pytest_unconfigure():
            respx.stop()
        """
    )
    pytester.makepyfile(
        MOCKED
        + """
    import anyio

    @pytest.fixture(scope="session")
    def contact():
        async def get():
            async with client() as gateway:
                return await gateway.contacts.get("c1")

        return anyio.run(get)

    def test_contact(contact):
        assert contact.id == "c1"
        """
    )
    pytester.runpytest_subprocess(*STRICT).assert_outcomes(passed=1)


CRASHES = """
    from gateway_async import TransactionCreate

    async def pay(gateway):
        new = TransactionCreate(
            action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
        )
        await gateway.transactions.create(new)
"""


def test_crash_test(pytester: pytest.Pytester) -> None:
    """The fixture cancels and kills a function of the test file, on any event loop."""
    pytester.makepyfile(
        CRASHES
        + """
    import pytest

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_paying_survives_crashes(crash_test, anyio_backend):
        report = await crash_test(pay, kills=1)
        assert {crash.when.split()[0] for crash in report.crashes} == {"cancelled", "not", "killed"}
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=2)


def test_lost_money(pytester: pytest.Pytester) -> None:
    """The failure names the broken rules and the moments at which they were broken."""
    pytester.makepyfile(
        CRASHES
        + """
    import pytest

    @pytest.mark.asyncio
    async def test_loses(crash_test, sandbox):
        async def pay_elsewhere(gateway):
            async with sandbox.gateway() as other:
                await pay(gateway)
                await pay(other)

        await crash_test(pay_elsewhere, kills=0)
        """
    )
    result = pytester.runpytest(*STRICT)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["pay_elsewhere: * crash*, * broken rule*; calls: *", "*was charged, but the ledger says nothing"]
    )


def test_environment(pytester: pytest.Pytester) -> None:
    """An application that reads the environment, and its child processes, reach the sandbox of the test."""
    pytester.makepyfile(
        """
        import os
        import subprocess
        import sys

        import pytest
        from gateway_async import AsyncGateway

        @pytest.mark.asyncio
        async def test_from_env(gateway_environment, sandbox):
            assert gateway_environment == sandbox.environment()
            async with AsyncGateway.from_env() as gateway:
                assert await gateway.contacts.list().count() == 1
            program = "import os; print(os.environ['GATEWAY_BASE_URL'])"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            assert done.stdout.strip() == sandbox.base_url

        def test_afterwards():
            assert "GATEWAY_BASE_URL" not in os.environ
        """
    )
    pytester.runpytest(*STRICT).assert_outcomes(passed=2)
