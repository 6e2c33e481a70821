"""Recognize HammerBench files, and split item ids into their parts.

A run is either one flat log, or all folders of conversations that belong to one model.
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
"""Types of single-turn datasets. In types with the prefix `ir_`, no available function is suitable."""
DATASET_FILE_NAME = re.compile(r"(?:HammerBench_)?(" + "|".join((*MULTI_TURN_TYPES, *SINGLE_TURN_TYPES)) + r")\.json")
TYPE_FOLDER_NAME = re.compile(DATASET_FILE_NAME.pattern.removesuffix(r"\.json"))
LOG_KEYS = {"input", "predict", "label"}
"""Keys of the records of a flat log."""
MAX_HEAD_BYTES = 1 << 16
"""Number of bytes that are read to recognize a file."""


def split_item_id(item_id: str) -> tuple[str, str, int]:
    """Split `SO_case1_12_3` into type, conversation and snapshot: (`SO_case1`, `12`, 3). Types contain underscores."""
    parts = item_id.rsplit("_", 2)
    if len(parts) == 3 and parts[2].isdigit():
        return parts[0], parts[1], int(parts[2])
    return "", item_id, 1


def read_first_array_object(path: Path) -> dict[str, Any] | None:
    """Read the first object of a JSON array from the beginning of a file. None for other files."""
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
    """Return the type of a folder of conversations, or None if its name is not a type."""
    match = TYPE_FOLDER_NAME.fullmatch(folder.name)
    return match[1] if match else None


def find_dataset_files(run_path: Path, language: str, dataset_folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the dataset files of a language in `dataset_folders`, or else in folders `data/` near the run."""
    roots = [*dataset_folders, *(root / "data" for root in list(run_path.parents)[:5] if (root / "data").is_dir())]
    for root in roots:
        for folder in (root / language, root / "data" / language, root):
            for subfolder in (folder / "single-turn", folder / "multi-turn", folder):
                files = sorted(subfolder.glob("*.json")) if subfolder.is_dir() else []
                yield from (path for path in files if DATASET_FILE_NAME.fullmatch(path.name))
            if _has_dataset(folder):
                return


def _has_dataset(folder: Path) -> bool:
    """Return whether a folder contains a dataset. The search is limited: a folder `data` may contain a whole disk."""
    if not folder.is_dir():
        return False
    names = (path.name for path in gather_files([folder], max_files=2000, max_depth=3).files)
    return any(name.endswith("ST_Perfect.json") or fnmatch(name, "HammerBench_*.json") for name in names)


def detect_language(path: Path, text: str) -> str:
    """Return the name of the nearest folder `en` or `zh`, or else the language of the text."""
    folder_language = next((part for part in reversed(path.parts[:-1]) if part in ("en", "zh")), None)
    return folder_language or ("zh" if re.search(r"[\u4e00-\u9fff]", text) else "en")


COMPANION_FILES = ("LLM_check_response.json", "LLM_check_L.json", "turn_flags_res.json", "badcase.csv")
"""Files next to `MT_res.json` with verdicts of the evaluator and the judge."""


def find_runs(files: Sequence[Path], dataset_folders: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    results_by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in files:
        if path.name == "MT_res.json":
            results_by_folder[path.parent.parent].append(path)
        elif path.name in (*COMPANION_FILES, "MT_0.json") or path.name.startswith("evaluate_stdout_"):
            if (path.parent / "MT_res.json").is_file():
                found.claimed.add(path)
        elif (
            DATASET_FILE_NAME.fullmatch(path.name)
            and path.suffix == ".json"
            and "messages" in (read_first_array_object(path) or {})
        ):
            found.claimed.add(path)
        elif path.suffix == ".json" and is_flat_log(path):
            found.plans.append(_make_flat_plan(path, dataset_folders))
    found.plans += [_make_conversation_plan(folder, paths) for folder, paths in results_by_folder.items()]
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


def _make_flat_plan(path: Path, dataset_folders: Sequence[Path]) -> RunPlan:
    first = read_first_array_object(path) or {}
    language = detect_language(path, str(first.get("input", "")))
    files = list(dict.fromkeys(find_dataset_files(path, language, dataset_folders)))
    dataset = str(files[0].parent.parent) if files else None
    run = Run("hammerbench", "flat", language, path.stem, str(path), dataset=dataset)
    reason = "a JSON array of records with input, predict and label"
    return RunPlan(run, [path], data=files, reason=reason, needs_scores=False)


def _make_conversation_plan(folder: Path, result_files: list[Path]) -> RunPlan:
    types = [get_folder_type(path.parent) or path.parent.name for path in result_files]
    language = detect_language(result_files[0], "")
    dataset = "MT_0.json next to each result"
    run = Run("hammerbench", "conversation", language, folder.name, str(folder), dataset=dataset)
    companions = [each for path in result_files for name in COMPANION_FILES if (each := path.parent / name).is_file()]
    data = [each for path in result_files if (each := path.parent / "MT_0.json").is_file()]
    reason = f"folders with MT_res.json: {', '.join(types)}"
    return RunPlan(run, result_files, scores=companions, data=data, reason=reason)
