"""A migration's report as one self-contained HTML page: no script, no font, no network."""

from collections.abc import Iterable
from datetime import datetime
from html import escape
from typing import Final

from gateway_async.migration.output.chart import plot
from gateway_async.migration.output.summary import (
    Surroundings,
    duration,
    facts,
    failures,
    headline,
    local_time,
    rate_of,
)
from gateway_async.migration.report import Report

__all__ = ["page"]

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #16202b; --soft: #5b6775; --line: #dde3ea; --back: #f4f6f9; --card: #fff;
  --good: #0f7b4d; --warn: #a15c00; --bad: #bb2d3b; --rate: #2563c9; --limit: #6b7787; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf3; --soft: #9aa7b6; --line: #2c3743; --back: #10161d;
  --card: #18212b; --good: #4cc38a; --warn: #f0b354; --bad: #ff7b86; --rate: #6ea8ff; --limit: #9aa7b6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .9rem; }
.over { margin: 0 0 .35rem; color: var(--soft); font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; }
.verdict { margin: .6rem 0 1.8rem; font-size: 1.05rem; overflow-wrap: anywhere; }
.verdict::before { content: "●"; margin-right: .5em; }
.verdict.good::before { color: var(--good); } .verdict.warn::before { color: var(--warn); }
.verdict.bad::before { color: var(--bad); }
.tiles { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); margin: 0 0 1.25rem; }
.tiles div, section { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
.tiles div { padding: .9rem 1rem; border-top: 3px solid var(--tone, var(--line));
  display: flex; flex-direction: column; }
.tiles dt { color: var(--soft); font-size: .82rem; }
.tiles dd { margin: 0; font-size: 1.6rem; font-weight: 650; font-variant-numeric: tabular-nums; order: -1; }
section { padding: 1.15rem 1.25rem 1.25rem; margin-top: 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { padding: .45rem .5rem; text-align: left; border-top: 1px solid var(--line); overflow-wrap: anywhere;
  vertical-align: top; }
thead th { border-top: 0; color: var(--soft); font-weight: 500; font-size: .82rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 8rem; }
pre { margin: 0; padding: .85rem 1rem; border-radius: .5rem; background: var(--back); border: 1px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .88rem; }
.note { color: var(--soft); font-size: .9rem; margin: .8rem 0 0; }
.plot { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 38rem; height: auto; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .name { fill: var(--ink); font-size: 13px; font-weight: 600; }
svg .grid, svg .notch { stroke: var(--line); }
svg .line { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
svg .line.rate { stroke: var(--rate); } svg .line.trouble { stroke: var(--bad); }
svg .line.limit { stroke: var(--limit); }
svg .area { opacity: .16; } svg .area.rate { fill: var(--rate); } svg .area.trouble { fill: var(--bad); }
svg .area.limit { fill: none; }
svg .tip { fill: transparent; } svg .tip:hover { fill: var(--soft); opacity: .22; }
@media print { body { background: none; } section, .tiles div { break-inside: avoid; } }
"""

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Content security policy: the browser loads nothing, whatever the page contains."""

_TILES: Final = (
    ("stored", "Stored", "good"),
    ("rejected", "Rejected", "bad"),
    ("unknown", "Unknown", "warn"),
    ("skipped", "Skipped: stored before", "line"),
)


def page(
    report: Report,
    *,
    reasons: Iterable[tuple[str, int]] = (),
    again: str = "",
    ended: datetime | None = None,
    surroundings: Surroundings | None = None,
) -> str:
    """Return the report as a complete HTML page.

    Args:
        report: the results of the rows.
        reasons: the reasons of rejections, and the number of rows for each.
        again: the command that continues the migration, if something is left to do.
        ended: the end of the run; by default from the report.
        surroundings: the input, the journal and its counts, the rejects.
    """
    title = escape(report.name or "Migration")
    parts = [
        f'<p class="over">Migration{_when(ended, report)}</p><h1>{title}</h1>',
        f'<p class="verdict {_tone(report)}">{escape(headline(report))}</p>',
        _tiles(report),
        _facts(report, surroundings or Surroundings()),
        _course(report),
        _reasons(list(reasons)),
        _further(report, again),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{title}: {report.stored:,} stored</title>'
        f"<style>{_STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


def _when(ended: datetime | None, report: Report) -> str:
    shown = f"{ended:%Y-%m-%d %H:%M %z}".rstrip() if ended else local_time(report.ended)
    return f" · {shown}" if shown else ""


def _facts(report: Report, surroundings: Surroundings) -> str:
    rows = "".join(
        f'<tr><th scope="row">{name.capitalize()}</th><td>{escape(said)}</td></tr>'
        for name, said in facts(report, surroundings)
    )
    return f"<section><h2>What it was</h2><table><tbody>{rows}</tbody></table></section>" if rows else ""


def _tone(report: Report) -> str:
    if report.stopped:
        return "bad"
    return "warn" if report.unknown or report.rejected else "good"


def _tiles(report: Report) -> str:
    tiles = [
        f'<div style="--tone: var(--{tone if count else "line"})"><dt>{name}</dt><dd>{count:,}</dd></div>'
        for field, name, tone in _TILES
        for count in [getattr(report, field)]
    ]
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


def _course(report: Report) -> str:
    numbers = (
        f"{duration(report.seconds)} in all, {rate_of(report):,.0f} rows per second on average; "
        f"{escape(failures(report))}."
    )
    picture = plot(report.samples)
    framed = f'<div class="plot" tabindex="0">{picture}</div>' if picture else ""  # wider than a phone, so it scrolls
    return f'<section><h2>How it went</h2>{framed}<p class="note">{numbers}</p></section>'


def _reasons(reasons: list[tuple[str, int]]) -> str:
    if not reasons:
        return ""
    rows = "".join(f'<tr><td>{escape(reason)}</td><td class="number">{rows:,}</td></tr>' for reason, rows in reasons)
    head = '<thead><tr><th scope="col">Reason</th><th scope="col" class="number">Rows</th></tr></thead>'
    return f"<section><h2>Why rows were rejected</h2><table>{head}<tbody>{rows}</tbody></table></section>"


def _further(report: Report, again: str) -> str:
    if report.complete or not again:
        return ""
    note = "What is stored is not sent again, and what may have been sent is looked up first."
    return f'<section><h2>How to go on</h2><pre>{escape(again)}</pre><p class="note">{note}</p></section>'
