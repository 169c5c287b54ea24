"""Describe methods as programs call them: `gateway.transactions.create`, each under its own heading.

The object has this name in the index and in the inventory. The name of the function that implements it is an alias,
by which `sphinx_codeautolink` and other projects find it.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, ClassVar, Final, TypeVar, get_args, get_origin

import attrs
from change_notes import change_notes
from contract_sections import PAGE as CONTRACT
from contract_sections import section_id, section_of
from docstrings import INTERNAL, NAPOLEON, convert
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyMethod, PythonDomain
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import OptionSpec, stringify_annotation

import gateway_async
from gateway_async.resources import RESOURCES

PARAMETERS: Final = {
    "new": "what to create, as {type}.",
    "changes": "the fields to change, as {type}; the others stay as they are.",
    "id": "the gateway's id of the record, or an `ApiId` with your own.",
    "expand": "related records to add to the result's `.extra`.",
    "error": "the error that the call raised.",
    "files": "at most four.",
    "wait": "the most seconds to look for it.",
}
"""The meaning of parameters that a docstring leaves out, because it is the same on every page."""

_AFTER_THE_TABLE_OF_CONTENTS: Final = 600
"""Sphinx collects the headings of the side bar with the default priority, 500."""

_SUMMARY_END: Final = re.compile(r"(?<=\.)\s|\n\n")
_PARAMETER_LIST: Final = re.compile(
    r'<dl>\n((?:<dd><em class="sig-param">.*?</dd>\n)+)</dl>'
)
_ITEM: Final = re.compile("<dd>(.*?)</dd>")
_AS_ITEM: Final = r"<li>\1</li>"
_OWN_TYPE: Final = re.compile(r"~gateway_async\.[\w.]+\.(\w+)")


@attrs.frozen
class Subject:
    """An object whose methods a page describes.

    Attributes:
        name: how programs call it, such as `gateway.transactions`.
        kind: its class.
        path: the full name of the class.
    """

    name: str
    kind: type
    path: str

    def methods(self) -> dict[str, Callable[..., Any]]:
        """Return its public methods by name, those of the class itself first, in the order of the source."""
        found: dict[str, Callable[..., Any]] = {}
        for owner in self.kind.__mro__:
            for name, value in vars(owner).items():
                if (
                    not name.startswith("_")
                    and name not in INTERNAL
                    and isinstance(value, (FunctionType, classmethod, staticmethod))
                    and owner is not object
                ):
                    found.setdefault(name, getattr(self.kind, name))
        return found


def summary_of(method: object) -> str:
    """Return the first sentence of a docstring."""
    text = inspect.getdoc(method) or ""
    return " ".join(_SUMMARY_END.split(text, maxsplit=1)[0].split())


def method_table(subject: Subject) -> Iterator[str]:
    """Yield a table of the methods, with what each is for."""
    yield from ("| method | what it does |", "|---|---|")
    for name, method in subject.methods().items():
        yield f"| [`{name}`](#{heading_id(name)}) | {summary_of(method)} |"
    yield ""


def method_sections(subject: Subject, examples: Mapping[str, str]) -> Iterator[str]:
    """Yield a section for each method: its heading, its description and its example."""
    for name, method in subject.methods().items():
        yield from (f"## {name}", "", "```{eval-rst}")
        yield from _description(subject, name, method)
        yield from ("```", "")
        if example := examples.get(name):
            yield from (example, "")


def heading_id(name: str) -> str:
    """Return the id that a heading of one word gets on its page."""
    return name.replace("_", "-")


def _description(
    subject: Subject, name: str, method: Callable[..., Any]
) -> Iterator[str]:
    signature = _signature(subject.kind, method)
    yield ".. py:currentmodule:: gateway_async"
    yield ""
    yield f".. py:method:: {subject.name}.{name}{signature}"
    yield "   :module:"
    yield "   :no-contents-entry:"
    yield f"   :implementation: {subject.path}.{name}"
    if inspect.iscoroutinefunction(inspect.unwrap(method)):
        yield "   :async:"
    yield ""
    lines = _with_parameters(
        (inspect.getdoc(method) or "").splitlines(), subject.kind, method
    )
    converted = GoogleDocstring(list(convert(lines)), NAPOLEON, what="method").lines()
    notes = [*_contract(subject, name), *_changes(subject, name)]
    yield from (f"   {line}" if line else "" for line in (*converted, *notes))
    yield ""


def _contract(subject: Subject, method: str) -> Iterator[str]:
    """Yield a link to the section of the contract, for the method of a resource."""
    if subject.kind in RESOURCES.values():
        section = section_of(subject.kind, method)
        address = f"{CONTRACT}.html#{section_id(section)}"
        yield from ("", f"Contract: `{section} <{address}>`__", "")


def _changes(subject: Subject, method: str) -> Iterator[str]:
    """Yield what changed in a method, which is known by the name of its object or of its class."""
    for owner in (subject.name.removeprefix("gateway."), subject.kind.__name__):
        yield from change_notes(f"{owner}.{method}")


def _with_parameters(
    lines: list[str], kind: type, method: Callable[..., Any]
) -> list[str]:
    """Add the parameters that every page has to the docstring."""
    documented = "\n".join(lines)
    arguments = _type_arguments(kind)
    types = {
        name: _with_arguments(each.annotation, arguments)
        for name, each in inspect.signature(method).parameters.items()
    }
    added = [
        f"    {name}: {PARAMETERS[name].format(type=_kind_of(types[name]))}"
        for name in inspect.signature(method).parameters
        if name in PARAMETERS and f"\n    {name}: " not in documented
    ]
    if not added:
        return lines
    if "Args:" in lines:
        place = lines.index("Args:") + 1
        return [*lines[:place], *added, *lines[place:]]
    sections = [
        lines.index(title) for title in ("Returns:", "Raises:") if title in lines
    ]
    place = min(sections, default=len(lines))
    return [*lines[:place], "", "Args:", *added, "", *lines[place:]]


def _kind_of(annotation: Any) -> str:
    """Return the name of a request's class, with its article."""
    name = getattr(annotation, "__name__", str(annotation))
    return f"an `{name}`" if name[0] in "AEIOU" else f"a `{name}`"


