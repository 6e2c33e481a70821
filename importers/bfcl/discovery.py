"""Finding the dataset of a BFCL run: the folders given, those that were opened, beside or above the run, or installed.

Only data of the run's own generation is joined. Of several datasets with different content, the one whose questions and
golden answers equal most of those embedded in the score files is taken, and the choice is reported.

Finding BFCL runs: results and scores of one model, wherever both folders lie, as one `RunPlan`.

A run is one model folder of result files of one generation. Its scores are looked for in the same folder and beside it
(`result/MODEL` - `score/MODEL`, `RUN/result` - `RUN/score`, `RUN/*.json` - `RUN/score`), on disk, also outside the path
that was opened; the other way round when scores were opened.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import dataset, filenames
from fcreview.importers.bfcl import filenames as names
from fcreview.importers.bfcl.dataset import Dataset, DatasetFiles
from fcreview.importers.bfcl.filenames import ClassifiedFile, FileKind
from fcreview.importers.bfcl.joining import is_same_answer, is_same_question
from fcreview.importers.common.discovery import SKIPPED, is_text
from fcreview.importers.common.jsonl import Record, head, records
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan
from fcreview.safe_files import open_file

MAX_PARENT_FOLDERS = 5
"""How many folders above a model folder are looked at."""
DATASET_SUBFOLDERS = (
    "", "data", "bfcl_eval/data", "berkeley-function-call-leaderboard/data",
    "berkeley-function-call-leaderboard/bfcl_eval/data",
)  # fmt: skip
MAX_COMPARED_ENTRIES = 40
"""Score entries compared with each dataset that fits."""

_FORMAT_SENSITIVITY_CATEGORIES = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    *filenames.V2_CATEGORIES[3:6],
    *filenames.V2_CATEGORIES[14:18],
)


@dataclass(slots=True)
class CategoryFiles:
    """What one category of a run is read from."""

    results: list[Path] = field(default_factory=list)
    scores: list[Path] = field(default_factory=list)
    dataset_files: list[DatasetFiles] = field(default_factory=list)
    """Of the dataset; several for format sensitivity only."""


FilesByCategory = dict[str, CategoryFiles]
"""`RunPlan.private` of a BFCL run: by category, in the order in which they are read."""


def attach_dataset(plan: RunPlan, asked: Sequence[Path], opened: Sequence[Path], peek: Any) -> None:
    """Sets `plan.data`, `plan.run.dataset` and the categories' sources.

    `asked` are the folders that were given and those below them: if one of them fits, no other place is looked at.
    `opened` are folders with question files at the paths that were opened.
    """
    categories: FilesByCategory = plan.importer_data
    wanted = {category: _question_categories(category) for category in categories}
    stems = list(dict.fromkeys(stem for parts in wanted.values() for stem in parts))
    generation = plan.run.generation
    fitting = _folders_with_questions(asked, generation, stems, peek)
    if not fitting:
        if asked:
            what = f"no BFCL {generation} dataset for this run in the data folders given"
            plan.issues.append(ImportIssue(str(asked[0]), None, what))
        fitting = _folders_with_questions(
            [*opened, *_folders_near_run(plan), *_installed_data_folders()], generation, stems, peek
        )
    fitting = _rank_datasets(_drop_duplicate_datasets(fitting, generation, stems), plan)
    sources: dict[str, DatasetFiles] = {}
    for stem in stems:
        for folder in fitting:
            source = find_dataset_files(folder, generation, stem)
            if source is not None and is_question_file(source.questions, peek):
                sources[stem] = source
                break
    for category, parts in wanted.items():
        categories[category].dataset_files = [sources[stem] for stem in parts if stem in sources]
    plan.data = list(dict.fromkeys(path for source in sources.values() for path in source.paths))
    documents = dict.fromkeys(source.function_docs for source in sources.values() if source.function_docs)
    if any(category.startswith(("multi_turn", "memory", "web_search")) for category in wanted):
        plan.data += [path for folder in documents if folder for path in sorted(folder.glob("*.json"))]
    plan.run.dataset = str(fitting[0]) if fitting else None
    _report_missing_datasets(plan, wanted, sources)


def _report_missing_datasets(plan: RunPlan, wanted: dict[str, list[str]], sources: dict[str, DatasetFiles]) -> None:
    missing = [category for category, parts in wanted.items() if not any(stem in sources for stem in parts)]
    if not missing:
        return
    some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    of = "" if len(missing) == len(wanted) else f" for {some}"
    what = (
        f"no BFCL {plan.run.generation} dataset found{of}: questions and golden answers are known only where the score "
        "files repeat them; give the dataset with --data DIR"
    )
    plan.issues.append(ImportIssue(plan.run.path, None, what))


def _question_categories(category: str) -> list[str]:
    return (
        list(_FORMAT_SENSITIVITY_CATEGORIES)
        if category == "format_sensitivity"
        else [filenames.question_category(category)]
    )


def find_dataset_files(folder: Path, generation: str, stem: str) -> DatasetFiles | None:
    """The dataset files of a category in a folder, or None."""
    name = filenames.question_file_name(generation, stem)
    questions = folder / name
    if not questions.is_file():
        return None
    answers = folder / "possible_answer" / name
    documents = folder / "multi_turn_func_doc"
    return DatasetFiles(questions, answers if answers.is_file() else None, documents if documents.is_dir() else None)


def is_question_file(path: Path, peek: Any) -> bool:
    """V1 results may bear the name of the question file."""
    first = peek(path)
    return isinstance(first, dict) and "question" in first and "result" not in first


def _folders_with_questions(folders: Sequence[Path], generation: str, stems: list[str], peek: Any) -> list[Path]:
    found: dict[Path, None] = {}
    for folder in folders:
        sources = (find_dataset_files(folder, generation, stem) for stem in stems)
        if any(source and is_question_file(source.questions, peek) for source in sources):
            found[folder] = None
    return list(found)


def walk_folders(root: Path, depth: int = 4) -> Iterator[Path]:
    """A folder that was given and those below it: people point at `data/` or at a whole checkout."""
    root = Path(os.path.abspath(root))  # noqa: PTH100
    yield root
    if depth:
        try:
            with os.scandir(root) as entries:
                inner = sorted(
                    e.name
                    for e in entries
                    if not e.name.startswith(".") and is_text(e.name) and e.is_dir(follow_symlinks=False)
                )
        except OSError:
            return
        for name in inner:
            if name not in SKIPPED and name not in ("possible_answer", "result", "score"):
                yield from walk_folders(root / name, depth - 1)


def _folders_near_run(plan: RunPlan) -> Iterator[Path]:
    """Beside and above the run, nearest first."""
    first = (plan.results or plan.scores)[0]
    folder = filenames.model_folder(first)
    for place in (folder, *list(folder.parents)[:MAX_PARENT_FOLDERS]):
        for inner in DATASET_SUBFOLDERS:
            yield place / inner if inner else place


@lru_cache(maxsize=1)
def _installed_data_folders() -> list[Path]:
    """The data of the installed package `bfcl_eval`, which is not imported."""
    try:
        spec = importlib.util.find_spec("bfcl_eval")
    except (ImportError, ValueError):
        return []
    places = list(spec.submodule_search_locations or []) if spec else []
    return [Path(place) / "data" for place in places]


def _drop_duplicate_datasets(folders: list[Path], generation: str, stems: list[str]) -> list[Path]:
    """Without the folders whose files for this run are the same as those of an earlier one."""
    if len(folders) < 2:
        return folders
    seen: dict[tuple[Any, ...], Path] = {}
    for folder in folders:
        sources = [find_dataset_files(folder, generation, stem) for stem in stems]
        key = tuple(tuple(_file_hash(path) for path in source.paths) if source else None for source in sources)
        seen.setdefault(key, folder)
    return list(seen.values())


def _file_hash(path: Path) -> bytes:
    return _cached_file_hash(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=1024)
def _cached_file_hash(path: Path, mtime: int, size: int) -> bytes:  # noqa: ARG001
    with open_file(path) as file:
        digest = blake2b(digest_size=16)
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.digest()


def _rank_datasets(folders: list[Path], plan: RunPlan) -> list[Path]:
    """The datasets, best match with the questions embedded in the scores first; a choice is reported."""
    if len(folders) < 2:
        return folders
    matches = {folder: _count_matches(folder, plan) for folder in folders}
    ranked = sorted(folders, key=lambda folder: -matches[folder][0])
    checked = matches[ranked[0]][1]
    clear = matches[ranked[0]][0] > matches[ranked[1]][0]
    told = "; ".join(f"{folder} ({matches[folder][0]} of {checked})" for folder in ranked)
    what = f"{len(ranked)} different datasets fit; embedded questions and answers that are equal: {told}. "
    what += f"{ranked[0]} is used; --data DIR chooses another"
    plan.issues.append(ImportIssue(plan.run.path, None, what, severity="notice" if clear else "warning"))
    return ranked


def _count_matches(folder: Path, plan: RunPlan) -> tuple[int, int]:
    """(equal, compared) over questions and golden answers embedded in the first failing entries of each score file."""
    equal = compared = 0
    generation = plan.run.generation
    categories: FilesByCategory = plan.importer_data
    for category, parts in categories.items():
        source = find_dataset_files(folder, generation, filenames.question_category(category))
        data = dataset.load_dataset(source, generation, category) if source is not None else Dataset()
        for path in parts.scores:
            entries = (record.value for record in records(path) if isinstance(record, Record))
            for entry, _ in zip(entries, range(MAX_COMPARED_ENTRIES), strict=False):
                prompt = entry.get("prompt") if isinstance(entry, dict) else None
                if isinstance(prompt, dict) and "question" in prompt:
                    compared += 1
                    equal += _contains_entry(data, entry, prompt, category)
    return equal, compared


def _contains_entry(data: Dataset, entry: dict[str, Any], prompt: dict[str, Any], category: str) -> bool:
    """Whether the dataset has the question with this golden answer: at its id, or, where it states none (July 2024),
    anywhere."""
    stated = prompt.get("id")
    if isinstance(stated, str):
        case = data.items.get(filenames.to_dataset_id(stated, category))
        there = [case] if case is not None else []
    else:
        there = list(data.items.values())
    return any(
        is_same_question(case.turns, prompt["question"])
        and ("possible_answer" not in entry or is_same_answer(case.ground_truth, entry["possible_answer"]))
        for case in there
    )


BENCHMARK = "bfcl"
MAX_SUBFOLDERS = 500
_SUFFIXES = (".json", ".jsonl", ".csv")

FilesByRun = dict[tuple[Path, str], list[ClassifiedFile]]
"""Model folder and generation -> its files."""


def find(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    """The BFCL runs among `files`, with their scores and datasets; files of BFCL that are not read are claimed."""
    peek = lru_cache(maxsize=None)(head)
    found = DiscoveredRuns()
    results: FilesByRun = {}
    scores: FilesByRun = {}
    questions: dict[Path, None] = {}
    ignored: dict[tuple[Path, str], int] = {}
    for path in files:
        named = names.classify_file(path, peek) if path.suffix in _SUFFIXES else None
        if named is None:
            continue
        found.claimed.add(path)
        if named.kind == "ignored":
            if named.ignored_reason:
                place = (_folder_of_notice(path), named.ignored_reason)
                ignored[place] = ignored.get(place, 0) + 1
        elif named.kind in ("result", "score"):
            group = results if named.kind == "result" else scores
            group.setdefault((names.model_folder(path), named.version), []).append(named)
        elif named.kind == "question":
            questions[path.parent] = None
    for (folder, reason), count in ignored.items():
        files_word = "file" if count == 1 else "files"
        found.issues.append(
            ImportIssue(str(folder), None, f"not read: {count} {files_word}, {reason}", severity="notice")
        )
    asked = [folder for root in data for folder in walk_folders(root)]
    for plan in _pair_files(results, scores, peek):
        attach_dataset(plan, asked, list(questions), peek)
        found.claimed.update(plan.results, plan.scores)
        found.plans.append(plan)
    return found


def _folder_of_notice(path: Path) -> Path:
    """One notice for a whole tree of memory snapshots, else one a folder."""
    for folder in path.parents:
        if folder.name == "memory_snapshot":
            return folder
    return path.parent


def _pair_files(results: FilesByRun, scores: FilesByRun, peek: Any) -> Iterator[RunPlan]:
    used: set[Path] = set()
    for (folder, generation), given in results.items():
        counterpart, issues = _find_counterpart(folder, generation, "score", given, peek)
        whole = {named.path for named in given} >= {n.path for n in _files_of_kind(folder, generation, "result", peek)}
        if not whole:
            categories = {named.category for named in given}
            counterpart = [named for named in counterpart if named.category in categories]
        used.update(named.path for named in counterpart)
        yield _make_plan(folder if whole else _common_path(given), folder, generation, given, counterpart, issues)
    for (folder, generation), given in scores.items():
        if {named.path for named in given} <= used:
            continue
        counterpart, issues = _find_counterpart(folder, generation, "result", given, peek)
        on_disk = _files_of_kind(folder, generation, "score", peek)
        whole = {named.path for named in given} >= {named.path for named in on_disk}
        if not whole:
            categories = {named.category for named in given}
            counterpart = [named for named in counterpart if named.category in categories]
        if counterpart and (names.model_folder(counterpart[0].path), generation) in results:
            yield from _plan_unpaired_scores(folder, generation, given, used)
            continue
        model = names.model_folder(counterpart[0].path) if counterpart else folder
        place = model if whole else _common_path(counterpart or given)
        yield _make_plan(place, model, generation, counterpart, given, issues)


def _plan_unpaired_scores(
    folder: Path, generation: str, given: list[ClassifiedFile], used: set[Path]
) -> Iterator[RunPlan]:
    """Scores of a model whose results were paired with other scores."""
    rest = [named for named in given if named.path not in used]
    issue = ImportIssue(str(folder), None, "these scores were not joined: the results beside them have other scores")
    if len(rest) == len(given):
        yield _make_plan(folder, folder, generation, [], rest, [issue])


def _common_path(given: Sequence[ClassifiedFile]) -> Path:
    return given[0].path if len(given) == 1 else Path(os.path.commonpath([named.path for named in given]))


def _make_plan(
    place: Path,
    folder: Path,
    generation: str,
    results: list[ClassifiedFile],
    scores: list[ClassifiedFile],
    issues: list[ImportIssue],
) -> RunPlan:
    categories: FilesByCategory = {}
    for named in sorted(
        [*results, *scores], key=lambda named: names.CATEGORY_ORDER.get(named.category, len(names.CATEGORY_ORDER))
    ):
        parts = categories.setdefault(named.category, CategoryFiles())
        (parts.results if named.kind == "result" else parts.scores).append(named.path)
    run = Run(BENCHMARK, generation, "en", names.model_name(folder), str(place))
    sure = any(named.is_certain for named in [*results, *scores])
    reason = f"{len(results)} result and {len(scores)} score files named as BFCL {generation} names them"
    if not sure:
        reason = "file names and keys are like BFCL's, but no name states the version"
    plan = RunPlan(run, [n.path for n in results], [n.path for n in scores], confidence=1.0 if sure else 0.6,
                   reason=reason, issues=issues, importer_data=categories)  # fmt: skip
    if generation not in names.VERSIONS:
        what = f"BFCL {generation} is newer than this importer: read and checked by V4's rules"
        plan.issues.append(ImportIssue(str(place), None, what))
    return plan


def _find_counterpart(
    folder: Path, generation: str, role: FileKind, given: Sequence[ClassifiedFile], peek: Any
) -> tuple[list[ClassifiedFile], list[ImportIssue]]:
    """The files of the other role that belong to a model folder: the best named folder that shares a category."""
    categories = {named.category for named in given}
    fits: list[tuple[tuple[int, int], Path, list[ClassifiedFile]]] = []
    for rank, candidate in _candidate_folders(folder, role):
        there = _files_of_kind(candidate, generation, role, peek)
        shared = len(categories & {named.category for named in there})
        if shared:
            fits.append(((rank, shared), candidate, there))
    if not fits:
        return [], []
    fits.sort(key=lambda fit: fit[0], reverse=True)
    best = [fit for fit in fits if fit[0] == fits[0][0]]
    issues = []
    if len(best) > 1:
        others = ", ".join(str(fit[1]) for fit in best[1:])
        what = f"several folders of {role} files fit: {best[0][1]} is taken, not {others}"
        issues.append(ImportIssue(str(folder), None, what))
    return best[0][2], issues


def _candidate_folders(folder: Path, role: FileKind) -> Iterator[tuple[int, Path]]:
    """(rank, folder) of places where the other role's files of a model may lie; a higher rank is surer."""
    yield 5, folder
    if names.is_outer_folder(folder):
        for sibling in _subfolders(folder.parent):
            if sibling != folder and names.is_outer_folder(sibling) and role in sibling.name.lower():
                yield 4 if _is_counterpart_name(folder.name, sibling.name, role) else 3, sibling
    for inner in _subfolders(folder):
        if names.is_outer_folder(inner) and role in inner.name.lower():
            yield 4, inner
            yield 4, inner / folder.name
    outer = folder.parent
    if names.is_outer_folder(outer) and outer.name.lower().count(role) == 0:
        yield 2, outer.parent  # RUN/score/MODEL with RUN/*.json
    for sibling in _subfolders(outer.parent):
        if sibling != outer:
            rank = (
                4 if _is_counterpart_name(outer.name, sibling.name, role) else 3 if role in sibling.name.lower() else 1
            )
            yield rank, sibling / folder.name


def _is_counterpart_name(name: str, sibling: str, role: FileKind) -> bool:
    """`result-BFCL` and `score-BFCL`."""
    other = "score" if role == "result" else "result"
    return name.lower().replace(other, role) == sibling.lower()


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entry.name for entry in entries if _is_visible(entry) and entry.is_dir())
    except OSError:
        return []
    return [folder / name for name in found[:MAX_SUBFOLDERS]]


def _is_visible(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and is_text(entry.name)


def _files_of_kind(folder: Path, generation: str, role: FileKind, peek: Any, depth: int = 0) -> list[ClassifiedFile]:
    """The result or score files of a model folder, V4's group folders included."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted((entry.name, entry.is_dir()) for entry in entries if _is_visible(entry))
    except OSError:
        return []
    found = []
    for name, is_folder in listed:
        path = folder / name
        if is_folder:
            if name in names.GROUP_FOLDERS and depth < 4:
                found += _files_of_kind(path, generation, role, peek, depth + 1)
        elif path.suffix in _SUFFIXES:
            named = names.classify_file(path, peek)
            if named is not None and named.kind == role and named.version == generation:
                found.append(named)
    return found
