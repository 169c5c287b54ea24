"""`gateway-async listen --forward-to` and `gateway-async trigger`, on real sockets."""

import asyncio
import base64
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlencode

import anyio.to_thread
import attrs
import httpx
import pytest

from gateway_async import AsyncGateway, ContactCreate, PostbackConfig, PostbackConfigCreate, TransactionCreate
from gateway_async.cli import temporary_configs
from gateway_async.cli.forward import Forwarder, Target
from gateway_async.cli.trigger import EVENTS
from gateway_async.postbacks import PostbackReceiver
from gateway_async.resources.postback_configs import PostbackConfigs
from gateway_async.sandbox import Sandbox
from tests.support import in_process
from tests.support.processes import Listen, Start, run
from tests.support.waiting import PATIENCE

POSTBACK = {
    "type": "UPDATE",
    "resource": "contact",
    "number_of_attempts": "1",
    "data": '{"id": "c1", "last_name": "Ada"}',
}


@attrs.frozen
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@attrs.frozen
class Program:
    """A user's program, which responses with the given statuses, one after the other, and then with 204."""

    url: str
    received: "SimpleQueue[Received]"


@contextmanager
def serve_program(*statuses: int) -> Iterator[Program]:
    received: SimpleQueue[Received] = SimpleQueue()
    responses = iter(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.put(Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(next(responses, 204))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield Program(f"http://127.0.0.1:{server.server_address[1]}/hooks?key=planted", received)
        finally:
            server.shutdown()
            thread.join()


def test_forwarding(listen: Listen) -> None:
    """Body, content type and credentials arrive as they came; the status of the program is shown."""
    with serve_program() as program:
        process, url = listen("--forward-to", program.url, "--username", "shop", "--password", "secret")
        body = urlencode(POSTBACK).encode()
        headers = {"content-type": "application/x-www-form-urlencoded", "x-trace": "7"}
        assert (
            httpx.post(url, content=body, headers=headers, auth=("shop", "secret"), trust_env=False).status_code == 204
        )
        received = program.received.get(timeout=PATIENCE)
        assert (received.path, received.body) == ("/hooks?key=planted", body)
        expected = {**headers, "authorization": f"Basic {base64.b64encode(b'shop:secret').decode()}"}
        assert {name: received.headers[name] for name in expected} == expected
        assert received.headers["host"] in program.url
        _, forwarded = (next(process.events()) for _ in range(2))
        shown = {name: forwarded[name] for name in ("event", "resource", "id", "status", "attempt", "error", "url")}
        url = program.url.partition("?")[0]
        assert shown == {
            "event": "forwarded",
            "resource": "contact",
            "id": "c1",
            "status": 204,
            "attempt": 1,
            "error": None,
            "url": url,
        }
        assert process.stop() == (0, "", "")


def test_failures_are_retried(listen: Listen) -> None:
    """Another status than 2xx is shown, and the postback is sent again."""
    with serve_program(500, 404) as program:
        process, url = listen("--forward-to", program.url)
        assert httpx.post(url, data=POSTBACK, trust_env=False).status_code == 204
        printed = process.events()
        results = [next(printed) for _ in range(4)][1:]
        assert [(each["event"], each["status"], each["attempt"], each["again_in"] is None) for each in results] == [
            ("not_forwarded", 500, 1, False),
            ("not_forwarded", 404, 2, False),
            ("forwarded", 204, 3, True),
        ]
        assert len({program.received.get(timeout=PATIENCE).body for _ in range(3)}) == 1
        assert process.stop() == (0, "", "")


@pytest.mark.parametrize(("attempts", "said"), [("1", "given up after 1 attempt"), ("3", "given up after 3 attempts")])
def test_single_line(start: Start, attempts: str, said: str) -> None:
    """People see the end of the attempts for each postback, not every one."""
    process = start("listen", "--port", "0", "--forward-to", "http://127.0.0.1:1/", "--forward-attempts", attempts)
    assert process.stdout
    url = process.stdout.readline().split()[-1]
    process.stdout.readline()
    for name in ("c1", "c2"):
        data = {**POSTBACK, "data": json.dumps({"id": name})}
        assert httpx.post(url, data=data, trust_env=False).status_code == 204
    shown = [process.stdout.readline() for _ in range(4)]
    results = sorted(line.partition("  ")[2].strip() for line in shown if "→" in line)
    assert results == [f"→ cannot connect  UPDATE {name}  http://127.0.0.1:1/  {said}" for name in ("c1", "c2")]
    assert process.stop() == (0, "", "")


def test_unforwarded_rest(listen: Listen) -> None:
    """The number is on standard error."""
    process, url = listen("--forward-to", "http://127.0.0.1:1/", "--forward-attempts", "9")
    assert httpx.post(url, data=POSTBACK, trust_env=False).status_code == 204
    printed = process.events()
    assert [next(printed)["event"] for _ in range(2)] == ["postback", "not_forwarded"]
    status, _, errors = process.stop(signal.SIGINT)
    assert (status, errors) == (0, "gateway-async: 1 postback was not forwarded\n")


@pytest.mark.asyncio
async def test_a_postback_delivered_just_before_the_end_is_not_given_up() -> None:
    body = json.dumps(POSTBACK).encode()
    postback = PostbackReceiver(allow_unauthenticated=True).parse({"content-type": "application/json"}, body)
    delivered = asyncio.Event()
    with serve_program() as program:
        forwarder = Forwarder(Target.parse("--forward-to", program.url), 1, lambda _: delivered.set())
        forwarder.start(postback, {}, body)
        async with asyncio.timeout(PATIENCE):
            await delivered.wait()
        given_up = await forwarder.stop()
    assert given_up == 0


def test_rejected_requests(listen: Listen) -> None:
    """Only what has the right credentials and is a postback goes on."""
    with serve_program() as program:
        process, url = listen("--forward-to", program.url, "--username", "shop", "--password", "secret")
        assert httpx.post(url, data=POSTBACK, trust_env=False).status_code == 401
        assert httpx.post(url, data=POSTBACK, auth=("shop", "secret"), trust_env=False).status_code == 204
        printed = process.events()
        assert [next(printed)["event"] for _ in range(3)] == ["refused", "postback", "forwarded"]
        program.received.get(timeout=PATIENCE)
        assert program.received.empty()
        assert process.stop() == (0, "", "")


def test_target_credentials() -> None:
    """User name and password of the address replace those of the request, and are not shown."""
    target = Target.parse("--forward-to", "https://shop:s%40cret@app.test:8000/hooks?key=planted#part")
    assert (target.url, target.shown) == ("https://app.test:8000/hooks?key=planted", "https://app.test:8000/hooks")
    assert target.authorization == f"Basic {base64.b64encode(b'shop:s@cret').decode()}"
    assert "s@cret" not in repr(target)


NO_ADDRESSES = ["localhost:8000", "ftp://app.test/", "http://", "http://h:abc/", "http://h:99999/", "http://h:0/"]
OPTIONS = {"--forward-to": (), "--url": ("--create-configs", "--resource", "contact")}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("url", [*NO_ADDRESSES, "http://shop:planted@[::1/"])
def test_invalid_target(option: str, url: str) -> None:
    """Another text, or a port that does not exist, is wrong usage: one line, before anything is received."""
    ended = in_process.run("listen", "--port", "0", *OPTIONS[option], option, url)
    assert (ended.returncode, ended.stdout) == (2, "")
    said = f"gateway-async: {option}: must be an http or https address (expected http://localhost:8000/postbacks/)"
    assert ended.stderr == f"{said}\n"


@pytest.mark.parametrize("event", EVENTS)
def test_trigger(listen: Listen, sandbox: Sandbox, environment: dict[str, str], event: str) -> None:
    """Each event reaches a listening program, through the sandbox and the command that forwards it."""
    resource, _, change = event.partition(".")
    with serve_program() as program:
        products = ("--product-transaction-id", sandbox.cc_product_transaction_id)
        options = ("--create-configs", "--resource", resource, *products, "--forward-to", program.url)
        process, _ = listen(*options, **environment)
        ended = run("trigger", event, "--json", **environment)
        assert (ended.returncode, ended.stderr) == (0, "")
        triggered = json.loads(ended.stdout)
        assert [(each["state"], each["status"]) for each in triggered["deliveries"]] == [("delivered", 204)]
        printed = process.events()
        forwarded = next(each for each in printed if _is_delivery(each, triggered["id"], change.upper()))
        assert forwarded["resource"] == resource
        assert process.stop()[0] == 0


def _is_delivery(event: dict[str, Any], record_id: str, change: str) -> bool:
    return event["event"] == "postback" and (event["id"], event["type"]) == (record_id, change)


@pytest.mark.asyncio
@pytest.mark.parametrize("event", ["transactionbatch.create", "transactionbatch.update"])
async def test_batch_trigger(gateway: AsyncGateway, environment: dict[str, str], event: str) -> None:
    """The event is that of a new batch with one sale; the payments of the user's own batch wait in it as before."""
    new = TransactionCreate(
        action="sale", account_number="4111111111111111", exp_date="0930", transaction_amount="5.25"
    )
    before = await gateway.transactions.create(new)
    ended = await anyio.to_thread.run_sync(lambda: run("trigger", event, "--json", **environment))
    own = await gateway.transaction_batches.get(json.loads(ended.stdout)["id"])
    after = await gateway.transactions.create(new)
    batch = await gateway.transaction_batches.get(before.transaction_batch_id or "")
    payments = await gateway.transactions.list({"transaction_batch_id": own.id}).to_list()
    assert (batch.is_open, (await gateway.transactions.get(before.id)).status_id) == (True, 101)
    assert after.transaction_batch_id == batch.id != own.id
    assert (own.is_open, [each.transaction_amount for each in payments]) == (
        event.endswith("create"),
        [Decimal("1.00")],
    )


def test_missing_receiver(environment: dict[str, str]) -> None:
    """Without a config the record is changed, and status 3 says that nothing was sent."""
    ended = run("trigger", "contact.create", **environment)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert "no postback config asks for it" in ended.stdout


def test_trigger_changes_nothing_at_another_gateway(environment: dict[str, str]) -> None:
    with serve_program() as program:
        url = program.url.partition("/hooks")[0]
        ended = run("trigger", "transaction.update", **{**environment, "GATEWAY_BASE_URL": url})
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "is not a sandbox" in ended.stderr
        assert program.received.empty()


@pytest.mark.asyncio
async def test_other_container(
    listen: Listen, sandbox: Sandbox, gateway: AsyncGateway, environment: dict[str, str], tmp_path: Path
) -> None:
    """Containers may share a home folder, but no process or lock of the other run can be seen here."""
    options = ("--create-configs", "--resource", "contact")
    elsewhere, _ = listen(*options, **environment)
    (file,) = tmp_path.rglob("listen-*.jsonl")  # noqa: ASYNC240  a small folder
    renewed_at = time.time() - 86_400  # the clock of the other one is wrong, or has jumped
    os.utime(file, (renewed_at, renewed_at))
    here, _ = listen(*options, **environment)
    contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
    assert len({each["config_id"] for each in sandbox.postbacks(record_id=contact.id)}) == 2
    assert [next(each.events())["id"] for each in (elsewhere, here)] == [contact.id] * 2
    assert (elsewhere.stop()[2], here.stop()[2]) == ("", "")


@pytest.fixture
def configs(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Create a config whose lease is renewed often."""
    for name, text in {**environment, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(temporary_configs, "_RENEWAL_SECONDS", 0.05)
    new = PostbackConfigCreate(url="http://127.0.0.1:1/", resource="contact", on_create=True, is_active=True)
    return lambda: temporary_configs.create_configs([new])


def files_in(folder: Path) -> list[Path]:
    """Return the files of leases."""
    return [*folder.rglob("listen-*.jsonl")]


@pytest.mark.asyncio
async def test_killed_run(
    listen: Listen,
    configs: Callable[[], AbstractAsyncContextManager[None]],
    sandbox: Sandbox,
    gateway: AsyncGateway,
    environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its configs are deleted by the others, whose own ones stay, and no file is left at the end."""
    killed, _ = listen("--create-configs", "--resource", "contact", **environment)
    (file,) = files_in(tmp_path)
    killed.kill()
    killed.wait(PATIENCE)
    file.with_name("listen-folder.jsonl").mkdir()
    odd = file.with_name("listen-0.jsonl")
    odd.write_bytes(b'[]\nnull\n5\n{"id": 5}\n{"id"')
    async with configs(), configs():
        with anyio.fail_after(PATIENCE):
            while file.exists():
                await anyio.sleep(0.02)
        await anyio.sleep(0.05 * 2 * temporary_configs._MISSED_RENEWALS)  # long enough to delete each other's
        contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
    assert len({each["config_id"] for each in sandbox.postbacks(record_id=contact.id)}) == 2
    said = "gateway-async: deleting 1 postback config that a killed run left behind"
    assert set(capsys.readouterr().err.splitlines()) == {said}
    assert {each.name for each in files_in(tmp_path)} == {odd.name, "listen-folder.jsonl"}


@pytest.mark.asyncio
async def test_lost_lease(
    configs: Callable[[], AbstractAsyncContextManager[None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that was stopped for minutes learns that another one has deleted its configs."""
    said = ""
    async with configs():
        (file,) = files_in(tmp_path)
        file.unlink()
        with anyio.fail_after(PATIENCE):
            while not said:
                await anyio.sleep(0.02)
                said = capsys.readouterr().err
    assert said.replace("\n", " ").endswith("another run may have deleted the postback configs; start this one again ")
    assert files_in(tmp_path) == []


@pytest.mark.asyncio
async def test_interrupted_creation(
    configs: Callable[[], AbstractAsyncContextManager[None]],
    sandbox: Sandbox,
    gateway: AsyncGateway,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Ctrl-C after the gateway has created a config, and before its id is here, leaves none."""
    created, create = anyio.Event(), PostbackConfigs.create

    async def create_slowly(self: PostbackConfigs, new: PostbackConfigCreate) -> PostbackConfig:
        config = await create(self, new)
        created.set()
        await anyio.sleep(0.1)
        return config

    async def run() -> None:
        async with configs():
            await anyio.sleep_forever()

    monkeypatch.setattr(PostbackConfigs, "create", create_slowly)
    task = asyncio.create_task(run())
    await created.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
    assert sandbox.postbacks(record_id=contact.id) == []
    assert files_in(tmp_path) == []