def _signature(kind: type, method: Callable[..., Any]) -> str:
    """Return the parameters as Sphinx reads them, with types that it can link."""
    try:
        signature = inspect.signature(method, eval_str=True)
    except NameError:  # a type of an optional package
        signature = inspect.signature(method)
    types = _type_arguments(kind)
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        if each.annotation is inspect.Parameter.empty
        else each.replace(annotation=_Text(_type_text(each.annotation, types)))
        for name, each in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(inspect.Signature(parameters))
    returned = signature.return_annotation
    if returned is inspect.Signature.empty:
        return text
    return f"{text} -> {_type_text(returned, types)}"


class _Text:
    """An annotation that is printed as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _type_text(annotation: Any, types: Mapping[Any, Any]) -> str:
    """Return a type as Sphinx reads it, with the type arguments of the class."""
    if isinstance(annotation, str):
        return annotation
    text = stringify_annotation(_with_arguments(annotation, types), "smart")
    return _OWN_TYPE.sub(_short, text)


def _short(name: re.Match[str]) -> str:
    """Return the short name of an exported type. Sphinx breaks a signature by the length of its source."""
    return name[1] if name[1] in gateway_async.__all__ else name[0]


def _with_arguments(annotation: Any, types: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return types.get(annotation, annotation)
    if parameters := getattr(annotation, "__parameters__", ()):
        return annotation[tuple(types.get(each, each) for each in parameters)]
    return annotation


def _type_arguments(kind: type) -> dict[Any, Any]:
    """Return the type variables of the base classes with what the class makes of them."""
    found: dict[Any, Any] = {}
    for owner in kind.__mro__:
        for parent in getattr(owner, "__orig_bases__", ()):
            parameters = getattr(get_origin(parent), "__parameters__", ())
            for variable, argument in zip(parameters, get_args(parent), strict=False):
                found.setdefault(variable, found.get(argument, argument))
    return found


class MethodDirective(PyMethod):
    """`py:method` with the option `implementation`: the full name of the function, which becomes an alias."""

    option_spec: ClassVar[OptionSpec] = PyMethod.option_spec | {
        "implementation": directives.unchanged
    }

    def get_signature_prefix(self, sig: str) -> list[nodes.Node]:
        """Show a coroutine function as it is called: with `await`."""
        prefix = list(super().get_signature_prefix(sig))
        if "implementation" in self.options and "async" in self.options:
            prefix[0] = addnodes.desc_sig_keyword("", "await")
        return prefix

    def add_target_and_index(
        self, name_cls: tuple[str, str], sig: str, signode: addnodes.desc_signature
    ) -> None:
        """Register the alias, and its anchor for links from elsewhere."""
        super().add_target_and_index(name_cls, sig, signode)
        if alias := self.options.get("implementation"):
            add_alias(self.env.domains.python_domain, alias, "method", signode)
            signode["as_called"] = f"{name_cls[0]}({_argument_names(signode)})"


def _argument_names(signode: addnodes.desc_signature) -> str:
    """Return the parameters of a call without types, the optional ones cut short."""
    names: list[str] = []
    for parameter in signode.findall(addnodes.desc_parameter):
        name, is_optional = parameter[0].astext(), "=" in parameter.astext()
        if is_optional or name in "*/":
            return ", ".join([*names, "…"])
        names.append(name)
    return ", ".join(names)


def add_alias(
    domain: PythonDomain, alias: str, kind: str, described: nodes.Element
) -> None:
    """Let links to another name of an object lead to its description."""
    domain.note_object(
        alias, kind, described["ids"][0], aliased=True, location=described
    )
    described["ids"].append(alias)


class SubjectDirective(SphinxDirective):
    """The place where an object is described: `.. subject:: gateway.transactions`, and the full name of its class."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Register both names with an anchor, and show nothing."""
        name, path = self.arguments
        target = nodes.target("", "", ids=[name])
        self.state.document.note_explicit_target(target)
        domain = self.env.domains.python_domain
        domain.note_object(name, "attribute", name, location=target)
        add_alias(domain, path, "class", target)
        return [target]


