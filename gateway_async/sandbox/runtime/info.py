"""Address, credentials and ids of a sandbox, as a client needs them."""

from typing import Any

import attrs

__all__ = ["SandboxInfo"]


_IN_ENVIRONMENT = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")


def _mask(_secret: Any) -> str:
    return "***"


@attrs.frozen(kw_only=True)
class SandboxInfo:
    """The address of a sandbox, a user's credentials and ids.

    The ids are those of the user's location. The repr masks the secrets.
    """

    base_url: str
    developer_id: str
    user_id: str
    user_api_key: str = attrs.field(repr=_mask)
    user_hash_key: str = attrs.field(repr=_mask)
    username: str
    password: str = attrs.field(repr=_mask)
    domain: str
    location_id: str
    contact_id: str
    cc_product_transaction_id: str
    ach_product_transaction_id: str
    terminal_id: str

    def environment(self) -> dict[str, str]:
        """Return the variables that `AsyncGateway.from_env()` reads, with the secrets."""
        return {f"GATEWAY_{name.upper()}": getattr(self, name) for name in _IN_ENVIRONMENT} | {
            "GATEWAY_ALLOW_HTTP": "1"
        }
