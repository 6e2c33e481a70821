"""Notes of the tau2-bench viewer are shown, imported as reviews once, and written from reviews."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done

Cli = Callable[..., Done]
NOTE = {
    "id": "note_0a1b2c3d",
    "note": "The agent renewed for 7 days.",
    "author_email": "dana@example.org",
    "created_at": "2026-02-04T09:00:00",
    "simulation_id": "5f0c0000-0000-4000-8000-000000000002",
    "task_id": "renew_loan",
    "trial": 1,
    "source_results_file": "data/simulations/library_maple-8b.json",
    "simulation_file": "task_simulation.json",
    "error_source": "agent",
    "error_type": "early_termination",
}
MODEL_FIELDS = set(NOTE)
"""Fields of `SimulationNote` of tau2-bench 1.0.1. Its model ignores other fields."""
ID, NAMES = "renew_loan_trial_1", ("--said-by", "dana@example.org", "--annotator", "dana")


@pytest.fixture
def run(samples: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(samples / "tau" / "library_maple-8b.json", folder)
    return folder


def write_note(folder: Path, **fields: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "task_note.json").write_text(json.dumps(NOTE | fields, indent=2))
    return folder


def read_item(cli: Cli, run: Path, item: str) -> dict[str, Any]:
    rows = map(json.loads, cli("items", run, "--json").out.splitlines())
    return next(row for row in rows if row["id"] == item)


def test_note_counts_only_after_import(cli: Cli, run: Path) -> None:
    notes = write_note(run / "notes")
    shutil.copy(run / "library_maple-8b.json", notes / "task_simulation.json")
    (notes / "task_simulation.json").write_text(
        json.dumps(json.loads((run / "library_maple-8b.json").read_text())["simulations"][1])
    )
    before = read_item(cli, run, ID)
    shown = cli("show", run, ID).out
    assert "tau2: dana@example.org  fault: model · early termination · The agent renewed" in shown
    assert "dana" not in cli("show", run, ID, "--blind", "--annotator", "alice").out
    done = cli("import-labels", run, notes, "--format", "tau2-notes", *NAMES)
    assert "wrote 1 review by dana" in done.out
    assert (
        "wrote 0 reviews" in cli("import-labels", run, notes, "--format", "tau2-notes", *NAMES).out
    )
    after = read_item(cli, run, ID)
    assert (before["human"], after["human"], after["effective"]) == (
        None,
        None,
        before["effective"],
    )
    (journal,) = (run / ".fcreview" / "reviews").glob("dana.jsonl")
    event = json.loads(journal.read_text().splitlines()[-1])
    assert (event["note"], event["fault"], event["tags"]) == (
        NOTE["note"],
        "model",
        ["early termination"],
    )


@pytest.mark.sweep
def test_reviews_become_notes_and_are_imported_again(cli: Cli, run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    cli(
        "label",
        run,
        ID,
        "--verdict",
        "pass",
        "--fault",
        "simulator",
        "--note",
        "Grün",
        "--annotator",
        "bob",
    )
    call = ("--target", "turn:1/call:1", "--criterion", "action")
    cli("label", run, "reserve_room_trial_1", "--verdict", "pass", *call, "--annotator", "bob")
    assert "2 notes" in cli("export", run, "--format", "tau2-notes", "-o", tmp_path / "notes").err
    written = [
        json.loads(path.read_text("utf-8"))
        for path in sorted((tmp_path / "notes").glob("*_note.json"))
    ]
    assert all(set(note) == {*MODEL_FIELDS, "fcreview"} for note in written)
    assert (written[0]["note"], written[0]["error_source"]) == (
        "pass · fault: simulator · Grün",
        "user",
    )
    assert written[0]["simulation_id"] == NOTE["simulation_id"]
    arguments = ("--format", "tau2-notes", "--annotator", "bob")
    assert "wrote 2 reviews" in cli("import-labels", other, tmp_path / "notes", *arguments).out
    assert "wrote 0 reviews" in cli("import-labels", run, tmp_path / "notes", *arguments).out
    one, two = read_item(cli, run, ID), read_item(cli, other, ID)
    assert (one["human"], one["effective"]) == (two["human"], two["effective"]) == (True, True)
    assert cli("report", run, "--json").out == cli("report", other, "--json").out


@pytest.mark.parametrize(
    "fields",
    [
        {"note": None},
        {"note": 5},
        {"simulation_id": None},
        {"simulation_id": [1]},
        {"author_email": {}},
        {"created_at": "soon"},
        {"created_at": 5},
        {"error_source": ["agent"]},
        {"error_type": 7},
        {"id": None},
        {"fcreview": 5},
        {"fcreview": {"target": "x", "tags": 5, "events": 3, "fault": "nobody", "criterion": []}},
        {"source_results_file": None},
        {"source_results_file": "\x1b[2J"},
        {"error_source": "alien"},
        {"trial": None},
    ],
)
def test_odd_notes_keep_verdicts(run: Path, fields: dict[str, Any]) -> None:
    from fcreview.importers.registry import discover, read_items
    from fcreview.model.item import Item
    from fcreview.model.json_value import to_plain_json

    write_note(run / "notes", **fields)
    (plan,) = discover([run], format="tau").plans
    found = list(read_items(plan))
    items = {each.id: each for each in found if isinstance(each, Item)}
    reviews = items[ID].extra.recorded_reviews
    assert items[ID].official is False and len(items) == 9
    assert reviews or len(found) == 10, "a lost note is an issue"
    to_plain_json(items[ID].extra.as_json())
