"""Where a ledger, an inbox or a journal is: a file, or a PostgreSQL database."""

from gateway_async._secrets import is_address
from gateway_async._storage.postgres import Address
from gateway_async.errors import InvalidRequestError

__all__ = ["check_location", "display_location"]


def check_location(name: str, location: str) -> None:
    """Reject an invalid address before anything is done.

    Raises:
        InvalidRequestError: the address is invalid; the message begins with `name`.
    """
    if is_address(location) and (problem := Address.parse(location)[1]):
        raise InvalidRequestError(f"{name}: {problem}")


def display_location(location: str) -> str:
    """Return the location without a password, for display."""
    if not is_address(location):
        return location
    address, problem = Address.parse(location)
    return problem if address is None else address.shown
