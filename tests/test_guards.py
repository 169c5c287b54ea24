"""The rules of the architecture, as tests: what may import what, what is pure, what is public, what is never shown."""

import ast
import graphlib
import importlib
import logging
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import attrs
import httpx
import pytest

import gateway_async
import gateway_async.postbacks
from gateway_async import AsyncGateway, GatewayError, UserApiKey
from gateway_async._secrets import Secret
from gateway_async._wire.limits import problems
from gateway_async.models import (
    account_vaults,
    contacts,
    files,
    paylinks,
    postback_configs,
    quick_invoices,
    transaction_batches,
    transactions,
)
from gateway_async.models.record import Record
from gateway_async.models.request import Request

TESTS = Path(__file__).parent
PACKAGE = Path(gateway_async.__file__).parent

NOUNS = (
    account_vaults,
    contacts,
    files,
    paylinks,
    postback_configs,
    quick_invoices,
    transaction_batches,
    transactions,
)

LAYERS = (
    "_secrets",
    "errors",
    "models",
    "credentials",
    "observe",
    "_redis",
    "leases",
    "_scribe",
    "_sqlite_file",
    "_postgres",
    "ledger",
    "_ledger_file",
    "sqlite_ledger",
    "_wire",
    "_net",
    "resources",
    "postbacks",
    "client",
    "migration",
    "__init__",
    "sandbox",
    "crashing",
    "testing",
    "cli",
)
"""Each imports only from those before it, and from itself."""

ROOMS = (
    "tables",
    "states",
    "http",
    "simulators",
    "instance",
    "notices",
    "requests",
    "nouns",
    "postbacks",
    "operations",
    "control",
    "app",
    "sandbox",
    "foreground",
    "printed",
    "__init__",
)
"""The same within the sandbox, whose folders are its rooms."""

IMPURE = {"time", "random", "secrets", "uuid", "os", "socket", "ssl", "asyncio", "threading", "anyio", "trio", "httpx"}
HTTPX_MAY_STAND_IN = re.compile(r"_net/\w+\.py|client\.py|testing\.py|sandbox/(sandbox|http/couriers)\.py")
TENACITY_MAY_STAND_IN = re.compile(r"_net/sender\.py")


# --- reading the source


def modules() -> list[Path]:
    """Every module of the package, as a path within it."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """A module's dotted name."""
    return ".".join(("gateway_async", *path.with_suffix("").parts)).removesuffix(".__init__")


@cache
def tree(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse((PACKAGE / path).read_text())


def imported(node: ast.AST) -> Iterator[str]:
    """The dotted names of all modules imported anywhere below `node`."""
    known = {name_of(path) for path in modules()}
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                below = f"{child.module}.{alias.name}"
                yield below if below in known else str(child.module)


def layer(module: str) -> str:
    """The line of the drawing that a module of the package stands in."""
    return [*module.split("."), "__init__"][1]


def room(module: str) -> str:
    """The room that a module of the sandbox stands in."""
    return [*module.split("."), "__init__"][2]


def ids(path: Path) -> str:
    """A test's name for a module."""
    return path.as_posix()


# --- what imports what


def test_every_module_has_its_layer() -> None:
    """Whatever is new in the package has its place in the order."""
    assert {layer(name_of(path)) for path in modules()} <= set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_imports_point_down(path: Path) -> None:
    """A module imports only from its own layer and those before it."""
    own = layer(name_of(path))
    ours = {module for module in imported(tree(path)) if module.split(".")[0] == "gateway_async"}
    if own == "sandbox":  # the one way up has a test of its own
        ours = {module for module in ours if layer(module) != "__init__"}
    above = {module for module in ours if LAYERS.index(layer(module)) > LAYERS.index(own)}
    assert above == set()


def test_no_module_imports_itself_by_detours() -> None:
    """There is an order in which every module of the client comes after all that it imports."""
    graph = {
        name_of(path): {module for module in imported(tree(path)) if module.startswith("gateway_async.")}
        for path in modules()
        if layer(name_of(path)) not in ("sandbox", "cli")
    }
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("gateway_async.errors") < order.index("gateway_async.client")


def test_every_module_of_the_sandbox_has_its_room() -> None:
    """Each room has its place in the order, and each place its room."""
    assert {room(name_of(path)) for path in modules() if path.parts[0] == "sandbox"} == set(ROOMS)


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "sandbox"], ids=ids)
def test_the_rooms_of_the_sandbox_build_on_one_another(path: Path) -> None:
    """A module of the sandbox imports only from its own room and those before it, for types too."""
    own = room(name_of(path))
    ours = {module for module in imported(tree(path)) if module.startswith("gateway_async.sandbox")}
    above = {module for module in ours if ROOMS.index(room(module)) > ROOMS.index(own)}
    assert above == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "_wire"], ids=ids)
