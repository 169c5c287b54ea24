"""`gateway-async migrate`: a file of accounts into the vault; `migrate verify` and `migrate journal` look at it."""

from gateway_async.cli.migrate.group import migrate

__all__ = ["migrate"]
