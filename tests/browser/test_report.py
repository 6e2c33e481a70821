"""The HTML report in a browser: no requests, no console errors, readable on phone, desktop and
paper.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.exporters.report_pages import SORT_SCRIPT, render_html
from fcreview.exporters.report_sections import (
    Card,
    Paragraph,
    ReportPage,
    Section,
)
from fcreview.tables.table import Bar, Cell, Row, Whisker, make_row, make_table
from tests.browser.layout_checks import fits_window
from tests.chromium import Browser
from tests.cli.conftest import Cli

pytestmark = [pytest.mark.sweep, pytest.mark.process]

WIDTHS = (320, 390, 768, 901, 1000, 1200)
PAPER = 680
"""Width between the margins of A4, in CSS pixels."""
SMALLEST = 11
"""Smallest allowed font size, in CSS pixels."""
FONTS = """Math.min(...[...document.querySelectorAll('td, th, p, li')]
    .map(each => parseFloat(getComputedStyle(each).fontSize)))"""
LONG = "parallel_multiple_function_" * 20
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy".*\n')


@pytest.fixture(scope="module")
def report(
    module_cli: Cli, imported_templates: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A report with reviews, a sample with its estimate, calibration and agreement."""
    place = tmp_path_factory.mktemp("report")
    two_imported_runs = shutil.copytree(imported_templates / "two", place / "runs")
    sample = ("--run", "maple", "--name", "p", "--size", "4", "--annotators", "alice")
    made = module_cli("queue", "create", two_imported_runs, *sample)
    assert made.code == 0, made.err
    for at, item in enumerate(
        module_cli("queue", "show", two_imported_runs, "p", "--json").objects[1:]
    ):
        for name in ("alice", "bob")[: 1 + (at == 0)]:
            said = (
                "--run",
                "maple",
                "--annotator",
                name,
                "--verdict",
                "pass" if at % 2 else "fail",
            )
            assert module_cli("label", two_imported_runs, item["id"], *said).code == 0
    target = place / "report.html"
    assert module_cli("report", two_imported_runs, "--html", target).code == 0
    return target


def hostile(folder: Path) -> Path:
    """Write a report with very long words and with markup in every text."""
    texts = [
        LONG,
        '"><img src=http://evil.example/x onerror=alert(1)>',
        "<script>document.title = 'evil'</script>",
    ]
    rows = [[text, text, "1,234", text, "91.2 % [85.0, 95.1]", text, text] for text in texts]
    estimates = make_table([LONG, "official", "estimate", "over"], [], (1, 2))
    texts_of_estimate = [LONG, "99.99 %", "79.45 % [71.90 %, 85.60 %], 1,000 drawn", LONG]
    figures = replace(
        estimates,
        rows=[
            make_row(texts_of_estimate, level=level, graphic=Whisker(0.2, 0.4, 0.9))
            for level in range(5)
        ],
        graphic_at=3,
    )
    heads = [LONG, "items", "overall", *["a_long_category_name"] * 18]
    cells = [Cell(text) for text in (LONG, "1,000", "99.9 of 900")]
    cells += [Cell("100.0", value=1.0), Cell("–")] * 9
    rates = replace(make_table(heads, [], range(1, 21)), rows=[Row(cells)] * 50, heat_from=3)
    reasons = replace(
        make_table(["items", LONG, "error type"], []),
        rows=[make_row(["9,999", LONG, LONG], graphic=Bar(0.5))],
        graphic_at=1,
    )
    numbers = make_table(["", "people: pass", "people: fail"], [[LONG, "1,000", "2"]], (1, 2))
    heads = [*texts, "chosen", "value", "why", "question"]
    blocks = [Paragraph(LONG), figures, numbers, make_table(heads, rows, (2, 4))]
    summary = [Section(LONG, [rates, reasons, *blocks])]
    details = [
        Section(LONG, blocks, [Section(texts[1], blocks)]),
        Section(texts[2], blocks, is_folded=False),
    ]
    page = ReportPage(LONG, texts, [Card(LONG, LONG, LONG)] * 4, summary, details)
    target = folder / "hostile.html"
    target.write_text(render_html(page))
    return target


