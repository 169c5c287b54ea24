"""Uploads: their bytes, files that are rejected, and files that fail midway."""

import contextlib
import io
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import anyio
import httpx
import pytest

from gateway_async import (
    AsyncGateway,
    Attachment,
    InvalidRequestError,
    NotSentError,
    OutcomeUnknownError,
    QuickInvoiceCreate,
    QuickInvoiceFile,
    ValidationError,
)
from gateway_async._http import upload
from gateway_async._wire.call import FilePart, Form
from tests.support.scripted_server import Script, Wire, gateway_at, response, serving, until

pytestmark = pytest.mark.anyio

INVOICE = QuickInvoiceCreate(
    title="Lunch", due_date=date(2026, 12, 1), item_list={"Crème": "2.50"}, tags=["a"], quick_invoice_api_id="mine"
)
LARGEST = 5_242_880


def never_asked() -> httpx.MockTransport:
    """A transport that must not be used."""

    def fail(_: httpx.Request) -> NoReturn:
        pytest.fail("something was sent")

    return httpx.MockTransport(fail)


def parts(head: bytes, body: bytes) -> dict[str, tuple[str | None, str | None, bytes]]:
    boundary = first(rb"boundary=([^;\r]+)", head) or ""
    found = {}
    for piece in body.split(b"--" + boundary.encode())[1:-1]:
        part_head, _, content = piece.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n")
        name, filename = first(rb'\bname="([^"]*)"', part_head), first(rb'filename="([^"]*)"', part_head)
        found[name or ""] = (filename, first(rb"(?i)content-type: *(\S+)", part_head), content)
    return found


def first(pattern: bytes, text: bytes) -> str | None:
    match = re.search(pattern, text)
    return match and match[1].decode()


class Inbox:
    """A server's memory of what came."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []

    def script(self, *responses: bytes) -> Script:
        async def run(wire: Wire) -> None:
            while True:
                head, body = await wire.request()
                self.heads.append(head)
                self.bodies.append(body)
                await wire.send(responses[min(len(self.heads), len(responses)) - 1])

        return run

    @property
    def parts(self) -> dict[str, tuple[str | None, str | None, bytes]]:
        return parts(self.heads[-1], self.bodies[-1])


@contextlib.asynccontextmanager
async def receiving(*responses: bytes) -> AsyncIterator[tuple[Inbox, AsyncGateway]]:
    """Have a server that answers like that, and a client of it."""
    inbox = Inbox()
    async with serving(inbox.script(*responses)) as peer, gateway_at(peer.url) as gateway:
        yield inbox, gateway


RECORD = {"quickinvoice": {"id": "i", "quick_invoice_api_id": "mine"}}
MADE = response(201, RECORD)


# --- what arrives


async def test_form(tmp_path: Path) -> None:
    """Text and files, from bytes, a path, an open file and a path as text, with types; the length is told ahead."""
    path = tmp_path / "photo"
    path.write_bytes(os.urandom(200_000))
    async with receiving(MADE) as (inbox, gateway):
        with (tmp_path / "photo").open("rb") as file:
            file.seek(199_990)
            files = [
                Attachment("a.pdf", b"%PDF"),
                Attachment('say "hi" é.txt', path, "text/x-note"),
                Attachment("rest", file),
                Attachment("same.pdf", str(path)),
            ]
            assert (await gateway.quick_invoices.create(INVOICE, files)).id == "i"
            assert not file.closed
    assert b"chunked" not in inbox.heads[0]
    assert {name: content for name, (filename, _, content) in inbox.parts.items() if filename is None} == {
        "quickinvoice[title]": b"Lunch",
        "quickinvoice[due_date]": b"2026-12-01",
        "quickinvoice[item_list][Crème]": b"2.50",
        "quickinvoice[tags][0]": b"a",
        "quickinvoice[location_id]": b"loc",
        "quickinvoice[quick_invoice_api_id]": inbox.parts["quickinvoice[quick_invoice_api_id]"][2],
    }
    assert {name: part for name, part in inbox.parts.items() if part[0] is not None} == {
        "quickinvoice[files][0]": ("a.pdf", "application/pdf", b"%PDF"),
        "quickinvoice[files][1]": ("say %22hi%22 é.txt", "text/x-note", path.read_bytes()),
        "quickinvoice[files][2]": ("rest", "application/octet-stream", path.read_bytes()[-10:]),
        "quickinvoice[files][3]": ("same.pdf", "application/pdf", path.read_bytes()),
    }


@pytest.mark.parametrize(
    ("said", "file"),
    [
        (response(201, {"file": {"id": "f", "name": "a.pdf"}}), QuickInvoiceFile(id="f", extra={"name": "a.pdf"})),
        (response(201, {"id": "f", "name": "a.pdf"}), QuickInvoiceFile(id="f", extra={"name": "a.pdf"})),
        (response(201, {"quickinvoice": {"id": "i"}}), QuickInvoiceFile(extra={"quickinvoice": {"id": "i"}})),
        (response(201, []), None),
        (response(201), None),
    ],
)
async def test_attachment(said: bytes, file: QuickInvoiceFile | None) -> None:
    """A file is sent in the contract's field, and its response is read as far as possible."""
    async with receiving(said) as (inbox, gateway):
        assert await gateway.quick_invoices.attach_file("i", Attachment("a.pdf", b"%PDF")) == file
    assert inbox.heads[0].startswith(b"POST /v2/quickinvoices/i/files HTTP/1.1\r\n")
    assert inbox.parts == {"file[file]": ("a.pdf", "application/pdf", b"%PDF")}


