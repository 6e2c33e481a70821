"""CONFETTI: what an override moves, by the paper's arithmetic; confirming moves nothing.

The run: 506 calls in 313 turns (220 of one call, 46 of two), 463 dialog-act records, 757 judged arguments.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from tests.importers.leaderboards.overriding import Reviewed, reviewing
from tests.sharing import Imports

CALLS = "function calling"
PER_CALL, CHAIN = (CALLS, "soft accuracy, per call"), (CALLS, "soft accuracy, chain product per turn")


@pytest.fixture
def run(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[Reviewed]:
    with reviewing(imports, bench / "confetti", tmp_path / "ws") as found:
        yield found


@pytest.mark.sweep
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_confirming_moves_no_figure(run: Reviewed, share: float) -> None:
    before = run.figures()
    assert run.confirm(3, share) > 500
    assert run.moved(before) == {}


@pytest.mark.sweep
def test_a_call_record_moves_binary_accuracy_only(run: Reviewed) -> None:
    """290 of 506. The first fails with a soft score of 0, the others pass with 1.0: no score moves."""
    before = run.figures()
    run.say("conversationsclean_1", True)
    assert run.moved(before) == {(CALLS, "binary accuracy"): 291 / 506}
    run.say("conversationsclean_0", False)
    run.say("conversationsclean_2", False, "turn:2/call:1")
    assert run.moved(before) == {(CALLS, "binary accuracy"): 289 / 506}


@pytest.mark.sweep
def test_failing_calls_that_fail_move_nothing(run: Reviewed) -> None:
    before = run.figures()
    for name in ("conversationsclean_6", "conversationsclean_8", "conversationsclean_9", "conversationsclean_22"):
        run.say(name, False)
    assert run.moved(before) == {}


def test_a_calls_soft_score(run: Reviewed) -> None:
    """conversationsclean_1 is the second of a chain of two, 1.0 x 0.0; at 0.5 the product is 0.5. The turn is one of
    313, and of 46 of that length; it has 15 functions and one user turn."""
    before = run.figures()
    run.say("conversationsclean_1", 0.5, criterion="soft_score")
    among = {
        PER_CALL: 506,
        CHAIN: 313,
        ("by chain length", "2"): 46,
        ("by functions offered", "10-19"): turns(run, "len(functions) BETWEEN 10 AND 19"),
        ("by user turns", "1-5"): turns(run, "n_turns <= 5"),
    }
    assert run.moved(before) == {
        key: pytest.approx((before[key] or 0) + 0.5 / n, abs=1e-12) for key, n in among.items()
    }


def turns(run: Reviewed, condition: str) -> int:
    """How many turns of the run's questions meet a condition."""
    chain = "SELECT count(DISTINCT extra->'$.more.chain.turn') FROM item_rows"
    return int(run.store.run_sql(f"{chain} WHERE category = 'conversationsclean' AND {condition}")[1][0][0])


@pytest.mark.sweep
def test_an_arguments_soft_score_makes_the_calls_anew(run: Reviewed) -> None:
    """conversationsclean_22 has arguments 1, 1, 0, 1, 1 and so 0; with 0.5 for `locale` it is 4.5 / 5 = 0.9. It is a
    chain of its own, one of 220."""
    before = run.figures()
    run.say("conversationsclean_22", 0.5, "turn:3/call:1/arg:locale", "soft_score")
    moved = run.moved(before)
    assert moved[PER_CALL] == pytest.approx((before[PER_CALL] or 0) + 0.9 / 506, abs=1e-12)
    assert moved[CHAIN] == pytest.approx((before[CHAIN] or 0) + 0.9 / 313, abs=1e-12)
    assert moved["by chain length", "1"] == pytest.approx(before["by chain length", "1"] + 0.9 / 220, abs=1e-12)
    assert (CALLS, "binary accuracy") not in moved
    run.say("conversationsclean_22", 0, "turn:3/call:1/arg:hotel_id", "soft_score")  # any 0 makes the call 0
    assert run.moved(before) == {}


def test_an_argument_of_another_functions_call_makes_nothing(run: Reviewed) -> None:
    before = run.figures()
    run.say("conversationsclean_1", 1, "turn:1/call:1/arg:name", "soft_score")
    assert run.moved(before) == {}


