"""`gateway-async migrate`: store a file of accounts in the vault.

`migrate verify`, `migrate journal` and `migrate fields` show the results and the fields.
"""

from contextlib import aclosing
from typing import Any, Final

import anyio
import attrs
import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gateway_async._text import pluralize
from gateway_async.cli.command import Command, Group, help_of, make_command
from gateway_async.cli.migrate.display import print_event, progress_bar
from gateway_async.cli.migrate.journal import FieldsCommand, JournalCommand
from gateway_async.cli.migrate.options import MigrationOptions, exit_on_usage_error
from gateway_async.cli.migrate.run import MigrationRun
from gateway_async.cli.migrate.verify import VerifyCommand
from gateway_async.cli.output import ExitStatus
from gateway_async.migration import Plan, plan_migration

__all__ = ["MIGRATE", "MigrateCommand"]


@attrs.frozen(kw_only=True, repr=False)
class MigrateCommand(MigrationOptions):
    """Store a file of cards and bank accounts in the vault.

    Run it again to continue where it stopped. Start with --plan, then with --max-rows 10. Then `migrate verify` reads
    back what was stored, and `migrate journal` lists the state of each row. `migrate fields` lists the fields that a
    column can fill.

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
        with exit_on_usage_error():
            self.check()
            status = self._show_plan() if self.plan else anyio.run(MigrationRun(self).run)
        raise typer.Exit(status)

    def _show_plan(self) -> int:
        plan = anyio.run(self._create_plan)
        self.input.check_has_rows(bool(plan.rows))
        print_event("plan", **plan.as_json()) if self.as_json else typer.echo(str(plan))
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


class _NamelessContext(typer.Context):
    """A context without a trailing blank in its usage line, for a command without a name."""

    @property
    def command_path(self) -> str:
        return super().command_path.rstrip()


class _DefaultCommand(Command):
    context_class = _NamelessContext


class _DefaultCommandGroup(Group):
    """A group that passes its arguments to `run` unless the first is a command's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command's name; completion of the first word offers the names of all commands."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the names of commands, and options of the default one."""
        default: Any = self.commands["run"]
        with default.make_context("", [], parent=ctx, resilient_parsing=True) as default_context:
            return [*super().shell_complete(ctx, incomplete), *default.shell_complete(default_context, incomplete)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Omit the default command's name in the usage line."""
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == "run" else name, command, rest


MIGRATE: Final = _DefaultCommandGroup(
    name="migrate",
    help=help_of(MigrateCommand).partition("\n")[0],
    commands=[
        make_command("run", MigrateCommand, _DefaultCommand),
        make_command("verify", VerifyCommand),
        make_command("journal", JournalCommand),
        make_command("fields", FieldsCommand),
    ],
)
