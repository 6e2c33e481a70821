"""Verdicts follow the call format of each model family: native objects, Hermes tags and GLM
lines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME, to_early_v1_decoder
from fcreview.importers.registry import discover, read_items
from fcreview.model.incident import is_counted_incident
from fcreview.model.item import Item
from tests.importers.bfcl.checker.cases import evaluate

DRAW = {
    "name": "drawChart",
    "parameters": {
        "type": "dict",
        "properties": {"options": {"type": "dict"}, "wide": {"type": "Boolean"}},
        "required": ["options"],
    },
}
GOLDEN = {"drawChart": {"options": [{"kind": ["bar"], "limit": [10]}], "wide": [True, ""]}}


def evaluate_drawing(result: Any, model: str, **how: Any) -> tuple[bool | None, str | None]:
    case = DatasetItem("javascript_0", "javascript", functions=[DRAW], ground_truth=GOLDEN)
    found = evaluate(result, case, version="V1", category="javascript", model=model, **how)
    return found.valid, found.error_type


def test_native_javascript_objects_are_not_source_text() -> None:
    options = {"options": {"kind": "bar", "limit": 10}}
    for model in ("command-r-plus-FC", "command-r-plus-FC-optimized"):
        assert evaluate_drawing([{"drawChart": options}], model) == (False, "type_error:js")
    result = [{"drawChart": json.dumps(options)}]
    assert evaluate_drawing(result, "claude-3-opus-20240229-FC") == (False, "type_error:js")


def test_native_javascript_objects_were_source_text_until_july_2024() -> None:
    result = [{"drawChart": {"options": {"kind": "bar", "limit": 10}}}]
    assert evaluate_drawing(
        result, "command-r-plus-FC", decoder=to_early_v1_decoder(DECODERS_BY_NAME["FC-O"], "V1")
    ) == (
        True,
        None,
    )
    assert evaluate_drawing(
        [{"drawChart": {"options": "{kind: 'pie', limit: 10}"}}],
        "command-r-plus-FC",
        decoder=to_early_v1_decoder(DECODERS_BY_NAME["FC-O"], "V1"),
    ) == (False, "value_error:dict_value")


def test_hermes_javascript_objects_become_source_text() -> None:
    call = "{'name': 'drawChart', 'arguments': {'options': {'kind': 'bar', 'limit': 10}}}"
    hermes = "NousResearch_Hermes-2-Pro-Llama-3-70B"
    assert evaluate_drawing(f"<tool_call>\n{call}\n</tool_call>", hermes) == (True, None)
    wrong = call.replace("10", "11")
    assert evaluate_drawing(f"<tool_call>\n{wrong}\n</tool_call>", hermes) == (
        False,
        "value_error:dict_value",
    )
    word = call.replace("}}}", "}, 'wide': true}}")  # Python writes True, which is not JavaScript
    assert evaluate_drawing(f"<tool_call>\n{word}\n</tool_call>", hermes) == (
        False,
        "type_error:simple",
    )


def test_glm_prose_before_name_is_no_call() -> None:
    def evaluate_relevance(text: str) -> bool | None:
        case = DatasetItem("relevance_0", "relevance", functions=[DRAW])
        return evaluate(
            text, case, version="V1", category="relevance", model="THUDM_glm-4-9b-chat"
        ).valid

    call = 'drawChart\n{"options": {}}'
    assert evaluate_relevance(call) is False
    assert evaluate_relevance(f"\nA chart it is. Let us draw.{call}") is True
    assert evaluate_relevance(f"\n{call}") is True


def test_runs_of_result_bfcl_are_early(tmp_path: Path, write_lines: Any) -> None:
    result = {
        "id": "javascript_0",
        "result": [{"drawChart": {"options": {"kind": "bar", "limit": 10}}}],
    }
    name = "gorilla_openfunctions_v1_test_javascript"
    write_lines(
        tmp_path / f"data/{name}.json",
        {"id": "javascript_0", "question": "Draw.", "function": DRAW},
    )
    write_lines(
        tmp_path / f"data/possible_answer/{name}.json",
        {"id": "javascript_0", "ground_truth": GOLDEN},
    )
    for outer, expected in (("result-BFCL", True), ("result", False)):
        write_lines(tmp_path / outer / "command-r-plus-FC" / f"{name}_result.json", result)
        (plan,) = discover([tmp_path / outer], data=[tmp_path / "data"]).plans
        assert [one.rule for one in read_items(plan) if isinstance(one, Item)] == [expected]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("generation", "data", "runs", "count"),
    [
        ("v1", "bfcl_v1/data", 10, 13_060),
        ("v3", "bfcl_families/v3_data", 16, 31_166),
    ],
)
def test_published_runs_of_every_family_agree(
    bench: Path, generation: str, data: str, runs: int, count: int
) -> None:
    folder = bench / "bfcl_families" / generation
    if not folder.is_dir():
        pytest.skip("no published runs of these families here")
    plans = discover([folder / "result"], data=[bench / data]).plans
    compared, differing = 0, []
    for plan in plans:
        for item in read_items(plan):
            if isinstance(item, Item) and item.official is not None and item.rule is not None:
                compared += 1
                # A failed request has the official verdict, but no recomputed error type.
                is_failed_request = is_counted_incident(item.incident, item.incident_certainty)
                recomputed_type = item.error_type if is_failed_request else item.rule_error_type
                if (item.official, item.error_type) != (item.rule, recomputed_type):
                    differing.append((plan.run.model, item.id))
    assert (len(plans), compared) == (runs, count)
    assert differing == []
