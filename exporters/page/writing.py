"""A page put in its place: there whole, or what was there before."""

from __future__ import annotations

from pathlib import Path

from fcreview.exporters.page.html import html
from fcreview.exporters.placing import write_file
from fcreview.reporting.blocks import Page


def write_html(path: Path, page: Page) -> None:
    """ExportError if the place cannot be written to."""
    write_file(path, html(page).encode())
