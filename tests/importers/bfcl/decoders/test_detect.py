"""The decoder of a run follows from the model name, the options, or the files of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME, MODELS_BY_VERSION, find_model_decoder
from fcreview.importers.bfcl.items import DECODER_FIELD
from tests.importers.bfcl.conftest import CATEGORY, RESULT, SCORE

N = '{"name": "area", "arguments": {"base": 10, "height": 5}}'


@pytest.mark.parametrize(
    ("rules", "model", "decoder"),
    [
        ("V1", "mistral-large-2407-FC-Any", "FC"),
        ("V1", "firefunction-v2-FC", "FC-DOTTED"),
        ("V1", "gemini-1.5-pro-preview-0514", "FC-G"),
        ("V1", "command-r-plus-FC-optimized", "FC-O"),
        ("V1", "gpt-4-0613", "BARE"),
        ("V1", "open-mixtral-8x22b", "MISTRAL"),
        ("V1", "Salesforce_xLAM-1b-fc-r", "XLAM1"),
        ("V3", "DeepSeek-V3", "FC"),
        ("V3", "gemini-2.0-pro-exp-02-05", "GEMINI"),
        ("V3", "Salesforce_xLAM-7b-r", "NAMEARG"),
        ("V3", "Salesforce_Llama-xLAM-2-8b-fc-r", "XLAM2"),
        ("V3", "meta-llama_Llama-3.3-70B-Instruct-FC", "LLAMAFC"),
        ("V3", "openbmb_MiniCPM3-4B", "PROMPT"),
        ("V3", "Qwen_Qwen2.5-72B-Instruct", "PROMPT"),
        ("V3", "gpt-4o-2024-11-20", "PROMPT"),
        ("V3", "deepseek-ai_DeepSeek-V2-Lite-Chat", "PHI"),
        ("V4", "meta-llama_Llama-3.3-70B-Instruct-FC", "PROMPT"),
        ("V4", "meta-llama_llama-4-scout-17b-16e-instruct-FC-novita", "FC"),
        ("V4", "qwen3-235b-a22b-instruct-2507-FC", "FC-DOTTED"),
        ("V4", "qwen3-32b-FC", "FC"),
        ("V4", "Qwen_Qwen3-32B-FC", "TAGS"),
        ("V4", "BitAgent_BitAgent-Bounty-8B", "JSON"),
        ("V4", "xiaoming-14B", "NAMEARG"),
        ("V4", "claude-sonnet-4-5-20250929", "PROMPT"),
        ("V4", "open-mistral-nemo-2407", "PROMPT"),
    ],
)
def test_table_names_decoder_of_model(rules: str, model: str, decoder: str) -> None:
    found = find_model_decoder(model, rules)
    assert (found.decoder.name, found.is_certain) == (decoder, (rules, decoder) != ("V3", "XLAM2"))


def test_table_has_only_known_decoders() -> None:
    assert {decoder for rows in MODELS_BY_VERSION.values() for _, decoder in rows} <= DECODERS_BY_NAME.keys()


def rename_model(run: Path, model: str) -> Path:
    for role in ("result", "score"):
        (run / role / "m").rename(run / role / model)
    return run


def read_with_decoder(run: Path, plans: Any, items: Any, **options: str) -> tuple[list[Any], list[Any]]:
    (plan,) = plans(run)
    plan.options = options
    found, issues = items(plan)
    return found, issues


@pytest.mark.parametrize(
    ("reply", "decoder"),
    [
        (f"<tool_call>\n{N}\n</tool_call>", "TAGS"),
        (f"[{N}]", "JSON"),
        ("[area(base=10, height=5)]", "PROMPT"),
        ([{"area": '{"base": 10, "height": 5}'}], "FC"),
        ([{"area": {"base": 10, "height": 5}}], "LIST"),
    ],
)
def test_unknown_model_uses_decoder_of_most_replies(
    v4: Path, plans: Any, items: Any, write_lines: Any, reply: Any, decoder: str
) -> None:
    records = [{"id": f"{CATEGORY}_{n}", "result": reply} for n in range(2)]
    write_lines(v4 / RESULT, *records)
    (v4 / SCORE).unlink()
    found, issues = read_with_decoder(v4, plans, items)
    (name,) = {item.extra.metadata[DECODER_FIELD] for item in found}
    assert name == decoder
    assert all(item.rule for item in found)
    is_reported = any("the decoder of model m is not certain" in issue.what for issue in issues)
    assert is_reported == (decoder in ("TAGS", "JSON"))  # unusual for an unknown model


def test_scores_show_python_prompts_of_unknown_model(
    v4: Path, plans: Any, items: Any, write_lines: Any, question: Any, header: Any, failure: Any
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(2)]
    write_lines(v4 / RESULT, *({"id": item, "result": f"[{N}]"} for item in ids))
    wrong = {"error_type": "ast_decoder:decoder_failed", "model_result_raw": f"[{N}]"}
    write_lines(v4 / SCORE, header(0, 2), *(failure(item, prompt=question(item), **wrong) for item in ids))
    found, _ = read_with_decoder(v4, plans, items)
    assert [item.rule_error_type for item in found] == ["ast_decoder:decoder_failed"] * 2
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"PROMPT"}


def test_known_model_uses_decoder_of_table(v4: Path, plans: Any, items: Any, write_lines: Any) -> None:
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": f"[{N}]"} for n in range(2)))
    found, _ = read_with_decoder(rename_model(v4, "gpt-4o-2024-11-20"), plans, items)
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"PROMPT"}
    assert found[0].rule is False


def test_decoder_option_overrides_table(v4: Path, plans: Any, items: Any, write_lines: Any) -> None:
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": f"[{N}]"} for n in range(2)))
    found, _ = read_with_decoder(rename_model(v4, "gpt-4o-2024-11-20"), plans, items, decoder="json")
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"JSON"}
    assert found[0].rule is True
    _, issues = read_with_decoder(v4, plans, items, decoder="nonsense")
    assert any("no decoder 'nonsense'" in issue.what for issue in issues)


OPTIONS = {"options": {"kind": "bar", "limit": 10}}
DRAW = {
    "name": "drawChart",
    "parameters": {"type": "dict", "properties": {"options": {"type": "dict"}}, "required": ["options"]},
}


@pytest.mark.parametrize(("error", "expected"), [(None, True), ("type_error:js", False)])
@pytest.mark.parametrize("outer", ["", "-BFCL"])
def test_scores_show_whether_native_arguments_became_text(
    tmp_path: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    header: Any,
    failure: Any,
    outer: str,
    error: Any,
    expected: bool,
) -> None:
    name = "gorilla_openfunctions_v1_test_javascript"
    write_lines(tmp_path / f"data/{name}.json", {"id": "javascript_0", "question": "Draw.", "function": DRAW})
    golden = {"drawChart": {"options": [{"kind": ["bar"], "limit": [10]}]}}
    write_lines(tmp_path / f"data/possible_answer/{name}.json", {"id": "javascript_0", "ground_truth": golden})
    result = [{"drawChart": json.dumps(OPTIONS)}]
    write_lines(tmp_path / f"result{outer}/gpt-4-0613-FC/{name}_result.json", {"id": 0, "result": result})
    entries = [failure(1, error_type=error, model_result_raw=result)] if error else []
    write_lines(tmp_path / f"score{outer}/gpt-4-0613-FC/javascript_score.json", header(1 - len(entries), 1), *entries)
    (plan,) = plans(tmp_path / f"result{outer}", data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert (item.official, item.rule, item.rule_error_type) == (expected, expected, error)


@pytest.mark.parametrize(("date", "expected"), [("2024-07-06", True), ("2024-07-20", False)])
def test_date_in_path_decides_without_scores(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, date: str, expected: bool
) -> None:
    name = "gorilla_openfunctions_v1_test_javascript"
    write_lines(tmp_path / f"data/{name}.json", {"id": "javascript_0", "question": "Draw.", "function": DRAW})
    golden = {"drawChart": {"options": [{"kind": ["bar"], "limit": [10]}]}}
    write_lines(tmp_path / f"data/possible_answer/{name}.json", {"id": "javascript_0", "ground_truth": golden})
    result = [{"drawChart": json.dumps(OPTIONS)}]
    write_lines(tmp_path / f"{date}/result/gpt-4-0613-FC/{name}_result.json", {"id": 0, "result": result})
    (plan,) = plans(tmp_path / date, data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert item.rule is expected


@pytest.mark.parametrize(
    ("error", "decoder"), [("ast_decoder:decoder_failed", "PROMPT"), ("value_error:others", "PHI")]
)
def test_scores_show_decoder_of_late_v3_model(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, error: str, decoder: str
) -> None:
    reply = "```python\n[area(base=11, height=5)]\n```"
    name, item = "BFCL_v3_simple", "simple_0"
    write_lines(tmp_path / f"result/microsoft_phi-4/{name}_result.json", {"id": item, "result": reply})
    entry = failure(item, error_type=error, model_result_raw=reply)
    write_lines(tmp_path / f"score/microsoft_phi-4/{name}_score.json", header(0, 1), entry)
    (plan,) = plans(tmp_path)
    (found,), _ = items(plan)
    assert found.extra.metadata[DECODER_FIELD] == decoder


PAIR = {
    "name": "f",
    "parameters": {
        "type": "dict",
        "properties": {"first": {"type": "String"}, "second": {"type": "integer"}},
        "required": ["first", "second"],
    },
}


@pytest.mark.parametrize(
    ("version", "folder"), [("V3", "result"), ("V1", "result"), ("V1", "result-BFCL")], ids=["V3", "V1", "early V1"]
)
def test_failure_at_earlier_argument_decides_nothing(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any, version: str, folder: str
) -> None:
    """No score entry decides for the second item, so the version and the folder do."""
    v1 = version == "V1"
    name = "gorilla_openfunctions_v1_test_java" if v1 else "BFCL_v3_java"
    score_name = "java_score" if v1 else "BFCL_v3_java_score"
    questions = [{"id": f"java_{n}", "question": "Call f." if v1 else [[]], "function": [PAIR]} for n in range(2)]
    golden: Any = {"f": {"first": ["a"], "second": [5]}}
    answers = [{"id": f"java_{n}", "ground_truth": golden if v1 else [golden]} for n in range(2)]
    write_lines(tmp_path / f"data/{name}.json", *questions)
    write_lines(tmp_path / f"data/possible_answer/{name}.json", *answers)
    replies = [[{"f": json.dumps({"first": "other", "second": 5})}], [{"f": json.dumps({"second": 5, "first": "b"})}]]
    records = [{"id": f"java_{n}", "result": reply} for n, reply in enumerate(replies)]
    write_lines(tmp_path / f"{folder}/gpt-4-0613-FC/{name}_result.json", *records)
    error = "Invalid value for parameter 'first': 'other'. Expected one of ['a']. Case insensitive."
    entries = [
        failure(1, error_type="value_error:string", error=[error], model_result_raw=replies[0]),
        failure(2, error_type="simple_function_checker:unclear", model_result_raw=replies[1]),
    ]
    score_folder = folder.replace("result", "score")
    write_lines(tmp_path / f"{score_folder}/gpt-4-0613-FC/{score_name}.json", header(0, 2), *entries)
    (plan,) = plans(tmp_path / folder, data=[tmp_path / "data"])
    (first, second), _ = items(plan)
    assert first.rule_error_type == "value_error:string"
    assert second.rule_error_type == ("value_error:string" if folder == "result-BFCL" else "type_error:java")


def test_failure_at_later_argument_shows_text_arguments(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    name = "gorilla_openfunctions_v1_test_java"
    write_lines(tmp_path / f"data/{name}.json", {"id": "java_0", "question": "Call f.", "function": [PAIR]})
    golden = {"id": "java_0", "ground_truth": {"f": {"first": ["a"], "second": [5]}}}
    write_lines(tmp_path / f"data/possible_answer/{name}.json", golden)
    result = [{"f": json.dumps({"second": 5, "first": "b"})}]
    write_lines(tmp_path / f"result/gpt-4-0613-FC/{name}_result.json", {"id": "java_0", "result": result})
    error = "Invalid value for parameter 'first': 'b'. Expected one of ['a']. Case insensitive."
    entry = failure(1, error_type="value_error:string", error=[error], model_result_raw=result)
    write_lines(tmp_path / "score/gpt-4-0613-FC/java_score.json", header(0, 1), entry)
    (plan,) = plans(tmp_path / "result", data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert item.rule_error_type == "value_error:string"
