"""A dataset patched with the `golden-patch` format has the fixed golden answers in the next
import.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.exporters.base import ExportError
from fcreview.exporters.export import export
from fcreview.importers.registry import check_golden_fix, discover, make_golden_template, read_items
from fcreview.model.item import Item
from fcreview.model.review import Event
from tests.exporters.rewriting import ExportServices
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns
from tests.sharing import Imports

pytestmark = pytest.mark.slow
Json = dict[str, Any]


def make_accepting_fix(item: Item) -> Json:
    return {
        "ground_truth": [
            {call.name: {n: [v] for n, v in (call.arguments or {}).items()}}
            for call in item.predicted
        ]
    }


def make_plain_fix(item: Item) -> Json:
    return {"ground_truth": {call.name: call.arguments for call in item.predicted}}


def make_call_fix(item: Item) -> Json:
    return {"name": item.predicted[0].name, "arguments": item.predicted[0].arguments}


def make_calls_fix(item: Item) -> Json:
    return {
        "golden": [
            {"name": one.name, "arguments": one.arguments, "turn": one.turn}
            for one in item.predicted
        ]
    }


def make_steps_fix(item: Item) -> Json:
    return {
        "function_calls": [
            [{"name": one.name, "arguments": one.arguments or {}}] for one in item.predicted
        ]
    }


FIXES: dict[str, Callable[[Item], Json]] = {
    "bfcl": make_accepting_fix,
    "acebench": make_plain_fix,
    "confetti": make_accepting_fix,
    "hammerbench": make_call_fix,
    "generic": make_calls_fix,
    "complexfuncbench": make_steps_fix,
}
"""Functions that make a golden fix of the predicted calls of an item, in the form of each
benchmark.
"""


@dataclass
class FixedRun:
    """A copy of a sample run with one golden fix, written as a patch."""

    runs: Path
    out: Path
    item: Item
    messages: list[str]

    def apply_patches(self) -> Item:
        """Apply the patches, delete the old scores and return the item of the next import."""
        for name in ("golden.patch", "run.patch"):
            if (self.out / name).is_file():
                (line,) = [each for each in self.messages if each.startswith(f"{name} corrects ")]
                place = line.partition("Apply it in ")[2].partition(" with git apply")[0]
                with (self.out / name).open("rb") as patch:
                    subprocess.run(["patch", "-p1", "-s"], cwd=place, stdin=patch, check=True)
        for folder in self.runs.glob("score*"):
            shutil.rmtree(folder)
        return next(
            each
            for each in read_all_items(self.runs)
            if (each.category, each.id) == (self.item.category, self.item.id)
        )


def read_all_items(runs: Path) -> list[Item]:
    return [
        one for plan in discover([runs]).plans for one in read_items(plan) if isinstance(one, Item)
    ]


def make_fix_events(
    reviewed: ReviewedRuns, item: int, fix: Json, annotator: str = "ann"
) -> list[Event]:
    (event,) = reviewed.make_events([ItemVerdict(item, "item", "correct", True)], annotator)
    event.golden_fix, event.fault, event.note = fix, "golden", "```\n# <b>@all</b>"
    return [event]


def export_patch(reviewed: ReviewedRuns, events: list[Event], runs: Path, out: Path) -> list[str]:
    reviewed.store.reviews.rebuild(events)
    services = ExportServices([runs])
    export(reviewed.store, "golden-patch", out, benchmarks=services.benchmarks())
    return services.messages


@pytest.fixture(params=FIXES)
def fixed_run(
    request: pytest.FixtureRequest, samples: Path, imports: Imports, tmp_path: Path
) -> FixedRun:
    """A run with a fix of the first failing item whose predicted calls are a valid golden
    answer.
    """
    runs = tmp_path / "runs"
    shutil.copytree(samples / request.param, runs)
    reviewed = ReviewedRuns(imports.copy([runs], tmp_path / "workspace"))
    make = FIXES[request.param]
    with reviewed.store as store:
        for number in [
            number for (number,) in store.run_sql("SELECT item FROM items ORDER BY item")[1]
        ]:
            detail = store.read_detail(number)
            item = detail.item
            fails = item.rule is False or (item.rule is None and item.official is False)
            if (
                not fails
                or not item.predicted
                or any(each.arguments is None for each in item.predicted)
            ):
                continue
            fix = make(item)
            if check_golden_fix(detail.run, item, fix) is None:
                messages = export_patch(
                    reviewed, make_fix_events(reviewed, number, fix), runs, tmp_path / "out"
                )
                return FixedRun(runs, tmp_path / "out", item, messages)
    raise AssertionError("no item to fix")


@pytest.mark.sweep
def test_patched_dataset_has_the_fixed_golden_answer(fixed_run: FixedRun) -> None:
    before = {path: path.read_bytes() for path in fixed_run.runs.rglob("*") if path.is_file()}
    after = fixed_run.apply_patches()
    assert after.golden_hash != fixed_run.item.golden_hash
    if fixed_run.item.rule is not None:
        assert (fixed_run.item.rule, after.rule) == (False, True)
    else:
        assert [pair.state for pair in after.pairs] == ["=" for _ in after.pairs]
    changed = [path for path, raw in before.items() if path.is_file() and path.read_bytes() != raw]
    assert 1 <= len(changed) <= 3
    for path in changed:  # Other lines must not change.
        old, new = before[path].split(b"\n"), path.read_bytes().split(b"\n")
        assert len([line for line in old if line in new]) >= len(old) - 12


@pytest.mark.sweep
def test_changes_are_listed_and_described_for_upstream(fixed_run: FixedRun) -> None:
    (line,) = (fixed_run.out / "changed.jsonl").read_bytes().splitlines()
    change = orjson.loads(line)
    assert change["id"] == fixed_run.item.id
    assert change["old"] != change["new"]
    assert (change["settled_by"], change["decided_by"]) == (["ann"], "unanimous")
    text = (fixed_run.out / "issue.md").read_text("utf-8")
    assert f"`{fixed_run.item.id}`" in text and "`ann`" in text
    assert "````\n```\n# <b>@all</b>\n````" in text  # The note is inside a longer fence.
    assert json.dumps(change["new"], ensure_ascii=False, indent=2) in text


def test_disagreements_and_malformed_fixes_are_omitted(
    samples: Path, imports: Imports, tmp_path: Path
) -> None:
    reviewed = ReviewedRuns(imports.copy([samples / "bfcl"], tmp_path / "workspace"))
    with reviewed.store as store:
        one, other = store.find_items("simple_python_1")[0], store.find_items("simple_python_3")[0]
        good, bad = make_accepting_fix(store.read_detail(one).item), {"ground_truth": "no"}
        events = make_fix_events(reviewed, one, good) + make_fix_events(reviewed, other, bad)
        events += reviewed.make_events([ItemVerdict(one, "item", "correct", False)], "bob")
        with pytest.raises(
            ExportError,
            match=r"no resolved golden fix to export\. 1 golden fix waits for adjud.*`fcreview adjudicate`",
        ):
            export_patch(reviewed, events, samples / "bfcl", tmp_path / "out")
        assert not (tmp_path / "out").exists()
        (ruling,) = make_fix_events(reviewed, one, good, "carol")
        ruling.act = "adjudicate"
        messages = export_patch(reviewed, [*events, ruling], samples / "bfcl", tmp_path / "out")
    assert any("simple_python_3: ground_truth must be a list of" in line for line in messages)
    (line,) = (tmp_path / "out" / "changed.jsonl").read_bytes().splitlines()
    assert orjson.loads(line)["settled_by"] == ["carol"]


def test_different_fixes_of_one_answer_are_reported(
    samples: Path, imports: Imports, tmp_path: Path
) -> None:
    reviewed = ReviewedRuns(imports.copy([samples / "bfcl"], tmp_path / "workspace"))
    with reviewed.store as store:
        one, other = store.find_items("live_simple_0-0-0")
        here, there = (
            {"ground_truth": [{"get_current_weather": {"location": [place], "unit": ["celsius"]}}]}
            for place in ("Hangzhou", "Hangzhou, CN")
        )
        events = make_fix_events(reviewed, one, here) + make_fix_events(reviewed, other, there)
        messages = export_patch(reviewed, events, samples / "bfcl", tmp_path / "out")
    assert any(
        "live_simple_0-0-0: two runs have different golden fixes" in line for line in messages
    )


def test_fix_without_a_change_is_not_exported(
    samples: Path, imports: Imports, tmp_path: Path
) -> None:
    """An earlier version could record such a fix."""
    runs = tmp_path / "runs"
    shutil.copytree(samples / "bfcl", runs)
    reviewed = ReviewedRuns(imports.copy([runs], tmp_path / "workspace"))
    with reviewed.store as store:
        (item,) = store.find_items("simple_python_4", 1)
        detail = store.read_detail(item)
        fix = make_golden_template(detail.run, detail.item)
        assert fix is not None
        with pytest.raises(ExportError):
            export_patch(reviewed, make_fix_events(reviewed, item, fix), runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
