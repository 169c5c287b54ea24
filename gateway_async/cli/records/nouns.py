"""The nouns of the commands: the resources of the client, and what each of them can do."""

from typing import Any, Literal

from gateway_async.resources import _resource_class, _Resources

__all__ = ["Verb", "class_of", "method_of", "nouns", "spec_of"]

Verb = Literal["get", "list", "create", "update", "delete"]


def nouns(verb: Verb) -> list[str]:
    """Return the names of the resources that have a verb."""
    return sorted(name for name in _Resources.__annotations__ if _has(name, verb))


def class_of(noun: str) -> type[Any]:
    """Return the class of the resource."""
    return _resource_class(noun)


def spec_of(noun: str) -> Any:
    """Return the `ResourceSpec` of a noun; None if its calls are built without one."""
    return _resource_class(noun).spec


def method_of(noun: str, verb: Verb) -> Any:
    """Return the method of the resource; None if it has none."""
    return getattr(_resource_class(noun), verb, None)


def _has(noun: str, verb: Verb) -> bool:
    spec = spec_of(noun)
    if spec is None or method_of(noun, verb) is None:
        return False
    return bool({"create": spec.creates, "update": spec.updates}.get(verb, True))
