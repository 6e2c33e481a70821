"""HammerBench verdicts, figures and text similarity equal the results of the official scripts.

Overrides change the figures as in the scripts, and confirmations change nothing.

The flat log has 115 snapshots: 97 of the right function, 26 of them with an invented name, 6 with a
missing one, 9 with only a wrong value; 59 args_ok, 7 rejected, 12 texts; 26 names invented and 41
missing in all. `T` is what the script adds to some denominators.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.hammerbench.checker import (
    check_snapshot,
    choose_parser_name,
    compare_arguments,
    compute_rouge_l,
    parse_prediction,
)
from fcreview.importers.hammerbench.discovery import split_item_id
from fcreview.importers.hammerbench.leaderboard import EPSILON as T
from fcreview.importers.hammerbench.read import QUOTED_MESSAGE_NAME, parse_user_message
from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan
from tests.importers.overriding import ReviewedRun, open_reviewed_run
from tests.sharing import Imports

LOGS = [
    *(
        ("en", name)
        for name in (
            "gpt-4o_mQmA",
            "gpt-4o_mQmA_parsable",
            "synth-alpha",
            "synth-alpha_IS",
            "synth-alpha_parsable",
        )
    ),
    *(("zh", name) for name in ("synth-alpha", "synth-alpha_IS")),
]


def read_run_items(plan: RunPlan) -> Iterator[Item]:
    return (item for item in read_items(plan) if isinstance(item, Item))


def score_item(item: Item, source: str, valid: bool | None) -> ScoredItem:
    values = {
        v.criterion: v.value for v in item.verdicts if v.source == source and v.target == "item"
    }
    return ScoredItem(
        item.id, item.category, item.group, valid, values=values, metadata=item.extra.metadata
    )


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
            pairs += [
                ("n_hallucinated", len(ours["hallucinated"])),
                ("n_missing", len(ours["missing"])),
            ]  # type: ignore[arg-type]
        wrong += [(item.id, key, value, row[key]) for key, value in pairs if row[key] != value]
    assert wrong == []


@pytest.mark.parametrize(
    ("language", "name"), [("en", "gpt-4o_mQmA"), ("en", "synth-alpha"), ("zh", "synth-alpha")]
)
def test_flat_figures_equal_official_output(bench: Path, language: str, name: str) -> None:
    root = bench / "hammerbench"
    (plan,) = discover([root / "logs" / language / f"{name}.json"]).plans
    expected = json.loads((root / "metrics" / language / f"{name}.metrics.json").read_text())
    found = compute_metrics(
        [score_item(item, "rule", item.rule) for item in read_run_items(plan)], plan.run
    )
    ours = {(figure.table, figure.name): figure.value for figure in found}
    for key, value in expected["overall"].items():
        assert ours["all types", key] == value, key
    for kind, values in expected["by_type"].items():
        for key in values.keys() - {"records"}:
            assert ours[kind, key] == values[key], (kind, key)


def test_progress_of_flat_log_equals_earlier_script(bench: Path) -> None:
    """The expected values come from that script, run on per-conversation files with the same
    answers.
    """
    root = bench / "hammerbench"
    for language in ("en", "zh"):
        (plan,) = discover([root / "logs" / language / "synth-alpha.json"]).plans
        found = compute_metrics(
            [score_item(item, "rule", item.rule) for item in read_run_items(plan)], plan.run
        )
        ours = {(figure.table, figure.name): figure.value for figure in found}
        expected = json.loads(
            (root / "metrics" / language / "synth-alpha.legacy_multi_turn.json").read_text()
        )
        checked = 0
        for key, values in expected.items():
            kind, _, which = key.rpartition(" ")
            table = {"all": kind, "0": f"{kind}, first snapshot", "-1": f"{kind}, last snapshot"}[
                which
            ]
            for name in (
                ("PR", "SR") if which == "all" else ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc")
            ):
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
    table = {
        "all": "mQmA, all snapshots",
        "0": "mQmA, first snapshot",
        "-1": "mQmA, last snapshot",
    }[which]
    for source in ("rule", "official"):
        rows = [
            score_item(item, source, item.rule if source == "rule" else item.official)
            for item in found
        ]
        for row, item in zip(rows, found, strict=True):
            row.values = {
                v.criterion: v.value for v in item.verdicts if v.source == "judge"
            } | dict(row.values)
        ours = {f.name: f.value for f in compute_metrics(rows, plan.run) if f.table == table}
        for name in ours.keys() - {"Other errors"}:
            assert ours[name] == expected[name], (source, name)
        assert {
            "Func_Acc",
            "Args_Acc",
            "PR",
            "SR",
            "Args_Acc LLM",
            "PR LLM",
            "SR LLM",
        } <= ours.keys()


def test_recorded_judge_replies_become_judge_verdicts(bench: Path) -> None:
    folder = bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA"
    (plan,) = discover([folder]).plans
    found = list(read_run_items(plan))
    assert sum(item.judge is not None for item in found) == 948
    replies = {
        item.id: v.value for item in found for v in item.verdicts if v.criterion == "equivalent"
    }
    lenient = [
        item
        for item in found
        if replies[item.id]
        and rule_verdicts(item)["func_ok"]
        and not rule_verdicts(item)["args_ok"]
    ]
    assert len(lenient) == 243


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "a", "parameters": {}}', "a"),
        # pretty-printed, no literal {"name", no parameters
        (
            '{\n "name": "a", "arguments": {}}',
            None,
        ),
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
    paths = ("logs/xLAM-7b.json", "a/ToolACE/b.json", "x/Ministral.json", "gpt.json")
    assert list(map(choose_parser_name, paths)) == ["xlam", "toolace", "ministral", "default"]
    assert parse_prediction("[a.b(x='1', y='')]", "toolace") == {
        "name": "a.b",
        "arguments": {"x": "1", "y": ""},
    }
    assert parse_prediction(
        'x[TOOL_CALLS] [{"name": "a", "arguments": {"k": 1}}]', "ministral"
    ) == {
        "name": "a",
        "arguments": {"k": 1},
    }


@given(st.text(max_size=300), st.sampled_from(["default", "xlam", "toolace", "ministral"]))
def test_any_text_is_parsed_or_kept(text: str, parser: str) -> None:
    found = parse_prediction(text, parser)
    assert found is None or "name" in found


def test_args_ok_rules() -> None:
    assert compare_arguments({}, {}, "en")[0]
    assert not compare_arguments({"x": "1"}, {}, "en")[0]
    assert compare_arguments({"x": 26}, {"x": "26"}, "en")[0]
    assert compare_arguments({"x": "a"}, {"x": "a", "kwargs": "b"}, "en")[0]
    assert not compare_arguments({"x": "3pm today"}, {"x": "Today at 3pm"}, "en")[0]
    assert check_snapshot(
        {"name": "f", "arguments": {}}, "x", {"name": "g", "arguments": {}}, "en"
    ).args_ok  # the name does not matter


def test_ids_are_split_from_right() -> None:
    assert split_item_id("SO_case1_12_3") == ("SO_case1", "12", 3)
    parts = parse_user_message("Order what it says <EK>: two lamps", 0)
    assert [(m.content, m.name) for m in parts] == [
        ("Order what it says", None),
        ("two lamps", QUOTED_MESSAGE_NAME),
    ]
    parts = parse_user_message("EK:At 7.\nquery:A taxi then.", 0)
    assert [(m.content, m.name) for m in parts] == [
        ("A taxi then.", None),
        ("At 7.", QUOTED_MESSAGE_NAME),
    ]


def test_overridden_slots_show_old_value(samples: Path) -> None:
    (plan,) = discover([samples / "hammerbench/logs/en/maple-8b.json"]).plans
    found = {item.id: item for item in read_run_items(plan)}
    assert found["mSv_0_2"].extra.metadata["overridden slots, value before"] == {"time": "8"}
    assert found["Based_0_1"].extra.metadata["slot start"] == "golden absent, predicted empty"
    assert found["ST_Perfect_0_1"].extra.metadata["slots"] == "3 of 3 are filled in both calls"
    assert found["ir_ST_Perfect_0_1"].rule is True
    assert found["ir_ST_Perfect_1_1"].rule_error_type == "not_declined"


WORDS = [
    "a",
    "b",
    "Oslo",
    "5",
    "5.5",
    "v1.2.0",
    "...",
    ". ",
    "é",
    "ß",
    "İ",
    "café",
    "\u3000",
    "\u2028",
    "\t",
    "?",
    "!",
    "明天",
    "上午九点",
    "4月12日",
    "。",
    "！",
    "𠀀",
    "한",
    "x.y",
    "-1",
    "''",
    ".",
]
PAIRS = 5_000


def make_text(chance: random.Random) -> str:
    return chance.choice(["", " ", " ", ". "]).join(
        chance.choice(WORDS) for _ in range(chance.randrange(9))
    )


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
    """Prepare the texts and compute the score like the released evaluator.

    Returns 0 if it fails.
    """

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
    rouge = pytest.importorskip(
        "rouge", reason="the package `rouge` is needed: pip install -e .[dev]"
    )
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


ALL = "all types"
HALLUCINATIONS, MISSING = (
    "Average number of parameter hallucinations",
    "Average number of missing parameters",
)
OTHER = "Other errors"


@pytest.fixture
def flat(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    with open_reviewed_run(
        imports, bench / "hammerbench/logs/en/synth-alpha.json", tmp_path / "ws"
    ) as found:
        yield found


@pytest.fixture
def judged(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    """A run of 948 snapshots of 404 conversations, with the recorded replies of a judge."""
    with open_reviewed_run(
        imports, bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA", tmp_path / "ws"
    ) as found:
        yield found


@pytest.mark.sweep
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_confirmations_change_no_figure_of_flat_log(flat: ReviewedRun, share: float) -> None:
    before = flat.read_figures()
    assert flat.confirm(5, share) > 100
    assert flat.changed_figures(before) == {}


@pytest.mark.sweep
def test_confirmations_change_no_figure_of_conversations(judged: ReviewedRun) -> None:
    before = judged.read_figures()
    assert judged.confirm(5, 1.0) > 8000
    assert judged.changed_figures(before) == {}


def test_confirmed_refusals_and_failures_change_nothing(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    assert (before[ALL, "Func_Acc"], before[ALL, "Args_Acc"]) == (97 / 115, 59 / 115)
    flat.review("ir_ST_Perfect_0_1", True)
    flat.review("ir_ST_Perfect_2_1", True)
    flat.review("ST_Imperfect_0_1", False)
    assert flat.changed_figures(before) == {}


NAMED = {
    (ALL, "Func_Acc"): 98 / 115,
    (ALL, "PN_FP"): 26 / (98 + T),
    (ALL, "PN_FN"): 6 / (98 + T),
    (ALL, OTHER): 9 / (98 + T),
    ("ST_Imperfect", "Func_Acc"): 4 / 4,
    ("ST_Imperfect", "PN_FP"): 1 / (4 + T),
    ("ST_Imperfect", OTHER): 1 / (4 + T),
}
VALUES = {
    (ALL, "Args_Acc"): 60 / 115,
    (ALL, OTHER): 8 / (97 + T),
    ("ST_Perfect", "Args_Acc"): 4 / 4,
    ("ST_Perfect", OTHER): 0 / (4 + T),
}
OVERRIDES: list[tuple[str, str, Any, dict[tuple[str, str], float]]] = [
    ("ST_Imperfect_0_1", "func_ok", True, NAMED),
    ("ST_Imperfect_0_1", "correct", True, NAMED),  # args_ok was already right
    ("ST_Perfect_3_1", "args_ok", True, VALUES),
    ("ST_Perfect_3_1", "correct", True, VALUES),  # func_ok was already right
    (
        "ST_Perfect_0_1",
        "correct",
        False,  # one of the two is wrong; the criterion of the name is separate
        {
            (ALL, "Args_Acc"): 58 / 115,
            (ALL, OTHER): 10 / (97 + T),
            ("ST_Perfect", "Args_Acc"): 2 / 4,
            ("ST_Perfect", OTHER): 2 / (4 + T),
        },
    ),
    (
        "ST_Perfect_0_1",
        "func_ok",
        False,
        {
            (ALL, "Func_Acc"): 96 / 115,
            (ALL, "PN_FP"): 26 / (96 + T),
            (ALL, "PN_FN"): 6 / (96 + T),
            (ALL, OTHER): 9 / (96 + T),
            ("ST_Perfect", "Func_Acc"): 3 / 4,
            ("ST_Perfect", OTHER): 1 / (3 + T),
        },
    ),
    (
        "ir_ST_Imperfect_0_1",
        "rejected",
        True,
        {
            (ALL, "Rejection rate"): 8 / 115,
            ("ir_ST_Imperfect", "Rejection rate"): 1 / 2,
            ("ir_ST_Imperfect", "declined"): 1 / 2,
        },
    ),
    ("ir_ST_Imperfect_0_1", "correct", True, {("ir_ST_Imperfect", "declined"): 1 / 2}),
    (
        "ST_Perfect_0_1",
        "is_text",
        True,
        {(ALL, "Output string ratio"): 13 / 115, ("ST_Perfect", "Output string ratio"): 1 / 4},
    ),
    (
        "ST_Imperfect_2_1",
        "hallucinated",
        [],  # no name is wrong, so a value is
        {
            (ALL, HALLUCINATIONS): 25 / (115 + T),
            (ALL, "PN_FP"): 25 / (97 + T),
            (ALL, OTHER): 10 / (97 + T),
            ("ST_Imperfect", HALLUCINATIONS): 0 / (4 + T),
            ("ST_Imperfect", "PN_FP"): 0 / (3 + T),
            ("ST_Imperfect", OTHER): 2 / (3 + T),
        },
    ),
    (
        "mQsA_0_3",
        "missing",
        [],  # of 8 snapshots, 7 of the right function, 2 with a missing name
        {
            (ALL, MISSING): 40 / (115 + T),
            (ALL, "PN_FN"): 5 / (97 + T),
            (ALL, OTHER): 10 / (97 + T),
            ("mQsA", MISSING): 1 / (8 + T),
            ("mQsA", "PN_FN"): 1 / (7 + T),
            ("mQsA", OTHER): 1 / (7 + T),
            ("mQsA against Based", "PN_FN, change"): 1 / (7 + T) - 1 / (8 + T),
        },
    ),
]


@pytest.mark.parametrize(("name", "criterion", "verdict", "expected"), OVERRIDES)
def test_verdict_changes_dependent_figures(
    flat: ReviewedRun,
    name: str,
    criterion: str,
    verdict: Any,
    expected: dict[tuple[str, str], float],
) -> None:
    before = flat.read_figures()
    flat.review(name, verdict, criterion=criterion)
    assert flat.changed_figures(before) == expected


def test_snapshot_with_right_function_is_not_rejected(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    flat.review("mQmA_0_2", True, criterion="func_ok")
    changed = flat.changed_figures(before)
    assert changed[ALL, "Rejection rate"] == 6 / 115
    assert changed["mQmA", "Rejection rate"] == 0 / 9


def test_progress_follows_snapshot(flat: ReviewedRun) -> None:
    """sQmA has three conversations: all right; wrong, right, right; right, wrong, right. The other
    error of the changed snapshot, an invented name, stays.
    """
    before = flat.read_figures()
    assert (before["sQmA", "PR"], before["sQmA", "SR"]) == ((1 + 0 + 1 / 3) / (3 + T), 1 / (3 + T))
    flat.review("sQmA_1_1", True, criterion="args_ok")
    changed = flat.changed_figures(before)
    assert changed.pop(("sQmA against Based", "PR, change")) == pytest.approx(7 / 9 - 0.8 / 3)
    assert changed == {
        (ALL, "Args_Acc"): 60 / 115,
        ("sQmA", "Args_Acc"): 8 / 9,
        ("sQmA", "PR"): (1 + 1 + 1 / 3) / (3 + T),
        ("sQmA", "SR"): 2 / (3 + T),
        ("sQmA, first snapshot", "Args_Acc"): 3 / 3,
        ("sQmA against Based", "Args_Acc, change"): 8 / 9 - 7 / 14,
        ("sQmA against Based", "SR, change"): 2 / (3 + T),
    }


def test_snapshot_with_disagreement_keeps_verdict(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    flat.review("ST_Perfect_0_1", False, criterion="func_ok")
    flat.review("ST_Perfect_0_1", True, criterion="func_ok", who="bob")
    flat.review("ST_Perfect_3_1", True)
    flat.review("ST_Perfect_3_1", False, who="bob")
    assert flat.changed_figures(before) == {}


def test_changed_snapshots(flat: ReviewedRun) -> None:
    """SO_case2 overrides a slot in the third snapshot of each of its three conversations: two
    invent a name, one is a text with its name missing; no value is right. mSv does so in the last,
    and all three follow.
    """
    found = flat.read_figures("rule")
    assert found["SO_case2, changed snapshots", "PN_FP"] == 2 / (3 + T)
    assert found["SO_case2, changed snapshots", "PN_FN"] == 1 / (3 + T)
    assert found["SO_case2, changed snapshots", "SR"] == 0
    assert (
        found["mSv, changed snapshots", "PR"]
        == found["mSv, changed snapshots", "SR"]
        == 3 / (3 + T)
    )
    # slots of SO_case1 are overridden within one turn, so not visible
    assert not any(table == "SO_case1, changed snapshots" for table, _ in found)


def find_first_snapshot(run: ReviewedRun, condition: Callable[[dict[str, Any]], bool]) -> str:
    """Return the first snapshot of a conversation with the right function and verdicts that meet
    the condition, given as {source_criterion: value}.
    """
    text = (
        "SELECT i.id, i.category, list_transform(r.verdicts, lambda v: v.source || '_' ||"
        " v.criterion || '=' ||"
        " CAST(v.value AS VARCHAR)), CAST(r.extra->'$.more' AS VARCHAR) FROM items i JOIN item_rows"
        " r USING (item)"
        " WHERE i.id LIKE '%_1' ORDER BY i.item"
    )
    for name, _, verdicts, more in run.store.run_sql(text)[1]:
        values = {part.partition("=")[0]: json.loads(part.partition("=")[2]) for part in verdicts}
        values["same"] = json.loads(more)["same function and argument names"]
        if values["official_func_ok"] and condition(values):
            return str(name)
    raise AssertionError("no such snapshot")


@pytest.mark.sweep
@pytest.mark.parametrize("criterion", ["equivalent", "args_ok_llm"])
def test_overridden_judge_pass_changes_only_judge_figures(
    judged: ReviewedRun, criterion: str
) -> None:
    before = judged.read_figures()
    assert before["mQmA, all snapshots", "Args_Acc LLM"] == 502 / 948
    judged.review(
        find_first_snapshot(judged, lambda v: v["judge_args_ok_llm"]), False, criterion=criterion
    )
    changed = judged.changed_figures(before)
    assert changed["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert changed["mQmA, first snapshot", "SR LLM"] < before["mQmA, first snapshot", "SR LLM"]  # type: ignore[operator]
    assert all(name.endswith("LLM") for _, name in changed)


@pytest.mark.sweep
def test_overridden_judge_failure_needs_same_names(judged: ReviewedRun) -> None:
    before = judged.read_figures()
    judged.review(
        find_first_snapshot(judged, lambda v: not v["judge_equivalent"] and not v["same"]),
        True,
        criterion="equivalent",
    )
    assert judged.changed_figures(before) == {}
    judged.review(
        find_first_snapshot(judged, lambda v: not v["judge_equivalent"] and v["same"]),
        True,
        criterion="equivalent",
    )
    assert judged.changed_figures(before)["mQmA, all snapshots", "Args_Acc LLM"] == 503 / 948


@pytest.mark.sweep
def test_item_marked_as_failed(judged: ReviewedRun) -> None:
    """325 of 948 by rule, 502 by the judge. The function stays right."""
    before = judged.read_figures()
    judged.review(
        find_first_snapshot(judged, lambda v: v["official_correct"] and v["judge_args_ok_llm"]),
        False,
    )
    changed = judged.changed_figures(before)
    assert changed["mQmA, all snapshots", "Args_Acc"] == 324 / 948
    assert changed["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert ("mQmA, all snapshots", "Func_Acc") not in changed


@pytest.mark.sweep
def test_first_function_counts_for_conversation(judged: ReviewedRun) -> None:
    """288 of 404 conversations begin with the right function."""
    before = judged.read_figures()
    assert before["mQmA, all snapshots", "Func_Acc"] == 288 / 404
    judged.review(
        find_first_snapshot(judged, lambda v: v["official_func_ok"]), False, criterion="func_ok"
    )
    assert judged.changed_figures(before)["mQmA, all snapshots", "Func_Acc"] == 287 / 404


def test_number_of_parameters_is_no_share(judged: ReviewedRun) -> None:
    found = compute_metrics(
        judged.store.analysis.fetch_scored_items(judged.row.run)["rule"], judged.row.info
    )
    assert {each.unit for each in found if each.name.startswith("Average number")} == {"score"}
    assert {each.unit for each in found if not each.name.startswith("Average number")} == {"share"}


def test_snapshot_without_label_has_issue(bench: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(bench / "hammerbench/data/en", tmp_path / "data/en")).parent.parent
    log = json.loads((bench / "hammerbench/logs/en/synth-alpha.json").read_text())
    del log[1]["label"]  # the first record identifies the format
    (root / "en").mkdir()
    (root / "en/some.json").write_text(json.dumps(log))
    (plan,) = discover([root / "en/some.json"]).plans
    item = next(
        each for each in read_items(plan) if isinstance(each, Item) and each.id == "ST_Perfect_1_1"
    )
    assert (item.rule, item.first_difference, item.verdicts) == (None, None, [])
    assert [issue.what for issue in item.issues] == [
        "ST_Perfect_1_1 has no label, so it has no golden answer"
    ]
