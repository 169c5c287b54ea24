"""A sandbox that is found as a user's programs find their gateway: by the environment."""

import pytest

from gateway_async.sandbox import Sandbox


@pytest.fixture
def environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `AsyncGateway.from_env()` reads, for the fixture `sandbox`."""
    for name in ("base_url", "developer_id", "user_id", "user_api_key", "location_id"):
        monkeypatch.setenv(f"GATEWAY_{name.upper()}", getattr(sandbox, name))
