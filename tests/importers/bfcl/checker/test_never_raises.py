"""The checker never raises and ends quickly for any model output and dataset record."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.bfcl.checker.evaluate import Evaluation
from fcreview.importers.bfcl.dataset import DatasetItem
from tests.examples import examples
from tests.importers.bfcl.checker.cases import AREA, array, evaluate, one

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["f", "x", "base", "name"]), inner, max_size=3)
    ),
    max_leaves=8,
)
MODELS = st.sampled_from(
    [
        "",
        "gpt-4o",
        "gpt-4o-FC",
        "google_gemma",
        "xlam",
        "hammer",
        "glm-4-9b",
        "granite-20b",
        "hermes",
        "Qwen_x-FC",
        "falcon3",
    ]
)
CATEGORIES = st.sampled_from(
    ["simple_python", "simple_java", "simple_javascript", "parallel", "irrelevance", "memory_kv"]
)


@given(
    st.one_of(JSON, st.text(max_size=40), JSON.map(json.dumps)),
    MODELS,
    CATEGORIES,
    st.sampled_from(["V1", "V4"]),
)
@examples(3)
def test_checker_never_raises_for_outputs(
    result: Any, model: str, category: str, generation: str
) -> None:
    found = evaluate(result, AREA, version=generation, category=category, model=model)
    assert isinstance(found, Evaluation)


@pytest.mark.sweep
@given(
    JSON,
    JSON,
    st.sampled_from(["string", "integer", "float", "dict", "any", array("string"), array("dict")]),
    st.booleans(),
)
@examples(3)
def test_checker_never_raises_for_values(value: Any, accepted: Any, kind: Any, v1: bool) -> None:
    found = one(kind, [accepted, ""], value, v1=v1, category="simple" if v1 else "simple_python")
    assert found.valid is not None or found.note


@given(JSON, JSON)
@examples(2)
def test_checker_never_raises_for_dataset_records(answer: Any, functions: Any) -> None:
    case = DatasetItem(
        "c",
        "simple_python",
        functions=functions if isinstance(functions, list) else [functions],
        ground_truth=answer,
    )
    evaluate([{"f": '{"x": 1}'}], case, version="V4", category="simple_python")


@pytest.mark.parametrize(
    "result",
    [
        "[" * 100_000,
        "[f(x=" + "{'a':" * 5000,
        [{"f": "[" * 100_000}],
        [{"f": '{"x":' * 900 + "1" + "}" * 900}],
        [{"math.area": '{"base": ' + "9" * 5000 + "}"}],
        [{"math.area": json.dumps({"unit": "x" * 2_000_000, "base": 10})}],
    ],
    ids=["brackets", "dicts", "json brackets", "json depth", "digits", "long"],
)
@pytest.mark.parametrize("category", ["simple_python", "simple_java", "simple_javascript"])
def test_hostile_records_are_checked_quickly(result: Any, category: str) -> None:
    start = time.process_time()
    found = evaluate(result, AREA, version="V4", category=category, model="")
    assert found.valid is not True
    assert time.process_time() - start < 2
