"""The suspects queue has one item for each suspect golden answer, most suspect first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.golden_audit.score import rank_suspects
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from tests.store.factory import Imported

DOCUMENT = {
    "name": "get_weather",
    "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASKED: dict[str, Any] = {
    "functions": [DOCUMENT],
    "messages": [{"turn": 0, "step": -1, "role": "user", "content": "The weather in Hangzhou?"}],
}
PASS: dict[str, Any] = {
    **ASKED,
    "official": True,
    "rule": True,
    "prediction_hash": "right",
    "pairs": [],
}
AGREED: dict[str, Any] = {**ASKED, "prediction_hash": "agreed"}
OTHER: dict[str, Any] = {
    **ASKED,
    "prediction_hash": "other",
    "predicted": [
        {
            "side": "predicted",
            "name": "get_weather",
            "arguments": {"city": "Rome"},
            "turn": 0,
            "index": 0,
        }
    ],
}
RUNS = {
    "gpt-1": [PASS, OTHER, PASS, PASS],
    "claude-1": [PASS, AGREED, AGREED, PASS],
    "llama-1": [PASS, AGREED, AGREED, PASS],
}
"""Runs of two model families that contradict the golden answers of the second and third of four
questions.
"""


def fetch_ids(store: Store, **view: Any) -> list[tuple[str, str]]:
    return [(row.model, row.id) for row in store.fetch_page(View(queue="suspects", **view), 0, 100)]


def test_queue_has_an_item_with_the_competing_answer_for_each_suspect(
    imported: Imported, tmp_path: Path
) -> None:
    with Store.open(imported(tmp_path / "runs", RUNS), "alice") as store:
        panel = store.analysis.fetch_audit_input(View())
        ranked = [
            each.question.key.id
            for each in rank_suspects(panel.questions, panel.run_profiles)
            if each.reasons
        ]
        assert ranked == ["simple_1", "simple_2"]
        assert fetch_ids(store) == [("claude-1", "simple_1"), ("claude-1", "simple_2")]
        assert store.count_items(View(queue="suspects")) == 2


def test_queue_is_narrowed_by_filter_and_runs(imported: Imported, tmp_path: Path) -> None:
    with Store.open(imported(tmp_path / "runs", RUNS), "alice") as store:
        assert fetch_ids(store, where="id:simple_2") == [("claude-1", "simple_2")]
        assert fetch_ids(store, where="official:pass") == []
        runs = {row.info.model: row.run for row in store.fetch_runs()}
        assert fetch_ids(store, runs=(runs["gpt-1"],)) == [("gpt-1", "simple_1")]


def test_counts_of_a_view_include_the_queue(imported: Imported, tmp_path: Path) -> None:
    view = View(queue="suspects")
    with Store.open(imported(tmp_path / "runs", RUNS), "alice") as store:
        store.load_suspects(view)
        assert [len(chunk) for chunk in store.iter_details(view)] == [2]
        assert store.fetch_facets(view)["category"] == [("simple", 2)]


def test_blind_annotator_has_no_suspects_queue(imported: Imported, tmp_path: Path) -> None:
    with Store.open(imported(tmp_path / "runs", RUNS), "alice", blind=True) as store:
        assert len(fetch_ids(store)) == 12
        with pytest.raises(StoreError):
            store.load_suspects(View(queue="suspects"))
