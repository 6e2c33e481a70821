"""ACEBench verdicts, error types, process accuracy and figures equal the official scores of a published run."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.acebench.agent import parse_history
from fcreview.importers.acebench.checker import (
    check_calls,
    check_end_state,
    compute_process_accuracy,
    leading_milestone_share,
)
from fcreview.importers.acebench.leaderboard import compute_metrics
from fcreview.importers.acebench.replies import decode_reply, parse_golden_calls, parse_transcript
from fcreview.importers.common.records import Undecodable
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan


def read_run_items(plan: RunPlan) -> Iterator[Item]:
    return (item for item in read_items(plan) if isinstance(item, Item))


@pytest.fixture(scope="module")
def plans(bench: Path) -> dict[str, RunPlan]:
    return {plan.run.language: plan for plan in discover([bench / "acebench"]).plans}


@pytest.mark.sweep
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_record_is_item_with_official_verdict(plans: dict[str, RunPlan], bench: Path, language: str) -> None:
    found = list(read_run_items(plans[language]))
    records = sum(len(path.read_text().splitlines()) for path in plans[language].results)
    assert len(found) == records == {"en": 1023, "zh": 1017}[language]
    for category, header in plans[language].run.official_metrics.items():
        passed = sum(item.official is True for item in found if item.category == category)
        assert passed == header["correct_count"], category


def test_recomputed_verdicts_equal_official_ones(plans: dict[str, RunPlan]) -> None:
    wrong = [
        (item.id, item.official, item.rule, item.error_type, item.rule_error_type)
        for item in read_run_items(plans["en"])
        if (item.official, item.error_type) != (item.rule, item.rule_error_type)
    ]
    assert wrong == []


@pytest.mark.sweep
def test_agent_process_accuracy_equals_process_files(plans: dict[str, RunPlan]) -> None:
    different = []
    for item in read_run_items(plans["en"]):
        values = {v.source: v.value for v in item.verdicts if v.criterion == "process_accuracy"}
        if values and round(values["rule"], 3) != values["official"]:
            different.append((item.id, values))
    assert different == []


@pytest.mark.sweep
def test_summary_equals_result_xlsx(plans: dict[str, RunPlan], bench: Path) -> None:
    plan = plans["en"]
    rows = [
        ScoredItem(item.id, item.category, item.group, item.official, values={
            v.criterion: v.value for v in item.verdicts if v.source == "official" and v.criterion != "correct"
        })
        for item in read_run_items(plan)
    ]  # fmt: skip
    ours = {figure.name: figure.value for figure in compute_metrics(rows, plan.run) if figure.table == "result.xlsx"}
    theirs = read_first_row(bench / "acebench/score_all/score_en/result.xlsx")
    assert {name: ours[name] for name in theirs} == theirs


def read_first_row(path: Path) -> dict[str, float]:
    """Return the first row of a one-sheet workbook by header, without the model name."""
    with zipfile.ZipFile(path) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        names = "xl/sharedStrings.xml"
        shared = re.findall(r"<t[^>]*>(.*?)</t>", book.read(names).decode()) if names in book.namelist() else []
    table = [
        [shared[int(value)] if kind == "s" else value for kind, value in re.findall(CELL, row)]
        for row in re.findall(r"<row.*?</row>", sheet)
    ]
    return {name: float(value) for name, value in list(zip(table[0], table[1], strict=True))[1:]}


CELL = r'<c r="[A-Z]+\d+"(?: s="\d+")?(?: t="(\w+)")?[^>]*>(?:<is>)?<(?:v|t)>(.*?)</'


SCHEMA = [
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "rooms": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["text"],
        },
    }
]


@pytest.mark.parametrize(
    ("reply", "golden", "error"),
    [
        # texts may contain the golden text, and numbers are not compared
        ("[f(text='a long way', count=7)]", {"f": {"text": "long", "count": 3}}, None),
        ("[f(text='x', count='3')]", {"f": {"text": "x", "count": 3}}, "type_error"),
        ("[f(count=3)]", {"f": {"text": "x", "count": 3}}, "lack_args"),
        ("[f(text='x', colour='red')]", {"f": {"text": "x"}}, "addition_args"),
        ("[f(text='x')]", {"f": {"text": "x", "count": 3}}, None),  # only required arguments are needed
        ("[f(text='x'), f(text='y')]", {"f": {"text": "x"}}, "wrong functions number"),
        ("[g(text='x')]", {"f": {"text": "x"}}, "function_mismatch"),
        ("[f(text='x', rooms=['b','a'])]", {"f": {"text": "x", "rooms": ["a", "b"]}}, "value_error:list/tuple"),
        ("[f(text='z')]", {"f": {"text": "x"}}, "value_error:string"),
        ("[f(text='z')]", [{"f": {"text": "x"}}, {"f": {"text": "z"}}], None),  # any alternative
    ],
)
def test_normal_rules(reply: str, golden: object, error: str | None) -> None:
    outcome = check_calls(decode_reply(reply), golden, SCHEMA)
    assert (outcome.valid, outcome.error_type) == (error is None, error)


@pytest.mark.parametrize("reply", ["f(a=1)", "prose", "```[f(a=1)]```", "[f(a=1)", "[f(a={1,2})]", None, 5, "[" * 5000])
def test_undecodable_reply_has_reason(reply: object) -> None:
    with pytest.raises(Undecodable, match=r".+"):
        decode_reply(reply)


def test_decoding_keeps_odd_rules() -> None:
    assert decode_reply("f(a=blue), g(1, b=2+3)") == [("f", {"a": "blue"}), ("g", {"b": 5})]
    assert decode_reply("[a.b(c=-5, d=not True)]") == [("a.b", {"c": -5, "d": "notTrue"})]
    assert decode_reply("[]") == []


@given(st.text(max_size=200))
def test_any_reply_is_decoded_or_undecodable(text: str) -> None:
    try:
        calls = decode_reply(text)
    except Undecodable:
        return
    assert all(isinstance(name, str) for name, _ in calls)


def test_misspelt_golden_class_is_not_compared() -> None:
    assert check_end_state([{"BaseApi": {"wifi": False}}], [{"Baspi": {"wifi": True}}]).valid
    outcome = check_end_state([{"BaseApi": {"wifi": False}}], [{"BaseApi": {"wifi": True}}])
    assert (outcome.error_type, outcome.function, outcome.argument) == ("class attributes wrong", "BaseApi", "wifi")


def test_missed_milestone_ends_comparison() -> None:
    assert leading_milestone_share(["[a()]", "[x()]", "[b()]"], ["[a()]", "[b()]"]) == 1.0
    assert leading_milestone_share(["[a()]", "[c()]"], ["[a()]", "[b()]", "[c()]"]) == pytest.approx(1 / 3)
    assert compute_process_accuracy(["[b()]"], [["[a()]"], ["[b()]"], ["[c()]"]], False) == (1.0, 0.0)


def test_history_joins_rows_and_spaced_errors() -> None:
    table = (
        "| message_index | sender | recipient | content |\n|---|---|---|---|\n"
        "| 0 | user | agent | one |\n|   |      |       |  two |\n| 1 | execution | agent | E r r o r   d u r i n g |\n"
    )
    messages, odd = parse_history(table)
    assert [(one.sender, one.content) for one in messages] == [("user", "one two"), ("execution", "Error during")]
    assert odd == []


def test_transcript_splits_only_at_prefixed_lines() -> None:
    found = parse_transcript("user: a\nb: c\nsystem: d\nuser: e\n", time="Today is Monday.")
    assert [(m.turn, m.role, m.content) for m in found] == [
        (0, "system", "Today is Monday."),
        (0, "user", "a\nb: c"),
        (0, "assistant", "d"),
        (1, "user", "e"),
    ]


def test_arguments_without_schema_are_required() -> None:
    """A missing argument must not look like an omitted optional one."""
    schema = {"name": "f", "parameters": {"required": ["a"]}}
    for functions, optional in (([], set()), ([schema], {"b"})):
        (call,) = parse_golden_calls({"f": {"a": 1, "b": 2}}, functions)
        assert {name for name, accept in (call.arguments or {}).items() if accept.optional} == optional


def test_score_ids_of_agent_items_are_line_numbers(tmp_path: Path) -> None:
    results = tmp_path / "result_all/result_en/m/data_agent_multi_step_result.json"
    scores = tmp_path / "score_all/score_en/m/data_agent_multi_step_score.json"
    for path in (results, scores):
        path.parent.mkdir(parents=True)
    results.write_text(
        "".join(json.dumps({"id": f"agent_multi_step_{n}", "result": [], "process": []}) + "\n" for n in range(3))
    )
    failing = {"id": 1, "valid": False, "error": [["x"]], "error_type": "class attributes wrong"}
    scores.write_text(
        json.dumps({"end_to_end_accuracy": 0.667, "correct_count": 2, "total_count": 3}) + "\n" + json.dumps(failing)
    )
    (plan,) = discover([results.parent]).plans
    assert [item.official for item in read_run_items(plan)] == [True, False, True]
