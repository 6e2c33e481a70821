"""Bombs of files that a mapping file describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, nest, write_json, write_lines

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
MODEL = 'model = "model"\n'
JUDGES = """
[[join]]
as = "judges"
files = "judges.jsonl"
on = "item"

[[judge]]
name = { const = "judge" }
verdict = { from = "judges", path = "verdict", pass = ["pass"], fail = ["fail"] }
rationale = "reason"
"""
DIALOG: list[Json] = [
    {"role": "user", "content": "go on"},
    {"role": "assistant", "content": "answer"},
]


def write_mapped(folder: Path, *records: Any, more: str = "") -> None:
    """Write rows and the mapping file, with `more` keys of `[item]` or tables at its end."""
    write_lines(folder / "rows.jsonl", records)
    (folder / "fcreview-map.toml").write_text(MAPPING + more)


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


def many_models(folder: Path, size: int) -> None:
    """Rows of a model each, which become runs of one item each."""
    rows = [{"id": "item", "messages": DIALOG, "model": f"m{number}"} for number in range(size)]
    write_mapped(folder, *rows, more=MODEL)


def equal_ids_in_files(folder: Path, size: int) -> None:
    """Files of one row each, all with the same id."""
    for number in range(size):
        write_lines(folder / f"rows.{number}.jsonl", [{"id": "item", "messages": DIALOG}])
    mapping = MAPPING.replace('"rows.*"', '"rows.*.jsonl"')
    (folder / "fcreview-map.toml").write_text(mapping)


def rows_of_a_join(folder: Path, size: int) -> None:
    """Verdicts of one judge on one item, in as many rows."""
    write_mapped(folder, {"id": "item", "messages": DIALOG}, more=JUDGES)
    write_lines(
        folder / "judges.jsonl",
        [{"item": "item", "verdict": "pass", "reason": "yes"} for _ in range(size)],
    )


def rows_of_all_items(folder: Path, size: int) -> None:
    """Items and rows of a join that all have the same key."""
    items = [{"id": f"item{n}", "task": "t", "messages": DIALOG} for n in range(size)]
    write_mapped(folder, *items, more=JUDGES.replace("[[join]]", 'join_key = "task"\n[[join]]', 1))
    write_lines(
        folder / "judges.jsonl",
        [{"item": "t", "verdict": "pass", "reason": "yes" * 40} for _ in range(size)],
    )


def joined_models(folder: Path, size: int) -> None:
    """Models and judges of LiveMCPBench, with a file of one item each."""
    row = {"task_id": "item", "Question": "go on", "Annotator Metadata": {}, "messages": DIALOG}
    for number in range(size):
        write_json(folder / "baseline" / "output" / f"m{number}_x.json", [row])
        judged = [{"task_id": "item", "judge": "Status: success"}]
        write_json(folder / "evaluator" / "output" / "judge" / f"m{number}_x.json", judged)


def compressed_table(folder: Path, size: int) -> None:
    """A Parquet file whose rows all have the same text of 4 MB, which is in the file once."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    duckdb.sql(
        f"COPY (SELECT 'item' || range AS id, repeat('x', {4 * MEGABYTE}) AS messages"
        f" FROM range({size})) TO '{folder / 'rows.parquet'}' (COMPRESSION zstd)"
    )
    (folder / "fcreview-map.toml").write_text(MAPPING + 'response = "messages"\n')


BOMBS = {
    "searched text": Bomb(searched_text, "item", size=20_000, small_size=1_000),
    "long": Bomb(long_text, "item", size=14, small_size=14, is_cut=True),
    "many golden calls": Bomb(many_golden_calls, "item", size=15_000, small_size=1_000),
    "wide": Bomb(wide_row, "item", size=80_000, small_size=0),
    "repeated id": Bomb(repeated_id, "item", size=10_000, small_size=0),
    "deep": Bomb(deep_text, "item", size=10_000, small_size=1_000),
    "wide table": Bomb(wide_table, "item", size=40_000, small_size=1_000),
    "many models": Bomb(many_models, "", size=100, small_size=0),
    "equal ids in files": Bomb(equal_ids_in_files, "item", size=1_000, small_size=0),
    "rows of a join": Bomb(rows_of_a_join, "item", size=5_000, small_size=300),
    "rows of all items": Bomb(rows_of_all_items, "item0", size=250, small_size=0),
    "joined models": Bomb(joined_models, "", size=50, small_size=0),
    "compressed": Bomb(compressed_table, "item0", size=100, small_size=0, is_cut=True),
    "unclosed quote": Bomb(unclosed_quote, "item", size=200_000, small_size=1_000),
}
