"""Damage the files of a workspace other than store and journals."""

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
    json.dumps(SUFFIX),
    json.dumps("@a @a"),
    json.dumps("-" * 3000),
    json.dumps("../../x"),
    "1e400",
    "-1",
    str(10**30),
    "[" * 3_000 + "]" * 3_000,
    json.dumps([SUFFIX] * 3),
    json.dumps({SUFFIX: [[SUFFIX, SUFFIX]]}),
]
Damage = Callable[[Path], object]


def kept_files(place: Path) -> list[Path]:
    """Return the files of the workspace except the store and the reviews, by path."""
    root = place / ".fcreview"
    known = {"store.duckdb", "decisions.cache.duckdb", "store.lock"}
    return [
        each
        for each in sorted(root.rglob("*"))
        if each.is_file() and _is_kept(each.relative_to(root), known)
    ]


def _is_kept(path: Path, known: set[str]) -> bool:
    return path.name not in known and path.parts[0] != "reviews"


def damages(file: Path, chance: random.Random) -> Iterator[tuple[str, Damage]]:
    """Yield (description, function that damages the file) without end: an odd file or text in its
    place, and one value replaced, in turn.
    """
    values = _values(file, chance)
    for name, damage in chance.sample(sorted(OTHERS.items()), len(OTHERS)):
        yield name, damage
        yield next(values)
    yield from values


def _values(file: Path, chance: random.Random) -> Iterator[tuple[str, Damage]]:
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    paths = [(at, *path) for at, line in enumerate(lines) for path in _paths(json.loads(line))]
    while True:
        chance.shuffle(paths)
        for path in paths:
            raw = chance.choice(SMALL + MORE)
            yield f"{path} {raw[:50]!a}", partial(_replace, path=path, raw=raw)


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield (key,)
        yield from ((key, *path) for path in _paths(part))


def _replace_file(kind: Damage, file: Path) -> None:
    file.unlink()
    kind(file)


def _write(content: bytes, file: Path) -> None:
    file.write_bytes(content)


OTHERS: dict[str, Damage] = {
    **{kind.__name__: partial(_replace_file, kind) for kind in KINDS},
    "noise": partial(_write, bytes(range(256)) * 20),
    "nothing in it": partial(_write, b""),
    "deep": partial(_write, b"[" * 200_000),
    "a text": partial(_write, b'"text"\n'),
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
