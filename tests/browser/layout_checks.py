"""What is asked of every page in a browser."""

from __future__ import annotations

from tests.chromium import Browser

_WIDEST = """Math.max(...[...document.querySelectorAll('body *')].filter(each => !each.closest('thead'))
    .map(each => each.getBoundingClientRect().right))"""


def fits(browser: Browser, width: int) -> bool:
    """Nothing to scroll to sideways, and nothing cut off."""
    scrolled = browser.value("Math.max(document.documentElement.scrollWidth, innerWidth)")
    return bool(scrolled == width and browser.value(_WIDEST) <= width + 0.5)
