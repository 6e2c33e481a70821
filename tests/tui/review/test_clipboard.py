"""Items are copied as text, Markdown and JSON, to the clipboard and to a file."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path

import pytest

from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.review.clipboard import (
    copy_text,
    format_call_diff,
    format_item_json,
    format_item_markdown,
    format_open_command,
    format_target_calls,
    osc52_sequence,
    write_copy_file,
)
from tests.sharing import Imports
from tests.store.factory import make_item


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
    assert write_copy_file(text, tmp_path).read_bytes() == text.encode("utf-8", "surrogatepass")


def test_missing_folder_is_replaced(tmp_path: Path) -> None:
    path = write_copy_file("kept", tmp_path / "absent")
    assert path.read_text() == "kept"
    path.unlink()


def test_shortest_path_of_the_file_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("a-long-name-" * 8) / ".fcreview"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep.parent)
    assert (
        copy_text("text", deep, None)
        == "the text is too long for the clipboard; it was written to .fcreview/copied.txt"
    )
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", str(deep.parent))
    assert copy_text("text", deep, None).endswith("to ~/.fcreview/copied.txt")


@pytest.fixture(scope="module")
def details(imports: Imports, samples: Path) -> list[ItemDetail]:
    with Store.open(imports.of([samples])) as store:
        return [each for part in store.iter_details(View(queue="dataset")) for each in part]


def find_detail(details: list[ItemDetail], name: str) -> ItemDetail:
    return next(each for each in details if each.row.id == name)


def test_every_sample_item_can_be_copied_in_every_form(details: list[ItemDetail]) -> None:
    for detail in details:
        whole = json.loads(format_item_json(detail))
        assert whole["id"] == detail.row.id
        assert len(whole["predicted"]) == len(detail.item.predicted)
        text = format_item_markdown(detail, "zoe", format_open_command(detail, None))
        assert text.startswith("### `") and text.rstrip().endswith("```")
        if detail.item.pairs:
            assert format_call_diff(detail, "zoe")
            assert format_target_calls(
                detail, "turn:1/call:1" if detail.item.pairs[0].turn == 0 else "item"
            )


def test_diff_has_the_lines_of_the_screen(details: list[ItemDetail]) -> None:
    lines = format_call_diff(find_detail(details, "simple_python_4"), "zoe").split("\n")
    assert any(
        re.match(r"≠ days +\[\"Monday\", \"Wednesday\", \"Friday\"\] or", line) for line in lines
    )
    assert not any("available function" in line or "value_error" in line for line in lines)


def test_call_at_cursor_is_copied(details: list[ItemDetail]) -> None:
    detail = find_detail(details, "parallel_2")
    calls = [
        format_target_calls(detail, f"turn:1/call:{n + 1}") for n in range(len(detail.item.pairs))
    ]
    assert len(set(calls)) == len(calls) > 1
    assert format_target_calls(detail, "item") == "\n".join(
        format_target_calls(
            detail, f"turn:1/call:{[p.predicted for p in detail.item.pairs].index(n) + 1}"
        )
        for n in range(len(detail.item.predicted))
    )


def test_markdown_escapes_hostile_text(details: list[ItemDetail]) -> None:
    detail = find_detail(details, "simple_python_4")
    hostile = "# heading\n```\n<script>@maintainer</script> [a](http://x)\x1b[31m"
    item = make_item(1, question=hostile, messages=[], id=hostile)
    hostile_detail = ItemDetail(detail.row, detail.key, detail.run, item)
    hostile_detail.row.id = hostile
    text = format_item_markdown(hostile_detail, "zoe", "fcreview")
    assert "\x1b" not in text
    outside = re.sub(r"(?ms)^(`{3,})[a-z]*\n.*?^\1$", "", text)
    assert "<script>" not in re.sub(r"(`+).*?\1", "", outside)
    assert not [line for line in outside.split("\n")[1:] if line.startswith("#")]


def test_command_reopens_the_item(details: list[ItemDetail], tmp_path: Path) -> None:
    detail = find_detail(details, "simple_python_5")
    detail.run.path = str(tmp_path / "a folder")
    arguments = shlex.split(format_open_command(detail, tmp_path))
    assert arguments == [
        "fcreview",
        "open",
        detail.run.path,
        "--item",
        detail.row.id,
        "--run",
        str(detail.row.run),
    ]
    assert shlex.split(format_open_command(detail, tmp_path / "other"))[-2:] == [
        "--workspace",
        str(tmp_path / "other"),
    ]