async def test_repeated_form(tmp_path: Path) -> None:
    """A path is opened again, an open file starts again where it stood."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"from a path")
    bodies: list[bytes] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        bodies.append(await request.aread())
        if len(bodies) < 3:
            raise httpx.ConnectError("refused")  # of which a foreign transport is believed that nothing left
        return httpx.Response(201, json=RECORD)

    file = io.BytesIO(b"read before; from a file")
    file.seek(len(b"read before; "))
    files = [Attachment("a", path), Attachment("b", file), Attachment("c", b"from bytes")]
    async with gateway_at("https://gateway.test", transport=httpx.MockTransport(handle)) as gateway:
        await gateway.quick_invoices.create(INVOICE, files)
    for body in bodies:
        assert [body.count(f"from {kind}".encode()) for kind in ("a path", "a file", "bytes")] == [1, 1, 1]
        assert b"read before" not in body


async def test_file_position() -> None:
    """Given twice, it is sent twice, and whole again by the next call, whether nothing was sent or it was refused."""
    file = io.BytesIO(b"read before; the file")
    file.seek(len(b"read before; "))
    same, missing = Attachment("a", file), Attachment("b", "no such file")
    async with receiving(response(422, {"errors": {"files": ["no"]}}), MADE) as (inbox, gateway):
        with pytest.raises(InvalidRequestError, match=r"files\[1\]: cannot be read"):
            await gateway.quick_invoices.create(INVOICE, [same, missing])
        with pytest.raises(ValidationError):
            await gateway.quick_invoices.create(INVOICE, [same, same])
        await gateway.quick_invoices.create(INVOICE, [same])
    assert [body.count(b"\r\n\r\nthe file\r\n") for body in inbox.bodies] == [2, 1]
    assert file.read() == b"the file"


# --- what is refused before anything is sent


class Unseekable(io.RawIOBase):
    """A stream, such as a response's body."""


def fifo(folder: Path) -> Path:
    """A pipe with a name; opening it would wait for the other end."""
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def closed() -> BinaryIO:
    file = io.BytesIO(b"x")
    file.close()
    return file


def unreadable(folder: Path) -> dict[str, tuple[Any, str]]:
    """Contents that cannot be read, and what is said of them."""
    text = folder / "text"
    text.write_text("x")
    return {
        "missing": (folder / "missing", "cannot be read: No such file or directory"),
        "folder": (folder, "cannot be read: not a regular file"),
        "pipe": (fifo(folder), "cannot be read: not a regular file"),
        "text": (io.StringIO("x"), "cannot be read: it must be opened for reading bytes"),
        "closed": (closed(), "cannot be read: I/O operation on closed file."),
        "unseekable": (
            Unseekable(),
            "cannot be read: it is not seekable, so it cannot be sent twice (expected bytes or a path)",
        ),
        "large": (b"x" * (LARGEST + 1), "must have at most 5242880 bytes, has 5242881"),
    }


async def test_unreadable_files(tmp_path: Path) -> None:
    """Every file is named by its place, and nothing is sent."""
    wrong = unreadable(tmp_path)
    async with gateway_at("https://gateway.test", transport=never_asked()) as gateway:
        for content, problem in wrong.values():
            files = [Attachment("good", b""), Attachment("bad", content)]
            with pytest.raises(InvalidRequestError) as caught:
                await gateway.quick_invoices.create(INVOICE, files)
            assert caught.value.problems == (f"files[1]: {problem}",)
        with pytest.raises(InvalidRequestError) as caught:
            await gateway.quick_invoices.attach_file("i", Attachment("bad", tmp_path / "missing"))
        assert caught.value.problems == ("attachment: cannot be read: No such file or directory",)


