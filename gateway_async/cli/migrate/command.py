"""`gateway-async migrate FILE`: the command and its options."""

from pathlib import Path
from typing import Annotated, Final

import typer

from gateway_async.cli.migrate.options import CreateInput, add_input_options
from gateway_async.cli.migrate.plan import show_plan
from gateway_async.cli.migrate.run import run_migration
from gateway_async.cli.migrate.settings import OutputFiles, Settings
from gateway_async.cli.migrate.usage_errors import exit_on_usage_error

__all__ = ["run"]

_OUTPUTS: Final = "Output files"
_SPEED: Final = "Speed"
_LIMITS: Final = "Limits"
_CLUSTER: Final = "Several machines"


@add_input_options
def run(  # noqa: PLR0913  the options of a command
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The input: CSV, JSON Lines or Parquet; - is standard input.")
    ],
    *,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_OUTPUTS,
            help="The journal, from which the next run continues: a file or postgresql://…; "
            "by default the input's name with .journal.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_OUTPUTS, help="Write the vault id of each key: .csv, .tsv or .jsonl."
        ),
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_OUTPUTS,
            help="Write rows that are not stored, in the input's format, with their problems. Card numbers are masked.",
        ),
    ] = None,
    rejects_with_card_numbers: Annotated[
        bool,
        typer.Option(
            "--rejects-with-card-numbers",
            rich_help_panel=_OUTPUTS,
            help="Write rejected rows unmasked, so that they can be corrected. Only you can read the file.",
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_OUTPUTS, help="Write the report as an HTML page.")
    ] = None,
    report_json: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_OUTPUTS, help="Write the report as JSON.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=_OUTPUTS, help="Replace files that this command did not write.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Read the whole input and show what would be sent. Send nothing.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON each second and one at the end.")
    ] = False,
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Show the running migration in a browser, at this port of 127.0.0.1; 0 picks a free port.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the migration, from which rows without an id get one; by default the journal's name.",
        ),
    ] = None,
    retry_rejected: Annotated[
        bool,
        typer.Option("--retry-rejected", help="Send unchanged rows again that the gateway rejected before."),
    ] = False,
    concurrency: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=_SPEED,
            help="Maximum number of concurrent calls; fewer while the gateway is slow.",
        ),
    ] = 64,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, metavar="N", rich_help_panel=_SPEED, help="Maximum number of calls per second."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="22:00-06:00", rich_help_panel=_LIMITS, help="Run only in this time of day (local time)."),
    ] = None,
    wait_for_window: Annotated[
        bool, typer.Option("--wait-for-window", rich_help_panel=_LIMITS, help="Wait until the window opens.")
    ] = False,
    max_seconds: Annotated[
        float | None, typer.Option(min=0.001, metavar="N", rich_help_panel=_LIMITS, help="Stop after N seconds.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", rich_help_panel=_LIMITS, help="Store at most N rows in this run."),
    ] = None,
    max_rejected: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", rich_help_panel=_LIMITS, help="Stop when more than N rows are rejected or repeated."
        ),
    ] = None,
    create_input: CreateInput,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", rich_help_panel=_CLUSTER, help="Run on the workers of this Dask scheduler."),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(metavar="URL", rich_help_panel=_CLUSTER, help="The Redis through which workers share --rate."),
    ] = None,
) -> None:
    """Store a file of cards and bank accounts in the vault.

    Run it again to continue where it stopped. Start with --plan, then with --max-rows 10. Then `migrate verify` reads
    back what was stored, and `migrate journal` lists the state of each row. `migrate fields` lists the fields that a
    column can fill.

    Ctrl-C finishes the calls in progress and shows the command that continues. A second Ctrl-C exits immediately; the
    journal stays consistent.

    Exit status 0: every row is stored. 1: failure. 2: wrong usage or no rows, nothing was sent. 3: some rows are
    rejected or repeated; with --plan, some cannot be sent. 4: some are unknown, run it again. 5: stopped at a limit.
    6: every row is stored, but the output is lost. 130: Ctrl-C. 143: SIGTERM.
    Reads the GATEWAY_* variables of the environment.
    """
    with exit_on_usage_error():
        settings = Settings(
            input=create_input(file),
            outputs=OutputFiles(
                vault_ids=out,
                rejects=rejects,
                with_card_numbers=rejects_with_card_numbers,
                html_report=report,
                json_report=report_json,
                force=force,
            ),
            journal=journal,
            name=name,
            retry_rejected=retry_rejected,
            concurrency=concurrency,
            rate=rate,
            window=window,
            wait_for_window=wait_for_window,
            max_seconds=max_seconds,
            max_rows=max_rows,
            max_rejected=max_rejected,
            dask=dask,
            redis=redis,
            as_json=as_json,
            serve=serve,
            plan=plan,
        )
        status = int(show_plan(settings)) if plan else run_migration(settings)
    raise typer.Exit(status)