def test_what_goes_over_the_line_is_pure(path: Path) -> None:
    """`_wire` has no I/O, no clock, no chance and no await."""
    assert {module.split(".")[0] for module in imported(tree(path))} & IMPURE == set()
    waiting = ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await
    assert [node.lineno for node in ast.walk(tree(path)) if isinstance(node, waiting)] == []
    text = (PACKAGE / path).read_text()
    assert re.findall(r"\b(?:now|today|open|print|input)\(", text) == []


@pytest.mark.parametrize(
    ("library", "places"),
    [("httpx", HTTPX_MAY_STAND_IN), ("httpcore", HTTPX_MAY_STAND_IN), ("tenacity", TENACITY_MAY_STAND_IN)],
)
def test_a_library_stands_behind_its_files(library: str, places: re.Pattern[str]) -> None:
    """The HTTP library is imported by `_net`, the client and the sandbox's couriers, tenacity by the sender alone."""
    users = {path.as_posix() for path in modules() if any(m.split(".")[0] == library for m in imported(tree(path)))}
    assert {path for path in users if not places.fullmatch(path)} == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "sandbox"], ids=ids)
def test_the_sandbox_stands_alone(path: Path) -> None:
    """It imports nothing of the client, but for handing one out in `Sandbox.gateway`, and for the type of that."""
    handed_out = {
        child
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "gateway")
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for child in ast.walk(node)
    }
    elsewhere = ast.Module([node for node in ast.walk(tree(path)) if node not in handed_out], [])
    statements = [node for node in elsewhere.body if isinstance(node, ast.Import | ast.ImportFrom)]
    used = {module for statement in statements for module in imported(statement)}
    assert {module for module in used if module.startswith("gateway_async") and layer(module) != "sandbox"} == set()


# --- what is public


def is_library(path: Path) -> bool:
    """Whether a module is there to be imported from; inside the sandbox and the command only the packages are."""
    return path.name == "__init__.py" or path.parts[0] not in ("sandbox", "cli")