def test_report_makes_no_requests_and_logs_no_errors(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    for page in (report, hostile(tmp_path)):
        seen = browser.open(page)
        assert (seen.requests, seen.complaints) == ([page.as_uri()], [])
        assert browser.value("document.images.length") == 0
        assert (
            browser.value("document.scripts.length === 1 && document.scripts[0].text")
            == SORT_SCRIPT
        )
        assert browser.value("document.querySelectorAll('table').length") > 3
        assert browser.value("document.title") != "evil"


def test_browser_records_requests_and_errors(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.html"
    picture = '<body><img src="there.png"><div style="width: 2000px">x</div>'
    bad.write_text(report.read_text().replace("<body>", picture))
    assert browser.open(bad).complaints, "what the page forbids itself is told"
    bad.write_text(POLICY.sub("", bad.read_text()))
    assert browser.open(bad).requests == [bad.as_uri(), (tmp_path / "there.png").as_uri()]
    browser.look(390, phone=True)
    assert not fits_window(browser, 390)


def test_nothing_is_wider_than_the_window(browser: Browser, report: Path, tmp_path: Path) -> None:
    for page in (report, hostile(tmp_path)):
        browser.open(page)
        for width in WIDTHS:
            browser.look(width, phone=width < 500)
            assert fits_window(browser, width), (page.name, width)
            assert browser.value(FONTS) >= SMALLEST


def test_rows_become_cards_on_a_phone_and_narrow_tables_stay(
    browser: Browser, report: Path
) -> None:
    browser.open(report)
    browser.look(390, phone=True)
    browser.value("document.querySelectorAll('details').forEach(each => { each.open = true })")
    shown = "getComputedStyle(document.querySelector('{}')).display"
    assert browser.value(shown.format(".cards:not(.heat) tbody td")) == "block"
    assert browser.value(shown.format(".numbers tbody td")) == "table-cell"
    browser.look(1200)
    assert browser.value(shown.format(".cards tbody td")) == "table-cell"


def test_details_are_folded_and_tables_can_be_sorted(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.look(1200)
    assert browser.value("document.querySelectorAll('details').length") > 5
    assert browser.value("document.querySelectorAll('details[open]').length") == 0
    runs = "[...document.querySelectorAll('.heat tbody tr')].map(row => row.cells[0].textContent)"
    assert browser.value(runs) == ["birch", "maple"]
    head = "document.querySelectorAll('.heat th')[2]"
    for order, names in (("descending", ["birch", "maple"]), ("ascending", ["maple", "birch"])):
        browser.value(f"{head}.click()")
        assert (browser.value(f"{head}.getAttribute('aria-sort')"), browser.value(runs)) == (
            order,
            names,
        )


def test_numbers_are_never_broken(browser: Browser, report: Path) -> None:
    """A line may break before an interval, but never inside a number."""
    lines = """[...document.querySelectorAll('td.right:not(:has(.chip))')]
        .filter(each => !each.textContent.includes('['))
        .filter(each => { const text = document.createRange(); text.selectNodeContents(each);
                          return new Set([...text.getClientRects()].map(one => Math.round(one.top))).size > 1 })
        .map(each => each.textContent)"""
    browser.open(report)
    for width in (390, 901, 1200):
        browser.look(width, phone=width < 500)
        assert browser.value(lines) == []


def count_pages(browser: Browser) -> int:
    """Return the number of pages on paper."""
    paper = browser.pdf()
    assert paper.startswith(b"%PDF-")
    return paper.count(b"/Type /Page\n")


def test_the_summary_prints_on_one_page_and_the_details_follow(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    for page in (report, hostile(tmp_path)):
        browser.open(page)
        browser.look(PAPER, media="print")
        assert fits_window(browser, PAPER), "else the printer would shrink it"
        assert (
            browser.value("getComputedStyle(document.querySelector('tbody tr')).breakInside")
            == "avoid"
        )
        folded = "[...document.querySelectorAll('details')].map(each => each.offsetHeight > 60)"
        assert True in browser.value(folded), "the content of a folded section is printed"
        browser.look(1200)
    browser.open(report)
    n_pages = count_pages(browser)
    browser.value("document.querySelector('section.details').remove()")
    assert count_pages(browser) == 1 < n_pages
