"""Results, scores and dataset are joined by content if ids are duplicate or missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importers.bfcl.conftest import CATEGORY, RESULT, SCORE, issue_texts, official_verdicts

RAIN, DESIGN = "Will it rain in Rome?", "Design a room."
TWICE = "live_relevance_3-3-0"
NAME = "BFCL_v3_live_relevance"


def document(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": {"type": "dict", "properties": {"x": {"type": "string"}}, "required": []},
    }


def question_record(text: str, name: str) -> dict[str, Any]:
    return {
        "id": TWICE,
        "question": [[{"role": "user", "content": text}]],
        "function": [document(name)],
    }


@pytest.fixture
def write_duplicate_ids(tmp_path: Path, write_lines: Any) -> Any:
    """Write a V3 run on a dataset in which two questions have the same id."""

    def make(replies: list[str], entries: list[dict[str, Any]], data: bool = True) -> Path:
        if data:
            write_lines(
                tmp_path / f"data/{NAME}.json",
                question_record(RAIN, "weather.rain"),
                question_record(DESIGN, "room.design"),
            )
        write_lines(
            tmp_path / f"result/x/{NAME}_result.json",
            *({"id": TWICE, "result": reply} for reply in replies),
        )
        head = {"accuracy": 0.5, "correct_count": 2 - len(entries), "total_count": 2}
        write_lines(tmp_path / f"score/x/{NAME}_score.json", head, *entries)
        return tmp_path

    return make


def entry(text: str, name: str, reply: str) -> dict[str, Any]:
    error = {"error": ["no call"], "error_type": "relevance_error:decoder_failed"}
    return {
        "id": TWICE,
        "model_name": "x",
        "valid": False,
        **error,
        "prompt": question_record(text, name),
        "model_result": reply,
    }


@pytest.mark.parametrize("is_reversed", [False, True])
def test_duplicate_id_gives_two_items(
    write_duplicate_ids: Any, plans: Any, items: Any, is_reversed: bool
) -> None:
    replies = ["[weather.rain(x='Rome')]", "I would use room.design."]
    run = write_duplicate_ids(
        replies[::-1] if is_reversed else replies, [entry(DESIGN, "room.design", replies[1])]
    )
    (plan,) = plans(run)
    found, issues = items(plan)
    assert [(item.id, item.question, item.official) for item in found] == [
        (TWICE, RAIN, True),
        (f"{TWICE}#2", DESIGN, False),
    ]
    assert [item.rule for item in found] == [True, False]
    assert found[0].predicted[0].name == "weather.rain"
    assert found[1].extra.score_record is not None
    assert not any("occurs again" in what for what in issue_texts(issues))
    assert not any(item.issues for item in found)


def test_single_result_of_duplicate_id_follows_function(
    write_duplicate_ids: Any, plans: Any, items: Any
) -> None:
    (plan,) = plans(write_duplicate_ids(["[room.design(x='a')]"], []))
    found, _ = items(plan)
    assert [(item.id, item.question) for item in found] == [(f"{TWICE}#2", DESIGN)]


def test_duplicate_id_without_dataset_uses_score_count(
    write_duplicate_ids: Any, plans: Any, items: Any
) -> None:
    run = write_duplicate_ids(
        ["[weather.rain(x='Rome')]", "No."], [entry(DESIGN, "room.design", "No.")], data=False
    )
    (plan,) = plans(run)
    found, _ = items(plan)
    assert official_verdicts(found) == {TWICE: True, f"{TWICE}#2": False}


def test_duplicate_record_is_one_item(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(
        v4 / RESULT,
        result(f"{CATEGORY}_0", 99),
        result(f"{CATEGORY}_0"),
        result(f"{CATEGORY}_1", 11),
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == {f"{CATEGORY}_0": True, f"{CATEGORY}_1": False}
    assert found[0].predicted[0].arguments["base"] == 10
    assert any("occurs again" in what for what in issue_texts(issues))


def test_score_entry_with_other_reply_is_reported(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, *(result(f"{CATEGORY}_{n}", 11 + n) for n in range(2)))
    write_lines(v4 / SCORE, header(0, 2), *(failure(f"{CATEGORY}_{n}") for n in range(2)))
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert (found[0].issues, found[0].flags) == ([], [])
    (issue,) = found[1].issues
    assert issue.severity == "error"
    assert "the replies in the result file and the score file differ" in issue.what
    assert "11" in issue.what
    assert issue.line == 3
    assert found[1].flags == ["other_reply"]
    assert [item.official for item in found] == [False, False]


def test_python_text_of_reply_equals_reply(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, question: Any
) -> None:
    item, reply = f"{CATEGORY}_1", [{"area": "[1]"}]
    write_lines(v4 / RESULT, {"id": item, "result": reply})
    entry = failure(item, prompt=question(item), model_result_raw=str(reply))
    write_lines(v4 / SCORE, header(0, 1), entry)
    (plan,) = plans(v4)
    assert items(plan)[0][0].issues == []


def test_first_of_two_score_entries_decides(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any
) -> None:
    name, item = "BFCL_v3_multi_turn_base", "multi_turn_base_0"
    write_lines(
        tmp_path / f"result/x/{name}_result.json",
        {"id": item, "result": "Error during inference: gone"},
    )

    def entry(kind: str, words: str) -> dict[str, Any]:
        error = {"error_message": [words], "error_type": f"multi_turn:{kind}"}
        return {
            "id": item,
            "valid": False,
            "error": error,
            "model_result": "Error during inference: gone",
        }

    entries = [entry("inference_error", "no list"), entry("force_terminated", "too few turns")]
    write_lines(tmp_path / f"score/x/{name}_score.json", header(1, 2), *entries)
    (plan,) = plans(tmp_path)
    (found,), issues = items(plan)
    assert (found.official, found.error_type) == (False, "multi_turn:inference_error")
    assert found.verdicts[0].rationale == "no list\nthen multi_turn:force_terminated: too few turns"
    assert found.flags == []
    (notice,) = [issue for issue in issues if "two score entries" in issue.what]
    assert (notice.severity, "1 failed request with" in notice.what) == ("notice", True)
    assert not any("passes are unknown" in what for what in issue_texts(issues))


BEFORE = "gorilla_openfunctions_v1_test_simple"


def test_golden_answers_before_july_2024_are_whole_records(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, question: Any
) -> None:
    record = question("simple_0", v1=True)
    del record["id"]
    write_lines(tmp_path / f"data/{BEFORE}.json", record)
    write_lines(
        tmp_path / f"data/possible_answer/{BEFORE}.json", {"area": {"base": [10], "height": [5]}}
    )
    reply = [{"area": '{"base": 10, "height": 5}'}]
    write_lines(
        tmp_path / f"result/gpt-4-0613-FC/{BEFORE}_result.json", {"idx": 0, "result": reply}
    )
    (plan,) = plans(tmp_path)
    (item,), _ = items(plan)
    assert item.golden[0].name == "area"
    assert item.rule is True
    assert item.issues == []


@pytest.mark.parametrize("same", ["question", "golden"])
def test_dataset_is_chosen_by_content_without_ids(
    tmp_path: Path,
    plans: Any,
    write_lines: Any,
    question: Any,
    header: Any,
    failure: Any,
    same: str,
) -> None:
    record = question("simple_0", v1=True)
    del record["id"]
    golden = {"area": {"base": [10], "height": [5]}}
    other = {**record, "question": "Another one?"} if same == "question" else record
    for folder, each, answer in (
        ("a", other, {"area": {"base": [1], "height": [5]}}),
        ("b", record, golden),
    ):
        write_lines(tmp_path / f"{folder}/{BEFORE}.json", each)
        write_lines(tmp_path / f"{folder}/possible_answer/{BEFORE}.json", answer)
    write_lines(tmp_path / f"runs/result/m/{BEFORE}_result.json", {"idx": 0, "result": "no"})
    entry = failure(1, prompt=record, possible_answer=golden, model_result_raw="no")
    write_lines(tmp_path / "runs/score/m/simple_score.json", header(0, 1), entry)
    (plan,) = plans(tmp_path / "runs", data=[tmp_path / "a", tmp_path / "b"])
    assert plan.run.dataset == str(tmp_path / "b")


def with_key(question: dict[str, Any], key: str) -> dict[str, Any]:
    text = f"How large is it? Use the key '{key}'."
    return {**question, "question": [[{"role": "user", "content": text}]]}


def test_key_placeholder_is_same_dataset_version(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    header: Any,
    failure: Any,
    result: Any,
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(3)]
    write_lines(
        v4 / f"data/BFCL_v4_{CATEGORY}.json",
        *(with_key(question(item), "YOUR-RAPID-API-KEY") for item in ids),
    )
    write_lines(v4 / RESULT, *(result(item, 11) for item in ids))
    entries = [failure(item, prompt=with_key(question(item), "RAPID-API-KEY")) for item in ids[1:]]
    write_lines(v4 / SCORE, header(1, 3), *entries)
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert not any("another version" in what for what in issue_texts(issues))
    assert [item.issues for item in found] == [[], [], []]


def test_one_different_entry_keeps_category_joined(
    v4: Path, plans: Any, items: Any, write_lines: Any, question: Any, header: Any, failure: Any
) -> None:
    item = f"{CATEGORY}_1"
    other = question(item, "How long is it?")
    write_lines(v4 / SCORE, header(1, 2), failure(item, prompt=other))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [one.question for one in found] == ["How large is it?", "How long is it?"]
    assert found[0].golden
    assert any("differs from the dataset" in what for what in issue_texts(found[1].issues))
    assert not any("another version" in what for what in issue_texts(issues))
