"""Errors before anything was sent: they become messages and exit status 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from gateway_async.cli.errors import warn
from gateway_async.errors import GatewayError, InvalidRequestError

__all__ = ["exit_on_usage_error"]


@contextmanager
def exit_on_usage_error() -> Iterator[None]:
    """Convert an error of the block to messages and exit status 2."""
    try:
        yield
    except InvalidRequestError as error:
        for problem in error.problems:
            warn(problem)
    except (GatewayError, ModuleNotFoundError, OSError) as error:
        warn(str(error))
    else:
        return
    raise typer.Exit(2)
