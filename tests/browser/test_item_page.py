"""`show --html` in a browser: layout on phone, desktop and paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.browser.layout_checks import fits_window
from tests.chromium import Browser
from tests.cli.conftest import Cli

pytestmark = [pytest.mark.sweep, pytest.mark.process]

WIDTHS = {320: "narrow", 390: "narrow", 700: "narrow", 701: "wide", 768: "wide", 1200: "wide"}
PAPER = 680
"""Width between the margins of A4, in CSS pixels."""
SHOWN = """[...new Set([...document.querySelectorAll('main > pre')]
    .filter(each => getComputedStyle(each).display !== 'none').map(each => each.className))].join()"""
BROKEN = """[...document.querySelectorAll('main > pre')].filter(each => getComputedStyle(each).display !== 'none')
    .filter(each => { const text = document.createRange(); text.selectNodeContents(each);
        const rows = new Set([...text.getClientRects()].map(one => Math.round(one.top))).size;
        return rows > each.textContent.split('\\n').length }).length"""
"""Number of texts with a line that the browser wrapped."""
READ = """[...document.querySelectorAll('main > *')].filter(each => getComputedStyle(each).display !== 'none')
    .map(each => each.textContent).join(' ')"""
VALUE = "a very long value, " * 40 + "to its end"


@pytest.fixture(scope="module")
def page(module_cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an item with a very long corrected golden answer."""
    place = tmp_path_factory.mktemp("page")
    run, target = place / "run", place / "item.html"
    assert module_cli("demo", "--all", "--into", run).code == 0
    fix = json.dumps(
        {"ground_truth": [{"timer.start": {"minutes": [30], "name": [VALUE, "x" * 300]}}]}
    )
    item = (run / "bfcl", "live_simple_3-3-0", "--run", "maple-8b")
    done = module_cli("label", *item, "--golden-fix", fix, "--reason", "so asked")
    assert done.code == 0, done.err
    errata = place / "errata.jsonl"
    assert module_cli("errata", "create", run / "bfcl", "-o", errata).code == 0
    assert module_cli("show", *item, "--errata", errata, "--html", target).code == 0
    return target


def test_page_fits_every_width_and_makes_no_requests(browser: Browser, page: Path) -> None:
    seen = browser.open(page)
    assert (seen.requests, seen.complaints) == ([page.as_uri()], [])
    for width, layout in WIDTHS.items():
        browser.look(width, phone=width < 500)
        assert (browser.value(SHOWN), fits_window(browser, width)) == (layout, True), width
        assert browser.value("parseFloat(getComputedStyle(document.body).fontSize)") >= 11
        if layout == "wide":
            assert browser.value(BROKEN) == 0, width


def test_cut_values_can_be_unfolded_at_every_width(browser: Browser, page: Path) -> None:
    browser.open(page)
    for width in (390, 1200):
        browser.look(width, phone=width < 500)
        browser.value("document.querySelectorAll('details').forEach(each => each.open = true)")
        said = browser.value(READ)
        assert "…" in said and VALUE in said and "timer.start" in said
        assert fits_window(browser, width)


def test_print_layout_equals_desktop_layout(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.look(PAPER, media="print")
    assert (browser.value(SHOWN), browser.value(BROKEN), fits_window(browser, PAPER)) == (
        "wide",
        0,
        True,
    )
    browser.look(1200)
    assert browser.pdf().startswith(b"%PDF-")
