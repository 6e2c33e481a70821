"""Layout checks for all pages."""

from __future__ import annotations

from tests.chromium import Browser

_WIDEST = """Math.max(...[...document.querySelectorAll('body *')].filter(each => !each.closest('thead'))
    .map(each => each.getBoundingClientRect().right))"""


def fits_window(browser: Browser, width: int) -> bool:
    """Return whether the page has no horizontal scrolling and no element beyond the window."""
    scrolled = browser.value("Math.max(document.documentElement.scrollWidth, innerWidth)")
    return bool(scrolled == width and browser.value(_WIDEST) <= width + 0.5)
