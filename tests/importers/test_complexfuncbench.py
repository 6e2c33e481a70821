"""ComplexFuncBench verdicts and figures equal a second evaluation and the official output.

Overrides change the figures as in the evaluator, and confirmations change nothing.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.complexfuncbench.checker import (
    derive_call_verdicts,
    find_call_error,
    find_exact_parameter_error,
    find_format_error,
    is_equal_call,
    parse_golden_path,
    parse_predicted_path,
)
from fcreview.importers.complexfuncbench.leaderboard import classify_parameter, compute_metrics
from fcreview.importers.complexfuncbench.log import parse_log
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.model.metric import ScoredItem
from tests.importers.overriding import ReviewedRun, open_reviewed_run
from tests.sharing import Imports

TIERS = {
    "rule": "rule",
    "exact_params": "exact",
    "response": "response",
    "llm": "judge",
    "format": "format",
}


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


@pytest.fixture(scope="module")
def items(bench: Path) -> list[Item]:
    (plan,) = discover([bench / "complexfuncbench"]).plans
    return [item for item in read_items(plan) if isinstance(item, Item)]


def test_records_and_samples_with_only_log_are_items(items: list[Item]) -> None:
    assert len(items) == 13
    assert [item.id for item in items if item.official is None] == ["Hotels-9"]


def test_official_verdict_is_outcome_of_record(items: list[Item], bench: Path) -> None:
    records = {
        r["id"]: r
        for r in read_lines(bench / "complexfuncbench/result/gpt-4o-2024-08-06/shared-13.jsonl")
    }
    for item in items:
        if item.id in records:
            message = records[item.id]["message"]
            first = message[0] if isinstance(message, list) else message
            assert item.official is (message == "Success.")
            assert item.error_type == (None if item.official else first["error_type"])


def test_every_call_has_verdict_and_tier_of_oracle(bench: Path) -> None:
    root = bench / "complexfuncbench"
    data = {r["id"]: r for r in read_lines(root / "data/ComplexFuncBench.jsonl")}
    records = {r["id"]: r for r in read_lines(root / "result/gpt-4o-2024-08-06/shared-13.jsonl")}
    checked = 0
    for sample in read_lines(root / "oracle/call_verdicts.jsonl"):
        name = sample["id"]
        if name not in records:
            continue
        log = parse_log((root / f"result/gpt-4o-2024-08-06/shared-13/logs/{name}.log").read_text())
        ours = derive_call_verdicts(
            parse_predicted_path(records[name]),
            parse_golden_path(data[name]),
            data[name]["functions"],
            log,
        )
        by_turn: dict[int, list] = {}
        for verdict in ours:
            by_turn.setdefault(verdict.predicted.step, []).append(verdict)
        for number, turn in enumerate(sample["turns"]):
            for pair in turn["pairs"]:
                verdict = by_turn[number][pair["idx"]]
                assert (verdict.tier, verdict.ok) == (TIERS[pair["tier"]], pair["ok"]), (
                    name,
                    number,
                    pair,
                )
                if pair["tier"] == "llm":
                    assert verdict.rationale == pair["judge"]["reason"]
                if pair["tier"] != "format":
                    assert verdict.golden is not None
                    given = {
                        key: accept.any_of[0]
                        for key, accept in (verdict.golden.arguments or {}).items()
                    }
                    assert given == pair["golden"]["arguments"]
                checked += 1
    assert checked > 55


def test_calls_without_logs_have_verdicts(bench: Path) -> None:
    root = bench / "complexfuncbench"
    data = {r["id"]: r for r in read_lines(root / "data/ComplexFuncBench.jsonl")}
    for record in read_lines(root / "result/gpt-4o-2024-08-06/shared-13.jsonl"):
        known = data[record["id"]]
        ours = derive_call_verdicts(
            parse_predicted_path(record), parse_golden_path(known), known["functions"], None
        )
        assert (
            sum(bool(verdict.ok) for verdict in ours) == record["count_dict"]["correct_call_num"]
        ), record["id"]


def test_printed_figures_equal_official_output(items: list[Item], bench: Path) -> None:
    text = (
        bench / "complexfuncbench/result/gpt-4o-2024-08-06/shared-13.print_results.txt"
    ).read_text()
    rows = [
        ScoredItem(
            item.id,
            item.category,
            None,
            item.official,
            item.error_type,
            {v.criterion: v.value for v in item.verdicts if v.target == "response"},
            metadata=item.extra.metadata,
        )
        for item in items
    ]
    ours = {f.name: f.value for f in compute_metrics(rows, None) if f.table == "as printed"}  # type: ignore[arg-type]
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        if value.startswith("{"):
            for key, one in ast.literal_eval(value).items():
                assert ours[f"{name}: {key}"] == one
        else:
            assert ours[name] == float(value)


def test_rules_for_calls() -> None:
    call = {
        "name": "Search_Hotels",
        "arguments": {"dest_id": "1", "adults": 2, "categories_filter": "a, b"},
    }
    assert is_equal_call(
        call,
        {
            "name": "Search_Hotels",
            "arguments": {"dest_id": "1", "adults": 2.0, "categories_filter": "b,a"},
        },
    )
    other = {"name": "Search_Hotels", "arguments": {**call["arguments"], "dest_id": "2"}}
    assert (find_exact_parameter_error(call, other) or ("",))[0] == "value_error"
    assert (
        find_exact_parameter_error(
            call, {"name": "Search_Hotels", "arguments": {**call["arguments"], "adults": 3}}
        )
        is None
    )
    assert (find_exact_parameter_error(call, {"name": "Get_Filter", "arguments": {}}) or ("",))[
        0
    ] == "func_error"
    assert (
        find_call_error(
            {"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "f", "arguments": {"x": 1}}
        )[0]
        == "param_hallucination"
    )


def test_format_errors_have_order_of_evaluator() -> None:
    documents = [
        {"name": "f", "parameters": {"properties": {"n": {"type": "number"}}, "required": ["n"]}}
    ]
    assert "not an available" in str(find_format_error({"name": "g"}, documents))
    missing = find_format_error({"name": "f", "arguments": {"x": 1}}, documents)
    assert missing == "the call does not have the required parameters n"
    unknown = find_format_error({"name": "f", "arguments": {"n": 1, "x": 1}}, documents)
    assert unknown == "the function does not have the parameters x"
    assert "must be of type number" in str(
        find_format_error({"name": "f", "arguments": {"n": "1"}}, documents)
    )
    assert find_format_error({"name": "f", "arguments": {"n": True}}, documents) is None


@given(st.text(max_size=400))
def test_any_text_is_read_as_log(text: str) -> None:
    parse_log(text)
    parse_log("2025-01-01 10:00:00,000 - evaluation_logger_x - INFO - Function Calls: \n" + text)


PRINTED, PRESENT = "as printed", "over the records present"


@pytest.fixture
def run(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    with open_reviewed_run(imports, bench / "complexfuncbench", tmp_path / "ws") as found:
        yield found


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2])
def test_confirmations_change_no_figure(run: ReviewedRun, share: float) -> None:
    before = run.read_figures()
    assert run.confirm(7, share) > 10
    assert run.changed_figures(before) == {}


def test_confirmed_calls_change_no_figure(run: ReviewedRun) -> None:
    """Attraction-1 failed because of an additional call. Cross-0 succeeded with a refused call."""
    before = run.read_figures()
    for call in (1, 2, 3):
        run.review("Attraction-1", True, f"turn:1/call:{call}", "equivalent")
    run.review("Cross-0", False, "turn:1/call:9", "equivalent")
    assert run.human_verdict("Attraction-1") is run.human_verdict("Cross-0") is None
    assert run.changed_figures(before) == {}


@pytest.mark.parametrize("criterion", ["equivalent", "correct"])
def test_accepted_call_marked_as_wrong(run: ReviewedRun, criterion: str) -> None:
    """Recorded: 49 of 57 calls, 6 of 12 samples (Flights 2 of 3; 14 of 14 calls).

    `legs` differs in Flights-1.
    """
    before = run.read_figures()
    run.review("Flights-1", False, "turn:1/call:4", criterion)
    assert run.human_verdict("Flights-1") is False
    changed = run.changed_figures(before)
    assert changed.pop(("error types", "value_error")) == 3 + 1
    for word, n in {
        "func_error": 1,
        "value_error": 4,
        "stop_early": 1,
        "func_hallucination": 1,
    }.items():
        assert changed.pop(("error shares", word)) == n / 7
    assert changed.pop(("wrong parameters by type", "legs")) == 1
    assert changed.pop(("error rate by type", "legs")) == 1 / 1
    assert changed == {
        (PRINTED, "Overall Success Rate"): 5 / 1000 * 100,
        (PRINTED, "Domain Success Rate: Flights"): 1 / 150 * 100,
        (PRINTED, "Overall Call Accuracy"): 48 / 57 * 100,  # 84.2
        (PRINTED, "Domain Call Accuracy: Flights"): 13 / 14 * 100,
        (PRESENT, "Overall Success Rate"): 5 / 12 * 100,  # 41.7
        (PRESENT, "Domain Success Rate: Flights"): 1 / 3 * 100,
        (PRESENT, "Overall Call Accuracy"): 48 / 57 * 100,
        (PRESENT, "Domain Call Accuracy: Flights"): 13 / 14 * 100,
    }


def test_refused_call_with_covered_golden_call_counts_once(run: ReviewedRun) -> None:
    """Cross-0's 9th and accepted 6th call match the same golden call, so 13 of 14 calls of Cross
    stay. The differing `query` is no longer wrong.
    """
    before = run.read_figures()
    run.review("Cross-0", True, "turn:1/call:9", "equivalent")
    changed = run.changed_figures(before)
    assert changed.keys() == {
        ("wrong parameters by type", "location"),
        ("error rate by type", "location"),
    }
    assert run.read_figures()[PRESENT, "Domain Call Accuracy: Cross"] == 13 / 14 * 100


def test_other_call_covers_golden_call(run: ReviewedRun) -> None:
    """The accepted 6th call is wrong and the refused 9th is right, so the count stays."""
    before = run.read_figures()
    run.review("Cross-0", False, "turn:1/call:6", "equivalent")
    assert run.changed_figures(before)[PRESENT, "Domain Call Accuracy: Cross"] == 12 / 14 * 100
    assert run.human_verdict("Cross-0") is False
    run.review("Cross-0", True, "turn:1/call:9", "equivalent")
    assert run.human_verdict("Cross-0") is True
    assert {table for table, _ in run.changed_figures(before)} <= {
        "wrong parameters by type",
        "error rate by type",
    }


def test_last_refused_call_marked_as_right_passes_sample(run: ReviewedRun) -> None:
    """Cross-1 has 5 of 6 accepted calls. With the 6th, every golden call is covered."""
    before = run.read_figures()
    run.review("Cross-1", True, "turn:1/call:6", "equivalent")
    assert run.human_verdict("Cross-1") is True
    changed = run.changed_figures(before)
    assert changed[PRESENT, "Domain Call Accuracy: Cross"] == 14 / 14 * 100
    assert changed[PRESENT, "Domain Success Rate: Cross"] == 2 / 2 * 100
    assert changed[PRESENT, "Overall Success Rate"] == 7 / 12 * 100
    assert changed[PRINTED, "Domain Success Rate: Cross"] == 2 / 400 * 100
    assert changed[PRINTED, "Overall Call Accuracy"] == 50 / 57 * 100
    assert changed["error types", "value_error"] == 2


def test_right_call_does_not_pass_incomplete_sample(run: ReviewedRun) -> None:
    """Hotels-1: the refused search of 4 golden calls is right, but two later calls were never
    made.
    """
    before = run.read_figures()
    run.review("Hotels-1", True, "turn:1/call:2", "equivalent")
    assert run.human_verdict("Hotels-1") is None
    changed = run.changed_figures(before)
    assert changed[PRESENT, "Domain Call Accuracy: Hotels"] == 12 / 14 * 100
    assert not any("Success" in name for _, name in changed)


def test_repeated_call_marked_as_wrong_counts_less(run: ReviewedRun) -> None:
    """Flights-2 counts 5 of 4 calls, because its 7th call repeats the first.

    The golden call stays covered.
    """
    before = run.read_figures()
    run.review("Flights-2", False, "turn:1/call:7", "equivalent")
    changed = run.changed_figures(before)
    assert changed[PRESENT, "Domain Call Accuracy: Flights"] == 13 / 14 * 100


def test_item_verdict_changes_only_success_rate(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("Hotels-0", False)
    changed = run.changed_figures(before)
    assert {name for table, name in changed} == {
        "Overall Success Rate",
        "Domain Success Rate: Hotels",
    }
    assert changed[PRESENT, "Domain Success Rate: Hotels"] == 1 / 3 * 100


def test_scores_change_only_their_mean(run: ReviewedRun) -> None:
    """Completeness 1.857 is 13 / 7 responses. Hotels-0 has 2."""
    before = run.read_figures()
    run.review("Hotels-0", 0, "response", "completeness")
    assert run.changed_figures(before) == {
        (PRINTED, "Complete Score"): 11 / 7,
        (PRESENT, "Complete Score"): 11 / 7,
    }
    run.review("Hotels-0", 0, "response", "correctness")
    assert run.changed_figures(before)[PRESENT, "Correct Score"] == 11 / 7


def test_call_with_disagreement_keeps_verdict(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("Cross-1", True, "turn:1/call:6", "equivalent")
    run.review("Cross-1", False, "turn:1/call:6", "equivalent", who="bob")
    assert run.changed_figures(before) == {}


def test_errors_parameters_and_steps(run: ReviewedRun) -> None:
    """Refused calls: Hotels-1 (two dates), Flights-0 (token), Car-Rental-0 (vehicle_id), Cross-0
    (query), Cross-1 (base_currency); Attraction-0 called another function, Flights-2's two were
    malformed.
    """
    found = run.read_figures("official")
    wrong = {
        name: value
        for (table, name), value in found.items()
        if table == "wrong parameters by type" and value
    }
    assert wrong == {"token": 1, "date": 2, "location": 1, "id": 1, "other": 1}
    assert found["error types", "value_error"] == 3
    assert found["error shares", "value_error"] == 3 / 6
    assert found["error shares", "param_missing"] == 0
    taken = {name: value for (table, name), value in found.items() if table == "steps taken"}
    assert taken == {"2": 3, "3": 5, "4": 3, "5": 1}
    assert found["steps", "mean, taken"] == 38 / 12


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("categories_filter", "filter"),
        ("legs", "legs"),
        ("offerToken", "token"),
        ("slug", "slug"),
        ("departDate", "date"),
        ("drop_off_time", "time"),
        ("sort_option_id", "sort_by"),
        ("sortBy", "sort_by"),
        ("query", "location"),
        ("pick_up_longitude", "location"),
        ("search_key", "key"),
        ("fromId", "id"),
        ("search_type", "type"),
        ("driver_age", "age"),
        ("adults", "people"),
        ("languagecode", "other"),
    ],
)
def test_types_of_parameters(parameter: str, expected: str) -> None:
    assert classify_parameter(parameter) == expected


@pytest.fixture
def run_copy(bench: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bench / "complexfuncbench", tmp_path / "run"))


def read_run(folder: Path) -> list[Item | ImportIssue]:
    (plan,) = discover([folder]).plans
    return [*plan.issues, *read_items(plan)]


def test_dataset_in_several_files_is_joined(run_copy: Path) -> None:
    dataset = run_copy / "data/ComplexFuncBench.jsonl"
    lines = dataset.read_text().splitlines(keepends=True)
    (run_copy / "data/a.jsonl").write_text("".join(lines[:5]))
    (run_copy / "data/b.jsonl").write_text("".join(lines[5:]))
    dataset.unlink()
    items = [each for each in read_run(run_copy) if isinstance(each, Item)]
    assert len(items) == 13
    assert all(item.golden for item in items)


def test_sample_missing_in_dataset_has_issue(run_copy: Path) -> None:
    dataset = run_copy / "data/ComplexFuncBench.jsonl"
    lines = [
        line for line in dataset.read_text().splitlines() if json.loads(line)["id"] != "Hotels-1"
    ]
    dataset.write_text("\n".join(lines))
    item = next(
        each for each in read_run(run_copy) if isinstance(each, Item) and each.id == "Hotels-1"
    )
    assert item.first_difference is None
    assert [issue.what for issue in item.issues] == [
        "Hotels-1 is not in the dataset, so its golden calls and functions are missing"
    ]
