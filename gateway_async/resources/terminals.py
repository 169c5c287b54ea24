"""`gateway.terminals` (contract, *Router transactions*)."""

from typing import Final

from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.terminals import Terminal
from gateway_async.resources._resource import ListableResource

TERMINAL: Final = ResourceSpec(name="terminal", plural="terminals", record=Terminal, api_id="terminal_api_id")


class Terminals(ListableResource[Terminal]):
    """The card terminals of a location.

    Every gateway lists them by `location_id`. Other filters, and reading one by its id, are not documented: if a
    gateway cannot do so, the call raises `NotFoundError` or `MethodNotAllowedError`. `gateway.locations.infos()` lists
    them as well.

    `expand` accepts changelogs, created_user, has_terminal_routers, location, terminal_application,
    terminal_cvm, terminal_manufacturer and terminal_routers.
    """

    spec = TERMINAL
