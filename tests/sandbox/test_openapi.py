"""The OpenAPI document, and how the sandbox handles requests that are generated from it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openapi_spec_validator
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import just
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from gateway_async.sandbox import Sandbox, SandboxInfo
from gateway_async.sandbox.controls.calls import CONTROL_CALLS
from gateway_async.sandbox.openapi.document import make_document
from gateway_async.sandbox.openapi.examples import make_document_with_examples
from gateway_async.sandbox.routes import FORMS, POSTED_UPDATES, ROUTES

from .conftest import Shop

load_all_checks()

GeneratedCase = Case[Any]

OPERATIONS = {
    operation["operationId"]: (path, method)
    for path, item in make_document()["paths"].items()
    for method, operation in item.items()
}
"""The path and the method of each operation."""

NOT_CREATED = {
    *("createLocation", "createTerminal", "createUser", "createUserRole"),
    *("createDeviceTerm", "createRouterAccountVault", "createRouterTransaction"),
    *("createLevel3Record", "createToken"),
}
"""Records that are there from the start, calls of a terminal, a token, and what needs a setting."""
CREATED = [
    operation_id for operation_id in OPERATIONS if operation_id.startswith("create") and operation_id not in NOT_CREATED
]
"""The operations whose examples create the records that generated requests are about."""

CHANGED = [operation_id for operation_id, (_, method) in OPERATIONS.items() if method == "put"]
CHANGED.remove("removeTransactionFromQuickInvoice")  # works only after a transaction was added

AUTHENTICATION_CHECK: Any = CHECKS.get_one("ignored_auth")
"""It sends two more requests, so it is made once for each operation."""
SKIPPED_CHECKS: list[Any] = [
    # Rules that concern several fields, such as the account of a payment, cannot be part of a schema.
    CHECKS.get_one("positive_data_acceptance")
]

DESCRIPTION = schemathesis.openapi.from_dict(make_document())
DESCRIPTION.config.generation.with_security_parameters = False  # every request has valid credentials

SMALL = settings(
    max_examples=5,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""Settings for many short runs, which find the same in each run."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data file of a sandbox that has a record of each type."""
    path = tmp_path_factory.mktemp("records") / "sandbox.db"
    with Sandbox(data=path) as sandbox, closing(Shop(sandbox.info)) as shop:
        for name in CREATED:
            assert send_example(sandbox, shop, name).status_code == 201
    return path


@pytest.fixture
def sandbox(records: Path, tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox that has a record of each type."""
    with Sandbox(terminal_delay=0.0, data=shutil.copy(records, tmp_path)) as sandbox:
        yield sandbox


def described(sandbox: Sandbox, operation_id: str) -> dict[str, Any]:
    """Return an operation with its examples."""
    path, method = OPERATIONS[operation_id]
    operation: dict[str, Any] = sandbox._call(make_document_with_examples)["paths"][path][method]
    return operation


def path_examples(operation: dict[str, Any]) -> dict[str, str]:
    """Return the example of each part of the path."""
    return {each["name"]: each["example"] for each in operation["parameters"] if each["in"] == "path"}


def send_example(sandbox: Sandbox, shop: Shop, operation_id: str) -> Any:
    path, method = OPERATIONS[operation_id]
    operation = described(sandbox, operation_id)
    body = operation["requestBody"]["content"]["application/json"]["example"]
    return shop.http.request(method.upper(), path.format_map(path_examples(operation)), json=body)


def modes_of(operation: dict[str, Any]) -> list[GenerationMode]:
    """Return whether requests of an operation can be valid and invalid, or only valid."""
    has_input = "requestBody" in operation or any(each["in"] == "query" for each in operation["parameters"])
    return [*GenerationMode] if has_input else [GenerationMode.POSITIVE]


def use_ids(case: GeneratedCase, path: dict[str, str], info: SandboxInfo) -> None:
    """Name existing records in the path and the body, so that more than a 404 is seen."""
    case.path_parameters.update(path)
    ids = {"location_id": info.location_id, "contact_id": info.contact_id, "terminal_id": info.terminal_id}
    records = case.body.values() if isinstance(case.body, dict) else ()
    for record in records:
        if isinstance(record, dict):
            record.update({name: ids[name] for name in record.keys() & ids.keys()})


def test_the_document_follows_openapi_3_1() -> None:
    openapi_spec_validator.validate(json.loads(json.dumps(make_document())))


def test_routes() -> None:
    """The document has every endpoint and every control call, and no others."""
    routes = {path: {*handlers} for path, handlers in (ROUTES | FORMS | CONTROL_CALLS).items()}
    for path in POSTED_UPDATES:
        routes[path] |= {"POST"}
    paths = make_document()["paths"]
    assert {path: {method.upper() for method in item} for path, item in paths.items()} == routes


def test_operation_ids() -> None:
    """Programs that are generated from the document have a function for each operation."""
    assert len(OPERATIONS) == sum(len(item) for item in make_document()["paths"].values())


@pytest.mark.parametrize("operation_id", CHANGED)
def test_examples_of_changes(sandbox: Sandbox, shop: Shop, operation_id: str) -> None:
    """The reference fills in a change that the sandbox accepts."""
    response = send_example(sandbox, shop, operation_id)
    assert (response.status_code, response.text if response.is_error else "") == (200, "")


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_documented_responses(sandbox: Sandbox, shop: Shop, operation_id: str) -> None:
    """Valid and invalid requests get documented statuses and bodies, and no 5xx."""
    path, method = OPERATIONS[operation_id]
    operation = described(sandbox, operation_id)
    ids = {name: value for name, value in path_examples(operation).items() if value}

    skipped = [*SKIPPED_CHECKS]

    def send(case: GeneratedCase, mode: GenerationMode) -> None:
        if mode is GenerationMode.POSITIVE:
            use_ids(case, ids, shop.info)
        response = case.call(base_url=sandbox.base_url, headers=dict(shop.http.headers), timeout=20)
        case.validate_response(response, excluded_checks=skipped)
        if AUTHENTICATION_CHECK not in skipped:
            skipped.append(AUTHENTICATION_CHECK)

    for mode in modes_of(operation):
        strategy = DESCRIPTION[path][method].as_strategy(generation_mode=mode)
        SMALL(given(strategy, just(mode))(send))()
