"""CONFETTI verdicts, soft scores, chains and figures equal the score files of a published run.

Overrides change the figures as in the paper, and confirmations change nothing.

The run: 506 calls in 313 turns (220 of one call, 46 of two), 463 dialog-act records, 757 judged
arguments.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.importers.confetti.checker import (
    compute_soft_score,
    compute_token_f1,
    find_chain_positions,
    has_common_act_label,
)
from fcreview.importers.confetti.leaderboard import ActLabelPair, count_turns_by_label_match
from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item
from fcreview.model.metric import METRIC_SOURCES
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from tests.importers.overriding import ReviewedRun, open_reviewed_run
from tests.sharing import Imports


@pytest.fixture(scope="module")
def items(bench: Path) -> list[Item]:
    (plan,) = discover([bench / "confetti"]).plans
    return [item for item in read_items(plan) if isinstance(item, Item)]


def test_every_record_is_item_with_official_verdict(items: list[Item]) -> None:
    assert [
        sum(item.category == c for item in items) for c in ("conversationsclean", "dialogacts")
    ] == [506, 463]
    wrong = [
        (i.id, i.official, i.rule)
        for i in items
        if (i.official, i.error_type) != (i.rule, i.rule_error_type)
    ]
    assert wrong == []


def test_soft_scores_equal_soft_file(items: list[Item]) -> None:
    for item in items:
        scores = {
            v.source: v.value
            for v in item.verdicts
            if v.criterion == "soft_score" and v.target == "item"
        }
        if scores:
            assert scores["rule"] == scores["official"], item.id


def test_chains_are_recovered(items: list[Item]) -> None:
    lengths = [
        item.extra.metadata["chain"]["length"]
        for item in items
        if item.category == "conversationsclean"
    ]
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
    assert compute_token_f1("wild garlic", "Wild garlic likes shade") == pytest.approx(2 / 3)
    assert compute_soft_score(True, {}) == 1.0
    assert compute_soft_score(True, {"a": 1.0, "b": 0.0}) == 0.0
    assert compute_soft_score(False, {"a": 1.0}) == 0.0
    assert has_common_act_label(["a", "b"], ["b"]) and not has_common_act_label([], ["b"])
    golden_labels = frozenset({"agent_other", "agent_inform_user"})
    labels = ActLabelPair(frozenset({"agent_other"}), golden=golden_labels)
    assert count_turns_by_label_match({labels: 1})["agent_inform_user"]["golden only"] == 1


def test_reply_without_list_links_nothing() -> None:
    call = {"id": "c_0", "dialog_id": "d_0", "ground_truth": [{"Garden_order": {}}]}
    act = {"id": "a_0", "dialog_id": "d_1", "ground_truth_content": ["Garden.order(plant='fern')"]}
    assert find_chain_positions([call], [act])["c_0"].length == 1
    for odd in (True, 5, "Garden.order()", {"a": 1}, None):
        assert find_chain_positions([call], [{**act, "ground_truth_content": odd}]) == {}


CALLS = "function calling"
PER_CALL, CHAIN = (
    (CALLS, "soft accuracy, per call"),
    (CALLS, "soft accuracy, chain product per turn"),
)


@pytest.fixture
def run(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    with open_reviewed_run(imports, bench / "confetti", tmp_path / "ws") as found:
        yield found


@pytest.mark.sweep
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_confirmations_change_no_figure(run: ReviewedRun, share: float) -> None:
    before = run.read_figures()
    assert run.confirm(3, share) > 500
    assert run.changed_figures(before) == {}


@pytest.mark.sweep
def test_call_verdict_changes_only_binary_accuracy(run: ReviewedRun) -> None:
    """290 of 506 pass.

    The first fails with soft score 0 and the others pass with 1.0, so no soft score changes.
    """
    before = run.read_figures()
    run.review("conversationsclean_1", True)
    assert run.changed_figures(before) == {(CALLS, "binary accuracy"): 291 / 506}
    run.review("conversationsclean_0", False)
    run.review("conversationsclean_2", False, "turn:2/call:1")
    assert run.changed_figures(before) == {(CALLS, "binary accuracy"): 289 / 506}


@pytest.mark.sweep
def test_confirmed_failures_change_nothing(run: ReviewedRun) -> None:
    before = run.read_figures()
    for name in (
        "conversationsclean_6",
        "conversationsclean_8",
        "conversationsclean_9",
        "conversationsclean_22",
    ):
        run.review(name, False)
    assert run.changed_figures(before) == {}


def test_soft_score_of_call(run: ReviewedRun) -> None:
    """conversationsclean_1 is the second of a chain of two, 1.0 x 0.0. At 0.5 the product is 0.5.
    The turn is one of 313, and of 46 of that length. It has 15 functions and one user turn.
    """
    before = run.read_figures()
    run.review("conversationsclean_1", 0.5, criterion="soft_score")
    among = {
        PER_CALL: 506,
        CHAIN: 313,
        ("by chain length", "2"): 46,
        ("by functions offered", "10-19"): count_turns(run, "len(functions) BETWEEN 10 AND 19"),
        ("by user turns", "1-5"): count_turns(run, "n_turns <= 5"),
    }
    assert run.changed_figures(before) == {
        key: pytest.approx((before[key] or 0) + 0.5 / n, abs=1e-12) for key, n in among.items()
    }


def count_turns(run: ReviewedRun, condition: str) -> int:
    """Return the number of turns whose items meet a condition."""
    chain = "SELECT count(DISTINCT extra->'$.more.chain.turn') FROM item_rows"
    return int(
        run.store.run_sql(f"{chain} WHERE category = 'conversationsclean' AND {condition}")[1][0][0]
    )


@pytest.mark.sweep
def test_soft_score_of_argument_changes_that_of_call(run: ReviewedRun) -> None:
    """conversationsclean_22 has argument scores 1, 1, 0, 1, 1, so 0. With 0.5 for `locale` it has
    4.5 / 5 = 0.9. It is one of 220 chains of one call.
    """
    before = run.read_figures()
    run.review("conversationsclean_22", 0.5, "turn:3/call:1/arg:locale", "soft_score")
    changed = run.changed_figures(before)
    assert changed[PER_CALL] == pytest.approx((before[PER_CALL] or 0) + 0.9 / 506, abs=1e-12)
    assert changed[CHAIN] == pytest.approx((before[CHAIN] or 0) + 0.9 / 313, abs=1e-12)
    assert changed["by chain length", "1"] == pytest.approx(
        before["by chain length", "1"] + 0.9 / 220, abs=1e-12
    )
    assert (CALLS, "binary accuracy") not in changed
    # any 0 makes the call 0
    run.review("conversationsclean_22", 0, "turn:3/call:1/arg:hotel_id", "soft_score")
    assert run.changed_figures(before) == {}


def test_argument_of_wrong_function_changes_nothing(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("conversationsclean_1", 1, "turn:1/call:1/arg:name", "soft_score")
    assert run.changed_figures(before) == {}


@pytest.mark.sweep
def test_soft_score_with_disagreement_keeps_value(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("conversationsclean_20", 0, criterion="soft_score")  # 1.0, a chain of one call
    run.review("conversationsclean_20", 1, criterion="soft_score", who="bob")
    assert run.changed_figures(before) == {}


@pytest.mark.sweep
def test_flag_changes_only_validity(run: ReviewedRun) -> None:
    """668 of 757; `query` of conversationsclean_2 was flagged, as in the list of the record."""
    before = run.read_figures()
    assert before["parameter validity", "valid parameters"] == 668 / 757
    run.review("conversationsclean_2", False, "turn:2/call:1/arg:query", "hallucinated")
    assert run.changed_figures(before) == {("parameter validity", "valid parameters"): 669 / 757}
    run.review("conversationsclean_0", ["name"], criterion="hallucinated")
    assert run.changed_figures(before) == {}  # 669 - 1


@pytest.mark.sweep
def test_call_marked_as_wrong_function_is_not_counted(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("conversationsclean_2", False, "turn:2/call:1", "name_matches")
    assert run.changed_figures(before) == {("parameter validity", "valid parameters"): 668 / 756}


@pytest.mark.sweep
def test_dialog_acts_change_accuracy_and_confusion(run: ReviewedRun) -> None:
    """dialogacts_10: golden function and inform, labelled seek_info. 384 of 463 match; 388 of 490
    predicted and 811 golden labels are shared.
    """
    before = run.read_figures()
    assert before["dialog act labels", "precision"] == 388 / 490
    assert before["dialog act labels", "recall"] == 388 / 811
    assert before["dialog act labels", "F1"] == pytest.approx(2 * 388 / (490 + 811))
    seek, inform = "agent_seek_information", "agent_inform_user"
    function_pair, inform_pair = "function taken for seek_info", "inform taken for seek_info"
    confused = {
        name: value for (table, name), value in before.items() if table == "dialog acts confused"
    }
    shared = {name: value for (table, name), value in before.items() if table == "dialog acts"}
    run.review("dialogacts_10", [inform], "response", "dialog_act")
    changed = run.changed_figures(before)
    assert changed == {
        ("response quality", "dialog act accuracy"): 385 / 463,
        ("dialog act labels", "precision"): 389 / 490,
        ("dialog act labels", "recall"): 389 / 811,
        ("dialog act labels", "F1"): pytest.approx(2 * 389 / (490 + 811)),
        ("dialog acts confused", function_pair): confused[function_pair] - 1,
        ("dialog acts confused", inform_pair): confused[inform_pair] - 1,
        ("dialog acts", f"{inform}: golden and predicted"): shared[
            f"{inform}: golden and predicted"
        ]
        + 1,
        ("dialog acts", f"{inform}: golden only"): shared[f"{inform}: golden only"] - 1,
        ("dialog acts", f"{seek}: predicted only"): shared[f"{seek}: predicted only"] - 1,
    }


@pytest.mark.sweep
def test_dialog_act_verdict_changes_only_accuracy(run: ReviewedRun) -> None:
    before = run.read_figures()
    run.review("dialogacts_10", True)
    assert run.changed_figures(before) == {("response quality", "dialog act accuracy"): 385 / 463}
    run.review("dialogacts_10", False, who="bob")  # a disagreement keeps the automatic verdict
    assert run.changed_figures(before) == {}


def test_record_without_golden_answer_has_issue(bench: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(bench / "confetti", tmp_path / "run"))
    answers = copied / "data/possible_answer/BFCL_v2_conversationsclean.json"
    kept = [
        line
        for line in answers.read_text().splitlines()
        if json.loads(line)["id"] != "conversationsclean_1"
    ]
    answers.write_text("\n".join(kept))
    (plan,) = discover([copied]).plans
    item = next(
        i for i in read_items(plan) if isinstance(i, Item) and i.id == "conversationsclean_1"
    )
    assert (item.rule, item.first_difference) == (None, None)
    assert [issue.what for issue in item.issues] == [
        "the dataset has no golden answer for conversationsclean_1"
    ]
