"""The format `golden-patch`: applied to the dataset, it makes what the fix said of the next import."""

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
from tests.exporters.rewriting import Lent
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns
from tests.sharing import Imports

pytestmark = pytest.mark.slow
Json = dict[str, Any]


def accepting(item: Item) -> Json:
    return {
        "ground_truth": [{call.name: {n: [v] for n, v in (call.arguments or {}).items()}} for call in item.predicted]
    }


def plain(item: Item) -> Json:
    return {"ground_truth": {call.name: call.arguments for call in item.predicted}}


def call(item: Item) -> Json:
    return {"name": item.predicted[0].name, "arguments": item.predicted[0].arguments}


def calls(item: Item) -> Json:
    return {"golden": [{"name": one.name, "arguments": one.arguments, "turn": one.turn} for one in item.predicted]}


def steps(item: Item) -> Json:
    return {"function_calls": [[{"name": one.name, "arguments": one.arguments or {}}] for one in item.predicted]}


FIXES: dict[str, Callable[[Item], Json]] = {
    "bfcl": accepting,
    "acebench": plain,
    "confetti": accepting,
    "hammerbench": call,
    "generic": calls,
    "complexfuncbench": steps,
}
"""The golden answer that the item's prediction would be, in the benchmark's form."""


@dataclass
class Fixed:
    """A copy of a sample run with one golden fix, written as a patch."""

    runs: Path
    out: Path
    item: Item
    told: list[str]

    def applied(self) -> Item:
        """The item after the patches, where the old scores are gone: they were made with the old answers."""
        for name, told in (("golden.patch", "apply golden.patch in "), ("run.patch", "apply it in ")):
            if (self.out / name).is_file():
                (line,) = [each for each in self.told if told in each]
                place = line.partition(told)[2].partition(" with git apply")[0]
                with (self.out / name).open("rb") as patch:
                    subprocess.run(["patch", "-p1", "-s"], cwd=place, stdin=patch, check=True)
        for folder in self.runs.glob("score*"):
            shutil.rmtree(folder)
        return next(each for each in items(self.runs) if (each.category, each.id) == (self.item.category, self.item.id))


def items(runs: Path) -> list[Item]:
    return [one for plan in discover([runs]).plans for one in read_items(plan) if isinstance(one, Item)]


def fix_events(reviewed: ReviewedRuns, item: int, fix: Json, who: str = "ann") -> list[Event]:
    (event,) = reviewed.make_events([ItemVerdict(item, "item", "correct", True)], who)
    event.golden_fix, event.fault, event.note = fix, "golden", "```\n# <b>@all</b>"
    return [event]


def written(reviewed: ReviewedRuns, events: list[Event], runs: Path, out: Path) -> list[str]:
    reviewed.store.reviews.rebuild(events)
    lent = Lent([runs])
    export(reviewed.store, "golden-patch", out, benchmarks=lent.benchmarks())
    return lent.told


@pytest.fixture(params=FIXES)
def fixed(request: pytest.FixtureRequest, samples: Path, imports: Imports, tmp_path: Path) -> Fixed:
    """Of the first item that fails by the rules (ComplexFuncBench: officially) and whose calls make a golden answer."""
    runs = tmp_path / "runs"
    shutil.copytree(samples / request.param, runs)
    reviewed = ReviewedRuns(imports.copy([runs], tmp_path / "workspace"))
    make = FIXES[request.param]
    with reviewed.store as store:
        for number in [number for (number,) in store.run_sql("SELECT item FROM items ORDER BY item")[1]]:
            detail = store.read_detail(number)
            item = detail.item
            fails = item.rule is False or (item.rule is None and item.official is False)
            if not fails or not item.predicted or any(each.arguments is None for each in item.predicted):
                continue
            fix = make(item)
            if check_golden_fix(detail.run, item, fix) is None:
                told = written(reviewed, fix_events(reviewed, number, fix), runs, tmp_path / "out")
                return Fixed(runs, tmp_path / "out", item, told)
    raise AssertionError("no item to fix")


