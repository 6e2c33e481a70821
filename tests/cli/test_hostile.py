"""No command prints control characters from a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.cli.output import format_json_line

Cli = Callable[..., Any]

COMMANDS = [
    ["import"],
    ["import", "--workspace", "anew"],
    ["runs"],
    ["items"],
    ["open"],
    ["triage"],
    ["suspects"],
    ["doctor"],
    ["show", "simple_python_0"],
    ["show", "simple_python_0", "--full"],
    ["show", "simple_python_1"],
    ["review", "--plain"],
    ["open", "--item", "simple_python_0"],
    ["label", "simple_python_0", "--verdict", "fail"],
    ["sql", "SELECT model, raw, arguments FROM runs, calls"],
    ["show", "\x1b[2J\u202e"],
    ["items", "--where", "x:\x1b[2J\u202e"],
    ["items", "--run", "\x1b[2J\u202e"],
    ["items", "--queue", "\x1b[2J\u202e"],
    ["sql", "SELECT '\x1b[2J\u202e' AS \"\x1b[2J\" FROM nowhere"],
    ["export", "--format", "\x1b[2J\u202e"],
    ["export", "-o", "no/\x1b[2J\u202e"],
]
JSON_COMMANDS = [
    ["import", "--json", "--workspace", "anew"],
    ["runs", "--json"],
    ["items", "--json"],
    ["triage", "--json"],
    ["suspects", "--json"],
    ["doctor", "--json"],
    ["show", "simple_python_0", "--json"],
    ["sql", "SELECT model, raw, arguments FROM runs, calls", "--json"],
    ["export"],
]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "command", [*COMMANDS, *JSON_COMMANDS], ids=lambda command: ascii(" ".join(command))
)
def test_no_command_prints_control_characters(
    cli: Cli, hostile_run: Path, raw: tuple[str, ...], command: list[str]
) -> None:
    done = cli(command[0], hostile_run, *command[1:])
    assert done.out or done.err
    assert "Traceback" not in done.err
    for text in (done.out, done.err):
        assert not [char for char in raw if char in text]


@pytest.mark.parametrize("command", JSON_COMMANDS, ids=" ".join)
def test_json_output_keeps_hostile_values(
    cli: Cli, hostile_run: Path, hostile: str, command: list[str]
) -> None:
    done = cli(command[0], hostile_run, *command[1:])
    model = hostile.replace("/", "")
    found = json.dumps(done.objects, ensure_ascii=False)
    assert done.code == 0
    assert json.dumps(model, ensure_ascii=False)[1:-1] in found or command[0] in (
        "triage",
        "suspects",
    )


@given(
    st.text()
    | st.dictionaries(st.text(), st.text() | st.none() | st.booleans() | st.lists(st.text()))
)
def test_json_lines_round_trip_without_hidden_characters(value: Any) -> None:
    line = format_json_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == value
    text = line.decode()
    assert not [
        char
        for char in text[:-1]
        if not char.isprintable() and char != "\u3000" and char.isspace() is False
    ]


@pytest.mark.parametrize(
    "value", ["\ud800", {"\udfff": 1}, {"a": 2**70}, [float("nan")], {1: (1, 2)}, {"b": b"x"}]
)
def test_values_without_json_form_become_text(value: Any) -> None:
    assert json.loads(format_json_line(value)) is not None