def defined(path: Path) -> set[str]:
    """The public functions and classes that a module defines."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree(path).body if isinstance(node, kinds) and not node.name.startswith("_")}


@pytest.mark.parametrize("path", [path for path in modules() if is_library(path)], ids=ids)
def test_all_names_all(path: Path) -> None:
    """`__all__` has every public function and class of its module, in order, and nothing that is not there."""
    module = importlib.import_module(name_of(path))
    names = list(getattr(module, "__all__", ()))
    assert defined(path) - set(names) == set()
    assert [name for name in names if not hasattr(module, name)] == []
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


PUBLIC = [
    "AsyncGateway", "UserApiKey", "PasswordLogin", "AccessToken", "HashKey", "BearerToken", "Token", "ApiId",
    "TimeRange", "Pages", "Page", "UNSET", "CardVaultCreate", "AchVaultCreate", "TicketVaultCreate",
    "TransactionVaultCreate", "VaultCopyCreate", "AccountVaultUpdate", "RouterAccountVaultCreate",
    "RouterTransactionCreate", "TransactionCreate", "TransactionUpdate", "ContactCreate", "ContactUpdate",
    "AccountVault", "BinInfo", "Contact", "Transaction", "GatewayError", "InvalidRequestError", "StatusError",
    "BadRequestError", "AuthenticationError", "PermissionDeniedError", "NotFoundError", "MethodNotAllowedError",
    "RecordDeletedError", "ValidationError", "RateLimitError", "ServerError", "NotSentError", "DeadlineExceededError",
    "OutcomeUnknownError", "MalformedReplyError", "MismatchedReplyError", "DeclinedError", "TerminalBusyError",
    "RedisTerminalLease", "SqliteLedger", "Recovered", "QuickInvoice", "QuickInvoiceCreate", "QuickInvoiceUpdate",
    "Attachment", "Paylink", "PaylinkCreate", "PaylinkUpdate", "TransactionBatch", "PostbackConfig",
    "PostbackConfigCreate", "PostbackConfigUpdate", "ProductFile", "ProductFileCreate",
]  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_exist(name: str) -> None:
    """What users are told to import can be imported from the package."""
    assert name in gateway_async.__all__
    assert getattr(gateway_async, name) is not None


def test_the_index_is_complete() -> None:
    """Every error and every model that a user meets stands in the index of the package."""
    offered = {
        name
        for module in ("errors", "models.codes", *(noun.__name__.removeprefix("gateway_async.") for noun in NOUNS))
        for name in importlib.import_module(f"gateway_async.{module}").__all__
    }
    assert offered - set(gateway_async.__all__) == {"VaultCreate", "OpenInt", "OpenStr"}


def test_type_checkers_see_the_same_index() -> None:
    """The names that type checkers are told of are those that can be imported, from the same places."""
    told = {
        alias.name: node.module
        for node in ast.walk(tree(Path("__init__.py")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gateway_async.")
        for alias in node.names
    }
    assert sorted(told) == sorted(gateway_async.__all__)
    for name, module in told.items():
        assert getattr(gateway_async, name) is getattr(importlib.import_module(str(module)), name)


VERBS = {
    "account_vaults": ["bin_info", "create", "delete", "get", "list", "update"],
    "contacts": ["create", "delete", "get", "list", "update"],
    "paylinks": ["create", "delete", "get", "list", "payment_url", "resend", "update"],
    "postback_configs": ["create", "delete", "update"],
    "product_files": ["create"],
    "quick_invoices": [
        *("add_transaction", "attach_file", "create", "delete", "get", "list", "payment_url"),
        *("remove_file", "remove_transaction", "reopen", "resend", "update"),
    ],
    "router_account_vaults": ["create"],
    "router_transactions": ["create"],
    "tokens": ["create", "delete"],
    "transaction_batches": ["get", "list", "settle"],
    "transactions": ["complete", "create", "get", "increment", "list", "update", "void"],
}


@pytest.mark.asyncio
async def test_the_verbs_exist() -> None:
    """Each resource has its verbs, and no others."""
    async with AsyncGateway("https://gateway.test", developer_id="dev", credentials=UserApiKey("u", "k")) as gateway:
        found = {
            name: sorted(verb for verb in dir(resource) if verb[0] != "_" and callable(getattr(resource, verb)))
            for name, resource in vars(gateway).items()
            if not name.startswith("_")
        }
    assert found == VERBS


# --- what importing costs


def loaded_by(statement: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `statement`."""
    program = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing() -> None:
    """The bare package costs neither httpx nor any other dependency."""
    dependencies = {"anyio", "attr", "cattrs", "httpcore", "httpx", "msgspec", "tenacity"}
    assert loaded_by("import gateway_async") & dependencies == set()


