"""Which files are HammerBench's: flat logs, per-conversation folders, datasets; and how ids are made.

HammerBench runs among files: a flat log is a run; the per-conversation folders of one model are one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from fcreview.importers.common.discovery import gather_files
from fcreview.model.item import Run
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.safe_files import open_file

MULTI_TURN_TYPES = ("Based", "mQmA", "mQsA", "sQmA", "SO_case1", "SO_case2", "mSv", "External", "IS")
SINGLE_TURN_TYPES = ("ST_Perfect", "ST_Imperfect", "ST_External", "ir_ST_Perfect", "ir_ST_Imperfect", "ir_ST_External")
DATASET_FILE_NAME = re.compile(r"(?:HammerBench_)?(" + "|".join((*MULTI_TURN_TYPES, *SINGLE_TURN_TYPES)) + r")\.json")
TYPE_FOLDER_NAME = re.compile(r"(?:HammerBench_)?(" + "|".join((*MULTI_TURN_TYPES, *SINGLE_TURN_TYPES)) + r")")
LOG_KEYS = {"input", "predict", "label"}
MAX_HEAD_BYTES = 1 << 16


def split_item_id(name: str) -> tuple[str, str, int]:
    """`SO_case1_12_3` -> (`SO_case1`, `12`, 3): types hold underscores, so from the right."""
    parts = name.rsplit("_", 2)
    if len(parts) == 3 and parts[2].isdigit():
        return parts[0], parts[1], int(parts[2])
    return "", name, 1


def read_first_array_object(path: Path) -> dict[str, Any] | None:
    """The first object of a JSON array, read from the beginning of the file only; None if it is no such file."""
    try:
        with open_file(path) as file:
            text = file.read(MAX_HEAD_BYTES).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
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
    first = read_first_array_object(path)
    return first is not None and first.keys() >= LOG_KEYS


def get_folder_type(folder: Path) -> str | None:
    found = TYPE_FOLDER_NAME.fullmatch(folder.name)
    return found[1] if found else None


def find_dataset_files(folder: Path, language: str, given: Iterable[Path]) -> Iterator[Path]:
    """Dataset files for a language: below the folders that were given, else below `data/` around the run."""
    roots = [*given, *(root / "data" for root in list(folder.parents)[:5] if (root / "data").is_dir())]
    for root in roots:
        for place in (root / language, root / "data" / language, root):
            for sub in (place / "single-turn", place / "multi-turn", place):
                found = (
                    [path for path in sorted(sub.glob("*.json")) if DATASET_FILE_NAME.fullmatch(path.name)]
                    if sub.is_dir()
                    else []
                )
                yield from found
            if _has_dataset(place):
                return


def _has_dataset(place: Path) -> bool:
    """Looked at within bounds: `data` may be anything that lies above the run, a whole disk too."""
    if not place.is_dir():
        return False
    names = (path.name for path in gather_files([place], max_files=2000, max_depth=3).files)
    return any(name.endswith("ST_Perfect.json") or fnmatch(name, "HammerBench_*.json") for name in names)


def detect_language(path: Path, sample: str) -> str:
    """From the nearest folder named en or zh, else from the text itself."""
    named = next((part for part in reversed(path.parts[:-1]) if part in ("en", "zh")), None)
    return named or ("zh" if re.search(r"[\u4e00-\u9fff]", sample) else "en")


COMPANION_FILES = ("LLM_check_response.json", "LLM_check_L.json", "turn_flags_res.json", "badcase.csv")


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    legacy: dict[Path, list[Path]] = defaultdict(list)
    for path in files:
        if path.name == "MT_res.json":
            legacy[path.parent.parent].append(path)
        elif path.name in (*COMPANION_FILES, "MT_0.json") or path.name.startswith("evaluate_stdout_"):
            if (path.parent / "MT_res.json").is_file():
                found.claimed.add(path)
        elif DATASET_FILE_NAME.fullmatch(path.name) and path.suffix == ".json" and "messages" in (read_first_array_object(path) or {}):
            found.claimed.add(path)
        elif path.suffix == ".json" and is_flat_log(path):
            found.plans.append(_make_flat_plan(path, data))
    for folder, results in legacy.items():
        found.plans.append(_make_conversation_plan(folder, results))
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


def _make_flat_plan(path: Path, data: Sequence[Path]) -> RunPlan:
    first = read_first_array_object(path) or {}
    language = detect_language(path, str(first.get("input", "")))
    files = list(dict.fromkeys(find_dataset_files(path, language, data)))
    run = Run(
        "hammerbench", "flat", language, path.stem, str(path), dataset=str(files[0].parent.parent) if files else None
    )
    return RunPlan(
        run, [path], data=files, reason="a JSON array of records with input, predict and label", needs_scores=False
    )


def _make_conversation_plan(folder: Path, results: list[Path]) -> RunPlan:
    types = [get_folder_type(path.parent) or path.parent.name for path in results]
    language = detect_language(results[0], "")
    run = Run("hammerbench", "conversation", language, folder.name, str(folder), dataset="MT_0.json beside each result")
    companions = [path.parent / name for path in results for name in COMPANION_FILES if (path.parent / name).is_file()]
    data = [path.parent / "MT_0.json" for path in results if (path.parent / "MT_0.json").is_file()]
    reason = f"folders with MT_res.json: {', '.join(types)}"
    return RunPlan(run, results, scores=companions, data=data, reason=reason)
