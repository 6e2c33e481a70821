"""Find ATIF trajectories and Harbor jobs. Only the beginning and the end of each file are read.

A Harbor trial is a folder with `result.json` or `agent/trajectory.json`. Trials with the same job,
agent, model and dataset form one run. Other trajectories in a folder form one run for each agent
and model.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
VERIFIER_FILES = (
    "ctrf.json",
    "reward.json",
    "reward.txt",
    "rubric_breakdown.json",
    "test-stdout.txt",
)
CONFIG_FILE = "config.json"
JOB_RESULT = "result.json"
JOB_FILES = (JOB_RESULT, CONFIG_FILE, "lock.json", "job.log")
TERMINAL_BENCH_VERDICT = '"is_resolved"'
"""Field of a result of terminal-bench v1, which has a `trial_name` too, but no trajectory and no
reward.
"""
MAIN_TRAJECTORY = "trajectory.json"
_SCHEMA = re.compile(r'"schema_version"\s*:\s*"(?:ATIF|v?1\.\d)')
_STEP = re.compile(r'"step_id"\s*:')
_TRIAL_FOLDER = re.compile(r".+__[A-Za-z0-9]{7}")
_CONTINUATION = re.compile(r"(?P<continued>.+)\.cont-(?P<number>\d{1,6})")
_ATTACHMENT = re.compile(r"(?P<whole>.+)\.(?:summarization-.+|cont-\d{1,6})")
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
        """The trajectory or, without one, the result. Each item has at least one of them."""
        files = list(self.documents)
        if self.result is not None:
            files.append(self.result)
        return files[0]


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
    """Find the runs among the opened files.

    There are two kinds: jobs of the program Harbor, which have a folder for each trial (one attempt
    at a task), and single trajectories anywhere else. Every file below a trial folder belongs to
    the trial.
    """
    files_by_trial = _group_files_by_trial(files)
    found = DiscoveredRuns()
    # This adds the runs of jobs, and claims their files and all files of trials.
    _plan_jobs(files_by_trial, set(files), found)

    unclaimed = [path for path in files if path.suffix in SUFFIXES and path not in found.claimed]
    trajectories = _select_trajectories(unclaimed)
    found.claimed.update(trajectories.keys())
    found.plans += _plan_single_trajectories(trajectories)
    return found


def _group_files_by_trial(files: Sequence[Path]) -> dict[Path, list[Path]]:
    """Return the folders of trials with the files below each. Other files are left out."""
    files_by_trial: dict[Path, list[Path]] = {folder: [] for folder in _find_trial_folders(files)}
    # Many files share a folder, so the trial of each folder is looked up only once.
    trial_by_folder: dict[Path, Path | None] = {}
    for path in files:
        folder = path.parent
        if folder not in trial_by_folder:
            trial_by_folder[folder] = _find_enclosing_trial(folder, files_by_trial)
        trial = trial_by_folder[folder]
        if trial is not None:
            files_by_trial[trial].append(path)
    return files_by_trial


def _find_enclosing_trial(folder: Path, trial_folders: Container[Path]) -> Path | None:
    for candidate in (folder, *folder.parents):
        if candidate in trial_folders:
            return candidate
    return None


def _find_trial_folders(files: Iterable[Path]) -> list[Path]:
    folders: dict[Path, None] = {}
    for path in files:
        trial = _find_trial_of_file(path)
        if trial is not None:
            folders[trial] = None
    return list(folders)


def _find_trial_of_file(path: Path) -> Path | None:
    """Return the trial folder to which a file belongs by its name and content, or None.

    A trial folder contains the result of one attempt at a task, or `agent/trajectory.json`, the
    main trajectory.
    """
    if path.name in RESULT_FILES:
        return path.parent if _is_trial_record(path) else None
    if path.name != MAIN_TRAJECTORY or path.parent.name != "agent":
        return None
    if read_agent_and_model(path) is None:
        return None

    # A task in several steps has TRIAL/steps/NAME/agent, any other TRIAL/agent.
    trial = path.parent.parent
    if trial.parent.name == "steps":
        trial = trial.parent.parent
    # A trajectory can also be in a folder `agent` of another program.
    if _TRIAL_FOLDER.fullmatch(trial.name) or _is_trial_record(trial / CONFIG_FILE):
        return trial
    return None


def _is_trial_record(path: Path) -> bool:
    """Return whether a file is the result or configuration of a trial, and not of a whole job."""
    ends = read_file_ends(path)
    is_other_record = '"n_total_trials"' in ends.head or TERMINAL_BENCH_VERDICT in ends.head
    return not is_other_record and isinstance(ends.read_field("trial_name"), str)


def _plan_jobs(
    files_by_trial: dict[Path, list[Path]], files: set[Path], found: DiscoveredRuns
) -> None:
    """Add the runs of Harbor jobs to `found`.

    A job tries agents and models on the tasks of datasets. Its trials are split into one run for
    each agent, model and dataset.

    Args:
        files_by_trial: Folder of a trial -> the files in it.
        files: All opened files.
        found: Gets the plans of the runs, their files and issues.
    """
    for files_of_trial in files_by_trial.values():
        found.claimed.update(files_of_trial)

    for (job_folder, origin), trials in _group_trials_by_run(files_by_trial, found).items():
        job_files = [job_folder / name for name in JOB_FILES]
        found.claimed.update(path for path in job_files if path in files)
        job_result = job_folder / JOB_RESULT
        data = JobFiles(
            tuple(trials),
            job_result=job_result if job_result in files else None,
            evals_key=origin.evals_key,
        )
        found.plans.append(_plan_job(job_folder, origin, data))


def _group_trials_by_run(
    files_by_trial: dict[Path, list[Path]], found: DiscoveredRuns
) -> dict[tuple[Path, TrialOrigin], list[TrialFiles]]:
    """Return the trials of each run, which is a job with an agent, a model and a dataset.

    A folder without a trial adds a notice to `found`.
    """
    trials_by_run: defaultdict[tuple[Path, TrialOrigin], list[TrialFiles]] = defaultdict(list)
    for folder, files_of_trial in files_by_trial.items():
        trial = _collect_trial_files(folder, files_of_trial)
        if trial is None:
            what = "the trial has neither a result nor a trajectory, so it is not imported"
            found.issues.append(ImportIssue(str(folder), what=what, severity="notice"))
            continue
        job_folder = folder.parent
        trials_by_run[job_folder, _identify_trial(folder, trial)].append(trial)
    return trials_by_run


def _plan_job(job: Path, origin: TrialOrigin, files: JobFiles) -> RunPlan:
    """Make the import plan of the trials of one agent and model in a Harbor job."""
    run = Run(
        benchmark="atif",
        generation=origin.dataset,
        language="",
        model=_format_run_title(origin.agent, origin.model),
        path=str(job),
        needs_dataset=False,
        title="Harbor",
    )
    run.settings = {"agent": origin.agent, "model": origin.model, "job": job.name}
    run.name_parts = [job.name]
    return _make_plan(run, files, confidence=0.95, reason="a Harbor job with trial folders")


def _collect_trial_files(folder: Path, files: Sequence[Path]) -> TrialFiles | None:
    """Sort the files below a trial folder: result, trajectories and output of the verifier.

    Returns None if there is neither a result nor a trajectory. Trajectories that are no documents
    of the trial, such as those of subagents, are attachments.
    """
    results = [path for path in files if path.parent == folder and path.name in RESULT_FILES]
    agent_files = [path for path in files if path.parent.name == "agent" and path.suffix == ".json"]
    documents = _find_documents(agent_files)
    if not results and not documents:
        return None

    attachments = [path for path in agent_files if path not in documents]
    verifier_files = [
        path for path in files if path.parent.name == "verifier" and path.name in VERIFIER_FILES
    ]
    return TrialFiles(
        folder.name,
        documents=tuple(documents),
        result=results[0] if results else None,
        verifier=tuple(verifier_files),
        attachments=tuple(attachments),
    )


def _find_documents(agent_files: Sequence[Path]) -> dict[Path, None]:
    """Return the main trajectory, and the further documents in which it continues if it became too
    long.
    """
    index = _TrajectoryIndex.of_files(agent_files)
    documents: dict[Path, None] = {}
    for path in agent_files:
        if path.name == MAIN_TRAJECTORY:
            documents[path] = None
            documents |= dict.fromkeys(index.find_continuations(path))
    return documents


class TrialOrigin(NamedTuple):
    """Agent, model and dataset of a trial."""

    agent: str
    model: str
    dataset: str

    @property
    def evals_key(self) -> str:
        """Key of the trials in `stats.evals` of a job: `AGENT__MODEL__DATASET`, or without a model
        `AGENT__DATASET`.
        """
        parts = [self.agent, self.model, self.dataset] if self.model else [self.agent, self.dataset]
        return "__".join(parts)


def _identify_trial(folder: Path, trial: TrialFiles) -> TrialOrigin:
    """Return the agent, the model and the dataset of a trial, by which trials are divided into
    runs.

    They are in the trial's result or, without one, in its configuration and first document.
    """
    ends = read_file_ends(trial.result) if trial.result else _FileEnds()
    source = ends.read_field("source")
    if not isinstance(source, str):
        source = read_file_ends(folder / CONFIG_FILE).read_field("source")
    # Harbor calls trials without a dataset `adhoc`.
    dataset = source if isinstance(source, str) and source else "adhoc"

    agent, model = _parse_agent_info(ends.read_field("agent_info"))
    if not agent and trial.documents:
        agent, model = read_agent_and_model(trial.documents[0]) or ("", "")
        # The keys of `stats.evals` have models without their provider.
        model = model.rpartition("/")[2]
    return TrialOrigin(agent or "agent", model=model, dataset=dataset)


def _parse_agent_info(agent_info: Any) -> AgentAndModel:
    """Return the name of the agent and of its model. They are empty if the trajectory does not
    state them.
    """
    if not isinstance(agent_info, dict) or not isinstance(agent_info.get("name"), str):
        return "", ""
    model_info = agent_info.get("model_info")
    if isinstance(model_info, dict):
        model = model_info.get("name")
    else:
        model = agent_info.get("model_name")
    return agent_info["name"], model if isinstance(model, str) else ""


class _SingleRun(NamedTuple):
    """What identifies a run of trajectories outside Harbor jobs."""

    place: Path
    """Folder of the trajectories, or a file with a trajectory on each line."""
    agent: str
    model: str


def _plan_single_trajectories(trajectories: Mapping[Path, AgentAndModel]) -> Iterator[RunPlan]:
    """Yield the plans of the runs whose trajectories do not belong to a Harbor job. All
    trajectories of one folder, agent and model are one run.
    """
    related_files = _TrajectoryIndex.of_files(trajectories)
    trials_by_run: defaultdict[_SingleRun, list[TrialFiles]] = defaultdict(list)
    for path, (agent, model) in trajectories.items():
        # A trajectory of a subagent, or a continuation, is a part of another trajectory, to which
        # `_make_single_trial` adds it.
        if _is_attachment(path, trajectories):
            continue
        run = _SingleRun(_find_run_place(path), agent, model)
        trials_by_run[run].append(_make_single_trial(path, related_files))

    for run, trials in trials_by_run.items():
        yield _plan_single_run(run, trials)


def _select_trajectories(files: Sequence[Path]) -> dict[Path, AgentAndModel]:
    """Return the agent and the model of each file that is a trajectory. The other files are left to
    other importers.
    """
    trajectories: dict[Path, AgentAndModel] = {}
    for path in files:
        agent_and_model = read_agent_and_model(path)
        if agent_and_model is not None:
            trajectories[path] = agent_and_model
    return trajectories


def _find_run_place(path: Path) -> Path:
    """Return the folder of a run of trajectories, or the file if it has one on each line."""
    if path.suffix in LINE_SUFFIXES:
        return path
    # A trajectory with the usual name is alone in a folder of its trial.
    return path.parent.parent if path.name == MAIN_TRAJECTORY else path.parent


def _make_single_trial(path: Path, related_files: _TrajectoryIndex) -> TrialFiles:
    """Return the trial of a trajectory, with the files that continue or belong to it."""
    if path.suffix in LINE_SUFFIXES:
        return TrialFiles(path.stem, (path,))
    name = path.stem.removesuffix(".trajectory")
    if path.name == MAIN_TRAJECTORY:
        name = path.parent.name
    return TrialFiles(
        name,
        documents=(path, *related_files.find_continuations(path)),
        attachments=related_files.find_attachments(path),
    )


def _is_attachment(path: Path, trajectories: Container[Path]) -> bool:
    """Whether a trajectory is a part of another one beside it, such as its continuation."""
    match = _ATTACHMENT.fullmatch(path.stem)
    return match is not None and path.with_name(match["whole"] + path.suffix) in trajectories


def _plan_single_run(single_run: _SingleRun, trials: Sequence[TrialFiles]) -> RunPlan:
    """Make the import plan of trials that belong to no job. A single trial gives the run its name
    and path.
    """
    path = single_run.place
    name = single_run.place.name
    if len(trials) == 1:
        (trial,) = trials
        path = trial.documents[0]
        name = trial.name

    title = _format_run_title(single_run.agent, single_run.model)
    run = Run(
        benchmark="atif",
        generation="",
        language="",
        model=title,
        path=str(path),
        needs_dataset=False,
        settings={"agent": single_run.agent, "model": single_run.model},
        name_parts=[name],
    )
    reason = "files with steps, agent and an ATIF schema_version"
    return _make_plan(run, JobFiles(tuple(trials)), confidence=0.9, reason=reason)


def _format_run_title(agent: str, model: str) -> str:
    return f"{model} ({agent})" if model else agent or "agent"


def _make_plan(run: Run, job_files: JobFiles, *, confidence: float, reason: str) -> RunPlan:
    """Make the import plan of a run from the files of its trials.

    `confidence` says how sure it is that the files are ATIF files, and `reason` why.
    """
    # A dictionary, because trials can share a file.
    results: dict[Path, None] = {}
    logs: list[Path] = []
    for trial in job_files.trials:
        # The main file is the trajectory or, without one, the result.
        results[trial.main_file] = None
        logs += trial.documents[1:]
        logs += trial.attachments

    return RunPlan(
        run,
        results=list(results),
        scores=_list_score_files(job_files),
        logs=logs,
        confidence=confidence,
        reason=reason,
        importer_data=job_files,
        needs_scores=False,
    )


def _list_score_files(job_files: JobFiles) -> list[Path]:
    """Return the results beside trajectories, the files of the verifiers, and the result of the
    job.
    """
    scores: list[Path] = []
    verifier_files: list[Path] = []
    for trial in job_files.trials:
        if trial.result and trial.documents:
            scores.append(trial.result)
        verifier_files += trial.verifier
    scores += verifier_files
    if job_files.job_result:
        scores.append(job_files.job_result)
    return scores


@dataclass(frozen=True, slots=True)
class _TrajectoryIndex:
    """Finds the files that belong to a trajectory by their names, without a look at all files for
    each trajectory.
    """

    numbered: Mapping[Path, Mapping[int, Path]]
    """Path of a trajectory -> number of a continuation -> its file."""
    longer_names: Mapping[Path, Sequence[Path]]
    """Path of a trajectory without its suffix -> files beside it whose names go on with a dot."""

    @classmethod
    def of_files(cls, files: Iterable[Path]) -> _TrajectoryIndex:
        """Index trajectory files by the file that their name begins with.

        `trajectory.2.json` continues `trajectory.json` as its second document. Other files, such as
        `trajectory.subagent.json`, only have a longer name with the same beginning.
        """
        numbered: defaultdict[Path, dict[int, Path]] = defaultdict(dict)
        longer_names: defaultdict[Path, list[Path]] = defaultdict(list)
        for path in files:
            match = _CONTINUATION.fullmatch(path.stem)
            if match:
                continued = path.with_name(match["continued"] + path.suffix)
                number = int(match["number"])
                numbered[continued][number] = path
            # The name of a continuation is also a longer one. `find_attachments` leaves it out.
            for start in _list_dotted_starts(path.stem):
                longer_names[path.with_name(start)].append(path)
        return cls(numbered, longer_names)

    def find_continuations(self, path: Path) -> tuple[Path, ...]:
        """Return the files `NAME.cont-1.json`, `NAME.cont-2.json` of a trajectory `NAME.json`, in
        order.
        """
        continuations = self.numbered.get(path, {})
        return tuple(continuations[number] for number in sorted(continuations))

    def find_attachments(self, path: Path) -> tuple[Path, ...]:
        """Return the files `NAME.ANYTHING.json` of a trajectory `NAME.json`, except
        continuations.
        """
        continuations = set(self.find_continuations(path))
        longer_names = self.longer_names.get(path.with_suffix(""), ())
        return tuple(each for each in longer_names if each not in continuations)


def _list_dotted_starts(stem: str) -> list[str]:
    """Return the starts of a name before each of its dots: `a` and `a.b` for `a.b.c`."""
    return [stem[:index] for index, character in enumerate(stem) if character == "." and index > 0]


def read_file_ends(path: Path) -> _FileEnds:
    """Return the beginning and the end of a file. Both are empty if it cannot be read."""
    tail = b""
    try:
        with open_file(path) as file:
            head = os.pread(file.fileno(), PEEKED_BYTES, 0)
            size = os.fstat(file.fileno()).st_size
            if size > len(head):
                tail = os.pread(file.fileno(), PEEKED_BYTES, max(size - PEEKED_BYTES, 0))
    except OSError:
        return _FileEnds()
    return _FileEnds(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))


def read_agent_and_model(path: Path) -> AgentAndModel | None:
    """Return the agent and the model of an ATIF trajectory, or None for other files.

    Only the two ends of the file are read, because trajectories can be very large.
    """
    if path.suffix not in SUFFIXES or not _looks_like_trajectory(path):
        return None
    ends = read_file_ends(path)
    is_object = ends.head.lstrip("\ufeff \r\n\t").startswith("{")
    text = ends.head + ends.tail
    if not is_object or not _has_trajectory_keys(text):
        return None

    agent = ends.read_field("agent")
    if isinstance(agent, dict):
        return _parse_agent_info(agent)
    # The object `agent` is cut off, or it is at the end of the file. Its fields can still be found
    # as text.
    _, _, agent_text = text.partition('"agent"')
    return _find_text_field(agent_text, "name"), _find_text_field(agent_text, "model_name")


def _has_trajectory_keys(text: str) -> bool:
    if '"steps"' not in text or '"agent"' not in text:
        return False
    return _SCHEMA.search(text) is not None and _STEP.search(text) is not None


def _find_text_field(text: str, name: str) -> str:
    match = re.search(rf'"{name}"\s*:\s*"([^"\\]*)"', text)
    return match[1] if match else ""


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
