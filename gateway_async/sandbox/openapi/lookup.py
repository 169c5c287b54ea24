"""Find an operation in the document, and describe it without references."""

from collections.abc import Iterator
from typing import Any

import attrs

from gateway_async.sandbox.openapi.document import make_document
from gateway_async.sandbox.openapi.values import Schema

__all__ = ["DescribedOperation", "find_operation", "list_operations"]


@attrs.frozen
class DescribedOperation:
    """An operation with its method and path.

    Attributes:
        content: The operation object of the document, in which every reference is replaced.
    """

    method: str
    path: str
    content: dict[str, Any]

    @property
    def id(self) -> str:
        """The id of the operation."""
        return str(self.content["operationId"])

    @property
    def family(self) -> str:
        """The name of the group of operations."""
        return str(self.content["tags"][0])

    @property
    def summary(self) -> str:
        """A few words that say what the operation does."""
        return str(self.content["summary"])

    @property
    def description(self) -> str:
        """Further sentences; often empty."""
        return str(self.content.get("description", ""))

    @property
    def bodies(self) -> dict[str, Schema]:
        """The schemas of the body, by content type."""
        content = self.content.get("requestBody", {}).get("content", {})
        return {name: each["schema"] for name, each in content.items()}

    def parameters(self, place: str) -> list[dict[str, Any]]:
        """Return the parameters of the path or the query."""
        return [each for each in self.content["parameters"] if each["in"] == place]


def list_operations() -> Iterator[DescribedOperation]:
    """Yield every operation, with references."""
    for path, item in make_document()["paths"].items():
        for method, content in item.items():
            yield DescribedOperation(method.upper(), path, content)


def find_operation(operation_id: str) -> DescribedOperation | None:
    """Return an operation without references; None if it is unknown."""
    found = next((each for each in list_operations() if each.id == operation_id), None)
    return found and attrs.evolve(found, content=_resolve(found.content))


def _resolve(value: Any) -> Any:
    if isinstance(value, list):
        return [_resolve(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("$ref"), str):
        return _resolve(_follow(value["$ref"]))
    return {name: _resolve(each) for name, each in value.items()}


def _follow(reference: str) -> Any:
    target: Any = make_document()
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target
