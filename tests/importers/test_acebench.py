"""ACEBench against the official scores of a whole run: verdicts, error types, process accuracy, every column of
result.xlsx."""

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
from fcreview.importers.acebench.decode import decode_reply
from fcreview.importers.acebench.leaderboard import compute_metrics
from fcreview.importers.acebench.normal import parse_golden_calls, parse_transcript
from fcreview.importers.common.records import Undecodable
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan


def items(plan: RunPlan) -> Iterator[Item]:
    return (item for item in read_items(plan) if isinstance(item, Item))


@pytest.fixture(scope="module")
def plans(bench: Path) -> dict[str, RunPlan]:
    return {plan.run.language: plan for plan in discover([bench / "acebench"]).plans}


@pytest.mark.sweep
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_record_is_an_item_and_official_is_the_score_files_verdict(
    plans: dict[str, RunPlan], bench: Path, language: str
) -> None:
    found = list(items(plans[language]))
    records = sum(len(path.read_text().splitlines()) for path in plans[language].results)
    assert len(found) == records == {"en": 1023, "zh": 1017}[language]
    for category, header in plans[language].run.official_metrics.items():
        passed = sum(item.official is True for item in found if item.category == category)
        assert passed == header["correct_count"], category


def test_rule_equals_official_in_verdict_and_error_type(plans: dict[str, RunPlan]) -> None:
    wrong = [
        (item.id, item.official, item.rule, item.error_type, item.rule_error_type)
        for item in items(plans["en"])
        if (item.official, item.error_type) != (item.rule, item.rule_error_type)
    ]
    assert wrong == []


@pytest.mark.sweep
def test_agent_process_accuracy_equals_the_process_files(plans: dict[str, RunPlan]) -> None:
    differ = []
    for item in items(plans["en"]):
        said = {v.source: v.value for v in item.verdicts if v.criterion == "process_accuracy"}
        if said and round(said["rule"], 3) != said["official"]:
            differ.append((item.id, said))
    assert differ == []


@pytest.mark.sweep
def test_summary_equals_every_column_of_result_xlsx(plans: dict[str, RunPlan], bench: Path) -> None:
    plan = plans["en"]
    rows = [
        ScoredItem(item.id, item.category, item.group, item.official, values={
            v.criterion: v.value for v in item.verdicts if v.source == "official" and v.criterion != "correct"
        })
        for item in items(plan)
    ]  # fmt: skip
    ours = {figure.name: figure.value for figure in compute_metrics(rows, plan.run) if figure.table == "result.xlsx"}
    theirs = first_row(bench / "acebench/score_all/score_en/result.xlsx")
    assert {name: ours[name] for name in theirs} == theirs


def first_row(path: Path) -> dict[str, float]:
    """Header and first model of a one-sheet workbook, without the model's name."""
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
        ("[f(text='a long way', count=7)]", {"f": {"text": "long", "count": 3}}, None),  # contained; numbers uncompared
        ("[f(text='x', count='3')]", {"f": {"text": "x", "count": 3}}, "type_error"),
        ("[f(count=3)]", {"f": {"text": "x", "count": 3}}, "lack_args"),
        ("[f(text='x', colour='red')]", {"f": {"text": "x"}}, "addition_args"),
        ("[f(text='x')]", {"f": {"text": "x", "count": 3}}, None),  # only required ones are demanded
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
def test_what_does_not_decode_says_why(reply: object) -> None:
    with pytest.raises(Undecodable, match=r".+"):
        decode_reply(reply)


def test_decoding_keeps_the_odd_rules() -> None:
    assert decode_reply("f(a=blue), g(1, b=2+3)") == [("f", {"a": "blue"}), ("g", {"b": 5})]
    assert decode_reply("[a.b(c=-5, d=not True)]") == [("a.b", {"c": -5, "d": "notTrue"})]
    assert decode_reply("[]") == []


@given(st.text(max_size=200))
def test_any_reply_decodes_or_says_why(text: str) -> None:
    try:
        calls = decode_reply(text)
    except Undecodable:
        return
    assert all(isinstance(name, str) for name, _ in calls)


def test_a_class_that_golden_misspells_is_not_compared() -> None:
    assert check_end_state([{"BaseApi": {"wifi": False}}], [{"Baspi": {"wifi": True}}]).valid
    outcome = check_end_state([{"BaseApi": {"wifi": False}}], [{"BaseApi": {"wifi": True}}])
    assert (outcome.error_type, outcome.function, outcome.argument) == ("class attributes wrong", "BaseApi", "wifi")


def test_a_missed_milestone_uses_up_the_rest() -> None:
    assert leading_milestone_share(["[a()]", "[x()]", "[b()]"], ["[a()]", "[b()]"]) == 1.0
    assert leading_milestone_share(["[a()]", "[c()]"], ["[a()]", "[b()]", "[c()]"]) == pytest.approx(1 / 3)
    assert compute_process_accuracy(["[b()]"], [["[a()]"], ["[b()]"], ["[c()]"]], False) == (1.0, 0.0)


def test_history_joins_rows_and_spelt_out_errors() -> None:
    table = (
        "| message_index | sender | recipient | content |\n|---|---|---|---|\n"
        "| 0 | user | agent | one |\n|   |      |       |  two |\n| 1 | execution | agent | E r r o r   d u r i n g |\n"
    )
    said, odd = parse_history(table)
    assert [(one.sender, one.content) for one in said] == [("user", "one two"), ("execution", "Error during")]
    assert odd == []


def test_transcript_splits_at_prefixed_lines_only() -> None:
    found = parse_transcript("user: a\nb: c\nsystem: d\nuser: e\n", time="Today is Monday.")
    assert [(m.turn, m.role, m.content) for m in found] == [
        (0, "system", "Today is Monday."),
        (0, "user", "a\nb: c"),
        (0, "assistant", "d"),
        (1, "user", "e"),
    ]


def test_without_a_schema_no_argument_may_be_left_out() -> None:
    """Without the questions a missing argument was shown as an optional one, equal."""
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
    assert [item.official for item in items(plan)] == [True, False, True]
