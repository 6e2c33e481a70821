"""Which files are HammerBench's: flat logs, per-conversation folders, datasets; and how ids are made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from fcreview.importers.common.gather import gather
from fcreview.importers.common.jsonl import open_file

TYPES = ("Based", "mQmA", "mQsA", "sQmA", "SO_case1", "SO_case2", "mSv", "External", "IS")
SINGLE = ("ST_Perfect", "ST_Imperfect", "ST_External", "ir_ST_Perfect", "ir_ST_Imperfect", "ir_ST_External")
DATASET = re.compile(r"(?:HammerBench_)?(" + "|".join((*TYPES, *SINGLE)) + r")\.json")
FOLDER = re.compile(r"(?:HammerBench_)?(" + "|".join((*TYPES, *SINGLE)) + r")")
LOG_KEYS = {"input", "predict", "label"}
HEAD = 1 << 16


def split_id(name: str) -> tuple[str, str, int]:
    """`SO_case1_12_3` -> (`SO_case1`, `12`, 3): types hold underscores, so from the right."""
    parts = name.rsplit("_", 2)
    if len(parts) == 3 and parts[2].isdigit():
        return parts[0], parts[1], int(parts[2])
    return "", name, 1


def array_head(path: Path) -> dict[str, Any] | None:
    """The first object of a JSON array, read from the beginning of the file only; None if it is no such file."""
    try:
        with open_file(path) as file:
            text = file.read(HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return None
    if not text.startswith("["):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[1:].lstrip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_flat_log(path: Path) -> bool:
    first = array_head(path)
    return first is not None and first.keys() >= LOG_KEYS


def type_of_folder(folder: Path) -> str | None:
    found = FOLDER.fullmatch(folder.name)
    return found[1] if found else None


def dataset_files(folder: Path, language: str, given: Iterable[Path]) -> Iterator[Path]:
    """Dataset files for a language: below the folders that were given, else below `data/` around the run."""
    roots = [*given, *(root / "data" for root in list(folder.parents)[:5] if (root / "data").is_dir())]
    for root in roots:
        for place in (root / language, root / "data" / language, root):
            for sub in (place / "single-turn", place / "multi-turn", place):
                found = (
                    [path for path in sorted(sub.glob("*.json")) if DATASET.fullmatch(path.name)]
                    if sub.is_dir()
                    else []
                )
                yield from found
            if _holds_dataset(place):
                return


def _holds_dataset(place: Path) -> bool:
    """Looked at within bounds: `data` may be anything that lies above the run, a whole disk too."""
    if not place.is_dir():
        return False
    names = (path.name for path in gather([place], max_files=2000, max_depth=3).files)
    return any(name.endswith("ST_Perfect.json") or fnmatch(name, "HammerBench_*.json") for name in names)


def language_of(path: Path, sample: str) -> str:
    """From the nearest folder named en or zh, else from the text itself."""
    named = next((part for part in reversed(path.parts[:-1]) if part in ("en", "zh")), None)
    return named or ("zh" if re.search(r"[\u4e00-\u9fff]", sample) else "en")
