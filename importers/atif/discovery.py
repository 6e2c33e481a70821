"""Find ATIF trajectories and Harbor jobs. Only the beginning and the end of each file are read.

A Harbor trial is a folder with `result.json` or `agent/trajectory.json`. Trials with the same job,
agent, model and dataset form one run. Other trajectories in a folder form one run for each agent
and model.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.json_text import parse_json_prefix
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

SUFFIXES = (".json", ".jsonl", ".ndjson")
LINE_SUFFIXES = (".jsonl", ".ndjson")
PEEKED_BYTES = 1 << 16
"""Number of bytes that are read at each end of a file to recognize it."""
FIRST_BYTES = 1 << 12
"""Number of bytes at the start of a file in which `schema_version` must occur, unless the name
contains `traj`.
"""
RESULT_FILES = ("result.json", "results.json")
VERIFIER_FILES = ("ctrf.json", "reward.json", "reward.txt", "test-stdout.txt")
CONFIG_FILE = "config.json"
TERMINAL_BENCH_VERDICT = '"is_resolved"'
"""Field of a result of terminal-bench v1, which has a `trial_name` too, but no trajectory and no
reward.
"""
MAIN_TRAJECTORY = "trajectory.json"
_SCHEMA = re.compile(r'"schema_version"\s*:\s*"(?:ATIF|v?1\.\d)')
_STEP = re.compile(r'"step_id"\s*:')
_TRIAL_FOLDER = re.compile(r".+__[A-Za-z0-9]{7}")
_CONTINUATION = re.compile(r"(.+)\.cont-(\d{1,6})")
_ATTACHMENT = re.compile(r"(.+)\.(?:summarization-.+|cont-\d{1,6})")
AgentAndModel = tuple[str, str]
"""(agent name, model name). An unknown name is empty."""


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """The files of one item: a trajectory, or a trial of a Harbor job."""

    name: str
    documents: tuple[Path, ...] = ()
    """The trajectory and its continuations, in order, or the trajectories of all steps of a
    task.
    """
    result: Path | None = None
    """The trial's `result.json`, or None if it is missing or the item is a single trajectory."""
    verifier: tuple[Path, ...] = ()
    """Files below `verifier/` that the importer reads."""
    attachments: tuple[Path, ...] = ()
    """Other files to which the trajectory may refer, such as the trajectories of subagents."""

    @property
    def main_file(self) -> Path:
        return (*self.documents, *([self.result] if self.result else []))[0]


@dataclass(frozen=True, slots=True)
class JobFiles:
    """The files of one run, passed from `find_runs` to `read_items`."""

    trials: tuple[TrialFiles, ...]
    job_result: Path | None = None
    evals_key: str = ""
    """Key of the run in `stats.evals` of the job's `result.json`."""


