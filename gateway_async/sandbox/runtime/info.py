"""The facts that a client needs: address, credentials and ids."""

from __future__ import annotations

from dataclasses import dataclass, fields

SECRETS = frozenset({"user_api_key", "user_hash_key", "password"})


@dataclass(frozen=True)
class Facts:
    """The address of a sandbox, a user's credentials and ids.

    The ids are those of the user's location. The repr masks the secrets.
    """

    base_url: str
    developer_id: str
    user_id: str
    user_api_key: str
    user_hash_key: str
    username: str
    password: str
    domain: str
    location_id: str
    contact_id: str
    cc_product_transaction_id: str
    ach_product_transaction_id: str
    terminal_id: str

    def __repr__(self) -> str:
        shown = {fact.name: getattr(self, fact.name) for fact in fields(self)}
        parts = (f"{name}={'***' if name in SECRETS else value!r}" for name, value in shown.items())
        return f"Facts({', '.join(parts)})"
