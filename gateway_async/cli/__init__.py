"""The command `gateway-async`; it needs the extra `cli`, whose packages are imported only when the command runs."""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command.

    It ends the process with exit status 0 for success, 1 for a failure, 2 for wrong usage or a missing extra, or 130
    after Ctrl-C.
    """
    _replace_unprintable()
    try:
        from gateway_async.cli.app import app

        app(prog_name="gateway-async")
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as missing:
        package = (missing.name or "gateway_async").partition(".")[0]
        if package == "gateway_async":
            raise
        sys.stderr.write(f"gateway-async: {package} is not installed: pip install 'gateway-async[cli]'\n")
        sys.exit(2)


def _replace_unprintable() -> None:
    """Print "?" for characters that the output encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
