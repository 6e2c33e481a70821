"""HammerBench: what an override moves, by the scripts' own arithmetic; confirming moves nothing.

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
from tests.importers.leaderboards.overriding import Reviewed, reviewing
from tests.sharing import Imports

ALL = "all types"
HALLUCINATIONS, MISSING = "Average number of parameter hallucinations", "Average number of missing parameters"
OTHER = "Other errors"


@pytest.fixture
def flat(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[Reviewed]:
    with reviewing(imports, bench / "hammerbench/logs/en/synth-alpha.json", tmp_path / "ws") as found:
        yield found


@pytest.fixture
def judged(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[Reviewed]:
    """948 snapshots of 404 conversations, with a judge's recorded replies."""
    with reviewing(imports, bench / "hammerbench/legacy/logs/en/GPT-4o/HammerBench_mQmA", tmp_path / "ws") as found:
        yield found


@pytest.mark.sweep
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_confirming_moves_no_figure_of_a_flat_log(flat: Reviewed, share: float) -> None:
    before = flat.figures()
    assert flat.confirm(5, share) > 100
    assert flat.moved(before) == {}


@pytest.mark.sweep
def test_confirming_moves_no_figure_of_conversations(judged: Reviewed) -> None:
    before = judged.figures()
    assert judged.confirm(5, 1.0) > 8000
    assert judged.moved(before) == {}


