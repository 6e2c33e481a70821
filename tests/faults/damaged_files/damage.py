"""What a workspace keeps beside store and journals, spoilt: by another program, by somebody of the group, by a disk."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.hostile.data import RAW, SUFFIX, Raw, as_json
from tests.faults.hostile.test_run_folders import KINDS

SMALL = [raw for raw in RAW if len(raw) < 9_999]
MORE = [
    json.dumps(SUFFIX), json.dumps("@a @a"), json.dumps("-" * 3000), json.dumps("../../x"), "1e400", "-1", str(10**30),
    "[" * 3_000 + "]" * 3_000, json.dumps([SUFFIX] * 3), json.dumps({SUFFIX: [[SUFFIX, SUFFIX]]}),
]  # fmt: skip
Spoils = Callable[[Path], object]


def kept_files(place: Path) -> list[Path]:
    """All but the store and the reviews, by path."""
    root = place / ".fcreview"
    known = {"store.duckdb", "decisions.cache.duckdb", "store.lock"}
    return [each for each in sorted(root.rglob("*")) if each.is_file() and _kept(each.relative_to(root), known)]


def _kept(path: Path, known: set[str]) -> bool:
    return path.name not in known and path.parts[0] != "reviews"


def spoilt(file: Path, chance: random.Random) -> Iterator[tuple[str, Spoils]]:
    """Ways to spoil this file, by name, without an end: by turns what is no file or no JSON in its place, as long as
    there is another, and a value of its own exchanged."""
    values = _values(file, chance)
    for name, spoil in chance.sample(sorted(OTHERS.items()), len(OTHERS)):
        yield name, spoil
        yield next(values)
    yield from values


def _values(file: Path, chance: random.Random) -> Iterator[tuple[str, Spoils]]:
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    paths = [(at, *path) for at, line in enumerate(lines) for path in _paths(json.loads(line))]
    while True:
        chance.shuffle(paths)
        for path in paths:
            raw = chance.choice(SMALL + MORE)
            yield f"{path} {raw[:50]!a}", partial(_replace, path=path, raw=raw)


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (key,)
        yield from ((key, *path) for path in _paths(part))


def _instead(kind: Spoils, file: Path) -> None:
    file.unlink()
    kind(file)


def _written(content: bytes, file: Path) -> None:
    file.write_bytes(content)


OTHERS: dict[str, Spoils] = {
    **{kind.__name__: partial(_instead, kind) for kind in KINDS},
    "noise": partial(_written, bytes(range(256)) * 20),
    "nothing in it": partial(_written, b""),
    "deep": partial(_written, b"[" * 200_000),
    "a text": partial(_written, b'"text"\n'),
    "half": lambda file: os.truncate(file, file.stat().st_size // 2),
}


def _replace(file: Path, path: tuple[Any, ...], raw: str) -> None:
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    at, *keys = path
    value = json.loads(lines[at])
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = Raw(raw)
    lines[at] = as_json(value)
    file.write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")
