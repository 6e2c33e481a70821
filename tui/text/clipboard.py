"""Copying out of the terminal: OSC 52 for the clipboard, and always a file: no terminal says whether it obeyed."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from fcreview.model.sanitize import visible

CLIPBOARD_LIMIT = 74_994
"""Bytes of base64 that common terminals take."""
FILE = "copied.txt"


class Terminal(Protocol):
    """What takes sequences for the terminal: Textual's driver."""

    def write(self, data: str) -> None: ...


def copied(text: str, folder: Path | None, terminal: Terminal | None) -> str:
    """Copies to the clipboard, as far as the terminal allows, and to a file; says where."""
    path = visible(shortest(write_copy(text, folder)))
    sequence = osc52(text, os.environ)
    if sequence is None or terminal is None:
        return f"too long for the clipboard: in {path}"
    terminal.write(sequence)
    return f"copied, also to {path}"


def shortest(path: Path) -> str:
    """The path as it is shortest to type from here: from the current folder, from home, or whole."""
    names = [str(path), os.path.relpath(path)]
    if path.is_relative_to(Path.home()):
        names.append(f"~/{path.relative_to(Path.home())}")
    return min(names, key=len)


def osc52(text: str, env: Mapping[str, str]) -> str | None:
    """The sequence that sets the clipboard; None if the text is too long for it.

    tmux hands it on in one of two ways, depending on its settings (`set-clipboard on`, or `allow-passthrough on`),
    so it is given both; GNU screen needs it wrapped, too.
    """
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(encoded) > CLIPBOARD_LIMIT:
        return None
    plain = f"\x1b]52;c;{encoded}\x07"
    if env.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY"):
        return f"\x1bP{plain}\x1b\\"
    return plain


def write_copy(text: str, folder: Path | None) -> Path:
    """Writes the text to `copied.txt` in the workspace folder, or to a new temporary file if that is not possible."""
    data = text.encode("utf-8", "surrogatepass")
    if folder is not None:
        path = folder / FILE
        try:
            path.write_bytes(data)
        except OSError:
            pass
        else:
            return path
    handle, name = tempfile.mkstemp(prefix="fcreview-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Path(name)
