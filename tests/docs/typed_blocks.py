"""The programs of the documents as modules for type checkers, each at its own line numbers.

A program is a module. A piece, which uses `await` or given names, is the body of an async function whose parameters are
these names. A piece that uses a name of an earlier block on its page continues that block.
"""

import builtins
import inspect
import symtable
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Final

import attrs

from .documents import Block, compile_async

GIVEN: Final = {
    "gateway": "_sdk.AsyncGateway",
    "card": "_sdk.AccountVault",
    "contact_id": "str",
    "product_transaction_id": "str",
    "sandbox": "_Sandbox",
    "terminal_id": "str",
}
"""The names that pieces use without defining them, and their types. The text of their page introduces them."""

_HEADER: Final = "import gateway_async as _sdk; from gateway_async.sandbox import Sandbox as _Sandbox"
_DEFINED: Final = frozenset({*dir(builtins), "__name__"})


@attrs.frozen
class _Names:
    """The names that a block binds at its top level, and those that it uses without binding them."""

    bound: frozenset[str]
    missing: frozenset[str]


def module_of(block: Block, earlier: Sequence[Block]) -> str:
    """Return the module that checks a block, given the earlier blocks of its page."""
    parts = [*_continued(block, earlier), block]
    given = sorted({name for part in parts for name in given_names(part)})
    if not given and not any(_awaits(part) for part in parts):
        return _at_their_lines(parts)
    parameters = ", ".join(f"{name}: {GIVEN[name]}" for name in given)
    lines = _at_their_lines([attrs.evolve(part, text=indent(part.text, "    ")) for part in parts]).splitlines()
    lines[0] = _HEADER
    lines[parts[0].line - 2] = f"async def example({parameters}) -> None:"  # where the fence is
    return "\n".join(lines) + "\n"


def given_names(block: Block) -> frozenset[str]:
    """Return the given names that a block uses."""
    return _names(block).missing & GIVEN.keys()


def _continued(block: Block, earlier: Sequence[Block]) -> Iterator[Block]:
    """Yield the earlier blocks that a block continues, in order."""
    missing = _names(block).missing - GIVEN.keys()
    for index in range(len(earlier) - 1, -1, -1):
        if missing & _names(earlier[index]).bound:
            yield from _continued(earlier[index], earlier[:index])
            yield earlier[index]
            return


def _at_their_lines(parts: Sequence[Block]) -> str:
    lines: list[str] = []
    for part in parts:
        lines += [""] * (part.line - 1 - len(lines)) + part.text.splitlines()
    return "\n".join(lines) + "\n"


def _awaits(block: Block) -> bool:
    """Return whether a block has an `await` outside of its functions."""
    return bool(compile_async(block.text, str(block)).co_flags & inspect.CO_COROUTINE)


def _names(block: Block) -> _Names:
    function = f"async def example():\n{indent(block.text, '    ')}"
    module = symtable.symtable(function, str(block), "exec")
    (table,) = (each for each in module.get_children() if each.get_type() == "function")  # 3.14 adds annotations
    bound = frozenset(symbol.get_name() for symbol in table.get_symbols() if symbol.is_local())
    return _Names(bound, frozenset(_globals(table)) - bound - _DEFINED)


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that a scope and those inside it do not bind."""
    for symbol in table.get_symbols():
        if symbol.is_global():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _globals(inner)
