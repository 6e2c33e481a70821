"""ComplexFuncBench verdicts and figures equal a second evaluation and the official output."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.complexfuncbench.checker import (
    check_exact_parameters,
    derive_call_verdicts,
    find_call_error,
    find_format_error,
    is_rule_match,
    read_golden_path,
    read_predicted_path,
)
from fcreview.importers.complexfuncbench.leaderboard import compute_metrics
from fcreview.importers.complexfuncbench.log import parse_log
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem

TIERS = {"rule": "rule", "exact_params": "exact", "response": "response", "llm": "judge", "format": "format"}


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


@pytest.fixture(scope="module")
def run(bench: Path) -> list[Item]:
    (plan,) = discover([bench / "complexfuncbench"]).plans
    return [item for item in read_items(plan) if isinstance(item, Item)]


def test_records_and_samples_with_only_log_are_items(run: list[Item]) -> None:
    assert len(run) == 13
    assert [item.id for item in run if item.official is None] == ["Hotels-9"]


def test_official_verdict_is_outcome_of_record(run: list[Item], bench: Path) -> None:
    records = {r["id"]: r for r in read_lines(bench / "complexfuncbench/result/gpt-4o-2024-08-06/shared-13.jsonl")}
    for item in run:
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
            read_predicted_path(records[name]), read_golden_path(data[name]), data[name]["functions"], log
        )
        by_turn: dict[int, list] = {}
        for verdict in ours:
            by_turn.setdefault(verdict.predicted.step, []).append(verdict)
        for number, turn in enumerate(sample["turns"]):
            for pair in turn["pairs"]:
                verdict = by_turn[number][pair["idx"]]
                assert (verdict.tier, verdict.ok) == (TIERS[pair["tier"]], pair["ok"]), (name, number, pair)
                if pair["tier"] == "llm":
                    assert verdict.rationale == pair["judge"]["reason"]
                if pair["tier"] != "format":
                    assert verdict.golden is not None
                    given = {key: accept.any_of[0] for key, accept in (verdict.golden.arguments or {}).items()}
                    assert given == pair["golden"]["arguments"]
                checked += 1
    assert checked > 55


def test_calls_without_logs_have_verdicts(bench: Path) -> None:
    root = bench / "complexfuncbench"
    data = {r["id"]: r for r in read_lines(root / "data/ComplexFuncBench.jsonl")}
    for record in read_lines(root / "result/gpt-4o-2024-08-06/shared-13.jsonl"):
        known = data[record["id"]]
        ours = derive_call_verdicts(read_predicted_path(record), read_golden_path(known), known["functions"], None)
        assert sum(bool(verdict.ok) for verdict in ours) == record["count_dict"]["correct_call_num"], record["id"]


def test_printed_figures_equal_official_output(run: list[Item], bench: Path) -> None:
    text = (bench / "complexfuncbench/result/gpt-4o-2024-08-06/shared-13.print_results.txt").read_text()
    rows = [
        ScoredItem(
            item.id, item.category, None, item.official, item.error_type,
            {v.criterion: v.value for v in item.verdicts if v.target == "response"}, metadata=item.extra.metadata,
        )
        for item in run
    ]  # fmt: skip
    ours = {f.name: f.value for f in compute_metrics(rows, None) if f.table == "as printed"}  # type: ignore[arg-type]
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        if value.startswith("{"):
            for key, one in ast.literal_eval(value).items():
                assert ours[f"{name}: {key}"] == one
        else:
            assert ours[name] == float(value)


def test_rules_for_calls() -> None:
    call = {"name": "Search_Hotels", "arguments": {"dest_id": "1", "adults": 2, "categories_filter": "a, b"}}
    assert is_rule_match(
        call, {"name": "Search_Hotels", "arguments": {"dest_id": "1", "adults": 2.0, "categories_filter": "b,a"}}
    )
    other = {"name": "Search_Hotels", "arguments": {**call["arguments"], "dest_id": "2"}}
    assert (check_exact_parameters(call, other) or ("",))[0] == "value_error"
    assert (
        check_exact_parameters(call, {"name": "Search_Hotels", "arguments": {**call["arguments"], "adults": 3}}) is None
    )
    assert (check_exact_parameters(call, {"name": "Get_Filter", "arguments": {}}) or ("",))[0] == "func_error"
    assert (
        find_call_error({"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "f", "arguments": {"x": 1}})[0]
        == "param_hallucination"
    )


def test_format_errors_have_order_of_evaluator() -> None:
    documents = [{"name": "f", "parameters": {"properties": {"n": {"type": "number"}}, "required": ["n"]}}]
    assert "not an available" in str(find_format_error({"name": "g"}, documents))
    assert "missing required parameters: n" in str(find_format_error({"name": "f", "arguments": {"x": 1}}, documents))
    assert "unknown parameters: x" in str(find_format_error({"name": "f", "arguments": {"n": 1, "x": 1}}, documents))
    assert "should be a number" in str(find_format_error({"name": "f", "arguments": {"n": "1"}}, documents))
    assert find_format_error({"name": "f", "arguments": {"n": True}}, documents) is None


@given(st.text(max_size=400))
def test_any_text_is_read_as_log(text: str) -> None:
    parse_log(text)
    parse_log("2025-01-01 10:00:00,000 - evaluation_logger_x - INFO - Function Calls: \n" + text)
