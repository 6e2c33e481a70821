"""A key shows the annotation guidelines of the workspace on an item and on a disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fcreview.store.rows import View
from fcreview.tui.review.guidelines import MAX_GUIDELINES_BYTES, read_guidelines
from fcreview.tui.screens.pager import PagerScreen
from tests.tui.screens.test_adjudication import open_adjudication, workspace

__all__ = ["workspace"]


def test_guidelines_are_read_with_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "guidelines.md"
    assert read_guidelines(None) is None and read_guidelines(tmp_path) is None
    file.write_bytes(b"# Rules \xff\n")
    assert read_guidelines(tmp_path) == "# Rules \ufffd"
    file.write_bytes(b"a" * (MAX_GUIDELINES_BYTES + 1))
    assert read_guidelines(tmp_path) is None
    file.unlink()
    file.symlink_to("/etc/hostname")
    assert read_guidelines(tmp_path) is None, "a link may lead out of the workspace"


async def test_key_shows_the_guidelines(workspace: Any) -> None:
    options = {"adjudicate": False, "view": View(queue="dataset")}
    async with open_adjudication(workspace, (100, 30), **options) as person:
        await person.press("enter", "h")
        assert "no guidelines: write them to guidelines.md" in person.status()
        (workspace.root / "guidelines.md").write_text("# Pass if\n\nthe city \x1b[31mis right\n")
        lines = await person.press("h")
        assert isinstance(person.app.screen, PagerScreen) and "guidelines" in lines[0]
        text = "\n".join(lines)
        assert "# Pass if" in text and "\x1b" not in text
        await person.press("escape", "escape", "x", "h")
        assert isinstance(person.app.screen, PagerScreen)
