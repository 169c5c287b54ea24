"""Find what version 0.3 renamed or removed in programs written for 0.2: `python -m gateway_async.upgrade PATH…`.

Python is parsed, so strings and comments do not count as code. In other text, such as shell scripts, YAML and
Dockerfiles, only commands and log messages are searched. Nothing is changed, and nothing of a program is imported.
"""

import argparse
import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final

import attrs

__all__ = [
    "CHANGES",
    "NameChange",
    "NameKind",
    "OldName",
    "find_in_file",
    "find_in_python",
    "find_in_text",
    "main",
    "table",
]


class NameKind(StrEnum):
    """The kinds of names that changed."""

    NAME = "name"
    ATTRIBUTE = "attribute"
    METHOD = "method"
    ARGUMENT = "argument"
    POSITIONAL = "positional argument"
    VALUE = "value"
    OPTION = "option"
    MESSAGE = "message"


@attrs.frozen
class NameChange:
    """One row of the table.

    Attributes:
        kind: what was renamed.
        owner: the module, class, function or command that it belongs to.
        old: its name in 0.2.
        new: its name in 0.3; "" if it was removed.
        note: what to do beyond the new name.
        position: for a positional argument, how many stand before it.
        clues: texts of which a file must have one for the name to be taken for this one; without any, `owner`.
    """

    kind: NameKind
    owner: str
    old: str
    new: str = ""
    note: str = ""
    clues: tuple[str, ...] = ()
    position: int = 0

    def may_be_in(self, source: str) -> bool:
        """Whether a program uses what the name belongs to."""
        return any(re.search(rf"\b{re.escape(clue)}\b", source) for clue in self.clues or (self.owner,))


_STATUS: Final = "as in every error"
_UPDATE_FIELDS: Final = (
    *("quick_invoice_api_id", "allow_overpayment", "cell_phone", "send_text_to_pay", "customer_id"),
    *("dl_number", "dl_state", "ssn4", "dob_year"),
)
_SANDBOX_OPTIONS: Final = ("terminals", "terminal_delay", "postback_hosts", "strict", "on_request", "allowed_hosts")


def _keyword_only(owner: str, position: int, *names: str, clues: tuple[str, ...] = ()) -> Iterator[NameChange]:
    for index, name in enumerate(names, position):
        yield NameChange(NameKind.POSITIONAL, owner, name, f"{name}=…", "by keyword only", clues, index)