@pytest.mark.sweep
def test_the_patched_dataset_says_what_the_fix_said(fixed: Fixed) -> None:
    before = {path: path.read_bytes() for path in fixed.runs.rglob("*") if path.is_file()}
    after = fixed.applied()
    assert after.golden_hash != fixed.item.golden_hash
    if fixed.item.rule is not None:
        assert (fixed.item.rule, after.rule) == (False, True)
    else:
        assert [pair.state for pair in after.pairs] == ["=" for _ in after.pairs]
    changed = [path for path, raw in before.items() if path.is_file() and path.read_bytes() != raw]
    assert 1 <= len(changed) <= 3
    for path in changed:  # untouched lines are the same bytes
        old, new = before[path].split(b"\n"), path.read_bytes().split(b"\n")
        assert len([line for line in old if line in new]) >= len(old) - 12


@pytest.mark.sweep
def test_what_changed_is_told_line_by_line_and_for_upstream(fixed: Fixed) -> None:
    (line,) = (fixed.out / "changed.jsonl").read_bytes().splitlines()
    told = orjson.loads(line)
    assert told["id"] == fixed.item.id
    assert told["old"] != told["new"]
    assert (told["settled_by"], told["decided_by"]) == (["ann"], "unanimous")
    text = (fixed.out / "issue.md").read_text("utf-8")
    assert f"`{fixed.item.id}`" in text and "`ann`" in text
    assert "````\n```\n# <b>@all</b>\n````" in text  # the note is inside a longer fence
    assert json.dumps(told["new"], ensure_ascii=False, indent=2) in text


def test_what_people_differ_on_and_what_has_the_wrong_form_is_left_out(
    samples: Path, imports: Imports, tmp_path: Path
) -> None:
    reviewed = ReviewedRuns(imports.copy([samples / "bfcl"], tmp_path / "workspace"))
    with reviewed.store as store:
        one, other = store.find_items("simple_python_1")[0], store.find_items("simple_python_3")[0]
        good, bad = accepting(store.read_detail(one).item), {"ground_truth": "no"}
        events = fix_events(reviewed, one, good) + fix_events(reviewed, other, bad)
        events += reviewed.make_events([ItemVerdict(one, "item", "correct", False)], "bob")
        with pytest.raises(ExportError, match="no agreed golden fix"):
            written(reviewed, events, samples / "bfcl", tmp_path / "out")
        assert not (tmp_path / "out").exists()
        (ruling,) = fix_events(reviewed, one, good, "carol")
        ruling.act = "adjudicate"
        told = written(reviewed, [*events, ruling], samples / "bfcl", tmp_path / "out")
    assert any("simple_python_3: ground_truth must be a list of" in line for line in told)
    (line,) = (tmp_path / "out" / "changed.jsonl").read_bytes().splitlines()
    assert orjson.loads(line)["settled_by"] == ["carol"]


def test_runs_that_say_different_things_of_one_answer_are_told(samples: Path, imports: Imports, tmp_path: Path) -> None:
    reviewed = ReviewedRuns(imports.copy([samples / "bfcl"], tmp_path / "workspace"))
    with reviewed.store as store:
        one, other = store.find_items("live_simple_0-0-0")
        here, there = (
            {"ground_truth": [{"get_current_weather": {"location": [place], "unit": ["celsius"]}}]}
            for place in ("Hangzhou", "Hangzhou, CN")
        )
        events = fix_events(reviewed, one, here) + fix_events(reviewed, other, there)
        told = written(reviewed, events, samples / "bfcl", tmp_path / "out")
    assert any("live_simple_0-0-0: two runs have different fixes" in line for line in told)


def test_a_fix_without_a_change_is_not_exported(samples: Path, imports: Imports, tmp_path: Path) -> None:
    """As an earlier version recorded it."""
    runs = tmp_path / "runs"
    shutil.copytree(samples / "bfcl", runs)
    reviewed = ReviewedRuns(imports.copy([runs], tmp_path / "workspace"))
    with reviewed.store as store:
        (item,) = store.find_items("simple_python_4", 1)
        detail = store.read_detail(item)
        fix = make_golden_template(detail.run, detail.item)
        assert fix is not None
        with pytest.raises(ExportError):
            written(reviewed, fix_events(reviewed, item, fix), runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
