"""File names and ids of BFCL are classified."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.bfcl import filenames


def classify(name: str, first: Any = None) -> filenames.ClassifiedFile | None:
    with patch.object(filenames, "read_first", return_value=first):
        return filenames.classify_file(Path("/runs") / name)


@pytest.mark.parametrize(
    ("name", "first", "kind", "generation", "category"),
    [
        ("m/non_live/BFCL_v4_simple_python_result.json", None, "result", "V4", "simple_python"),
        (
            "m/live/BFCL_v4_live_parallel_multiple_score.json",
            None,
            "score",
            "V4",
            "live_parallel_multiple",
        ),
        ("m/BFCL_v3_multi_turn_base_result.json", None, "result", "V3", "multi_turn_base"),
        ("m/BFCL_v2_live_simple_score.json", None, "score", "V2", "live_simple"),
        ("data/BFCL_v4_memory.json", {"question": []}, "question", "V4", "memory"),
        (
            "data/possible_answer/BFCL_v4_multiple.json",
            {"ground_truth": []},
            "answer",
            "V4",
            "multiple",
        ),
        ("m/gorilla_openfunctions_v1_test_java_result.json", None, "result", "V1", "java"),
        (
            "m/gorilla_openfunctions_v1_test_simple.json",
            {"idx": 0, "result": ""},
            "result",
            "V1",
            "simple",
        ),
        (
            "data/gorilla_openfunctions_v1_test_simple.json",
            {"question": ""},
            "question",
            "V1",
            "simple",
        ),
        (
            "m/parallel_multiple_function_score.json",
            {"total_count": 1, "accuracy": 0},
            "score",
            "V1",
            "parallel_multiple_function",
        ),
        ("m/simple_result.json", {"id": "simple_0", "result": ""}, "result", "V1", "simple"),
        (
            "m/simple_python.json",
            {"id": "simple_python_0", "result": ""},
            "result",
            "V4",
            "simple_python",
        ),
    ],
)
def test_file_name_classification(
    name: str, first: Any, kind: str, generation: str, category: str
) -> None:
    named = classify(name, first)
    assert named is not None
    assert (named.kind, named.version, named.category) == (kind, generation, category)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("config.json", {"a": 1}),
        ("m/some_score.json", {"a": 1}),
        ("simple.json", {"question": ""}),
        ("simple.json", {"id": "other_3", "result": ""}),
        ("BFCL.json", {"result": 1}),
        ("readme.md", None),
    ],
)
def test_unrelated_files_are_ignored(name: str, first: Any) -> None:
    assert classify(name, first) is None


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("m/agentic/memory/kv/memory_snapshot/prereq/customer.json", None),
        ("m/agentic/memory/kv/BFCL_v4_memory_kv_prereq_result.json", None),
        ("m/result.json", {"answer_id": 1, "text": "[f()]"}),
        ("score/data_overall.csv", None),
        ("score/data.csv", None),
    ],
)
def test_ignored_files_have_reason(name: str, first: Any) -> None:
    named = classify(name, first)
    assert named is not None
    assert named.kind == "ignored"
    assert named.ignored_description


def test_model_folder_is_above_v4_groups() -> None:
    path = Path("/x/result/org_model-FC/agentic/memory/rec_sum/BFCL_v4_memory_rec_sum_result.json")
    assert filenames.find_model_folder(path) == Path("/x/result/org_model-FC")
    assert filenames.get_model_name(Path("/x/result/org_model-FC")) == "org_model-FC"
    assert filenames.get_model_name(Path("/x/gpt4o/result")) == "gpt4o"
    assert filenames.get_model_name(Path("/x/gpt4o/score-BFCL")) == "gpt4o"
    assert filenames.get_model_name(Path("/x/gpt4o_results")) == "gpt4o_results"


def test_ids() -> None:
    assert filenames.get_id_category("live_simple_19-3-15") == "live_simple"
    assert filenames.get_id_category("memory_kv_3-customer-3") == "memory_kv"
    assert filenames.get_id_category("nothing") == "nothing"
    assert filenames.to_dataset_id("memory_kv_3-customer-3", "memory_kv") == "memory_3-customer-3"
    assert (
        filenames.to_dataset_id("web_search_no_snippet_7", "web_search_no_snippet")
        == "web_search_7"
    )
    config = "ret_fmt=json&tool_call_tag=True"
    assert filenames.to_dataset_id(
        f"format_sensitivity_3:{config}:live_simple_1-1-0", "format_sensitivity"
    ) == ("live_simple_1-1-0")
    assert filenames.split_format_sensitivity_id(
        f"format_sensitivity_3:{config}:simple_python_9"
    ) == (
        "format_sensitivity_3",
        config,
        "simple_python_9",
    )


@given(
    st.sampled_from(filenames.V4_CATEGORIES),
    st.integers(0, 99999),
    st.sampled_from(["", "-1-2", "-customer-3"]),
)
def test_id_has_category_and_number(category: str, number: int, rest: str) -> None:
    item = f"{category}_{number}{rest}"
    assert filenames.get_id_category(item) == category
    assert filenames.parse_item_number(item) == number


@pytest.mark.sweep
@given(st.text())
def test_any_text_is_valid_id(text: str) -> None:
    filenames.get_id_category(text)
    filenames.parse_item_number(text)
    filenames.to_dataset_id(text, "memory_kv")