CHANGES: Final[Sequence[NameChange]] = (
    NameChange(NameKind.NAME, "gateway_async", "Reached", "SendStage"),
    NameChange(NameKind.ATTRIBUTE, "SendStage", "RESPONSE_CUT", "RESPONSE_TRUNCATED", clues=("Reached", "SendStage")),
    NameChange(
        NameKind.VALUE, "SendStage", "connecting, nothing written", "nothing written", clues=("reached", "Reached")
    ),
    NameChange(NameKind.VALUE, "SendStage", "sent in part or whole, no response", "sent", clues=("reached", "Reached")),
    NameChange(NameKind.VALUE, "SendStage", "response cut off", "response truncated", clues=("reached", "Reached")),
    NameChange(NameKind.ATTRIBUTE, "LedgerError", "path", "location"),
    NameChange(NameKind.ATTRIBUTE, "Record", "hidden", note="names decide what is hidden", clues=("gateway_async",)),
    *(
        NameChange(NameKind.ATTRIBUTE, owner, "status", "status_code", _STATUS, clues)
        for owner, clues in (
            ("Reply", ("Reply", "gateway.request", "client.request")),
            ("AttemptEnded", ()),
            ("AttemptFailed", ()),
            ("CallEnded", ()),
            ("ReceiverResponse", ("ReceiverResponse", "receiver.receive")),
            ("LoggedRequest", ("LoggedRequest", "on_request")),
        )
    ),
    NameChange(NameKind.ATTRIBUTE, "AttemptFailed", "verdict", "next_step", "a `NextStep`, which equals its text"),
    NameChange(NameKind.VALUE, "OutcomeLookedUp.outcome", "not there", "not found", clues=("OutcomeLookedUp",)),
    NameChange(NameKind.MESSAGE, "gateway_async.calls", "looked up: not there", "looked up: not found"),
    NameChange(
        NameKind.VALUE, "TerminalState.LOOKING_UP", "looking it up", "looking up", clues=("state", "TerminalState")
    ),
    NameChange(NameKind.ATTRIBUTE, "Readiness", "open_intents", "open_intent_count", clues=("Readiness", "check")),
    NameChange(NameKind.ARGUMENT, "transactions.increment", "amount", "new_total"),
    NameChange(NameKind.ARGUMENT, "transactions.tip_adjust", "amount", "new_total"),
    *_keyword_only("quick_invoices.resend", 1, "email", "sms"),
    *(
        NameChange(
            NameKind.ARGUMENT, "QuickInvoiceUpdate", field, note="the gateway refuses it; `extra` still sends it"
        )
        for field in _UPDATE_FIELDS
    ),
    NameChange(NameKind.NAME, "gateway_async.postbacks", "Reconciled", "CatchUpResult"),
    NameChange(NameKind.METHOD, "PostbackReceiver", "reconcile", "catch_up", "not `gateway.reconcile`, which is new"),
    NameChange(NameKind.ATTRIBUTE, "Postback", "reconciled", "caught_up", clues=("postback", "Postback")),
    *_keyword_only("PostbackReceiver.work", 0, "until_empty", clues=("PostbackReceiver",)),
    NameChange(NameKind.ARGUMENT, "PostgresInbox", "database", "dsn"),
    NameChange(NameKind.ATTRIBUTE, "Claim", "token", "lock_token", "in an inbox of your own"),
    NameChange(NameKind.ATTRIBUTE, "Report", "waiting", "waits_for", clues=("Report", "migrate_vaults")),
    *_keyword_only("Sandbox", 3, *_SANDBOX_OPTIONS),
    NameChange(
        NameKind.VALUE, "sandbox.fault", "double_answer", "duplicate_response", "the old name still works", ("fault",)
    ),
    NameChange(
        NameKind.VALUE, "sandbox.fault", "swap_answer", "wrong_response", "the old name still works", ("fault",)
    ),
    NameChange(NameKind.OPTION, "check", "--table", "--ledger-table, --inbox-table"),
    NameChange(NameKind.OPTION, "create", "--json", "--data", "`--json` prints the record on one line"),
    NameChange(NameKind.OPTION, "update", "--json", "--data", "`--json` prints the record on one line"),
)
"""Every name that programs for 0.2 may use and that 0.3 spells differently or lacks. The upgrade page prints it."""

_SUFFIXES: Final = frozenset(
    (".cfg", ".conf", ".env", ".ini", ".json", ".md", ".rst", ".service", ".sh", ".toml", ".txt", ".yaml", ".yml", "")
)
_SKIPPED: Final = frozenset(("__pycache__", "node_modules", "site-packages", "venv"))


@attrs.frozen(order=True)
class OldName:
    """A place in a program that needs a look; `text` says what to write there."""

    line: int
    text: str


def _found(change: NameChange, line: int, old: str = "") -> OldName:
    return OldName(line, _say(_spelled(change, old or change.old), change.new, change.note))


def _say(old: str, new: str, note: str) -> str:
    text = f"{old} → {new}" if new else f"{old} is gone"
    return f"{text} ({note})" if note else text


def _spelled(change: NameChange, old: str) -> str:
    """A former name as a program spells it."""
    match change.kind:
        case NameKind.ARGUMENT:
            return f"{change.owner}({old}=…)"
        case NameKind.POSITIONAL:
            return f"{change.owner}(…, {old})"
        case NameKind.VALUE:
            return f'"{old}" of {change.owner}'
        case NameKind.OPTION:
            return f"gateway-async {change.owner} {old}"
        case NameKind.MESSAGE:
            return f"{old}"
        case _:
            return f"{change.owner}.{old}"


