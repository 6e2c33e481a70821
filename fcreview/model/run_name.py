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
        runs_by_model.setdefault(_clean_text(run.name or run.model) or UNNAMED, {})[number] = run

    models = _cut_wide_texts(runs_by_model, MAX_MODEL_CELLS)
    names = {}
    for model, runs_of_model in runs_by_model.items():
        group = _make_group(models[model], runs_of_model)
        _add_distinguishing_parts(group)
        names.update({run.number: run.name for run in group})

    _number_equal_names(names)
    return {number: names[number] for number in runs}


def _make_group(name: str, runs: Mapping[int, Run]) -> list[_NamedRun]:
    if len(runs) == 1:
        return [_NamedRun(number, name=name, parts=[]) for number in runs]

    has_several_benchmarks = len({_get_title(run) for run in runs.values()}) > 1
    return [
        _NamedRun(
            number, name=name, parts=_list_parts(run, has_several_benchmarks=has_several_benchmarks)
        )
        for number, run in runs.items()
    ]


def _list_parts(run: Run, *, has_several_benchmarks: bool) -> list[str]:
    """List what can distinguish a run from other runs of the same model, most telling first."""
    version = f"{_get_title(run)} {run.generation}" if has_several_benchmarks else run.generation
    texts = [version, run.language, *run.name_parts, *_list_path_parts(run.path)]
    model = _clean_text(run.model)
    parts = [text for text in map(_clean_text, texts) if text and text != model]
    return list(dict.fromkeys(parts))[:MAX_PARTS]


def _get_title(run: Run) -> str:
    return run.title or run.benchmark


def _list_path_parts(path: str) -> list[str]:
    """List the names of the file or folder of a run and of the folders above it, nearest first."""
    names = [name for name in re.split(r"[\\/]+", path) if name]
    names.reverse()
    if names:
        names[0] = _FILE_SUFFIX.sub("", names[0])
    return [name for name in names if name not in COMMON_FOLDERS]


def _add_distinguishing_parts(group: Sequence[_NamedRun]) -> None:
    """Add parts to the names of runs with equal names, until the names differ or no run has another
    part.

    Each step adds to each name the run's most telling part that not all runs of the group have. As
    a part that they all have is left out, each step divides the group.
    """
    if len(group) < 2:
        return

    common = set.intersection(*(set(run.parts) for run in group))
    for run in group:
        run.parts = [part for part in run.parts if part not in common]
    if not any(run.parts for run in group):
        return

    labels = _shorten_parts({run.parts[0] for run in group if run.parts})
    groups: dict[str, list[_NamedRun]] = {}
    for run in group:
        part = run.parts.pop(0) if run.parts else ""
        if part:
            run.name += NAME_SEPARATOR + labels[part]
        groups.setdefault(part, []).append(run)
    for runs_with_part in groups.values():
        _add_distinguishing_parts(runs_with_part)


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
    """Return a short form of each part.

    If one is too wide, all lose the words at the start that they share.
    """
    if max(map(display_width, parts), default=0) <= MAX_PART_CELLS:
        return {part: part for part in parts}

    without_start = _remove_common_words(parts)
    cut = _cut_wide_texts(without_start.values(), MAX_PART_CELLS)
    return {part: cut[text] for part, text in without_start.items()}


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
    words = {text: _WORD.findall(text) for text in texts}
    removable = [found[:-1] for found in words.values()]
    n_common = _count_common(removable) if len(words) > 1 else 0
    return {text: "".join(found[n_common:]) for text, found in words.items()}


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
    n_equal = _count_common(texts)
    head = _take_start(texts[0][:n_equal], _HEAD_CELLS)
    room = max_cells - display_width(head) - 1
    return {text: f"{head}{_ELLIPSIS}{clip(text[n_equal:], room)}" for text in texts}


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