class _FileEnds(NamedTuple):
    head: str = ""
    tail: str = ""

    def read_field(self, name: str) -> Any:
        """Return the first value of the field `name` in the beginning of the file, or None
        without a complete value.
        """
        match = re.search(rf'"{name}"\s*:\s*', self.head)
        if match is None:
            return None
        try:
            return parse_json_prefix(self.head, match.end())
        except (ValueError, RecursionError):
            return None


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - the files have no dataset
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the files. Every file below a trial folder belongs to the trial."""
    found = DiscoveredRuns()
    files_by_trial: dict[Path, list[Path]] = {folder: [] for folder in _find_trial_folders(files)}
    trial_of_folder: dict[Path, Path | None] = {}
    loose: list[Path] = []
    for path in files:
        folder = path.parent
        if folder not in trial_of_folder:
            trial_of_folder[folder] = next(
                (each for each in (folder, *folder.parents) if each in files_by_trial), None
            )
        if (trial := trial_of_folder[folder]) is not None:
            files_by_trial[trial].append(path)
        elif path.suffix in SUFFIXES:
            loose.append(path)
    _plan_jobs(files_by_trial, set(files), found)
    _plan_single_trajectories([path for path in loose if path not in found.claimed], found)
    return found


def _find_trial_folders(files: Iterable[Path]) -> dict[Path, None]:
    folders: dict[Path, None] = {}
    for path in files:
        if path.name in RESULT_FILES:
            if _is_trial_record(path):
                folders[path.parent] = None
        elif (
            path.name == MAIN_TRAJECTORY
            and path.parent.name == "agent"
            and read_agent_and_model(path) is not None
        ):
            steps = path.parent.parent.parent
            trial = steps.parent if steps.name == "steps" else path.parent.parent
            if _TRIAL_FOLDER.fullmatch(trial.name) or _is_trial_record(trial / CONFIG_FILE):
                folders[trial] = None
    return folders


def _is_trial_record(path: Path) -> bool:
    """Return whether a file is the result or configuration of a trial, and not of a whole job."""
    ends = read_file_ends(path)
    is_other_record = '"n_total_trials"' in ends.head or TERMINAL_BENCH_VERDICT in ends.head
    return not is_other_record and isinstance(ends.read_field("trial_name"), str)


def _plan_jobs(
    files_by_trial: dict[Path, list[Path]], files: set[Path], found: DiscoveredRuns
) -> None:
    groups: defaultdict[tuple[Path, str, str, str], list[TrialFiles]] = defaultdict(list)
    for folder, own in files_by_trial.items():
        found.claimed.update(own)
        trial = _collect_trial_files(folder, own)
        if trial is None:
            what = "the trial has neither a result nor a trajectory, so it is not imported"
            found.issues.append(ImportIssue(str(folder), None, what=what, severity="notice"))
            continue
        groups[folder.parent, *_identify_trial(folder, trial)].append(trial)
    for (job, agent, model, source), trials in groups.items():
        job_files = [
            job / name
            for name in ("result.json", CONFIG_FILE, "lock.json", "job.log")
            if job / name in files
        ]
        found.claimed.update(job_files)
        result = next((path for path in job_files if path.name == "result.json"), None)
        key = "__".join([agent, *([model] if model else []), source])
        data = JobFiles(tuple(trials), job_result=result, evals_key=key)
        run = Run(
            "atif",
            source,
            "",
            _format_run_title(agent, model),
            str(job),
            needs_dataset=False,
            title="Harbor",
        )
        run.settings = {"agent": agent, "model": model, "job": job.name}
        run.name_parts = [job.name]
        found.plans.append(_make_plan(run, data, 0.95, "a Harbor job with trial folders"))


def _collect_trial_files(folder: Path, files: Sequence[Path]) -> TrialFiles | None:
    result = next(
        (path for path in files if path.parent == folder and path.name in RESULT_FILES), None
    )
    main = [path for path in files if path.name == MAIN_TRAJECTORY and path.parent.name == "agent"]
    documents = [each for path in main for each in (path, *_find_continuations(path, files))]
    if result is None and not documents:
        return None
    agent_files = [path for path in files if path.parent.name == "agent" and path.suffix == ".json"]
    attachments = [path for path in agent_files if path not in documents]
    verifier = [
        path for path in files if path.parent.name == "verifier" and path.name in VERIFIER_FILES
    ]
    return TrialFiles(
        folder.name,
        documents=tuple(documents),
        result=result,
        verifier=tuple(verifier),
        attachments=tuple(attachments),
    )


class TrialOrigin(NamedTuple):
    """Agent, model and dataset of a trial, as in the keys of `stats.evals`."""

    agent: str
    model: str
    dataset: str


def _identify_trial(folder: Path, trial: TrialFiles) -> TrialOrigin:
    ends = read_file_ends(trial.result) if trial.result else _FileEnds()
    source = ends.read_field("source")
    if not isinstance(source, str):
        source = read_file_ends(folder / CONFIG_FILE).read_field("source")
    agent, model = _parse_agent_info(ends.read_field("agent_info"))
    if not agent and trial.documents:
        agent, model = read_agent_and_model(trial.documents[0]) or ("", "")
        model = model.rpartition("/")[2]
    return TrialOrigin(
        agent or "agent",
        model=model,
        dataset=source if isinstance(source, str) and source else "adhoc",
    )


def _parse_agent_info(agent_info: Any) -> AgentAndModel:
    if not isinstance(agent_info, dict) or not isinstance(agent_info.get("name"), str):
        return "", ""
    model = agent_info.get("model_info")
    name = model.get("name") if isinstance(model, dict) else agent_info.get("model_name")
    return agent_info["name"], name if isinstance(name, str) else ""


def _plan_single_trajectories(files: Sequence[Path], found: DiscoveredRuns) -> None:
    trajectories = {
        path: names for path in files if (names := read_agent_and_model(path)) is not None
    }
    groups: defaultdict[tuple[Path, str, str], list[TrialFiles]] = defaultdict(list)
    for path, (agent, model) in trajectories.items():
        found.claimed.add(path)
        attachment = _ATTACHMENT.fullmatch(path.stem)
        if attachment and path.with_name(attachment[1] + path.suffix) in trajectories:
            continue
        if path.suffix in LINE_SUFFIXES:
            groups[path, agent, model] = [TrialFiles(path.stem, (path,))]
            continue
        is_in_own_folder = path.name == MAIN_TRAJECTORY
        root = path.parent.parent if is_in_own_folder else path.parent
        name = path.parent.name if is_in_own_folder else path.stem.removesuffix(".trajectory")
        others = [each for each in trajectories if each.parent == path.parent and each != path]
        continuations = _find_continuations(path, others)
        attached = [
            each
            for each in others
            if each not in continuations and each.stem.startswith(path.stem + ".")
        ]
        groups[root, agent, model].append(
            TrialFiles(name, (path, *continuations), attachments=tuple(attached))
        )
    for (root, agent, model), trials in groups.items():
        place = root if len(trials) > 1 else trials[0].documents[0]
        run = Run("atif", "", "", _format_run_title(agent, model), str(place), needs_dataset=False)
        run.settings = {"agent": agent, "model": model}
        run.name_parts = [trials[0].name] if len(trials) == 1 else [root.name]
        reason = "files with steps, agent and an ATIF schema_version"
        found.plans.append(_make_plan(run, JobFiles(tuple(trials)), 0.9, reason))


def _format_run_title(agent: str, model: str) -> str:
    return f"{model} ({agent})" if model else agent or "agent"


def _make_plan(run: Run, job_files: JobFiles, confidence: float, reason: str) -> RunPlan:
    scores = [trial.result for trial in job_files.trials if trial.result and trial.documents]
    scores += [path for trial in job_files.trials for path in trial.verifier]
    logs = [
        path for trial in job_files.trials for path in (*trial.documents[1:], *trial.attachments)
    ]
    return RunPlan(
        run,
        results=list(dict.fromkeys(trial.main_file for trial in job_files.trials)),
        scores=[*scores, *([job_files.job_result] if job_files.job_result else [])],
        logs=logs,
        confidence=confidence,
        reason=reason,
        importer_data=job_files,
        needs_scores=False,
    )


def _find_continuations(path: Path, files: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files `NAME.cont-1.json`, `NAME.cont-2.json` of a trajectory `NAME.json`, in
    order.
    """
    beside = [each for each in files if (each.parent, each.suffix) == (path.parent, path.suffix)]
    matches = {each: match for each in beside if (match := _CONTINUATION.fullmatch(each.stem))}
    numbered = {int(match[2]): each for each, match in matches.items() if match[1] == path.stem}
    return tuple(numbered[number] for number in sorted(numbered))


