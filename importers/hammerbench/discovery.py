"""Recognize HammerBench files, and split item ids into their parts.

A run is one flat log, or it consists of all folders of conversations of one model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.discovery import gather_files
from fcreview.importers.common.json_text import parse_json_prefix
from fcreview.importers.common.records import as_object
from fcreview.model.item import Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

MULTI_TURN_TYPES = (
    "Based",
    "mQmA",
    "mQsA",
    "sQmA",
    "SO_case1",
    "SO_case2",
    "mSv",
    "External",
    "IS",
)
SINGLE_TURN_TYPES = (
    "ST_Perfect",
    "ST_Imperfect",
    "ST_External",
    "ir_ST_Perfect",
    "ir_ST_Imperfect",
    "ir_ST_External",
)
"""Types of single-turn datasets.

In types with the prefix `ir_`, no available function is suitable.
"""
DATASET_FILE_NAME = re.compile(
    r"(?:HammerBench_)?(" + "|".join((*MULTI_TURN_TYPES, *SINGLE_TURN_TYPES)) + r")\.json"
)
TYPE_FOLDER_NAME = re.compile(DATASET_FILE_NAME.pattern.removesuffix(r"\.json"))
BASE_RESULTS_FOLDER = re.compile(r"MT_?\d+")
LOG_KEYS = {"input", "predict", "label"}
MAX_HEAD_BYTES = 1 << 16


class SnapshotKey(NamedTuple):
    """The parts of an item id: `SO_case1_12_3` has type `SO_case1`, conversation `12` and
    snapshot 3.
    """

    type_name: str
    """Type of the dataset, or empty if the id has another form."""
    conversation: str
    snapshot: int
    """Number of the snapshot in the conversation, from 1."""


def split_item_id(item_id: str) -> SnapshotKey:
    parts = item_id.rsplit("_", 2)
    is_valid = len(parts) == 3 and parts[2].isdigit()
    return (
        SnapshotKey(parts[0], conversation=parts[1], snapshot=int(parts[2]))
        if is_valid
        else SnapshotKey("", conversation=item_id, snapshot=1)
    )


def read_first_array_object(path: Path) -> dict[str, Any]:
    """Read the first object of a JSON array at the start of a file.

    Return an empty object for other files.
    """
    try:
        with open_file(path) as file:
            text = file.read(MAX_HEAD_BYTES).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return {}
    try:
        value = parse_json_prefix(text[1:].lstrip()) if text.startswith("[") else None
    except (ValueError, RecursionError):
        return {}
    return as_object(value)


def get_dataset_type(folder: Path) -> str:
    """Return the dataset type that the name of a folder contains, or the name if it contains
    none.
    """
    match = TYPE_FOLDER_NAME.fullmatch(folder.name)
    return match[1] if match else folder.name


def find_dataset_files(
    run_path: Path, language: str, dataset_folders: Iterable[Path]
) -> Iterator[Path]:
    """Yield the dataset files of a language in `dataset_folders` or, without any, in folders
    `data/` near the run.
    """
    roots = [
        *dataset_folders,
        *(root / "data" for root in list(run_path.parents)[:5] if (root / "data").is_dir()),
    ]
    for root in roots:
        for folder in (root / language, root / "data" / language, root):
            for subfolder in (folder / "single-turn", folder / "multi-turn", folder):
                files = sorted(subfolder.glob("*.json")) if subfolder.is_dir() else []
                yield from (path for path in files if DATASET_FILE_NAME.fullmatch(path.name))
            if _contains_dataset_file(folder):
                return


def _contains_dataset_file(folder: Path) -> bool:
    """Return whether a folder contains a dataset file.

    The search is limited, because a folder `data` may be huge.
    """
    if not folder.is_dir():
        return False
    names = (path.name for path in gather_files([folder], max_files=2000, max_depth=3).files)
    return any(
        name.endswith("ST_Perfect.json") or fnmatch(name, "HammerBench_*.json") for name in names
    )


def detect_language(path: Path, sample_text: str) -> str:
    """Return `en` or `zh`, the name of the nearest such parent folder or, without one, the
    language of the text.
    """
    folder_language = next(
        (part for part in reversed(path.parts[:-1]) if part in ("en", "zh")), None
    )
    return folder_language or ("zh" if re.search(r"[\u4e00-\u9fff]", sample_text) else "en")


BADCASE_FILE, JUDGE_FLAGS_FILE, JUDGE_REPLIES_FILE = (
    "badcase.csv",
    "turn_flags_res.json",
    "LLM_check_response.json",
)
COMPANION_FILES = (JUDGE_REPLIES_FILE, "LLM_check_L.json", JUDGE_FLAGS_FILE, BADCASE_FILE)
"""Files next to `MT_res.json` with verdicts of the evaluator and the judge."""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    found = DiscoveredRuns()
    results_by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in files:
        if path.name == "MT_res.json":
            results_by_folder[path.parent.parent].append(path)
        elif path.name in (*COMPANION_FILES, "MT_0.json") or path.name.startswith(
            "evaluate_stdout_"
        ):
            if (path.parent / "MT_res.json").is_file():
                found.claimed.add(path)
        elif path.suffix == ".json":
            first = read_first_array_object(path)
            if DATASET_FILE_NAME.fullmatch(path.name) and "messages" in first:
                found.claimed.add(path)
            elif first.keys() >= LOG_KEYS:
                found.plans.append(_make_flat_plan(path, first, dataset_folders))
    found.plans += [
        _make_conversation_plan(folder, paths) for folder, paths in results_by_folder.items()
    ]
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


def _make_flat_plan(
    log_file: Path, first_record: dict[str, Any], dataset_folders: Sequence[Path]
) -> RunPlan:
    language = detect_language(log_file, str(first_record.get("input", "")))
    files = list(dict.fromkeys(find_dataset_files(log_file, language, dataset_folders)))
    dataset = str(files[0].parent.parent) if files else None
    run = Run("hammerbench", "flat", language, log_file.stem, str(log_file), dataset=dataset)
    reason = "a JSON array of records with input, predict and label"
    return RunPlan(run, [log_file], data=files, reason=reason, needs_scores=False)


def _make_conversation_plan(folder: Path, result_files: list[Path]) -> RunPlan:
    language, dataset = (
        detect_language(result_files[0], ""),
        "MT_0.json in the folder of each MT_res.json",
    )
    model_folder, skipped = _find_model_folder(folder)
    run = Run(
        "hammerbench", "conversation", language, model_folder.name, str(folder), dataset=dataset
    )
    run.name_parts = skipped
    companions = [
        each
        for path in result_files
        for name in COMPANION_FILES
        if (each := path.parent / name).is_file()
    ]
    data = [each for path in result_files if (each := path.parent / "MT_0.json").is_file()]
    reason = (
        "folders with MT_res.json:"
        f" {', '.join(get_dataset_type(path.parent) for path in result_files)}"
    )
    return RunPlan(run, result_files, scores=companions, data=data, reason=reason)


def _find_model_folder(folder: Path) -> tuple[Path, list[str]]:
    """Find the folder with the name of the model at or above the folder of a run. Also return the
    names of the folders below it. A folder `MT0` has the results of the base for the conversations
    of a variant, and is beside or below the folders of the dataset types.
    """
    skipped: list[str] = []
    for candidate in (folder, *folder.parents):
        is_part = BASE_RESULTS_FOLDER.fullmatch(candidate.name) or TYPE_FOLDER_NAME.fullmatch(
            candidate.name
        )
        if candidate.name and not is_part:
            return candidate, skipped
        skipped.append(candidate.name)
    return folder, []
