"""The public names exist, and type checkers see the same ones."""

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import gateway_async
import gateway_async.crash_testing
import gateway_async.hosted_forms
import gateway_async.migration
import gateway_async.observe
import gateway_async.postbacks
import gateway_async.sandbox
import gateway_async.telemetry
import gateway_async.testing
from gateway_async import AsyncGateway, DuplicateError, OutcomeUnknownError, Pages, UntypedResource, UserApiKey
from gateway_async.postbacks import PostbackReceiver
from gateway_async.resources import RESOURCES
from gateway_async.sandbox import Sandbox

from .source import NOUNS, PACKAGE, TESTS, modules, name_of, tree

PACKAGES: Final = (
    gateway_async,
    gateway_async.crash_testing,
    gateway_async.hosted_forms,
    gateway_async.migration,
    gateway_async.observe,
    gateway_async.postbacks,
    gateway_async.sandbox,
    gateway_async.telemetry,
    gateway_async.testing,
)
"""The modules that users import from."""


def is_public(path: Path) -> bool:
    """Return whether users import from a module: packages and root modules without an underscore."""
    *folders, name = path.parts
    is_importable = name == "__init__.py" or not (folders or name.startswith("_"))
    return is_importable and not any(folder.startswith("_") for folder in folders)


def defined(path: Path) -> set[str]:
    """Return the public functions and classes that a module defines."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree(path).body if isinstance(node, kinds) and not node.name.startswith("_")}


def test_all() -> None:
    """`__all__` lists every public function and class of a module that users import from, sorted; others have none."""
    for path in modules():
        if not is_public(path):
            assert "\n__all__ =" not in (PACKAGE / path).read_text(), path
            continue
        module = importlib.import_module(name_of(path))
        names = list(getattr(module, "__all__", ()))
        assert defined(path) - set(names) == set(), path
        assert [name for name in names if not hasattr(module, name)] == [], path
        assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name)), path


PUBLIC = [
    "AsyncGateway", "UserApiKey", "PasswordLogin", "AccessToken", "HashKey", "BearerToken", "Token", "ApiId",
    "TimeRange", "Pages", "Page", "UNSET", "CardVaultCreate", "AchVaultCreate", "TicketVaultCreate",
    "TransactionVaultCreate", "VaultCopyCreate", "AccountVaultUpdate", "RouterAccountVaultCreate",
    "RouterTransactionCreate", "TransactionCreate", "TransactionUpdate", "ContactCreate", "ContactUpdate",
    "AccountVault", "BinInfo", "Contact", "Transaction", "GatewayError", "InvalidFieldsError", "InvalidRequestError",
    "StatusError",
    "BadRequestError", "AuthenticationError", "PermissionDeniedError", "NotFoundError", "MethodNotAllowedError",
    "RecordDeletedError", "ValidationError", "RateLimitError", "ServerError", "NotSentError", "DeadlineExceededError",
    "OutcomeUnknownError", "MalformedReplyError", "MismatchedReplyError", "DeclinedError", "TerminalBusyError",
    "RedisTerminalLease", "SqliteLedger", "Recovered", "QuickInvoice", "QuickInvoiceCreate", "QuickInvoiceUpdate",
    "Attachment", "Paylink", "PaylinkCreate", "PaylinkUpdate", "TransactionBatch", "PostbackConfig",
    "PostbackConfigCreate", "PostbackConfigUpdate", "ProductFile", "ProductFileCreate",
    "Recurring", "RecurringCreate", "RecurringUpdate", "Tag", "TagCreate", "TagUpdate", "Note", "NoteCreate",
    "NoteUpdate", "Location", "LocationInfo", "ProductTransaction", "User", "Terminal", "CircuitBreaker",
    "CircuitState", "PostgresLedger", "Record", "Request", "Unset",
]  # fmt: skip


def test_the_public_names_exist() -> None:
    assert [name for name in PUBLIC if name not in gateway_async.__all__ or not hasattr(gateway_async, name)] == []


def test_every_public_error_and_model_can_be_imported() -> None:
    nouns = (Path(*noun.__name__.split(".")[1:]).with_suffix(".py") for noun in NOUNS)
    offered = {name for path in (Path("errors.py"), Path("models/codes.py"), *nouns) for name in defined(path)}
    assert offered - set(gateway_async.__all__) == set()


def asserted_verbs() -> set[tuple[str, str]]:
    """Return the resources and verbs of the calls in `tests/typing/api.py` whose type is asserted."""
    found: set[tuple[str, str]] = set()
    for function in ast.parse((TESTS / "typing/api.py").read_text(encoding="utf-8")).body:
        aliases: dict[str, str] = {}  # such as `invoices = gateway.quick_invoices`
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Attribute(attr=resource)):
                    aliases[alias] = resource
                case ast.Call(func=ast.Name(id="assert_type"), args=[ast.Await(value=call) | call, _]):
                    match call:
                        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=resource), attr=verb)):
                            found.add((resource, verb))
                        case ast.Call(func=ast.Attribute(value=ast.Name(id=alias), attr=verb)):
                            found.add((aliases.get(alias, ""), verb))
    return found


@pytest.mark.asyncio
async def test_verbs() -> None:
    """`tests/typing/api.py` asserts the type of each verb's result, and so lists the verbs of every resource."""
    async with AsyncGateway("https://gateway.test", developer_id="dev", credentials=UserApiKey("u", "k")) as gateway:
        resources = {name: getattr(gateway, name) for name in RESOURCES}
        found = {
            (name, verb)
            for name, resource in resources.items()
            for verb in dir(resource)
            if verb[0] != "_" and callable(getattr(resource, verb))
        }
    assert found == {(name, verb) for name, verb in asserted_verbs() if name in RESOURCES}


