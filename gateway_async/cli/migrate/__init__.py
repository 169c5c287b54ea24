"""`gateway-async migrate`: store a file of accounts in the vault.

`migrate verify`, `migrate journal` and `migrate fields` show the results and the fields.
"""

from gateway_async.cli.migrate.default_command import migrate

__all__ = ["migrate"]
