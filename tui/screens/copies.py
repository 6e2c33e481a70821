"""What `y` does on every screen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from textual.app import App

from fcreview.sanitise import visible
from fcreview.tui.text.copying import osc52, write_copy


def copy_out(app: App[Any], text: str, folder: Path | None = None) -> str:
    """Copies to the clipboard, as far as the terminal allows, and to a file; says where."""
    path = write_copy(text, folder)
    sequence = osc52(text, os.environ)
    driver = app._driver
    if sequence is not None and driver is not None:
        driver.write(sequence)
        return f"copied, also to {visible(str(path))}"
    return f"too long for the clipboard: in {visible(str(path))}"
