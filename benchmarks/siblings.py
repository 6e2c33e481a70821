"""Replay the history of BFCL's multi-turn golden answers with the siblings of `suspects`.

The maintainers corrected the category `base` first and its siblings later. The program imports
the datasets after a correction of `base`, lists the siblings that contradict it, and counts those
whose golden answers the maintainers changed until the newest dataset.

It also applies each correction of `base` to its siblings, as `fcreview label --siblings` does, and
counts the results that have the calls of the maintainers' later answers.

Usage: python -m benchmarks.siblings FOLDER. FOLDER has a folder for each time, with datasets and
`possible_answer/`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suspects import open_imported_store
from fcreview.golden_audit.sibling_corrections import transfer_correction
from fcreview.golden_audit.siblings import (
    Contradiction,
    SiblingQuestion,
    count_calls,
    find_contradictions,
    group_siblings,
)
from fcreview.importers.registry import parse_golden_fix
from fcreview.store.rows import View
from fcreview.store.siblings import fetch_sibling_questions

BASE = "multi_turn_base"
CATEGORIES = ("multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
BEFORE_CORRECTION = "a_2025-10-02_before_1177"
AFTER_CORRECTION = "b_2025-10-24_after_1225"
NEWEST = "d_head"


def write_run(datasets: Path, folder: Path) -> None:
    """Write a run of BFCL V4 that replies with nothing, with the datasets beside it."""
    shutil.copytree(datasets, folder / "data")
    results = folder / "result" / "nobody" / "multi_turn"
    results.mkdir(parents=True)
    for category in (BASE, *CATEGORIES):
        lines = []
        for item_id, golden in read_golden_answers(datasets, category).items():
            lines.append(json.dumps({"id": item_id, "result": [[""] for _ in golden]}))
        path = results / f"BFCL_v4_{category}_result.json"
        path.write_text("".join(f"{line}\n" for line in lines))


def read_golden_answers(datasets: Path, category: str) -> dict[str, list[Any]]:
    """Return the golden calls of each turn by id."""
    text = (datasets / "possible_answer" / f"BFCL_v4_{category}.json").read_text()
    records = map(json.loads, text.splitlines())
    return {record["id"]: record["ground_truth"] for record in records}


def list_siblings_against_base(contradictions: list[Contradiction]) -> Iterator[SiblingQuestion]:
    """Yield the questions with another golden answer than their sibling in `base`."""
    for contradiction in contradictions:
        for answer in contradiction.answers:
            has_base = any(question.key.category == BASE for question in answer.questions)
            if not has_base:
                yield from answer.questions


def find_contradictions_in(datasets: Path) -> list[Contradiction]:
    return find_contradictions(fetch_questions(datasets))


def fetch_questions(datasets: Path) -> list[SiblingQuestion]:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_run(datasets, run)
        with open_imported_store(run, [run / "data"]) as store:
            return fetch_sibling_questions(store, View(), parse_golden_fix)


@dataclass(slots=True)
class TransferCounts:
    """Numbers of siblings that contradict a corrected question of `base`."""

    n_siblings: int = 0
    n_transferred: int = 0
    """To which the correction can be applied."""
    n_as_maintainers: int = 0
    """Of these, with the calls of the maintainers' later answer."""


def count_transfers(history: Path) -> dict[str, TransferCounts]:
    """Return the counts by category."""
    before = {question.key: question for question in fetch_questions(history / BEFORE_CORRECTION)}
    newest = {question.key: question for question in fetch_questions(history / NEWEST)}
    counts = {category: TransferCounts() for category in CATEGORIES}
    for group in group_siblings(fetch_questions(history / AFTER_CORRECTION)):
        (base,) = [question for question in group if question.key.category == BASE]
        old_calls = before[base.key].golden
        if count_calls(old_calls) == base.call_counts:
            continue
        for sibling in group:
            if sibling.call_counts == base.call_counts:
                continue
            count = counts[sibling.key.category]
            count.n_siblings += 1
            calls = transfer_correction(old_calls, base.golden, sibling.golden)
            if calls is None:
                continue
            count.n_transferred += 1
            count.n_as_maintainers += count_calls(calls) == newest[sibling.key].call_counts
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    history = parser.parse_args().folder

    contradictions = find_contradictions_in(history / AFTER_CORRECTION)
    siblings = list(list_siblings_against_base(contradictions))
    for category in CATEGORIES:
        flagged = [question.key.id for question in siblings if question.key.category == category]
        old = read_golden_answers(history / AFTER_CORRECTION, category)
        new = read_golden_answers(history / NEWEST, category)
        n_corrected = sum(old[item_id] != new[item_id] for item_id in flagged)
        precision = 100 * n_corrected / len(flagged)
        print(
            f"{category}: {len(flagged)} flagged, {n_corrected} later corrected, {precision:.0f} %"
        )

    for category, count in count_transfers(history).items():
        print(
            f"{category}: {count.n_siblings} siblings of corrected questions,"
            f" {count.n_transferred} corrections transferred, {count.n_as_maintainers} of them as"
            " the maintainers"
        )


if __name__ == "__main__":
    main()
