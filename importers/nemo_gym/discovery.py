"""Recognise rollouts of NeMo Gym by their first record, and find the files that belong to them.

The names of rollout files are free. The files beside `NAME.jsonl` are `NAME_failures.jsonl`,
`NAME_materialized_inputs.jsonl` and `NAME_aggregate_metrics.json`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.common.jsonl import (
    MAX_LINE_BYTES,
    JsonRecord,
    read_first_record,
    read_records,
)
from fcreview.importers.common.records import as_object
from fcreview.importers.common.run_models import MAX_MODELS
from fcreview.importers.common.text_scan import MODEL_FIELD, scan_texts
from fcreview.importers.nemo_gym.rollouts import (
    REQUEST,
    RESPONSE,
    JsonObject,
    Owner,
    RunFiles,
    get_agent_name,
    get_model_name,
    get_owner,
    is_input,
    is_rollout,
)
from fcreview.model.item import Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

SUFFIXES = (".jsonl", ".ndjson", ".json")
"""Also that of a JSON array, to which people convert the lines."""
MAX_FIRST_LINE_BYTES = 1 << 20
PROBE_BYTES = 64 << 10
FAILURES = "_failures"
MATERIALIZED = "_materialized_inputs"
SUMMARY_ENDINGS = (
    "_aggregate_metrics.json",
    "_agent_metrics.json",
    "_reward_profiling.jsonl",
)
"""Ends of the names of files with figures, which NeMo Gym computes from the rollouts."""
MAX_DATASETS = 20
"""Number of input files beside rollouts that are searched for golden answers."""
_AGENT = re.compile(rb'"agent_ref"\s{0,20}:\s{0,20}\{(?:[^{}]{0,400}[{}]|[^{}]{401})')
"""Matches an object up to its first brace, or its first 401 characters."""


@dataclass(slots=True)
class _FoundFiles:
    """Files of NeMo Gym by what their first record is, in the order in which they were found."""

    rollouts: dict[Path, JsonObject] = field(default_factory=dict)
    """First record of each file with rollouts or failed attempts."""
    inputs: list[Path] = field(default_factory=list)


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001 - the rollouts contain the rewards
) -> DiscoveredRuns:
    """Find the runs among the opened files: a file with rollouts has a run for each agent.

    Files with failures, inputs and aggregates beside it belong to its runs.
    """
    sorted_files = _sort_files(files)
    named_inputs = list(_find_named_inputs(dataset_folders))
    known_files = set(files)
    runs = DiscoveredRuns()
    for path, first_rollout in sorted_files.rollouts.items():
        if _is_beside_rollouts(path, sorted_files):
            continue
        run_files = _find_files_of_run(path, sorted_files, known_files, named_inputs)
        for plan in _plan_runs(run_files, first_rollout):
            runs.plans.append(plan)
            runs.claimed.update(plan.files)
        runs.claimed.update(_find_summaries(path, known_files))
    return runs


def _plan_runs(files: RunFiles, first_rollout: JsonObject) -> Iterator[RunPlan]:
    """Yield the import plan of each agent and, if an agent has several models, of each model."""
    first_rollout_by_owner = _find_first_rollouts(files, first_rollout)
    # An owner has a model only if an agent has several.
    has_several_models = any(
        owner is not None and owner.model is not None for owner in first_rollout_by_owner
    )
    if has_several_models:
        # The figures in the file of aggregates are those of all models together.
        files = replace(files, aggregate=None)
    for owner, first_of_owner in first_rollout_by_owner.items():
        yield _make_plan(files.rollouts, first_of_owner, replace(files, owner=owner))


def _is_beside_rollouts(path: Path, found: _FoundFiles) -> bool:
    """Whether a file contains the failed attempts of another file: `NAME_failures.jsonl`."""
    if not path.stem.endswith(FAILURES):
        return False
    main_stem = path.stem.removesuffix(FAILURES)
    return any(path.with_name(main_stem + suffix) in found.rollouts for suffix in SUFFIXES)


def _sort_files(files: Sequence[Path]) -> _FoundFiles:
    """Divide files into rollouts and inputs by their first record. Others are left out."""
    found = _FoundFiles()
    for path in files:
        if path.suffix not in SUFFIXES:
            continue
        record = _read_first_record(path)
        if is_rollout(record):
            found.rollouts[path] = record
        elif is_input(record):
            found.inputs.append(path)
    return found


def _read_first_record(path: Path) -> Any:
    """Return the first record. Only that of a file which begins like a rollout may be large."""
    try:
        with open_file(path) as file:
            is_probable = REQUEST.encode() in os.pread(file.fileno(), PROBE_BYTES, 0)
    except OSError:
        return None
    # Of a file that is probably of another program, no long line is read.
    max_bytes = MAX_LINE_BYTES if is_probable else MAX_FIRST_LINE_BYTES
    return read_first_record(path, max_bytes)


def _find_named_inputs(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the input files in the folders of --data."""
    for folder in folders:
        for path in sorted(folder.glob("*.jsonl"))[:MAX_DATASETS]:
            if is_input(_read_first_record(path)):
                yield path


