"""Terminals: the devices of a location that read cards."""

from gateway_async.sandbox.request.records import make_get, make_list
from gateway_async.sandbox.schema import TERMINAL

__all__ = ["get", "get_list"]


get = make_get(TERMINAL)
get_list = make_list(TERMINAL)
