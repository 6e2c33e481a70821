"""Recognize the result files of tau-bench v1 and tau2-bench.

A run of v1 is a JSON array of entries. A run of tau2-bench is a JSON object with info, tasks and simulations, or a
folder with `results.json` and one file for each simulation in `simulations/`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fcreview.importers.common.jsonl import clean_value
from fcreview.importers.tau.notes import names_run
from fcreview.model.item import ImportIssue, Run
from fcreview.model.redact import redact_keys_in_text
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.safe_files import open_file

HEAD_BYTES = 1 << 20
"""Number of bytes that are read to recognize a file."""
VERSION1_KEYS = ("task_id", "reward", "info", "traj")
VERSION1_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[\d.]+)_range_(?P<range>-?\d+-+\d+)"
    r"_user-(?P<user>.+?)(?:_(?P<time>\d{8,}))?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SIMULATION_FOLDER = "simulations"
MAIN_FILE = "results.json"
INFO_KEYS = ("agent_info", "user_info", "environment_info", "num_trials")
NOTED_SIMULATION = "_simulation"
"""Suffix of the file names of simulation copies, which the viewer of tau2-bench writes beside its notes."""
NOTE_KEYS = ("note", "simulation_id", "source_results_file")
FOLDER_LAYOUT = "folder"
"""`RunPlan.importer_data` of a run with one file for each simulation."""


def find_runs(files: Sequence[Path], dataset_folders: Sequence[Path]) -> DiscoveredRuns:  # noqa: ARG001 (no datasets)
    found = DiscoveredRuns()
    simulations: defaultdict[Path, list[Path]] = defaultdict(list)
    main_files: list[Path] = []
    notes: dict[Path, str] = {}
    for path in files:
        if path.suffix != ".json":
            continue
        head = _read_head(path)
        if is_version1(head):
            found.plans.append(_make_version1_plan(path))
        elif is_version2(head):
            main_files.append(path)
        elif is_notes(head):
            notes[path] = head
        elif is_simulation(head) and path.parent.name == SIMULATION_FOLDER:
            simulations[path.parent].append(path)
        elif is_simulation(head) and path.stem.endswith(NOTED_SIMULATION):
            found.claimed.add(path)
    found.plans += _make_version2_plans(main_files, simulations)
    _attach_notes(found.plans, notes)
    found.claimed.update(notes, *(plan.files for plan in found.plans))
    return found


def _make_version2_plans(main_files: Sequence[Path], simulations: dict[Path, list[Path]]) -> Iterator[RunPlan]:
    for path in main_files:
        own = simulations.pop(path.parent / SIMULATION_FOLDER, [])
        yield _make_folder_plan(path, own) if own else _make_file_plan(path)
    for folder, paths in simulations.items():
        main = folder.parent / MAIN_FILE
        has_main = main.is_file() and is_version2(_read_head(main))
        yield _make_folder_plan(main if has_main else None, paths)


def _attach_notes(plans: Sequence[RunPlan], notes: Mapping[Path, str]) -> None:
    """Add each file of notes to the runs that it names, or to all runs of v2 if it names none of them."""
    plans = [plan for plan in plans if plan.run.generation == "v2"]
    for path, head in notes.items():
        named = [plan for plan in plans if names_run(head, Path(plan.run.path))]
        for plan in named or plans:
            plan.logs.append(path)


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


def is_version2(head: str) -> bool:
    """Whether a file is a result file of tau2-bench, from its beginning. The keys may be in any order."""
    if not head.startswith("{"):
        return False
    has_info = _has_keys(head, ("info",)) and any(_has_keys(head, (name,)) for name in INFO_KEYS)
    lists = ("tasks", "simulations")
    return has_info and any(_has_keys(head, (name,)) for name in lists)


def is_simulation(head: str) -> bool:
    has_content = any(_has_keys(head, (name,)) for name in ("messages", "ticks", "reward_info"))
    return head.startswith("{") and _has_keys(head, ("task_id", "termination_reason")) and has_content


def is_notes(head: str) -> bool:
    return head.startswith(("{", "[")) and _has_keys(head, NOTE_KEYS)


def _make_version1_plan(path: Path) -> RunPlan:
    match = VERSION1_NAME.fullmatch(path.stem)
    run = Run("tau", "v1", "en", match["model"] if match else path.stem, str(path), needs_dataset=False)
    if match:
        names = {"strategy": "strategy", "temperature": "temperature", "user": "user simulator"}
        run.settings |= {names[key]: value for key, value in match.groupdict().items() if key in names and value}
    return RunPlan(
        run, [path], confidence=0.9, reason="a JSON array of entries with task_id, reward and traj", needs_scores=False
    )


def _make_run(path: Path, main: Path | None, name: str) -> Run:
    run = Run("tau", "v2", "en", name, str(path), title="tau2-bench", needs_dataset=False)
    head = _read_head(main) if main is not None else ""
    agent = _find_text(r'"agent_info"\s*:\s*\{[^{}]*?"llm"', head)
    known = agent or _find_text(r'"agent_info"\s*:\s*\{[^{}]*?"implementation"', head)
    if known:
        run.model = redact_keys_in_text(known)
    domain = _find_text('"domain_name"', head)
    if domain:
        run.settings["domain"] = domain
    return run


def _find_text(pattern: str, head: str) -> str:
    """Return the JSON string after the first match of `pattern`, which describes the field name; empty if none."""
    match = re.search(pattern + r'\s*:\s*("(?:[^"\\]|\\.)+")', head)
    try:
        value = clean_value(json.loads(match[1])) if match else ""
    except ValueError:
        return ""
    return _CONTROL.sub("", value) if isinstance(value, str) else ""


def _make_file_plan(path: Path) -> RunPlan:
    run = _make_run(path, path, path.name.split(".json")[0] or path.stem)
    return RunPlan(run, [path], reason="a JSON object with info, tasks and simulations", needs_scores=False)


def _make_folder_plan(main: Path | None, simulations: list[Path]) -> RunPlan:
    folder = simulations[0].parent.parent
    run = _make_run(folder, main, folder.name)
    ordered = sorted(simulations, key=lambda path: path.name)
    reason = f"{MAIN_FILE} and one file for each simulation in {SIMULATION_FOLDER}/"
    plan = RunPlan(run, ordered, reason=reason, needs_scores=False, importer_data=FOLDER_LAYOUT)
    if main is None:
        what = f"{MAIN_FILE} is missing, so the tasks and their golden answers are missing"
        plan.issues.append(ImportIssue(str(folder), None, what))
    else:
        plan.data.append(main)
    return plan
