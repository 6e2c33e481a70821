"""Name the runs of a workspace, so that two runs never look alike.

A name is the model, or the name that the user gave to the run. If several runs have this name, the
name also says what distinguishes the run, most telling first: benchmark and version, language, what
the importer found (`Run.name_parts`), the name of its file or folder, and at last its number:

* `gpt-4o`
* `gpt-4o · V3` and `gpt-4o · V4`
* `gpt-4o · provider-a` and `gpt-4o · provider-b`
* `gpt-4o · V4 · #7`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fcreview.model.item import Run
from fcreview.model.sanitize import clip, display_width, sanitize

NAME_SEPARATOR = " · "
MAX_MODEL_CELLS = 60
MAX_PART_CELLS = 32
MAX_TEXT_LENGTH = 1_000
"""Number of characters of a model or of a part that are examined.

Files can contain longer texts.
"""
MAX_PARTS = 40
UNNAMED = "unnamed"
_ELLIPSIS = "…"
COMMON_FOLDERS = {"result", "score", "results", "scores"}
"""Names of folders that do not distinguish runs."""
_FILE_SUFFIX = re.compile(r"(?:\.(?:json|jsonl|ndjson|eval))+$")
_WORD = re.compile(r"[^_-]+[_-]*|[_-]+")
_HEAD_CELLS = 12
"""Width of the common beginning that a shortened text keeps."""


@dataclass(slots=True)
class _NamedRun:
    number: int
    name: str
    parts: list[str]
    """What can distinguish the run from others of the same name, most telling first.
    `_add_distinguishing_parts` moves parts to the name.
    """


def build_run_names(runs: Mapping[int, Run]) -> dict[int, str]:
    """Return the unique name of each run, by run number. The names are safe to draw in one line."""
    runs_by_model: dict[str, dict[int, Run]] = {}
    for number, run in runs.items():
        model = _clean_text(run.name or run.model) or UNNAMED
        runs_by_model.setdefault(model, {})[number] = run

    short_models = _cut_wide_texts(runs_by_model, MAX_MODEL_CELLS)
    name_by_number = {}
    for model, runs_of_model in runs_by_model.items():
        named_runs = _make_group(short_models[model], runs_of_model)
        _add_distinguishing_parts(named_runs)
        for named_run in named_runs:
            name_by_number[named_run.number] = named_run.name

    _number_equal_names(name_by_number)
    return {number: name_by_number[number] for number in runs}


def list_identifying_names(runs: Iterable[Run]) -> set[str]:
    """Return the texts that say of which model a run is: the model, the name that the user gave,
    and names of files and folders that are similar to one of them.
    """
    identifying: set[str] = set()
    for run in runs:
        names = _list_spellings(run.model) | _list_spellings(run.name)
        identifying |= names
        cores = {_remove_signs(name) for name in names}
        for part in _list_path_parts(run.path):
            core = _remove_signs(part)
            if any(_is_similar(core, other) for other in cores):
                identifying.add(part)
    return identifying


MIN_SIMILAR_LENGTH = 4


def _list_spellings(name: str) -> set[str]:
    """Return a model's name, and how folders and programs write it: `a/b`, `a_b`, `a-b` and `b`."""
    if not name:
        return set()
    _, _, last_part = name.rpartition("/")
    return {name, name.replace("/", "_"), name.replace("/", "-"), last_part}