@pytest.mark.sweep
def test_a_soft_score_that_people_differ_on_keeps_its_value(run: Reviewed) -> None:
    before = run.figures()
    run.say("conversationsclean_20", 0, criterion="soft_score")  # 1.0, a chain of its own
    run.say("conversationsclean_20", 1, criterion="soft_score", who="bob")
    assert run.moved(before) == {}


@pytest.mark.sweep
def test_a_flag_moves_validity_only(run: Reviewed) -> None:
    """668 of 757; `query` of conversationsclean_2 was flagged. The record's list says the same of all its arguments."""
    before = run.figures()
    assert before["parameter validity", "valid parameters"] == 668 / 757
    run.say("conversationsclean_2", False, "turn:2/call:1/arg:query", "hallucinated")
    assert run.moved(before) == {("parameter validity", "valid parameters"): 669 / 757}
    run.say("conversationsclean_0", ["name"], criterion="hallucinated")
    assert run.moved(before) == {}  # 669 - 1


@pytest.mark.sweep
def test_a_call_of_another_function_than_thought_is_not_counted(run: Reviewed) -> None:
    before = run.figures()
    run.say("conversationsclean_2", False, "turn:2/call:1", "name_matches")
    assert run.moved(before) == {("parameter validity", "valid parameters"): 668 / 756}


@pytest.mark.sweep
def test_labels_move_accuracy_confusion_and_labels(run: Reviewed) -> None:
    """dialogacts_10: golden function and inform, labelled seek_info. 384 of 463 match; 388 of 490 predicted and 811
    golden labels are shared."""
    before = run.figures()
    assert before["dialog act labels", "precision"] == 388 / 490
    assert before["dialog act labels", "recall"] == 388 / 811
    assert before["dialog act labels", "F1"] == pytest.approx(2 * 388 / (490 + 811))
    seek, inform = "agent_seek_information", "agent_inform_user"
    confused = {name: value for (table, name), value in before.items() if table == "dialog acts confused"}
    shared = {name: value for (table, name), value in before.items() if table == "dialog acts"}
    run.say("dialogacts_10", [inform], "response", "dialog_act")
    moved = run.moved(before)
    assert moved == {
        ("response quality", "dialog act accuracy"): 385 / 463,
        ("dialog act labels", "precision"): 389 / 490,
        ("dialog act labels", "recall"): 389 / 811,
        ("dialog act labels", "F1"): pytest.approx(2 * 389 / (490 + 811)),
        ("dialog acts confused", "function taken for seek_info"): confused["function taken for seek_info"] - 1,
        ("dialog acts confused", "inform taken for seek_info"): confused["inform taken for seek_info"] - 1,
        ("dialog acts", f"{inform}: golden and predicted"): shared[f"{inform}: golden and predicted"] + 1,
        ("dialog acts", f"{inform}: golden only"): shared[f"{inform}: golden only"] - 1,
        ("dialog acts", f"{seek}: predicted only"): shared[f"{seek}: predicted only"] - 1,
    }


@pytest.mark.sweep
def test_a_dialog_act_record_moves_accuracy_only(run: Reviewed) -> None:
    before = run.figures()
    run.say("dialogacts_10", True)
    assert run.moved(before) == {("response quality", "dialog act accuracy"): 385 / 463}
    run.say("dialogacts_10", False, who="bob")  # a dispute keeps the automatic verdict
    assert run.moved(before) == {}


def test_a_record_without_a_golden_answer_has_an_issue_and_no_difference(bench: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(bench / "confetti", tmp_path / "run"))
    answers = copied / "data/possible_answer/BFCL_v2_conversationsclean.json"
    kept = [line for line in answers.read_text().splitlines() if json.loads(line)["id"] != "conversationsclean_1"]
    answers.write_text("\n".join(kept))
    (plan,) = discover([copied]).plans
    item = next(i for i in read_items(plan) if isinstance(i, Item) and i.id == "conversationsclean_1")
    assert (item.rule, item.first_difference) == (None, None)
    assert [issue.what for issue in item.issues] == ["conversationsclean_1 has no golden answer"]
