"""Joins by content: ids that stand twice, replies that were not scored, second entries, old golden answers, keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importers.bfcl.small_run import CATEGORY, RESULT, SCORE, officials, said

RAIN, DESIGN = "Will it rain in Rome?", "Design a room."
TWICE = "live_relevance_3-3-0"
NAME = "BFCL_v3_live_relevance"


def document(name: str) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "dict", "properties": {"x": {"type": "string"}}, "required": []}}


def asked(text: str, name: str) -> dict[str, Any]:
    return {"id": TWICE, "question": [[{"role": "user", "content": text}]], "function": [document(name)]}


@pytest.fixture
def twice(tmp_path: Path, lines: Any) -> Any:
    """`twice(replies, entries)`: a V3 run on a dataset in which one id names two questions."""

    def make(replies: list[str], entries: list[dict[str, Any]], data: bool = True) -> Path:
        if data:
            lines(tmp_path / f"data/{NAME}.json", asked(RAIN, "weather.rain"), asked(DESIGN, "room.design"))
        lines(tmp_path / f"result/x/{NAME}_result.json", *({"id": TWICE, "result": reply} for reply in replies))
        head = {"accuracy": 0.5, "correct_count": 2 - len(entries), "total_count": 2}
        lines(tmp_path / f"score/x/{NAME}_score.json", head, *entries)
        return tmp_path

    return make


def entry(text: str, name: str, reply: str) -> dict[str, Any]:
    error = {"error": ["no call"], "error_type": "relevance_error:decoder_failed"}
    return {"id": TWICE, "model_name": "x", "valid": False, **error, "prompt": asked(text, name), "model_result": reply}


@pytest.mark.parametrize("turned", [False, True])
def test_both_records_of_an_id_are_items_with_their_own_question(
    twice: Any, plans: Any, items: Any, turned: bool
) -> None:
    replies = ["[weather.rain(x='Rome')]", "I would use room.design."]
    run = twice(replies[::-1] if turned else replies, [entry(DESIGN, "room.design", replies[1])])
    (plan,) = plans(run)
    found, issues = items(plan)
    assert [(item.id, item.question, item.official) for item in found] == [
        (TWICE, RAIN, True),
        (f"{TWICE}#2", DESIGN, False),
    ]
    assert [item.rule for item in found] == [True, False]
    assert found[0].predicted[0].name == "weather.rain"
    assert found[1].extra.score_record is not None
    assert not any("occurs again" in what for what in said(issues))
    assert not any(item.issues for item in found)


def test_the_only_result_of_an_id_answers_the_question_whose_function_it_names(
    twice: Any, plans: Any, items: Any
) -> None:
    (plan,) = plans(twice(["[room.design(x='a')]"], []))
    found, _ = items(plan)
    assert [(item.id, item.question) for item in found] == [(f"{TWICE}#2", DESIGN)]


def test_without_the_dataset_the_count_of_scored_records_tells(twice: Any, plans: Any, items: Any) -> None:
    run = twice(["[weather.rain(x='Rome')]", "No."], [entry(DESIGN, "room.design", "No.")], data=False)
    (plan,) = plans(run)
    found, _ = items(plan)
    assert officials(found) == {TWICE: True, f"{TWICE}#2": False}


def test_a_record_that_was_written_twice_is_one_item(v4: Path, plans: Any, items: Any, lines: Any, result: Any) -> None:
    lines(v4 / RESULT, result(f"{CATEGORY}_0", 99), result(f"{CATEGORY}_0"), result(f"{CATEGORY}_1", 11))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert officials(found) == {f"{CATEGORY}_0": True, f"{CATEGORY}_1": False}
    assert found[0].predicted[0].arguments["base"] == 10
    assert any("occurs again" in what for what in said(issues))


def test_a_score_entry_that_quotes_another_reply_is_told(v4: Path, plans: Any, items: Any, lines: Any) -> None:
    (plan,) = plans(v4)
    assert items(plan)[0][1].issues == []
    other = [{"area": '{"base": 12, "height": 5}'}]
    lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": other} for n in range(2)))
    (plan,) = plans(v4)
    found, _ = items(plan)
    (issue,) = found[1].issues
    assert issue.severity == "error"
    assert "the replies in the result file and the score file differ" in issue.what
    assert "11" in issue.what
    assert issue.line == 2


def test_pythons_text_of_the_reply_is_the_reply(
    v4: Path, plans: Any, items: Any, lines: Any, header: Any, failing: Any, question: Any
) -> None:
    item, reply = f"{CATEGORY}_1", [{"area": "[1]"}]
    lines(v4 / RESULT, {"id": item, "result": reply})
    entry = failing(item, prompt=question(item), model_result_raw=str(reply))
    lines(v4 / SCORE, header(0, 1), entry)
    (plan,) = plans(v4)
    assert items(plan)[0][0].issues == []


def test_of_two_entries_the_first_is_the_cause_and_both_are_shown(
    tmp_path: Path, plans: Any, items: Any, lines: Any, header: Any
) -> None:
    name, item = "BFCL_v3_multi_turn_base", "multi_turn_base_0"
    lines(tmp_path / f"result/x/{name}_result.json", {"id": item, "result": "Error during inference: gone"})

    def entry(kind: str, words: str) -> dict[str, Any]:
        error = {"error_message": [words], "error_type": f"multi_turn:{kind}"}
        return {"id": item, "valid": False, "error": error, "model_result": "Error during inference: gone"}

    entries = [entry("inference_error", "no list"), entry("force_terminated", "too few turns")]
    lines(tmp_path / f"score/x/{name}_score.json", header(1, 2), *entries)
    (plan,) = plans(tmp_path)
    (found,), issues = items(plan)
    assert (found.official, found.error_type) == (False, "multi_turn:inference_error")
    assert found.verdicts[0].rationale == "no list\nthen multi_turn:force_terminated: too few turns"
    assert any("scored more than once" in what for what in said(issues))
    assert not any("passes are unknown" in what for what in said(issues))


BEFORE = "gorilla_openfunctions_v1_test_simple"


def test_golden_answers_before_july_24_are_the_record_itself(
    tmp_path: Path, plans: Any, items: Any, lines: Any, question: Any
) -> None:
    asked = question("simple_0", v1=True)
    del asked["id"]
    lines(tmp_path / f"data/{BEFORE}.json", asked)
    lines(tmp_path / f"data/possible_answer/{BEFORE}.json", {"area": {"base": [10], "height": [5]}})
    reply = [{"area": '{"base": 10, "height": 5}'}]
    lines(tmp_path / f"result/gpt-4-0613-FC/{BEFORE}_result.json", {"idx": 0, "result": reply})
    (plan,) = plans(tmp_path)
    (item,), _ = items(plan)
    assert item.golden[0].name == "area"
    assert item.rule is True
    assert item.issues == []


@pytest.mark.parametrize("same", ["question", "golden"])
def test_of_several_datasets_the_one_with_question_and_golden_is_taken_where_prompts_have_no_id(
    tmp_path: Path, plans: Any, lines: Any, question: Any, header: Any, failing: Any, same: str
) -> None:
    asked = question("simple_0", v1=True)
    del asked["id"]
    golden = {"area": {"base": [10], "height": [5]}}
    other = {**asked, "question": "Another one?"} if same == "question" else asked
    for folder, record, answer in (("a", other, {"area": {"base": [1], "height": [5]}}), ("b", asked, golden)):
        lines(tmp_path / f"{folder}/{BEFORE}.json", record)
        lines(tmp_path / f"{folder}/possible_answer/{BEFORE}.json", answer)
    lines(tmp_path / f"runs/result/m/{BEFORE}_result.json", {"idx": 0, "result": "no"})
    entry = failing(1, prompt=asked, possible_answer=golden, model_result_raw="no")
    lines(tmp_path / "runs/score/m/simple_score.json", header(0, 1), entry)
    (plan,) = plans(tmp_path / "runs", data=[tmp_path / "a", tmp_path / "b"])
    assert plan.run.dataset == str(tmp_path / "b")


def with_key(question: dict[str, Any], key: str) -> dict[str, Any]:
    text = f"How large is it? Use the key '{key}'."
    return {**question, "question": [[{"role": "user", "content": text}]]}


def test_a_placeholder_of_a_key_is_no_other_version(
    v4: Path, plans: Any, items: Any, lines: Any, question: Any, header: Any, failing: Any, result: Any
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(3)]
    lines(v4 / f"data/BFCL_v4_{CATEGORY}.json", *(with_key(question(item), "YOUR-RAPID-API-KEY") for item in ids))
    lines(v4 / RESULT, *(result(item, 11) for item in ids))
    entries = [failing(item, prompt=with_key(question(item), "RAPID-API-KEY")) for item in ids[1:]]
    lines(v4 / SCORE, header(1, 3), *entries)
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert not any("another version" in what for what in said(issues))
    assert [item.issues for item in found] == [[], [], []]


def test_one_entry_that_differs_does_not_unjoin_its_category(
    v4: Path, plans: Any, items: Any, lines: Any, question: Any, header: Any, failing: Any
) -> None:
    item = f"{CATEGORY}_1"
    other = question(item, "How long is it?")
    lines(v4 / SCORE, header(1, 2), failing(item, prompt=other))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [one.question for one in found] == ["How large is it?", "How long is it?"]
    assert found[0].golden
    assert any("differs from the dataset" in what for what in said(found[1].issues))
    assert not any("another version" in what for what in said(issues))