def read_file_ends(path: Path) -> _FileEnds:
    """Return the beginning and the end of a file. Both are empty if it cannot be read."""
    try:
        with open_file(path) as file:
            head = os.pread(file.fileno(), PEEKED_BYTES, 0)
            size = os.fstat(file.fileno()).st_size
            tail = (
                os.pread(file.fileno(), PEEKED_BYTES, max(size - PEEKED_BYTES, 0))
                if size > len(head)
                else b""
            )
    except OSError:
        return _FileEnds()
    return _FileEnds(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))


def read_agent_and_model(path: Path) -> AgentAndModel | None:
    """Return the agent and the model of an ATIF trajectory, or None for other files."""
    if path.suffix not in SUFFIXES or not _looks_like_trajectory(path):
        return None
    ends = read_file_ends(path)
    text = ends.head + ends.tail
    has_keys = (
        '"steps"' in text and '"agent"' in text and _SCHEMA.search(text) and _STEP.search(text)
    )
    if not has_keys or not ends.head.lstrip("\ufeff \r\n\t").startswith("{"):
        return None
    agent = ends.read_field("agent")
    if isinstance(agent, dict):
        return _parse_agent_info(agent)
    start = text.partition('"agent"')[2]
    name, model = (
        re.search(rf'"{key}"\s*:\s*"([^"\\]*)"', start) for key in ("name", "model_name")
    )
    return name[1] if name else "", model[1] if model else ""


def _looks_like_trajectory(path: Path) -> bool:
    """Return whether the name or the first bytes of a file indicate a trajectory.

    Otherwise, it is not read.
    """
    if "traj" in path.name:
        return True
    try:
        with open_file(path) as file:
            return b'"schema_version"' in os.pread(file.fileno(), FIRST_BYTES, 0)
    except OSError:
        return False
