"""`gateway-async migrate FILE`: the command and its options."""

from pathlib import Path
from typing import Annotated, Final

import typer

from gateway_async.cli.migrate import options
from gateway_async.cli.migrate.usage_errors import refusing

__all__ = ["run"]

_WRITTEN: Final = "What is written"
_PACE: Final = "How fast"
_END: Final = "When it stops"
_SEVERAL: Final = "Several machines"


def run(  # noqa: PLR0913  the options of a command
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, JSON Lines or Parquet; - for standard input.")],
    *,
    journal: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WRITTEN,
            help="Where it keeps what was done, so that it can go on: a file, or postgresql://…; "
            "by default the input's name with .journal.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_WRITTEN, help="Which key became which account: .csv, .tsv or .jsonl."
        ),
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_WRITTEN,
            help="Rejected rows as they stand in the input, with a column that says why. Card numbers are masked.",
        ),
    ] = None,
    rejects_with_card_numbers: Annotated[
        bool,
        typer.Option(
            "--rejects-with-card-numbers",
            rich_help_panel=_WRITTEN,
            help="Do not mask them, so that the mended file can be migrated. Only you may read the file.",
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_WRITTEN, help="The report as an HTML page.")
    ] = None,
    report_json: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_WRITTEN, help="The report as JSON.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=_WRITTEN, help="Replace files that it did not write.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Send nothing: read everything, and say what would happen.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON a second and one at the end, for programs.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Of the migration; rows without an id get one made of it. By default the journal's."),
    ] = None,
    retry_rejected: Annotated[
        bool,
        typer.Option(
            "--retry-rejected", help="Send rows again that the gateway refused before, though they are unchanged."
        ),
    ] = False,
    concurrency: Annotated[
        int, typer.Option(min=1, rich_help_panel=_PACE, help="Calls at once, at most; fewer when the gateway is slow.")
    ] = 64,
    rate: Annotated[
        float | None, typer.Option(min=0.001, metavar="N", rich_help_panel=_PACE, help="Calls a second, at most.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="22:00-06:00", rich_help_panel=_END, help="The local time of day in which it may run."),
    ] = None,
    wait_for_window: Annotated[
        bool, typer.Option("--wait-for-window", rich_help_panel=_END, help="Start when the window opens.")
    ] = False,
    max_seconds: Annotated[
        float | None, typer.Option(min=0.001, metavar="N", rich_help_panel=_END, help="Stop after so many seconds.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", rich_help_panel=_END, help="Store no more rows than that in this run."),
    ] = None,
    max_rejected: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", rich_help_panel=_END, help="Stop when more rows than that are rejected."),
    ] = None,
    columns: options.ColumnsFile = None,
    mapped: options.Mapped = None,
    constants: options.Constants = None,
    key: options.Key = None,
    ignored: options.Ignored = None,
    kind: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", rich_help_panel=_SEVERAL, help="Have the workers of this Dask scheduler do it."
        ),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(metavar="URL", rich_help_panel=_SEVERAL, help="The Redis by which workers share --rate."),
    ] = None,
) -> None:
    """Store a file of cards and bank accounts in the vault, each once.

    Run it again, and it goes on where it stopped. Start with --plan, go on
    with --max-rows 10. Afterwards: gateway-async migrate verify --help, which
    reads back what was stored, and gateway-async migrate journal --help, which
    lists the state of each row. gateway-async migrate fields lists what a
    column can be.

    Ctrl-C finishes what is under way and says how to go on. A second Ctrl-C
    exits immediately; the journal stays consistent.

    Exit status: 0 every row is stored; 3 some were rejected; 4 some are
    unknown, so run it again; 5 stopped where it was told to; 1 it failed or gave
    up; 2 wrong usage, nothing was sent; 130 after Ctrl-C; 143 after SIGTERM.
    Reads the GATEWAY_* variables of the environment.
    """
    from gateway_async.cli.migrate.settings import Order, WrittenFiles

    with refusing():
        order = Order(
            input=options.input_of(
                file,
                columns=columns,
                mapped=mapped,
                constants=constants,
                key=key,
                ignored=ignored,
                kind=kind,
                encoding=encoding,
                delimiter=delimiter,
            ),
            files=WrittenFiles(
                out=out,
                rejects=rejects,
                with_card_numbers=rejects_with_card_numbers,
                page=report,
                json=report_json,
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
            plan=plan,
        )
        if plan:
            from gateway_async.cli.migrate.plan import show_plan

            show_plan(order)
            return
        from gateway_async.cli.migrate.run import carry_out

        status = carry_out(order)
    raise typer.Exit(status)
