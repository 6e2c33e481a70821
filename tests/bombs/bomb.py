"""What a bomb is, and the texts and files that many bombs have."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MEGABYTE = 1 << 20
SAMPLE_RUNS = Path(__file__).resolve().parents[2] / "sample_runs"


@dataclass(frozen=True, slots=True)
class Bomb:
    write: Callable[[Path, int], None]
    """Writes the files of a run of a size to a folder."""
    item: str
    """Id of the item to show. Empty if several runs have the item."""
    size: int
    """Size in the long form: files of 1, 2 and 4 times this size are read in linear time."""
    small_size: int
    """Size in `make test`. 0 if the bomb is only tried in the long form."""
    is_cut: bool = False
    """Whether something is left out at both sizes, so that an import issue must say so."""
    has_items: bool = True
    """Whether an item can be imported."""


def nest(size: int) -> str:
    """Return `size` lists in each other, as JSON and as Python text."""
    return "[" * size + "]" * size


def name_values(size: int) -> Json:
    return {f"a{number}": number for number in range(size)}


def write_lines(path: Path, records: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
