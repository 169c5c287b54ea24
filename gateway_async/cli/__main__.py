"""Run the command `gateway-async` by `python -m gateway_async.cli`."""

from gateway_async.cli import main

main()
