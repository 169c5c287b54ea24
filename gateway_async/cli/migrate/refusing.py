"""What is wrong before anything was sent: a clear sentence, and exit status 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from gateway_async.cli.failure import warn
from gateway_async.errors import GatewayError, InvalidRequestError

__all__ = ["refusing"]


@contextmanager
def refusing() -> Iterator[None]:
    """End the command over an error of the block, in words."""
    try:
        yield
    except InvalidRequestError as error:
        for problem in error.problems:
            warn(problem)
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except (GatewayError, ModuleNotFoundError, OSError) as error:
        warn(str(error))
    else:
        return
    raise typer.Exit(2)
