"""`gateway-async get`, `list`, `create`, `update` and `delete`: call the gateway from a shell.

A verb is a class of options. Its command for a resource is made from the registry of resources: it is a subclass with
an option for each field of the record or the request, so a new resource needs nothing here.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import anyio
import attrs
import typer
from typer import Argument, Option

from gateway_async import ApiId, AsyncGateway, SqliteLedger
from gateway_async._wire.fields import fields_of
from gateway_async._wire.resource import ResourceSpec
from gateway_async.cli.command import Group, help_of, make_command
from gateway_async.cli.output import ExitStatus, printing
from gateway_async.cli.record_fields import filters_of, names_of, request_of, required_names
from gateway_async.models.record import Record
from gateway_async.models.request import Request
from gateway_async.resources import RESOURCES

_OWN: Final = "me"
"""The id of the user whose credentials are used, for a resource that has such a method."""

_PAGE_SIZE: Final = 1000
_FIELD: Final = "field_"
"""The prefix of the attributes for the fields of a resource, which may have the names of other options."""
_TIMES_HELP: Final = "A range of times: TODAY, LAST_30_DAYS, 2026-01-01..2026-02-01."


OneLineOption = Annotated[bool, Option("--json", help="Print a record in one line of JSON, also on a terminal.")]
ExpandOption = Annotated[
    str | None, Option(metavar="NAME,…", help="Also read related records, such as contact,location.")
]


@attrs.frozen(kw_only=True, slots=False, repr=False)
class _RecordCommand:
    """A command for the records of one resource. Subclasses for a resource have a field for each field of it."""

    resource: ClassVar[str]
    panel: ClassVar[str] = "Fields"
    """The heading of the fields in the help."""

    @property
    def given(self) -> dict[str, str]:
        """The fields that were given, by name."""
        values = {name: getattr(self, name) for name in attrs.fields_dict(type(self)) if name.startswith(_FIELD)}
        return {name.removeprefix(_FIELD): text for name, text in values.items() if text is not None}

    def call(self, method: str, *values: Any, ledger: Path | None = None, **options: Any) -> Any:
        """Call a method of the resource, and return its result."""
        return _run(lambda gateway: getattr(getattr(gateway, self.resource), method)(*values, **options), ledger)


@attrs.frozen(kw_only=True, slots=False, repr=False)
class _OneRecord(_RecordCommand):
    """The options that name a record."""

    id: Annotated[str, Argument(metavar="ID", help="Id of the record.")]
    api_id: Annotated[bool, Option("--api-id", help="ID is the integrator's own id.")] = False
    location_id: Annotated[
        str | None,
        Option(metavar="ID", help="With --api-id: location of the record. Default: GATEWAY_LOCATION_ID."),
    ] = None

    @property
    def reference(self) -> str | ApiId:
        """The id as the client takes it."""
        return ApiId(self.id, self.location_id) if self.api_id else self.id


def _complete_field(ctx: typer.Context, incomplete: str) -> list[str]:
    names = (parameter.name or "" for parameter in ctx.command.params)
    fields = (f"{name.removeprefix(_FIELD)}=" for name in names if name.startswith(_FIELD))
    return [field for field in fields if field.startswith(incomplete)]


@attrs.frozen(kw_only=True, slots=False, repr=False)
class _RequestBody(_RecordCommand):
    """The options of a request, and how its result is printed."""

    others: Annotated[
        list[str] | None,
        Option(
            "--field",
            "-f",
            metavar="NAME=VALUE",
            autocompletion=_complete_field,
            help="The same as --NAME VALUE. Repeatable.",
        ),
    ] = None
    data: Annotated[str | None, Option(metavar="FILE", help="Read fields from a JSON object; - is standard input.")] = (
        None
    )
    extra: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="Send a field that this version does not know. Repeatable."),
    ] = None
    as_json: OneLineOption = False
    ledger: Annotated[Path | None, Option(metavar="FILE", help="Record the call in this ledger before sending it.")] = (
        None
    )

    @classmethod
    def requests(cls, resource: str) -> tuple[type[Request], ...]:
        """Return the classes of the request: the `creates` or `updates` of the resource."""
        kinds: tuple[type[Request], ...] = getattr(_spec_of(resource), f"{_verb(cls)}s")
        return kinds

    def write(self, method: str, done: str, *values: Any) -> None:
        """Send the request, and print the record. A declined payment has an exit status of its own."""
        name = _spec_of(self.resource).name
        request = request_of(
            self.requests(self.resource),
            name,
            self.given,
            others=self.others or (),
            extra=self.extra or (),
            data=self.data,
        )
        record = self.call(method, *values, request, ledger=self.ledger)
        is_declined = getattr(record, "declined", False)
        said = f"{name} {record.id} was {done}{' and declined' if is_declined else ''}"
        with printing(ExitStatus.ATTENTION if is_declined else ExitStatus.DONE, done=said):
            _print_record(record, compact=self.as_json)


@attrs.frozen(kw_only=True, slots=False, repr=False)
class GetCommand(_OneRecord):
    """Print a record as JSON."""

    expand: ExpandOption = None
    as_json: OneLineOption = False

    def run(self) -> None:
        """Read the record and print it."""
        if self.id == _OWN and hasattr(RESOURCES[self.resource], _OWN):
            record = self.call(_OWN)
        else:
            record = self.call("get", self.reference, expand=_words(self.expand))
        with printing():
            _print_record(record, compact=self.as_json)


@attrs.frozen(kw_only=True, slots=False, repr=False)
class ListCommand(_RecordCommand):
    """Print the records that match the filters, one line of JSON each."""

    panel = "Filters"

    sort: Annotated[
        str | None, Option(metavar="FIELD", help="Field to sort by; a minus before it reverses the order.")
    ] = None
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Print at most N records.")] = None
    page_size: Annotated[int | None, Option(min=1, max=5000, metavar="N", help="Records in one response.")] = None
    count: Annotated[bool, Option("--count", help="Print the number of records only.")] = False
    expand: ExpandOption = None
    as_json: OneLineOption = False
    others: Annotated[
        list[str] | None,
        Option("--filter", metavar="NAME=VALUE", help="Filter by a field that is not listed below. Repeatable."),
    ] = None

    def run(self) -> None:
        """List the records, and print each as it arrives."""
        filters = filters_of(_spec_of(self.resource).record, self.given, self.others or ())
        _run(lambda gateway: self._print(getattr(gateway, self.resource), filters))

    async def _print(self, resource: Any, filters: Mapping[str, Any]) -> None:
        if self.count:
            typer.echo(await resource.list(filters).count())
            return
        size = self.page_size or (min(self.limit, _PAGE_SIZE) if self.limit else None)
        printed = 0
        async for record in resource.list(filters, sort=self.sort, page_size=size, expand=_words(self.expand)):
            _print_record(record, compact=True)
            printed += 1
            if printed == self.limit:
                return


@attrs.frozen(kw_only=True, slots=False, repr=False)
class CreateCommand(_RequestBody):
    """Create a record, and print it as JSON.

    For the value of a field, @- reads standard input without showing what you type; use it for card numbers. @FILE
    reads a file.
    """

    def run(self) -> None:
        """Create the record."""
        self.write("create", "created")


@attrs.frozen(kw_only=True, slots=False, repr=False)
class UpdateCommand(_RequestBody, _OneRecord):
    """Change a record, and print it as JSON.

    For the value of a field, @- reads standard input without showing what you type; use it for card numbers. @FILE
    reads a file.
    """

    def run(self) -> None:
        """Change the record."""
        self.write("update", "updated", self.reference)


@attrs.frozen(kw_only=True, slots=False, repr=False)
class DeleteCommand(_OneRecord):
    """Delete a record."""

    def run(self) -> None:
        """Delete the record."""
        self.call("delete", self.reference)


def _has(resource: str, kind: type[_RecordCommand]) -> bool:
    if RESOURCES[resource].spec is None or not hasattr(RESOURCES[resource], _verb(kind)):
        return False
    return not issubclass(kind, _RequestBody) or bool(kind.requests(resource))


def _verb(kind: type[_RecordCommand]) -> str:
    return kind.__name__.removesuffix("Command").lower()


def _spec_of(resource: str) -> ResourceSpec[Any]:
    spec = RESOURCES[resource].spec
    assert spec is not None, resource  # noqa: S101  `_has` leaves others out
    return spec


class VerbGroup(Group):
    """The commands of a verb, one for each resource that has it."""

    def __init__(self, kind: type[_RecordCommand]) -> None:
        resources = {
            name: help_of(RESOURCES[name]).partition("\n")[0] for name in sorted(RESOURCES) if _has(name, kind)
        }
        options = {"name": _verb(kind), "help": help_of(kind), "no_args_is_help": True}
        super().__init__(resources, subcommand_metavar="RESOURCE [ARGS]...", **options)
        self._kind = kind

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find the command of a resource, whose name may have hyphens."""
        return super().get_command(ctx, cmd_name.replace("-", "_"))

    def make(self, name: str) -> Any:
        """Make a class with an option for each field of the resource, and its command."""
        kind, resource = self._kind, name.replace("-", "_")
        fields = {
            f"{_FIELD}{field}": attrs.field(type=_field_option(field, kind.panel, help_text), default=None)
            for field, help_text in _help_of_fields(kind, resource).items()
        }
        settings: Any = {"frozen": True, "kw_only": True, "slots": False, "repr": False}
        of_resource: Any = attrs.make_class(kind.__name__, fields, (kind,), {"resource": resource}, **settings)
        method = help_of(getattr(RESOURCES[resource], _verb(kind))).partition("\n")[0]
        return make_command(resource, of_resource, f"{method}\n\n{help_of(kind)}")


