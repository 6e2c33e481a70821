"""Planted failures are found with their kind in every format, and near misses stay unmarked."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from tests.error_texts import ERROR_TEXTS
from tests.examples import split_by_form
from tests.importers.planted_incidents import GOOGLE_TEXTS, WRITERS, Entry, Plant, make_near_miss

SEEDS = range(4)
N_PLANTED = 28
"""Planted failures in each run. With nine formats and four seeds, these are 1,008."""
N_NEAR_MISSES = 6
"""Near misses in each run, 216 in all."""


def read_found_kinds(folder: Path) -> dict[str, str | None]:
    found = discover([folder])
    assert found.plans, found.issues
    items = [item for plan in found.plans for item in read_items(plan) if isinstance(item, Item)]
    return {item.id: item.incident for item in items}


def load_bench_texts(bench: Path) -> dict[str, list[str]]:
    """Return kind -> texts of the failures in the published and made runs, from their own truth."""
    texts: dict[str, list[str]] = {}
    truth = json.loads((bench / "bfcl_api_errors" / "truth.json").read_text())
    kinds = {
        name: item["class"]
        for part in truth["v4_made"].values()
        for name, item in part["items"].items()
    }
    for path in sorted((bench / "bfcl_api_errors/v4_made/result").rglob("*_result.json")):
        for record in map(json.loads, path.read_text().splitlines()):
            text = record["result"]
            if isinstance(text, str) and text.startswith("Error during inference: "):
                texts.setdefault(kinds[record["id"]], []).append(
                    text.removeprefix("Error during inference: ")
                )
    (tau_file,) = (bench / "api_errors_other/tau_v1_made").glob("*.json")
    other_truth = json.loads((bench / "api_errors_other" / "truth.json").read_text())
    tau_kinds = {
        (task, trial): kind
        for task, trial, kind in other_truth["tau_v1_made"]["infrastructure_errors"]
    }
    for entry in json.loads(tau_file.read_text()):
        if "error" in entry["info"]:
            kind = tau_kinds[entry["task_id"], entry["trial"]]
            texts.setdefault(kind, []).append(entry["info"]["error"])
    return texts


def choose_entries(name: str, seed: int, texts: dict[str, list[str]]) -> list[Entry]:
    """Draw failures, evenly over the kinds, and near misses, in random order."""
    choose = random.Random(f"{name} {seed}")
    kinds = sorted(texts)
    entries: list[Entry] = []
    for number in range(N_PLANTED):
        kind = kinds[(number + seed) % len(kinds)]
        entries.append(Plant(kind=kind, text=choose.choice(texts[kind]), form=choose.randrange(12)))
    entries += [make_near_miss(choose) for _ in range(N_NEAR_MISSES)]
    choose.shuffle(entries)
    return entries


def get_expected_kind(name: str, entry: Entry) -> str | None:
    """Return the kind of an entry.

    Harbor and Inspect name the exception, which says that the program failed.
    """
    if not isinstance(entry, Plant):
        return None
    names_exception = name == "harbor" or (name == "inspect" and entry.form % 3 != 1)
    return "harness" if entry.kind == "unknown" and names_exception else entry.kind


def check_run(name: str, folder: Path, entries: list[Entry]) -> None:
    ids = WRITERS[name](folder, entries)
    found = read_found_kinds(folder)
    expected = {
        item_id: get_expected_kind(name, entry) for item_id, entry in zip(ids, entries, strict=True)
    }
    wrong = {
        item_id: (entry, found.get(item_id))
        for item_id, entry in zip(ids, entries, strict=True)
        if found.get(item_id) != expected[item_id]
    }
    assert wrong == {}
    assert found == expected


@pytest.mark.parametrize("name", WRITERS)
def test_planted_failures_are_found_and_near_misses_are_not(name: str, tmp_path: Path) -> None:
    texts = (
        {kind: list(of_kind) for kind, of_kind in GOOGLE_TEXTS.items()}
        if name == "bfcl_v1"
        else ERROR_TEXTS
    )
    check_run(name, tmp_path, choose_entries(name, 0, texts))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", split_by_form(SEEDS, quick=[0]))
@pytest.mark.parametrize("name", WRITERS)
def test_a_thousand_planted_failures_are_found(
    name: str, seed: int, bench: Path, tmp_path: Path
) -> None:
    texts = {kind: list(of_kind) for kind, of_kind in GOOGLE_TEXTS.items()}
    if name != "bfcl_v1":
        texts = {kind: list(of_kind) for kind, of_kind in ERROR_TEXTS.items()}
        for kind, of_kind in load_bench_texts(bench).items():
            texts[kind] += of_kind
    check_run(name, tmp_path, choose_entries(name, seed, texts))
