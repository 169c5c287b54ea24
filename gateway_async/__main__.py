"""Run the command `gateway-async` by `python -m gateway_async`."""

from gateway_async.cli import main

main()
