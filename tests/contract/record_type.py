"""A record type: its table, the ways to create a record, and the other fields that a field needs."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .field_table import FieldTable

Body = Callable[[Any], dict[str, Any]]
"""Function from a raw client to the fields of a request."""


@attrs.frozen
class CreateMode:
    """One mode of creating a record.

    Attributes:
        name: what recipes call it.
        request: the SDK's class that asks for it.
        body: a smallest body; without any one of its fields it is refused.
        otherwise: fields whose absence is reported under other names: without a ticket, a number is missing.
    """

    name: str
    request: str
    body: Body
    otherwise: Mapping[str, set[str]] = attrs.field(factory=dict)


@attrs.frozen
class Recipe:
    """How to try one field.

    Attributes:
        create_mode: the mode of creating the record; the record type's first one when empty.
        value: function from the raw client and a length to a value of that length; None for the type's own value.
        lengths: the bounds of the row that the gateway accepts; None for both.
        values: the known values of the row that the gateway accepts; None for all.
        beside: other fields it needs; `...` leaves one out, and a function gets the raw client.
        becomes: values that come back as others.
        put: whether to try it in a PUT too.
        put_beside, put_values: the same for a PUT.
    """

    create_mode: str = ""
    value: Callable[[Any, int], Any] | None = None
    lengths: tuple[int, ...] | None = None
    values: tuple[str, ...] | None = None
    beside: Mapping[str, Any] = attrs.field(factory=dict)
    becomes: Mapping[Any, Any] = attrs.field(factory=dict)
    put: bool = True
    put_beside: Mapping[str, Any] = attrs.field(factory=dict)
    put_values: tuple[str, ...] | None = attrs.field(default=attrs.Factory(lambda self: self.values, takes_self=True))


Recipes = Recipe | tuple[Recipe, ...]


def resolved(beside: Mapping[str, Any], raw_client: Any) -> dict[str, Any]:
    """Return the fields that a recipe needs beside its own, with the results of functions."""
    return {name: said(raw_client) if callable(said) else said for name, said in beside.items()}


@attrs.frozen
class RecordType:
    """A table with its requests.

    Attributes:
        path: where records are made; empty when no request of their own makes them.
        record: the SDK's model of a response; empty if it is another record type's.
        create_modes: the ways to make one.
        update: the SDK's class for a change; empty without one.
        wrapper: of a request; empty without one.
        response: the wrapper of a response.
        recipes: for the fields that need one, or several.
        arguments: fields that the SDK takes beside the request.
        expanded: relations that the SDK's record has fields for, though they come only when they are asked for.
        computed: fields that are computed for each response; a PUT may contain any value of them.
        resource: the attribute of the client; empty if the client has none for records of the type.
        change: the fields of a small change.
        actions: the last part of the path of a POST without a body → the client's method with the id of a new record.
        hash_key: whether the endpoints take a hash-key.
    """

    table: FieldTable
    path: str = ""
    record: str = ""
    create_modes: tuple[CreateMode, ...] = ()
    update: str = ""
    wrapper: str = attrs.field(default=attrs.Factory(lambda self: self.table.name, takes_self=True))
    response: str = attrs.field(default=attrs.Factory(lambda self: self.table.name, takes_self=True))
    recipes: Mapping[str, Recipes] = attrs.field(factory=dict)
    arguments: frozenset[str] = frozenset()
    expanded: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    resource: str = ""
    change: Mapping[str, Any] = attrs.field(factory=dict)
    actions: Mapping[str, str] = attrs.field(factory=dict)
    hash_key: bool = False

    def __str__(self) -> str:
        return self.table.name

    def create_mode(self, recipe: Recipe) -> CreateMode:
        return next(create_mode for create_mode in self.create_modes if recipe.create_mode in ("", create_mode.name))

    def make(self, raw_client: Any) -> str:
        response = raw_client.post(self.path, self.wrapper, self.create_modes[0].body(raw_client))
        assert response.is_success, response.text
        return str(response.json()[self.response]["id"])

    def recipes_of(self, name: str) -> tuple[Recipe, ...]:
        found = self.recipes.get(name, Recipe())
        return found if isinstance(found, tuple) else (found,)
