"""Recognize the result files of tau-bench v1 and tau2-bench, read the settings of runs, and make
item ids.

A run of v1 is a JSON array of entries. A run of tau2-bench is a JSON object with info, tasks and
simulations, or a folder with `results.json` and one file for each simulation in `simulations/`.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.jsonl import escape_and_cut_strings
from fcreview.importers.common.records import as_object, is_integer
from fcreview.model.item import ImportIssue, Run
from fcreview.model.sanitize import redact_api_keys_in_text
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

HEAD_BYTES = 1 << 20
MAX_BLANKS = 100
"""Number of bytes in which the second line of JSON Lines begins, after blank lines."""
VERSION1_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[\d.]+)_range_(?P<range>-?\d+-+\d+)"
    r"_user-(?P<user>.+?)(?:_(?P<time>\d{8,}))?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SIMULATION_FOLDER = "simulations"
MAIN_FILE = "results.json"
NOTED_SIMULATION = "_simulation"
"""Suffix of the names of files in which the viewer of tau2-bench stores a copy of a simulation
beside a note.
"""
_NOTED_RUN = re.compile(r'"source_results_file"\s*:\s*"((?:[^"\\]|\\.)*)"')
SIMULATION_LIST_WITHOUT_TASKS = (
    "the file is a list of simulations without info and tasks, so the model, policy and golden"
    " answers are missing"
)
_SIMULATION_KEYS = ("termination_reason", "messages|ticks|reward_info", "task_id")
"""Keys of a simulation, as `_contains_keys` takes them."""
FOLDER_LAYOUT = "folder"
"""Value of `RunPlan.importer_data` for a run with one file for each simulation."""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - the files have no dataset
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs of tau-bench and tau2-bench among the opened files.

    Each file is recognized by its first bytes. A run of tau2-bench can be one file, or a main file
    with a folder of simulations. Notes of its users belong to the run that they are about.
    """
    opened = _OpenedFiles()
    for path in files:
        if path.suffix == ".json":
            opened.add(path, _read_head(path))

    version2_plans = _make_version2_plans(opened.main_files, opened.simulations)
    found = DiscoveredRuns(plans=[*opened.single_file_plans, *version2_plans])
    _assign_notes_to_runs(found.plans, opened.notes)

    found.claimed.update(opened.notes, opened.noted_simulations)
    for plan in found.plans:
        found.claimed.update(plan.files)
    return found


@dataclass(slots=True)
class _OpenedFiles:
    """The opened files of both benchmarks, by kind."""

    single_file_plans: list[RunPlan] = field(default_factory=list)
    """Plans of the files that are a run by themselves."""
    main_files: list[Path] = field(default_factory=list)
    """Files of tau2-bench with the tasks of a run, and often its simulations."""
    simulations: defaultdict[Path, list[Path]] = field(default_factory=lambda: defaultdict(list))
    """Folder of simulations -> its files, one for each simulation."""
    notes: dict[Path, str] = field(default_factory=dict)
    """File of notes -> its first bytes, as text."""
    noted_simulations: list[Path] = field(default_factory=list)
    """Copies that repeat a simulation of a run, so nothing reads them."""

    def add(self, path: Path, head: str) -> None:
        """Add a JSON file. `head` is its start, which shows the kind."""
        if is_version1_head(head):
            self.single_file_plans.append(_make_version1_plan(path))
        elif is_version2_head(head):
            self.main_files.append(path)
        elif is_simulation_list_head(head):
            self.single_file_plans.append(_make_simulation_list_plan(path))
        elif is_notes_head(head):
            self.notes[path] = head
        elif is_simulation_head(head):
            self._add_simulation(path)

    def _add_simulation(self, path: Path) -> None:
        if path.parent.name == SIMULATION_FOLDER:
            self.simulations[path.parent].append(path)
        elif path.stem.endswith(NOTED_SIMULATION):
            self.noted_simulations.append(path)


def _make_version2_plans(
    main_files: Sequence[Path], simulations: Mapping[Path, list[Path]]
) -> Iterator[RunPlan]:
    """Yield the plans of the runs of tau2-bench: single files with all simulations, and folders
    with a file for each simulation.

    `main_files` have the tasks, and all simulations if there is no folder of simulations beside
    them. `simulations` maps these folders to their files.
    """
    remaining = dict(simulations)
    for path in main_files:
        own_simulations = remaining.pop(path.parent / SIMULATION_FOLDER, [])
        if own_simulations:
            yield _make_folder_plan(path, own_simulations)
        else:
            yield _make_single_file_plan(path)

    # The main file of the other folders is not among the files that the user named.
    for folder, paths in remaining.items():
        main_file = folder.parent / MAIN_FILE
        if main_file.is_file() and is_version2_head(_read_head(main_file)):
            yield _make_folder_plan(main_file, paths)
        else:
            yield _make_folder_plan(None, paths)


