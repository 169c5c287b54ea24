"""The resources of the client, as the commands name them, and what each can do."""

from typing import Any, Literal

from gateway_async.resources import RESOURCES

__all__ = ["Verb", "class_of", "list_resources", "method_of", "spec_of"]

Verb = Literal["get", "list", "create", "update", "delete"]


def list_resources(verb: Verb) -> list[str]:
    """Return the names of the resources that have a verb."""
    return sorted(name for name in RESOURCES if _has(name, verb))


def class_of(resource: str) -> type[Any]:
    """Return the class of the resource."""
    return RESOURCES[resource]


def spec_of(resource: str) -> Any:
    """Return the `ResourceSpec` of a resource; None if its calls are built without one."""
    return RESOURCES[resource].spec


def method_of(resource: str, verb: Verb) -> Any:
    """Return the method of the resource; None if it has none."""
    return getattr(RESOURCES[resource], verb, None)


def _has(resource: str, verb: Verb) -> bool:
    spec = spec_of(resource)
    if spec is None or method_of(resource, verb) is None:
        return False
    return bool({"create": spec.creates, "update": spec.updates}.get(verb, True))