@pytest.mark.parametrize(
    "name", ["NotFoundError", "ApiId", "TransactionCreate", "Transaction", "UserApiKey", "TimeRange"]
)
def test_a_value_does_not_load_the_network(name: str) -> None:
    """Errors, models and credentials can be used without httpx and without the converter."""
    network = {"httpx", "httpcore", "httptools", "anyio", "tenacity", "cattrs", "msgspec"}
    assert loaded_by(f"from gateway_async import {name}") & network == set()


def test_the_client_does_not_load_the_sandbox() -> None:
    """A client needs the core dependencies only."""
    extras = {"starlette", "uvicorn", "typer", "pytest", "sqlite3"}
    assert loaded_by("from gateway_async import AsyncGateway") & extras == set()


@pytest.mark.parametrize("name", gateway_async.postbacks.__all__)
def test_receiving_does_not_load_the_network(name: str) -> None:
    """A receiver needs no HTTP client, no web framework and no driver of a database that it does not use."""
    network = {"aiohttp", "asyncpg", "fastapi", "httpcore", "httptools", "httpx", "starlette", "tenacity", "uvicorn"}
    assert loaded_by(f"from gateway_async.postbacks import {name}") & network == set()


def test_a_name_that_does_not_exist() -> None:
    """The lazy index answers like any module."""
    with pytest.raises(AttributeError, match="module 'gateway_async' has no attribute 'SyncGateway'"):
        gateway_async.SyncGateway  # noqa: B018  the access is the test
    assert set(gateway_async.__all__) <= set(dir(gateway_async))


# --- tests read as sentences


def all_tests() -> list[tuple[str, str | None]]:
    """Every test function and its docstring."""
    return [
        (f"{path.relative_to(TESTS)}::{node.name}", ast.get_docstring(node, clean=False))
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def test_every_test_says_its_sentence() -> None:
    """A test's docstring is one line that says the behaviour and ends like a sentence."""
    silent = [name for name, said in all_tests() if not said or "\n" in said or said[-1] not in ".?!"]
    assert silent == []


# --- nothing secret is ever shown

CARD = "4111111111111111"
PLANTED = {
    "account_number": CARD,
    "cvv": "7391",
    "track_data": ";4012888888881881=30091010000012345678?",
    "routing": "072000326",
    "ticket": "ticket-5e1d",
    "ssn4": "8264",
    "dob_year": "1971",
    "dl_number": "LICENCE-77",
    "basic_auth_password": "basic-5c0e",
}
KEY = "planted-key-82c1"


def shown_secrets(*texts: object) -> set[str]:
    """The planted values that stand in any of the texts; four digits inside another number are chance."""
    text = " ".join(map(str, texts))
    planted = (*PLANTED.values(), "4012888888881881", KEY)
    return {value for value in planted if value in text and (len(value) > 4 or re.search(rf"\b{value}\b", text))}


def kinds(parent: type[Any]) -> list[Any]:
    """The requests or the records of all nouns."""
    return [
        kind
        for module in NOUNS
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, parent) and kind is not parent
    ]


def filled(kind: Any) -> Any:
    """An object of `kind` with something planted in every field, and a card number in every other text."""
    hints = get_type_hints(kind)
    values: dict[str, Any] = {"extra": {**PLANTED, CARD: CARD}}
    for field in attrs.fields(kind):
        if field.name in PLANTED and not (field.name == "account_number" and kind.__name__.startswith("Contact")):
            values[field.name] = PLANTED[field.name]
        elif field.name != "extra":
            values[field.name] = {"deep": [{"note": f"card {CARD}"}]} if "Mapping" in str(hints[field.name]) else CARD
    return kind(**values)


@pytest.mark.parametrize("kind", [*kinds(Request), *kinds(Record)])
def test_no_model_shows_a_secret(kind: Any) -> None:
    """Whatever is planted in whichever field, neither repr nor str nor a format shows it."""
    full = filled(kind)
    assert shown_secrets(repr(full), str(full), f"{full}", [full], {"it": full}) == set()


