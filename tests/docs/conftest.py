"""A sandbox whose settings are in the environment, as for a user's program."""

import pytest

from gateway_async.sandbox import Sandbox


@pytest.fixture
def environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables that `AsyncGateway.from_env()` reads, for the fixture `sandbox`."""
    for name in ("base_url", "developer_id", "user_id", "user_api_key", "location_id"):
        monkeypatch.setenv(f"GATEWAY_{name.upper()}", getattr(sandbox, name))
