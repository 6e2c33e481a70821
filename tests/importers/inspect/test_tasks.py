"""Verdicts of the task `bfcl` are recomputed by the official rules, and differences have a
cause.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.inspect import tasks
from fcreview.importers.inspect.tasks import (
    DEFAULT_VALUE,
    NAME_SPELLING,
    NUMBER_IN_LIST,
    OBJECT_VALUE,
    TYPED_REPLY,
    TYPED_VALUE,
    UNDECODABLE_CALL,
    list_sample_categories,
    restore_parameter_types,
)
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.review import QuestionKey
from fcreview.model.wording import describe_error_type
from fcreview.stats.run_comparison import ItemOutcome, align_runs

HINT = "This is {} type parameter in string representation."
DOCS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "optional": {"type": "integer", "default": 1},
    "floats": {"type": "array", "items": {"type": "float"}},
    "object": {"type": "dict"},
    "java_int": {"type": "string", "description": "n. " + HINT.format("Java integer")},
    "java_text": {"type": "string", "description": "n. " + HINT.format("Java String")},
}


def doc(name: str, *parameters: str, required: int | None = None) -> dict[str, Any]:
    properties = {each: DOCS[each] for each in parameters}
    return {
        "name": name,
        "description": "",
        "parameters": {
            "type": "dict",
            "properties": properties,
            "required": list(parameters[:required]),
        },
    }


def sample(
    item_id: str,
    kind: str,
    tools: list[Any],
    golden: Any,
    calls: list[Any],
    value: int,
    **more: Any,
) -> dict[str, Any]:
    """Make a sample of the task. `calls` are (name, arguments), or (name, parse error as text)."""
    tool_calls = [
        {"id": str(n), "function": name, "type": "function"}
        | (
            {"arguments": {}, "parse_error": given}
            if isinstance(given, str)
            else {"arguments": given}
        )
        for n, (name, given) in enumerate(calls)
    ]
    question = [{"role": "user", "content": f"Question of {item_id}?"}]
    category = item_id.rpartition("_")[0]
    metadata = {
        "category_name": category,
        "scorer": kind,
        "language": "java" if "java" in category else "python",
        "tools": tools,
        "raw_question": question,
        "raw_ground_truth": golden,
    }
    reply = {"role": "assistant", "content": "", "tool_calls": tool_calls}
    score = {
        "value": value,
        "answer": "",
        "explanation": "Correct" if value else "Invalid value",
        "history": [],
    }
    return {
        "id": item_id,
        "epoch": 1,
        "input": question,
        "target": str(golden),
        "messages": [*question, reply],
        "metadata": metadata,
        "scores": {"bfcl_scorer": score},
        "output": {"choices": [], "completion": ""},
    } | more


def write_log(path: Path, samples: list[dict[str, Any]], **more: Any) -> Path:
    fields = {
        "task": "inspect_evals/bfcl",
        "task_id": path.stem,
        "created": "2026-09-01T00:00:00+00:00",
        "model": "m",
        "dataset": {"sample_ids": [each["id"] for each in samples]},
        "config": {},
        "scorers": [
            {"name": "bfcl_scorer", "metrics": [{"name": "inspect_ai/accuracy", "options": {}}]}
        ],
    }
    path.write_text(
        json.dumps({"version": 2, "status": "success", "eval": fields, "samples": samples} | more)
    )
    return path


def read(path: Path, *data: Path) -> dict[str, Item]:
    (plan,) = discover([path], data=data).plans
    return {item.id: item for item in read_items(plan) if isinstance(item, Item)}


F, G = doc("math.f", "number", "optional", required=1), doc("g", "floats")
DISAGREEMENTS = [
    (
        TYPED_VALUE,
        sample(
            "simple_java_1",
            "simple",
            [doc("f", "java_int")],
            [{"f": {"java_int": [5]}}],
            [("f", {"java_int": "5"})],
            0,
        ),
    ),
    (
        OBJECT_VALUE,
        sample(
            "simple_python_1",
            "simple",
            [doc("f", "object")],
            [{"f": {"object": [{"min": [3, 4]}]}}],
            [("f", {"object": {"min": 3}})],
            0,
        ),
    ),
    (
        UNDECODABLE_CALL,
        sample("irrelevance_1", "irrelevance", [F], [], [("math_f", "not JSON")], 0),
    ),
    (
        NUMBER_IN_LIST,
        sample(
            "simple_python_2",
            "simple",
            [G],
            [{"g": {"floats": [[1.0, 2.0]]}}],
            [("g", {"floats": [1, 2]})],
            1,
        ),
    ),
    (
        NUMBER_IN_LIST,
        sample(
            "parallel_1",
            "parallel",
            [G],
            [{"g": {"floats": [[1.0]]}}, {"g": {"floats": [[2.0]]}}],
            [("g", {"floats": [1.0]}), ("g", {"floats": [2]})],
            1,
        ),
    ),
    (
        TYPED_REPLY,
        sample(
            "simple_java_2",
            "simple",
            [doc("f", "java_text")],
            [{"f": {"java_text": ["a"]}}],
            [("f", {"java_text": 7})],
            1,
        ),
    ),
    (
        DEFAULT_VALUE,
        sample(
            "simple_python_3",
            "simple",
            [F],
            [{"math.f": {"number": [2], "optional": [1]}}],
            [("math_f", {"number": 2})],
            1,
        ),
    ),
    (
        DEFAULT_VALUE,
        sample(
            "simple_python_4",
            "simple",
            [F],
            [{"math.f": {"number": [2]}}],
            [("math_f", {"number": 2, "optional": 1})],
            1,
        ),
    ),
    (
        NAME_SPELLING,
        sample(
            "parallel_2",
            "parallel",
            [F],
            [{"math.f": {"number": [1]}}, {"math.f": {"number": [2]}}],
            [("math_f", {"number": 1}), ("math.f", {"number": 2})],
            1,
        ),
    ),
]
AGREEMENTS = [
    (
        True,
        sample(
            "simple_python_7",
            "simple",
            [F],
            [{"math.f": {"number": [2], "optional": [1, ""]}}],
            [("math_f", {"number": 2})],
            1,
        ),
    ),
    (
        True,
        sample(
            "simple_python_8",
            "simple",
            [F],
            [{"math.f": {"number": [2], "optional": [1, ""]}}],
            [("math.f", {"number": 2})],
            1,
        ),
    ),
    (
        False,
        sample(
            "simple_python_9",
            "simple",
            [F],
            [{"math.f": {"number": [2]}}],
            [("math_f", {"number": 3})],
            0,
        ),
    ),
    (True, sample("irrelevance_2", "irrelevance", [F], "", [], 1)),
    (False, sample("live_relevance_1", "relevance", [F], "", [], 0)),
    (
        None,
        sample(
            "exec_simple_1", "simple", [F], ["math.f(number=2)"], [("math_f", {"number": 2})], 1
        ),
    ),
    (
        None,
        sample(
            "sql_1", "simple", [F], [{"math.f": {"number": [2]}}], [("math_f", {"number": 3})], 0
        ),
    ),
    (
        None,
        sample(
            "simple_python_10",
            "simple",
            [F],
            [{"math.f": {"number": [2]}}],
            [],
            0,
            scores={},
            error={"message": "x"},
        ),
    ),
]


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Item]:
    samples = [each for _, each in DISAGREEMENTS] + [each for _, each in AGREEMENTS]
    return read(write_log(tmp_path_factory.mktemp("bfcl") / "log.json", samples))


@pytest.mark.parametrize(
    ("cause", "sample"),
    DISAGREEMENTS,
    ids=lambda each: each["id"] if isinstance(each, dict) else "",
)
def test_cause_of_disagreement_is_named(
    items: dict[str, Item], cause: Any, sample: dict[str, Any]
) -> None:
    item = items[sample["id"]]
    assert item.official is bool(sample["scores"]["bfcl_scorer"]["value"])
    assert item.rule is not item.official
    assert item.extra.metadata["cause"] == cause.name
    assert item.error_type == (cause.name if item.official is False else None)
    (official,) = [verdict for verdict in item.verdicts if verdict.source == "official"]
    assert cause.text in (official.rationale or "")


@pytest.mark.parametrize(
    ("expected", "sample"),
    AGREEMENTS,
    ids=lambda each: each["id"] if isinstance(each, dict) else "",
)
def test_other_replies_have_same_verdict_or_none(
    items: dict[str, Item], expected: Any, sample: dict[str, Any]
) -> None:
    item = items[sample["id"]]
    assert item.rule is expected
    assert "cause" not in item.extra.metadata
    if expected is None:
        assert item.rule_note


def test_every_cause_is_explained() -> None:
    causes = [value for value in vars(tasks).values() if isinstance(value, tasks.Cause)]
    assert len(causes) == 8
    assert all(describe_error_type(cause.name) for cause in causes)


def test_types_of_java_parameters_are_restored() -> None:
    element = "The list elements are of type float; they are not in string representation."
    described = doc("f", "java_int", "text")
    described["parameters"]["properties"]["list"] = {
        "type": "string",
        "description": f"{HINT.format('JavaScript array')} {element}",
    }
    described["parameters"]["properties"]["any"] = {
        "type": "string",
        "description": "This parameter can be of any type of Java object in string representation.",
    }
    restored = restore_parameter_types(described)["parameters"]["properties"]
    assert [restored[name]["type"] for name in ("java_int", "text", "list", "any")] == [
        "integer",
        "string",
        "array",
        "any",
    ]
    assert restored["list"]["items"] == {"type": "float"}
    assert restore_parameter_types({"name": "odd", "parameters": 5}) == {
        "name": "odd",
        "parameters": 5,
    }


def test_dataset_with_other_golden_answer_is_not_joined(tmp_path: Path) -> None:
    _, own = DISAGREEMENTS[6]
    log = write_log(tmp_path / "log.json", [own])
    data = tmp_path / "data"
    (data / "possible_answer").mkdir(parents=True)
    name = "BFCL_v4_simple_python.json"
    question = {"id": own["id"], "question": [own["input"]], "function": [F]}
    (data / name).write_text(json.dumps(question) + "\n")
    for answer, n_issues, expected in (
        ([{"math.f": {"number": [2], "optional": [1]}}], 0, False),
        ([{"math.f": {"number": [9]}}], 1, False),
    ):
        (data / "possible_answer" / name).write_text(
            json.dumps({"id": own["id"], "ground_truth": answer}) + "\n"
        )
        (item,) = read(log, data).values()
        assert (len(item.issues), item.rule) == (n_issues, expected)


def test_turns_begin_at_user_messages(tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "one"}], [{"role": "user", "content": "two"}]]
    messages = [
        turns[0][0],
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "function": "ls", "arguments": {}}],
        },
        {"role": "tool", "tool_call_id": "1", "function": "ls", "content": "a"},
        turns[1][0],
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "2", "function": "cd", "arguments": {"folder": "b"}}],
        },
    ]
    value = sample(
        "multi_turn_base_1",
        "multi_turn",
        [],
        [["ls()"], ["cd(folder='a')"]],
        [],
        0,
        messages=messages,
    )
    value["metadata"]["turns"] = turns
    value["scores"]["bfcl_scorer"]["explanation"] = "Response mismatch at turn 1"
    (item,) = read(write_log(tmp_path / "log.json", [value])).values()
    assert (item.n_turns, item.extra.failing_turn, item.error_type) == (
        2,
        1,
        "multi_turn:execution_response_mismatch",
    )
    assert [(call.turn, call.name) for call in item.predicted] == [(0, "ls"), (1, "cd")]
    assert [pair.state for pair in item.pairs] == ["=", "!"]
    assert item.first_difference == 'folder "b" (golden "a")'
    value["scores"]["bfcl_scorer"]["explanation"] = (
        'State mismatch\n  root: model="{b}", expected="{a}"'
    )
    (item,) = read(write_log(tmp_path / "log2.json", [value])).values()
    differences = item.extra.state_differences
    assert differences is not None and (
        differences["root"].golden,
        differences["root"].predicted,
    ) == ("{a}", "{b}")


def test_agentic_answer_is_shown_with_accepted_ones(tmp_path: Path) -> None:
    value = sample("memory_kv_1", "agentic", [], ["11 PM", "eleven"], [], 0)
    value["messages"][-1] = {"role": "assistant", "content": "At ten."}
    (item,) = read(write_log(tmp_path / "log.json", [value])).values()
    assert (item.extra.accepted_answers, item.extra.final_answer, item.golden) == (
        ["11 PM", "eleven"],
        "At ten.",
        [],
    )


def test_categories_follow_sample_ids() -> None:
    assert list_sample_categories(
        ["simple_java_14", "live_simple_1-1-0", "exec_simple_3", 5, "multi_turn_base_1"]
    ) == [
        "simple_java",
        "live_simple",
        "multi_turn_base",
    ]
    assert list_sample_categories(None) == []


def test_log_and_bfcl_run_are_compared_by_item() -> None:
    def outcome(item: int, benchmark: str, generation: str, item_id: str) -> ItemOutcome:
        key = QuestionKey(benchmark, generation, "en", "simple_python", item_id)
        return ItemOutcome(
            item, key, None, f"Question {item_id.partition('#')[0]}?", True, None, None, "", ""
        )

    log = [outcome(n, "inspect", "bfcl", name) for n, name in enumerate(("a", "b", "a#2"))]
    aligned = align_runs([log, [outcome(n, "bfcl", "V4", name) for n, name in enumerate("ab")]])
    assert [item.question_key.id for item in aligned.complete_items] == ["a", "b"]
    assert aligned.count_unmatched(0) == 1