def _remove_signs(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_similar(first: str, second: str) -> bool:
    """Whether one of the texts contains the other one, and both are long enough to tell."""
    shorter, longer = sorted((first, second), key=len)
    return len(shorter) >= MIN_SIMILAR_LENGTH and shorter in longer


def _make_group(name: str, runs: Mapping[int, Run]) -> list[_NamedRun]:
    """Give all runs the same name, and list what can distinguish them. A single run needs none."""
    if len(runs) == 1:
        return [_NamedRun(number, name=name, parts=[]) for number in runs]

    titles = {_get_title(run) for run in runs.values()}
    group = []
    for number, run in runs.items():
        parts = _list_parts(run, has_several_benchmarks=len(titles) > 1)
        group.append(_NamedRun(number, name=name, parts=parts))
    return group


def _list_parts(run: Run, *, has_several_benchmarks: bool) -> list[str]:
    """List what can distinguish a run from other runs of the same model, most telling first."""
    version = run.generation
    if has_several_benchmarks:
        version = f"{_get_title(run)} {run.generation}"

    # A set that keeps the order.
    parts: dict[str, None] = {}
    model = _clean_text(run.model)
    for text in [version, run.language, *run.name_parts, *_list_path_parts(run.path)]:
        part = _clean_text(text)
        if part and part != model:
            parts[part] = None
    return list(parts)[:MAX_PARTS]


def _get_title(run: Run) -> str:
    return run.title or run.benchmark


def _list_path_parts(path: str) -> list[str]:
    """List the names of the file or folder of a run and of the folders above it, nearest first."""
    names = [name for name in re.split(r"[\\/]+", path) if name]
    if not names:
        return []

    *outer_folders, own_name = names
    nearest_first = [_FILE_SUFFIX.sub("", own_name), *reversed(outer_folders)]
    return [name for name in nearest_first if name not in COMMON_FOLDERS]


def _add_distinguishing_parts(group: Sequence[_NamedRun]) -> None:
    """Add parts to the names of runs with equal names, until the names differ or no run has another
    part.

    Each step adds to each name the run's most telling part that not all runs of the group have, and
    removes it from `run.parts`. As a part that they all have is left out, each step divides the
    group, and the same is done with the smaller groups.
    """
    if len(group) < 2:
        return
    _remove_common_parts(group)
    if not any(run.parts for run in group):
        return

    # Runs without another part stay together, under an empty text.
    runs_by_part: dict[str, list[_NamedRun]] = {}
    for run in group:
        runs_by_part.setdefault(_take_first_part(run), []).append(run)

    labels = _shorten_parts([part for part in runs_by_part if part])
    for part, runs_with_part in runs_by_part.items():
        if part:
            for run in runs_with_part:
                run.name += NAME_SEPARATOR + labels[part]
        _add_distinguishing_parts(runs_with_part)


def _remove_common_parts(group: Sequence[_NamedRun]) -> None:
    """Remove the parts that all runs of a group have."""
    parts_of_runs = [set(run.parts) for run in group]
    common_parts = set.intersection(*parts_of_runs)
    for run in group:
        run.parts = [part for part in run.parts if part not in common_parts]


def _take_first_part(run: _NamedRun) -> str:
    """Remove and return the most telling part of a run; an empty text if it has none."""
    if not run.parts:
        return ""
    first_part, *run.parts = run.parts
    return first_part


def _number_equal_names(names: dict[int, str]) -> None:
    """Add the run number to names that are equal, and to names that are then equal to such a
    name.
    """
    while True:
        counts = Counter(names.values())
        equal = [number for number, name in names.items() if counts[name] > 1]
        if not equal:
            return
        for number in equal:
            names[number] += f"{NAME_SEPARATOR}#{number}"


def _clean_text(text: str) -> str:
    return sanitize(" ".join(text[:MAX_TEXT_LENGTH].split()))


def _shorten_parts(parts: Collection[str]) -> dict[str, str]:
    """Return a short form of each part of a run name. If one part is too wide, the words with which
    all parts begin are removed from all of them.
    """
    is_any_too_wide = any(display_width(part) > MAX_PART_CELLS for part in parts)
    if not is_any_too_wide:
        return {part: part for part in parts}

    without_start = _remove_common_words(parts)
    cut_texts = _cut_wide_texts(without_start.values(), MAX_PART_CELLS)
    return {part: cut_texts[text] for part, text in without_start.items()}


def _cut_wide_texts(texts: Iterable[str], max_cells: int) -> dict[str, str]:
    """Cut the middle of each text that is wider than `max_cells`.

    What distinguishes the texts stays if possible.
    """
    labels = {text: _cut_middle(text, max_cells) for text in texts}
    texts_by_label: dict[str, list[str]] = {}
    for text, label in labels.items():
        texts_by_label.setdefault(label, []).append(text)

    for alike in texts_by_label.values():
        if len(alike) > 1:
            labels.update(_cut_before_difference(alike, max_cells))
    return labels


def _remove_common_words(texts: Iterable[str]) -> dict[str, str]:
    """Remove the leading words that all texts have. The last word of a text always stays."""
    words_by_text = {text: _WORD.findall(text) for text in texts}
    n_common = 0
    if len(words_by_text) > 1:
        n_common = _count_common([words[:-1] for words in words_by_text.values()])
    return {text: "".join(words[n_common:]) for text, words in words_by_text.items()}


def _count_common(sequences: Sequence[Sequence[str]]) -> int:
    """Count the elements at the start that all sequences have."""
    n_common = 0
    for elements in zip(*sequences, strict=False):
        if len(set(elements)) > 1:
            break
        n_common += 1
    return n_common


def _cut_before_difference(texts: Sequence[str], max_cells: int) -> dict[str, str]:
    """Cut texts so that the place at which they begin to differ stays: `the first wor…ngs that
    differ`.
    """
    n_equal_chars = _count_common(texts)
    common_start = texts[0][:n_equal_chars]
    head = _take_start(common_start, _HEAD_CELLS)
    room = max_cells - display_width(head) - display_width(_ELLIPSIS)

    cut_texts = {}
    for text in texts:
        difference = clip(text[n_equal_chars:], room)
        cut_texts[text] = f"{head}{_ELLIPSIS}{difference}"
    return cut_texts


def _cut_middle(text: str, max_cells: int) -> str:
    """Replace the middle of a text that is too wide by an ellipsis.

    Two thirds of the room are for its beginning.
    """
    if display_width(text) <= max_cells:
        return text

    head = _take_start(text, max_cells * 2 // 3)
    room = max_cells - display_width(head) - 1
    start = len(text)
    while start > 0 and display_width(text[start - 1 :]) <= room:
        start -= 1
    return f"{head}{_ELLIPSIS}{text[start:]}"


def _take_start(text: str, max_cells: int) -> str:
    end = 0
    while end < len(text) and display_width(text[: end + 1]) <= max_cells:
        end += 1
    return text[:end]
