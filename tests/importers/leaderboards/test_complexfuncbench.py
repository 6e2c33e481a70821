"""ComplexFuncBench: what an override moves, by the evaluator's own arithmetic; confirming moves nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.importers.complexfuncbench.calls import classify_parameter
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.importers.leaderboards.overriding import Reviewed, reviewing
from tests.sharing import Imports

PRINTED, PRESENT = "as printed", "over the records present"


@pytest.fixture
def run(bench: Path, imports: Imports, tmp_path: Path) -> Iterator[Reviewed]:
    with reviewing(imports, bench / "complexfuncbench", tmp_path / "ws") as found:
        yield found


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2])
def test_confirming_moves_no_figure(run: Reviewed, share: float) -> None:
    before = run.figures()
    assert run.confirm(7, share) > 10
    assert run.moved(before) == {}


def test_every_call_confirmed_and_no_item_moves_nothing(run: Reviewed) -> None:
    """Attraction-1 failed by a surplus call, all its calls being right; Cross-0 succeeded with a refused try."""
    before = run.figures()
    for call in (1, 2, 3):
        run.say("Attraction-1", True, f"turn:1/call:{call}", "equivalent")
    run.say("Cross-0", False, "turn:1/call:9", "equivalent")
    assert run.human("Attraction-1") is run.human("Cross-0") is None
    assert run.moved(before) == {}


@pytest.mark.parametrize("criterion", ["equivalent", "correct"])
def test_an_accepted_call_that_is_wrong(run: Reviewed, criterion: str) -> None:
    """Recorded: 49 of 57 calls, 6 of 12 samples (Flights 2 of 3; 14 of 14 calls). `legs` differs in Flights-1."""
    before = run.figures()
    run.say("Flights-1", False, "turn:1/call:4", criterion)
    assert run.human("Flights-1") is False
    moved = run.moved(before)
    assert moved.pop(("error types", "value_error")) == 3 + 1
    for word, n in {"func_error": 1, "value_error": 4, "stop_early": 1, "func_hallucination": 1}.items():
        assert moved.pop(("error shares", word)) == n / 7
    assert moved.pop(("wrong parameters by type", "legs")) == 1
    assert moved.pop(("error rate by type", "legs")) == 1 / 1
    assert moved == {
        (PRINTED, "Overall Success Rate"): 5 / 1000 * 100,
        (PRINTED, "Domain Success Rate: Flights"): 1 / 150 * 100,
        (PRINTED, "Overall Call Accuracy"): 48 / 57 * 100,  # 84.2
        (PRINTED, "Domain Call Accuracy: Flights"): 13 / 14 * 100,
        (PRESENT, "Overall Success Rate"): 5 / 12 * 100,  # 41.7
        (PRESENT, "Domain Success Rate: Flights"): 1 / 3 * 100,
        (PRESENT, "Overall Call Accuracy"): 48 / 57 * 100,
        (PRESENT, "Domain Call Accuracy: Flights"): 13 / 14 * 100,
    }


def test_a_refused_try_of_a_call_that_is_covered_counts_once(run: Reviewed) -> None:
    """Cross-0's 9th call asked for what the 6th was accepted for: 13 of 14 calls of Cross stay. Its differing `query`
    is no longer wrong."""
    before = run.figures()
    run.say("Cross-0", True, "turn:1/call:9", "equivalent")
    moved = run.moved(before)
    assert moved.keys() == {("wrong parameters by type", "location"), ("error rate by type", "location")}
    assert run.figures()[PRESENT, "Domain Call Accuracy: Cross"] == 13 / 14 * 100


def test_what_covers_the_call_instead_keeps_the_sample(run: Reviewed) -> None:
    """The accepted 6th call is wrong, the refused 9th right: one less, one more."""
    before = run.figures()
    run.say("Cross-0", False, "turn:1/call:6", "equivalent")
    assert run.moved(before)[PRESENT, "Domain Call Accuracy: Cross"] == 12 / 14 * 100
    assert run.human("Cross-0") is False
    run.say("Cross-0", True, "turn:1/call:9", "equivalent")
    assert run.human("Cross-0") is True
    assert {table for table, _ in run.moved(before)} <= {"wrong parameters by type", "error rate by type"}


def test_the_last_refused_call_that_is_right_makes_the_sample_succeed(run: Reviewed) -> None:
    """Cross-1: 5 of 6 calls, all others accepted; with the 6th every golden call is covered."""
    before = run.figures()
    run.say("Cross-1", True, "turn:1/call:6", "equivalent")
    assert run.human("Cross-1") is True
    moved = run.moved(before)
    assert moved[PRESENT, "Domain Call Accuracy: Cross"] == 14 / 14 * 100
    assert moved[PRESENT, "Domain Success Rate: Cross"] == 2 / 2 * 100
    assert moved[PRESENT, "Overall Success Rate"] == 7 / 12 * 100
    assert moved[PRINTED, "Domain Success Rate: Cross"] == 2 / 400 * 100
    assert moved[PRINTED, "Overall Call Accuracy"] == 50 / 57 * 100
    assert moved["error types", "value_error"] == 2


def test_a_right_call_does_not_help_where_others_were_never_made(run: Reviewed) -> None:
    """Hotels-1: the refused search of 4 golden calls is right; the two after it were never called."""
    before = run.figures()
    run.say("Hotels-1", True, "turn:1/call:2", "equivalent")
    assert run.human("Hotels-1") is None
    moved = run.moved(before)
    assert moved[PRESENT, "Domain Call Accuracy: Hotels"] == 12 / 14 * 100
    assert not any("Success" in name for _, name in moved)


def test_a_repeated_free_call_that_is_wrong_counts_once_less(run: Reviewed) -> None:
    """Flights-2 counts 5 of 4: its 7th call repeats the first. The golden call stays covered."""
    before = run.figures()
    run.say("Flights-2", False, "turn:1/call:7", "equivalent")
    moved = run.moved(before)
    assert moved[PRESENT, "Domain Call Accuracy: Flights"] == 13 / 14 * 100


def test_an_item_moves_success_only(run: Reviewed) -> None:
    before = run.figures()
    run.say("Hotels-0", False)
    moved = run.moved(before)
    assert {name for table, name in moved} == {"Overall Success Rate", "Domain Success Rate: Hotels"}
    assert moved[PRESENT, "Domain Success Rate: Hotels"] == 1 / 3 * 100


def test_scores_move_their_mean_only(run: Reviewed) -> None:
    """Completeness 1.857 is 13 over 7 responses; Hotels-0 has 2."""
    before = run.figures()
    run.say("Hotels-0", 0, "response", "completeness")
    assert run.moved(before) == {(PRINTED, "Complete Score"): 11 / 7, (PRESENT, "Complete Score"): 11 / 7}
    run.say("Hotels-0", 0, "response", "correctness")
    assert run.moved(before)[PRESENT, "Correct Score"] == 11 / 7


def test_a_call_that_people_differ_on_keeps_its_verdict(run: Reviewed) -> None:
    before = run.figures()
    run.say("Cross-1", True, "turn:1/call:6", "equivalent")
    run.say("Cross-1", False, "turn:1/call:6", "equivalent", who="bob")
    assert run.moved(before) == {}


def test_errors_parameters_and_steps(run: Reviewed) -> None:
    """Refused calls: Hotels-1 (two dates), Flights-0 (token), Car-Rental-0 (vehicle_id), Cross-0 (query), Cross-1
    (base_currency); Attraction-0 called another function, Flights-2's two were malformed."""
    found = run.figures("official")
    wrong = {name: value for (table, name), value in found.items() if table == "wrong parameters by type" and value}
    assert wrong == {"token": 1, "date": 2, "location": 1, "id": 1, "other": 1}
    assert found["error types", "value_error"] == 3
    assert found["error shares", "value_error"] == 3 / 6
    assert found["error shares", "param_missing"] == 0
    taken = {name: value for (table, name), value in found.items() if table == "steps taken"}
    assert taken == {"2": 3, "3": 5, "4": 3, "5": 1}
    assert found["steps", "mean, taken"] == 38 / 12


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("categories_filter", "filter"), ("legs", "legs"), ("offerToken", "token"), ("slug", "slug"),
        ("departDate", "date"), ("drop_off_time", "time"), ("sort_option_id", "sort_by"), ("sortBy", "sort_by"),
        ("query", "location"), ("pick_up_longitude", "location"), ("search_key", "key"), ("fromId", "id"),
        ("search_type", "type"), ("driver_age", "age"), ("adults", "people"), ("languagecode", "other"),
    ],
)  # fmt: skip
def test_types_of_parameters(parameter: str, expected: str) -> None:
    assert classify_parameter(parameter) == expected


