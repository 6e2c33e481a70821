"""Sample runs with hostile values in their fields: what people, models and broken programs may leave in any file."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.faults.processes import LONG

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ["acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench", *(["tau"] if LONG else [])]
SUFFIX = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202e\u2066\u200b\x00\x7f\x85\r\u2028[red]x[/]"
"""Clears the screen, sets the clipboard; C1, right-to-left, isolates, zero-width, NUL, DEL, NEL, CR, markup."""
ARGUMENTS = 100_000 if LONG else 3_000
RAW = [
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "-0.0", "1e-999", "9" * 5000, "-" + "9" * 400, str(2**63)),
    *("null", "true", "-1", "0.5", "[]", "{}", '""', '" "', "[null]", "[[[]]]", '{"": ""}', "[1, 2]", '"0"'),
    *('"\\ud800"', '"\\udfff\\ud800"', '{"\\ud800": "\\ud800"}', '"\\u0000"', '"a\\u0000b"', '{"a": 1, "a": 2}'),
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
    json.dumps([{"role": SUFFIX, "content": SUFFIX, "name": SUFFIX, "arguments": {SUFFIX: SUFFIX}}]),
]
"""JSON as it is written, also what no program should write."""
LARGE_AT_ONCE = 2
COPIES = {"generic": 8, "complexfuncbench": 6, "confetti": 2, "hammerbench": 2}
"""Of small sample runs several are imported at once."""
Change = Callable[[tuple[str, ...], Any], Any]


class Raw(str):
    """JSON text that stands for itself."""


def suffixed(path: tuple[str, ...], value: Any) -> Any:
    """Every text longer by the same: what is joined by it stays joined."""
    return value + SUFFIX if isinstance(value, str) and path[-1:] != ("role",) else value


def scattered(chance: random.Random, part: float = 0.06) -> Change:
    """Here and there something else."""
    return lambda _, value: Raw(chance.choice(RAW)) if chance.random() < part else suffixed(_, value)


def one_field(field: tuple[str, ...], raw: str) -> Change:
    """The same field of every record."""
    return lambda path, value: Raw(raw) if path == field else value


class Packed:
    """Each record has one hostile value, each in another field or of another kind: many cases in one import, and what
    joins the record with others stays whole in most. A case is tried once; `left` are those still to come."""

    def __init__(self, benchmark: str, chance: random.Random) -> None:
        self._chance = chance
        self.left = [(field, raw) for field in fields(ROOT / "sample_runs" / benchmark) for raw in RAW]
        chance.shuffle(self.left)
        self.tried = 0
        self._now: tuple[tuple[str, ...], str] | None = None
        self._large = 0

    def begin(self) -> None:
        """Another copy of the run; not many of its values are so large that they cost seconds."""
        self._large = LARGE_AT_ONCE

    def record(self, there: set[tuple[str, ...]]) -> None:
        """The next record, which has these fields."""
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
        if self._chance.random() < 0.7:  # else in every place of the record that is called so
            self._now = None
        return raw


def fields(place: Path) -> list[tuple[str, ...]]:
    """Every field there is: the file's name and the keys that lead to it, places in lists left out."""
    found, note = _noted()
    for file in data_files(place):
        _changed(file, note)
    return sorted(found)


def _noted() -> tuple[set[tuple[str, ...]], Change]:
    """What is seen, and a change that changes nothing but sees it."""
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


def made(benchmark: str, place: Path, change: Change) -> Path:
    """The benchmark's sample run at `place`, its files changed."""
    shutil.rmtree(place, ignore_errors=True)
    packed = isinstance(change, Packed)
    for number in range(COPIES.get(benchmark, 1) if packed else 1):
        shutil.copytree(ROOT / "sample_runs" / benchmark, place / str(number) if packed else place)
    if isinstance(change, Packed):
        change.begin()
    for file in data_files(place):
        file.write_bytes(_changed(file, change).encode("utf-8", "surrogatepass"))
    return place


def _changed(file: Path, change: Change) -> str:
    text = file.read_text("utf-8")
    if file.suffix in (".json", ".jsonl"):
        try:
            return as_json(_walk(json.loads(text), (file.name,), change, top=True))
        except ValueError:
            lines = [line for line in text.split("\n") if line]
        return "".join(as_json(_walk(json.loads(line), (file.name,), change, top=True)) + "\n" for line in lines)
    if isinstance(change, Packed):
        change.record({(file.name,)})
    return "".join(f"{change((file.name,), line)}\n" for line in text.split("\n"))


def _walk(value: Any, path: tuple[str, ...], change: Change, *, top: bool = False) -> Any:
    if top and isinstance(value, dict) and isinstance(change, Packed):
        found, note = _noted()
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
        return f"{{{', '.join(f'{json.dumps(key)}: {as_json(part)}' for key, part in value.items())}}}"
    return json.dumps(value)
