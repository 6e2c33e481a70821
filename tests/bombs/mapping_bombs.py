"""Bombs of files that a mapping file describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, nest, write_lines

MAPPING = """
[map]
version = 1
benchmark = "bomb"

[[source]]
files = "rows.*"

[item]
id = "id"
messages = "messages"
verdict = { path = "verdict", find = 'status\\W+(pass|fail)', pass = ["pass"], fail = ["fail"] }
golden = { path = "golden", kind = "calls" }
metadata = "a"
"""
DIALOG: list[Json] = [
    {"role": "user", "content": "go on"},
    {"role": "assistant", "content": "answer"},
]


def write_mapped(folder: Path, *records: Any) -> None:
    write_lines(folder / "rows.jsonl", records)
    (folder / "fcreview-map.toml").write_text(MAPPING)


def searched_text(folder: Path, size: int) -> None:
    """A text on which the search for the verdict begins at many places."""
    write_mapped(folder, {"id": "item", "messages": DIALOG, "verdict": "status !" * size})


def long_text(folder: Path, size: int) -> None:
    text = "x" * (size * MEGABYTE)
    write_mapped(folder, {"id": "item", "messages": [DIALOG[0] | {"content": text}, DIALOG[1]]})


def many_golden_calls(folder: Path, size: int) -> None:
    golden = [{"name": "f", "arguments": {"a": number}} for number in range(size)]
    write_mapped(folder, {"id": "item", "messages": DIALOG, "golden": golden})


def wide_row(folder: Path, size: int) -> None:
    values = {f"a{number}": number for number in range(size)}
    write_mapped(folder, {"id": "item", "messages": DIALOG, "a": values})


def repeated_id(folder: Path, size: int) -> None:
    write_mapped(folder, *[{"id": "item", "messages": DIALOG}] * size)


def deep_text(folder: Path, size: int) -> None:
    write_mapped(folder, {"id": "item", "messages": DIALOG})
    row = json.dumps({"id": "deep", "messages": DIALOG})[:-1]
    with (folder / "rows.jsonl").open("a") as file:
        file.write(f'{row}, "a": {{"x": {nest(size)}}}}}\n')


def wide_table(folder: Path, size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ",".join(f"a{number}" for number in range(size))
    cells = ",".join(["1"] * size)
    (folder / "rows.csv").write_text(f"id,{names}\nitem,{cells}\n")
    (folder / "fcreview-map.toml").write_text(MAPPING)


def unclosed_quote(folder: Path, size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = 'x,y\n"' + "z,\n" * size
    (folder / "rows.csv").write_text(f"id,a\nitem,b\n{rows}")
    (folder / "fcreview-map.toml").write_text(MAPPING)


BOMBS = {
    "searched text": Bomb(searched_text, "item", size=20_000, small_size=1_000),
    "long": Bomb(long_text, "item", size=14, small_size=14, is_cut=True),
    "many golden calls": Bomb(many_golden_calls, "item", size=15_000, small_size=1_000),
    "wide": Bomb(wide_row, "item", size=80_000, small_size=0),
    "repeated id": Bomb(repeated_id, "item", size=10_000, small_size=0),
    "deep": Bomb(deep_text, "item", size=10_000, small_size=1_000),
    "wide table": Bomb(wide_table, "item", size=40_000, small_size=1_000),
    "unclosed quote": Bomb(unclosed_quote, "item", size=200_000, small_size=1_000),
}
