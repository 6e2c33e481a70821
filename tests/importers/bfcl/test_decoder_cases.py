"""Small runs of every kind whose decoder or replies need care have the official verdicts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, RunFact
from fcreview.run_plan import RunPlan
from tests.sources import ROOT

CASES = ROOT / "tests/cases/bfcl"
V3_DATA = "bfcl_families/v3_data"
V4_DATA = "bfcl_v4/data"

pytestmark = pytest.mark.bench


def find_plan(path: Path, data: Path | None = None) -> RunPlan:
    (plan,) = discover([path], data=[data] if data is not None else []).plans
    return plan


def read_run(plan: RunPlan) -> tuple[list[Item], RunFact]:
    records = list(read_items(plan))
    (fact,) = [
        record for record in records if isinstance(record, RunFact) and record.name == "decoder"
    ]
    return [record for record in records if isinstance(record, Item)], fact


@pytest.mark.parametrize(
    ("case", "model", "data", "decoder", "is_notable"),
    [
        ("01-renamed-fc-folder", "gpt-4o-mini-2024-07-18-FC-run1", V4_DATA, "FC", True),
        ("02-late-v3-fc-models", "qwen3-8b-FC", V3_DATA, "FC", False),
        ("02-late-v3-fc-models", "o4-mini-2025-04-16-FC", V3_DATA, "FC", False),
        ("02-late-v3-fc-models", "DeepSeek-V3-0324-FC", V3_DATA, "FC", False),
        ("02-late-v3-fc-models", "grok-3-beta-FC", V3_DATA, "FC", False),
        ("04-irrelevance-unparsed-call", "tiiuae_Falcon3-7B-Instruct-FC", V4_DATA, "FALCON", False),
        (
            "05-toolcalls-text",
            "mistralai_Ministral-8B-Instruct-2410",
            V4_DATA,
            "LIST-DOTTED",
            False,
        ),
        ("06-empty-reply-reasoning", "moonshotai_Kimi-K2-Instruct-FC", V4_DATA, "FC", True),
        ("09-golden-without-function-doc", "gpt-4o-2024-11-20-FC", None, "FC", False),
    ],
)
def test_recomputed_verdicts_equal_official_ones(
    bench: Path, case: str, model: str, data: str | None, decoder: str, is_notable: bool
) -> None:
    items, fact = read_run(
        find_plan(CASES / case / "result" / model, bench / data if data else None)
    )
    assert (fact.value, fact.is_notable) == (decoder, is_notable)
    assert items
    assert all(item.official is not None for item in items)
    verdicts = [(item.id, item.official, item.error_type) for item in items]
    assert [(item.id, item.rule, item.rule_error_type) for item in items] == verdicts


@pytest.mark.parametrize(
    ("model", "decoder"),
    [("meta-llama_Llama-3.3-70B-Instruct-FC", "PROMPT"), ("Qwen_Qwen2.5-7B-Instruct-FC", "LIST")],
)
def test_form_of_replies_decides_without_scores(bench: Path, model: str, decoder: str) -> None:
    plan = find_plan(CASES / "02-late-v3-fc-models/result" / model, bench / V3_DATA)
    (item,), fact = read_run(plan)
    assert (fact.value, item.rule) == (decoder, True)


def write_renamed_copy(target: Path, name: str, *, with_scores: bool) -> Path:
    source = CASES / "01-renamed-fc-folder"
    for role in ("result", "score") if with_scores else ("result",):
        (model,) = (source / role).iterdir()
        shutil.copytree(model, target / role / name)
    return target


@pytest.mark.parametrize("with_scores", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "candidate-7",
        "gpt-4.1-2025-04-14",
        "openrouter_gpt-4o-mini-2024-07-18-FC",
        "GPT-4O-MINI-2024-07-18-FC-Q4_K_M",
    ],
)
def test_name_of_the_folder_does_not_change_verdicts(
    bench: Path, tmp_path: Path, name: str, with_scores: bool
) -> None:
    own, _ = read_run(find_plan(CASES / "01-renamed-fc-folder", bench / V4_DATA))
    renamed, fact = read_run(
        find_plan(write_renamed_copy(tmp_path, name, with_scores=with_scores), bench / V4_DATA)
    )
    assert (fact.value, fact.is_notable) == ("FC", True)
    assert [(item.id, item.rule) for item in renamed] == [(item.id, item.rule) for item in own]


def test_undecoded_calls_are_flagged(bench: Path) -> None:
    for case, flagged in (
        ("04-irrelevance-unparsed-call", {"irrelevance_0"}),
        ("05-toolcalls-text", {"simple_python_0"}),
        ("06-empty-reply-reasoning", set()),
    ):
        items, _ = read_run(find_plan(CASES / case, bench / V4_DATA))
        assert {item.id for item in items if "undecoded" in item.flags} == flagged
