"""`gateway-async migrate`: store a file of accounts in the vault, and show its results and fields."""

from contextlib import aclosing

import anyio
import attrs
import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gateway_async._text import pluralize
from gateway_async.cli.migrate.display import progress_bar
from gateway_async.cli.migrate.options import MigrationOptions
from gateway_async.cli.migrate.run import MigrationRun
from gateway_async.cli.output import ExitStatus, print_json
from gateway_async.migration import Plan, plan_migration

__all__ = ["MigrateCommand"]


@attrs.frozen(kw_only=True, repr=False)
class MigrateCommand(MigrationOptions):
    """Store a file of cards and bank accounts in the vault.

    Start with --plan, then with --max-rows 10. Run it again to continue where it stopped. Afterwards, `migrate verify`
    reads back what was stored, and `migrate journal` lists the state of each row. `migrate fields` lists the fields
    that a column can fill.

    Ctrl-C finishes the calls in progress and shows the command that continues. A second Ctrl-C exits immediately; the
    journal stays consistent.

    Reads the GATEWAY_* variables of the environment.

    Exit status:
    - 0: every row is stored
    - 1: failure
    - 2: wrong usage or no rows, nothing was sent
    - 3: some rows are rejected or repeated; with --plan, some cannot be sent
    - 4: some rows are unknown, run it again
    - 5: stopped at a limit
    - 6: every row is stored, but the output is lost
    - 130, 143: stopped by Ctrl-C, by SIGTERM
    """

    def run(self) -> None:
        """Migrate, or show the plan."""
        self.check()
        status = self._show_plan() if self.plan else anyio.run(MigrationRun(self).run)
        raise typer.Exit(status)

    def _show_plan(self) -> int:
        plan = anyio.run(self._create_plan)
        self.input.check_has_rows(bool(plan.rows))
        print_json([{"event": "plan", **plan.as_json()}]) if self.as_json else typer.echo(str(plan))
        return ExitStatus.DONE if plan.ready == plan.rows else ExitStatus.ATTENTION

    async def _create_plan(self) -> Plan:
        columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        async with aclosing(self.input.rows()) as rows:
            with progress_bar(*columns, description="reading") as update:
                return await plan_migration(
                    rows,
                    rate=self.rate,
                    concurrency=self.concurrency,
                    on_progress=lambda count: update(
                        description=f"{count:,} {pluralize(count, 'row')} read",
                        total=rows.total,
                        completed=rows.position,
                    ),
                )