def _find_files_of_run(
    path: Path, found: _FoundFiles, known_files: set[Path], named_inputs: Sequence[Path]
) -> RunFiles:
    """Find the files that belong to a file of rollouts, by their names.

    Args:
        path: The file of rollouts.
        found: The files of NeMo Gym among the opened files.
        known_files: All opened files.
        named_inputs: Files with inputs in the folders that the user named.
    """
    datasets = _find_datasets_beside(path, found.inputs)
    aggregate = path.with_name(f"{path.stem}{SUMMARY_ENDINGS[0]}")
    return RunFiles(
        path,
        failures=_find_beside(path, FAILURES, known_files),
        materialized_inputs=_find_beside(path, MATERIALIZED, known_files),
        datasets=(*named_inputs, *datasets)[:MAX_DATASETS],
        aggregate=aggregate if aggregate in known_files else None,
    )


def _find_beside(path: Path, ending: str, known_files: set[Path]) -> Path | None:
    """Return the opened file in the same folder whose name is that of a file with an ending."""
    for suffix in SUFFIXES:
        beside = path.with_name(path.stem + ending + suffix)
        if beside in known_files:
            return beside
    return None


def _find_datasets_beside(path: Path, inputs: Iterable[Path]) -> list[Path]:
    """Return the files of inputs in the folder of a file, without those as they were sent to the
    model, which are a copy.
    """
    datasets = []
    for input_file in inputs:
        is_beside = input_file.parent == path.parent
        if is_beside and not input_file.stem.endswith(MATERIALIZED):
            datasets.append(input_file)
    return datasets


def _find_summaries(path: Path, known_files: set[Path]) -> list[Path]:
    names = [path.with_name(path.stem + ending) for ending in SUMMARY_ENDINGS]
    return [name for name in names if name in known_files]


def _find_first_rollouts(files: RunFiles, first: JsonObject) -> dict[Owner | None, JsonObject]:
    """Return the first rollout of each agent and model in the files of a run. The key is None if
    the files have only one.

    A fast search for agents and models comes first, because most files have only one.
    """
    if not any(_may_have_several_owners(path) for path in files.list_rollout_files()):
        return {None: first}

    first_rollouts: dict[Owner, JsonObject] = {}
    for path in files.list_rollout_files():
        for record in read_records(path):
            if isinstance(record, JsonRecord) and isinstance(record.value, dict):
                first_rollouts.setdefault(get_owner(record.value), record.value)
    by_owner = _join_models(first_rollouts)
    return by_owner if len(by_owner) > 1 else {None: first}