def _help_of_fields(kind: type[_RecordCommand], resource: str) -> Mapping[str, str]:
    """The fields of the requests or of the listed record, each with its help."""
    if issubclass(kind, _RequestBody):
        requests = kind.requests(resource)
        required = set[str].intersection(*({*required_names(request)} for request in requests))
        return {name: "Required." if name in required else "" for name in names_of(requests)}
    if issubclass(kind, ListCommand):
        names = fields_of(_spec_of(resource).record)
        return {name: _TIMES_HELP if name.endswith("_ts") else "" for name in names}
    return {}


def _field_option(name: str, panel: str, help_text: str) -> Any:
    option = Option(f"--{name.replace('_', '-')}", metavar="VALUE", rich_help_panel=panel, help=help_text)
    return Annotated[str | None, option]


GET: Final = VerbGroup(GetCommand)
LIST: Final = VerbGroup(ListCommand)
CREATE: Final = VerbGroup(CreateCommand)
UPDATE: Final = VerbGroup(UpdateCommand)
DELETE: Final = VerbGroup(DeleteCommand)


def _run(operation: Callable[[AsyncGateway], Awaitable[Any]], ledger: Path | None = None) -> Any:
    async def run() -> Any:
        async with AsyncGateway.from_env(ledger=SqliteLedger(ledger) if ledger else None) as gateway:
            return await operation(gateway)

    return anyio.run(run)


def _print_record(record: Record, *, compact: bool = False) -> None:
    """Print a record: in several lines on a terminal, in one line elsewhere or if `compact`.

    A record with characters that the output lacks, or that a terminal would interpret, is printed in ASCII.
    """
    indent, encoding = 2 if sys.stdout.isatty() and not compact else None, sys.stdout.encoding
    values = record.to_dict()
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    is_shown = text.replace("\n", "").isprintable() and text.encode(encoding, "replace").decode(encoding) == text
    typer.echo(text if is_shown else json.dumps(values, indent=indent))


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))
