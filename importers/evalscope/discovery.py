"""Find the runs in output folders of EvalScope.

A run is one benchmark with one model: `reviews/MODEL/BENCHMARK_SUBSET.jsonl`, the predictions of
the same name, and the report of the benchmark. A single file of reviews or predictions is a run of
its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.discovery import list_telling_folders
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import JsonRecord, read_first_record, read_records
from fcreview.importers.common.records import as_object
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

PREDICTIONS = "predictions"
REVIEWS = "reviews"
REPORTS = "reports"
CONFIGS = "configs"
MAX_MODEL_FOLDERS = 3
"""Number of folders that the name of a model with slashes may be: `ORGANIZATION/MODEL`."""
TEMPORARY_PREFIX = "rerun-"
"""Beginning of the names of files that EvalScope writes while it runs again."""
SAMPLE_SUFFIXES = (".jsonl", ".ndjson", ".json")
"""Suffixes of predictions and reviews. EvalScope writes the first one, other programs convert."""
MAX_FIRST_LINE_BYTES = 32 << 20
HEAD_BYTES = 1 << 16
"""Number of bytes in which the index of a first line stands. Converted records can have sorted
keys."""
REPORT_HEAD_BYTES = 1 << 16
"""Number of bytes in which the name of the benchmark stands in a report."""
MAX_CONFIG_BYTES = 1 << 20
KNOWN_BENCHMARKS = (
    "acebench",
    "bfcl_v3",
    "bfcl_v4",
    "general_fc",
    "k2_verifier",
    "kimi_verifier",
    "mcp_atlas",
    "minimax_verifier",
    "tau2_bench",
    "tau3_bench",
    "tau_bench",
    "tool_bench",
    "toolathlon",
)
"""Names of benchmarks with tool calls in EvalScope 1.14.1 that contain an underscore, or whose
items fcreview reads with the benchmark's own rules."""
_TOP_LEVEL_VALUE = r"^{name}:[ \t]*(?P<value>\S.*)$"
_NESTED_VALUE = r"^[ ]+{name}:[ \t]*(?P<value>\S.*)$"
_LISTED_DATASETS = re.compile(r"^datasets:\n(?P<lines>(?:- .+\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SubsetFiles:
    """The files of one subset of a benchmark. One of the two is there."""

    name: str
    prediction: Path | None = None
    review: Path | None = None


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """Values of `configs/task_config*.yaml` on which the reading of items depends."""

    path: Path | None = None
    version: str = ""
    datasets: tuple[str, ...] = ()
    repeats: int = 1
    is_fc_model: bool | None = None
    """Whether BFCL sends functions to the model's API. None if it is not stated."""
    replaces_dots: bool = True
    """Whether BFCL sends dots in function names as underscores (`underscore_to_dot`)."""
    language: str = ""


@dataclass(frozen=True, slots=True)
class BenchmarkFiles:
    """What `find_runs` passes to `read_items`: the files of a benchmark and of one model."""

    benchmark: str
    subsets: tuple[SubsetFiles, ...]
    report: Path | None
    config: TaskConfig


@dataclass(slots=True)
class _ModelFiles:
    """Files of one model in an output folder."""

    predictions: dict[str, Path] = field(default_factory=dict)
    """Name of the file without its suffix -> path."""
    reviews: dict[str, Path] = field(default_factory=dict)
    reports: dict[str, Path] = field(default_factory=dict)
    """Benchmark -> path."""


@dataclass(slots=True)
class _OutputFolder:
    root: Path
    models: dict[str, _ModelFiles] = field(default_factory=dict)
    configs: list[Path] = field(default_factory=list)
    temporary: list[Path] = field(default_factory=list)
    """Files that EvalScope writes while it runs again."""

    def add_config(self, path: Path) -> bool:
        """Add a configuration. Return whether the file is one by its name."""
        if path.suffix not in (".yaml", ".yml"):
            return False
        self.configs.append(path)
        return True

    def add_file_of_model(self, path: Path, place: _Place) -> bool:
        """Add a file in a folder FOLDER/MODEL, if FOLDER is one of EvalScope's: predictions,
        reviews or reports.

        Returns whether it is. Temporary files of an unfinished run are noted separately.
        """
        is_of_samples = place.kind in (PREDICTIONS, REVIEWS) and path.suffix in SAMPLE_SUFFIXES
        if is_of_samples and path.name.startswith(TEMPORARY_PREFIX):
            self.temporary.append(path)
            return True
        if not is_of_samples and not _is_report_of_model(path, place):
            return False

        model = self.models.setdefault(place.model, _ModelFiles())
        files_by_kind = {
            PREDICTIONS: model.predictions,
            REVIEWS: model.reviews,
            REPORTS: model.reports,
        }
        files_by_kind[place.kind][path.stem] = path
        return True

    def list_files(self) -> Iterator[Path]:
        yield from self.configs
        yield from self.temporary
        for model in self.models.values():
            yield from model.predictions.values()
            yield from model.reviews.values()
            yield from model.reports.values()


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - the files contain the dataset's records
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs of EvalScope: one for each model in an output folder, and single files of
    samples.
    """
    found = DiscoveredRuns()
    for folder in _collect_output_folders(files):
        if not _is_output_folder(folder):
            continue
        found.claimed.update(folder.list_files())
        for model_folder, model in folder.models.items():
            _add_plans(found, folder, model_folder, model)

    for path in files:
        if path not in found.claimed and path.suffix in SAMPLE_SUFFIXES:
            _add_single_file(found, path)
    return found


def _collect_output_folders(files: Sequence[Path]) -> list[_OutputFolder]:
    """Group files by the output folder of EvalScope that they are in.

    Its files are ROOT/configs/NAME, ROOT/reviews/MODEL/NAME.jsonl and so on. Files with another
    place are left out.
    """
    folders: dict[Path, _OutputFolder] = {}
    for path in files:
        if path.parent.name == CONFIGS:
            root = path.parent.parent
            folder = folders.get(root) or _OutputFolder(root)
            is_added = folder.add_config(path)
        else:
            place = _find_place(path)
            if place is None:
                continue
            root = place.root
            folder = folders.get(root) or _OutputFolder(root)
            is_added = folder.add_file_of_model(path, place)

        # A folder without any file of EvalScope is none of its output folders.
        if is_added:
            folders[root] = folder
    return list(folders.values())


@dataclass(frozen=True, slots=True)
class _Place:
    """Place of a file in an output folder: ROOT/KIND/MODEL/NAME."""

    root: Path
    kind: str
    model: str
    """Name of the folder of the model. A name with a slash may be two folders."""


def _is_report_of_model(path: Path, place: _Place) -> bool:
    """Whether a file is a report on a model, by its place.

    The name of a model can contain a folder, as in `org/model`. Only its content tells whether a
    JSON file that deep is a report.
    """
    if place.kind != REPORTS or path.suffix != ".json":
        return False
    return "/" not in place.model or _is_report(path)


def _find_place(path: Path) -> _Place | None:
    folders = path.parents[1 : MAX_MODEL_FOLDERS + 1]
    for folder in folders:
        if folder.name in (PREDICTIONS, REVIEWS, REPORTS):
            model = path.parent.relative_to(folder).as_posix()
            return _Place(folder.parent, folder.name, model)
    return None


def _is_output_folder(folder: _OutputFolder) -> bool:
    """Whether a folder is an output of EvalScope: one of its files has the form of predictions,
    reviews or reports. One damaged file does not matter.
    """
    for model in folder.models.values():
        for path in (*model.reviews.values(), *model.predictions.values()):
            if _find_kind(path) is not None:
                return True
        for path in model.reports.values():
            if _is_report(path):
                return True
    return False


def _find_kind(path: Path) -> str | None:
    """Return what the first record of a file is: a review, a prediction, or neither."""
    record = as_object(_read_first_record_in_any_form(path))
    if "index" not in record:
        return None
    if isinstance(record.get("sample_score"), dict):
        return REVIEWS
    if isinstance(record.get("model_output"), dict):
        return PREDICTIONS
    return None


def _read_first_record_in_any_form(path: Path) -> Any:
    """Return the first record of a file, also if it spans several lines."""
    record = read_first_record(path, MAX_FIRST_LINE_BYTES)
    if record is not None:
        return record
    for reading in read_records(path):
        if isinstance(reading, JsonRecord):
            return reading.value
    return None


def _is_report(path: Path) -> bool:
    """Whether a file is a report. Other JSON files in folders of this name are not read whole."""
    if '"dataset_name"' not in _read_head(path, REPORT_HEAD_BYTES):
        return False
    report = read_json(path, [], dict) or {}
    return "dataset_name" in report and isinstance(report.get("metrics"), list)


# -- runs of a model


def _add_plans(
    found: DiscoveredRuns, folder: _OutputFolder, model_folder: str, model: _ModelFiles
) -> None:
    """Add a run to `found` for each benchmark for which a model has samples in an output folder of
    EvalScope.

    A report without samples becomes an issue, because its figures cannot be reviewed.
    """
    config = _read_newest_config(folder.configs)
    subsets_by_benchmark = _group_by_benchmark(model, config)
    for benchmark, subsets in subsets_by_benchmark.items():
        files = BenchmarkFiles(
            benchmark, tuple(subsets), report=model.reports.get(benchmark), config=config
        )
        found.plans.append(_make_plan(folder.root, model_folder, files))
    for benchmark, path in model.reports.items():
        if benchmark not in subsets_by_benchmark:
            found.issues.append(_report_figures_without_items(path))


def _group_by_benchmark(model: _ModelFiles, config: TaskConfig) -> dict[str, list[SubsetFiles]]:
    """Return the subsets of each benchmark, each with its files."""
    stated_benchmarks = [*model.reports, *config.datasets]
    subsets: dict[str, list[SubsetFiles]] = {}
    for stem in sorted(model.predictions | model.reviews):
        benchmark, name = _split_name(stem, stated_benchmarks)
        files = SubsetFiles(
            name, prediction=model.predictions.get(stem), review=model.reviews.get(stem)
        )
        subsets.setdefault(benchmark, []).append(files)
    return subsets


def _report_figures_without_items(path: Path) -> ImportIssue:
    what = (
        "this report of EvalScope has figures, but its output folder has no predictions and no"
        " reviews of the benchmark, so there are no items to review"
    )
    return ImportIssue(str(path), what=what, severity="error")


def _split_name(stem: str, stated_benchmarks: Sequence[str]) -> tuple[str, str]:
    """Return the benchmark and the subset in a file name. Both may contain underscores.

    The names in reports and in the configuration come first, then the longest known one.
    """
    for names in (stated_benchmarks, KNOWN_BENCHMARKS):
        matches = [name for name in names if stem == name or stem.startswith(f"{name}_")]
        if matches:
            benchmark = max(matches, key=len)
            return benchmark, stem.removeprefix(benchmark).removeprefix("_") or "default"
    benchmark, _, subset = stem.partition("_")
    return benchmark, subset or "default"


def _make_plan(root: Path, model_folder: str, files: BenchmarkFiles) -> RunPlan:
    """Make the import plan of a run: one model and one benchmark in an output folder of EvalScope.

    Args:
        root: The output folder.
        model_folder: The name of the model's folders in it.
        files: The files of the benchmark: subsets of samples, report and configuration.
    """
    config = files.config
    # Only ACEBench has the same items in two languages.
    language = config.language if files.benchmark == "acebench" else ""
    run = Run(
        benchmark="evalscope",
        generation=files.benchmark,
        language=language,
        model=_read_model_name(files.report) or model_folder,
        path=str(root / REVIEWS / model_folder / files.benchmark),
        needs_dataset=False,
    )
    run.name_parts = list_telling_folders(root)
    run.settings = _list_settings(config)

    plan = RunPlan(run, _list_results(files), reason="an output folder of EvalScope")
    plan.scores = _list_joined_reviews(files)
    plan.logs = [path for path in (files.report, config.path) if path is not None]
    plan.needs_scores = False
    plan.importer_data = files
    return plan


def _read_model_name(report_file: Path | None) -> str:
    """Return the name of the model, which folders have with slashes replaced."""
    if report_file is None or not _is_report(report_file):
        return ""
    report = read_json(report_file, [], dict) or {}
    name = report.get("model_name")
    return name if isinstance(name, str) else ""


def _list_joined_reviews(files: BenchmarkFiles) -> list[Path]:
    """Return the reviews of subsets with predictions."""
    reviews = []
    for subset in files.subsets:
        if subset.review is not None and subset.prediction is not None:
            reviews.append(subset.review)
    return reviews


def _list_results(files: BenchmarkFiles) -> list[Path]:
    """Return the file with the answers of each subset: the predictions, or else the reviews."""
    results = []
    for subset in files.subsets:
        path = subset.prediction or subset.review
        if path is not None:
            results.append(path)
    return results


def _list_settings(config: TaskConfig) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if config.version:
        settings["EvalScope"] = config.version
    if config.repeats > 1:
        settings["repeats"] = config.repeats
    return settings


def _add_single_file(found: DiscoveredRuns, path: Path) -> None:
    """Add a run for a single file of predictions or reviews, without its output folder.

    Its first record shows what it is, and its name has the benchmark and the subset.
    """
    kind = _find_kind(path) if _may_have_samples(path) else None
    if kind is None:
        return

    benchmark, subset_name = _split_name(path.stem, [])
    if kind == REVIEWS:
        subset = SubsetFiles(subset_name, review=path)
    else:
        subset = SubsetFiles(subset_name, prediction=path)
    files = BenchmarkFiles(benchmark, (subset,), report=None, config=TaskConfig())
    plan = _make_plan(path.parent, path.parent.name, files)
    plan.run.path = str(path)
    plan.reason = f"the first record is one of EvalScope's {kind}"
    found.plans.append(plan)
    found.claimed.add(path)


def _may_have_samples(path: Path) -> bool:
    """Whether the start of a file has the key `index`, which each sample of EvalScope has."""
    # Null bytes are removed, because UTF-16 has one in each ASCII character.
    head = _read_head(path, HEAD_BYTES).replace("\0", "")
    return '"index"' in head


def _read_head(path: Path, n_bytes: int) -> str:
    try:
        with open_file(path) as file:
            return file.read(n_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


# -- configuration


def _read_newest_config(paths: Sequence[Path]) -> TaskConfig:
    """Read the newest configuration. EvalScope writes a new one at each start."""
    if not paths:
        return TaskConfig()
    path = max(paths, key=_get_age_key)
    try:
        with open_file(path) as file:
            text = file.read(MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return TaskConfig()
    return _parse_config(path, text)


def _get_age_key(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


def _parse_config(path: Path, text: str) -> TaskConfig:
    """Read the few values that matter from the YAML text, each by the name of its line."""
    stated_repeats = _find_value(text, _TOP_LEVEL_VALUE, "repeats")
    repeats = int(stated_repeats) if stated_repeats.isdecimal() else 0
    # Without the line, it is unknown whether the model has native calls.
    stated_fc_model = _find_value(text, _NESTED_VALUE, "is_fc_model")
    is_fc_model = None
    if stated_fc_model != "":
        is_fc_model = stated_fc_model == "true"
    return TaskConfig(
        path,
        version=_find_value(text, _TOP_LEVEL_VALUE, "evalscope_version"),
        datasets=_find_datasets(text),
        repeats=max(repeats, 1),
        is_fc_model=is_fc_model,
        replaces_dots=_find_value(text, _NESTED_VALUE, "underscore_to_dot") != "false",
        language=_find_value(text, _NESTED_VALUE, "language"),
    )


def _find_value(text: str, pattern: str, name: str) -> str:
    """Return the value of the first line `NAME: VALUE`, or an empty text."""
    match = re.search(pattern.format(name=name), text, re.MULTILINE)
    if match is None:
        return ""
    return match["value"].strip().strip("'\"")


def _find_datasets(text: str) -> tuple[str, ...]:
    match = _LISTED_DATASETS.search(text)
    if match is None:
        return ()
    lines = match["lines"].splitlines()
    return tuple(line.removeprefix("- ").strip().strip("'\"") for line in lines)
