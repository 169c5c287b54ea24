"""Write the reference of the command line: a page for each command, from the help texts."""

import re
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx
from typer.cli import app as typer_command
from typer.testing import CliRunner

FOLDER: Final = "reference/commands"


def write_pages(app: Sphinx) -> None:
    """Write the pages into the source folder, before Sphinx looks for sources."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    markdown = help_in_markdown()
    introduction, *commands = re.split(
        r"^## (?=`gateway-async \w+`)", markdown, flags=re.MULTILINE
    )
    names = re.findall(r"^## `gateway-async (\w+)`", markdown, re.MULTILINE)
    for name, text in zip(names, commands, strict=True):
        page = re.sub(r"^###", "##", f"# {text}", flags=re.MULTILINE)
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    toctree = "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"
    index = introduction.partition("**Commands**")[0].replace(
        "# `gateway-async`", "# Commands and options"
    )
    (folder / "index.md").write_text(index + toctree, encoding="utf-8")


def help_in_markdown() -> str:
    """Return the help texts of all commands as Markdown."""
    arguments = ["gateway_async.cli.app", "utils", "docs", "--name", "gateway-async"]
    written = (
        CliRunner().invoke(typer_command, arguments, catch_exceptions=False).output
    )
    return written.replace(" <str>`", "`")  # an argument's type


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when the build begins."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
