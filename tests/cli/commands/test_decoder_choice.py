"""Commands show reasoning, empty replies, undecoded calls and the choice of the decoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sources import ROOT

CASES = ROOT / "tests/cases/bfcl"
DATA = "bfcl_v4/data"

pytestmark = pytest.mark.bench


@pytest.fixture
def show(cli: Callable[..., Any], bench: Path, tmp_path: Path) -> Callable[[str, str], str]:
    """`show(case, item)` returns the text of an item."""

    def show_item(case: str, item: str) -> str:
        folder = tmp_path / case
        shutil.copytree(CASES / case, folder)
        text: str = cli("show", folder, item, "--data", bench / DATA).out
        return text

    return show_item


def test_reasoning_is_not_the_reply(show: Callable[[str, str], str]) -> None:
    lines = [
        line.strip(" ─")
        for line in show("06-empty-reply-reasoning", "simple_python_0").splitlines()
    ]
    reasoning = lines.index("reasoning")
    assert lines[reasoning + 1].startswith("The user wants the area of a triangle.")
    response = lines.index("response")
    assert reasoning < response
    assert lines[response + 1] == "(empty)"


def test_undecoded_call_is_named(show: Callable[[str, str], str]) -> None:
    assert "undecoded call: not a list of calls" in show("05-toolcalls-text", "simple_python_0")


def test_broken_call_in_irrelevance_is_shown_as_undecoded(show: Callable[[str, str], str]) -> None:
    text = show("04-irrelevance-unparsed-call", "irrelevance_0")
    assert "undecoded call: " in text
    assert "determine_body_mass_index" in text


def test_import_summary_and_runs_name_decoder_and_reason(
    cli: Callable[..., Any], bench: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(CASES / "01-renamed-fc-folder", folder)
    reason = "agrees with 11 of 11 score entries and 13 of 13 passing items"
    assert f"decoder FC: {reason}" in cli("import", folder, "--data", bench / DATA).out
    (run,) = [json.loads(line) for line in cli("runs", folder, "--json").out.splitlines()]
    assert (run["decoder"], run["decoder_reason"]) == ("FC", reason)
    again = cli("import", folder, "--json").objects[0]
    assert again["choices"] == [{"name": "decoder", "value": "FC", "reason": reason}]
