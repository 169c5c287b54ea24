"""A form for each control, made from its signature and its docstring.

The arguments become fields: a choice a list, a flag a box, a number or a text an input. Their descriptions come from
the docstring. A page makes the forms that it shows, and runs the control that a submitted form names.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, getdoc, isawaitable, signature
from typing import Any, Literal, get_args, get_origin

import attrs

from gateway_async.sandbox.pages.masking import is_secret, mask_shown_text
from gateway_async.sandbox.pages.page_request import PageRequest

Control = Callable[..., Any]
"""A function of `controls`: its first argument is the gateway."""

_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
_FLAGS = {"yes": True, "no": False}


@attrs.frozen
class ControlField:
    """One argument of a control, as a field of its form.

    Attributes:
        help: What the docstring says about it.
        value: What the field contains: the default, or what was entered; "" for a secret, whose default then applies.
        kind: The type of the input.
        choices: The values of a list.
    """

    name: str
    help: str
    value: str
    kind: Literal["select", "checkbox", "number", "text"]
    choices: Sequence[str] = ()
    required: bool = False

    @property
    def label(self) -> str:
        """The name of the argument, as a label."""
        return self.name.replace("_", " ").capitalize()


@attrs.frozen
class ControlForm:
    """The form of a control.

    Attributes:
        summary: The first line of the docstring.
        problem: Why the control refused what was entered; "" if it did not.
    """

    name: str
    summary: str
    fields: Sequence[ControlField]
    problem: str = ""

    @property
    def label(self) -> str:
        """The name of the control, as the label of its button."""
        return self.name.replace("_", " ").capitalize()


def make_forms(
    request: PageRequest,
    controls: Iterable[Control],
    given: Sequence[str] = (),
    *,
    choices: Mapping[str, Sequence[str]] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> list[ControlForm]:
    """Make the forms of controls.

    Args:
        request: The request for the page; a form that it submitted keeps what was entered, and shows the problem.
        controls: The controls.
        given: The first arguments, which the page knows.
        choices: The values of a text, by the name of the argument.
        defaults: Values that replace the defaults of the signatures.
    """
    forms = []
    for control in controls:
        is_submitted = request.form.get("control") == control.__name__
        values = dict(defaults or {}) | (request.form if is_submitted else {})
        help_by_name = _read_help(control)
        fields = [
            _make_field(parameter, help_by_name.get(parameter.name, ""), values, choices or {}, is_submitted)
            for parameter in _parameters(control, given)
        ]
        summary = (getdoc(control) or "").partition("\n")[0]
        forms.append(ControlForm(control.__name__, summary, fields, request.problem if is_submitted else ""))
    return forms


async def run_control(request: PageRequest, controls: Iterable[Control], given: Sequence[str] = ()) -> Any:
    """Run the control that the submitted form names, and return its result.

    Raises:
        ValueError: The control is not one of these, or refuses what was entered.
    """
    by_name = {control.__name__: control for control in controls}
    control = by_name.get(request.form.get("control", ""))
    if control is None:
        raise ValueError(f"control: must be one of {', '.join(by_name)}.")
    values: dict[str, Any] = {}
    for parameter in _parameters(control, given):
        _read_value(parameter, request.form, values)
    result = control(request.gateway, *given, **values)
    return await result if isawaitable(result) else result


def _parameters(control: Control, given: Sequence[str]) -> list[Parameter]:
    return [*signature(control).parameters.values()][1 + len(given) :]


def _read_help(control: Control) -> dict[str, str]:
    """Read the descriptions of the arguments in a docstring, in the words of a form."""
    section = (getdoc(control) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    found = ((name, " ".join(text.split())) for name, text in _ARGUMENT.findall(section))
    return {name: re.sub(r"\bNone\b", "an empty field", text) for name, text in found}


def _make_field(
    parameter: Parameter,
    text: str,
    values: Mapping[str, str],
    choices: Mapping[str, Sequence[str]],
    is_submitted: bool,
) -> ControlField:
    types, name = _types_of(parameter), parameter.name
    default = "" if parameter.default in (None, False, Parameter.empty) else str(parameter.default)
    value = mask_shown_text(values.get(name, "" if is_submitted and types == (bool,) else default))
    if is_secret(name):
        value = ""
        text += f" Empty: {mask_shown_text(default)}." if default else ""
    known = choices.get(name) or _choices_of(types)
    if known:
        kind: Any = "select"
    elif bool in types:
        kind = "checkbox"
    else:
        kind = "number" if int in types[:1] or float in types[:1] else "text"
    return ControlField(name, text, value, kind, known, required=parameter.default is Parameter.empty)


def _types_of(parameter: Parameter) -> tuple[Any, ...]:
    """The types of an argument, of which None may be one."""
    annotation = parameter.annotation
    return (annotation,) if get_origin(annotation) in (None, Literal) else get_args(annotation)


def _choices_of(types: tuple[Any, ...]) -> Sequence[str]:
    if get_origin(types[0]) is Literal:
        return get_args(types[0])
    return ["", *_FLAGS] if types[0] is bool and len(types) > 1 else ()


def _read_value(parameter: Parameter, form: Mapping[str, str], values: dict[str, Any]) -> None:
    """Add the value of an argument, unless its default applies."""
    name, types = parameter.name, _types_of(parameter)
    text, has_default = form.get(name, "").strip(), parameter.default is not Parameter.empty
    if types == (bool,):
        values[name] = bool(text)
    elif name not in form and has_default:
        return
    elif not text and type(None) in types:
        values[name] = None
    elif text or not has_default or (str in types and not is_secret(name)):
        values[name] = _convert(name, types[0], text)


def _convert(name: str, value_type: Any, text: str) -> Any:
    if value_type is bool:
        return _FLAGS.get(text)
    if value_type not in (int, float):
        return text
    try:
        return value_type(text)
    except ValueError:
        raise ValueError(f"{name}: must be a number.") from None
