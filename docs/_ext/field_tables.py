"""Describe the fields of a class, or the members of an enumeration, in a table that opens at a click.

The required fields of a request are in a table that is always open.
Each of them keeps the anchor that a description of its own would have.
"""

import csv
import enum
import io
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs
from docstrings import convert
from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import stringify_annotation

from gateway_async import Request, Unset

OPEN_ROWS: Final = 8
"""A table of at most this many rows is open from the beginning."""

_OWN_TYPE: Final = re.compile(r"~?(gateway_async\.[\w.]+)")
_REQUIRED: Final = " Required."


@attrs.frozen
class _Row:
    """A field or a member.

    Attributes:
        group: the caption of its table.
        name: its name.
        middle: its type or value, in reStructuredText.
        meaning: its docstring, likewise.
    """

    group: str
    name: str
    middle: str
    meaning: str


def field_table(kind: type, path: str) -> list[str]:
    """Return the lines of the table of a class; none if its fields have no docstrings.

    Args:
        kind: the class.
        path: its full name, with which the anchors begin.
    """
    is_enum = issubclass(kind, enum.Enum)
    rows = list(_members(kind) if is_enum else _fields(kind))
    if not rows:
        return []
    head = ("name", "value", "meaning") if is_enum else ("field", "type", "meaning")
    required = [row for row in rows if row.group == "Required"]
    others = [row for row in rows if row.group != "Required"]
    lines = _table("Required", head, path, required) if required else []
    if not others:
        return lines
    noun = "value" if is_enum else "optional field" if others[0].group else "field"
    count = f"{len(others)} {noun}{'s' if len(others) > 1 else ''}"
    is_open = " open" if len(others) <= OPEN_ROWS else ""
    lines += _html(f'<details class="fields"{is_open}><summary>{count}</summary>')
    return lines + _table("", head, path, others) + _html("</details>")


def names_in_table(kind: type) -> set[str]:
    """Return the names of the fields or members that the table of a class has."""
    rows = _members(kind) if issubclass(kind, enum.Enum) else _fields(kind)
    return {row.name for row in rows}


def _members(kind: Any) -> Iterator[_Row]:
    docs = _docstrings(kind)
    for name, member in kind.__members__.items():
        value = member.value
        yield _Row("", name, f"``{value!r}``", docs.get(name, ""))


def _fields(kind: type) -> Iterator[_Row]:
    """Yield the required fields, the others, and those of the base classes."""
    if not attrs.has(kind):
        return
    docs = _docstrings(kind)
    types = get_type_hints(kind, include_extras=True)
    fields = [each for each in attrs.fields(kind) if each.name in docs]
    fields = [each for each in fields if not (each.inherited and each.name == "extra")]
    is_request = issubclass(kind, Request)
    rows = [
        _Row(
            _group(field, docs[field.name]) if is_request else "",
            field.name,
            _linked(types[field.name]),
            docs[field.name],
        )
        for field in fields
    ]
    yield from sorted(
        rows, key=lambda row: ("Required", "Optional", "").index(row.group)
    )


def _group(field: "attrs.Attribute[Any]", doc: str) -> str:
    return (
        "Required" if field.default is attrs.NOTHING or _REQUIRED in doc else "Optional"
    )


@cache
def _docstrings(kind: type) -> Mapping[str, str]:
    """Return the docstrings of attributes, on one line each, those of base classes included."""
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if owner.__module__.startswith("gateway_async"):
            docs = ModuleAnalyzer.for_module(owner.__module__).find_attr_docs()
            for (name, attribute), lines in docs.items():
                if name == owner.__qualname__:
                    found[attribute] = " ".join(filter(None, convert(lines)))
    return found


def _linked(annotation: Any) -> str:
    """Return a type in reStructuredText, with links to the types of the package.

    `None` and `Unset` are left out, because nearly every field takes them.
    """
    alternatives = dict.fromkeys(map(_alternative_text, _alternatives(annotation)))
    return " | ".join(filter(None, alternatives)) or "``None``"


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the members of a union, without constraints."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(annotation.__origin__)
    elif origin in (Union, UnionType):
        for each in get_args(annotation):
            yield from _alternatives(each)
    else:
        yield annotation


def _alternative_text(kind: Any) -> str:
    if kind in (NoneType, Unset):
        return ""
    if get_origin(kind) is Literal:
        return " | ".join(f"``{value!r}``" for value in get_args(kind))
    text = stringify_annotation(kind, "smart")
    if _OWN_TYPE.search(text):
        return _OWN_TYPE.sub(r":py:obj:`~\1`", text)
    return f"``{text.replace('~', '').removeprefix('collections.abc.')}``"


def _table(
    caption: str, head: tuple[str, ...], path: str, rows: list[_Row]
) -> list[str]:
    cells = [
        head,
        *((f":field:`{path}.{row.name}`", row.middle, row.meaning) for row in rows),
    ]
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows(cells)
    lines = [f".. csv-table:: {caption}".rstrip(), "   :header-rows: 1", ""]
    return [*lines, *(f"   {row}" for row in written.getvalue().splitlines()), ""]


def _html(text: str) -> list[str]:
    return [".. raw:: html", "", f"   {text}", ""]


def field_role(
    _role: str,
    _rawtext: str,
    text: str,
    _lineno: int,
    inliner: Inliner,
    _options: dict[str, Any] | None = None,
    _content: list[str] | None = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Show the last part of a field's full name, register the field, and give it its anchor."""
    document: Any = inliner.document
    node = nodes.literal(text=text.rpartition(".")[2], ids=[text])
    domain = document.settings.env.domains.python_domain
    domain.note_object(text, "attribute", text, location=node)
    return [node], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role of the names in the tables."""
    app.add_role("field", field_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
