"""Colors only where they are wanted, and help that is whole at any width."""

import re
from pathlib import Path

import anyio
import pytest

from gateway_async import CardVaultCreate
from gateway_async.cli import records
from gateway_async.cli.app import COMMANDS
from gateway_async.migration import migrate_vaults
from gateway_async.sandbox import Sandbox
from tests.support.in_process import run
from tests.support.processes import run_on_color_terminal

COLOR = re.compile(r"\x1b\[[\d;]*3[0-7]m|\x1b\[[\d;]*9[0-7]m|\x1b\[[\d;]*38;")
CARD = "4111111111111111"


@pytest.fixture
def files(sandbox: Sandbox, tmp_path: Path) -> Path:
    """A folder with a journal that has a row, and a file of cards."""
    new = CardVaultCreate(
        account_number=CARD, exp_date="1230", contact_id=sandbox.contact_id, account_vault_api_id="c1"
    )

    async def migrate() -> None:
        async with sandbox.gateway() as gateway:
            await migrate_vaults(gateway, [new], journal=tmp_path / "cards.journal")

    anyio.run(migrate)
    (tmp_path / "more.csv").write_text(f"key,account_number,exp_date,contact_id\nc2,{CARD},1230,{sandbox.contact_id}\n")
    return tmp_path


SHOWN = {
    "check": ("check",),
    "check with a failure": ("check", "--ledger", "none.db"),
    "usage": ("sandbox", "--prt"),
    "failure": ("get", "contacts", "unknown"),
    "help": ("migrate", "--help"),
    "record": ("get", "users", "me"),
    "rows": ("migrate", "journal", "FILES/cards.journal"),
    "verification": ("migrate", "verify", "--journal", "FILES/cards.journal"),
    "migration": ("migrate", "FILES/more.csv"),
    "plan": ("migrate", "FILES/more.csv", "--plan"),
    "version": ("--version",),
}


@pytest.mark.parametrize("name", SHOWN)
def test_no_color(files: Path, environment: dict[str, str], name: str) -> None:
    """With `NO_COLOR` there is no color, and with `TERM=dumb` no code at all."""
    arguments = [each.replace("FILES", str(files)) for each in SHOWN[name]]
    assert COLOR.search(run_on_color_terminal(*arguments, **environment, NO_COLOR="1").stdout) is None
    dumb = run_on_color_terminal(*arguments, **environment, TERM="dumb").stdout
    assert dumb.strip()
    assert "\x1b" not in dumb


def test_colors(environment: dict[str, str]) -> None:
    """Elsewhere a terminal gets them."""
    assert COLOR.search(run_on_color_terminal("check", **environment).stdout)
    assert COLOR.search(run_on_color_terminal("sandbox", "--prt").stdout)


VERBS = (records.GET, records.LIST, records.CREATE, records.UPDATE, records.DELETE)
COMMAND_LINES = [
    (),
    *(tuple(command.split()) for command in COMMANDS),
    *((str(verb.name), resource) for verb in VERBS for resource in verb.commands),
]


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_help_width(arguments: tuple[str, ...]) -> None:
    """No line is too long, no name is cut, and the words for values and arguments are the usual ones."""
    names = names_in(run(*arguments, "--help", COLUMNS="200").stdout)
    for columns in (60, 80, 120):
        shown = run(*arguments, "--help", COLUMNS=str(columns)).stdout
        assert max(map(len, shown.splitlines())) < columns
        assert re.findall(r"(?<!://)(?<!NAME,)…|<\w+>?|\{|\[\[", shown) == []
        assert names_in(shown) == names
    assert run(*arguments, "--help", COLUMNS="1").returncode == 0


def names_in(text: str) -> list[str]:
    """Return the options, arguments and commands that a help text lists."""
    _, _, *sections = re.split(r"^(Arguments|Options):$", text, maxsplit=1, flags=re.MULTILINE)
    return re.findall(r"^  (\S.*?)(?:  |$)", "".join(sections), re.MULTILINE)


USAGE = {
    (): "gateway-async [OPTIONS] COMMAND [ARGS]...",
    ("ledger",): "gateway-async ledger [OPTIONS] FILE",
    ("migrate",): "gateway-async migrate [OPTIONS] FILE",
    ("migrate", "verify"): "gateway-async migrate verify [OPTIONS] [FILE]",
    ("get",): "gateway-async get [OPTIONS] RESOURCE [ARGS]...",
    ("get", "contacts"): "gateway-async get contacts [OPTIONS] ID",
}


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(arguments: tuple[str, ...]) -> None:
    """An argument is its name, in brackets if it can be omitted."""
    assert run(*arguments, "--help").stdout.splitlines()[0] == f"Usage: {USAGE[arguments]}"
