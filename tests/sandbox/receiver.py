"""A receiver of postbacks for tests, over real sockets, and questions that tests ask about both ends."""

import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from gateway_async.sandbox import Sandbox

if TYPE_CHECKING:
    from .conftest import Shop  # which imports this module

PATH = "/v2/postbackconfigs"
DAY = 86_400
ALL = {"on_create": 1, "on_update": 1, "on_delete": 1}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        """Say nothing of a connection that was cut."""


class Receiver:
    """A server that records what it is sent, and responds as planned; 204 by default."""

    def __init__(self, port: int = 0, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[SimpleNamespace] = []
        self.responses: list[int] = []
        self.headers: dict[str, str] = {}
        self.body = b""
        self.may_respond = threading.Event()
        self.may_respond.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.serve(self)

            do_GET = do_POST  # noqa: N815  # the names of the library

            def log_message(self, *_args: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", port), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Record one request and respond."""
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        fields = json.loads(body) if "json" in handler.headers["content-type"] else dict(parse_qsl(body.decode()))
        said = {"method": handler.command, "path": handler.path, "headers": handler.headers, "fields": fields}
        self.requests.append(SimpleNamespace(**said, data=json.loads(fields["data"])))
        self.may_respond.wait(20)
        handler.send_response(self.responses.pop(0) if self.responses else 204)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.body)
        handler.wfile.flush()

    def summaries(self, *names: str) -> list[tuple[Any, ...]]:
        """Return resource, type and record of each request, or the named fields."""
        names = names or ("resource", "type")
        return [tuple(one.fields[name] for name in names) for one in self.requests]

    def stop(self) -> None:
        """Close the connections and the port."""
        self.may_respond.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def configured(shop: "Shop", url: str, resource: str = "contact", **fields: Any) -> dict[str, Any]:
    config = {"location_id": shop.info.location_id, "resource": resource, "url": url} | ALL
    config |= {"product_transaction_id": shop.info.cc_product_transaction_id}
    made = shop.post("postbackconfig", PATH, config | fields)
    assert made.status_code == 201, made.text
    created: dict[str, Any] = made.json()["postbackconfig"]
    return created


def reconfigure(shop: "Shop", config: dict[str, Any], **fields: Any) -> None:
    assert shop.put("postbackconfig", f"{PATH}/{config['id']}", fields).status_code == 200


def closed_port() -> int:
    """Return the address of a port that is closed, and its number."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def ends(sandbox: Sandbox) -> list[tuple[str, list[int]]]:
    """Return state and attempts of each postback, once nothing is due."""
    sandbox.wait_until_idle()
    return [(one["state"], [attempt["number"] for attempt in one["attempts"]]) for one in sandbox.postbacks()]
