"""The HTTP layer of the sandbox: listening socket, JSON responses, errors, and POSTs to postback receivers.

This package has no access to records or to the gateway. Start at `server.py`.
"""