@pytest.mark.parametrize("kind", kinds(Request))
def test_no_problem_shows_a_secret(kind: Any) -> None:
    """What is wrong with planted values is said without them."""
    assert shown_secrets(*problems(filled(kind))) == set()


def test_every_secret_field_is_planted() -> None:
    """No field that holds a secret is missing from the planted ones."""
    secret = {
        name
        for kind in kinds(Request)
        for name, hint in get_type_hints(kind).items()
        if any(isinstance(part, type) and issubclass(part, Secret) for part in (hint, *get_args(hint)))
    }
    hidden = {field.name for kind in kinds(Request) for field in attrs.fields(kind) if not field.repr}
    assert (secret | hidden) - {"extra"} == set(PLANTED)


def echo(request: httpx.Request, status: int, form: str) -> httpx.Response:
    """An answer that repeats everything the request held."""
    said = f"{request.url} {request.content.decode()}"
    bodies: dict[str, Any] = {
        "message": {"json": {"message": said}},
        "fields": {"json": {"errors": {"account_number": [said]}}},
        "unknown form": {"json": {"request": said}},
        "html": {"html": f"<html><body><p>{said}</p></body></html>"},
        "text": {"text": said},
    }
    return httpx.Response(status, **bodies[form])


def planted(*names: str) -> dict[str, str]:
    """Fields with their planted values."""
    return {name: PLANTED[name] for name in names}


SALE = {"action": "sale", "transaction_amount": Decimal("12.50"), "exp_date": "0930"}
REQUESTS: dict[str, tuple[str, Request]] = {
    "card vault": (
        "account_vaults",
        gateway_async.CardVaultCreate(exp_date="0930", **planted("account_number", "ssn4")),
    ),
    "swiped vault": ("account_vaults", gateway_async.SwipedVaultCreate(**planted("track_data", "dob_year"))),
    "sale": (
        "transactions",
        gateway_async.TransactionCreate(**SALE, **planted("account_number", "cvv", "routing", "ssn4", "dob_year")),
    ),
    "ticket": (
        "transactions",
        gateway_async.TransactionCreate(action="avsonly", description=f"card {CARD}", **planted("ticket")),
    ),
    "invoice": (
        "quick_invoices",
        gateway_async.QuickInvoiceCreate(
            title=f"card {CARD}",
            due_date=date(2026, 12, 1),
            item_list={"Tea": 1},
            dl_state="FL",
            **planted("ssn4", "dl_number"),
        ),
    ),
    "config": (
        "postback_configs",
        gateway_async.PostbackConfigCreate(
            url="https://shop.test", resource="contact", **planted("basic_auth_password")
        ),
    ),
}


@pytest.mark.parametrize("form", ["message", "fields", "unknown form", "html", "text"])
@pytest.mark.parametrize("status", [200, 400, 401, 409, 422, 500])
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.asyncio
async def test_no_error_log_or_traceback_shows_a_secret(
    request_name: str, status: int, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A gateway that repeats the whole request, in any form, gets none of it into an error, a log or a traceback."""
    resource, new = REQUESTS[request_name]
    transport = httpx.MockTransport(lambda request: echo(request, status, form))
    events: list[object] = []
    with caplog.at_level(logging.DEBUG):
        async with AsyncGateway(
            "https://gateway.test",
            developer_id="dev",
            credentials=UserApiKey("user", KEY),
            location_id="loc",
            transport=transport,
            observers=[events.append],
            max_attempts=1,
        ) as gateway:
            with pytest.raises(GatewayError) as failed:
                await getattr(gateway, resource).create(new)
    printed = "".join(traceback.format_exception(failed.value))
    assert caplog.text
    assert (
        shown_secrets(printed, repr(failed.value), failed.value.args, vars(failed.value), events, caplog.text) == set()
    )