async def test_all_unreadable_files_are_named_at_once(tmp_path: Path) -> None:
    files = [Attachment("a", tmp_path / "a"), Attachment("b", b""), Attachment("c", tmp_path / "c")]
    async with gateway_at("https://gateway.test", transport=never_asked()) as gateway:
        with pytest.raises(InvalidRequestError) as caught:
            await gateway.quick_invoices.create(INVOICE, files)
    assert [line.split(":")[0] for line in caught.value.problems] == ["files[0]", "files[2]"]


async def test_unlimited_size() -> None:
    """With limits off a file of any size is sent, and the largest allowed one always."""
    inbox = Inbox()
    async with serving(inbox.script(response(201))) as peer:
        async with gateway_at(peer.url, check_limits=False) as gateway:
            await gateway.quick_invoices.attach_file("i", Attachment("a", b"x" * (LARGEST + 1)))
        async with gateway_at(peer.url) as gateway:
            await gateway.quick_invoices.attach_file("i", Attachment("a", b"x" * LARGEST))
    assert [body.count(b"x" * LARGEST) for body in inbox.bodies] == [1, 1]


# --- what fails on the way


class Failing(io.BytesIO):
    """A file that gives 200,000 bytes of its 300,000, or less, and then nothing, or an error."""

    def __init__(self, error: Exception | None, gives: int = 200_000) -> None:
        super().__init__(b"x" * 300_000)
        self.error = error
        self.gives = gives

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() + (size or 0) <= self.gives:
            return super().read(size)
        if self.error:
            raise self.error
        return b""


FAILURES = {
    "becomes shorter": (None, r"files\[0\] became shorter while it was sent"),
    "cannot be read": (OSError(5, "Input/output error"), r"files\[0\] cannot be read any more: .*Input/output error"),
    "raises the network's errors": (httpx.ConnectError("no"), r"files\[0\] cannot be read any more: no"),
}


@pytest.mark.parametrize(("error", "says"), FAILURES.values(), ids=FAILURES)
async def test_broken_file(error: Exception | None, says: str) -> None:
    """The server gets no whole request; the invoice is looked up, and the outcome is said to be unknown."""
    async with receiving(response(403, {"name": "Forbidden", "message": "no", "status": 403})) as (inbox, gateway):
        with pytest.raises(OutcomeUnknownError, match=says):
            await gateway.quick_invoices.create(INVOICE, [Attachment("a", Failing(error))])
    assert [head.split(b" ")[0] for head in inbox.heads] == [b"GET"]


@pytest.mark.parametrize("gives", [0, 100_000])
async def test_early_failure(gives: int) -> None:
    """Two steps of it are read before a connection is taken."""
    async with serving() as peer, gateway_at(peer.url, max_attempts=1) as gateway:
        with pytest.raises(NotSentError, match="cannot be read any more"):
            await gateway.quick_invoices.create(INVOICE, [Attachment("a", Failing(OSError(5, "no"), gives))])
        assert peer.opened == 0


async def test_foreign_transport() -> None:
    """Never treat a file's exception as a refused connection."""

    async def handle(request: httpx.Request) -> httpx.Response:
        await request.aread()
        pytest.fail("the whole file was read")

    attachment = Attachment("a", Failing(httpx.ConnectError("no")))
    async with gateway_at("https://gateway.test", transport=httpx.MockTransport(handle)) as gateway:
        with pytest.raises(OutcomeUnknownError):
            await gateway.quick_invoices.attach_file("i", attachment)


class Growing(io.BytesIO):
    """A file that is longer after each look into it."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        place = self.tell()
        if size:
            self.seek(0, os.SEEK_END)
            self.write(b"y" * 50)
            self.seek(place)
        return data


async def test_growing_file() -> None:
    """Of a file that grows, only as many bytes are sent as were promised."""
    async with receiving(response(201)) as (inbox, gateway):
        await gateway.quick_invoices.attach_file("i", Attachment("log", Growing(b"x" * 100)))
    assert inbox.parts["file[file]"][2] == b"x" * 100


async def test_vanished_file(tmp_path: Path) -> None:
    """Between two tries, say: nothing left, and that is what the error says."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")

    def handle(_: httpx.Request) -> NoReturn:
        path.unlink(missing_ok=True)
        raise httpx.ConnectError("refused")

    async with gateway_at("https://gateway.test", transport=httpx.MockTransport(handle)) as gateway:
        with pytest.raises(NotSentError, match="No such file"):
            await gateway.quick_invoices.create(INVOICE, [Attachment("a.pdf", path)])


