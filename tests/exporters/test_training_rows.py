"""Training rows for KTO, splits without leakage, decontamination, and the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.errors import UsageError
from fcreview.exporters.decontamination import (
    BenchmarkQuestions,
    extract_question,
    read_benchmark_questions,
)
from fcreview.exporters.training_splits import SplitChooser, group_questions, parse_splits
from fcreview.golden_audit.siblings import SiblingQuestion
from fcreview.model.review import QuestionKey
from fcreview.store.label_fields import Split
from tests.exporters.test_conversations import export_rows
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns

SAMPLES = Path(__file__).parents[2] / "sample_runs"
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Row = dict[str, Any]
LONG_QUESTION = " ".join(f"word{number}" for number in range(40))


@pytest.fixture
def bfcl_runs(open_runs: OpenRuns) -> ReviewedRuns:
    reviewed = open_runs([SAMPLES / "bfcl"])
    reviewed.store.reviews.rebuild([])
    return reviewed


def read_manifest(path: Path) -> Row:
    manifest = json.loads(path.with_name(f"{path.name}.manifest.json").read_bytes())
    assert isinstance(manifest, dict)
    return manifest


def test_kto_rows_are_single_replies_with_the_label_of_their_item(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    out = tmp_path / "kto.jsonl"
    rows = export_rows(bfcl_runs, "kto", out, trust_rule=True)
    labels = {row["label"] for row in rows}
    assert labels == {True, False}
    for row in rows:
        (reply,) = row["completion"]
        assert reply["role"] == "assistant"
        assert any(message["role"] == "user" for message in row["prompt"])
        (number,) = (
            item
            for item in bfcl_runs.store.find_items(row["id"])
            if bfcl_runs.store.fetch_rows([item])[0].run == row["source"]["run"]
        )
        assert bfcl_runs.store.fetch_rows([number])[0].effective is row["label"]
        if not row["label"]:
            assert not any(message["role"] == "assistant" for message in row["prompt"])

    manifest = read_manifest(out)
    assert manifest["counts"]["labels"] == {
        "right": sum(row["label"] for row in rows),
        "wrong": sum(not row["label"] for row in rows),
    }
    passing = export_rows(bfcl_runs, "sft", tmp_path / "sft.jsonl", trust_rule=True)
    assert {row["id"] for row in rows if row["label"]} <= {row["id"] for row in passing}
    contents = [json.dumps([row["prompt"], row["completion"], row["tools"]]) for row in rows]
    assert len(set(contents)) == len(contents), "equal replies of two models are one row"


def test_a_failure_with_another_fault_is_no_wrong_reply(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    before = export_rows(bfcl_runs, "kto", tmp_path / "a.jsonl", trust_rule=True)
    wrong = next(row for row in before if not row["label"])
    number = bfcl_runs.find_item(wrong["id"], wrong["source"]["run"])
    (event,) = bfcl_runs.make_events([ItemVerdict(number, "item", "correct", False)])
    event.fault = "golden"
    bfcl_runs.store.reviews.rebuild([event])
    after = export_rows(bfcl_runs, "kto", tmp_path / "b.jsonl", trust_rule=True)
    # The same golden answer also gave the automatic verdicts on the other runs.
    assert [row["id"] for row in after] == [row["id"] for row in before if row["id"] != wrong["id"]]
    assert not [
        row
        for row in after
        if row["id"] == wrong["id"] and row["source"]["run"] == wrong["source"]["run"]
    ]


def test_failing_conversations_with_several_replies_are_left_out_and_named(
    open_runs: OpenRuns, tmp_path: Path
) -> None:
    reviewed = open_runs([SAMPLES / "complexfuncbench"])
    reviewed.store.reviews.rebuild([])
    out = tmp_path / "kto.jsonl"
    rows = export_rows(reviewed, "kto", out, trust_rule=True)
    assert rows
    n_left_out = read_manifest(out)["counts"]["unclear_replies_left_out"]
    n_failing = sum(
        row.effective is False for row in reviewed.store.fetch_rows(list_items(reviewed))
    )
    assert 0 < n_left_out <= n_failing


def list_items(reviewed: ReviewedRuns) -> list[int]:
    from fcreview.store.rows import View

    numbers = []
    for chunk in reviewed.store.iter_details(View("", "dataset")):
        numbers += [detail.row.item for detail in chunk]
    return numbers


def read_rewards(rows: Sequence[Row]) -> dict[tuple[int, str], Row]:
    """(run, item id) -> the reward of the row."""
    return {(row["source"]["run"], row["id"]): row["reward"] for row in rows}


def test_every_item_has_a_reward_and_says_why_it_cannot_be_trusted(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    first, second, third, fourth, fifth, *_ = [
        verdict
        for verdict in bfcl_runs.automatic_verdicts()
        if (verdict.target, verdict.criterion) == ("item", "correct")
        and bfcl_runs.store.fetch_rows([verdict.item])[0].run == 1
    ]
    overridden = replace(first, value=not first.value)
    (wrong_golden,) = bfcl_runs.make_events([replace(second, value=True)])
    wrong_golden.fault = "golden"
    (wrong_question,) = bfcl_runs.make_events([fifth])
    wrong_question.fault = "question"
    bfcl_runs.store.reviews.rebuild(
        [
            *bfcl_runs.make_events([overridden, third, fourth]),
            *bfcl_runs.make_events([replace(third, value=not third.value)], annotator="bob"),
            wrong_golden,
            wrong_question,
        ]
    )
    out = tmp_path / "rewards.jsonl"
    rows = export_rows(bfcl_runs, "rewards", out)
    assert len(rows) == len(list_items(bfcl_runs))
    rewards = read_rewards(rows)

    def reward_of(verdict: ItemVerdict) -> Row:
        item = bfcl_runs.store.fetch_rows([verdict.item])[0]
        return rewards[item.run, item.id]

    assert reward_of(first)["problems"] == ["overridden"]
    assert reward_of(first)["value"] == float(first.value)
    assert reward_of(first)["corrected"] == float(not first.value)
    assert reward_of(third) == {
        "value": float(third.value),
        "source": "official",
        "valid": False,
        "problems": ["disputed"],
        "corrected": None,
    }
    assert (reward_of(fourth)["valid"], reward_of(fourth)["problems"]) == (True, [])
    assert "golden_wrong" in reward_of(second)["problems"]
    assert reward_of(fifth)["problems"] == ["other_fault"]

    # The golden answer is that of all runs, so their verdicts on the question are wrong, too.
    wrong_id = bfcl_runs.store.fetch_rows([second.item])[0].id
    others = [reward for (run, name), reward in rewards.items() if name == wrong_id and run != 1]
    assert others
    assert all(reward["problems"] == ["golden_wrong"] for reward in others)

    counts = read_manifest(out)["rewards"]
    assert counts["items"] == len(rows)
    assert counts["valid"] == sum(row["reward"]["valid"] for row in rows)
    assert counts["valid"] + counts["invalid"] == len(rows)
    assert counts["problems"]["golden_wrong"] == 1 + len(others)


def test_incidents_are_no_rewards(open_runs: OpenRuns, tmp_path: Path) -> None:
    reviewed = open_runs([SAMPLES / "verifiers"])
    reviewed.store.reviews.rebuild([])
    rows = export_rows(reviewed, "rewards", tmp_path / "rewards.jsonl")
    n_incidents = sum(row.is_incident for row in reviewed.store.fetch_rows(list_items(reviewed)))
    assert n_incidents
    assert sum("incident" in row["reward"]["problems"] for row in rows) == n_incidents


def test_rewarded_answers_are_complete(bfcl_runs: ReviewedRuns, tmp_path: Path) -> None:
    for row in export_rows(bfcl_runs, "rewards", tmp_path / "rewards.jsonl"):
        assert all(message["role"] != "assistant" for message in row["prompt"])
        assert row["completion"][0]["role"] == "assistant"


def test_automatic_verdicts_by_a_wrong_golden_answer_are_left_out(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    """A golden answer that is wrong in one run is wrong in all runs."""
    before = export_rows(bfcl_runs, "kto", tmp_path / "before.jsonl", trust_rule=True)
    ids_by_run: dict[int, set[str]] = {}
    for row in before:
        ids_by_run.setdefault(row["source"]["run"], set()).add(row["id"])
    wrong_id = min(ids_by_run[1] & ids_by_run[2])
    wrong = next(
        verdict
        for verdict in bfcl_runs.automatic_verdicts()
        if bfcl_runs.store.fetch_rows([verdict.item])[0].id == wrong_id
    )
    (event,) = bfcl_runs.make_events([wrong])
    event.fault = "golden"
    bfcl_runs.store.reviews.rebuild([event])
    out = tmp_path / "after.jsonl"
    after = export_rows(bfcl_runs, "kto", out, trust_rule=True)
    assert {row["source"]["run"] for row in after if row["id"] == wrong_id} <= {1}
    assert read_manifest(out)["counts"]["untrusted_verdicts_left_out"] >= 1


def test_manifest_says_where_the_rows_come_from(bfcl_runs: ReviewedRuns, tmp_path: Path) -> None:
    verdicts = [
        each
        for each in bfcl_runs.automatic_verdicts()
        if (each.target, each.criterion) == ("item", "correct")
    ]
    passing = [each for each in verdicts[1:] if each.value is True][:5]
    wrong = [ItemVerdict(verdicts[0].item, "item", "correct", not verdicts[0].value)]
    bfcl_runs.store.reviews.rebuild(
        [
            *bfcl_runs.make_events(verdicts[1:]),
            *bfcl_runs.make_events(wrong),
            *bfcl_runs.make_events(passing, annotator="bob"),
        ]
    )
    out = tmp_path / "sft.jsonl"
    rows = export_rows(bfcl_runs, "sft", out, "language:en")
    manifest = read_manifest(out)
    assert manifest["format"] == "sft" and manifest["filter"] == "language:en"
    assert manifest["counts"]["rows"] == len(rows)
    assert sum(run["rows"] for run in manifest["runs"]) == len(rows)
    assert all(run["source_hashes"] for run in manifest["runs"])
    assert set(manifest["annotators"]) == {"ann", "bob"}
    percent = next(each for each in manifest["agreement"] if each["measure"] == "percent")
    assert (percent["value"], percent["n"]) == (1.0, 5)
    official = next(each for each in manifest["automatic_verdicts"] if each["source"] == "official")
    rates = [official["false_positive_rate"], official["false_negative_rate"]]
    changed = rates[0] if verdicts[0].value else rates[1]
    assert changed["value"] == pytest.approx(1 / changed["n"])
    assert 0 <= changed["low"] < changed["value"] < changed["high"] <= 1


def make_question(
    item: int, text: str, category: str, item_id: str, group: str | None = None
) -> SiblingQuestion:
    key = QuestionKey("bfcl", "V4", "en", category, item_id)
    return SiblingQuestion(key, item=item, user_text=text, golden=[], group=group)


def test_questions_that_belong_together_are_in_one_split() -> None:
    siblings = [
        make_question(1, LONG_QUESTION, "base", "base_1"),
        make_question(2, LONG_QUESTION + " and one more", "miss_func", "miss_func_1"),
        make_question(3, "Book a table", "simple", "simple_1"),
        make_question(4, "book a table!", "live", "live_1"),
        make_question(5, "first turn", "chat", "chat_1", group="talk"),
        make_question(6, "second turn", "chat", "chat_2", group="talk"),
        make_question(7, "Something else", "simple", "simple_2"),
    ]
    names = group_questions(siblings)
    by_number = [names[question.key] for question in siblings]
    assert by_number[0] == by_number[1] and by_number[2] == by_number[3]
    assert by_number[4] == by_number[5]
    assert len(set(by_number)) == 4


def test_a_question_stays_in_its_split_and_shares_are_kept() -> None:
    splits = parse_splits("train=0.8,test=0.2")
    chooser = SplitChooser(splits, {})
    keys = [QuestionKey("b", "1", "en", "c", str(number)) for number in range(2000)]
    chosen = [chooser.choose(key, None) for key in keys]
    assert 0.77 < chosen.count("train") / len(chosen) < 0.83
    assert chosen == [SplitChooser(splits, {}).choose(key, None) for key in keys]
    same_talk = {chooser.choose(key, "talk") for key in keys[:50]}
    assert len(same_talk) == 1


@pytest.mark.parametrize("text", ["train", "train=2", "a=0.5,a=0.5", "a=0.5,b=0.4", "=1", "a=x"])
def test_invalid_splits_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_splits(text)


def test_rows_have_splits_and_the_manifest_counts_them(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    out = tmp_path / "sft.jsonl"
    splits = (Split("train", 0.6), Split("test", 0.4))
    rows = export_rows(bfcl_runs, "sft", out, trust_rule=True, splits=splits)
    by_split = {
        name: {row["id"] for row in rows if row["split"] == name} for name in ("train", "test")
    }
    assert by_split["train"] and by_split["test"]
    assert not by_split["train"] & by_split["test"], "a question of two runs is in one split"
    n_train = sum(row["split"] == "train" for row in rows)
    counts = read_manifest(out)["splits"]["rows"]
    assert counts == {"train": n_train, "test": len(rows) - n_train}


def test_questions_of_given_benchmarks_are_left_out(
    bfcl_runs: ReviewedRuns, tmp_path: Path
) -> None:
    before = export_rows(bfcl_runs, "sft", tmp_path / "a.jsonl", trust_rule=True)
    question = next(
        message["content"] for message in before[0]["messages"] if message["role"] == "user"
    )
    benchmark = tmp_path / "benchmark.jsonl"
    benchmark.write_text(json.dumps({"question": [[{"role": "user", "content": question}]]}) + "\n")
    out = tmp_path / "b.jsonl"
    after = export_rows(bfcl_runs, "sft", out, trust_rule=True, decontaminate=(benchmark,))
    left_out = {row["id"] for row in before} - {row["id"] for row in after}
    assert before[0]["id"] in left_out
    found = read_manifest(out)["decontamination"]
    assert (found["questions"], found["near"]) == (1, 0) and found["exact"] >= 1
    assert {each["id"] for each in found["items"]} >= left_out
    assert found["items"][0]["record"] == 1


def test_exact_and_near_questions_match_and_others_do_not() -> None:
    questions = BenchmarkQuestions()
    questions.add(LONG_QUESTION, "file", 1)
    questions.add("Book a table for two", "file", 2)
    near = LONG_QUESTION.replace("word20", "other")
    match = questions.find_match(near)
    assert match is not None and (match.kind, match.record) == ("near", 1)
    match = questions.find_match("  book a table, for TWO ")
    assert match is not None and (match.kind, match.record) == ("exact", 2)
    assert questions.find_match("Book a table for three") is None
    assert questions.find_match(" ".join(f"term{number}" for number in range(40))) is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]},
            "a\nb",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}, "a"),
        ({"prompt": "a", "answer": "b"}, "a"),
        ({"answer": "b"}, ""),
        ("a", "a"),
        (7, ""),
    ],
)
def test_question_of_a_record(record: Any, expected: str) -> None:
    assert extract_question(record) == expected


def test_unreadable_benchmarks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"question": "a"}\nno json\n')
    with pytest.raises(UsageError, match=r"bad\.jsonl:2"):
        read_benchmark_questions([tmp_path / "bad.jsonl"])
    (tmp_path / "none.json").write_text('[{"answer": 1}]')
    with pytest.raises(UsageError, match="no question found"):
        read_benchmark_questions([tmp_path / "none.json"])
    with pytest.raises(UsageError, match="no such file"):
        read_benchmark_questions([tmp_path / "missing"])
    deep: Any = {"role": "user", "content": "hidden"}
    for _ in range(200):
        deep = [deep]
    (tmp_path / "deep.json").write_bytes(orjson.dumps([deep, {"question": "a"}]))
    assert read_benchmark_questions([tmp_path / "deep.json"]).n_questions == 1
