"""In a terminal, `open` continues as another annotator without the shell, and leaves the
terminal as it was.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.pty_program import TerminalApp


@pytest.mark.process
@pytest.mark.sweep
def test_open_continues_as_another_annotator(one_run: Path, environ: dict[str, str]) -> None:
    with TerminalApp(["open", one_run, "--where", "official:fail"], environ) as app:
        app.until("tester")
        app.until("official:fail")
        app.until("enter open")
        app.type("A")
        app.until("new name")
        app.type("\x1b[F\r")
        app.until("annotator name:")
        app.type("dora\r")
        app.until("Review as dora?")
        app.type("y")
        app.until("You now review as dora")
        app.until("enter open")
        app.type("\r")
        app.until("p pass")
        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored and b"Traceback" not in app.bytes
        assert "1 item reviewed" in app.text() and "dora.jsonl" in app.text()
    journals = sorted((one_run / ".fcreview" / "reviews").iterdir())
    assert [each.name for each in journals] == ["dora.jsonl"]
    assert [json.loads(line)["annotator"] for line in journals[0].read_text().splitlines()] == [
        "dora"
    ]