class Slow(io.BytesIO):
    """A file on a disk that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__(b"x" * 100)
        self.asked, self.may_respond = threading.Event(), threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        if size:
            self.asked.set()
            assert self.may_respond.wait(20)
        return super().read(size)


@pytest.fixture
def slow() -> Iterator[Slow]:
    file = Slow()
    yield file
    file.may_respond.set()


async def test_slow_disk(slow: Slow) -> None:
    """While the file is waited for, other tasks run: one of them lets it go."""

    async def let_go() -> None:
        await until(slow.asked.is_set)
        slow.may_respond.set()

    async with receiving(response(201)) as (inbox, gateway), anyio.create_task_group() as tasks:
        tasks.start_soon(let_go)
        await gateway.quick_invoices.attach_file("i", Attachment("a", slow))
    assert inbox.parts["file[file]"][2] == b"x" * 100


class Watched(Slow):
    """A slow file that notes in which order it is read and put back."""

    def __init__(self) -> None:
        super().__init__()
        self.put_back: list[bool] = []

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self.put_back.append(self.asked.is_set() and not self.may_respond.is_set())
        return super().seek(offset, whence)


async def test_restored_position() -> None:
    """An attempt that is given up waits for its thread, lest the next attempt read the same file beside it."""
    file = Watched()
    form = Form((), (FilePart("file", "a", Attachment("a", file)),))

    async def let_go() -> None:
        await anyio.sleep(0.05)
        file.may_respond.set()

    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as attempt:
            async with upload.open_upload(form) as body, anyio.create_task_group() as reading:
                reading.start_soon(anext, body)
                await until(file.asked.is_set)
                tasks.start_soon(let_go)
                attempt.cancel()
    assert not any(file.put_back)
    assert file.tell() == 0


async def test_a_disk_that_hangs_ends_at_the_deadline(slow: Slow) -> None:
    async with serving() as peer, gateway_at(peer.url, timeout=0.3) as gateway:
        with anyio.fail_after(30):
            with pytest.raises((NotSentError, OutcomeUnknownError)):  # as far as the transport can tell
                await gateway.quick_invoices.attach_file("i", Attachment("a", slow))
            assert not slow.may_respond.is_set()


class Silent(Slow):
    """A file on a disk that does not even say what it is."""

    def seekable(self) -> bool:
        return self.may_respond.wait(20)


async def test_dead_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at the files has its own bound; nothing was sent, and that is what the error says."""
    monkeypatch.setattr(upload, "_CHECK_SECONDS", 0.1)
    silent = Silent()
    async with gateway_at("https://gateway.test", transport=never_asked()) as gateway:
        with anyio.fail_after(30), pytest.raises(NotSentError, match=r"its files cannot be read within 0\.1 s"):
            await gateway.quick_invoices.attach_file("i", Attachment("a", silent))
    silent.may_respond.set()


async def test_a_process_that_can_start_no_thread_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_options: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("anyio.to_thread.run_sync", fail)
    async with gateway_at("http://127.0.0.1", transport=never_asked()) as gateway:
        with pytest.raises(NotSentError, match="its files cannot be read: RuntimeError: can't start new thread"):
            await gateway.quick_invoices.create(INVOICE, files=[Attachment("a.txt", b"a")])


async def test_lost_attachment() -> None:
    """A lost attachment is neither looked up nor sent again, because no record shows it."""
    async with receiving(response(500)) as (inbox, gateway):
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.quick_invoices.attach_file("i", Attachment("a.pdf", b"%PDF"))
    assert caught.value.sent == {"filename": "a.pdf"}
    assert len(inbox.heads) == 1


async def test_failed_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure to close the files after sending loses neither the connection nor its slot."""

    def fail(*_: object) -> NoReturn:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(upload, "_close", fail)
    async with receiving(response(200)) as (_, gateway):
        with pytest.raises(OutcomeUnknownError):
            await gateway.quick_invoices.attach_file("i", Attachment("a.pdf", b"%PDF"))
        pool = gateway.health().ordinary
        assert pool is not None
        assert pool.in_use == 0
