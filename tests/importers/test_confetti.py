"""CONFETTI verdicts, soft scores, chains and figures equal the score files of a published run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.importers.confetti.checker import (
    compute_soft_score,
    count_shared_labels,
    find_chain_positions,
    has_common_label,
    token_f1,
)
from fcreview.importers.confetti.leaderboard import count_valid_parameters
from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import METRIC_SOURCES
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace


@pytest.fixture(scope="module")
def run(bench: Path) -> list[Item]:
    (plan,) = discover([bench / "confetti"]).plans
    return [item for item in read_items(plan) if isinstance(item, Item)]


def test_every_record_is_item_with_official_verdict(run: list[Item]) -> None:
    assert [sum(item.category == c for item in run) for c in ("conversationsclean", "dialogacts")] == [506, 463]
    wrong = [(i.id, i.official, i.rule) for i in run if (i.official, i.error_type) != (i.rule, i.rule_error_type)]
    assert wrong == []


def test_soft_scores_equal_soft_file(run: list[Item]) -> None:
    for item in run:
        scores = {v.source: v.value for v in item.verdicts if v.criterion == "soft_score" and v.target == "item"}
        if scores:
            assert scores["rule"] == scores["official"], item.id


def test_chains_are_recovered(run: list[Item]) -> None:
    lengths = [item.extra.metadata["chain"]["length"] for item in run if item.category == "conversationsclean"]
    assert len(lengths) == 506
    assert sum(1 / length for length in lengths) == pytest.approx(313)


@pytest.mark.sweep
def test_figures_equal_metrics_json(bench: Path, tmp_path: Path) -> None:
    found = discover([bench / "confetti"])
    workspace = find_workspace(bench, tmp_path / "ws")
    import_runs(workspace, found.plans, read_items, n_workers=1)
    expected = json.loads(next((bench / "confetti/score").glob("*/metrics.json")).read_text())
    with Store.open(workspace) as store:
        (row,) = store.fetch_runs()
        rows = store.analysis.fetch_scored_items(row.run)
        for source in METRIC_SOURCES:
            ours = {(f.table, f.name): f.value for f in compute_metrics(rows[source], row.info)}
            assert ours["function calling", "binary accuracy"] == expected["accuracy"]
            near = pytest.approx(expected["ast_soft_accuracy_per_action"], abs=1e-6)
            assert ours["function calling", "soft accuracy, per call"] == near
            near = pytest.approx(expected["ast_soft_accuracy_per_turn_chain_product"], abs=1e-6)
            assert ours["function calling", "soft accuracy, chain product per turn"] == near
            for length, one in expected["chain_score_by_length"].items():
                assert ours["by chain length", length] == pytest.approx(one["score"], abs=1e-6)
            validity = pytest.approx(expected["parameter_validity_rate"], abs=1e-6)
            assert ours["parameter validity", "valid parameters"] == validity
            accuracy = pytest.approx(expected["dialog_act_accuracy"], abs=1e-6)
            assert ours["response quality", "dialog act accuracy"] == accuracy


def test_small_rules() -> None:
    assert token_f1("wild garlic", "Wild garlic likes shade") == pytest.approx(2 / 3)
    assert compute_soft_score(True, {}) == 1.0
    assert compute_soft_score(True, {"a": 1.0, "b": 0.0}) == 0.0
    assert compute_soft_score(False, {"a": 1.0}) == 0.0
    assert count_valid_parameters([(["a", "b"], ["b"]), ([], [])]) == (1, 2)
    assert has_common_label(["a", "b"], ["b"]) and not has_common_label([], ["b"])
    assert (
        count_shared_labels({(frozenset({"agent_other"}), frozenset({"agent_other", "agent_inform_user"})): 1})[
            "agent_inform_user"
        ]["only_golden"]
        == 1
    )


def test_reply_without_list_links_nothing() -> None:
    call = {"id": "c_0", "dialog_id": "d_0", "ground_truth": [{"Garden_order": {}}]}
    act = {"id": "a_0", "dialog_id": "d_1", "ground_truth_content": ["Garden.order(plant='fern')"]}
    assert find_chain_positions([call], [act])["c_0"].length == 1
    for odd in (True, 5, "Garden.order()", {"a": 1}, None):
        assert find_chain_positions([call], [{**act, "ground_truth_content": odd}]) == {}