def _assign_notes_to_runs(plans: Sequence[RunPlan], notes: Mapping[Path, str]) -> None:
    """Add each file of notes to the runs that it names.

    If it names none of them, add it to all runs of v2.
    """
    version2_plans = [plan for plan in plans if plan.run.generation == "v2"]
    for path, head in notes.items():
        named = [plan for plan in version2_plans if mentions_run(head, Path(plan.run.path))]
        for plan in named or version2_plans:
            plan.logs.append(path)


def mentions_run(notes_head: str, run_path: Path) -> bool:
    """Return whether the start of a file of notes contains the path of the run's file or of a
    file in its folder.
    """
    for noted_path in _NOTED_RUN.findall(notes_head):
        parts = re.split(r"[\\/]+", noted_path)
        if run_path.name in parts[-2:]:
            return True
    return False


def _read_head(path: Path) -> str:
    """Return the start of a file, of JSON Lines only the first line. Empty if it cannot be read."""
    try:
        with open_file(path) as file:
            start = file.read(HEAD_BYTES)
    except OSError:
        return ""
    return _select_first_line(start).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def _select_first_line(start: bytes) -> bytes:
    """Return the first line of JSON Lines, which shows what the others are, or else all bytes.

    In a single JSON document, no line begins with an object if the line before it ends with one.
    """
    first_line, _, other_lines = start.partition(b"\n")
    has_second_object = other_lines[:MAX_BLANKS].lstrip().startswith(b"{")
    is_json_lines = first_line.rstrip().endswith(b"}") and has_second_object
    return first_line if is_json_lines else start


def _contains_keys(head: str, *names: str) -> bool:
    """Return whether the text contains all keys.

    In `names`, `a|b` stands for one of the keys `a` and `b`. The keys are searched one after the
    other, so a key that other files rarely have should come first.
    """
    # This check is faster than the search for the pattern.
    for name in names:
        if not any(f'"{alternative}"' in head for alternative in name.split("|")):
            return False
    return all(re.search(rf'"(?:{name})"\s*:', head) for name in names)


def is_version1_head(head: str) -> bool:
    is_list_of_objects = re.match(r"\[\s*\{", head) is not None
    return is_list_of_objects and _contains_keys(head, "task_id", "reward", "info", "traj")


def is_version2_head(head: str) -> bool:
    """Return whether a result file of tau2-bench begins with this text.

    Its keys may be in any order.
    """
    info_keys = "agent_info|user_info|environment_info|num_trials"
    return head.startswith("{") and _contains_keys(head, "info", "tasks|simulations", info_keys)


def is_simulation_head(head: str) -> bool:
    return head.startswith("{") and _contains_keys(head, *_SIMULATION_KEYS)


def is_simulation_list_head(head: str) -> bool:
    """Return whether the text begins a list of simulations, which people extract from result
    files of tau2-bench.
    """
    is_list = re.match(r"\[\s*\{", head) is not None
    if not is_list or not _contains_keys(head, *_SIMULATION_KEYS):
        return False

    is_list_of_runs = '"simulations"' in head
    return not is_list_of_runs


def is_notes_head(head: str) -> bool:
    return head.startswith(("{", "[")) and _contains_keys(
        head, "source_results_file", "simulation_id", "note"
    )


def _make_version1_plan(path: Path) -> RunPlan:
    """Return the plan of a file of v1. Its name states the model and the settings."""
    run = Run(
        benchmark="tau",
        generation="v1",
        language="en",
        model=path.stem,
        path=str(path),
        needs_dataset=False,
    )

    match = VERSION1_NAME.fullmatch(path.stem)
    if match:
        run.model = match["model"]
        run.settings["strategy"] = match["strategy"]
        run.settings["temperature"] = match["temperature"]
        run.settings["user simulator"] = match["user"]
        run.name_parts = [
            match["strategy"],
            f"user {match['user']}",
            f"temperature {match['temperature']}",
            f"tasks {match['range']}",
        ]

    reason = "a JSON array of entries with task_id, reward and traj"
    return RunPlan(run, [path], confidence=0.9, reason=reason, needs_scores=False)


def _make_run(path: Path, main_file: Path | None, name: str) -> Run:
    """Make a run of tau2-bench from the first bytes of its main file.

    `name` is the model if the main file names none.
    """
    run = Run(
        benchmark="tau",
        generation="v2",
        language="en",
        model=name,
        path=str(path),
        title="tau2-bench",
        needs_dataset=False,
    )
    if main_file is None:
        return run

    stated = _read_stated_names(main_file)
    if stated.llm or stated.implementation:
        run.model = redact_api_keys_in_text(stated.llm or stated.implementation)
    if stated.domain:
        run.settings["domain"] = stated.domain

    user_part = f"user {stated.user}" if stated.user else ""
    parts = [stated.domain, stated.implementation, user_part]
    run.name_parts = [redact_api_keys_in_text(part) for part in parts if part]
    return run


@dataclass(frozen=True, slots=True)
class _StatedNames:
    """The names in the first bytes of a main file. A name that it does not state is empty."""

    llm: str
    implementation: str
    """Name of the agent's program."""
    domain: str
    user: str
    """LLM of the simulated user."""


