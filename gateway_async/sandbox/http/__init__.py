"""The HTTP layer of the sandbox: listening socket, JSON responses, errors, and POSTs to postback receivers.

This package has no access to tables or to the gateway, and imports no other part of the sandbox. Start at `server.py`.
"""
