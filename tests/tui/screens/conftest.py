"""A workspace with three simple items and an item of several turns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fcreview.matching.align import align_calls, align_calls_by_turn
from fcreview.model.item import AcceptedValues, Call, Extra, Item, Message, Run, Verdict
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import Workspace, find_workspace
from tests.tui.screens.item_host import OBSERVATION

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a place.",
    "parameters": {
        "type": "dict",
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "Which city."},
            "unit": {"type": "string", "enum": ["C", "F"]},
        },
    },
}


def make_simple_item(number: int) -> Item:
    golden = [
        Call(
            "golden",
            "get_weather",
            arguments={"unit": AcceptedValues(["C"]), "city": AcceptedValues(["Hangzhou", "杭州"])},
        )
    ]
    predicted = [
        Call("predicted", "get_weather", arguments={"unit": "C", "city": f"Hangzhou, CN {number}"})
    ]
    return Item(
        f"simple_{number}",
        "simple",
        messages=[
            Message(0, -1, role="system", content="You are careful."),
            Message(0, -1, role="user", content=f"Weather in city {number}?"),
        ],
        golden=golden,
        predicted=predicted,
        pairs=align_calls(golden, predicted),
        functions=[WEATHER],
        official=False,
        rule=False,
        error_type="value_error:string",
        rule_error_type="value_error:string",
        verdicts=[
            Verdict("official", False, error_type="value_error:string"),
            Verdict("rule", False),
        ],
        prediction_hash=f"p{number}",
        golden_hash=f"g{number}",
    )


def make_multi_turn_item() -> Item:
    item = Item(
        "multi_turn_0",
        "multi_turn",
        n_turns=4,
        n_steps=8,
        official=False,
        extra=Extra(failing_turn=1),
    )
    for turn in range(4):
        item.messages += [
            Message(turn, -1, role="user", content=f"Please do part {turn}."),
            Message(
                turn,
                0,
                role="tool",
                content=OBSERVATION if turn == 1 else '{"ok": true}',
                name="cd",
            ),
            Message(turn, 1, role="assistant", content=f"Part {turn} is done."),
            Message(turn, 1, role="log", content="not a call"),
        ]
        item.golden.append(
            Call("golden", "cd", arguments={"folder": AcceptedValues(["a"])}, turn=turn)
        )
        item.predicted.append(
            Call("predicted", "cd", arguments={"folder": "a" if turn != 1 else "b"}, turn=turn)
        )
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    item.prediction_hash = item.golden_hash = "m"
    return item


@pytest.fixture(scope="session")
def imported_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Import three simple items and a multi-turn item, in this order, once."""
    place = tmp_path_factory.mktemp("items") / "run"
    place.mkdir()
    import_items(place, [*map(make_simple_item, range(3)), make_multi_turn_item()])
    return place


def import_items(place: Path, items: list[Item]) -> Workspace:
    """Return a workspace with these items, each in one line of a file."""
    results = place / "simple_result.json"
    lines = [
        json.dumps({"id": f"simple_{n}", "result": [{"get_weather": {"city": "Hangzhou"}}]}) + "\n"
        for n in range(4)
    ]
    results.write_text("".join(lines))
    for number, item in enumerate(items):
        item.file, item.line = str(results), number + 1
        item.offset, item.length = sum(map(len, lines[:number])), len(lines[number])
    workspace = find_workspace(place, place)
    run = Run("bfcl", "V4", "en", "gpt-4o", str(place))
    import_runs(workspace, [RunPlan(run, [results])], lambda plan: iter(items), n_workers=1)
    return workspace


@pytest.fixture
def workspace(imported_template: Path, tmp_path: Path) -> Workspace:
    """Return a copy of the imported items."""
    shutil.copytree(imported_template, tmp_path, dirs_exist_ok=True)
    return find_workspace(tmp_path, tmp_path)