def _read_stated_names(main_file: Path) -> _StatedNames:
    head = _read_head(main_file)
    agent_field = r'"agent_info"\s*:\s*\{[^{}]*?'
    user_field = r'"user_info"\s*:\s*\{[^{}]*?'
    return _StatedNames(
        llm=_find_string_field(agent_field + '"llm"', head),
        implementation=_find_string_field(agent_field + '"implementation"', head),
        domain=_find_string_field('"domain_name"', head),
        user=_find_string_field(user_field + '"llm"', head),
    )


def _find_string_field(name_pattern: str, head: str) -> str:
    """Return the string value of the first field whose name matches a pattern, or an empty
    string.
    """
    match = re.search(name_pattern + r'\s*:\s*("(?:[^"\\]|\\.)+")', head)
    if match is None:
        return ""
    try:
        value = escape_and_cut_strings(json.loads(match[1]))
    except ValueError:
        return ""
    return _CONTROL.sub("", value) if isinstance(value, str) else ""


def _make_single_file_plan(path: Path) -> RunPlan:
    run = _make_run(path, path, path.name.split(".json")[0] or path.stem)
    return RunPlan(
        run, [path], reason="a JSON object with info, tasks and simulations", needs_scores=False
    )


def _make_simulation_list_plan(path: Path) -> RunPlan:
    plan = _make_single_file_plan(path)
    plan.reason = "a JSON array of simulations"
    plan.issues.append(ImportIssue(str(path), what=SIMULATION_LIST_WITHOUT_TASKS))
    return plan


def _make_folder_plan(main_file: Path | None, simulation_files: list[Path]) -> RunPlan:
    """Return the plan of a run with one file for each simulation."""
    folder = simulation_files[0].parent.parent
    run = _make_run(folder, main_file, folder.name)
    ordered = sorted(simulation_files, key=lambda path: path.name)
    reason = f"{MAIN_FILE} and one file for each simulation in {SIMULATION_FOLDER}/"
    plan = RunPlan(run, ordered, reason=reason, needs_scores=False, importer_data=FOLDER_LAYOUT)
    if main_file is None:
        what = f"{MAIN_FILE} is missing, so the simulations have no tasks and no golden answers"
        plan.issues.append(ImportIssue(str(folder), what=what))
    else:
        plan.data.append(main_file)
    return plan


def is_task_id(value: Any) -> bool:
    return (isinstance(value, str) and value != "") or is_integer(value)


class AssignedId(NamedTuple):
    item_id: str
    issue: ImportIssue | None = None
    """Set if the trial is missing or occurs twice."""


class ItemIds:
    """The item ids of a run, of the form `TASK_trial_N`."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._n_uses: Counter[str] = Counter()
        """Item id -> how often a simulation wanted it although it was known."""

    def assign_id(
        self, task: str, trial: Any, *, file: str, line: int, simulation_id: str = ""
    ) -> AssignedId:
        """Return a unique item id for a simulation, such as `7_trial_0`, and an issue if the id had
        to be changed.

        If the trial is missing or occurs twice, the item id contains the simulation's own id or,
        without one, the line number. If this id occurs again, `#2`, `#3` and so on follow it.
        """
        trial_id = f"{task}_trial_{trial}"
        has_trial = is_integer(trial)
        if has_trial and trial_id not in self.known:
            self.known.add(trial_id)
            return AssignedId(trial_id)

        if has_trial:
            problem = f"trial {trial} of task {task} occurs more than once"
            wanted_id = f"{trial_id}#{line}"
        else:
            problem = f"task {task} has no trial"
            wanted_id = f"{task}#{line}"
        if simulation_id:
            wanted_id = f"{task}_{simulation_id}"

        item_id = self._make_unique(wanted_id)
        self.known.add(item_id)
        what = f"{problem}. It is imported as {item_id}"
        return AssignedId(item_id, ImportIssue(file, line, what=what, item=item_id))

    def _make_unique(self, wanted_id: str) -> str:
        """Return the wanted id or, if it is known, the id with the next free number."""
        item_id = wanted_id
        while item_id in self.known:
            self._n_uses[wanted_id] += 1
            item_id = f"{wanted_id}#{self._n_uses[wanted_id] + 1}"
        return item_id


SETTING_FIELDS = (
    "num_trials",
    "max_steps",
    "max_errors",
    "seed",
    "git_commit",
    "retrieval_config",
    "speech_complexity",
)
"""Fields of `info` that are settings of the run."""


def read_run_settings(main_fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in `info` that are not null."""
    info = as_object(main_fields.get("info"))
    agent = as_object(info.get("agent_info"))
    user = as_object(info.get("user_info"))
    environment = as_object(info.get("environment_info"))
    settings = {
        "agent": agent.get("implementation"),
        "agent arguments": agent.get("llm_args") or None,
        "user simulator": user.get("implementation"),
        "user model": user.get("llm"),
        "user simulator arguments": user.get("llm_args") or None,
        "domain": environment.get("domain_name"),
    }
    for name in SETTING_FIELDS:
        settings[name] = info.get(name)
    return {name: value for name, value in settings.items() if value is not None}
