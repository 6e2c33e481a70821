"""HammerBench verdicts, figures and text similarity equal the results of the official scripts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.hammerbench.checker import (
    check_arguments,
    check_snapshot,
    choose_parser,
    compute_rouge_l,
    parse_prediction,
)
from fcreview.importers.hammerbench.discovery import split_item_id
from fcreview.importers.hammerbench.leaderboard import compute_metrics
from fcreview.importers.hammerbench.read import QUOTED_MESSAGE_NAME, parse_user_message
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan

LOGS = [
    *(
        ("en", name)
        for name in ("gpt-4o_mQmA", "gpt-4o_mQmA_parsable", "synth-alpha", "synth-alpha_IS", "synth-alpha_parsable")
    ),
    *(("zh", name) for name in ("synth-alpha", "synth-alpha_IS")),
]


def read_run_items(plan: RunPlan) -> Iterator[Item]:
    return (item for item in read_items(plan) if isinstance(item, Item))


def score_item(item: Item, source: str, valid: bool | None) -> ScoredItem:
    values = {v.criterion: v.value for v in item.verdicts if v.source == source and v.target == "item"}
    return ScoredItem(item.id, item.category, item.group, valid, values=values, metadata=item.extra.metadata)


def rule_verdicts(item: Item) -> dict[str, object]:
    return {v.criterion: v.value for v in item.verdicts if v.source == "rule"}


@pytest.mark.parametrize(("language", "name"), LOGS)
def test_every_snapshot_has_verdicts_of_oracle(bench: Path, language: str, name: str) -> None:
    root = bench / "hammerbench"
    (plan,) = discover([root / "logs" / language / f"{name}.json"]).plans
    oracle_file = root / "metrics" / language / f"{name}.verdicts.jsonl"
    if not oracle_file.is_file():
        pytest.skip("no oracle for this log")
    oracle = [json.loads(line) for line in oracle_file.read_text().splitlines()]
    found = list(read_run_items(plan))
    assert [item.id for item in found] == [row["id"] for row in oracle]
    wrong = []
    for item, row in zip(found, oracle, strict=True):
        ours = rule_verdicts(item)
        pairs = [("rejected", ours["rejected"]), ("is_string", ours["is_text"])]
        if not row.get("label_is_text"):
            pairs += [("func_ok", ours["func_ok"]), ("args_ok", ours["args_ok"])]
            pairs += [("n_hallucinated", len(ours["hallucinated"])), ("n_missing", len(ours["missing"]))]  # type: ignore[arg-type]
        wrong += [(item.id, key, value, row[key]) for key, value in pairs if row[key] != value]
    assert wrong == []


@pytest.mark.parametrize(("language", "name"), [("en", "gpt-4o_mQmA"), ("en", "synth-alpha"), ("zh", "synth-alpha")])
def test_flat_figures_equal_official_output(bench: Path, language: str, name: str) -> None:
    root = bench / "hammerbench"
    (plan,) = discover([root / "logs" / language / f"{name}.json"]).plans
    expected = json.loads((root / "metrics" / language / f"{name}.metrics.json").read_text())
    found = compute_metrics([score_item(item, "rule", item.rule) for item in read_run_items(plan)], plan.run)
    ours = {(figure.table, figure.name): figure.value for figure in found}
    for key, value in expected["overall"].items():
        assert ours["all types", key] == value, key
    for kind, values in expected["by_type"].items():
        for key in values.keys() - {"records"}:
            assert ours[kind, key] == values[key], (kind, key)


def test_progress_of_flat_log_equals_earlier_script(bench: Path) -> None:
    """The expected values come from that script, run on per-conversation files with the same answers."""
    root = bench / "hammerbench"
    for language in ("en", "zh"):
        (plan,) = discover([root / "logs" / language / "synth-alpha.json"]).plans
        found = compute_metrics([score_item(item, "rule", item.rule) for item in read_run_items(plan)], plan.run)
        ours = {(figure.table, figure.name): figure.value for figure in found}
        expected = json.loads((root / "metrics" / language / "synth-alpha.legacy_multi_turn.json").read_text())
        checked = 0
        for key, values in expected.items():
            kind, _, which = key.rpartition(" ")
            table = {"all": kind, "0": f"{kind}, first snapshot", "-1": f"{kind}, last snapshot"}[which]
            for name in ("PR", "SR") if which == "all" else ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc"):
                assert ours[table, name] == values[name], (language, key, name)
                checked += 1
        assert checked == 8 * (2 + 2 * 4)


@pytest.mark.parametrize("which", ["all", "0", "-1"])
def test_per_conversation_figures_equal_official_output(bench: Path, which: str) -> None:
    folder = bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA"
    (plan,) = discover([folder]).plans
    assert plan.run.model == "GPT-4o"
    found = list(read_run_items(plan))
    assert len(found) == 948
    expected: dict[str, float] = {}
    for line in (folder / f"evaluate_stdout_{which}.txt").read_text().splitlines():
        name, colon, value = line.partition("：")
        if colon and name not in expected:
            expected[name] = float(value)
    table = {"all": "mQmA, all snapshots", "0": "mQmA, first snapshot", "-1": "mQmA, last snapshot"}[which]
    for source in ("rule", "official"):
        rows = [score_item(item, source, item.rule if source == "rule" else item.official) for item in found]
        for row, item in zip(rows, found, strict=True):
            row.values = {v.criterion: v.value for v in item.verdicts if v.source == "judge"} | dict(row.values)
        ours = {f.name: f.value for f in compute_metrics(rows, plan.run) if f.table == table}
        for name in ours.keys() - {"Other errors"}:
            assert ours[name] == expected[name], (source, name)
        assert {"Func_Acc", "Args_Acc", "PR", "SR", "Args_Acc LLM", "PR LLM", "SR LLM"} <= ours.keys()


def test_recorded_judge_replies_become_judge_verdicts(bench: Path) -> None:
    folder = bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA"
    (plan,) = discover([folder]).plans
    found = list(read_run_items(plan))
    assert sum(item.judge is not None for item in found) == 948
    replies = {item.id: v.value for item in found for v in item.verdicts if v.criterion == "equivalent"}
    lenient = [
        item
        for item in found
        if replies[item.id] and rule_verdicts(item)["func_ok"] and not rule_verdicts(item)["args_ok"]
    ]
    assert len(lenient) == 243


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "a", "parameters": {}}', "a"),
        ('{\n "name": "a", "arguments": {}}', None),  # pretty-printed, no literal {"name", no parameters
        ('{\n "name": "a", "parameters": {}}', "a"),
        ('prose {"name": "a", "arguments": {}}', "a"),
        ('{"name": "a", "arguments": {}} prose', None),
        ('```\n{"name": "a"}\n```', "a"),  # the text ends with a bare fence: a JSON line, then ```
        ('```json\n{"name": "a"}', "a"),
        ('```json\n{"name": "a"}\n{"name": "b"}\n```', "b"),
        ('```json\n{"name": "a"}\n```\n```json\n{"name": "b"}\n```', "a"),
        ("{'name': 'a'}", None),
        ('[{"name": "a", "parameters": {}}]', None),
    ],
)
def test_default_parser(text: str, name: str | None) -> None:
    if text.startswith("```\n"):
        name = None  # a plain fence fails
    found = parse_prediction(text)
    assert (found["name"] if found else None) == name


def test_blank_arguments_are_dropped() -> None:
    assert parse_prediction('{"name": "a", "parameters": {"x": "", "y": "\\\\", "z": 1}}') == {
        "name": "a",
        "arguments": {"z": 1},
        "blank": ["x", "y"],
    }
    assert parse_prediction('{"name": "a", "parameters": "{}"}') == {"name": "a", "arguments": {}}


def test_parser_families_by_path() -> None:
    assert [choose_parser(p) for p in ("logs/xLAM-7b.json", "a/ToolACE/b.json", "x/Ministral.json", "gpt.json")] == [
        "xlam", "toolace", "ministral", "default",
    ]  # fmt: skip
    assert parse_prediction("[a.b(x='1', y='')]", "toolace") == {"name": "a.b", "arguments": {"x": "1", "y": ""}}
    assert parse_prediction('x[TOOL_CALLS] [{"name": "a", "arguments": {"k": 1}}]', "ministral") == {
        "name": "a",
        "arguments": {"k": 1},
    }


@given(st.text(max_size=300), st.sampled_from(["default", "xlam", "toolace", "ministral"]))
def test_any_text_is_parsed_or_kept(text: str, parser: str) -> None:
    found = parse_prediction(text, parser)
    assert found is None or "name" in found


def test_args_ok_rules() -> None:
    assert check_arguments({}, {}, "en")[0]
    assert not check_arguments({"x": "1"}, {}, "en")[0]
    assert check_arguments({"x": 26}, {"x": "26"}, "en")[0]
    assert check_arguments({"x": "a"}, {"x": "a", "kwargs": "b"}, "en")[0]
    assert not check_arguments({"x": "3pm today"}, {"x": "Today at 3pm"}, "en")[0]
    assert check_snapshot(
        {"name": "f", "arguments": {}}, "x", {"name": "g", "arguments": {}}, "en"
    ).args_ok  # the name does not matter


def test_ids_are_split_from_right() -> None:
    assert split_item_id("SO_case1_12_3") == ("SO_case1", "12", 3)
    parts = parse_user_message("Order what it says <EK>: two lamps", 0)
    assert [(m.content, m.name) for m in parts] == [("Order what it says", None), ("two lamps", QUOTED_MESSAGE_NAME)]
    parts = parse_user_message("EK:At 7.\nquery:A taxi then.", 0)
    assert [(m.content, m.name) for m in parts] == [("A taxi then.", None), ("At 7.", QUOTED_MESSAGE_NAME)]


def test_overridden_slots_show_old_value(samples: Path) -> None:
    (plan,) = discover([samples / "hammerbench/logs/en/maple-8b.json"]).plans
    found = {item.id: item for item in read_run_items(plan)}
    assert found["mSv_0_2"].extra.metadata["overridden slots, value before"] == {"time": "8"}
    assert found["Based_0_1"].extra.metadata["slot start"] == "golden absent, predicted empty"
    assert found["ST_Perfect_0_1"].extra.metadata["slots"] == "3 of 3 filled on both sides"
    assert found["ir_ST_Perfect_0_1"].rule is True
    assert found["ir_ST_Perfect_1_1"].rule_error_type == "not_declined"


WORDS = ["a", "b", "Oslo", "5", "5.5", "v1.2.0", "...", ". ", "é", "ß", "İ", "café", "\u3000", "\u2028", "\t", "?", "!",
         "明天", "上午九点", "4月12日", "。", "！", "𠀀", "한", "x.y", "-1", "''", "."]  # fmt: skip
PAIRS = 20_000


def make_text(chance: random.Random) -> str:
    return chance.choice(["", " ", " ", ". "]).join(chance.choice(WORDS) for _ in range(chance.randrange(9)))


def change_text(text: str, chance: random.Random) -> str:
    """Move, duplicate or remove a few characters, because similar pairs are the hard ones."""
    parts = list(text)
    for _ in range(chance.randrange(4)):
        if parts:
            part = parts.pop(chance.randrange(len(parts)))
            at = chance.randrange(len(parts) + 1)
            parts[at:at] = [part] * chance.randrange(3)
    return "".join(parts)


def official_similarity(rouge: Any, prediction: str, label: str, language: str) -> float:
    """Prepare the texts and compute the score like the released evaluator. Returns 0 if it fails."""

    def prepare(text: str) -> str:
        if language == "zh":
            return re.sub("([\u4e00-\u9fff])", r" \1 ", text.strip("。！ "))
        return text.strip(".?! ").lower()

    hypothesis, reference = prepare(prediction), prepare(label)
    if not hypothesis.strip() or not reference.strip():
        return 0.0
    try:
        return float(rouge.get_scores(hypothesis, reference)[0]["rouge-l"]["f"])
    except ValueError:
        return 0.0


@pytest.mark.sweep
@pytest.mark.slow
def test_similarity_equals_package_on_random_pairs() -> None:
    rouge = pytest.importorskip("rouge", reason="the package `rouge` is needed: pip install -e .[dev]")
    oracle = rouge.Rouge(metrics=["rouge-l"])
    chance = random.Random(7)
    different = []
    several = 0
    for at in range(PAIRS):
        label, language = make_text(chance), ("en", "zh")[at % 2]
        prediction = make_text(chance) if at % 3 else change_text(label, chance)
        ours, theirs = (
            compute_rouge_l(prediction, label, language),
            official_similarity(oracle, prediction, label, language),
        )
        several += 0 < theirs < 1 and "." in label.strip(". ") and "." in prediction.strip(". ")
        if ours != theirs:
            different.append((prediction, label, language, ours, theirs))
    assert different == []
    assert several > PAIRS / 20  # pairs of several sentences that share some words


def test_similarity_examples() -> None:
    assert compute_rouge_l("Oslo", "oslo.", "en") == pytest.approx(0.999999995)
    assert compute_rouge_l("24.0", "24", "en") == pytest.approx(2 / 3, abs=1e-6)
    assert compute_rouge_l("4月13日", "4月12日", "zh") == pytest.approx(0.75, abs=0.01)
    assert compute_rouge_l(" ", "x", "en") == 0.0


def test_word_in_several_sentences_counts_once() -> None:
    assert compute_rouge_l("5", "5.5", "en") == pytest.approx(0.999999995)
    assert compute_rouge_l("a b. a c", "a. a", "en") == pytest.approx(0.5, abs=1e-6)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(["en", "zh"]))
def test_similarity_is_between_0_and_1(a: str, b: str, language: str) -> None:
    assert 0.0 <= compute_rouge_l(a, b, language) <= 1.0