@pytest.fixture
def copied(bench: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bench / "complexfuncbench", tmp_path / "run"))


def read(folder: Path) -> list[Item | ImportIssue]:
    (plan,) = discover([folder]).plans
    return [*plan.issues, *read_items(plan)]


def test_a_dataset_in_several_files_is_joined_whole(copied: Path) -> None:
    whole = copied / "data/ComplexFuncBench.jsonl"
    lines = whole.read_text().splitlines(keepends=True)
    (copied / "data/a.jsonl").write_text("".join(lines[:5]))
    (copied / "data/b.jsonl").write_text("".join(lines[5:]))
    whole.unlink()
    items = [each for each in read(copied) if isinstance(each, Item)]
    assert len(items) == 13
    assert all(item.golden for item in items)


def test_a_sample_that_the_dataset_lacks_has_an_issue_and_no_difference(copied: Path) -> None:
    whole = copied / "data/ComplexFuncBench.jsonl"
    kept = [line for line in whole.read_text().splitlines() if json.loads(line)["id"] != "Hotels-1"]
    whole.write_text("\n".join(kept))
    item = next(each for each in read(copied) if isinstance(each, Item) and each.id == "Hotels-1")
    assert item.first_difference is None
    assert [issue.what for issue in item.issues] == [
        "Hotels-1 is not in the dataset, so its golden calls and functions are missing"
    ]
