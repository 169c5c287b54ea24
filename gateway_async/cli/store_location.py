"""Where a ledger, an inbox or a journal is: a file, or a PostgreSQL database."""

__all__ = ["display_location", "is_database"]


def is_database(location: str) -> bool:
    """Return whether the location is the address of a PostgreSQL database."""
    return location.startswith(("postgresql://", "postgres://"))


def display_location(location: str) -> str:
    """Return the location without a password, for display."""
    from gateway_async._storage.postgres import without_password

    return without_password(location) if is_database(location) else location
