"""ACEBench verdicts, error types, process accuracy and figures equal the official ones, and
errata apply.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.equivalence import parse_rule
from fcreview.errata import Errata, ErrataEntry, hash_question, parse_errata, serialize_errata
from fcreview.importers.acebench.agent import (
    check_end_state,
    compute_milestone_share,
    compute_process_accuracy,
)
from fcreview.importers.acebench.checker import check_calls
from fcreview.importers.acebench.decoding import AUGUST_2025, RULE_SETS, RuleSet, decode_reply
from fcreview.importers.acebench.dialogue_history import parse_dialogue_history
from fcreview.importers.acebench.leaderboard import compute_metrics
from fcreview.importers.acebench.read import parse_golden_calls, parse_transcript
from fcreview.importers.common.records import Undecodable
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan


def read_run_items(plan: RunPlan) -> Iterator[Item]:
    return (item for item in read_items(plan) if isinstance(item, Item))


@pytest.fixture(scope="module")
def plans(bench: Path) -> dict[str, RunPlan]:
    return {plan.run.language: plan for plan in discover([bench / "acebench"]).plans}


@pytest.mark.sweep
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_record_is_item_with_official_verdict(
    plans: dict[str, RunPlan], bench: Path, language: str
) -> None:
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
        ScoredItem(
            item.id,
            item.category,
            item.group,
            item.official,
            values={
                v.criterion: v.value
                for v in item.verdicts
                if v.source == "official" and v.criterion != "correct"
            },
        )
        for item in read_run_items(plan)
    ]
    ours = {
        figure.name: figure.value
        for figure in compute_metrics(rows, plan.run)
        if figure.table == "result.xlsx"
    }
    theirs = read_first_row(bench / "acebench/score_all/score_en/result.xlsx")
    assert {name: ours[name] for name in theirs} == theirs


def read_first_row(path: Path) -> dict[str, float]:
    """Return the first row of a one-sheet workbook by header, without the model name."""
    with zipfile.ZipFile(path) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        names = "xl/sharedStrings.xml"
        shared = (
            re.findall(r"<t[^>]*>(.*?)</t>", book.read(names).decode())
            if names in book.namelist()
            else []
        )
    table = [
        [shared[int(value)] if kind == "s" else value for kind, value in re.findall(CELL, row)]
        for row in re.findall(r"<row.*?</row>", sheet)
    ]
    return {name: float(value) for name, value in list(zip(table[0], table[1], strict=True))[1:]}


CELL = r'<c r="[A-Z]+\d+"(?: s="\d+")?(?: t="(\w+)")?[^>]*>(?:<is>)?<(?:v|t)>(.*?)</'


CATEGORY = "normal_atom_bool"
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
        # only required arguments are needed
        (
            "[f(text='x')]",
            {"f": {"text": "x", "count": 3}},
            None,
        ),
        ("[f(text='x'), f(text='y')]", {"f": {"text": "x"}}, "wrong functions number"),
        ("[g(text='x')]", {"f": {"text": "x"}}, "function_mismatch"),
        (
            "[f(text='x', rooms=['b','a'])]",
            {"f": {"text": "x", "rooms": ["a", "b"]}},
            "value_error:list/tuple",
        ),
        ("[f(text='z')]", {"f": {"text": "x"}}, "value_error:string"),
        ("[f(text='z')]", [{"f": {"text": "x"}}, {"f": {"text": "z"}}], None),  # any alternative
    ],
)
def test_normal_rules(reply: str, golden: object, error: str | None) -> None:
    outcome = check_calls(decode_reply(reply, CATEGORY, AUGUST_2025), golden, SCHEMA)
    assert (outcome.valid, outcome.error_type) == (error is None, error)


@pytest.mark.parametrize(
    "reply", ["f(a=1)", "prose", "```[f(a=1)]```", "[f(a=1)", "[f(a={1,2})]", None, 5, "[" * 5000]
)
def test_undecodable_reply_has_reason(reply: object) -> None:
    with pytest.raises(Undecodable, match=r".+"):
        decode_reply(reply, CATEGORY, AUGUST_2025)


def test_decoding_keeps_odd_rules() -> None:
    def decode(reply: str) -> Any:
        return decode_reply(reply, CATEGORY, AUGUST_2025)

    assert decode("f(a=blue), g(1, b=2+3)") == [("f", {"a": "blue"}), ("g", {"b": 5})]
    assert decode("[a.b(c=-5, d=not True)]") == [("a.b", {"c": -5, "d": "notTrue"})]
    assert decode("[]") == []


@pytest.mark.parametrize("rule_set", RULE_SETS)
@given(text=st.text(max_size=200))
def test_any_reply_is_decoded_or_undecodable(rule_set: RuleSet, text: str) -> None:
    try:
        calls = decode_reply(text, CATEGORY, rule_set)
    except Undecodable:
        return
    assert all(isinstance(name, str) for name, _ in calls)


def test_misspelt_golden_class_is_not_compared() -> None:
    assert check_end_state([{"BaseApi": {"wifi": False}}], [{"Baspi": {"wifi": True}}]).valid
    outcome = check_end_state([{"BaseApi": {"wifi": False}}], [{"BaseApi": {"wifi": True}}])
    assert (outcome.error_type, outcome.function, outcome.argument) == (
        "class attributes wrong",
        "BaseApi",
        "wifi",
    )


def test_missed_milestone_ends_comparison() -> None:
    assert compute_milestone_share(["[a()]", "[x()]", "[b()]"], ["[a()]", "[b()]"]) == 1.0
    assert compute_milestone_share(
        ["[a()]", "[c()]"], ["[a()]", "[b()]", "[c()]"]
    ) == pytest.approx(1 / 3)
    assert compute_process_accuracy(
        ["[b()]"], [["[a()]"], ["[b()]"], ["[c()]"]], is_end_state_correct=False
    ) == (
        1.0,
        0.0,
    )


def test_history_joins_rows_and_spaced_errors() -> None:
    table = (
        "| message_index | sender | recipient | content |\n|---|---|---|---|\n"
        "| 0 | user | agent | one |\n|   |      |       |  two |\n| 1 | execution | agent | E r r o"
        " r   d u r i n g |\n"
    )
    history = parse_dialogue_history(table)
    assert [(one.sender, one.content) for one in history.messages] == [
        ("user", "one two"),
        ("execution", "Error during"),
    ]
    assert history.unreadable_lines == []


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
        assert {
            name for name, accept in (call.arguments or {}).items() if accept.optional
        } == optional


def test_score_ids_of_agent_items_are_line_numbers(tmp_path: Path) -> None:
    results = tmp_path / "result_all/result_en/m/data_agent_multi_step_result.json"
    scores = tmp_path / "score_all/score_en/m/data_agent_multi_step_score.json"
    for path in (results, scores):
        path.parent.mkdir(parents=True)
    results.write_text(
        "".join(
            json.dumps({"id": f"agent_multi_step_{n}", "result": [], "process": []}) + "\n"
            for n in range(3)
        )
    )
    failing = {"id": 1, "valid": False, "error": [["x"]], "error_type": "class attributes wrong"}
    scores.write_text(
        json.dumps({"end_to_end_accuracy": 0.667, "correct_count": 2, "total_count": 3})
        + "\n"
        + json.dumps(failing)
    )
    (plan,) = discover([results.parent]).plans
    assert [item.official for item in read_run_items(plan)] == [True, False, True]


FAILING = "normal_single_turn_single_function_3"
AGENT = "agent_multi_turn_0"


@pytest.fixture(scope="module")
def plan(samples: Path) -> RunPlan:
    return next(
        each for each in discover([samples / "acebench"]).plans if each.run.language == "en"
    )


def read_items_by_id(plan: RunPlan) -> dict[str, Item]:
    return {one.id: one for one in read_items(plan) if isinstance(one, Item)}


def read_golden(plan: RunPlan, name: str) -> Any:
    """Return the golden answer of the dataset."""
    for path in plan.data:
        if path.parent.name == "possible_answer":
            for record in map(json.loads, path.read_text("utf-8").splitlines()):
                if record["id"] == name:
                    return record["ground_truth"]
    raise KeyError(name)


def make_entry(plan: RunPlan, name: str, new: Any, **fields: Any) -> ErrataEntry:
    item = read_items_by_id(plan)[name]
    given = {
        "question_hash": hash_question(item.messages),
        "old": read_golden(plan, name),
        "new": new,
    }
    fields_of_review = {"reasons": ("so asked",), "settled_by": ("alice",)}
    return ErrataEntry(
        "acebench",
        plan.run.generation,
        "en",
        item.category,
        name,
        **(given | fields_of_review | fields),
    )


def make_errata(*entries: ErrataEntry, rules: tuple[str, ...] = ()) -> Errata:
    return parse_errata(
        serialize_errata(entries, [parse_rule(each) for each in rules], "2026-01-01", "alice"),
        "e.jsonl",
    )


def read_with_errata(plan: RunPlan, found: Errata) -> tuple[dict[str, Item], list[ImportIssue]]:
    read = list(read_items(replace(plan, errata=found)))
    issues = [one for one in read if isinstance(one, ImportIssue) and one.file == "e.jsonl"]
    return {one.id: one for one in read if isinstance(one, Item)}, issues


def prediction_as_golden(item: Item) -> dict[str, Any]:
    """Return the predicted calls as a golden answer."""
    return {call.name: call.arguments for call in item.predicted}


def test_erratum_rescores_only_its_item(plan: RunPlan) -> None:
    plain = read_items_by_id(plan)
    assert plain[FAILING].rule is False
    found, issues = read_with_errata(
        plan, make_errata(make_entry(plan, FAILING, prediction_as_golden(plain[FAILING])))
    )
    assert issues == []
    assert {name for name in plain if found[name] != plain[name]} == {FAILING}
    item = found[FAILING]
    assert (
        item.rule is True
        and item.rule_error_type is None
        and item.verdicts[-1].by == "ACEBench rules with errata"
    )
    own = item.extra.without_errata
    assert own is not None and (own.valid, own.error_type) == (
        False,
        plain[FAILING].rule_error_type,
    )
    assert all(pair.state in "=~" for pair in item.pairs) and item.golden != plain[FAILING].golden
    assert item.golden_hash == plain[FAILING].golden_hash, "reviews are no more stale than before"
    erratum = item.extra.erratum
    assert (
        erratum is not None
        and erratum.old == read_golden(plan, FAILING)
        and erratum.who == ["alice"]
    )


def test_erratum_can_fail_passing_item(plan: RunPlan) -> None:
    name = "normal_single_turn_single_function_0"
    old = read_golden(plan, name)
    new = {function: dict.fromkeys(given, "another") for function, given in old.items()}
    item = read_with_errata(plan, make_errata(make_entry(plan, name, new)))[0][name]
    assert (
        item.rule is False
        and item.extra.without_errata is not None
        and item.extra.without_errata.valid is True
    )


def test_special_items_are_rescored(plan: RunPlan) -> None:
    name = "special_incomplete_0"
    item = read_with_errata(
        plan, make_errata(make_entry(plan, name, {"get": ["what nobody said"]}))
    )[0][name]
    assert item.rule is False and "what nobody said" in (item.extra.golden_reply or "")


def test_stale_erratum_is_reported_and_changes_nothing(plan: RunPlan) -> None:
    new = prediction_as_golden(read_items_by_id(plan)[FAILING])
    wrong = [
        (make_entry(plan, FAILING, new, question_hash="0" * 16), "the question has changed"),
        (make_entry(plan, FAILING, new, old={"f": {}}), "neither the old nor the new one"),
        (make_entry(plan, FAILING, ["no", "calls"]), "the new golden answer is not valid"),
        (make_entry(plan, AGENT, []), "errata do not apply to agent items"),
    ]
    for one, why in wrong:
        found, issues = read_with_errata(plan, make_errata(one))
        assert [(issue.item, issue.line, issue.severity) for issue in issues] == [
            (one.id, 2, "warning")
        ]
        assert why in issues[0].what
        erratum = found[one.id].extra.erratum
        assert erratum is not None and why in erratum.stale and erratum.old is None
        found[one.id].extra.erratum = None
        assert found == read_items_by_id(plan)


def test_unneeded_and_unknown_errata_are_reported(plan: RunPlan) -> None:
    known = make_entry(plan, FAILING, read_golden(plan, FAILING), old={"f": {}})
    absent = replace(make_entry(plan, FAILING, {}), id="normal_single_turn_single_function_99")
    found, issues = read_with_errata(plan, make_errata(known, absent))
    assert [(issue.severity, issue.what.partition(":")[0]) for issue in issues] == [
        ("notice", "erratum not needed"),
        ("warning", "stale erratum, not applied"),
    ]
    assert found == read_items_by_id(plan)
