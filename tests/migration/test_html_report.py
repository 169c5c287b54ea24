"""The report as a page: what it says, and that a browser shows it without asking anybody for anything."""

import json
import os
import subprocess
from collections import Counter
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import attrs
import pytest

from gateway_async.migration import Report, Sample
from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.summary import RunContext, as_values, duration, headline
from gateway_async.migration.report import count_reasons

CHROMIUM = os.environ.get("GATEWAY_TEST_CHROMIUM")
SAMPLES = [Sample(second * 0.5, second * 500, second // 4, 16 + second % 48) for second in range(200)]
STOPPED = Report(
    "cards <b>&</b>",
    stored=99_000,
    rejected=480,
    unknown=20,
    skipped=1_000,
    stopped="it is past the window 22:00-06:00",
    seconds=99.5,
    failed_attempts=49,
    limit=64,
    samples=SAMPLES,
)
REASONS = [('exp_date: must be MMYY, not "<script>"', 400), ("account_number: fails the check digit", 80)]
AGAIN = "gateway-async migrate 'my cards.csv' --journal cards.journal"
CONTEXT = RunContext(reasons=REASONS, resume_command=AGAIN)
NOTHING = RunContext()
VOID = {"meta", "link"}


class Outline(HTMLParser):
    """Collects a page's elements, checks that they are closed, and collects its addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(html: str) -> Outline:
    found = Outline()
    found.feed(html)
    assert found.open == []
    return found


def test_the_page_says_how_it_ended() -> None:
    html = render_page(attrs.evolve(STOPPED, ended_at=datetime(2026, 11, 21, 23, 59).astimezone()), CONTEXT)
    for shown in ("100,000", "480", "it is past the window", "check digit", "1 min 40 s", "2026-11-21 23:59"):
        assert shown in html
    assert "cards &lt;b&gt;&amp;&lt;/b&gt;" in html
    assert "gateway-async migrate &#39;my cards.csv&#39;" in html
    found = outline(html)
    assert "script" not in found.seen
    (icon,) = found.addresses
    assert icon.startswith("data:image/svg+xml,")
    assert html.count('role="img"') == 1


def test_the_picture_shows_every_curve() -> None:
    html = render_page(STOPPED, NOTHING)
    for name in ("Rows per second", "Failed attempts per second", "Concurrent calls allowed"):
        assert f">{name}</text>" in html
    assert "up to 1,000 rows per second" in html
    assert html.count('class="line') == 3


def test_nothing_to_show_is_no_picture() -> None:
    html = render_page(Report("cards"), NOTHING)
    assert "Nothing to migrate" in html
    assert "svg" not in outline(html).seen
    assert "How to continue" not in render_page(Report("cards", stored=1), CONTEXT)


@pytest.mark.parametrize("seconds", [0.05, 3.0, 59.0, 3600.0, 400_000.0])
def test_any_length_has_a_readable_axis(seconds: float) -> None:
    samples = [Sample(seconds * part / 600, part, 0, 8) for part in range(601)]
    html = render_page(Report("cards", stored=600, seconds=seconds, samples=samples), NOTHING)
    assert 2 <= html.count('class="time"') <= 9
    assert html.count('class="tip"') <= 3 * 121


def test_a_short_rest_is_no_peak() -> None:
    samples = [Sample(0.1 * part, 10 * part, 0, 8) for part in range(1, 100)]
    html = render_page(Report("cards", samples=[*samples, Sample(9.901, 999, 0, 8)]), NOTHING)
    assert "up to 188 rows per second" in html  # and not 9,000


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report(stored=2), "Complete: every row is stored."),
        (Report(stored=2, rejected=1), "Every row has ended; 1 of 3 were rejected."),
        (Report(unknown=3), "Every row has ended; the outcome of 3 is unknown."),
        (Report(stopped="the key is wrong."), "Stopped before the end: the key is wrong."),
    ],
)
def test_how_it_ended_is_one_sentence(report: Report, said: str) -> None:
    assert headline(report) == said


def test_lengths_of_time_are_for_people() -> None:
    assert [duration(each) for each in (0.04, 59.9, 200, 7500)] == ["0.0 s", "1 min 00 s", "3 min 20 s", "2 h 05 min"]


def test_the_report_as_plain_values() -> None:
    values = json.loads(json.dumps(as_values(STOPPED, CONTEXT)))
    assert (values["rows"], values["complete"], values["rows_per_second"]) == (100_500, False, 1000.0)
    assert values["reasons"][1] == {"reason": REASONS[1][0], "rows": 80}


def test_reasons_are_counted_without_what_is_of_one_row() -> None:
    reasons = Counter[str]()
    for number in range(3):
        said = (
            f"key: line {number} has the same key",
            f"key: line {number} is stored under this key with other content",
            f"account_number: fails the check digit, ends in 000{number}",
        )
        count_reasons(reasons, said)
    assert reasons.most_common(9) == [
        ("key: another line has the same key", 3),
        ("key: a line is stored under this key with other content", 3),
        ("account_number: fails the check digit", 3),
    ]


@pytest.mark.skipif(CHROMIUM is None, reason="GATEWAY_TEST_CHROMIUM names no browser")
@pytest.mark.parametrize(
    ("html", "complains"),
    [
        (render_page(STOPPED, CONTEXT), False),
        (render_page(Report("cards"), NOTHING), False),
        (render_page(STOPPED, NOTHING).replace("<main>", '<main><img src="http://127.0.0.1:9/dot.png">'), True),
    ],
    ids=["stopped", "nothing", "asking gateway_mismatch"],
)
def test_a_browser_shows_it(tmp_path: Path, html: str, complains: bool) -> None:
    file = tmp_path / "report.html"
    file.write_text(html, encoding="utf-8")
    ended = subprocess.run(  # noqa: S603  a browser on our own file
        [
            str(CHROMIUM),
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--no-first-run", "--enable-logging=stderr", "--log-level=0"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"),
            *("--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (ended.returncode, "<h1>cards" in ended.stdout) == (0, True)
    assert ("CONSOLE" in ended.stderr) is complains