def test_right_refusals_and_failing_snapshots_that_are_confirmed_move_nothing(flat: Reviewed) -> None:
    before = flat.figures()
    assert (before[ALL, "Func_Acc"], before[ALL, "Args_Acc"]) == (97 / 115, 59 / 115)
    flat.say("ir_ST_Perfect_0_1", True)
    flat.say("ir_ST_Perfect_2_1", True)
    flat.say("ST_Imperfect_0_1", False)
    assert flat.moved(before) == {}


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
    ("ST_Imperfect_0_1", "correct", True, NAMED),  # args_ok was right already
    ("ST_Perfect_3_1", "args_ok", True, VALUES),
    ("ST_Perfect_3_1", "correct", True, VALUES),  # func_ok was right already
    (
        "ST_Perfect_0_1",
        "correct",
        False,  # one of the two is wrong; the name is asked for by itself
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
        [],  # the one name is none: what is wrong is a value
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
def test_a_verdict_moves_what_depends_on_it(
    flat: Reviewed, name: str, criterion: str, verdict: Any, expected: dict[tuple[str, str], float]
) -> None:
    before = flat.figures()
    flat.say(name, verdict, criterion=criterion)
    assert flat.moved(before) == expected


def test_a_snapshot_of_the_right_function_is_not_rejected(flat: Reviewed) -> None:
    before = flat.figures()
    flat.say("mQmA_0_2", True, criterion="func_ok")
    moved = flat.moved(before)
    assert moved[ALL, "Rejection rate"] == 6 / 115
    assert moved["mQmA", "Rejection rate"] == 0 / 9


def test_progress_follows_a_snapshot(flat: Reviewed) -> None:
    """sQmA has three conversations: all right; wrong, right, right; right, wrong, right. The second's first snapshot is
    also the first of its conversation. Its other errors stay: a name was invented."""
    before = flat.figures()
    assert (before["sQmA", "PR"], before["sQmA", "SR"]) == ((1 + 0 + 1 / 3) / (3 + T), 1 / (3 + T))
    flat.say("sQmA_1_1", True, criterion="args_ok")
    moved = flat.moved(before)
    assert moved.pop(("sQmA against Based", "PR, change")) == pytest.approx(7 / 9 - 0.8 / 3)
    assert moved == {
        (ALL, "Args_Acc"): 60 / 115,
        ("sQmA", "Args_Acc"): 8 / 9,
        ("sQmA", "PR"): (1 + 1 + 1 / 3) / (3 + T),
        ("sQmA", "SR"): 2 / (3 + T),
        ("sQmA, first snapshot", "Args_Acc"): 3 / 3,
        ("sQmA against Based", "Args_Acc, change"): 8 / 9 - 7 / 14,
        ("sQmA against Based", "SR, change"): 2 / (3 + T),
    }


def test_what_people_differ_on_keeps_its_verdict(flat: Reviewed) -> None:
    before = flat.figures()
    flat.say("ST_Perfect_0_1", False, criterion="func_ok")
    flat.say("ST_Perfect_0_1", True, criterion="func_ok", who="bob")
    flat.say("ST_Perfect_3_1", True)
    flat.say("ST_Perfect_3_1", False, who="bob")
    assert flat.moved(before) == {}


def test_changed_snapshots(flat: Reviewed) -> None:
    """SO_case2 overrides a slot in the third snapshot of each of its three conversations: two invent a name, one is a
    text with its name missing; no value is right. mSv does so in the last, and all three follow."""
    found = flat.figures("rule")
    assert found["SO_case2, changed snapshots", "PN_FP"] == 2 / (3 + T)
    assert found["SO_case2, changed snapshots", "PN_FN"] == 1 / (3 + T)
    assert found["SO_case2, changed snapshots", "SR"] == 0
    assert found["mSv, changed snapshots", "PR"] == found["mSv, changed snapshots", "SR"] == 3 / (3 + T)
    assert not any(table == "SO_case1, changed snapshots" for table, _ in found)  # inside one turn: not to be seen


def first(run: Reviewed, fulfils: Callable[[dict[str, Any]], bool]) -> str:
    """The first snapshot of a conversation with the right function whose verdicts fulfil a condition over
    {source_criterion: value}."""
    text = (
        "SELECT i.id, i.category, list_transform(r.verdicts, lambda v: v.source || '_' || v.criterion || '=' ||"
        " CAST(v.value AS VARCHAR)), CAST(r.extra->'$.more' AS VARCHAR) FROM items i JOIN item_rows r USING (item)"
        " WHERE i.id LIKE '%_1' ORDER BY i.item"
    )
    for name, _, said, more in run.store.run_sql(text)[1]:
        values = {part.partition("=")[0]: json.loads(part.partition("=")[2]) for part in said}
        values["same"] = json.loads(more)["same function and argument names"]
        if values["official_func_ok"] and fulfils(values):
            return str(name)
    raise AssertionError("no such snapshot")


@pytest.mark.sweep
@pytest.mark.parametrize("criterion", ["equivalent", "args_ok_llm"])
def test_a_judges_yes_that_is_a_no_moves_the_judges_figures_only(judged: Reviewed, criterion: str) -> None:
    before = judged.figures()
    assert before["mQmA, all snapshots", "Args_Acc LLM"] == 502 / 948
    judged.say(first(judged, lambda said: said["judge_args_ok_llm"]), False, criterion=criterion)
    moved = judged.moved(before)
    assert moved["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert moved["mQmA, first snapshot", "SR LLM"] < before["mQmA, first snapshot", "SR LLM"]  # type: ignore[operator]
    assert all(name.endswith("LLM") for _, name in moved)


@pytest.mark.sweep
def test_a_judges_no_that_is_a_yes_counts_with_the_same_names_only(judged: Reviewed) -> None:
    before = judged.figures()
    judged.say(
        first(judged, lambda said: not said["judge_equivalent"] and not said["same"]), True, criterion="equivalent"
    )
    assert judged.moved(before) == {}
    judged.say(first(judged, lambda said: not said["judge_equivalent"] and said["same"]), True, criterion="equivalent")
    assert judged.moved(before)["mQmA, all snapshots", "Args_Acc LLM"] == 503 / 948


@pytest.mark.sweep
def test_an_item_that_fails_after_all(judged: Reviewed) -> None:
    """325 of 948 by rule, 502 by the judge. The function stays right."""
    before = judged.figures()
    judged.say(first(judged, lambda said: said["official_correct"] and said["judge_args_ok_llm"]), False)
    moved = judged.moved(before)
    assert moved["mQmA, all snapshots", "Args_Acc"] == 324 / 948
    assert moved["mQmA, all snapshots", "Args_Acc LLM"] == 501 / 948
    assert ("mQmA, all snapshots", "Func_Acc") not in moved


@pytest.mark.sweep
def test_the_first_function_counts_for_the_conversation(judged: Reviewed) -> None:
    """288 of 404 conversations begin with the right function."""
    before = judged.figures()
    assert before["mQmA, all snapshots", "Func_Acc"] == 288 / 404
    judged.say(first(judged, lambda said: said["official_func_ok"]), False, criterion="func_ok")
    assert judged.moved(before)["mQmA, all snapshots", "Func_Acc"] == 287 / 404


def test_a_number_of_parameters_is_no_share(judged: Reviewed) -> None:
    found = compute_metrics(judged.store.analysis.fetch_scored_items(judged.row.run)["rule"], judged.row.info)
    assert {each.unit for each in found if each.name.startswith("Average number")} == {"score"}
    assert {each.unit for each in found if not each.name.startswith("Average number")} == {"share"}


def test_a_snapshot_without_a_label_has_an_issue_and_no_difference(bench: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(bench / "hammerbench/data/en", tmp_path / "data/en")).parent.parent
    log = json.loads((bench / "hammerbench/logs/en/synth-alpha.json").read_text())
    del log[1]["label"]  # the first tells what the file is
    (root / "en").mkdir()
    (root / "en/some.json").write_text(json.dumps(log))
    (plan,) = discover([root / "en/some.json"]).plans
    item = next(each for each in read_items(plan) if isinstance(each, Item) and each.id == "ST_Perfect_1_1")
    assert (item.rule, item.first_difference, item.verdicts) == (None, None, [])
    assert [issue.what for issue in item.issues] == ["ST_Perfect_1_1 has no label"]