def head_as_called(_app: Sphinx, doctree: nodes.document) -> None:
    """Head the section of a method with its call. The side bar keeps its bare name."""
    for signature in doctree.findall(addnodes.desc_signature):
        section = signature.parent.parent
        if "as_called" in signature and isinstance(section, nodes.section):
            title: Any = section[0]
            title[:] = [_call_of(signature["as_called"])]
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- " and text.parent:  # between a parameter and what it means
            text.parent.replace(text, nodes.Text(" – "))


def _call_of(call: str) -> nodes.literal:
    """Return a call that a narrow screen breaks before the name of the method."""
    subject, dot, _ = call.partition("(")[0].rpartition(".")
    return nodes.literal(
        "",
        "",
        nodes.Text(subject + dot),
        nodes.raw("", "<wbr>", format="html"),
        nodes.Text(call.removeprefix(subject + dot)),
    )


def list_parameters(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    """Make a list of parameters a list: Sphinx writes definitions without terms, which screen readers reject."""
    if body := context.get("body"):
        context["body"] = _PARAMETER_LIST.sub(
            lambda found: (
                f'<ul class="sig-params">{_ITEM.sub(_AS_ITEM, found[1])}</ul>'
            ),
            body,
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace the directive for methods, and the headings above it."""
    app.add_directive("subject", SubjectDirective)
    app.add_directive_to_domain("py", "method", MethodDirective, override=True)
    app.connect("html-page-context", list_parameters)
    app.connect("doctree-read", head_as_called, priority=_AFTER_THE_TABLE_OF_CONTENTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
