"""What a system may lack: an extra, which is named by the part that needs it, or the parts of POSIX."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import ROOT
from tests.support.processes import run_python

RUN = "import anyio\nasync def main():\n    {body}\nanyio.run(main)"
PARTS = [
    ("sandbox", "starlette", "from gateway_async.sandbox import Sandbox"),
    ("sandbox", "uvicorn", "import gateway_async.sandbox"),
    ("sandbox", "python_multipart", "import gateway_async.sandbox"),
    ("sandbox", "starlette", "import gateway_async.crash_testing"),
    (
        "hosted-pages",
        "cryptography",
        "from gateway_async.hosted_forms import hosted_page_url as u; u('https://a.b', 'x', {}, encryption_key='k')",
    ),
    ("redis", "redis", "from gateway_async import RedisTerminalLease as L; L('redis://127.0.0.1', owner='x')"),
    ("redis", "redis", "from gateway_async.migration import RedisRate; RedisRate('redis://127.0.0.1', 'name', 10)"),
    (
        "postgres",
        "asyncpg",
        "from gateway_async.migration import PostgresJournal as J\n"
        + RUN.format(body="async with J('postgresql://127.0.0.1/x', 'name'): ..."),
    ),
    (
        "postgres",
        "asyncpg",
        "from gateway_async.postbacks import PostgresInbox as I\n"
        + RUN.format(body="async with I('postgresql://127.0.0.1/x'): ..."),
    ),
    (
        "parquet",
        "pyarrow",
        "from gateway_async.migration import read_rows\n"
        + RUN.format(body="async for row in read_rows('rows.csv', format='parquet'): ..."),
    ),
    (
        "dask",
        "distributed",
        "from gateway_async.migration import migrate_vaults_dask as m\n"
        + RUN.format(body="await m('tcp://127.0.0.1:1', 'rows.csv', journal='x', name='x')"),
    ),
    ("otel", "opentelemetry", "import gateway_async.telemetry.opentelemetry"),
]


@pytest.mark.parametrize(("extra", "library", "program"), PARTS, ids=[f"{part[0]}-{n}" for n, part in enumerate(PARTS)])
def test_a_missing_extra_is_named(extra: str, library: str, program: str, tmp_path: Path) -> None:
    hidden = f"import sys\nsys.modules[{library!r}] = None\n{program}"
    (tmp_path / "rows.csv").write_text("account_vault_api_id,account_number,exp_date\nx,4111111111111111,1230\n")
    command = [sys.executable, "-c", hidden]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603  our own program
    assert done.returncode != 0
    assert f"pip install 'gateway-async[{extra}]'" in done.stderr, done.stderr


def test_windows(tmp_path: Path) -> None:
    """Every module is imported; a sale, a migration, a receiver and the sandbox work without fork, modes and locks."""
    done = run_python("-W", "error", "-m", "tests.deployment.without_posix", str(tmp_path), PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("modules, no problem\n")
