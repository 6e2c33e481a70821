"""Copy text to a file and, with the OSC 52 escape sequence, to the clipboard of the terminal.

The file is needed because no terminal reports whether it set the clipboard.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from fcreview.model.sanitize import sanitize
from fcreview.safe_files import WorkspaceFiles

CLIPBOARD_LIMIT = 74_994
"""Maximum length, in bytes, of the base64 text that common terminals accept."""
COPY_FILE_NAME = "copied.txt"


class TerminalWriter(Protocol):
    """Object that writes escape sequences to the terminal, such as Textual's driver."""

    @property
    def is_web(self) -> bool:
        """Whether the terminal is in a browser."""

    def write(self, data: str) -> None: ...


def copy_text(text: str, folder: Path | None, terminal: TerminalWriter | None) -> str:
    """Copy the text to a file and, if it is short enough, to the clipboard. Return a message with the file's path.

    From a browser, no file is written.
    """
    if terminal is not None and terminal.is_web:
        if (sequence := osc52_sequence(text, {})) is None:
            return "too long for the clipboard"
        terminal.write(sequence)
        return "copied to the clipboard"
    path = sanitize(shorten_path(write_copy(text, folder)))
    sequence = osc52_sequence(text, os.environ)
    if sequence is None or terminal is None:
        return f"too long for the clipboard; written to {path}"
    terminal.write(sequence)
    return f"copied to the clipboard and to {path}"


def shorten_path(path: Path) -> str:
    """Return the shortest spelling of the path: absolute, relative to the current folder or relative to `~`."""
    names = [str(path), os.path.relpath(path)]
    if path.is_relative_to(Path.home()):
        names.append(f"~/{path.relative_to(Path.home())}")
    return min(names, key=len)


def osc52_sequence(text: str, env: Mapping[str, str]) -> str | None:
    """Return the escape sequence that sets the clipboard, or None if the text is too long.

    tmux accepts either the plain or the wrapped form, depending on its settings (`set-clipboard on` or
    `allow-passthrough on`), so both are sent. GNU screen needs the wrapped form.
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
    """Write the text to `copied.txt` in the workspace folder. If that is not possible, write a new temporary file."""
    data = text.encode("utf-8", "surrogatepass")
    if folder is not None:
        path = folder / COPY_FILE_NAME
        try:
            WorkspaceFiles(folder).write(path, data)
        except OSError:
            pass
        else:
            return path
    handle, name = tempfile.mkstemp(prefix="fcreview-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Path(name)
