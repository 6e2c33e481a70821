"""HammerBench: overrides change the figures as in the scripts, and confirmations change nothing.

The flat log has 115 snapshots: 97 of the right function, 26 of them with an invented name, 6 with a missing one, 9 with
only a wrong value; 59 args_ok, 7 rejected, 12 texts; 26 names invented and 41 missing in all. `T` is what the script
adds to some denominators.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.hammerbench.leaderboard import EPSILON as T
from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item
from tests.importers.leaderboards.overriding import ReviewedRun, open_reviewed_run
from tests.sharing import Imports

ALL = "all types"
HALLUCINATIONS, MISSING = "Average number of parameter hallucinations", "Average number of missing parameters"
OTHER = "Other errors"


@pytest.fixture
def flat(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    with open_reviewed_run(imports, bench / "hammerbench/logs/en/synth-alpha.json", tmp_path / "ws") as found:
        yield found


@pytest.fixture
def judged(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[ReviewedRun]:
    """A run of 948 snapshots of 404 conversations, with the recorded replies of a judge."""
    with open_reviewed_run(
        imports, bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA", tmp_path / "ws"
    ) as found:
        yield found


@pytest.mark.sweep
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_confirmations_change_no_figure_of_flat_log(flat: ReviewedRun, share: float) -> None:
    before = flat.read_figures()
    assert flat.confirm(5, share) > 100
    assert flat.changed_figures(before) == {}


@pytest.mark.sweep
def test_confirmations_change_no_figure_of_conversations(judged: ReviewedRun) -> None:
    before = judged.read_figures()
    assert judged.confirm(5, 1.0) > 8000
    assert judged.changed_figures(before) == {}


def test_confirmed_refusals_and_failures_change_nothing(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    assert (before[ALL, "Func_Acc"], before[ALL, "Args_Acc"]) == (97 / 115, 59 / 115)
    flat.review("ir_ST_Perfect_0_1", True)
    flat.review("ir_ST_Perfect_2_1", True)
    flat.review("ST_Imperfect_0_1", False)
    assert flat.changed_figures(before) == {}


NAMED = {
    (ALL, "Func_Acc"): 98 / 115,
    (ALL, "PN_FP"): 26 / (98 + T),
    (ALL, "PN_FN"): 6 / (98 + T),
    (ALL, OTHER): 9 / (98 + T),
    ("ST_Imperfect", "Func_Acc"): 4 / 4,
    ("ST_Imperfect", "PN_FP"): 1 / (4 + T),
    ("ST_Imperfect", OTHER): 1 / (4 + T),
}
VALUES = {
    (ALL, "Args_Acc"): 60 / 115,
    (ALL, OTHER): 8 / (97 + T),
    ("ST_Perfect", "Args_Acc"): 4 / 4,
    ("ST_Perfect", OTHER): 0 / (4 + T),
}
OVERRIDES: list[tuple[str, str, Any, dict[tuple[str, str], float]]] = [
    ("ST_Imperfect_0_1", "func_ok", True, NAMED),
    ("ST_Imperfect_0_1", "correct", True, NAMED),  # args_ok was already right
    ("ST_Perfect_3_1", "args_ok", True, VALUES),
    ("ST_Perfect_3_1", "correct", True, VALUES),  # func_ok was already right
    (
        "ST_Perfect_0_1",
        "correct",
        False,  # one of the two is wrong; the criterion of the name is separate
        {
            (ALL, "Args_Acc"): 58 / 115,
            (ALL, OTHER): 10 / (97 + T),
            ("ST_Perfect", "Args_Acc"): 2 / 4,
            ("ST_Perfect", OTHER): 2 / (4 + T),
        },
    ),
    (
        "ST_Perfect_0_1",
        "func_ok",
        False,
        {
            (ALL, "Func_Acc"): 96 / 115,
            (ALL, "PN_FP"): 26 / (96 + T),
            (ALL, "PN_FN"): 6 / (96 + T),
            (ALL, OTHER): 9 / (96 + T),
            ("ST_Perfect", "Func_Acc"): 3 / 4,
            ("ST_Perfect", OTHER): 1 / (3 + T),
        },
    ),
    (
        "ir_ST_Imperfect_0_1",
        "rejected",
        True,
        {
            (ALL, "Rejection rate"): 8 / 115,
            ("ir_ST_Imperfect", "Rejection rate"): 1 / 2,
            ("ir_ST_Imperfect", "declined"): 1 / 2,
        },
    ),
    ("ir_ST_Imperfect_0_1", "correct", True, {("ir_ST_Imperfect", "declined"): 1 / 2}),
    (
        "ST_Perfect_0_1",
        "is_text",
        True,
        {(ALL, "Output string ratio"): 13 / 115, ("ST_Perfect", "Output string ratio"): 1 / 4},
    ),
    (
        "ST_Imperfect_2_1",
        "hallucinated",
        [],  # no name is wrong, so a value is
        {
            (ALL, HALLUCINATIONS): 25 / (115 + T),
            (ALL, "PN_FP"): 25 / (97 + T),
            (ALL, OTHER): 10 / (97 + T),
            ("ST_Imperfect", HALLUCINATIONS): 0 / (4 + T),
            ("ST_Imperfect", "PN_FP"): 0 / (3 + T),
            ("ST_Imperfect", OTHER): 2 / (3 + T),
        },
    ),
    (
        "mQsA_0_3",
        "missing",
        [],  # of 8 snapshots, 7 of the right function, 2 with a missing name
        {
            (ALL, MISSING): 40 / (115 + T),
            (ALL, "PN_FN"): 5 / (97 + T),
            (ALL, OTHER): 10 / (97 + T),
            ("mQsA", MISSING): 1 / (8 + T),
            ("mQsA", "PN_FN"): 1 / (7 + T),
            ("mQsA", OTHER): 1 / (7 + T),
            ("mQsA against Based", "PN_FN, change"): 1 / (7 + T) - 1 / (8 + T),
        },
    ),
]


@pytest.mark.parametrize(("name", "criterion", "verdict", "expected"), OVERRIDES)
def test_verdict_changes_dependent_figures(
    flat: ReviewedRun, name: str, criterion: str, verdict: Any, expected: dict[tuple[str, str], float]
) -> None:
    before = flat.read_figures()
    flat.review(name, verdict, criterion=criterion)
    assert flat.changed_figures(before) == expected


def test_snapshot_with_right_function_is_not_rejected(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    flat.review("mQmA_0_2", True, criterion="func_ok")
    changed = flat.changed_figures(before)
    assert changed[ALL, "Rejection rate"] == 6 / 115
    assert changed["mQmA", "Rejection rate"] == 0 / 9


def test_progress_follows_snapshot(flat: ReviewedRun) -> None:
    """sQmA has three conversations: all right; wrong, right, right; right, wrong, right. The other error of the changed
    snapshot, an invented name, stays."""
    before = flat.read_figures()
    assert (before["sQmA", "PR"], before["sQmA", "SR"]) == ((1 + 0 + 1 / 3) / (3 + T), 1 / (3 + T))
    flat.review("sQmA_1_1", True, criterion="args_ok")
    changed = flat.changed_figures(before)
    assert changed.pop(("sQmA against Based", "PR, change")) == pytest.approx(7 / 9 - 0.8 / 3)
    assert changed == {
        (ALL, "Args_Acc"): 60 / 115,
        ("sQmA", "Args_Acc"): 8 / 9,
        ("sQmA", "PR"): (1 + 1 + 1 / 3) / (3 + T),
        ("sQmA", "SR"): 2 / (3 + T),
        ("sQmA, first snapshot", "Args_Acc"): 3 / 3,
        ("sQmA against Based", "Args_Acc, change"): 8 / 9 - 7 / 14,
        ("sQmA against Based", "SR, change"): 2 / (3 + T),
    }


def test_snapshot_with_disagreement_keeps_verdict(flat: ReviewedRun) -> None:
    before = flat.read_figures()
    flat.review("ST_Perfect_0_1", False, criterion="func_ok")
    flat.review("ST_Perfect_0_1", True, criterion="func_ok", who="bob")
    flat.review("ST_Perfect_3_1", True)
    flat.review("ST_Perfect_3_1", False, who="bob")
    assert flat.changed_figures(before) == {}


def test_changed_snapshots(flat: ReviewedRun) -> None:
    """SO_case2 overrides a slot in the third snapshot of each of its three conversations: two invent a name, one is a
    text with its name missing; no value is right. mSv does so in the last, and all three follow."""
    found = flat.read_figures("rule")
    assert found["SO_case2, changed snapshots", "PN_FP"] == 2 / (3 + T)
    assert found["SO_case2, changed snapshots", "PN_FN"] == 1 / (3 + T)
    assert found["SO_case2, changed snapshots", "SR"] == 0
    assert found["mSv, changed snapshots", "PR"] == found["mSv, changed snapshots", "SR"] == 3 / (3 + T)
    # slots of SO_case1 are overridden within one turn, so not visible
    assert not any(table == "SO_case1, changed snapshots" for table, _ in found)


def find_first_snapshot(run: ReviewedRun, condition: Callable[[dict[str, Any]], bool]) -> str:
    """Return the first snapshot of a conversation with the right function and verdicts that meet the condition, given
    as {source_criterion: value}."""
    text = (
        "SELECT i.id, i.category, list_transform(r.verdicts, lambda v: v.source || '_' || v.criterion || '=' ||"
        " CAST(v.value AS VARCHAR)), CAST(r.extra->'$.more' AS VARCHAR) FROM items i JOIN item_rows r USING (item)"
        " WHERE i.id LIKE '%_1' ORDER BY i.item"
    )
    for name, _, verdicts, more in run.store.run_sql(text)[1]:
        values = {part.partition("=")[0]: json.loads(part.partition("=")[2]) for part in verdicts}
        values["same"] = json.loads(more)["same function and argument names"]
        if values["official_func_ok"] and condition(values):
            return str(name)
    raise AssertionError("no such snapshot")


@pytest.mark.sweep
@pytest.mark.parametrize("criterion", ["equivalent", "args_ok_llm"])
def test_overridden_judge_pass_changes_only_judge_figures(judged: ReviewedRun, criterion: str) -> None:
    before = judged.read_figures()
    assert before["mQmA, all snapshots", "Args_Acc LLM"] == 502 / 948
    judged.review(find_first_snapshot(judged, lambda v: v["judge_args_ok_llm"]), False, criterion=criterion)
    changed = judged.changed_figures(before)
    assert changed["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert changed["mQmA, first snapshot", "SR LLM"] < before["mQmA, first snapshot", "SR LLM"]  # type: ignore[operator]
    assert all(name.endswith("LLM") for _, name in changed)


@pytest.mark.sweep
def test_overridden_judge_failure_needs_same_names(judged: ReviewedRun) -> None:
    before = judged.read_figures()
    judged.review(
        find_first_snapshot(judged, lambda v: not v["judge_equivalent"] and not v["same"]), True, criterion="equivalent"
    )
    assert judged.changed_figures(before) == {}
    judged.review(
        find_first_snapshot(judged, lambda v: not v["judge_equivalent"] and v["same"]), True, criterion="equivalent"
    )
    assert judged.changed_figures(before)["mQmA, all snapshots", "Args_Acc LLM"] == 503 / 948


@pytest.mark.sweep
def test_item_marked_as_failed(judged: ReviewedRun) -> None:
    """325 of 948 by rule, 502 by the judge. The function stays right."""
    before = judged.read_figures()
    judged.review(find_first_snapshot(judged, lambda v: v["official_correct"] and v["judge_args_ok_llm"]), False)
    changed = judged.changed_figures(before)
    assert changed["mQmA, all snapshots", "Args_Acc"] == 324 / 948
    assert changed["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert ("mQmA, all snapshots", "Func_Acc") not in changed


@pytest.mark.sweep
def test_first_function_counts_for_conversation(judged: ReviewedRun) -> None:
    """288 of 404 conversations begin with the right function."""
    before = judged.read_figures()
    assert before["mQmA, all snapshots", "Func_Acc"] == 288 / 404
    judged.review(find_first_snapshot(judged, lambda v: v["official_func_ok"]), False, criterion="func_ok")
    assert judged.changed_figures(before)["mQmA, all snapshots", "Func_Acc"] == 287 / 404


def test_number_of_parameters_is_no_share(judged: ReviewedRun) -> None:
    found = compute_metrics(judged.store.analysis.fetch_scored_items(judged.row.run)["rule"], judged.row.info)
    assert {each.unit for each in found if each.name.startswith("Average number")} == {"score"}
    assert {each.unit for each in found if not each.name.startswith("Average number")} == {"share"}


def test_snapshot_without_label_has_issue(bench: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(bench / "hammerbench/data/en", tmp_path / "data/en")).parent.parent
    log = json.loads((bench / "hammerbench/logs/en/synth-alpha.json").read_text())
    del log[1]["label"]  # the first record identifies the format
    (root / "en").mkdir()
    (root / "en/some.json").write_text(json.dumps(log))
    (plan,) = discover([root / "en/some.json"]).plans
    item = next(each for each in read_items(plan) if isinstance(each, Item) and each.id == "ST_Perfect_1_1")
    assert (item.rule, item.first_difference, item.verdicts) == (None, None, [])
    assert [issue.what for issue in item.issues] == ["ST_Perfect_1_1 has no label"]
