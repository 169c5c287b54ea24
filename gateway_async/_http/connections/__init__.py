"""Open one HTTP/1.1 connection, directly or through a proxy, and carry one exchange at a time over it.

`connection.py` has the interface. There is one implementation for asyncio and one for trio.
"""
