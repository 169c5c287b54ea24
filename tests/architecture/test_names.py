"""Folders have a dozen files, a name has one meaning, and functions are named by verbs."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from .source import modules, name_of, tree
from .test_public_names import PACKAGES

MOST_FILES = 13
"""The limit for one folder, without its `__init__.py` and `__main__.py`."""

BY_NOUN = {"_wire", "models", "resources", "cli", "cli/migrate", "sandbox/handlers"}
"""Folders with one file for each noun, command or kind of data, where more files are not harder to learn."""

SAME_MEANING = {
    "a record of the contract: the client's spec and the sandbox's table, which know nothing of each other": """
        ACCOUNT_VAULT CONTACT LOCATION LOCATION_INFO NOTE PAYLINK POSTBACK_CONFIG PRODUCT_FILE QUICK_INVOICE RECURRING
        ROUTER_ACCOUNT_VAULT ROUTER_TRANSACTION TAG TERMINAL TRANSACTION TRANSACTION_BATCH USER
    """,
    "codes of the contract, which the sandbox lists for itself": """
        DeliveryMethod EntryMode PaymentStatus ReasonCode TransactionSource TransactionType
    """,
    "the text of a field; how long it may be differs between records": """
        City Custom CustomerId Description Email Locale Phone State Street Text Title Zip
    """,
}
"""Names that are defined more than once on purpose, by the one meaning that they have."""

SAME_ATTRIBUTE = {
    "an exception, or its text where it is stored": "error",
    "the state of the object": "state",
    "the outcome of a write; a store has its text": "outcome",
    "the fields of a request or form, by name": "fields",
    "what is wrong, with the rows concerned in a plan": "problems",
    "why rows were not stored; a verification counts them": "reasons",
    "a secret of the caller; the sandbox shows its own": "password user_api_key user_hash_key",
    "where credentials are sent; Basic is for keys only": "send_in",
    "the gateway: its address, or the payments that it has": "gateway",
    "which one of several: a type of values, or of differences": "kind",
}
"""Attributes with several types, by the one meaning that they have."""

TYPE_VARIABLE = "[A-Z]"

IRREGULAR = "begun done found given gone held kept known left made met read_back sent shown taken told written"
PARTICIPLE = re.compile(rf"_*(?:{IRREGULAR.replace(' ', '|')}|(?!(?:exce|fe|ne|proce|se)ed)[a-z]+ed)(?:_\w+)?")
"""Names whose first word is a past participle."""


def test_a_folder_has_a_dozen_files() -> None:
    files = Counter(path.parent for path in modules() if path.name not in ("__init__.py", "__main__.py"))
    assert {folder for folder, count in files.items() if count > MOST_FILES} <= {Path(name) for name in BY_NOUN}


def definitions() -> Iterator[tuple[str, str, ast.stmt]]:
    """Yield the public names that each module defines for others, with the module's name."""
    for path in modules():
        for node in tree(path).body:
            match node:
                case (
                    ast.ClassDef(name=name)
                    | ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    if not name.startswith("_") and not re.fullmatch(TYPE_VARIABLE, name):
                        yield name, name_of(path), node


def imported_by_name() -> set[tuple[str, str]]:
    """Return the names that modules import from others, each with the module that it is imported from."""
    return {
        (alias.name, str(node.module))
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def is_function(node: ast.AST) -> bool:
    """Return whether a syntax node defines a function."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def names_defined_twice() -> Mapping[str, set[str]]:
    """Return the names that several modules define, each with these modules.

    A function that no module imports by its name is told apart by its module, as in `notes.create`.
    """
    imported = imported_by_name()
    found: dict[str, set[str]] = defaultdict(set)
    for name, module, node in definitions():
        if not (is_function(node) or name.islower()) or (name, module) in imported:
            found[name].add(module)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_names() -> None:
    """A class, constant or function is defined once, unless all its definitions mean the same."""
    check_meanings(names_defined_twice(), SAME_MEANING)


def test_attributes() -> None:
    """An attribute of the classes that users see has one type."""
    public = {name for package in PACKAGES for name in package.__all__}
    found: dict[str, set[str]] = defaultdict(set)
    for node in (node for path in modules() if path.parts[0] != "models" for node in tree(path).body):
        if isinstance(node, ast.ClassDef) and node.name in public:
            for name, kind in attributes(node):
                found[name].add(kind)
    check_meanings(found, SAME_ATTRIBUTE)


def attributes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the public attributes of a class with their types, without `None`."""
    for child in node.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.expr() as kind):
                pass
            case ast.FunctionDef(name=name, returns=ast.expr() as kind, decorator_list=[ast.Name(id="property")]):
                pass
            case _:
                continue
        if not name.startswith("_"):
            yield name, ast.unparse(kind).strip("'").removesuffix(" | None")


def check_meanings(found: Mapping[str, set[str]], excused: Mapping[str, str]) -> None:
    """Check that only excused names have several definitions, and that every excuse is needed."""
    several = {name: sorted(definitions) for name, definitions in found.items() if len(definitions) > 1}
    names = {name for names in excused.values() for name in names.split()}
    assert {name: several[name] for name in several.keys() - names} == {}
    assert names - several.keys() == set()


def test_no_async_function_is_named_by_a_participle() -> None:
    found = {
        f"{name_of(path)}.{node.name}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.AsyncFunctionDef) and PARTICIPLE.fullmatch(node.name)
    }
    assert found == set()
