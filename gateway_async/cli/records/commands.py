"""The command groups `get`, `list`, `create`, `update` and `delete`, with one command for each resource."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, Final

import attrs
import typer
from typer.main import get_command

from gateway_async.cli.errors import fail_with
from gateway_async.cli.help_text import Command, Group, help_of
from gateway_async.cli.records import calls
from gateway_async.cli.records import options as parameters
from gateway_async.cli.records.body import request_of
from gateway_async.cli.records.calls import execute, reference
from gateway_async.cli.records.filters import filters_of
from gateway_async.cli.records.resources import Verb, class_of, list_resources, method_of, spec_of
from gateway_async.errors import GatewayError

__all__ = ["RECORD_COMMANDS"]

CommandOptions = dict[str, Any]

_OWN: Final = "me"
"""The id of the user whose credentials are used, for a resource that has such a method."""


def _get(resource: str, options: CommandOptions) -> None:
    if options["id"] == _OWN and hasattr(class_of(resource), _OWN):
        execute(resource, _OWN, as_json=options["as_json"])
        return
    execute(resource, "get", _reference(options), expand=_words(options["expand"]), as_json=options["as_json"])


def _list(resource: str, options: CommandOptions) -> None:
    filters = filters_of(spec_of(resource).record, _fields(options), options["others"] or ())
    if options["count"]:
        calls.count(resource, filters)
        return
    expand = _words(options["expand"])
    names = ("sort", "limit", "page_size")
    calls.print_list(resource, filters, expand=expand, **{name: options[name] for name in names})


def _create(resource: str, options: CommandOptions) -> None:
    new = _request(spec_of(resource).creates, resource, options)
    execute(resource, "create", new, as_json=options["as_json"], ledger=options["ledger"])


def _update(resource: str, options: CommandOptions) -> None:
    changes = _request(spec_of(resource).updates, resource, options)
    execute(resource, "update", _reference(options), changes, as_json=options["as_json"], ledger=options["ledger"])


def _delete(resource: str, options: CommandOptions) -> None:
    execute(resource, "delete", _reference(options))


@attrs.frozen
class _Verb:
    """A group of commands.

    Attributes:
        help: what the group does.
        run: executes the command of a resource with its options.
        parameters: returns the parameters of the command of a resource.
    """

    help: str
    run: Callable[[str, CommandOptions], None]
    parameters: Callable[[str], list[Parameter]]


_BODY_HELP: Final = (
    "The value @- of a field is read from standard input, and is not shown while you type it; use it for card numbers. "
    "@FILE is read from a file."
)
_VERBS: Final[Mapping[Verb, _Verb]] = {
    "get": _Verb(
        "Print a record as JSON.",
        _get,
        lambda _: [*parameters.record_options(), parameters.expand_option(), parameters.json_option()],
    ),
    "list": _Verb("Print the records that match the filters, one line of JSON each.", _list, parameters.list_options),
    "create": _Verb(
        f"Create a record, and print it as JSON. {_BODY_HELP}",
        _create,
        lambda resource: [*parameters.body_options(resource, spec_of(resource).creates), parameters.ledger_option()],
    ),
    "update": _Verb(
        f"Change a record, and print it as JSON. {_BODY_HELP}",
        _update,
        lambda resource: [
            *parameters.record_options(),
            *parameters.body_options(resource, spec_of(resource).updates),
            parameters.ledger_option(),
        ],
    ),
    "delete": _Verb("Delete a record.", _delete, lambda _: parameters.record_options()),
}


class _VerbGroup(Group):
    """The group of a verb, whose commands are the resources that have it. Each is made when it is called."""

    def __init__(self, verb: Verb) -> None:
        super().__init__(
            name=verb, help=_VERBS[verb].help, no_args_is_help=True, subcommand_metavar="RESOURCE [ARGS]..."
        )
        self.verb: Verb = verb

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  Typer's signature
        """Return the resources that have the verb."""
        return list_resources(self.verb)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  Typer's signature
        """Return the command of a resource, or None for another resource."""
        resource = cmd_name.replace("-", "_")
        if resource not in self.commands and resource in list_resources(self.verb):
            self.commands[resource] = _command(self.verb, resource)
        return self.commands.get(resource)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the arguments; a misspelled resource gets the nearest one as a hint."""
        if args and self.get_command(ctx, args[0]) is None:
            for resource in list_resources(self.verb):
                self.get_command(ctx, resource)
        return super().resolve_command(ctx, args)


def _command(verb: Verb, resource: str) -> Any:
    """Return the command of a verb and a resource."""

    def run(**options: Any) -> None:
        try:
            _VERBS[verb].run(resource, options)
        except GatewayError as error:
            fail_with(error)

    made = _VERBS[verb].parameters(resource)
    run.__signature__ = Signature(made)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in made}
    single = typer.Typer(add_completion=False)
    single.command(
        resource, cls=Command, help=_summary(verb, resource), short_help=_first_paragraph(class_of(resource))
    )(run)
    return get_command(single)


def _summary(verb: Verb, resource: str) -> str:
    """Return the help of a command: its method's, and its verb's."""
    return f"{_first_paragraph(method_of(resource, verb))}\n\n{_VERBS[verb].help}"


def _first_paragraph(documented: Any) -> str:
    return help_of(documented).partition("\n")[0]


def _reference(options: CommandOptions) -> Any:
    return reference(options["id"], api_id=options["api_id"], location_id=options["location_id"])


def _request(kinds: Any, resource: str, options: CommandOptions) -> Any:
    others, extra = options["others"] or (), options["extra"] or ()
    return request_of(kinds, spec_of(resource).name, _fields(options), others=others, extra=extra, data=options["data"])


def _fields(options: CommandOptions) -> dict[str, str]:
    """Return the values of the fields that were given."""
    named = {
        name.removeprefix(parameters.FIELD): text for name, text in options.items() if name.startswith(parameters.FIELD)
    }
    return {name: text for name, text in named.items() if text is not None}


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))


RECORD_COMMANDS: Final = {verb: _VerbGroup(verb) for verb in _VERBS}
"""Verb → its command group."""
