"""The commands `get`, `list`, `create`, `update` and `delete`: call the gateway from a shell.

They follow the registry of resources, so a resource of the client needs nothing here. Start at `commands.py`.
"""

from gateway_async.cli.records.commands import RECORD_COMMANDS

__all__ = ["RECORD_COMMANDS"]
