"""Use the package where everything is missing that Windows does not have. The argument is an empty folder."""

import asyncio
import os
import pkgutil
import select
import signal
import sys
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue

from tests.support.waiting import PATIENCE

ABSENT_MODULES = ("fcntl", "grp", "pwd", "pty", "readline", "resource", "syslog", "termios", "tty", "uvloop")
ABSENT_NAMES = {
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "forkpty"),
        *("getegid", "geteuid", "getgid", "getpgid", "getuid", "getloadavg", "killpg", "mkfifo", "nice", "openpty"),
        *("pread", "pwrite", "register_at_fork", "sched_getaffinity", "sendfile", "setsid", "sysconf", "umask"),
    ),
    select: ("epoll", "poll"),
    signal: ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"),
}


def refuse(*_: object, **__: object) -> None:
    """Refuse what the event loop of Windows refuses."""
    raise NotImplementedError


def remove_posix() -> None:
    """Remove the modules and names that exist on POSIX systems only."""
    for name in ABSENT_MODULES:
        vars(sys)["modules"][name] = None  # the next import raises ModuleNotFoundError
    for module, names in ABSENT_NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in ("add_signal_handler", "remove_signal_handler"):
        setattr(asyncio.SelectorEventLoop, name, refuse)


def import_everything() -> int:
    """Import every module of the package and return their number."""
    import gateway_async

    names = [each.name for each in pkgutil.walk_packages(gateway_async.__path__, "gateway_async.")]
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
    return len(names)


async def use_everything(folder: Path) -> None:
    """Sell with a ledger, migrate two cards, and receive a postback in an inbox."""
    from gateway_async import RouterTransactionCreate, SqliteLedger
    from gateway_async.migration import migrate_vaults, read_rows
    from gateway_async.sandbox import Sandbox

    async with Sandbox(data=folder / "sandbox.db", terminal_delay=0) as sandbox:
        async with sandbox.gateway(ledger=SqliteLedger(folder / "payments.db")) as gateway:
            sale = RouterTransactionCreate(
                action="sale", terminal_id=sandbox.terminal_id, transaction_amount="12.50", transaction_api_id="1001"
            )
            assert (await gateway.router_transactions.create(sale)).approved
            assert await gateway.recover(wait=0) == []
            cards = folder / "cards.csv"
            cards.write_text("key,account_number,exp_date\n1,4111111111111111,1230\n2,5454545454545454,1230\n")
            rows = read_rows(cards)
            assert (await migrate_vaults(gateway, rows, journal=folder / "cards.journal")).stored == 2
        assert sandbox.ledger()["charged"] == {"1001": 1}
    await receive_postback(folder)


async def receive_postback(folder: Path) -> None:
    """Receive a postback over ASGI, and wait until it was handled."""
    import anyio
    import httpx

    from gateway_async.postbacks import SqliteInbox
    from tests.postbacks.postback_requests import HEADERS, form, receiver

    handled, shop = anyio.Event(), receiver(inbox=SqliteInbox(folder / "inbox.db"))

    @shop.on("transaction")
    async def handle(_: object) -> None:
        handled.set()

    transport = httpx.ASGITransport(shop.asgi)
    async with shop, httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
        response = await client.post("/", content=form(), headers=HEADERS)
        assert response.is_success, response
        with anyio.fail_after(PATIENCE):
            await handled.wait()


class InterruptibleQueue(SimpleQueue[int]):
    """A queue that rejects a wait without a time limit: on Windows, Ctrl-C would not end it."""

    def get(self, block: bool = True, timeout: float | None = None) -> int:
        """Return the next item."""
        assert timeout is not None
        return super().get(block, timeout)


def serve_until_stopped() -> None:
    """Serve a sandbox in the foreground until SIGINT."""
    module = import_module("gateway_async.sandbox.serve")
    vars(module)["SimpleQueue"] = InterruptibleQueue
    module.serve(0, on_ready=lambda _: signal.raise_signal(signal.SIGINT))


if __name__ == "__main__":
    remove_posix()
    count = import_everything()
    asyncio.new_event_loop().close()  # Python 3.14 imports the event loop of the platform at its first use
    sys.platform = "win32"
    asyncio.run(use_everything(Path(sys.argv[1])))
    serve_until_stopped()
    print(count, "modules, no problem")  # noqa: T201
