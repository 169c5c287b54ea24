"""Messages for wrong usage, in the form of all other errors: `option: problem`."""

import re
from typing import Final

import typer
from typer.exceptions import TyperException

from gateway_async.cli.errors import print_error, warn
from gateway_async.cli.masking import mask_usage

__all__ = ["print_usage_error"]

_FORMS: Final = (
    (r"Invalid value for (?P<name>.+?): (?:Value error, )?(?P<problem>.+)", "{name}: {problem}"),
    (r"Invalid value: (?P<problem>.+)", "{problem}"),
    (r"Missing \w+ (?P<name>\S+?)\.(?P<problem>.*)", "{name}: required{problem}"),
    (r"No such option: (?P<name>\S+?)(?P<problem>( .*)?)", "{name}: no such option{problem}"),
    (r"No such command (?P<name>'.+?')\.?(?P<problem>( .*)?)", "{name}: no such command{problem}"),
    (r"Option (?P<name>\S+) (?P<problem>.+)", "{name}: {problem}"),
    (r"Got unexpected extra argument\S* \((?P<name>.+)\)", "{name}: unexpected"),
)
"""The forms of Typer's messages, and ours."""

_HINTS: Final = re.compile(r" (?:\(Possible options: (?P<options>.+)\)|Did you mean (?P<commands>.+)\?)")


def print_usage_error(error: TyperException) -> None:
    """Print what is wrong on standard error, and where the help is."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return
    warn(_plain(mask_usage(error.format_message())))
    context = getattr(error, "ctx", None)
    if context is not None:
        print_error(f"Help: {context.command_path} --help", "dim")


def _plain(message: str) -> str:
    for form, ours in _FORMS:
        if match := re.fullmatch(form, message.strip(), re.DOTALL):
            parts = {"name": "", "problem": ""} | match.groupdict("")
            name = re.sub(r"'([^' ]+)'", r"\1", parts["name"]).replace(" / ", ", ")
            problem = _HINTS.sub(_format_expected, re.sub(r"\s+", " ", parts["problem"]))
            return ours.format(name=name, problem=problem).removesuffix(".")
    return message.strip().removesuffix(".")


def _format_expected(hint: re.Match[str]) -> str:
    return f" (expected {hint['options'] or hint['commands']})"
