"""The options of the commands for one resource, as parameters for Typer."""

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gateway_async.cli.records.body import field_names, required_names
from gateway_async.cli.records.filters import filter_names
from gateway_async.cli.records.resources import spec_of

__all__ = [
    "FIELD",
    "body_options",
    "expand_option",
    "json_option",
    "ledger_option",
    "list_options",
    "record_options",
]

FIELD: Final = "field_"
"""The prefix of the parameters for the fields of a resource: those of a request, or the filters of a list."""


def record_options() -> list[Parameter]:
    """Return the argument and the options that name a record."""
    return [
        _parameter("id", str, typer.Argument(metavar="ID", help="Id of the record."), Parameter.empty),
        _parameter("api_id", bool, typer.Option("--api-id", help="ID is the integrator's own id."), default=False),
        _parameter(
            "location_id",
            str | None,
            typer.Option(
                "--location-id",
                metavar="ID",
                help="With --api-id: location of the record. Default: GATEWAY_LOCATION_ID.",
            ),
        ),
    ]


def expand_option() -> Parameter:
    """Return the option for related records."""
    option = typer.Option("--expand", metavar="NAME,…", help="Related records to add, such as contact,location.")
    return _parameter("expand", str | None, option)


def json_option() -> Parameter:
    """Return the option for programs. Without a terminal, its output is the default."""
    option = typer.Option("--json", help="Print one line of JSON for each record, also on a terminal.")
    return _parameter("as_json", bool, option, default=False)


def ledger_option() -> Parameter:
    """Return the option for a ledger file."""
    option = typer.Option("--ledger", metavar="FILE", help="Record the call in this ledger before it is sent.")
    return _parameter("ledger", Path | None, option)


def list_options(resource: str) -> list[Parameter]:
    """Return the options of a list: one for each field of the record, and those of the list itself."""
    return [
        _parameter(
            "sort",
            str | None,
            typer.Option(metavar="FIELD", help="Field to sort by; a minus before it reverses the order."),
        ),
        _parameter("limit", int | None, typer.Option(min=1, metavar="N", help="Print at most N records.")),
        _parameter(
            "page_size",
            int | None,
            typer.Option("--page-size", min=1, max=5000, metavar="N", help="Records in one response."),
        ),
        _parameter("count", bool, typer.Option("--count", help="Print the number of records only."), default=False),
        expand_option(),
        json_option(),
        _parameter(
            "others",
            list[str] | None,
            typer.Option(
                "--filter", metavar="NAME=VALUE", help="Filter by a field that is not listed below. Repeatable."
            ),
        ),
        *(_field_option(name, "Filters", _filter_help(name)) for name in filter_names(spec_of(resource).record)),
    ]


def body_options(resource: str, kinds: Sequence[type[Any]]) -> list[Parameter]:
    """Return the options of a request: one for each of its fields, and those that read fields from elsewhere."""
    required = set[str].intersection(*(set(required_names(kind)) for kind in kinds))
    return [
        _parameter(
            "others",
            list[str] | None,
            typer.Option(
                "--field",
                "-f",
                metavar="NAME=VALUE",
                autocompletion=_completion(f"{name}=" for name in field_names(kinds)),
                help="The same as --NAME VALUE. Repeatable.",
            ),
        ),
        _parameter(
            "data",
            str | None,
            typer.Option(
                "--data", metavar="FILE", help=f"Read the fields of {resource} from a JSON object; - is standard input."
            ),
        ),
        _parameter(
            "extra",
            list[str] | None,
            typer.Option("--extra", metavar="NAME=VALUE", help="A field that this version does not know. Repeatable."),
        ),
        json_option(),
        *(_field_option(name, "Fields", "Required." if name in required else "") for name in field_names(kinds)),
    ]


def _field_option(name: str, panel: str, text: str) -> Parameter:
    option = typer.Option(f"--{name.replace('_', '-')}", metavar="VALUE", rich_help_panel=panel, help=text)
    return _parameter(f"{FIELD}{name}", str | None, option)


def _filter_help(name: str) -> str:
    return "A range of times: TODAY, LAST_30_DAYS, 2026-01-01..2026-02-01." if name.endswith("_ts") else ""


def _completion(words: Iterable[str]) -> Callable[[str], list[str]]:
    known = [*words]

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


def _parameter(name: str, kind: Any, option: Any, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