def find_in_python(source: str) -> list[OldName]:
    """Find what a Python program uses of 0.2.

    Types are not known, so an attribute counts if the file also names its class or function.

    Raises:
        SyntaxError: the text is not Python.
    """
    nodes = [*ast.walk(ast.parse(source))]
    called = frozenset(id(node.func) for node in nodes if isinstance(node, ast.Call))
    findings = set()
    for node in nodes:
        findings |= {
            *_in_imports(node),
            *_in_names(node, source, is_called=id(node) in called),
            *_in_calls(node, source),
        }
        findings |= {*_in_literals(node, source)}
    return sorted(findings)


def _in_imports(node: ast.AST) -> Iterator[OldName]:
    match node:
        case ast.ImportFrom(module=str(module), names=aliases, level=0):
            yield from _in_module(module, node.lineno)
            if _is_ours(module):
                imported = {alias.name for alias in aliases}
                yield from (
                    _found(one, node.lineno) for one in CHANGES if one.kind is NameKind.NAME and one.old in imported
                )
        case ast.Import(names=aliases):
            for alias in aliases:
                yield from _in_module(alias.name, node.lineno)
        case _:
            pass


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "gateway_async"


def _in_module(module: str, line: int) -> Iterator[OldName]:
    """Yield a finding for a module that this version lacks; it names the nearest package that exists."""
    package = module
    while _is_ours(package) and not _exists(package):
        package = package.rpartition(".")[0]
    if package != module:
        yield OldName(line, _say(module, package, "import the names from the package"))


