"""`gateway-async migrate --plan`: show what a migration would do."""

import json
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
import attrs
import typer
from rich.console import Console

from gateway_async.cli.migrate.settings import Settings

__all__ = ["show_plan"]


def show_plan(settings: Settings) -> None:
    """Read all rows and print what a migration would do; nothing is sent."""
    from gateway_async.migration import Plan, plan_migration

    async def create_plan() -> Plan:
        async with aclosing(settings.input.rows()) as rows:
            with _progress_bar(rows, Console(stderr=True)) as show:
                return await plan_migration(
                    rows, rate=settings.rate, concurrency=settings.concurrency, on_progress=show
                )

    plan = anyio.run(create_plan)
    typer.echo(json.dumps({"event": "plan", **attrs.asdict(plan)}, default=str) if settings.as_json else str(plan))


@contextmanager
def _progress_bar(rows: Any, console: Console) -> Iterator[Callable[[int], object]]:
    """Show a progress bar on a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("reading", total=None)
        yield lambda count: progress.update(
            bar, description=f"{count:,} rows read", total=rows.total, completed=rows.position
        )
