"""The command `gateway-async`; it needs the extra `cli`, whose packages are imported only when the command runs."""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command.

    It ends the process with one of the statuses of `gateway_async.cli.exit_status`.
    """
    _replace_unprintable()
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as missing:
        package = (missing.name or "gateway_async").partition(".")[0]
        if package == "gateway_async":
            raise
        sys.stderr.write(f"gateway-async: {package} is not installed: pip install 'gateway-async[cli]'\n")
        sys.exit(2)


def _run() -> int:
    """Run the command that the arguments name, and return its exit status."""
    from typer import Abort
    from typer.exceptions import TyperException

    from gateway_async.cli.app import app
    from gateway_async.cli.usage_message import print_usage_error

    try:
        return app(prog_name="gateway-async", standalone_mode=False) or 0
    except TyperException as error:
        print_usage_error(error)
        return error.exit_code
    except Abort:
        return 1


def _replace_unprintable() -> None:
    """Print "?" for characters that the output encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
