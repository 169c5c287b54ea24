"""`python -m gateway_async.cli` is the command `gateway-async`."""

from gateway_async.cli import main

main()
