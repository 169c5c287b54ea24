"""Delivery of postbacks: attempts and their limits, allowed hosts, changed configs, restarts."""

import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import trustme

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http import webhook_client
from tests.support import plain_http

from .conftest import Configure, Eventually, Listen, OpenShop, Serve, Shop
from .receiver import DAY, PATH, Receiver, closed_port, configured, ends, reconfigure

# --- the result of it


def test_results(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """Any 2xx ends the attempts. Any other response is a failure; a redirect too, and it is not followed."""
    receiver.headers["location"] = f"http://127.0.0.1:{receiver.port}/elsewhere"
    configure(number_of_attempts=2)
    results = dict.fromkeys((200, 201, 204, 299), "delivered") | dict.fromkeys(
        (302, 307, 400, 404, 500, 503), "waiting"
    )
    receiver.responses[:] = results
    for _ in results:
        shop.contact()
    assert ends(sandbox) == [(state, [1]) for state in results.values()]
    attempts = [postback["attempts"][0] for postback in sandbox.postbacks()]
    assert [(attempt["status"], attempt["error"]) for attempt in attempts] == [(status, None) for status in results]
    sandbox.advance(DAY)
    sandbox.wait_until_idle()
    assert len(receiver.requests) == 16
    assert {one.path for one in receiver.requests} == {"/hook"}


def test_repeats(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """The config sets how often and after how many seconds, at once too; the body has the number of the attempt."""
    config = configure(number_of_attempts=3, attempt_interval=600)
    receiver.responses[:] = [500] * 3
    shop.contact()
    sandbox.wait_until_idle()
    for seconds, expected in (
        (590, ("waiting", [1])),
        (20, ("waiting", [1, 2])),
        (DAY, ("failed", [1, 2, 3])),
        (DAY, ("failed", [1, 2, 3])),
    ):
        sandbox.advance(seconds)
        assert ends(sandbox) == [expected]
    assert receiver.summaries("number_of_attempts") == [(1,), (2,), (3,)]
    assert len({one.fields["data"] for one in receiver.requests}) == 1
    reconfigure(shop, config, number_of_attempts=100, attempt_interval=0)
    receiver.responses[:] = [500] * 101
    shop.contact()
    assert ends(sandbox)[1:] == [("failed", [*range(1, 101)])]


def test_a_repeat_needs_no_moved_clock(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, eventually: Eventually
) -> None:
    configure(number_of_attempts=2, attempt_interval=1)
    receiver.responses[:] = [500]
    shop.contact()
    eventually(lambda: len(receiver.requests) == 2)
    assert ends(sandbox) == [("delivered", [1, 2])]


def test_first_attempts_keep_their_order_despite_failures(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure
) -> None:
    configure(number_of_attempts=2, attempt_interval=300)
    receiver.responses[:] = [500, 204] * 10
    names = [f"Smith {number}" for number in range(20)]
    for name in names:
        shop.contact(last_name=name)
    sandbox.wait_until_idle()
    assert [one.data["last_name"] for one in receiver.requests] == names
    sandbox.advance(301)
    sandbox.wait_until_idle()
    assert [one.data["last_name"] for one in receiver.requests[20:]] == names[::2]


def test_slow_receiver(
    shop: Shop, sandbox: Sandbox, listen: Listen, receiver: Receiver, configure: Configure, eventually: Eventually
) -> None:
    """A slow receiver delays neither other receivers nor responses of the gateway."""
    slow = listen()
    slow.may_respond.clear()
    configure(url=slow.url)
    configure()
    for _ in range(3):
        assert shop.contact().status_code == 201
    eventually(lambda: len(receiver.requests) == 3)
    eventually(lambda: len(slow.requests) == 1)
    with pytest.raises(TimeoutError, match="a request or a postback is still in progress"):
        sandbox.wait_until_idle(timeout=0.1)
    sandbox.wait_until_idle(postbacks=False)
    slow.may_respond.set()
    sandbox.wait_until_idle()
    assert len(slow.requests) == 3


def test_attempt_limit(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is real time: ten seconds, less in this test; a moved clock does not end an attempt."""
    assert webhook_client.SECONDS == 10
    monkeypatch.setattr(webhook_client, "SECONDS", 0.3)
    receiver.may_respond.clear()
    configure()
    shop.contact()
    sandbox.advance(60)
    assert ends(sandbox) == [("failed", [1])]
    (attempt,) = sandbox.postbacks()[0]["attempts"]
    assert (attempt["status"], attempt["error"]) == (None, "no response within 0.3 seconds")


def test_response_bodies(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """The status is enough: a body that is too long, or incomplete, changes nothing."""
    configure()
    receiver.headers["content-length"] = "1000000"
    receiver.body = b"x" * 100_000
    shop.contact()
    receiver.body = b""
    shop.contact()
    assert ends(sandbox) == [("delivered", [1])] * 2


def test_missing_body(shop: Shop, sandbox: Sandbox, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt ends at its limit when a body never comes, and counts as acknowledged."""
    monkeypatch.setattr(webhook_client, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        configure(url=f"http://127.0.0.1:{server.getsockname()[1]}/")
        shop.contact()
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
            sandbox.wait_until_idle(timeout=5)
    assert ends(sandbox) == [("delivered", [1])]


def test_no_http(shop: Shop, sandbox: Sandbox, configure: Configure) -> None:
    """A peer that speaks no HTTP, or disconnects, has not acknowledged."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond(*texts: bytes) -> None:
            for text in texts:
                connection, _ = server.accept()
                connection.recv(65536)
                connection.sendall(text)
                connection.close()

        talk = threading.Thread(target=respond, args=(b"200 fine\r\n\r\n", b"", b"HTTP/1.1 200"))
        talk.start()
        configure(url=f"http://127.0.0.1:{server.getsockname()[1]}/", number_of_attempts=3, attempt_interval=0)
        shop.contact()
        assert ends(sandbox) == [("failed", [1, 2, 3])]
        talk.join()
    assert {one["error"] for one in sandbox.postbacks()[0]["attempts"]} <= {"no HTTP response", "the connection failed"}


# --- where it may go


REMOTE = [
    *("192.0.2.1", "0.0.0.0", "169.254.169.254", "[::ffff:192.0.2.1]", "[2001:db8::1]"),  # noqa: S104
    *("receiver.test", "127.0.0.1.receiver.test", "localhost.receiver.test", "127.0.0.1@receiver.test"),
    *("127.1", "2130706433"),
]


def test_remote_hosts(shop: Shop, sandbox: Sandbox, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves this machine: no connection is made, and no name is resolved."""

    def resolve(*args: object, **_options: object) -> None:
        raise AssertionError(args)

    for host in REMOTE:
        configure(url=f"http://{host}/latest")
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    shop.contact()
    sandbox.wait_until_idle()
    problems = [one["attempts"][0]["error"] for one in sandbox.postbacks()]
    assert ["is not this machine and was not allowed" in problem for problem in problems] == [True] * len(REMOTE)


def test_local_names(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """All names of this machine are reached, with the name as written; a closed port is a failure."""
    hosts = ["localhost", "LOCALHOST", "hooks.localhost", "127.0.0.1"]
    for host in hosts:
        configure(url=f"http://{host}:{receiver.port}/")
    for host in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.255.0.9"):
        configure(url=f"http://{host}:{closed_port()}/")
    shop.contact()
    assert sorted(ends(sandbox)) == [("delivered", [1])] * 4 + [("failed", [1])] * 4
    found = sorted(one.headers["host"] for one in receiver.requests)
    assert found == sorted(f"{host.lower()}:{receiver.port}" for host in hosts)
    errors = [one["attempts"][0]["error"] for one in sandbox.postbacks() if one["state"] == "failed"]
    assert errors == ["cannot connect"] * 4


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of `receiver.test`, one for each time that it is asked for."""
    real, addresses = socket.getaddrinfo, list[str]()

    def resolve(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        if host != "receiver.test":
            return real(host, port, *args, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses.pop(0), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return addresses


def test_allowed_host(receiver: Receiver, open_shop: OpenShop, resolved: list[str]) -> None:
    """The connection goes to the found address, with the configured name."""
    resolved.append("127.0.0.1")
    with Sandbox(postback_hosts=["Receiver.test"]) as sandbox:
        shop = open_shop(sandbox.info)
        configured(shop, f"http://receiver.test:{receiver.port}/a?b=c")
        shop.contact()
        assert ends(sandbox) == [("delivered", [1])]
    (sent,) = receiver.requests
    assert (resolved, sent.path) == ([], "/a?b=c")
    assert sent.headers["host"] == f"receiver.test:{receiver.port}"


METADATA = [
    *("169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200"),
    *("0.0.0.0", "::", "224.0.0.1", "ff02::1"),  # noqa: S104
]


def test_metadata(open_shop: OpenShop, resolved: list[str]) -> None:
    """The owner of a name cannot choose an address where a cloud offers credentials."""
    resolved.extend(METADATA)
    with Sandbox(postback_hosts=["receiver.test"]) as sandbox:
        shop = open_shop(sandbox.info)
        configured(shop, "http://receiver.test/")
        for _ in METADATA:
            shop.contact()
        assert ends(sandbox) == [("failed", [1])] * len(METADATA)
        problems = [one["attempts"][0]["error"] for one in sandbox.postbacks()]
    assert ["may not receive postbacks" in problem for problem in problems] == [True] * len(METADATA)
    assert resolved == []


@pytest.mark.parametrize("port", ["0", "99999", "-1", "80x"])
def test_invalid_port(shop: Shop, sandbox: Sandbox, port: str) -> None:
    """The config or the attempt is refused, and nothing else happens."""
    config = {"url": f"http://127.0.0.1:{port}/", "resource": "contact", "is_active": 1, "on_create": 1}
    response = shop.post("postbackconfig", PATH, config | {"location_id": shop.info.location_id})
    shop.contact()
    sandbox.wait_until_idle()
    assert response.status_code == 422 or {each["state"] for each in sandbox.postbacks()} == {"failed"}


@pytest.mark.parametrize(
    "hosts", ["receiver.test", [""], ["http://a.test"], ["a.test:80"], ["a.test/x"], ["*"], ["a b"]]
)
def test_an_invalid_host_is_refused(hosts: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: postback_hosts: "):
        Sandbox(postback_hosts=hosts)


def test_certificates(tmp_path: Path, listen: Listen, open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The authorities are those of OpenSSL, and the name must match the address."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    receiver = listen(0, context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for trusted, expected in ((False, "failed"), (True, "delivered")):
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with Sandbox() as sandbox:
            shop = open_shop(sandbox.info)
            configured(shop, f"https://localhost:{receiver.port}/")
            shop.contact()
            assert ends(sandbox) == [(expected, [1])]
            configured(shop, f"https://127.0.0.1:{receiver.port}/")
            shop.contact()
            assert ends(sandbox)[-1] == ("failed", [1])


# --- configs that change


def test_changed_config(shop: Shop, sandbox: Sandbox, receiver: Receiver, listen: Listen, configure: Configure) -> None:
    """Address, credentials and format of repeats change; the record does not."""
    other = listen()
    config = configure(number_of_attempts=2)
    receiver.responses[:] = [500]
    shop.contact(last_name="One")
    sandbox.wait_until_idle()
    login = {"basic_auth_username": "a", "basic_auth_password": "b"}
    reconfigure(shop, config, url=other.url, expands="tags", **login)
    sandbox.advance(301)
    shop.contact(last_name="Two")
    sandbox.wait_until_idle()
    assert len(receiver.requests) == 1
    received = {one.data["last_name"]: ("tags" in one.data, one.fields["number_of_attempts"]) for one in other.requests}
    assert received == {"One": (False, 2), "Two": (True, 1)}
    assert all(one.headers["authorization"] for one in other.requests)


@pytest.mark.parametrize("how", ["deleted", "not active"])
def test_deleted_config(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, how: str) -> None:
    """Waiting postbacks are cancelled, and stay so if the config is active again."""
    config = configure(number_of_attempts=5)
    receiver.responses[:] = [500]
    shop.contact()
    assert ends(sandbox) == [("waiting", [1])]
    if how == "deleted":
        assert shop.http.delete(f"{PATH}/{config['id']}").status_code == 204
    else:
        reconfigure(shop, config, is_active=0)
    shop.contact()
    sandbox.advance(DAY)
    assert ends(sandbox) == [("cancelled", [1])]
    with pytest.raises(InvalidRequestError, match="its config was deleted, or is not active"):
        sandbox.replay_postback(sandbox.postbacks()[0]["id"])
    if how == "not active":
        reconfigure(shop, config, is_active=1)
        assert ends(sandbox) == [("cancelled", [1])]
        sandbox.replay_postback(sandbox.postbacks()[0]["id"])
        assert ends(sandbox) == [("delivered", [1, 2])]


@pytest.mark.parametrize(("status", "state"), [(204, "delivered"), (500, "cancelled")])
def test_deletion_during_attempt(
    shop: Shop,
    sandbox: Sandbox,
    receiver: Receiver,
    configure: Configure,
    eventually: Eventually,
    status: int,
    state: str,
) -> None:
    """An attempt under way may succeed after its config is deleted, but it is not repeated."""
    config = configure(number_of_attempts=5, attempt_interval=0)
    receiver.responses[:] = [status]
    receiver.may_respond.clear()
    shop.contact()
    eventually(lambda: receiver.requests)
    shop.http.delete(f"{PATH}/{config['id']}")
    receiver.may_respond.set()
    assert ends(sandbox) == [(state, [1])]


# --- other runs


def test_restart(tmp_path: Path, listen: Listen, open_shop: OpenShop) -> None:
    """Waiting attempts continue after a restart, at most one interval later, even if the clock had been moved."""
    path, port = tmp_path / "sandbox.db", closed_port()
    with Sandbox(data=path) as sandbox:
        shop = open_shop(sandbox.info)
        configured(shop, f"http://127.0.0.1:{port}/", number_of_attempts=3, attempt_interval=300)
        sandbox.advance(DAY)
        contact = shop.contact(last_name="Kept").json()["contact"]
        assert ends(sandbox) == [("waiting", [1])]
    receiver = listen(port)
    with Sandbox(data=path) as sandbox:
        assert ends(sandbox) == [("waiting", [1])]
        sandbox.advance(301)
        assert ends(sandbox) == [("delivered", [1, 2])]
    assert (receiver.requests[0].data["id"], receiver.requests[0].data["last_name"]) == (contact["id"], "Kept")


def test_aborted_attempt(tmp_path: Path, receiver: Receiver, open_shop: OpenShop, eventually: Eventually) -> None:
    """The repetition has the same number, because its result is unknown."""
    path = tmp_path / "sandbox.db"
    receiver.may_respond.clear()
    with Sandbox(data=path) as sandbox:
        shop = open_shop(sandbox.info)
        configured(shop, receiver.url)
        for name in ("One", "Two"):
            shop.contact(last_name=name)
        eventually(lambda: receiver.requests)
    receiver.may_respond.set()
    with Sandbox(data=path) as sandbox:
        assert ends(sandbox) == [("delivered", [1])] * 2
    received = [(one.data["last_name"], one.fields["number_of_attempts"]) for one in receiver.requests]
    assert received == [("One", 1), ("One", 1), ("Two", 1)]


def test_kill(tmp_path: Path, receiver: Receiver, serve: Serve, open_shop: OpenShop, eventually: Eventually) -> None:
    """After kill -9 the next run delivers one postback for each acknowledged contact."""
    receiver.may_respond.clear()
    process, info = serve()
    shop = open_shop(info)
    configured(shop, receiver.url)
    made = [shop.contact().json()["contact"]["id"] for _ in range(20)]
    eventually(lambda: receiver.requests)
    process.kill()
    process.wait()
    receiver.may_respond.set()
    with Sandbox(data=tmp_path / "sandbox.db") as sandbox:
        assert ends(sandbox) == [("delivered", [1])] * 20
    assert list(dict.fromkeys(one.data["id"] for one in receiver.requests)) == made


def test_requests_of_receiver(
    shop: Shop, sandbox: Sandbox, listen: Listen, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for idleness includes the effects of a receiver's requests."""
    receiver = listen()
    serve = receiver.serve

    def serve_and_ask(handler: BaseHTTPRequestHandler) -> None:
        if not receiver.requests:
            keys = {name: shop.http.headers[name] for name in ("developer-id", "user-id", "user-api-key")}
            body = {"contact": {"last_name": "Echo", "location_id": shop.info.location_id}}
            plain_http.post(f"{shop.info.base_url}/v2/contacts", headers=keys, json=body)
        serve(handler)

    monkeypatch.setattr(receiver, "serve", serve_and_ask)
    configure(url=receiver.url)
    shop.contact(last_name="First")
    sandbox.wait_until_idle()
    assert [one.data["last_name"] for one in receiver.requests] == ["First", "Echo"]
