"""Redis, PostgreSQL and reverse proxies of a test's own, which it may kill, restart, pause and reload."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import attrs

from tests.support.free_port import free_port
from tests.support.processes import Process
from tests.support.waiting import PATIENCE

_START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.02


@attrs.define
class ServerProgram:
    """A server in a process of its own; it runs during a `with` block.

    Attributes:
        url: its address for clients.
    """

    url: str
    _port: int
    _command: Sequence[str]
    _crash_signal: signal.Signals
    _user: str | None = None
    _probe: Sequence[str] = ()
    _process: Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.crash()

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = Process(self._command, user=self._user, **quiet)
        until = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"{self._command[0]} does not start")
            time.sleep(_POLL_SECONDS)

    def restart(self) -> None:
        """End it without a shutdown, and start it again."""
        self.crash()
        self.start()

    def pause(self, seconds: float) -> None:
        """Let all its processes stand still for some seconds."""
        with self.paused():
            time.sleep(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let all its processes stand still during the block."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def reload(self) -> None:
        """Let it read its configuration again (SIGHUP)."""
        assert self._process
        self._process.send_signal(signal.SIGHUP)

    def crash(self) -> None:
        """End it without a shutdown."""
        if self._process:
            self._process.send_signal(self._crash_signal)
            self._process.wait(PATIENCE)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        pid = self._process.pid
        for each in [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
            os.kill(each, number)

    def _is_ready(self) -> bool:
        if self._probe:
            return subprocess.run(self._probe, stdout=subprocess.DEVNULL, check=False).returncode == 0  # noqa: S603  likewise
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def find_program(name: str) -> str | None:
    """Return the path of a server's program, or None. Debian puts some outside of a user's `PATH`."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), "/usr/sbin"]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)))


def redis_server(folder: Path, password: str = "") -> ServerProgram:
    """Return a Redis that keeps its data in a folder, also after a crash. With a password it asks for one."""
    port = free_port()
    protection = ["--requirepass", password] if password else []
    files = ["--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    command = [_path_of("redis-server"), "--bind", "127.0.0.1", "--port", str(port), *protection, *files]
    return ServerProgram(f"redis://127.0.0.1:{port}/0", port, command, signal.SIGKILL)


def postgres_server(folder: Path, password: str = "") -> ServerProgram:
    """Create a PostgreSQL cluster in a folder, and return its server. With a password it asks for one.

    For root, it runs as the user postgres.
    """
    port, user = free_port(), "postgres" if os.geteuid() == 0 else None
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir(mode=0o700)
    if user:
        shutil.chown(data, user)
    initialize = [_path_of("initdb"), "-D", str(data), "-U", "postgres", "--no-sync"]
    (folder / "password").write_text(password)
    initialize += ["-A", "scram-sha-256", f"--pwfile={folder / 'password'}"] if password else ["-A", "trust"]
    subprocess.run(initialize, user=user, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  a program of PostgreSQL
    address = ["-h", "127.0.0.1", "-p", str(port)]
    command = [_path_of("postgres"), "-D", str(data), *address, "-k", str(data)]
    probe = [_path_of("pg_isready"), *address, "-q"]
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    return ServerProgram(url, port, command, signal.SIGQUIT, user, probe)


def reverse_proxy(
    program: str, folder: Path, settings: str, arguments: Sequence[str], gateway_url: str
) -> ServerProgram:
    """Return a reverse proxy in front of a gateway.

    Args:
        program: the name of its program.
        folder: for its files.
        settings: its configuration, with places for `port`, `gateway` and `folder`.
        arguments: the arguments before the path of the configuration.
        gateway_url: the address of the gateway.
    """
    port, path = free_port(), folder / f"{program}.conf"
    path.write_text(settings.format(port=port, gateway=urlsplit(gateway_url).netloc, folder=folder), encoding="utf-8")
    command = [_path_of(program), *arguments, str(path)]
    return ServerProgram(f"http://127.0.0.1:{port}", port, command, signal.SIGTERM)


def _path_of(name: str) -> str:
    path = find_program(name)
    assert path, f"{name} is not installed"
    return path
