"""The decoder of a run follows from the model name, the options, or the files of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.listed_models import LISTED_MODELS
from fcreview.importers.bfcl.decoders.models import MODELS_BY_VERSION, find_model_decoder
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.bfcl.items import DECODER_FIELD
from fcreview.importers.registry import read_items
from fcreview.model.item import RunFact
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
        ("V3", "meta-llama_Llama-4-Scout-17B-16E-Instruct-FC", "PROMPT"),
        ("V3", "qwen3-8b-FC", "FC"),
        ("V3", "o4-mini-2025-04-16-FC", "FC"),
        ("V3", "DeepSeek-V3-0324-FC", "FC"),
        ("V3", "grok-3-beta-FC", "FC"),
        ("V3", "qwq-32b-FC", "FC"),
        ("V3", "qwq-32b", "PROMPT"),
        ("V3", "command-a-03-2025-FC", "COHERE"),
        ("V3", "meta-llama_llama-4-scout-17b-16e-instruct-FC-novita", "FC"),
        ("V3", "Qwen_Qwen2.5-7B-Instruct-FC", "TAGS"),
        ("V3", "Qwen_Qwen3-8B-FC", "TAGS"),
        ("V3", "katanemo_Arch-Agent-7B", "LIST-STRICT"),
        ("V4", "qwen_qwq-32b-FC-novita", "FC"),
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
    assert (found.decoder.name, found.is_certain) == (decoder, True)


@pytest.mark.parametrize(
    ("rules", "model", "decoder"),
    [
        ("V4", "gpt-4o-mini-2024-07-18-FC-run1", "FC"),
        ("V4", "Qwen_Qwen3-8B-FC-GOV", "TAGS"),
        ("V4", "openai_gpt-4o-2024-11-20-FC", "FC"),
        ("V4", "GPT-4O-2024-11-20", "PROMPT"),
        ("V4", "my-gpt-4o-2024-11-20-run2-FC", "FC"),
        ("V4", "gpt-5.9-2027-01-01-FC", "FC"),
        ("V4", "nobody_maple-7b-FC", "FC"),
        ("V4", "nobody_maple-7b", "AUTO"),
        ("V3", "meta-llama_Llama-3.3-70B-Instruct-FC", "PROMPT"),  # its handler changed in 2025
        ("V2", "gpt-4o-2024-05-13-FC", "FC"),
        ("V1", "gpt-4o-2024-08-06_copy", "BARE"),
    ],
)
def test_similar_name_is_a_first_guess(rules: str, model: str, decoder: str) -> None:
    found = find_model_decoder(model, rules)
    assert (found.decoder.name, found.is_certain) == (decoder, False)


def test_tables_have_only_known_decoders() -> None:
    used = {decoder for rows in MODELS_BY_VERSION.values() for _, decoder in rows}
    used |= {decoder for models in LISTED_MODELS.values() for decoder in models}
    assert used <= DECODERS_BY_NAME.keys()


@pytest.mark.parametrize("rules", LISTED_MODELS)
def test_model_is_listed_once(rules: str) -> None:
    names = [name for names in LISTED_MODELS[rules].values() for name in names.split()]
    assert len(names) == len(set(names)) > 80


def rename_model(run: Path, model: str) -> Path:
    for folder in (run / "result/m", run / "score/m"):
        folder.rename(folder.with_name(model))
    return run


def read_decoder_fact(plan: Any) -> RunFact:
    (fact,) = [
        record
        for record in read_items(plan)
        if isinstance(record, RunFact) and record.name == "decoder"
    ]
    return fact


def read_with_decoder(
    run: Path, plans: Any, items: Any, **options: str
) -> tuple[list[Any], list[Any]]:
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
    found, _ = read_with_decoder(v4, plans, items)
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {decoder}
    assert all(item.rule for item in found)
    fact = read_decoder_fact(plans(v4)[0])
    assert (fact.value, fact.is_notable) == (decoder, True)
    assert fact.reason.startswith("a guess: no scores; finds calls in 2 of 2 replies")


def test_scores_show_python_prompts_of_unknown_model(
    v4: Path, plans: Any, items: Any, write_lines: Any, question: Any, header: Any, failure: Any
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(2)]
    write_lines(v4 / RESULT, *({"id": item, "result": f"[{N}]"} for item in ids))
    wrong = {"error_type": "ast_decoder:decoder_failed", "model_result_raw": f"[{N}]"}
    write_lines(
        v4 / SCORE, header(0, 2), *(failure(item, prompt=question(item), **wrong) for item in ids)
    )
    found, _ = read_with_decoder(v4, plans, items)
    assert [item.rule_error_type for item in found] == ["ast_decoder:decoder_failed"] * 2
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"PROMPT"}


def test_listed_model_uses_its_decoder(v4: Path, plans: Any, items: Any) -> None:
    found, _ = read_with_decoder(rename_model(v4, "gpt-4o-2024-11-20-FC"), plans, items)
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"FC"}
    assert [item.rule for item in found] == [item.official for item in found]


def test_scores_override_decoder_of_listed_model(v4: Path, plans: Any) -> None:
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20"))
    fact = read_decoder_fact(plan)
    assert fact.value == "FC"
    expected = "agrees with 1 of 1 score entry and 1 of 1 passing item; listed PROMPT agrees with 0"
    assert (fact.reason, fact.is_notable) == (expected, True)


def test_passing_items_alone_override_decoder_of_listed_model(
    v4: Path, plans: Any, write_lines: Any
) -> None:
    reply = [{"area": '{"base": 10, "height": 5}'}]
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": reply} for n in range(2)))
    write_lines(v4 / SCORE, {"accuracy": 1.0, "correct_count": 2, "total_count": 2})
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20"))
    fact = read_decoder_fact(plan)
    assert (fact.value, fact.reason) == (
        "FC",
        "agrees with 2 of 2 passing items; listed PROMPT agrees with 0",
    )


def test_form_of_replies_overrides_decoder_of_listed_model(v4: Path, plans: Any) -> None:
    (v4 / SCORE).unlink()
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20"))
    fact = read_decoder_fact(plan)
    assert fact.value == "FC"
    assert fact.reason == "a guess: no scores; finds calls in 2 of 2 replies; listed PROMPT in 0"


def test_contradiction_of_decoder_option_is_reported(v4: Path, plans: Any, items: Any) -> None:
    found, issues = read_with_decoder(v4, plans, items, decoder="PROMPT")
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"PROMPT"}
    (issue,) = issues
    assert "the decoder PROMPT, chosen by the user, agrees with 0 of 1 score entry" in issue.what
    assert "FC agrees with 2 of 2" in issue.what


def test_spelling_of_names_decides_without_scores(
    v4: Path, plans: Any, question: Any, write_lines: Any
) -> None:
    """Names with dots show that the program did not replace them by underscores."""
    (v4 / SCORE).unlink()
    records, questions, answers = [], [], []
    for number in range(4):
        record = question(f"{CATEGORY}_{number}")
        record["function"][0]["name"] = "geometry.area"
        questions.append(record)
        answers.append(
            {"id": record["id"], "ground_truth": [{"geometry.area": {"base": [10], "height": [5]}}]}
        )
        records.append(
            {"id": record["id"], "result": [{"geometry.area": '{"base": 10, "height": 5}'}]}
        )
    write_lines(v4 / "data/BFCL_v4_simple_python.json", *questions)
    write_lines(v4 / "data/possible_answer/BFCL_v4_simple_python.json", *answers)
    write_lines(v4 / "result/m/non_live/BFCL_v4_simple_python_result.json", *records)
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20-FC"))
    fact = read_decoder_fact(plan)
    assert (fact.value, fact.is_notable) == ("FC-DOTTED", True)


def test_decoder_option_overrides_table(v4: Path, plans: Any, items: Any, write_lines: Any) -> None:
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": f"[{N}]"} for n in range(2)))
    found, _ = read_with_decoder(v4, plans, items, decoder="json")
    assert {item.extra.metadata[DECODER_FIELD] for item in found} == {"JSON"}
    assert found[0].rule is True
    _, issues = read_with_decoder(v4, plans, items, decoder="nonsense")
    assert any("no decoder 'nonsense'" in issue.what for issue in issues)


OPTIONS = {"options": {"kind": "bar", "limit": 10}}
DRAW = {
    "name": "drawChart",
    "parameters": {
        "type": "dict",
        "properties": {"options": {"type": "dict"}},
        "required": ["options"],
    },
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
    write_lines(
        tmp_path / f"data/{name}.json",
        {"id": "javascript_0", "question": "Draw.", "function": DRAW},
    )
    golden = {"drawChart": {"options": [{"kind": ["bar"], "limit": [10]}]}}
    write_lines(
        tmp_path / f"data/possible_answer/{name}.json",
        {"id": "javascript_0", "ground_truth": golden},
    )
    result = [{"drawChart": json.dumps(OPTIONS)}]
    write_lines(
        tmp_path / f"result{outer}/gpt-4-0613-FC/{name}_result.json", {"id": 0, "result": result}
    )
    entries = [failure(1, error_type=error, model_result_raw=result)] if error else []
    write_lines(
        tmp_path / f"score{outer}/gpt-4-0613-FC/javascript_score.json",
        header(1 - len(entries), 1),
        *entries,
    )
    (plan,) = plans(tmp_path / f"result{outer}", data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert (item.official, item.rule, item.rule_error_type) == (expected, expected, error)


@pytest.mark.parametrize(("date", "expected"), [("2024-07-06", True), ("2024-07-20", False)])
def test_date_in_path_decides_without_scores(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, date: str, expected: bool
) -> None:
    name = "gorilla_openfunctions_v1_test_javascript"
    write_lines(
        tmp_path / f"data/{name}.json",
        {"id": "javascript_0", "question": "Draw.", "function": DRAW},
    )
    golden = {"drawChart": {"options": [{"kind": ["bar"], "limit": [10]}]}}
    write_lines(
        tmp_path / f"data/possible_answer/{name}.json",
        {"id": "javascript_0", "ground_truth": golden},
    )
    result = [{"drawChart": json.dumps(OPTIONS)}]
    write_lines(
        tmp_path / f"{date}/result/gpt-4-0613-FC/{name}_result.json", {"id": 0, "result": result}
    )
    (plan,) = plans(tmp_path / date, data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert item.rule is expected


@pytest.mark.parametrize(
    ("error", "decoder"), [("ast_decoder:decoder_failed", "PROMPT"), ("value_error:others", "PHI")]
)
def test_scores_show_decoder_of_late_v3_model(
    tmp_path: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    header: Any,
    failure: Any,
    error: str,
    decoder: str,
) -> None:
    reply = "```python\n[area(base=11, height=5)]\n```"
    name, item = "BFCL_v3_simple", "simple_0"
    write_lines(
        tmp_path / f"result/microsoft_phi-4/{name}_result.json", {"id": item, "result": reply}
    )
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
    ("version", "folder"),
    [("V3", "result"), ("V1", "result"), ("V1", "result-BFCL")],
    ids=["V3", "V1", "early V1"],
)
def test_failure_at_earlier_argument_decides_nothing(
    tmp_path: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    header: Any,
    failure: Any,
    version: str,
    folder: str,
) -> None:
    """No score entry decides for the second item, so the version and the folder do."""
    v1 = version == "V1"
    name = "gorilla_openfunctions_v1_test_java" if v1 else "BFCL_v3_java"
    score_name = "java_score" if v1 else "BFCL_v3_java_score"
    questions = [
        {"id": f"java_{n}", "question": "Call f." if v1 else [[]], "function": [PAIR]}
        for n in range(2)
    ]
    golden: Any = {"f": {"first": ["a"], "second": [5]}}
    answers = [{"id": f"java_{n}", "ground_truth": golden if v1 else [golden]} for n in range(2)]
    write_lines(tmp_path / f"data/{name}.json", *questions)
    write_lines(tmp_path / f"data/possible_answer/{name}.json", *answers)
    replies = [
        [{"f": json.dumps({"first": "other", "second": 5})}],
        [{"f": json.dumps({"second": 5, "first": "b"})}],
    ]
    records = [{"id": f"java_{n}", "result": reply} for n, reply in enumerate(replies)]
    write_lines(tmp_path / f"{folder}/gpt-4-0613-FC/{name}_result.json", *records)
    error = "Invalid value for parameter 'first': 'other'. Expected one of ['a']. Case insensitive."
    entries = [
        failure(1, error_type="value_error:string", error=[error], model_result_raw=replies[0]),
        failure(2, error_type="simple_function_checker:unclear", model_result_raw=replies[1]),
    ]
    score_folder = folder.replace("result", "score")
    write_lines(
        tmp_path / f"{score_folder}/gpt-4-0613-FC/{score_name}.json", header(0, 2), *entries
    )
    (plan,) = plans(tmp_path / folder, data=[tmp_path / "data"])
    (first, second), _ = items(plan)
    assert first.rule_error_type == "value_error:string"
    assert second.rule_error_type == (
        "value_error:string" if folder == "result-BFCL" else "type_error:java"
    )


def test_failure_at_later_argument_shows_text_arguments(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    name = "gorilla_openfunctions_v1_test_java"
    write_lines(
        tmp_path / f"data/{name}.json", {"id": "java_0", "question": "Call f.", "function": [PAIR]}
    )
    golden = {"id": "java_0", "ground_truth": {"f": {"first": ["a"], "second": [5]}}}
    write_lines(tmp_path / f"data/possible_answer/{name}.json", golden)
    result = [{"f": json.dumps({"second": 5, "first": "b"})}]
    write_lines(
        tmp_path / f"result/gpt-4-0613-FC/{name}_result.json", {"id": "java_0", "result": result}
    )
    error = "Invalid value for parameter 'first': 'b'. Expected one of ['a']. Case insensitive."
    entry = failure(1, error_type="value_error:string", error=[error], model_result_raw=result)
    write_lines(tmp_path / "score/gpt-4-0613-FC/java_score.json", header(0, 1), entry)
    (plan,) = plans(tmp_path / "result", data=[tmp_path / "data"])
    (item,), _ = items(plan)
    assert item.rule_error_type == "value_error:string"


def test_scores_of_other_replies_are_no_evidence(v4: Path, plans: Any, write_lines: Any) -> None:
    """Both entries quote text that is not in the result file, so only the form of the replies
    counts.
    """
    reply = [{"area": '{"base": 10, "height": 5}'}]
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": reply} for n in range(2)))
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20"))
    fact = read_decoder_fact(plan)
    assert fact.value == "FC"
    assert fact.reason.startswith("a guess: no scores")


def test_failed_requests_are_no_evidence(v4: Path, plans: Any, write_lines: Any) -> None:
    (v4 / SCORE).unlink()
    error = "Error during inference: Error code: 429 - {'error': {'message': 'Rate limit reached'}}"
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": error} for n in range(2)))
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20-FC"))
    assert read_decoder_fact(plan).value == "FC"


def test_failing_verdict_names_decoder_and_reason(
    v4: Path, plans: Any, items: Any, write_lines: Any
) -> None:
    (v4 / SCORE).unlink()
    good = [{"area": '{"base": 10, "height": 5}'}]
    records = [
        {"id": f"{CATEGORY}_0", "result": good},
        {"id": f"{CATEGORY}_1", "result": "no call here"},
    ]
    write_lines(v4 / RESULT, *records)
    found, _ = read_with_decoder(rename_model(v4, "gpt-4o-2024-11-20-FC"), plans, items)
    (verdict,) = [verdict for verdict in found[1].verdicts if verdict.source == "rule"]
    assert verdict.rationale is not None
    expected = "decoder FC: the name matches the row gpt-4o-2024-11-20-FC of BFCL V4"
    assert verdict.rationale.splitlines()[-1] == expected
    (verdict,) = [verdict for verdict in found[0].verdicts if verdict.source == "rule"]
    assert "decoder" not in (verdict.rationale or "")


def test_model_without_calls_keeps_its_listed_decoder(
    v4: Path, plans: Any, write_lines: Any
) -> None:
    (v4 / SCORE).unlink()
    write_lines(
        v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": "I cannot help."} for n in range(2))
    )
    (plan,) = plans(rename_model(v4, "gpt-4o-2024-11-20"))
    fact = read_decoder_fact(plan)
    assert (fact.value, fact.is_notable) == ("PROMPT", True)
    row = "the name matches the row gpt-4o-2024-11-20 of BFCL V4"
    assert fact.reason == f"a guess: {row}; no scores; finds calls in 0 of 2 replies"
