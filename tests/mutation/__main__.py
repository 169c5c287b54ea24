"""Change the code in small ways, and see whether a test fails: `python -m tests.mutation _wire/reply _execution/state`.

mutmut makes the changes and runs the tests. Its settings are in pyproject.toml. Without arguments it does so for all of
`_wire` and `_execution`, and continues where an earlier run has ended; its results are in mutants/.

What no test notices and [survivors.toml](survivors.toml) does not name is printed, and the command fails.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import attrs

ROOT: Final = Path(__file__).parents[2]
KNOWN: Final = Path(__file__).with_name("survivors.toml")
PACKAGE: Final = "gateway_async"
PACKAGES: Final = ("_wire", "_execution")

_STATUSES: Final[Mapping[int | None, str]] = {
    0: "survived",
    **dict.fromkeys((5, 33), "not tested"),
    37: "refused by mypy",
    None: "not run",
    **dict.fromkeys((-24, -9, 24, 36, 152, 255), "timed out"),  # also on a busy machine
}
"""What mutmut's exit codes mean. All others are a test that failed."""

_SURVIVED: Final = ("survived", "not tested")
_TEXT: Final = re.compile(r'"([^"\n]*)"')
_NAMED_CALL: Final = re.compile(r"\bcall=(str\([\w.]+\)|self\._call|held\.call|call|None)")


@attrs.frozen
class Mutant:
    """A changed copy of a function.

    Attributes:
        function: its name, with its module: `_wire.reply.Reply.json`.
        change: the lines before and after.
        is_prose: whether only the words of a message differ, or the call that an error names.
        status: whether it was killed.
    """

    function: str
    change: str
    is_prose: bool
    status: str


def main(arguments: Sequence[str]) -> None:
    """Run the mutants of some modules, such as `_wire/reply`, or of all."""
    wanted = [name.removesuffix(".py").replace("/", ".") for name in arguments]
    patterns = [f"{PACKAGE}.{name}.*" for name in wanted]
    subprocess.run(["mutmut", "run", *patterns], check=True, cwd=ROOT)  # noqa: S603, S607
    mutants = list(read_mutants(wanted))
    known = {
        (function, change)
        for functions in tomllib.loads(KNOWN.read_text(encoding="utf-8")).values()
        for function, changes in functions.items()
        for change in changes
    }
    survivors = {(each.function, each.change): each for each in mutants if each.status in _SURVIVED}
    new = [each for key, each in survivors.items() if key not in known and not each.is_prose]
    modules = {each.function.rpartition(".")[0] for each in mutants}
    killed = {key for key in known - survivors.keys() if key[0].rpartition(".")[0] in modules}
    for each in new:
        print(f"\n{each.function} ({each.status})\n    {each.change}")
    for function, change in sorted(killed):
        print(f"\n{function}: survivors.toml names it, but it was killed or is gone\n    {change}")
    counts = Counter(each.status for each in mutants)
    print(f"\n{len(mutants)} mutants:", ", ".join(f"{count} {status}" for status, count in counts.most_common()))
    if new or killed:
        sys.exit(f"{len(new)} survivors are new, and {len(killed)} of those in survivors.toml are none")


def read_mutants(modules: Sequence[str]) -> Iterator[Mutant]:
    """Read what mutmut has written about the mutants of some modules, or of all."""
    for package in PACKAGES:
        for source in sorted((ROOT / PACKAGE / package).glob("*.py")):
            module = f"{package}.{source.stem}"
            written = ROOT / "mutants" / source.relative_to(ROOT)
            results = Path(f"{written}.meta")
            if results.exists() and (module in modules or not modules):
                yield from _read_module(module, written, json.loads(results.read_text(encoding="utf-8")))


def _read_module(module: str, written: Path, results: Mapping[str, Any]) -> Iterator[Mutant]:
    lines = written.read_text(encoding="utf-8").splitlines()
    spans = json.loads(Path(f"{written}.spans").read_text(encoding="utf-8"))["spans"]
    for key, exit_code in results["exit_code_by_key"].items():
        name = key.rpartition(".")[2]
        function = name.partition("__mutmut_")[0]
        original, changed = (
            [line.replace(each, function) for line in lines[spans[each][0] - 1 : spans[each][1]]]
            for each in (f"{function}__mutmut_orig", name)
        )
        yield Mutant(
            function=f"{module}.{function.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}",
            change=describe_change(original, changed),
            is_prose=_without_words(original) == _without_words(changed),
            status=_STATUSES.get(exit_code, "killed"),
        )


def _without_words(lines: Sequence[str]) -> str:
    """Return code without what tests do not compare: the words of messages, and the call that an error names."""
    code = "".join(_TEXT.sub("" if "Error(" in line else _keep_word, line) for line in lines)
    return re.sub(r"[\s,]+", "", _NAMED_CALL.sub("", code))


def _keep_word(text: re.Match[str]) -> str:
    """Return a text that is a single word; such a text can be a field's name or a code."""
    return "" if " " in text[1] else text[0]


def describe_change(original: Sequence[str], changed: Sequence[str]) -> str:
    """Return the lines that differ, before and after."""
    lines = [
        line for line in unified_diff(original, changed, n=0, lineterm="") if line[:3] not in ("---", "+++", "@@ ")
    ]
    old, new = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
    return f"{old} → {new}"


if __name__ == "__main__":
    main(sys.argv[1:])
