"""Run one call of a command against the gateway of the environment."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import typer

from gateway_async import ApiId, AsyncGateway, GatewayError, SqliteLedger
from gateway_async.cli.errors import fail_with, printing
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.records.resources import spec_of
from gateway_async.models.record import Record

__all__ = ["count", "execute", "print_list", "reference"]

_PAGE_SIZE = 1000
_DONE = {"create": "created", "update": "updated"}


def reference(record_id: str, *, api_id: bool, location_id: str | None) -> str | ApiId:
    """Return the id of a record as the client takes it."""
    return ApiId(record_id, location_id) if api_id else record_id


def execute(
    resource: str, method: str, *values: Any, as_json: bool = False, ledger: Path | None = None, **options: Any
) -> None:
    """Run a method of a resource, and print its record.

    A declined payment ends with its own exit status.
    """
    record = _run(lambda gateway: getattr(getattr(gateway, resource), method)(*values, **options), ledger)
    if record is None:
        return
    status = ExitStatus.ATTENTION if getattr(record, "declined", False) else ExitStatus.DONE
    with printing(status, done=_describe(resource, method, record)):
        _print_record(record, compact=as_json)


def _print_record(record: Record, *, compact: bool = False) -> None:
    """Print a record: in several lines on a terminal, in one line elsewhere or if `compact`."""
    indent = 2 if sys.stdout.isatty() and not compact else None
    typer.echo(json.dumps(record.to_dict(), indent=indent, ensure_ascii=False))


def _describe(resource: str, method: str, record: Any) -> str:
    """Say what a method did to a record; "" if it only read it."""
    if method not in _DONE:
        return ""
    declined = " and declined" if getattr(record, "declined", False) else ""
    return f"{spec_of(resource).name} {record.id} was {_DONE[method]}{declined}"


def print_list(
    resource: str,
    filters: Mapping[str, Any],
    *,
    sort: str | None,
    limit: int | None,
    page_size: int | None,
    expand: Sequence[str],
) -> None:
    """Print the records of a list as they arrive, one a line."""
    size = page_size or (min(limit, _PAGE_SIZE) if limit else None)

    async def run(gateway: AsyncGateway) -> None:
        printed = 0
        pages: AsyncIterator[Record] = getattr(gateway, resource).list(
            filters, sort=sort, page_size=size, expand=expand
        )
        async for record in pages:
            _print_record(record, compact=True)
            printed += 1
            if printed == limit:
                return

    _run(run)


def count(resource: str, filters: Mapping[str, Any]) -> None:
    """Print the number of the records of a list."""

    async def run(gateway: AsyncGateway) -> int:
        number: int = await getattr(gateway, resource).list(filters).count()
        return number

    typer.echo(_run(run))


def _run(operation: Callable[[AsyncGateway], Awaitable[Any]], ledger: Path | None = None) -> Any:
    async def run() -> Any:
        async with AsyncGateway.from_env(ledger=SqliteLedger(ledger) if ledger else None) as gateway:
            return await operation(gateway)

    try:
        return anyio.run(run)
    except GatewayError as error:
        fail_with(error)