def _exists(module: str) -> bool:
    path = Path(__file__).parent.joinpath(*module.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def _in_names(node: ast.AST, source: str, *, is_called: bool) -> Iterator[OldName]:
    match node:
        case ast.Attribute(attr=name, value=owner):
            kinds = {NameKind.METHOD} if is_called else {NameKind.METHOD, NameKind.ATTRIBUTE}
            if _last(owner) != "gateway":  # `gateway.reconcile` is a method of 0.3
                yield from _attribute(name, node.lineno, source, kinds)
            yield from (
                _found(one, node.lineno)
                for one in CHANGES
                if one.kind is NameKind.NAME and one.old == name and "gateway_async" in source
            )
        case ast.MatchClass(cls=matched, kwd_attrs=names):
            for name in names:
                yield from _attribute(name, node.lineno, _last(matched), {NameKind.ATTRIBUTE})
        case _:
            pass


def _attribute(name: str, line: int, source: str, kinds: set[NameKind]) -> Iterator[OldName]:
    """Yield one finding for an attribute; several classes with the same new name share it."""
    changes = [one for one in CHANGES if one.kind in kinds and one.old == name and one.may_be_in(source)]
    if changes:
        old = " or ".join(f"{change.owner}.{name}" for change in changes)
        yield OldName(line, _say(old, changes[0].new, changes[0].note))


def _last(expression: ast.expr) -> str:
    """The last name of `a.b.c`, or ""."""
    match expression:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _in_calls(node: ast.AST, source: str) -> Iterator[OldName]:
    if not isinstance(node, ast.Call):
        return
    name = _last(node.func)
    keywords = {keyword.arg for keyword in node.keywords}
    for change in CHANGES:
        is_positional = change.kind is NameKind.POSITIONAL and len(node.args) > change.position
        is_keyword = change.kind in (NameKind.ARGUMENT, NameKind.ATTRIBUTE) and change.old in keywords
        is_method = "." not in change.owner or isinstance(node.func, ast.Attribute)
        is_owner = change.owner.rpartition(".")[2] == name and change.may_be_in(source)
        if is_owner and is_method and (is_positional or is_keyword):
            yield _found(change, node.lineno)


def _in_literals(node: ast.AST, source: str) -> Iterator[OldName]:
    match node:
        case ast.Constant(value=str(text)):
            values = (
                one for one in CHANGES if one.kind is NameKind.VALUE and one.old == text and one.may_be_in(source)
            )
            yield from (_found(one, node.lineno) for one in values)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield from _in_command(" ".join(texts), node.lineno)
        case _:
            pass


def find_in_text(text: str) -> list[OldName]:
    """Find commands with options of 0.2, and log messages, in a script, a settings file or a document."""
    findings = set()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if "gateway-async" in line:
            findings |= {*_in_command(_whole_command(lines, number), number)}
        for change in CHANGES:
            if change.kind is NameKind.MESSAGE and change.old in line:
                findings.add(_found(change, number))
    return sorted(findings)


def _whole_command(lines: Sequence[str], number: int) -> str:
    r"""Join a command with the lines that continue it: after "\", or as the items of a YAML list."""
    command = lines[number - 1]
    for following in lines[number:]:
        if not command.rstrip().endswith("\\") and not following.lstrip().startswith("- "):
            break
        command = f"{command.rstrip().removesuffix(chr(92))} {following.strip().removeprefix('- ')}"
    return command.partition("gateway-async")[1] + command.partition("gateway-async")[2]


def _in_command(command: str, line: int) -> Iterator[OldName]:
    words = re.sub(r"""["',\[\]]""", " ", command).split()
    if not words or words[0] != "gateway-async":
        return
    options = {word.partition("=")[0] for word in words}
    for change in CHANGES:
        if change.kind is NameKind.OPTION and words[1:2] == [change.owner] and change.old in options:
            yield _found(change, line)


def find_in_file(path: Path) -> list[OldName]:
    """Find what a file uses of 0.2; a file that is not text is skipped, and one that cannot be searched is named."""
    is_python = path.suffix == ".py"
    try:
        if not is_python:
            return find_in_text(path.read_text(encoding="utf-8"))
        with tokenize.open(path) as file:  # in the encoding that the program declares
            return find_in_python(file.read())
    except UnicodeDecodeError:
        return [OldName(1, "not searched: not in its encoding")] if is_python else []
    except SyntaxError as error:
        return [OldName(error.lineno or 1, f"not searched: {error.msg}")]
    except RecursionError:
        return [OldName(1, "not searched: too deeply nested")]
    except (OSError, ValueError) as error:
        return [OldName(1, f"not searched: {getattr(error, 'strerror', None) or error}")]


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to search; folders that begin with a dot or hold other people's code are left out."""
    for path in paths:
        if path.is_dir():
            inner = (one for one in sorted(path.iterdir()) if one.name not in _SKIPPED and not _is_hidden(one))
            yield from _files(one for one in inner if not (one.is_symlink() and one.is_dir()))  # it may be a loop
        elif path.suffix in {*_SUFFIXES, ".py"} and path.is_file():
            yield path


def _is_hidden(path: Path) -> bool:
    return path.is_dir() and path.name.startswith(".") and path.name not in {".github", ".ci"}


def table() -> str:
    """The changes as a table in Markdown; arguments of one function that change alike share a row."""
    rows = ["| 0.2 | 0.3 | note |", "|---|---|---|"]
    for _, alike in groupby(
        CHANGES, lambda change: (change.kind, change.owner, change.kind is NameKind.POSITIONAL or change.new)
    ):
        changes = [*alike]
        first = changes[0]
        separator = "=…, " if first.kind is NameKind.ARGUMENT else ", "
        old = _spelled(first, separator.join(change.old for change in changes))
        new = ", ".join(f"`{change.new}`" for change in changes) if first.new else "–"
        rows.append(f"| `{old}` | {new} | {first.note} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search files and folders; return 1 if something was found, and 2 if a path does not exist."""
    parser = argparse.ArgumentParser(prog="python -m gateway_async.upgrade", description=__doc__)
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="files and folders to search")
    parser.add_argument("--table", action="store_true", help="print every change as a table, and end")
    options = parser.parse_args(arguments)
    if options.table:
        sys.stdout.write(f"{table()}\n")
        return 0
    if not options.paths:
        parser.error("PATH: missing (expected files or folders)")
    if missing := [str(path) for path in options.paths if not path.exists()]:
        parser.error(f"{', '.join(missing)}: not found")
    found = 0
    for path in _files(options.paths):
        for finding in find_in_file(path):
            found += 1
            sys.stdout.write(f"{path}:{finding.line}: {finding.text}\n")
    sys.stderr.write(f"{found} found\n" if found else "nothing found\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
