"""Where a ledger, an inbox or a journal is: a file, or a PostgreSQL database."""

__all__ = ["display_location", "is_database"]


def is_database(location: str) -> bool:
    """Return whether the location is an address, as only databases have one."""
    return "://" in location


def display_location(location: str) -> str:
    """Return the location without a password, for display."""
    from gateway_async._storage.postgres import Address

    if not is_database(location):
        return location
    address, problem = Address.parse(location)
    return problem if address is None else address.shown
