"""A local gateway that real clients can connect to.

It has real HTTP on 127.0.0.1, SQLite records, terminals, faults and an adjustable clock.
It imports nothing from the SDK, so the two cannot share a mistake. Start at `routes.py` for its endpoints, and
at `sandbox.py` for its use from Python.
"""

try:
    from gateway_async.sandbox.runtime.gateway import SandboxInfo
    from gateway_async.sandbox.sandbox import Sandbox
    from gateway_async.sandbox.serve import serve
    from gateway_async.sandbox.simulators.cards import EntryMode
    from gateway_async.sandbox.simulators.faults import FaultName
    from gateway_async.sandbox.simulators.terminals import NothingWaitsError
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.startswith("gateway_async"):
        raise
    raise ModuleNotFoundError(
        f"gateway_async.sandbox needs an extra: pip install 'gateway-async[sandbox]' ({missing.name} is missing)",
        name=missing.name,
    ) from None

__all__ = ["EntryMode", "FaultName", "NothingWaitsError", "Sandbox", "SandboxInfo", "serve"]
