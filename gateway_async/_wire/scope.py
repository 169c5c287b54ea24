"""`Scope`: what a client adds to every request."""

from collections.abc import Callable
from typing import Any

import attrs


@attrs.frozen
class Scope:
    """Settings that a client applies to every request.

    Attributes:
        location_id: the default `location_id` of creates and of `ApiId`.
        check_limits: whether to check lengths, required fields and rules before sending.
        new_id: generates an integrator id, so that a write can be looked up.
        base_url: the gateway's address, without `/v2`, for the links that customers open.
        accepts_existing: whether a create returns the record that has its integrator id already, if it equals what is
            sent.
    """

    location_id: str | None
    check_limits: bool
    new_id: Callable[[], str]
    base_url: str = ""
    accepts_existing: bool = False

    def with_options(self, location_id: str | None, check_limits: bool | None) -> "Scope":
        """Return the scope with another location and other checks; None keeps them."""
        changes: dict[str, Any] = {"location_id": location_id, "check_limits": check_limits}
        return attrs.evolve(self, **{name: value for name, value in changes.items() if value is not None})
