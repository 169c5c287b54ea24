"""The HTTP layer of the sandbox.

It has the listening socket, JSON responses and errors, and POSTs to postback receivers. This package has no access to
tables or to the gateway, and imports no other part of the sandbox.
"""
