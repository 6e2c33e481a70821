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
RESULT_FILE = "MT_res.json"
"""Log of the conversations of one type."""
CONVERSATION_FILE = "MT_0.json"
"""Dataset of these conversations, next to the log."""
BADCASE_FILE = "badcase.csv"
JUDGE_FLAGS_FILE = "turn_flags_res.json"
JUDGE_REPLIES_FILE = "LLM_check_response.json"
JUDGE_OFFSETS_FILE = "LLM_check_L.json"
COMPANION_FILES = (JUDGE_REPLIES_FILE, JUDGE_OFFSETS_FILE, JUDGE_FLAGS_FILE, BADCASE_FILE)
"""Files next to `MT_res.json` with verdicts of the evaluator and the judge."""
MAX_LEVELS = 5
"""Number of folders above a log in which a dataset is searched."""
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
    """Split an id from the right, because the names of types contain underscores."""
    parts = item_id.rsplit("_", 2)
    if len(parts) != 3 or not parts[2].isdigit():
        return SnapshotKey("", conversation=item_id, snapshot=1)
    type_name, conversation, number = parts
    return SnapshotKey(type_name, conversation=conversation, snapshot=int(number))


def read_first_array_object(path: Path) -> dict[str, Any]:
    """Read the first object of a JSON array at the start of a file.

    Return an empty object for other files.
    """
    try:
        with open_file(path) as file:
            text = file.read(MAX_HEAD_BYTES).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return {}
    if not text.startswith("["):
        return {}
    first_element = text[1:].lstrip()
    try:
        return as_object(parse_json_prefix(first_element))
    except (ValueError, RecursionError):
        return {}


def get_dataset_type(folder: Path) -> str:
    """Return the dataset type that the name of a folder contains, or the name if it contains
    none.
    """
    match = TYPE_FOLDER_NAME.fullmatch(folder.name)
    return match[1] if match else folder.name


def find_dataset_files(
    run_path: Path, language: str, dataset_folders: Iterable[Path]
) -> Iterator[Path]:
    """Yield the dataset files of a language in the first folder that has any. `dataset_folders` are
    searched first, and then the folders `data/` near the run.
    """
    roots = list(dataset_folders)
    for parent in list(run_path.parents)[:MAX_LEVELS]:
        if (parent / "data").is_dir():
            roots.append(parent / "data")

    for root in roots:
        for folder in (root / language, root / "data" / language, root):
            for subfolder in (folder / "single-turn", folder / "multi-turn", folder):
                yield from _list_dataset_files_in(subfolder)
            if _contains_dataset_file(folder):
                return


def _list_dataset_files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    paths = sorted(folder.glob("*.json"))
    return [path for path in paths if DATASET_FILE_NAME.fullmatch(path.name)]


def _contains_dataset_file(folder: Path) -> bool:
    """Return whether a folder contains a dataset file.

    The search is limited, because a folder `data` may be huge.
    """
    if not folder.is_dir():
        return False
    for path in gather_files([folder], max_files=2000, max_depth=3).files:
        if path.name.endswith("ST_Perfect.json") or fnmatch(path.name, "HammerBench_*.json"):
            return True
    return False


def detect_language(path: Path, sample_text: str) -> str:
    """Return `en` or `zh`, the name of the nearest such parent folder or, without one, the
    language of the text.
    """
    for parent in path.parents:
        if parent.name in ("en", "zh"):
            return parent.name
    return "zh" if re.search(r"[\u4e00-\u9fff]", sample_text) else "en"


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files.

    There are two kinds: a flat log, one file with all snapshots, and a folder with a subfolder for
    each type of conversation, which contains a result file.
    """
    found = DiscoveredRuns()
    results_by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in files:
        if path.name == RESULT_FILE:
            # The file is in the subfolder of a type of conversation.
            results_by_folder[path.parent.parent].append(path)
        elif _is_companion_file(path):
            if (path.parent / RESULT_FILE).is_file():
                found.claimed.add(path)
        elif path.suffix == ".json":
            first_record = read_first_array_object(path)
            if _is_dataset_file(path, first_record):
                found.claimed.add(path)
            elif first_record.keys() >= LOG_KEYS:
                found.plans.append(_make_flat_plan(path, first_record, dataset_folders))

    for folder, result_files in results_by_folder.items():
        found.plans.append(_make_conversation_plan(folder, result_files))
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


def _is_dataset_file(path: Path, first_record: dict[str, Any]) -> bool:
    return DATASET_FILE_NAME.fullmatch(path.name) is not None and "messages" in first_record


def _is_companion_file(path: Path) -> bool:
    if path.name.startswith("evaluate_stdout_"):
        return True
    return path.name in COMPANION_FILES or path.name == CONVERSATION_FILE


def _make_flat_plan(
    log_file: Path, first_record: dict[str, Any], dataset_folders: Sequence[Path]
) -> RunPlan:
    """Return the plan of a flat log. The name of the file is that of the model."""
    language = detect_language(log_file, str(first_record.get("input", "")))
    files = list(dict.fromkeys(find_dataset_files(log_file, language, dataset_folders)))
    dataset = str(files[0].parent.parent) if files else None
    run = Run(
        benchmark="hammerbench",
        generation="flat",
        language=language,
        model=log_file.stem,
        path=str(log_file),
        dataset=dataset,
    )
    reason = "a JSON array of records with input, predict and label"
    return RunPlan(run, [log_file], data=files, reason=reason, needs_scores=False)


def _make_conversation_plan(folder: Path, result_files: list[Path]) -> RunPlan:
    """Make the import plan of a run whose result files are in one folder for each type of
    conversation.

    Each of these folders also has the dataset of its type, and can have files with verdicts, called
    companions.
    """
    model_folder = _find_model_folder(folder)
    run = Run(
        benchmark="hammerbench",
        generation="conversation",
        language=detect_language(result_files[0], ""),
        model=model_folder.name,
        path=str(folder),
        dataset=f"{CONVERSATION_FILE} in the folder of each {RESULT_FILE}",
    )
    run.name_parts = _list_names_below(folder, model_folder)

    type_folders = [path.parent for path in result_files]
    companions = [type_folder / name for type_folder in type_folders for name in COMPANION_FILES]
    datasets = [type_folder / CONVERSATION_FILE for type_folder in type_folders]
    type_names = [get_dataset_type(type_folder) for type_folder in type_folders]
    return RunPlan(
        run,
        result_files,
        scores=[path for path in companions if path.is_file()],
        data=[path for path in datasets if path.is_file()],
        reason=f"folders with {RESULT_FILE}: {', '.join(type_names)}",
    )


def _find_model_folder(folder: Path) -> Path:
    """Return the folder that is named after the model: the nearest one, from the folder of a run
    upwards, that is neither a folder such as `MT0` nor a folder of a dataset type.
    """
    for candidate in (folder, *folder.parents):
        is_base_folder = BASE_RESULTS_FOLDER.fullmatch(candidate.name) is not None
        is_type_folder = TYPE_FOLDER_NAME.fullmatch(candidate.name) is not None
        if candidate.name and not is_base_folder and not is_type_folder:
            return candidate
    return folder


def _list_names_below(folder: Path, model_folder: Path) -> list[str]:
    """Return the name of `folder` and the names of the folders above it, up to but without
    `model_folder`.
    """
    names = list(folder.relative_to(model_folder).parts)
    names.reverse()
    return names
