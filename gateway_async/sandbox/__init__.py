"""A gateway in a box: real HTTP on 127.0.0.1, records in SQLite, terminals, faults, and a clock to turn.

It is made to be met by real clients. It imports nothing of the SDK, so that the two cannot share a
mistake.
"""

from gateway_async.sandbox.foreground import serve
from gateway_async.sandbox.instance.facts import Facts
from gateway_async.sandbox.sandbox import Sandbox
from gateway_async.sandbox.simulators.cards import EntryMode
from gateway_async.sandbox.simulators.faults import FaultName
from gateway_async.sandbox.simulators.terminals import NothingWaitsError

__all__ = ["EntryMode", "Facts", "FaultName", "NothingWaitsError", "Sandbox", "serve"]
