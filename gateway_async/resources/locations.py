"""`gateway.locations` (contract, *Locations*)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from gateway_async._execution.pages import Pages, pages_of
from gateway_async._secrets import seal
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.locations import Location, LocationInfo
from gateway_async.resources._resource import ListableResource

LOCATION: Final = ResourceSpec(name="location", plural="locations", record=Location, api_id="location_api_id")
LOCATION_INFO: Final = ResourceSpec(name="locationinfo", plural="locationinfos", record=LocationInfo)

_INFO_FILTERS: Final = frozenset({"relationship", "product_transaction_active", "location_api_id"})
"""Filters of location infos that are not fields of them."""


class Locations(ListableResource[Location]):
    """The merchants whose records the user sees.

    `expand` accepts branding_domain, created_user, developer_company, parent, product_file, product_recurring,
    product_transactions and terminal.
    """

    spec = LOCATION

    def infos(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        sort: str | None = None,
        page_size: int | None = None,
        expand: Sequence[str] = (),
        extra_filters: Mapping[str, Any] | None = None,
    ) -> Pages[LocationInfo]:
        """List merchant accounts, terminals and settings of each location.

        Nothing is fetched until the result is awaited or iterated. The newest location is first.

        Args:
            filters: `relationship` is `direct` (the default) for the user's own locations, `child` for those below
                them, or `all`. `product_transaction_active` is 1 or 0. Fields such as `location_api_id` are filters as
                well.
            sort: a field name, with a minus before it for descending order.
            page_size: records per page, at most 5000; 1000 by default when iterating.
            expand: `("terminals",)` for all fields of the terminals.
            extra_filters: filters whose names this version of the package does not know.

        Raises:
            InvalidRequestError: an argument cannot be sent; `.problems` says which and why.
        """
        filters = seal(filters, LOCATION_INFO.name)  # an error's traceback shows local variables
        extra_filters = seal(extra_filters)
        known = LOCATION_INFO.names_to_check
        return pages_of(
            LOCATION_INFO,
            self._executor,
            filters,
            sort=sort,
            page_size=page_size,
            expand=expand,
            extra_filters=extra_filters,
            names=attrs.evolve(known, fields=known.fields | _INFO_FILTERS) if self._defaults.check_limits else None,
        )
