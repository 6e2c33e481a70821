"""Recognize the result files of tau-bench v1 and tau2-bench, read the settings of runs, and make item ids.

A run of v1 is a JSON array of entries. A run of tau2-bench is a JSON object with info, tasks and simulations, or a
folder with `results.json` and one file for each simulation in `simulations/`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import clean_value
from fcreview.importers.common.records import as_object, is_integer
from fcreview.model.item import ImportIssue, Run
from fcreview.model.redact import redact_keys_in_text
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.safe_files import open_file

HEAD_BYTES = 1 << 20
VERSION1_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[\d.]+)_range_(?P<range>-?\d+-+\d+)"
    r"_user-(?P<user>.+?)(?:_(?P<time>\d{8,}))?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SIMULATION_FOLDER = "simulations"
MAIN_FILE = "results.json"
NOTED_SIMULATION = "_simulation"
"""Suffix of the file names of simulation copies, which the viewer of tau2-bench writes beside its notes."""
_NOTED_RUN = re.compile(r'"source_results_file"\s*:\s*"((?:[^"\\]|\\.)*)"')
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
        named = [plan for plan in plans if mentions_run(head, Path(plan.run.path))]
        for plan in named or plans:
            plan.logs.append(path)


def mentions_run(head: str, run_path: Path) -> bool:
    """Return whether the beginning of a file of notes has a path to the run: to its file, or to a file in its
    folder."""
    named = [re.split(r"[\\/]+", each) for each in _NOTED_RUN.findall(head)]
    return any(run_path.name in parts[-2:] for parts in named)


def _read_head(path: Path) -> str:
    try:
        with open_file(path) as file:
            return file.read(HEAD_BYTES).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return ""


def _has_keys(head: str, *names: str) -> bool:
    """Whether the text contains all keys. In `names`, `a|b` stands for one of the keys `a` and `b`."""
    has_words = all(any(f'"{each}"' in head for each in name.split("|")) for name in names)  # faster than the pattern
    return has_words and all(re.search(rf'"(?:{name})"\s*:', head) for name in names)


def is_version1(head: str) -> bool:
    return re.match(r"\[\s*\{", head) is not None and _has_keys(head, "task_id", "reward", "info", "traj")


def is_version2(head: str) -> bool:
    """Whether a file is a result file of tau2-bench, from its beginning. The keys may be in any order."""
    info_keys = "agent_info|user_info|environment_info|num_trials"
    return head.startswith("{") and _has_keys(head, "tasks|simulations", "info", info_keys)


def is_simulation(head: str) -> bool:
    return head.startswith("{") and _has_keys(head, "messages|ticks|reward_info", "task_id", "termination_reason")


def is_notes(head: str) -> bool:
    return head.startswith(("{", "[")) and _has_keys(head, "note", "simulation_id", "source_results_file")


def _make_version1_plan(path: Path) -> RunPlan:
    match = VERSION1_NAME.fullmatch(path.stem)
    run = Run("tau", "v1", "en", match["model"] if match else path.stem, str(path), needs_dataset=False)
    if match:
        run.settings |= {name: match[name.split()[0]] for name in ("strategy", "temperature", "user simulator")}
    reason = "a JSON array of entries with task_id, reward and traj"
    return RunPlan(run, [path], confidence=0.9, reason=reason, needs_scores=False)


def _make_run(path: Path, main: Path | None, name: str) -> Run:
    run = Run("tau", "v2", "en", name, str(path), title="tau2-bench", needs_dataset=False)
    head = _read_head(main) if main is not None else ""
    agents = [_find_text(rf'"agent_info"\s*:\s*\{{[^{{}}]*?"{name}"', head) for name in ("llm", "implementation")]
    if any(agents):
        run.model = redact_keys_in_text(agents[0] or agents[1])
    if domain := _find_text('"domain_name"', head):
        run.settings["domain"] = domain
    return run


def _find_text(pattern: str, head: str) -> str:
    """Return the string value of the first field whose name matches `pattern`; empty if there is none."""
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


def is_task_id(value: Any) -> bool:
    return (isinstance(value, str) and value != "") or is_integer(value)


class ItemIds:
    """Assigns item ids `TASK_trial_N`.

    If a trial is missing or repeated, the id has another form, and there is an issue.
    """

    def __init__(self) -> None:
        self.known: set[str] = set()

    def add(self, task: str, trial: Any, file: str, line: int, simulation: str = "") -> tuple[str, ImportIssue | None]:
        """Return the id of a simulation, and an issue if its trial is missing or occurs twice.

        The id then contains `simulation` (the simulation's own id) or, without it, the line number.
        """
        item_id, is_known_trial = f"{task}_trial_{trial}", is_integer(trial)
        if is_known_trial and item_id not in self.known:
            self.known.add(item_id)
            return item_id, None
        what = f"trial {trial} of task {task} occurs more than once" if is_known_trial else f"task {task} has no trial"
        item_id = f"{task}_{simulation}" if simulation else f"{item_id if is_known_trial else task}#{line}"
        while item_id in self.known:
            item_id += f"#{line}"
        self.known.add(item_id)
        return item_id, ImportIssue(file, line, f"{what}; imported as {item_id}", item=item_id)


def read_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    info = as_object(fields.get("info"))
    agent, user = as_object(info.get("agent_info")), as_object(info.get("user_info"))
    settings = {
        "agent": agent.get("implementation"), "agent arguments": agent.get("llm_args") or None,
        "user simulator": user.get("implementation"), "user model": user.get("llm"),
        "user simulator arguments": user.get("llm_args") or None,
        "domain": as_object(info.get("environment_info")).get("domain_name"),
    }  # fmt: skip
    names = ("num_trials", "max_steps", "max_errors", "seed", "git_commit", "retrieval_config", "speech_complexity")
    settings |= {name: info.get(name) for name in names}
    return {name: value for name, value in settings.items() if value is not None}