def _join_models(first_rollouts: Mapping[Owner, JsonObject]) -> dict[Owner | None, JsonObject]:
    """Return the first rollout of each run: one for each agent or, if the agent has several models,
    one for each model.

    An owner is an agent with a model. Failed requests name no model. Beside several models, it is
    unknown to which one they belong, so they are a run of their own.
    """
    owners_by_agent: dict[str, list[Owner]] = {}
    for owner in first_rollouts:
        owners_by_agent.setdefault(owner.agent, []).append(owner)

    first_rollout_by_run: dict[Owner | None, JsonObject] = {}
    for agent, owners in owners_by_agent.items():
        owners_with_model = [owner for owner in owners if owner.model]
        # Each run reads the whole file, so their number is limited.
        has_run_for_each_model = 1 < len(owners_with_model) <= MAX_MODELS
        if has_run_for_each_model:
            first_rollout_by_run |= {owner: first_rollouts[owner] for owner in owners}
        else:
            # A rollout that names its model tells more about the run.
            first_owner = [*owners_with_model, *owners][0]
            first_rollout_by_run[Owner(agent, model=None)] = first_rollouts[first_owner]
    return first_rollout_by_run


def _may_have_several_owners(path: Path) -> bool:
    agent_texts = scan_texts(path, _AGENT)
    has_one_agent = len(agent_texts) <= 1 and all(map(_is_whole_object, agent_texts))
    return not has_one_agent or len(scan_texts(path, MODEL_FIELD)) > 1


def _is_whole_object(agent_text: bytes) -> bool:
    """Whether a text of `scan_texts` is a whole JSON object, and not only its beginning."""
    _, _, value = agent_text.partition(b":")
    try:
        return isinstance(orjson.loads(value), dict)
    except orjson.JSONDecodeError:
        return False


def _make_plan(path: Path, first_rollout: JsonObject, files: RunFiles) -> RunPlan:
    """Make the import plan of a run: the rollouts of one agent and model in a file."""
    # An agent stands for the environment that it plays in, as a version does for a benchmark.
    agent = get_agent_name(first_rollout)
    run = Run(
        benchmark="nemo_gym",
        generation=agent,
        language="",
        model=_choose_model_name(first_rollout, path),
        path=str(path),
    )
    # Rollouts contain their questions. Input files add only expected answers.
    run.needs_dataset = False
    run.settings = _read_settings(first_rollout)
    run.name_parts = [part for part in (agent, path.stem, path.parent.name) if part]

    return RunPlan(
        run,
        results=[path],
        scores=_list_known(files.aggregate),
        data=[*_list_known(files.materialized_inputs), *files.datasets],
        logs=_list_known(files.failures),
        confidence=CONFIDENCE,
        reason=f"the records have responses_create_params and {RESPONSE}",
        importer_data=files,
        needs_scores=False,
    )


CONFIDENCE = 0.95
"""How sure it is that a file with these two fields is of NeMo Gym, from 0 to 1."""


def _list_known(path: Path | None) -> list[Path]:
    """Return a file as a list, which is empty if there is no such file."""
    return [] if path is None else [path]


def _choose_model_name(rollout: JsonObject, path: Path) -> str:
    """Return the model of a rollout. Some writers leave it empty, or write the path of a file."""
    model = get_model_name(rollout)
    if not model:
        return path.stem
    if model.startswith(("/", ".", "~")):
        return model.rstrip("/").rpartition("/")[2] or path.stem
    return model


def _read_settings(rollout: JsonObject) -> dict[str, Any]:
    """Return the settings of the model that a rollout's request states, and its agent."""
    request: Mapping[str, Any] = as_object(rollout.get(REQUEST))
    names = ("temperature", "top_p", "max_output_tokens", "parallel_tool_calls", "tool_choice")
    settings = {name: request[name] for name in names if request.get(name) is not None}
    agent = get_agent_name(rollout)
    if agent:
        settings["agent"] = agent
    return settings
