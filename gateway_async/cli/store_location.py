"""Where a ledger, an inbox or a journal is: a file, or a PostgreSQL database."""

__all__ = ["check_location", "display_location", "is_database"]


def is_database(location: str) -> bool:
    """Return whether the location is an address, as only databases have one."""
    return "://" in location


def check_location(name: str, location: str) -> None:
    """Reject an invalid address before anything is done.

    Raises:
        InvalidRequestError: the address is invalid; the message begins with `name`.
    """
    from gateway_async._storage.postgres import Address
    from gateway_async.errors import InvalidRequestError

    if is_database(location) and (problem := Address.parse(location)[1]):
        raise InvalidRequestError(f"{name}: {problem}")


def display_location(location: str) -> str:
    """Return the location without a password, for display."""
    from gateway_async._storage.postgres import Address

    if not is_database(location):
        return location
    address, problem = Address.parse(location)
    return problem if address is None else address.shown
