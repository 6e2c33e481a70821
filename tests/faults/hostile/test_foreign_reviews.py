"""Reviews and golden fixes of another annotator with any JSON in them, as a changed program or a
wrong server of a team can send them, neither end a command nor the app.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import ItemKey
from fcreview.store.reviews.journal import hash_event
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from tests.commands import Done, run_in_this_process
from tests.faults.key_walker import list_keys
from tests.faults.processes import times
from tests.faults.test_random_keys import open_app
from tests.sharing import Imports
from tests.tui.key_input import send_keys

Json = dict[str, Any]
NESTED: Any = {}
for _ in range(150):
    NESTED = {"a": NESTED}
FIXES: tuple[Json, ...] = (
    {},
    {"x": {}},
    {"ground_truth": None},
    {"ground_truth": "\x1b[2J" * 20},
    {"ground_truth": [1, 2]},
    {"ground_truth": [[None]]},
    {"ground_truth": {"f": {"a": 7}}},
    {"ground_truth": [{"f": None}]},
    {"ground_truth": [{"f": {"a": [None, {"b": []}]}}]},
    {"ground_truth": [{"f": {}}] * 2_000},
    {"calls": None},
    NESTED,
)
STATUSES = ("accepted", "proposed", "rejected", "disputed", "maybe", "", None)
VERDICTS: tuple[Any, ...] = (None, {}, [], 7, True, "pass", {"a": 1})
"""Values in place of the recomputed verdict of an answer. 7 also stands in place of all verdicts
of a model.
"""
REVIEWS: tuple[Json, ...] = (
    {"overrules": {}},
    {"overrules": {"source": 7, "by": [], "value": {"a": 1}, "reason": 5}},
    {"overrules": {"source": "\x1b[2J", "value": "x" * 5_000, "reason": "\x1b]0;x\x07"}},
    {"verdict": [], "criterion": "failure_mode"},
    {"verdict": ["\x1b[31m", "a" * 5_000]},
    {"verdict": 1e308, "criterion": "coverage"},
    {"verdict": "", "target": "turn:2/call:1/arg:x"},
    {"verdict": True, "target": "turn:-1"},
    {"verdict": False, "target": "turn:99999999999999999999/call:7"},
    {"verdict": True, "target": "", "criterion": ""},
    {"verdict": True, "target": "item/../../x\x1b[2J", "criterion": "\x1b[2J" * 300},
    {"verdict": False, "bulk": "", "queue": "../../etc/passwd", "presentation": 99},
    {"verdict": True, "bulk": "x" * 5_000, "queue": "\x1b[2J", "presentation": 0},
    {"verdict": True, "place": ["x", ""], "blind": True},
    {"verdict": True, "place": ["9" * 400] * 3, "tags": ["\x1b[2J"] * 300, "note": "\u202e" * 900},
    {"act": "retract", "retracts": "f" * 32},
    {"act": "adjudicate", "verdict": [{"a": None}]},
    {"act": "adjudicate", "verdict": None, "fault": "golden", "golden_fix": {}},
    {"version": 99, "hologram": {"a": [1] * 300}},
)
"""Fields of reviews that have the right type, and any content."""
COMMANDS = (
    ["items", "--json"],
    ["report"],
    ["suspects", "--siblings"],
    ["adjudicate", "--json"],
    ["export", "--format", "jsonl", "-o", "-"],
    ["estimate"],
    ["check"],
    ["doctor"],
)
ANNOTATORS = ("bob", "carol", "mallory")


def make_event(item: tuple[ItemKey, str, str], annotator: str) -> Json:
    """Make an event without a verdict. `item`: key, and hashes of prediction and golden answer."""
    key, prediction_hash, golden_hash = item
    return {
        "event": f"{random.randrange(16**32):032x}",
        "time": "2026-11-28T10:00:00.000Z",
        "annotator": annotator,
        "act": "review",
        "key": key._asdict(),
        "prediction_hash": prediction_hash,
        "golden_hash": golden_hash,
        "target": "item",
        "criterion": "correct",
        "version": 1,
    }


def add_golden_fix(event: Json, choice: tuple[Json, str | None, Any]) -> Json:
    golden_fix, status, verdict = choice
    model = event["key"]["model"]
    prediction_hash = event["prediction_hash"]
    event = event | {"golden_fix": golden_fix}
    if status is not None:
        event["golden_status"] = status
        if event["annotator"] == "mallory":
            event["act"] = "adjudicate"
    by_model = verdict if verdict == 7 else {prediction_hash: verdict}
    return event | {"golden_verdicts": {model: by_model, "": {"": verdict}}}


def write_journal(workspace: Workspace, annotator: str, events: Sequence[Json]) -> None:
    previous = ""
    lines = []
    for event in events:
        sealed = event | {"previous": previous}
        sealed["hash"] = previous = hash_event(sealed)
        lines.append(json.dumps(sealed))
    path = workspace.reviews / f"{annotator}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def write_hostile_journals(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        numbers = [
            number
            for (number,) in store.connection.execute(
                "SELECT item FROM item_rows ORDER BY item"
            ).fetchall()
        ]
        items = [store.reviews.fetch_key_and_hashes(number) for number in numbers]
    choices = list(itertools.product(FIXES, STATUSES, VERDICTS))
    for annotator in ANNOTATORS:
        events = []
        for item in items:
            event = make_event(item, annotator)
            events.append(add_golden_fix(event, random.choice(choices)))
            events.append(make_event(item, annotator) | random.choice(REVIEWS))
        write_journal(workspace, annotator, events)
    known_events, warnings = read_events_and_warnings(workspace)
    # A list of objects is no verdict, so its line is set aside.
    assert len(known_events) > 1.5 * len(ANNOTATORS) * len(items), warnings


def run(workspace: Workspace, command: Sequence[str], environ: dict[str, str]) -> Done:
    name, *options = command
    folder = workspace.parent_folder
    return run_in_this_process([name, folder, *options], folder, environ)


async def walk_over_items(app: FcreviewApp, n_keys: int) -> None:
    """Open items and golden editors, with further random keys between."""
    keys = [*["j", "enter", "G", "escape", "]", "g", "D"] * 3, *list_keys()]
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(n_keys):
            send_keys(app, random.choice(keys))
            await pilot.pause()


@pytest.mark.slow
async def test_any_review_of_another_annotator_can_be_read(
    screens: None,
    imports: Imports,
    samples: Path,
    tmp_path: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    seed = random.randrange(1 << 30)
    random.seed(seed)
    workspace = imports.copy([samples / "bfcl"], tmp_path / "work")
    for _ in range(times(1, 20)):
        write_hostile_journals(workspace)
        for command in COMMANDS:
            done = run(workspace, command, environ)
            assert done.code in (0, 1), (seed, command, done.err)
            assert "internal error" not in done.err, (seed, command, done.err)
            assert "\x1b" not in done.out, (seed, command)
        with open_app(workspace, blind=False) as app:
            await walk_over_items(app, times(60, 500))
            assert app.return_code in (None, 0), seed
