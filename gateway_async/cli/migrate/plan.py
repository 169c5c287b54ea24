"""`gateway-async migrate --plan`: show what a migration would do."""

import json
from contextlib import aclosing

import anyio
import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gateway_async._text import pluralize
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.migrate.display import progress_bar
from gateway_async.cli.migrate.settings import Settings
from gateway_async.migration.plan import Plan, plan_migration

__all__ = ["show_plan"]


def show_plan(settings: Settings) -> ExitStatus:
    """Read all rows and print what a migration would do; nothing is sent. Return the exit status.

    Raises:
        InvalidRequestError: the input cannot be read, or has no rows.
    """
    plan = anyio.run(_create_plan, settings)
    settings.input.check_has_rows(bool(plan.rows))
    typer.echo(json.dumps({"event": "plan", **plan.as_json()}, default=str) if settings.as_json else str(plan))
    return ExitStatus.DONE if plan.ready == plan.rows else ExitStatus.ATTENTION


async def _create_plan(settings: Settings) -> Plan:
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    async with aclosing(settings.input.rows()) as rows:
        with progress_bar(*columns, description="reading") as update:
            return await plan_migration(
                rows,
                rate=settings.rate,
                concurrency=settings.concurrency,
                on_progress=lambda count: update(
                    description=f"{count:,} {pluralize(count, 'row')} read", total=rows.total, completed=rows.position
                ),
            )
