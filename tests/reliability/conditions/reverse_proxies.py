"""Writes behind real reverse proxies that send requests again, while they are reloaded and the gateway fails."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import attrs

from gateway_async import AsyncGateway, UserApiKey
from gateway_async.sandbox import Sandbox
from tests.reliability.condition import Condition, Result
from tests.reliability.traffic import Traffic, compare
from tests.support.server_programs import ServerProgram, reverse_proxy

_OPERATIONS: Final = ("POST /v2/transactions", "POST /v2/accountvaults", "PUT /v2/transactions/{id}")
_FAULTS: Final = ("close_after_commit", "error_after_commit", "unavailable")
_PROBABILITY: Final = 0.06
_RELOAD_SECONDS: Final = 0.5
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


def _apply(proxy: _Proxy, count: int) -> Result:
    """Send writes through the proxy while the gateway fails, and compare them with the gateway's ledger."""
    with (
        Sandbox() as sandbox,
        TemporaryDirectory() as folder,
        reverse_proxy(proxy.program, Path(folder), proxy.settings, proxy.arguments, sandbox.base_url) as server,
    ):
        for seed, operation in enumerate(_OPERATIONS):
            for fault in _FAULTS:
                sandbox.fault(operation, fault, probability=_PROBABILITY, seed=seed, retry_after=None)
        return anyio.run(_send, sandbox, server, proxy.reloads, count)


async def _send(sandbox: Sandbox, server: ServerProgram, reloads: bool, count: int) -> Result:
    credentials = UserApiKey(sandbox.user_id, sandbox.user_api_key)
    options = _OPTIONS | {"developer_id": sandbox.developer_id, "location_id": sandbox.location_id}
    async with (
        AsyncGateway(server.url, credentials=credentials, **options) as gateway,
        anyio.create_task_group() as tasks,
    ):
        if reloads:
            tasks.start_soon(_reload, server)
        traffic = Traffic(gateway, concurrency=16)
        await traffic.run(count)
        tasks.cancel_scope.cancel()
    return compare(traffic.writes, sandbox)


async def _reload(server: ServerProgram) -> None:
    while True:
        await anyio.sleep(_RELOAD_SECONDS)
        server.reload()


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
