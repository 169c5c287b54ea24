"""`gateway.check()`: a readiness probe that returns problems."""

import time
from pathlib import Path
from typing import Any

import pytest

from gateway_async import InvalidRequestError, SqliteLedger, UserApiKey
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio


async def test_ready_client(sandbox: Sandbox, tmp_path: Path) -> None:
    """The gateway responds, the credentials are accepted, and the ledger has no open intents."""
    async with sandbox.gateway(ledger=SqliteLedger(tmp_path / "payments.db")) as gateway:
        began = time.monotonic()
        readiness = await gateway.check()
        elapsed = time.monotonic() - began
    assert readiness.is_ready
    assert readiness.open_intent_count == 0
    assert 0 < readiness.seconds <= elapsed


async def test_unavailable_gateway(sandbox: Sandbox) -> None:
    """`check()` of an unreachable gateway raises nothing, and the problem names the request."""
    async with sandbox.gateway() as gateway:
        sandbox.stop()
        readiness = await gateway.check(timeout=1)
    assert not readiness.is_ready
    assert "GET /v2/contacts" in (readiness.gateway_problem or "")
    assert readiness.open_intent_count is None


async def test_rejected_credentials(sandbox: Sandbox) -> None:
    """The gateway is there, and the key is wrong; the problem does not show it."""
    async with sandbox.gateway(credentials=UserApiKey(sandbox.user_id, "k" * 24)) as gateway:
        readiness = await gateway.check()
    assert readiness.gateway_problem is None
    assert readiness.credentials_problem
    assert "k" * 24 not in repr(readiness)


async def test_any_exception_of_a_ledger_is_a_problem(sandbox: Sandbox) -> None:
    class Broken:
        async def open_intents(self, _terminal_id: str | None = None) -> Any:
            raise OSError("disk")

        async def record_intent(self, *_: Any) -> None:
            raise OSError("disk")

        async def aclose(self) -> None:
            """Do nothing."""

    ledger: Any = Broken()
    async with sandbox.gateway(ledger=ledger) as gateway:
        readiness = await gateway.check()
    assert not readiness.is_ready
    assert "disk" in (readiness.ledger_problem or "")


async def test_closed_client(sandbox: Sandbox) -> None:
    """The probe of a service that shuts down fails without an error."""
    async with sandbox.gateway() as gateway:
        pass
    assert not (await gateway.check()).is_ready


async def test_an_invalid_timeout_is_raised_as_a_mistake(sandbox: Sandbox) -> None:
    async with sandbox.gateway() as gateway:
        with pytest.raises(InvalidRequestError, match="timeout"):
            await gateway.check(timeout=0)
