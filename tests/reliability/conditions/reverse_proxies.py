"""Writes behind real reverse proxies that send requests again, while they are reloaded and the gateway fails."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import attrs

from gateway_async import AsyncGateway, UserApiKey
from gateway_async.sandbox import Sandbox
from tests.reliability.condition import Condition, Result
from tests.reliability.traffic import Traffic, compare
from tests.support.free_port import free_port
from tests.support.store_servers import find_program
from tests.support.waiting import PATIENCE

__all__ = ["PROXY_CONDITIONS"]

_OPERATIONS: Final = ("POST /v2/transactions", "POST /v2/accountvaults", "PUT /v2/transactions/{id}")
_FAULTS: Final = ("close_after_commit", "error_after_commit", "unavailable")
_PROBABILITY: Final = 0.06
_RELOAD_SECONDS: Final = 0.5
_START_SECONDS: Final = 10.0
_OPTIONS: Final[dict[str, Any]] = {"timeout": 8.0, "in_doubt_seconds": 4.0, "max_attempts": 4}

_NGINX: Final = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream gateway {{ server {gateway} max_fails=0; server {gateway} max_fails=0; keepalive 16; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://gateway; proxy_http_version 1.1;
            proxy_set_header Connection ""; proxy_set_header Host $http_host;
            proxy_next_upstream error timeout invalid_header http_500 http_502 http_503 http_504 non_idempotent;
            proxy_next_upstream_tries 2; proxy_read_timeout 3s;
        }}
    }}
}}
"""
_HAPROXY: Final = """
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 3s
    retries 2
    option redispatch
    retry-on all-retryable-errors
frontend entrance
    bind 127.0.0.1:{port}
    default_backend gateways
backend gateways
    server first {gateway}
    server second {gateway}
"""


@attrs.frozen
class _Proxy:
    """A reverse proxy.

    Attributes:
        program: the name of its program.
        settings: its configuration, without port, address of the gateway and folder.
        arguments: the arguments before the path of the configuration.
        reloads: whether it reads its configuration again when it gets a SIGHUP.
    """

    program: str
    settings: str
    arguments: tuple[str, ...]
    reloads: bool

    @contextmanager
    def running(self, gateway_url: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """Run it in front of a gateway; yield its address and its process."""
        port, gateway = free_port(), urlsplit(gateway_url).netloc
        with TemporaryDirectory() as folder:
            path = Path(folder, f"{self.program}.conf")
            path.write_text(self.settings.format(port=port, gateway=gateway, folder=folder), encoding="utf-8")
            process = subprocess.Popen(  # noqa: S603  a program of this machine
                [find_program(self.program) or self.program, *self.arguments, str(path)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                _wait_for(port)
                yield f"http://127.0.0.1:{port}", process
            finally:
                process.terminate()
                process.wait(PATIENCE)


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _apply(proxy: _Proxy, count: int) -> Result:
    """Send writes through the proxy while the gateway fails, and compare them with the gateway's ledger."""
    with Sandbox() as sandbox, proxy.running(sandbox.base_url) as (url, process):
        for seed, operation in enumerate(_OPERATIONS):
            for fault in _FAULTS:
                sandbox.fault(operation, fault, probability=_PROBABILITY, seed=seed, retry_after=None)
        return anyio.run(_send, sandbox, url, process if proxy.reloads else None, count)


async def _send(sandbox: Sandbox, url: str, reloaded: "subprocess.Popen[bytes] | None", count: int) -> Result:
    credentials = UserApiKey(sandbox.user_id, sandbox.user_api_key)
    options = _OPTIONS | {"developer_id": sandbox.developer_id, "location_id": sandbox.location_id}
    async with (
        AsyncGateway(url, credentials=credentials, **options) as gateway,
        anyio.create_task_group() as tasks,
    ):
        if reloaded is not None:
            tasks.start_soon(_reload, reloaded)
        traffic = Traffic(gateway, concurrency=16)
        await traffic.run(count)
        tasks.cancel_scope.cancel()
    return compare(traffic.writes, sandbox)


async def _reload(process: "subprocess.Popen[bytes]") -> None:
    while True:
        await anyio.sleep(_RELOAD_SECONDS)
        process.send_signal(signal.SIGHUP)


_PROXIES: Final = (
    _Proxy("nginx", _NGINX, ("-c",), reloads=True),
    _Proxy("haproxy", _HAPROXY, ("-db", "-f"), reloads=False),
)

PROXY_CONDITIONS: Final = tuple(
    Condition(
        key=f"behind-{proxy.program}",
        text=f"writes through {proxy.program}, which sends requests again, while the gateway fails",
        count=2000,
        short_count=100,
        needs=(proxy.program,),
        run=partial(_apply, proxy),
    )
    for proxy in _PROXIES
)
