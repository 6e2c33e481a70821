"""No command prints control characters from reviews, annotator names or settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Event, ItemKey
from fcreview.store.reviews.journal import hash_and_serialize_event

Cli = Callable[..., Any]
FLOOD = "e" + "\u0301" * 5000
"""Combining marks that a terminal would draw over the lines above."""

COMMANDS = [
    ["runs"],
    ["items"],
    ["show", "simple_python_1"],
    ["show", "simple_python_1", "--json"],
    ["report"],
    ["report", "--json"],
    ["agreement"],
    ["agreement", "--json"],
    ["adjudicate"],
    ["adjudicate", "--json"],
    ["audit", "simple_python_1"],
    ["audit", "simple_python_1", "--json"],
    ["doctor"],
    ["doctor", "--json"],
    ["export"],
    ["sql", "FROM reviews"],
    ["sql", "FROM reviews", "--json"],
    ["items", "--where", "by:\x1b[2J"],
    ["label", "simple_python_1", "--undo", "--annotator", "\x1b[2J"],
    [
        "label",
        "simple_python_1",
        "--verdict",
        "fail",
        "--tag",
        "\x1b[2J\u202e",
        "--note",
        "\x1b]52;c;aGk=\x07",
    ],
]


@pytest.fixture
def hostile_reviews(imported_run: Path, hostile: str) -> Path:
    """A run with two valid journals with hostile names, notes, tags and unknown fields, and one
    with invalid lines.
    """
    folder = imported_run / ".fcreview" / "reviews"
    key = ItemKey("bfcl", "V4", "en", "maple", "simple_python", "simple_python_1")
    for file, verdict in (
        (f"{hostile.replace('/', '')[:60]}.jsonl", True),
        ("b\u202e\x1b[2J.jsonl", False),
    ):
        previous = ""
        with (folder / file).open("wb") as journal:
            for number in range(2):
                event = Event(
                    event=f"{number}{file}",
                    time=hostile,
                    annotator=file.removesuffix(".jsonl"),
                    key=key,
                    act="review",
                    verdict=verdict,
                    note=hostile + FLOOD,
                    tags=[hostile, FLOOD[:500]],
                    extra={hostile: hostile},
                )
                whole, line = hash_and_serialize_event(event, previous)
                previous = whole.hash
                journal.write(line)
    invalid = f'{{"event": "{hostile}", "act": "\x1b[2J", "a": 1, "a": 2, "b": NaN, "c": 1e999}}\n'
    (folder / "c.jsonl").write_text("[" * 100_000 + "\n" + invalid + "\0\n" + hostile)
    return imported_run


@pytest.mark.sweep
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command)))
def test_no_command_prints_control_characters(
    cli: Cli, hostile_reviews: Path, raw: tuple[str, ...], command: list[str]
) -> None:
    done = cli(command[0], hostile_reviews, *command[1:])
    assert done.out or done.err
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    for text in (done.out, done.err):
        assert not [char for char in raw if char in text]
        if "--json" not in command and command[0] != "export":
            assert "\u0301" * 50 not in text


def test_hostile_settings_print_no_control_characters(
    cli: Cli, imported_run: Path, tmp_path: Path, raw: tuple[str, ...]
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'annotator = "\\u001b[2J"\n[keys]\n"\\u001b[2J" = "\\u202e"\n"queue.open" = "\\u0007"\n'
    )
    for command in (
        ["items"],
        ["label", "simple_python_1", "--verdict", "pass"],
        ["doctor"],
        ["open"],
    ):
        done = cli(
            command[0],
            imported_run,
            *command[1:],
            FCREVIEW_CONFIG=str(settings),
            FCREVIEW_ANNOTATOR="",
        )
        assert "Traceback" not in done.err
        assert not [char for char in raw if char in done.out + done.err]
