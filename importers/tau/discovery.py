"""Recognition of result files of tau-bench v1: a JSON array of entries with task_id, reward, info and traj."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fcreview.model.item import Run
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.safe_files import open_file

HEAD_BYTES = 1 << 20
"""Number of bytes from which a file is recognized."""
VERSION1_KEYS = ("task_id", "reward", "info", "traj")
VERSION1_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[\d.]+)_range_(?P<range>-?\d+-+\d+)"
    r"_user-(?P<user>.+?)(?:_(?P<time>\d{8,}))?"
)


def find_runs(files: Sequence[Path], dataset_folders: Sequence[Path]) -> DiscoveredRuns:  # noqa: ARG001 (no datasets)
    """Find the runs among the files, one for each result file."""
    found = DiscoveredRuns()
    for path in files:
        if path.suffix != ".json":
            continue
        head = _read_head(path)
        if is_version1(head):
            found.plans.append(_make_version1_plan(path))
            found.claimed.add(path)
    return found


def _read_head(path: Path) -> str:
    try:
        with open_file(path) as file:
            return file.read(HEAD_BYTES).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return ""


def _has_keys(head: str, names: Sequence[str]) -> bool:
    return all(re.search(rf'"{name}"\s*:', head) for name in names)


def is_version1(head: str) -> bool:
    return re.match(r"\[\s*\{", head) is not None and _has_keys(head, VERSION1_KEYS)


def _make_version1_plan(path: Path) -> RunPlan:
    match = VERSION1_NAME.fullmatch(path.stem)
    run = Run("tau", "v1", "en", match["model"] if match else path.stem, str(path), needs_dataset=False)
    if match:
        names = {"strategy": "strategy", "temperature": "temperature", "user": "user simulator"}
        run.settings |= {names[key]: value for key, value in match.groupdict().items() if key in names and value}
    return RunPlan(
        run, [path], confidence=0.9, reason="a JSON array of entries with task_id, reward and traj", needs_scores=False
    )
