"""The environment variables of a client of a sandbox, for tests that start processes."""

from gateway_async.sandbox import Sandbox


def environment_of(sandbox: Sandbox) -> dict[str, str]:
    """Return the variables that `AsyncGateway.from_env` reads."""
    names = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
    return {f"GATEWAY_{name.upper()}": getattr(sandbox, name) for name in names}
