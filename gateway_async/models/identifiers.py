"""`ApiId`: an integrator's own id, used instead of the gateway's id."""

import attrs

__all__ = ["ApiId"]


@attrs.frozen
class ApiId:
    """The id an integrator gave a record in its `*_api_id` field, unique within a location.

    Accepted wherever a record id is (contract, *Integrator primary key*). `location_id` defaults to the client's.

        vault = await gateway.account_vaults.get(ApiId("customer-42"))
    """

    value: str
    """Your id, at most 64 characters without spaces."""
    location_id: str | None = None
    """The location in which the id is unique, at most 36 characters. The default is the client's."""
