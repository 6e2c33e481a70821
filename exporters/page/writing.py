"""A page put in its place: there whole, or what was there before."""

from __future__ import annotations

from pathlib import Path

from fcreview.exporters.base import ExportError
from fcreview.exporters.page.html import html
from fcreview.exporters.placing import new_file
from fcreview.reporting.blocks import Page


def write_html(path: Path, page: Page) -> None:
    """ExportError if the place cannot be written to."""
    try:
        with new_file(path) as file:
            file.write(html(page).encode())
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error
