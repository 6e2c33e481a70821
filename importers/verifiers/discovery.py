"""Recognise rollouts of verifiers by their first record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import (
    MAX_LINE_BYTES,
    JsonRecord,
    read_first_record,
    read_records,
)
from fcreview.importers.common.records import as_object, is_number, list_objects
from fcreview.importers.common.run_models import MAX_MODELS
from fcreview.importers.common.text_scan import MODEL_FIELD, scan_texts
from fcreview.importers.verifiers.rollouts import (
    JsonObject,
    RunFiles,
    choose_main_trace,
    get_model_name,
    is_episode,
    is_legacy_rollout,
)
from fcreview.model.item import Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

SUFFIXES = (".jsonl", ".ndjson", ".json")
"""Also that of a JSON array, to which people convert the lines."""
USUAL_NAMES = ("traces.jsonl", "results.jsonl")
MAX_FIRST_LINE_BYTES = 4 << 20
MAX_CONFIG_BYTES = 16 << 20
CONFIG = Path("configs") / "resolved"
METADATA = "metadata.json"
SETTINGS = ("num_rollouts", "rollouts_per_example", "num_examples", "env_id", "env_args")


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - rollouts contain the tasks
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files: each file whose first record is an episode, or a
    rollout of an older version, is one.
    """
    found = DiscoveredRuns()
    known_files = set(files)
    for path in files:
        plans = _plan_file(path, known_files)
        if not plans:
            continue
        for plan in plans:
            found.plans.append(plan)
            found.claimed.update(plan.files)
        # A configuration that no run uses is claimed too, else it would be reported as unknown.
        found.claimed.update(_find_other_configs(path, known_files))
    return found


def _plan_file(path: Path, known_files: set[Path]) -> list[RunPlan]:
    """Make the plans of the runs in a file, by its first record. Empty if it has no rollouts."""
    if path.suffix not in SUFFIXES:
        return []
    # A file with a usual name may have a long first line. Of any other file, only a short one is
    # read.
    is_usual_name = path.name in USUAL_NAMES
    first = read_first_record(path, MAX_LINE_BYTES if is_usual_name else MAX_FIRST_LINE_BYTES)
    if is_episode(first):
        return list(_plan_traces(path, first, known_files))
    if is_legacy_rollout(first):
        return [_plan_legacy(path, first, known_files)]
    return []


def _find_other_configs(path: Path, known_files: set[Path]) -> list[Path]:
    folder = path.parent / "configs"
    return [file for file in known_files if file.is_relative_to(folder)]


def _plan_traces(path: Path, first: JsonObject, known_files: set[Path]) -> Iterator[RunPlan]:
    """Yield the import plan of each model in a file with traces. Most files have one model.

    The settings stand in a configuration file or in the first record.

    Args:
        path: The file with traces.
        first: Its first record.
        known_files: All files among which the configuration file may be.
    """
    config_path = _find_config(path, known_files)
    files = RunFiles(path, config=config_path)
    config = _read_config(config_path)
    first_by_model = _find_first_episodes(path)
    if len(first_by_model) <= 1:
        model = _find_model(config, first) or path.parent.name
        yield _plan_episodes(files, first, model=model, config=config)
        return
    # The configuration of a file that was put together from several runs names one of the models.
    for model, first_of_model in first_by_model.items():
        files_of_model = replace(files, model=model)
        # Rollouts without a model are a run of their own, named after the folder.
        name = model or path.parent.name
        yield _plan_episodes(files_of_model, first_of_model, model=name, config=config)


def _plan_episodes(
    files: RunFiles, first: JsonObject, *, model: str, config: JsonObject
) -> RunPlan:
    """Make the import plan of a file with episodes, the newer form of rollouts."""
    path = files.rollouts
    run = Run(
        benchmark="verifiers",
        generation=_find_environment_name(first),
        language="",
        model=model,
        path=str(path),
        needs_dataset=False,
        settings=_read_settings(config),
        name_parts=[path.parent.name, path.stem],
    )
    return _make_plan(run, files, "the records have traces, task and env")


def _find_first_episodes(path: Path) -> dict[str, JsonObject]:
    """Return the first episode of each model in a file. Empty if the file is one run, because it
    has one model, or too many for a run each: each run reads the whole file.

    An episode names no model if its first request failed. In a file with one model, it belongs to
    this model; in a file with several, such episodes are a run of their own, with the key "".
    """
    # A fast search, because most files have one model.
    if len(scan_texts(path, MODEL_FIELD)) <= 1:
        return {}
    first_episodes: dict[str, JsonObject] = {}
    for record in read_records(path):
        if isinstance(record, JsonRecord) and is_episode(record.value):
            first_episodes.setdefault(get_model_name(record.value), record.value)
    n_models = sum(model != "" for model in first_episodes)
    has_run_for_each_model = 1 < n_models <= MAX_MODELS
    return first_episodes if has_run_for_each_model else {}


def _find_environment_name(episode: JsonObject) -> str:
    """Return the name or, without one, the id of an episode's environment; empty if unknown."""
    environment = as_object(episode.get("env"))
    name = environment.get("name") or environment.get("id")
    return name if isinstance(name, str) else ""


def _find_config(path: Path, known_files: set[Path]) -> Path | None:
    for name in ("eval.json", "replay.json"):
        config = path.parent / CONFIG / name
        if config in known_files:
            return config
    return None


def _find_model(config: JsonObject, episode: JsonObject) -> str | None:
    """Return the model of the launch configuration, else that of the first model call."""
    calls = list_objects(choose_main_trace(episode).get("calls"))
    for model in (config.get("model"), *(call.get("model") for call in calls)):
        if isinstance(model, str) and model:
            return model
    return None


def _plan_legacy(path: Path, first: JsonObject, known_files: set[Path]) -> RunPlan:  # noqa: ARG001
    """Make the import plan of a file in the older format, whose settings stand in a metadata file
    beside it.
    """
    metadata_path = path.with_name(METADATA)
    config_path = metadata_path if metadata_path in known_files else None
    config = _read_config(config_path)
    run = Run(
        benchmark="verifiers",
        generation=_get_text(config, "env_id") or "",
        language="",
        model=_get_text(config, "model") or path.parent.name,
        path=str(path),
        needs_dataset=False,
        settings=_read_settings(config),
        name_parts=[path.parent.name, path.parent.parent.name],
    )
    files = RunFiles(path, is_legacy=True, config=config_path)
    return _make_plan(run, files, "the records have prompt, completion and reward")


def _get_text(config: JsonObject, name: str) -> str | None:
    value = config.get(name)
    return value if isinstance(value, str) else None


def _make_plan(run: Run, files: RunFiles, reason: str) -> RunPlan:
    """Make the import plan of a run from its files."""
    return RunPlan(
        run,
        results=[files.rollouts],
        logs=[files.config] if files.config else [],
        confidence=0.95,
        reason=reason,
        importer_data=files,
        needs_scores=False,
    )


def _read_config(path: Path | None) -> JsonObject:
    if path is None or path.stat().st_size > MAX_CONFIG_BYTES:
        return {}
    return read_json(path, [], dict) or {}


def _read_settings(config: JsonObject) -> JsonObject:
    """Return the settings of a run that its configuration states."""
    settings = {name: config[name] for name in SETTINGS if config.get(name) not in (None, {}, "")}
    sampling: dict[str, Any] = as_object(config.get("sampling") or config.get("sampling_args"))
    settings |= {
        name: value
        for name, value in sampling.items()
        if is_number(value) or isinstance(value, str)
    }
    return settings
