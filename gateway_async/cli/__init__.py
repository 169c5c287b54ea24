"""The command `gateway-async`; it needs the extra `cli`, whose packages are imported only when the command runs."""

import sys

from gateway_async.cli.standard_streams import OutputError, discard_output, flush_output, guard_streams

__all__ = ["main"]

_FAILED = 1
_NOT_INSTALLED = 2
_INTERRUPTED = 130
_READER_LEFT = 141
"""As a shell reports the end by SIGPIPE."""


def main() -> None:
    """Run the command, and end the process with one of the statuses of `gateway_async.cli.output`."""
    guard_streams()
    status: int
    try:
        status = _run()
        flush_output()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except OutputError as error:
        status = _READER_LEFT if error.reader_left else _fail(str(error), _FAILED)
    except ModuleNotFoundError as missing:
        package = (missing.name or "gateway_async").partition(".")[0]
        if package == "gateway_async":
            raise
        status = _fail(f"{package} is not installed: pip install 'gateway-async[cli]'", _NOT_INSTALLED)
    try:
        flush_output()
    except OutputError:
        discard_output()
    sys.exit(status)


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"gateway-async: {message}\n")
    return status


def _run() -> int:
    """Run the command that the arguments name, and return its exit status."""
    from typer import Abort, TyperException

    from gateway_async.cli.app import app
    from gateway_async.cli.output import print_usage_error

    try:
        return app(prog_name="gateway-async", standalone_mode=False) or 0
    except TyperException as error:
        print_usage_error(error)
        return error.exit_code
    except Abort:
        return 1
