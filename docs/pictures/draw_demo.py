"""Run `gateway-async demo`, print its output, and draw a part of it as docs/pictures/demo.svg for the README."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS = 92
PARTS = (5, 13)
"""The headlines whose parts are drawn, by their order: the lost response, and the summary."""

HEADLINE = re.compile(r"^\S.* ─{3,}$")
CURSOR = re.compile(r"^.*\x1b\[2K|\x1b\[[?\d;]*[A-Zhl]", re.MULTILINE)
"""Live lines that were overwritten, and the movements of the cursor."""

LOGO = Path(__file__).parents[2] / "gateway_async/sandbox/pages/static/logo.svg"
ACCENT = re.findall(r"stroke: (#\w+)", LOGO.read_text(encoding="utf-8"))[1]
CYAN = "#68a0b3"
"""What Rich draws for the cyan of a terminal, in which the demo prints headlines."""

FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def draw(output: str) -> str:
    """Draw some parts of the demo's colored output as SVG."""
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
    )
    lines = Text.from_ansi(CURSOR.sub("", output)).split("\n")
    part = 0
    for line in lines:
        part += bool(HEADLINE.match(line.plain))
        if part in PARTS:
            console.print(line)
    picture = console.export_svg(title="gateway-async demo", unique_id="demo")
    # no reader's browser has to load a font from elsewhere
    return FONTS.sub("", picture).replace(CYAN, ACCENT)


if __name__ == "__main__":
    scripts = Path(sys.executable).parent
    search = f"{scripts}{os.pathsep}{os.environ['PATH']}"  # as in an active virtual environment
    options = {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
        "PATH": search,
    }
    environment = os.environ | options
    command = [str(scripts / "gateway-async"), "demo"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    PICTURE.write_text(draw(done.stdout.decode()), encoding="utf-8")
    sys.stdout.write(done.stdout.decode())
