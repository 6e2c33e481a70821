"""The `y` key copies text to the clipboard and writes it to a file."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from fcreview.tui.text.clipboard import copy_text, osc52_sequence, write_copy


def test_sequence_contains_base64_text_only() -> None:
    sent = osc52_sequence("\x1b[31m杭州", {})
    assert sent is not None and sent.startswith("\x1b]52;c;") and sent.endswith("\x07")
    assert base64.b64decode(sent[7:-1]).decode() == "\x1b[31m杭州"


def test_sequence_is_wrapped_for_tmux_and_screen() -> None:
    plain = osc52_sequence("a", {})
    assert plain is not None
    assert osc52_sequence("a", {"TMUX": "x"}) == plain + "\x1bPtmux;\x1b" + plain + "\x1b\\"
    assert osc52_sequence("a", {"STY": "x"}) == f"\x1bP{plain}\x1b\\"


def test_long_text_is_only_written_to_the_file(tmp_path: Path) -> None:
    text = "x" * 80_000 + "\ud800"
    assert osc52_sequence(text, {}) is None
    assert write_copy(text, tmp_path).read_bytes() == text.encode("utf-8", "surrogatepass")


def test_missing_folder_is_replaced(tmp_path: Path) -> None:
    path = write_copy("kept", tmp_path / "absent")
    assert path.read_text() == "kept"
    path.unlink()


def test_shortest_path_of_the_file_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("a-long-name-" * 8) / ".fcreview"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep.parent)
    assert copy_text("text", deep, None) == "too long for the clipboard; written to .fcreview/copied.txt"
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", str(deep.parent))
    assert copy_text("text", deep, None).endswith("to ~/.fcreview/copied.txt")
