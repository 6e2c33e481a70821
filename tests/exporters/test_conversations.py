"""Conversations are exported as ATIF trajectories and as training rows of reviewed items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.export import export
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.store.label_fields import LabelSelection, TrainingOptions
from fcreview.store.rows import View
from tests.commands import environment, run_in_this_process
from tests.exporters.rewriting import ExportServices
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns

SAMPLES = Path(__file__).parents[2] / "sample_runs"
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Row = dict[str, Any]


@pytest.fixture
def all_runs(samples: Path, open_runs: OpenRuns) -> ReviewedRuns:
    reviewed = open_runs([samples])
    reviewed.store.reviews.rebuild([])
    return reviewed


def export_rows(
    reviewed: ReviewedRuns, name: str, out: Path, where: str = "", **options: Any
) -> list[Row]:
    selection = LabelSelection(training=TrainingOptions(**options))
    services = ExportServices([SAMPLES])
    counts = export(
        reviewed.store,
        name,
        out,
        View(where, "dataset"),
        selection=selection,
        benchmarks=services.benchmarks(),
    )
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert counts == {"row": len(found)}
    card = out.with_name(f"{out.stem}.card.md")
    n_benchmark = sum(row["contains_benchmark"] for row in found)
    assert card.is_file() is bool(found)
    warnings = [text for text in services.messages if "left out" not in text]
    assert [f"{n_benchmark:,} of {len(found):,} row" in text for text in warnings] == [True] * bool(
        n_benchmark
    )
    if n_benchmark:
        assert (
            f"**Warning.** {n_benchmark:,} of" in card.read_text()
            and f'path: "{out.name}"' in card.read_text()
        )
    return found


def test_atif_package_accepts_all_items(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    atif = pytest.importorskip("atif", reason="the package atif is not installed")
    out = tmp_path / "out"
    counts = export(all_runs.store, "atif", out, View("", "dataset"))
    files = sorted(out.rglob("*.trajectory.json"))
    assert counts == {"item": len(files)} and len(files) > 100
    for path in files:
        atif.Trajectory.model_validate_json(path.read_text())


def test_exported_trajectory_is_read_as_the_same_item(
    all_runs: ReviewedRuns, samples: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(all_runs.store, "atif", out, View("benchmark:atif", "dataset"))
    again = {
        item.id: item
        for plan in discover([out]).plans
        for item in read_items(plan)
        if isinstance(item, Item)
    }
    before = [item for plan in discover([samples / "atif"]).plans for item in read_items(plan)]
    for item in (each for each in before if isinstance(each, Item)):
        copy = again[item.id]
        assert [(c.name, c.arguments) for c in copy.predicted] == [
            (c.name, c.arguments) for c in item.predicted
        ]
        texts = [
            [(m.role, m.content) for m in x.messages if m.role in ("user", "assistant", "tool")]
            for x in (item, copy)
        ]
        assert texts[0] == texts[1]
        assert (copy.official, copy.tokens_in, copy.tokens_out) == (
            item.official,
            item.tokens_in,
            item.tokens_out,
        )
        assert not copy.issues


def test_file_names_cannot_leave_the_folder(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    from fcreview.exporters.atif import _reserve_unique_name, _sanitize_file_name

    assert (
        _sanitize_file_name("../../x") == "_.._x"
        and _sanitize_file_name("..") == "item"
        and "/" not in _sanitize_file_name("a/b\\c")
    )
    used: set[str] = set()
    assert [_reserve_unique_name(name, used) for name in ("a", "A", "a")] == ["a", "A~2", "a~3"]


def test_no_rows_without_reviews(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    assert export_rows(all_runs, "sft", tmp_path / "sft.jsonl") == []
    assert export_rows(all_runs, "preference", tmp_path / "pairs.jsonl") == []


def test_passing_conversations_become_rows(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    verdicts = [
        each
        for each in all_runs.automatic_verdicts()
        if each.target == "item" and each.criterion == "correct"
    ]
    passing = [each for each in verdicts if each.value is True]
    all_runs.store.reviews.rebuild(
        [*all_runs.make_events(passing), *all_runs.make_events(passing[::2], annotator="bob")]
    )
    found = export_rows(all_runs, "sft", tmp_path / "all.jsonl")
    both = export_rows(all_runs, "sft", tmp_path / "both.jsonl", agreed=2)
    assert 0 < len(both) < len(found) <= len(passing)
    for row in found:
        assert row["messages"][-1]["role"] == "assistant" and row["source"]["annotators"]
        assert isinstance(row["contains_benchmark"], bool)
        names = {tool["function"]["name"] for tool in json.loads(row["tools"])}
        for call in list_calls(row["messages"]):
            assert isinstance(call["arguments"], dict)
            assert not names or call["name"] in names or row["source"]["benchmark"] == "hammerbench"
    text = json.dumps(found)
    assert "instruction to the simulated user" not in text
    assert all(row["source"]["annotators"] == ["ann", "bob"] for row in both)


def list_calls(messages: list[Row]) -> list[Row]:
    return [call["function"] for message in messages for call in message.get("tool_calls", [])]


def test_pairs_have_a_chosen_and_a_rejected_reply(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    found = export_rows(all_runs, "preference", tmp_path / "pairs.jsonl", trust_rule=True)
    assert {row["pair"] for row in found} >= {"runs", "golden"}
    counts: dict[tuple[str, str], int] = {}
    for row in found:
        assert len(row["chosen"]) == len(row["rejected"]) == 1
        assert {row["chosen"][0]["role"], row["rejected"][0]["role"]} == {"assistant"}
        assert any(message["role"] == "user" for message in row["prompt"])
        calls = [
            [(c["name"], c["arguments"]) for c in list_calls(row[side])]
            for side in ("chosen", "rejected")
        ]
        assert calls[0] != calls[1] or row["chosen"][0]["content"] != row["rejected"][0]["content"]
        key = (row["source"]["benchmark"], row["id"])
        counts[key] = counts.get(key, 0) + 1
    assert max(counts.values()) <= 4
    assert [order[row["pair"]] for row in found] == sorted(order[row["pair"]] for row in found)
    without = export_rows(
        all_runs,
        "preference",
        tmp_path / "own.jsonl",
        trust_rule=True,
        exclude_benchmark_goldens=True,
    )
    assert without and "golden" not in {row["pair"] for row in without}


order = {"runs": 0, "golden": 1, "trials": 2}


def test_failed_item_with_another_fault_has_no_rejected_reply(
    all_runs: ReviewedRuns, tmp_path: Path
) -> None:
    before = export_rows(all_runs, "preference", tmp_path / "a.jsonl", trust_rule=True)
    (one, *_) = [row for row in before if row["pair"] == "golden"]
    number = all_runs.find_item(one["id"], one["source"]["run"])
    (event,) = all_runs.make_events([ItemVerdict(number, "item", "correct", False)])
    event.fault = "golden"
    all_runs.store.reviews.rebuild([event])
    after = export_rows(all_runs, "preference", tmp_path / "b.jsonl", trust_rule=True)
    assert not [
        row
        for row in after
        if row["id"] == one["id"] and row["source"]["run"] == one["source"]["run"]
    ]


def test_openai_rows_have_arguments_as_text(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    found = export_rows(all_runs, "sft", tmp_path / "sft.jsonl", trust_rule=True, flavour="openai")
    assert all(isinstance(row["tools"], list) for row in found)
    assert all(
        isinstance(json.loads(call["arguments"]), dict)
        for row in found
        for call in list_calls(row["messages"])
    )


FIX = {"ground_truth": [{"geometry.triangle_area": {"base": [11], "height": [5], "unit": [""]}}]}


def export_golden_rows(reviewed: ReviewedRuns, out: Path, **options: Any) -> list[Row]:
    return [
        row
        for row in export_rows(reviewed, "sft", out, "id:simple_python_0", **options)
        if row["reply"] == "golden"
    ]


def make_review_with_fix(
    reviewed: ReviewedRuns, number: int, value: bool | None, fix: Any = FIX, annotator: str = "ann"
) -> Any:
    (event,) = reviewed.make_events(
        [ItemVerdict(number, "item", "correct", value)], annotator=annotator
    )
    event.fault, event.golden_fix = "golden", fix
    return event


@pytest.mark.parametrize("value", [True, False, None])
def test_golden_fix_replaces_the_reply_for_any_verdict(
    all_runs: ReviewedRuns, tmp_path: Path, value: bool | None
) -> None:
    number = all_runs.store.find_items("simple_python_0")[0]
    all_runs.store.reviews.rebuild([make_review_with_fix(all_runs, number, value)])
    (row,) = export_golden_rows(all_runs, tmp_path / "a.jsonl")
    assert row["source"]["run"] == all_runs.store.fetch_rows([number])[0].run
    (call,) = list_calls(row["messages"])
    assert call == {"name": "geometry.triangle_area", "arguments": {"base": 11, "height": 5}}
    assert (
        row["source"]["golden_by"] == row["source"]["annotators"] == ["ann"]
        and row["contains_benchmark"]
    )
    without = export_rows(
        all_runs, "sft", tmp_path / "b.jsonl", "id:simple_python_0", exclude_benchmark_goldens=True
    )
    assert [row["reply"] for row in without] == ["model"] * (value is True)
    assert export_golden_rows(all_runs, tmp_path / "c.jsonl", agreed=2) == []


def test_golden_fix_counts_only_without_a_conflicting_fix(
    all_runs: ReviewedRuns, tmp_path: Path
) -> None:
    number = all_runs.store.find_items("simple_python_0")[0]
    own = make_review_with_fix(all_runs, number, True)
    other = {
        "ground_truth": [{"geometry.triangle_area": {"base": [12], "height": [5], "unit": [""]}}]
    }
    all_runs.store.reviews.rebuild(
        [own, make_review_with_fix(all_runs, number, True, other, annotator="bob")]
    )
    assert export_golden_rows(all_runs, tmp_path / "a.jsonl") == []
    all_runs.store.reviews.rebuild(
        [own, make_review_with_fix(all_runs, number, True, annotator="bob")]
    )
    (row,) = export_golden_rows(all_runs, tmp_path / "b.jsonl", agreed=2)
    assert row["source"]["golden_by"] == ["ann", "bob"]
    own.golden_fix = {"ground_truth": "no calls"}
    all_runs.store.reviews.rebuild([own])
    assert export_golden_rows(all_runs, tmp_path / "c.jsonl") == []


def test_golden_fix_is_the_chosen_reply_in_all_runs(all_runs: ReviewedRuns, tmp_path: Path) -> None:
    number = all_runs.store.find_items("simple_python_0")[0]
    all_runs.store.reviews.rebuild([make_review_with_fix(all_runs, number, False)])
    found = export_rows(
        all_runs, "preference", tmp_path / "a.jsonl", "id:simple_python_0", trust_rule=True
    )
    golden = [row for row in found if row["pair"] == "golden"]
    assert golden
    for row in golden:
        assert list_calls(row["chosen"])[0]["arguments"] == {"base": 11, "height": 5}
        assert row["source"]["golden_by"] == ["ann"]


def test_erratum_replaces_the_reply_without_a_review(samples: Path, tmp_path: Path) -> None:
    runs = samples / "bfcl" / "result" / "maple-8b"

    def run(*arguments: str | Path) -> None:
        done = run_in_this_process(arguments, tmp_path, environment(tmp_path))
        assert done.code == 0, done.err

    fix = json.dumps(FIX)
    label = (
        "--verdict",
        "golden-wrong",
        "--golden-fix",
        fix,
        "--annotator",
        "ann",
        "--workspace",
        tmp_path / "one",
    )
    run("label", runs, "simple_python_0", *label)
    run("errata", "create", runs, "--workspace", tmp_path / "one", "-o", tmp_path / "errata.jsonl")
    other = (
        "--workspace",
        tmp_path / "two",
        "--errata",
        tmp_path / "errata.jsonl",
        "-o",
        tmp_path / "rows.jsonl",
    )
    run("export", runs, "--format", "sft", *other)
    (row,) = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert list_calls(row["messages"])[0]["arguments"] == {"base": 11, "height": 5}
    assert row["source"]["golden_by"] == ["ann"] and row["source"]["annotators"] == []


def test_golden_fix_of_any_form_is_read_as_golden_calls(all_runs: ReviewedRuns) -> None:
    from fcreview.importers.registry import make_golden_template, parse_golden_fix

    found: dict[str, int] = {}
    for chunk in all_runs.store.iter_details(View("", "dataset")):
        for detail in chunk:
            template = make_golden_template(detail.run, detail.item)
            calls = parse_golden_fix(detail.run, detail.item, template) if template else []
            if calls:
                values = [
                    [
                        (
                            call.name,
                            {name: each.any_of for name, each in (call.arguments or {}).items()},
                        )
                        for call in side
                    ]
                    for side in (calls, detail.item.golden)
                ]
                assert values[0] == values[1], detail.item.id
                found[detail.run.benchmark] = found.get(detail.run.benchmark, 0) + 1
    assert found.keys() == {
        "acebench",
        "bfcl",
        "canteen orders",
        "confetti",
        "hammerbench",
        "helpdesk",
        "tau",
        "travel-desk",
    }
