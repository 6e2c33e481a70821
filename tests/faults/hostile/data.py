"""Copies of the sample runs with hostile values in their fields."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.faults.processes import LONG

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = [
    "acebench",
    "bfcl",
    "complexfuncbench",
    "confetti",
    "generic",
    "hammerbench",
    *(["tau"] if LONG else []),
]
SUFFIX = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202e\u2066\u200b\x00\x7f\x85\r\u2028[red]x[/]"
"""Sequences that clear the screen and set the clipboard, C1, right-to-left, isolate and zero-width
characters, NUL, DEL, NEL, CR, markup.
"""
ARGUMENTS = 100_000 if LONG else 3_000
RAW = [
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "-0.0",
        "1e-999",
        "9" * 5000,
        "-" + "9" * 400,
        str(2**63),
    ),
    *(
        "null",
        "true",
        "-1",
        "0.5",
        "[]",
        "{}",
        '""',
        '" "',
        "[null]",
        "[[[]]]",
        '{"": ""}',
        "[1, 2]",
        '"0"',
    ),
    *(
        '"\\ud800"',
        '"\\udfff\\ud800"',
        '{"\\ud800": "\\ud800"}',
        '"\\u0000"',
        '"a\\u0000b"',
        '{"a": 1, "a": 2}',
    ),
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 150 + "1" + "}" * 150,
    "[" * 150 + "]" * 150,
    "{" + ", ".join(f'"a{n}": {n}' for n in range(ARGUMENTS)) + "}",
    "[" + ", ".join(['{"name": "f", "arguments": {"x": 1}}'] * (ARGUMENTS // 10)) + "]",
    json.dumps("e" + "\u0301" * 20_000),
    json.dumps("\U0001f3fd\u20e3\ufe0f" * 3000),
    json.dumps("x" * 1_000_000),
    json.dumps("\n" * 20_000),
    json.dumps({SUFFIX: SUFFIX, "name": SUFFIX, "arguments": SUFFIX}),
    json.dumps(
        [{"role": SUFFIX, "content": SUFFIX, "name": SUFFIX, "arguments": {SUFFIX: SUFFIX}}]
    ),
]
"""JSON texts, including texts that no program should write."""
LARGE_AT_ONCE = 2
COPIES = {"generic": 8, "complexfuncbench": 6, "confetti": 2, "hammerbench": 2}
"""Number of copies of small sample runs that are imported together."""
Change = Callable[[tuple[str, ...], Any], Any]


class Raw(str):
    """JSON text that is written unchanged."""


def add_suffix(path: tuple[str, ...], value: Any) -> Any:
    """Append the same suffix to every text, so that equal ids stay equal."""
    return value + SUFFIX if isinstance(value, str) and path[-1:] != ("role",) else value


def replace_some(chance: random.Random, part: float = 0.06) -> Change:
    """Return a change that replaces a share of the values and appends the suffix to the others."""
    return lambda _, value: (
        Raw(chance.choice(RAW)) if chance.random() < part else add_suffix(_, value)
    )


def replace_field(field: tuple[str, ...], raw: str) -> Change:
    """Return a change of one field in every record."""
    return lambda path, value: Raw(raw) if path == field else value


class OneCasePerRecord:
    """A change that gives each record one hostile value, so that one import tries many cases.

    Each pair of field and value is tried once. `left` contains the remaining pairs."""

    def __init__(self, benchmark: str, chance: random.Random) -> None:
        self._chance = chance
        self.left = [
            (field, raw) for field in list_fields(ROOT / "sample_runs" / benchmark) for raw in RAW
        ]
        chance.shuffle(self.left)
        self.tried = 0
        self._now: tuple[tuple[str, ...], str] | None = None
        self._large = 0

    def begin(self) -> None:
        """Start another copy of the run. Only a few of its values are very large."""
        self._large = LARGE_AT_ONCE

    def record(self, there: set[tuple[str, ...]]) -> None:
        """Choose the case of the next record, which has these fields."""
        self._now = None
        for at, (field, raw) in enumerate(self.left):
            large = len(raw) > 9_999
            if field in there and (not large or self._large):
                self._now = self.left.pop(at)
                self._large -= large
                self.tried += 1
                return

    def __call__(self, path: tuple[str, ...], value: Any) -> Any:
        if self._now is None or path != self._now[0]:
            return value
        raw = Raw(self._now[1])
        if self._chance.random() < 0.7:  # otherwise all fields of that name get the value
            self._now = None
        return raw


def list_fields(place: Path) -> list[tuple[str, ...]]:
    """Return the path of every field: file name and keys, without list indices."""
    found, note = _path_collector()
    for file in data_files(place):
        _change_file(file, note)
    return sorted(found)


def _path_collector() -> tuple[set[tuple[str, ...]], Change]:
    """Return an empty set, and a change that only adds the paths of all fields to it."""
    found: set[tuple[str, ...]] = set()

    def note(path: tuple[str, ...], value: Any) -> Any:
        found.add(path)
        return value

    return found, note


def data_files(place: Path) -> Iterator[Path]:
    for file in sorted(place.rglob("*")):
        if (
            file.is_file()
            and file.suffix in (".json", ".jsonl", ".log", ".txt", ".csv")
            and ".fcreview" not in file.parts
        ):
            yield file


def make_run(benchmark: str, place: Path, change: Change) -> Path:
    """Copy the sample run of a benchmark to `place` and change its files."""
    shutil.rmtree(place, ignore_errors=True)
    has_cases = isinstance(change, OneCasePerRecord)
    for number in range(COPIES.get(benchmark, 1) if has_cases else 1):
        shutil.copytree(
            ROOT / "sample_runs" / benchmark, place / str(number) if has_cases else place
        )
    if isinstance(change, OneCasePerRecord):
        change.begin()
    for file in data_files(place):
        file.write_bytes(_change_file(file, change).encode("utf-8", "surrogatepass"))
    return place


def _change_file(file: Path, change: Change) -> str:
    text = file.read_text("utf-8")
    if file.suffix in (".json", ".jsonl"):
        try:
            return as_json(_walk(json.loads(text), (file.name,), change, top=True))
        except ValueError:
            lines = [line for line in text.split("\n") if line]
        return "".join(
            as_json(_walk(json.loads(line), (file.name,), change, top=True)) + "\n"
            for line in lines
        )
    if isinstance(change, OneCasePerRecord):
        change.record({(file.name,)})
    return "".join(f"{change((file.name,), line)}\n" for line in text.split("\n"))


def _walk(value: Any, path: tuple[str, ...], change: Change, *, top: bool = False) -> Any:
    if top and isinstance(value, dict) and isinstance(change, OneCasePerRecord):
        found, note = _path_collector()
        _walk(value, path, note, top=True)
        change.record(found)
    new = value if top else change(path, value)
    if isinstance(new, Raw):
        return new
    if isinstance(new, list):
        return [_walk(part, path, change, top=top) for part in new]
    if isinstance(new, dict):
        return {key: _walk(part, (*path, key), change) for key, part in new.items()}
    return new


def as_json(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(as_json, value))}]"
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{json.dumps(key)}: {as_json(part)}' for key, part in value.items())}}}"
        )
    return json.dumps(value)
