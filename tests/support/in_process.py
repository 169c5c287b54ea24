"""The command in the process of the test, which saves the start of a process."""

import io
import os
import subprocess
import sys

import pytest

from gateway_async.cli import main
from tests.support.processes import ENVIRONMENT, Ended


def run(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end, without input, and capture its output."""
    command = ["gateway-async", *arguments]
    output, errors = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - ENVIRONMENT.keys():
            patch.delenv(name)
        for name, value in (ENVIRONMENT | environment).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", command)
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(errors, encoding="utf-8", write_through=True))
        with pytest.raises(SystemExit) as ended:
            main()
        # A wrapper that is deleted closes its buffer.
        texts = output.getvalue().decode(), errors.getvalue().decode()
    return subprocess.CompletedProcess(command, int(ended.value.code or 0), *texts)
