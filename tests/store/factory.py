"""Items, plans and stores for tests.

The test benchmark has one JSON object per line, see `read`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.model.item import (
    AcceptedValues,
    ArgumentDiff,
    Call,
    CallPair,
    Extra,
    ImportIssue,
    Item,
    Message,
    Run,
    Verdict,
)
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import ImportSummary
from fcreview.store.workspace import Workspace, find_workspace

Imported = Callable[[Path, dict[str, list[dict[str, Any]]]], Workspace]
"""Type of the fixture `imported`, which imports rows by model into a workspace at a path."""
WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {"type": "dict", "properties": {}},
}


def make_item(number: int = 0, **fields: Any) -> Item:
    """Return an item whose call has the city "Hangzhou, CN", which is wrong unless `official` is
    given.
    """
    official = fields.get("official", False)
    defaults: dict[str, Any] = {
        "id": f"simple_{number}",
        "category": "simple",
        "question": f"What is the weather in city {number}?",
        "messages": [
            Message(
                0, -1, role="user", content=f"What is the weather in city {number}? Use celsius."
            ),
            Message(0, 0, role="assistant", content="[get_weather(city='Hangzhou, CN')]"),
        ],
        "golden": [
            Call(
                "golden",
                "get_weather",
                arguments={"city": AcceptedValues(["Hangzhou", "Hangzhou, China"])},
            )
        ],
        "predicted": [
            Call(
                "predicted",
                "get_weather",
                arguments={"city": "Hangzhou, CN"},
                raw="get_weather(city='Hangzhou, CN')",
            )
        ],
        "pairs": [
            CallPair(
                0,
                0,
                0,
                "get_weather",
                "!",
                [ArgumentDiff("city", state="!", reason="'hangzhoucn' is not accepted")],
            )
        ],
        "verdicts": [
            Verdict("official", official, error_type="value_error:string"),
            Verdict("rule", official),
        ],
        "functions": [WEATHER],
        "official": official,
        "rule": official,
        "error_type": None if official else "value_error:string",
        "rule_error_type": None if official else "value_error:string",
        "diff_function": None if official else "get_weather",
        "diff_argument": None if official else "city",
        "prediction_hash": f"p{number}",
        "golden_hash": f"g{number}",
    }
    item = Item(**{**defaults, **fields})
    item.predicted = [Call(**call) if isinstance(call, dict) else call for call in item.predicted]
    return item


def write_run(folder: Path, rows: list[dict[str, Any]], model: str = "maple-8b") -> RunPlan:
    """Write a result file with one line per row.

    A row has the fields of `Item` that differ from `make_item`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RunPlan(Run("bfcl", "V4", "en", model, str(folder), needs_dataset=False), [path])


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Read a file of `write_run`.

    `{"issue": text, "item": id}` gives an issue, and `{"crash": text}` makes the reader fail.
    """
    for path in plan.results:
        offset = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            row = json.loads(line)
            if "crash" in row:
                raise RuntimeError(row["crash"])
            if "issue" in row:
                yield ImportIssue(
                    str(path),
                    number + 1,
                    what=row["issue"],
                    raw=line.decode(),
                    item=row.get("item"),
                )
            else:
                place = {
                    "file": str(path),
                    "line": number + 1,
                    "offset": offset,
                    "length": len(line),
                }
                fields = {**place, **row, "extra": Extra.from_json(row.get("extra"))}
                if "predicted" in row:
                    fields["predicted"] = [Call(**call) for call in row["predicted"]]
                yield make_item(number, **fields)
            offset += len(line)


def import_items(
    place: Path, runs: dict[str, list[dict[str, Any]]]
) -> tuple[Workspace, ImportSummary]:
    """Return a workspace in `place` with one run per model."""
    place.mkdir(parents=True, exist_ok=True)
    workspace = find_workspace(place)
    plans = [write_run(place / model, rows, model) for model, rows in runs.items()]
    return workspace, import_runs(workspace, plans, read)


def import_finished_items(place: Path, items: Sequence[Item]) -> None:
    """Import the items as a run in the folder `run` of the workspace folder `place`."""
    plan = write_run(place / "run", [{} for _ in items])
    import_runs(find_workspace(place), [plan], lambda _: iter(items), n_workers=1)
