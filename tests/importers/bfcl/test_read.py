"""Items are joined with scores and dataset; odd, huge, undecodable and redacted records become
items too.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.items import CategoryContext
from fcreview.importers.bfcl.joining import Results
from fcreview.importers.bfcl.read import JoinedCategory, choose_dataset_item
from fcreview.importers.bfcl.scores import ScoreEntry, ScoreFile
from tests.importers.bfcl.conftest import (
    CATEGORY,
    OFFICIAL,
    RESULT,
    SCORE,
    issue_texts,
    official_verdicts,
)


def test_small_run_is_complete(v4: Path, plans: Any, items: Any) -> None:
    (plan,) = plans(v4)
    (right, wrong), issues = items(plan)
    assert issues == []
    assert official_verdicts([right, wrong]) == OFFICIAL
    assert (right.id, right.category, right.question) == (
        "simple_python_0",
        CATEGORY,
        "How large is it?",
    )
    assert (right.tokens_in, right.tokens_out, right.latency) == (7, None, 0.5)
    assert [(call.name, call.arguments) for call in right.predicted] == [
        ("area", {"base": 10, "height": 5})
    ]
    assert right.golden[0].arguments is not None
    assert right.golden[0].arguments["base"].any_of == [10]
    assert [pair.state for pair in right.pairs] == ["="]
    assert [pair.state for pair in wrong.pairs] == ["!"]
    assert (right.rule, wrong.rule) == (True, False)
    assert (wrong.error_type, wrong.rule_error_type) == ("value_error:others", "value_error:others")
    assert (wrong.diff_function, wrong.diff_argument) == ("area", "base")
    assert "11" in (wrong.first_difference or "")
    assert (right.first_difference, right.diff_function) == (None, None)
    official = wrong.verdicts[0]
    assert (official.source, official.value, official.by) == (
        "official",
        False,
        f"BFCL_v4_{CATEGORY}_score.json",
    )
    assert official.rationale == "Invalid value for parameter 'base': 11."
    assert right.functions is not wrong.functions
    assert right.prediction_hash != wrong.prediction_hash
    assert right.golden_hash == wrong.golden_hash != ""
    assert plan.run.official_metrics[CATEGORY]["correct_count"] == 1
    with Path(wrong.file).open("rb") as file:
        file.seek(wrong.offset)
        assert json.loads(file.read(wrong.length))["id"] == wrong.id
    assert wrong.line == 2


def test_results_without_scores_have_no_official_verdict(v4: Path, plans: Any, items: Any) -> None:
    (v4 / SCORE).unlink()
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert [item.official for item in found] == [None, None]
    assert [item.rule for item in found] == [True, False]


def test_results_without_dataset_are_items(v4: Path, plans: Any, items: Any) -> None:
    (v4 / "data").rename(v4.parent / f"{v4.name}-gone")
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert any("no BFCL V4 dataset" in what for what in issue_texts(plan.issues))
    right, wrong = found
    assert official_verdicts(found) == OFFICIAL
    assert right.predicted[0].name == "area"
    assert right.golden == []
    assert wrong.golden[0].name == "area"  # repeated in the score entry
    assert wrong.question == "How large is it?"
    assert (right.rule, wrong.rule) == (None, False)


def test_scores_without_results(v4: Path, plans: Any, items: Any) -> None:
    (v4 / RESULT).unlink()
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == {f"{CATEGORY}_1": False}
    assert found[0].predicted[0].arguments == {"base": 11, "height": 5}
    assert any(
        "no result file" in what and "1 passing items" in what for what in issue_texts(issues)
    )
    assert found[0].file.endswith("_score.json")


@pytest.mark.parametrize("has_results", [True, False])
def test_official_verdict_lists_all_score_entries(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, has_results: bool
) -> None:
    item_id = f"{CATEGORY}_1"
    write_lines(
        v4 / SCORE, header(1, 2), failure(item_id), failure(item_id, error=["Second error."])
    )
    if not has_results:
        (v4 / RESULT).unlink()
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert any("scored more than once" in what for what in issue_texts(issues))
    verdict = found[-1].verdicts[0]
    assert (
        verdict.rationale
        == "Invalid value for parameter 'base': 11.\nthen value_error:others: Second error."
    )


def test_v1_positions_and_number_ids(
    tmp_path: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    result: Any,
    header: Any,
    failure: Any,
) -> None:
    name = "gorilla_openfunctions_v1_test_simple"
    write_lines(
        tmp_path / f"data/{name}.json", *(question(f"simple_{n}", v1=True) for n in range(12))
    )
    records = [result(n, 11 if n in (0, 10) else 10, key="idx") for n in range(12)]
    write_lines(tmp_path / f"result/m/{name}_result.json", *records)
    write_lines(tmp_path / "score/m/simple_score.json", header(10, 12), failure(1), failure(11))
    (plan,) = plans(tmp_path)
    found, issues = items(plan)
    (missing,) = issue_texts(issues)
    assert missing == "12 of 12 results have no golden answer because this file does not exist"
    assert not any(item.issues for item in found)
    assert [item.id for item in found] == [f"simple_{n}" for n in range(12)]
    assert [item.id for item in found if item.official is False] == ["simple_0", "simple_10"]
    assert {item.official for item in found} == {True, False}


def test_unsorted_results_come_in_dataset_order(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, result(f"{CATEGORY}_1", 11), result(f"{CATEGORY}_0"))
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert [(item.id, item.line) for item in found] == [(f"{CATEGORY}_0", 2), (f"{CATEGORY}_1", 1)]


def test_last_of_duplicate_ids_counts(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(
        v4 / RESULT,
        result(f"{CATEGORY}_0", 99),
        result(f"{CATEGORY}_1", 11),
        result(f"{CATEGORY}_0"),
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert found[0].line == 3
    assert [(issue.item, issue.line) for issue in issues] == [(f"{CATEGORY}_0", 3)]


def test_truncated_last_line(v4: Path, plans: Any, items: Any) -> None:
    path = v4 / RESULT
    path.write_bytes(path.read_bytes()[:-30])
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL  # the second has the data of its score entry
    assert any(
        "cut off" in issue.what and issue.line == 2 and issue.file == str(path) for issue in issues
    )
    assert any("no result record" in what for what in issue_texts(issues))


def test_empty_result_file(v4: Path, plans: Any, items: Any) -> None:
    (v4 / RESULT).write_bytes(b"")
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == {f"{CATEGORY}_1": False}
    assert any("empty" in what for what in issue_texts(issues))


def test_unscored_results_leave_passes_unknown(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(3)]
    write_lines(v4 / RESULT, result(ids[0]), result(ids[1], 11), result(ids[2]))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == {ids[0]: None, ids[1]: False, ids[2]: None}
    assert any(
        "2 items of simple_python were scored, but the run has 3" in what
        for what in issue_texts(issues)
    )
    assert any("not in the dataset" in what for what in issue_texts(found[2].issues))


def test_partial_evaluation_counts_present_items(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"))
    write_lines(v4 / SCORE, {"accuracy": 1.0, "correct_count": 1, "total_count": 1})
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert (official_verdicts(found), issues) == ({f"{CATEGORY}_0": True}, [])


def test_other_question_with_same_id_is_not_joined(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    result: Any,
    header: Any,
    failure: Any,
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(3)]
    answer = [{"area": {"base": [12], "height": [5]}}]
    write_lines(v4 / f"data/BFCL_v4_{CATEGORY}.json", *(question(item) for item in ids))
    write_lines(v4 / RESULT, *(result(item, 11) for item in ids))
    write_lines(
        v4 / SCORE,
        header(0, 3),
        failure(ids[0], prompt=question(ids[0])),
        failure(ids[1], prompt=question(ids[1], "How long?"), possible_answer=answer),
        failure(ids[2], prompt=question(ids[2])),
    )
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert [item.question for item in found] == [
        "How large is it?",
        "How long?",
        "How large is it?",
    ]
    assert found[1].golden[0].arguments["base"].any_of == [12]
    assert "differs from the dataset" in found[1].issues[0].what
    assert found[0].issues == []


def test_dataset_of_other_version_is_not_joined(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    result: Any,
    header: Any,
    failure: Any,
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(3)]
    write_lines(
        v4 / f"data/BFCL_v4_{CATEGORY}.json", *(question(item, "Something else?") for item in ids)
    )
    write_lines(v4 / RESULT, *(result(item, 11) for item in ids))
    write_lines(
        v4 / SCORE, header(1, 3), *(failure(item, prompt=question(item)) for item in ids[1:])
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [item.question for item in found] == ["", "How large is it?", "How large is it?"]
    assert any("another version" in issue.what and issue.severity == "error" for issue in issues)


def test_dataset_is_joined_if_half_of_the_questions_differ(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    result: Any,
    header: Any,
    failure: Any,
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(4)]
    write_lines(v4 / f"data/BFCL_v4_{CATEGORY}.json", *(question(item) for item in ids))
    write_lines(v4 / RESULT, *(result(item, 11) for item in ids))
    entries = [
        failure(item, prompt=question(item, "How long?" if item in ids[2:] else "How large is it?"))
        for item in ids
    ]
    write_lines(v4 / SCORE, header(0, 4), *entries)
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [item.question for item in found] == ["How large is it?"] * 2 + ["How long?"] * 2
    assert not any("another version" in issue.what for issue in issues)


def test_location_of_score_entry_is_kept(v4: Path, plans: Any, items: Any) -> None:
    (plan,) = plans(v4)
    found, _ = items(plan)
    place = found[1].extra.score_record
    with Path(place.file).open("rb") as file:
        file.seek(place.offset)
        assert json.loads(file.read(place.length))["id"] == found[1].id


def test_agentic_items_show_accepted_answers_and_documents(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any
) -> None:
    data = tmp_path / "data"
    record = {
        "id": "memory_3-customer-3",
        "question": [[{"role": "user", "content": "Name?"}]],
        "involved_classes": ["MemoryAPI"],
        "scenario": "customer",
    }
    write_lines(data / "BFCL_v4_memory.json", record)
    write_lines(
        data / "possible_answer/BFCL_v4_memory.json",
        {"id": record["id"], "ground_truth": ["Michael", "Mike"]},
    )
    write_lines(
        data / "multi_turn_func_doc/memory_kv.json",
        {"name": "archival_memory_add", "parameters": {}},
    )
    item_id = "memory_kv_3-customer-3"
    said_last = "{'answer': 'Bob'}"
    write_lines(
        tmp_path / "result/m/agentic/memory/kv/BFCL_v4_memory_kv_result.json",
        {"id": item_id, "result": [[[{"archival_memory_add": "{}"}], said_last]]},
    )
    write_lines(
        tmp_path / "score/m/agentic/memory/kv/BFCL_v4_memory_kv_score.json",
        header(0, 1),
        {
            "id": item_id,
            "valid": False,
            "prompt": record["question"],
            "possible_answer": ["Michael", "Mike"],
            "error": {
                "error_message": "None of the expected answers.",
                "error_type": "agentic:answer_not_found",
            },
        },
    )
    (plan,) = plans(tmp_path / "result")
    (item,), issues = items(plan)
    assert (item.issues, issues) == ([], [])
    assert item.id == item_id
    assert item.extra.accepted_answers == ["Michael", "Mike"]
    assert item.extra.final_answer == said_last
    assert [call.name for call in item.predicted] == ["archival_memory_add"]
    assert [document["name"] for document in item.functions] == ["archival_memory_add"]
    assert {verdict.target: verdict.value for verdict in item.verdicts} == {
        "item": False,
        "response": False,
    }
    assert item.pairs == []
    assert "imported" in (item.rule_note or "")


def test_format_sensitivity_items_use_original_items(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any
) -> None:
    config = (
        "ret_fmt=python&tool_call_tag=False&func_doc_fmt=python&prompt_fmt=plaintext&style=classic"
    )
    name = f"format_sensitivity_0:{config}:simple_python_1"
    (v4 / RESULT).unlink()  # native calls, which models of this category do not write
    (v4 / SCORE).unlink()
    write_lines(
        v4 / "result/m/format_sensitivity/BFCL_v4_format_sensitivity_result.json",
        {"id": name, "result": "[area(base=10, height=5)]"},
    )
    write_lines(
        v4 / "score/m/format_sensitivity/BFCL_v4_format_sensitivity_score.json", header(1, 1)
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    item = next(item for item in found if item.category == "format_sensitivity")
    assert issues == []
    assert (item.id, item.question, item.official, item.rule) == (
        name,
        "How large is it?",
        True,
        True,
    )
    assert (item.setting, item.extra.metadata["original"]) == (config, "simple_python_1")


def test_duplicate_dataset_id_is_reported(v4: Path, plans: Any, items: Any) -> None:
    path = next(v4.rglob("data/BFCL_v4_*.json"))
    first = path.read_text().splitlines()[0]
    path.write_text(path.read_text().rstrip("\n") + "\n" + first.replace("?", " now?") + "\n")
    (plan,) = plans(v4)
    _, issues = items(plan)
    assert any("is in the dataset more than once" in issue.what for issue in issues)


@pytest.mark.parametrize("record", [{"note": 1}, {}, ["result"], 3])
def test_line_that_is_no_result_record_is_reported(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any, record: Any
) -> None:
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"), record)
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert found[0].id == f"{CATEGORY}_0" and found[0].predicted
    assert [issue.line for issue in issues if "not a result record" in issue.what] == [2]


def test_unknown_fields_are_kept_and_reported_once(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, *({**result(f"{CATEGORY}_{n}", 10 + n), "cost": n} for n in range(2)))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [item.extra.metadata["cost"] for item in found] == [0, 1]
    assert [(issue.severity, "cost" in issue.what) for issue in issues] == [("notice", True)]


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        True,
        "",
        [],
        {},
        [None],
        [[]],
        [{}],
        [{"area": None}],
        [{"area": [1]}],
        {"area": {"base": 1}},
        [{"area": '{"base": NaN}'}],
        [{"area": '{"base": 1e999}'}],
        [{"area": "[" * 5000}],
        "area(" * 3000,
        [{"tool_name": "area", "parameters": {"base": 10, "height": 5}}],
        {"a": [[[[]]]]},
        ["text", {"area": "{}"}],
        "[area(base=" + "[" * 90 + "]" * 90 + ")]",
        "[area(base=10, height=5)]\u0000\x1b[2J",
    ],
    ids=itertools.count(),
)
def test_odd_results_are_items(
    v4: Path, plans: Any, items: Any, write_lines: Any, value: Any
) -> None:
    write_lines(v4 / RESULT, {"id": f"{CATEGORY}_0", "result": value})
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert found[0].issues == []
    assert found[0].prediction_hash


def test_deep_nesting_keeps_item(v4: Path, plans: Any, items: Any) -> None:
    deep = (
        b'{"id": "simple_python_0", "result": [{"area": {"base": '
        + b"[" * 600
        + b"]" * 600
        + b"}}]}\n"
    )
    scored = (
        b'{"id": "simple_python_1", "result": [{"area": {"base": 11, "height": 5}}], "latency":'
        b' "\xff"}'
    )
    (v4 / RESULT).write_bytes(deep + scored)
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert any("not UTF-8" in what for what in issue_texts(issues))


@pytest.mark.sweep
@pytest.mark.slow
def test_line_of_50_mb_is_item_with_its_beginning(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(
        v4 / RESULT,
        {"id": f"{CATEGORY}_0", "result": "[area(" + "x" * 50_000_000},
        result(f"{CATEGORY}_1", 11),
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert len(orjson.dumps(found[0])) < 4_000_000
    assert [(issue.line, "50 MB" in issue.what) for issue in issues] == [(1, True)]


def test_undecodable_output_names_no_function(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    text = "I would call area(base=, height=5)"
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"), {"id": f"{CATEGORY}_1", "result": text})
    (plan,) = plans(v4)
    (_, item), _ = items(plan)
    assert (item.rule_error_type, item.diff_function, item.diff_argument) == (
        "ast_decoder:decoder_failed",
        None,
        None,
    )
    assert item.first_difference
    assert [(call.name, call.arguments, call.raw) for call in item.predicted] == [("", None, text)]
    assert item.predicted[0].decode_error


@pytest.mark.parametrize(
    ("golden", "predicted", "argument", "text"),
    [
        # The checker looks at `price` first, the comparison at `prices`.
        ({"prices": [1], "price": [2]}, {"price": 3, "prices": 4}, "price", "price: 3 is not one"),
        ({"unit.price": [2]}, {"unit.price": 3}, "unit.price", '["unit.price"] 3 (golden 2)'),
    ],
)
def test_text_of_first_difference_is_of_the_failing_argument(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    golden: dict[str, list[int]],
    predicted: dict[str, int],
    argument: str,
    text: str,
) -> None:
    name = f"{CATEGORY}_0"
    parameters = {
        "type": "dict",
        "properties": {each: {"type": "integer"} for each in golden},
        "required": list(golden),
    }
    question = {
        "id": name,
        "question": [[{"role": "user", "content": "How much?"}]],
        "function": [{"name": "buy", "description": "Buy.", "parameters": parameters}],
    }
    answer = {"id": name, "ground_truth": [{"buy": golden}]}
    write_lines(v4 / f"data/BFCL_v4_{CATEGORY}.json", question)
    write_lines(v4 / f"data/possible_answer/BFCL_v4_{CATEGORY}.json", answer)
    write_lines(v4 / RESULT, {"id": name, "result": [{"buy": json.dumps(predicted)}]})
    (v4 / SCORE).unlink()
    (plan,) = plans(v4)
    ((item,), _) = items(plan)
    assert (item.rule, item.diff_function, item.diff_argument) == (False, "buy", argument)
    assert (item.first_difference or "").startswith(text)


def test_malformed_quoted_question_keeps_category_of_original_item() -> None:
    """Items of `format_sensitivity` are items of other categories."""
    prompt = {"question": [[]], "function": [], "missed_function": {"0": 5}}
    entry = ScoreEntry("x", 1, offset=0, length=1, loaded_record={"prompt": prompt})
    name = "format_sensitivity"
    category = JoinedCategory(
        CategoryContext("V4", name, decoder=Decoder("unused", lambda result, context: [])),
        dataset=Dataset(),
        results=Results(name),
        scores=ScoreFile(),
    )
    chosen = choose_dataset_item(category, "simple_python_1", entry, "file", 1)
    assert (chosen.item.id, chosen.item.category) == ("simple_python_1", "simple_python")
    assert chosen.item.turns == []


def test_keys_of_third_parties_are_redacted(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    hidden = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    name = "gorilla_openfunctions_v1_test_rest"
    call = (
        f"requests.get(url='https://a.b/c', headers={{'X-RapidAPI-Key': '{hidden}'}}, params={{'q':"
        f" 'Tokyo, Japan'}})"
    )
    document = {
        "name": "requests.get",
        "parameters": {"type": "dict", "properties": {"key": {"type": "string"}}},
    }
    record = {
        "id": "rest_0",
        "question": f"My API key is '{hidden}'. The weather?",
        "function": document,
    }
    native = [
        {
            "requests.get": json.dumps(
                {"url": "https://a.b", "params": {"api_key": hidden, "q": "x"}}
            )
        }
    ]
    write_lines(
        tmp_path / f"result/m/{name}_result.json",
        {"id": "rest_0", "result": call},
        {"id": "rest_1", "result": native},
    )
    entry = failure(1, prompt=record, model_result_raw=call, error=[f"key {hidden} refused"])
    write_lines(tmp_path / "score/m/rest_score.json", header(1, 2), entry)
    (plan,) = plans(tmp_path)
    found, issues = items(plan)
    assert len(found) == 2
    written = orjson.dumps([found, issues]).decode()
    assert hidden not in written
    assert "Tokyo, Japan" in written
    assert "https://a.b/c" in written
    assert all(item.extra.redacted for item in found)