CALLED: Final = (AsyncGateway, Pages, UntypedResource, PostbackReceiver, Sandbox, DuplicateError, OutcomeUnknownError)
"""Further classes whose methods users call."""


def methods(owner: type[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a class that this package defines."""
    for name, method in inspect.getmembers(owner, lambda each: inspect.isfunction(each) or inspect.ismethod(each)):
        if method.__module__.startswith("gateway_async"):
            yield name, method


@pytest.mark.parametrize("owner", CALLED)
def test_methods(owner: type[Any]) -> None:
    """`tests/typing/api.py` asserts the type of each method's result, or uses it as a decorator."""
    found = {
        call.func.attr
        for node in ast.walk(ast.parse((TESTS / "typing/api.py").read_text(encoding="utf-8")))
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if (isinstance(node, ast.Call) and ast.unparse(node.func) == "assert_type")
        or (isinstance(node, ast.AsyncFunctionDef) and call in node.decorator_list)
    }
    own = {name for name, _ in methods(owner) if not name.startswith("_")}
    assert own - found - {"read_with"} == set()  # which the client calls


def public_signatures() -> Iterator[tuple[str, inspect.Signature]]:
    """Yield the public functions, constructors and methods, with their signatures."""
    resources = [getattr(AsyncGateway, name) for name in RESOURCES]
    for value in (*resources, *(getattr(package, name) for package in PACKAGES for name in package.__all__)):
        if not callable(value) or not str(value.__module__).startswith("gateway_async"):
            continue
        for name, function in methods(value) if inspect.isclass(value) else [("", value)]:
            if not name.startswith("_") or name == "__init__":
                yield f"{value.__name__}.{name}", inspect.signature(function)


def test_flags() -> None:
    """Flags are passed by keyword: `resend(id, True, False)` would not say what is true."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    flags = {
        f"{name}({parameter.name})"
        for name, signature in public_signatures()
        for parameter in signature.parameters.values()
        if parameter.kind in positional
        and (isinstance(parameter.default, bool) or parameter.annotation in (bool, bool | None, "bool"))
    }
    assert flags == set()


def states_its_behavior(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether a test has either a name that is a sentence, or a short name and a docstring of one sentence."""
    words = test.name.removeprefix("test_").count("_") + 1
    docstring = ast.get_docstring(test, clean=False)
    if docstring is None:
        return words >= 4
    return words <= 3 and "\n" not in docstring and docstring.endswith((".", "?", "!"))


def test_names_of_tests() -> None:
    """A test states its behavior once, in its name or in its docstring."""
    wrong = [
        f"{path.relative_to(TESTS)}::{node.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not states_its_behavior(node)
    ]
    assert wrong == []
