"""Repetitions of a run, and several evaluations of the same results, are runs of the same model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.model_folder import describe_model_folder, is_repeat_name
from fcreview.importers.registry import discover
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from tests.importers.bfcl.conftest import CATEGORY, OFFICIAL, RESULT, SCORE, official_verdicts
from tests.importers.bfcl.test_not_run import CASES

KNOWN_MODEL = "gpt-4o-2024-11-20-FC"


@pytest.mark.parametrize(
    "name",
    [
        "run1",
        "run_2",
        "trial_1",
        "trial-3",
        "seed42",
        "seed=7",
        "seed42_temp0.7",
        "2025-01-31",
        "20250131-123005",
        "2025-01-31_12-30-05",
        "3",
        "1st_run",
        "run-a",
        "attempt3",
        "temperature_0.7",
        "v2",
        "batch_3",
    ],
)
def test_names_of_repetitions(name: str) -> None:
    assert is_repeat_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o",
        "o1",
        "repo",
        "llama3",
        "R1",
        "runner",
        "passed",
        "qwq-32b",
        "greedy",
        "run",
        "2" * 70,
    ],
)
def test_names_that_are_no_repetitions(name: str) -> None:
    assert not is_repeat_name(name)


@pytest.mark.parametrize(
    ("folder", "model", "repetition"),
    [
        ("result/m/run1", "m", ("run1",)),
        ("result/m/2025-01-31/run1", "m", ("run1", "2025-01-31")),
        ("result/2025-01-31/m", "m", ()),
        ("result/run1/m", "m", ()),
        ("result/run1", "run1", ()),
        ("result/day/m", "m", ()),
        (f"result/{KNOWN_MODEL}/greedy", KNOWN_MODEL, ("greedy",)),
        (f"{KNOWN_MODEL}/run1/result", KNOWN_MODEL, ("run1",)),
        ("bench/run1/result", "run1", ()),
        ("gpt4o_results", "gpt4o_results", ()),
    ],
)
def test_model_and_repetition_of_folder(
    folder: str, model: str, repetition: tuple[str, ...]
) -> None:
    found = describe_model_folder(Path("/x") / folder, "V4")
    assert (found.model, found.repetition) == (model, repetition)


def copy_run(v4: Path, *places: str) -> None:
    """Move the results and scores of the model `m` to each place, such as `m/run1`."""
    for kind in ("result", "score"):
        shutil.move(v4 / kind / "m", v4 / f"old-{kind}")
        for place in places:
            shutil.copytree(v4 / f"old-{kind}", v4 / kind / place)
        shutil.rmtree(v4 / f"old-{kind}")


def describe(plan: RunPlan) -> tuple[str, tuple[str, ...]]:
    return plan.run.model, tuple(plan.run.name_parts)


@pytest.mark.parametrize(
    "pair", [("run1", "run2"), ("trial_1", "trial_2"), ("2025-01-31", "2025-02-01"), ("7", "42")]
)
@pytest.mark.parametrize("opened", [".", "result"])
def test_repetitions_keep_name_of_model(
    v4: Path, plans: Any, items: Any, pair: tuple[str, str], opened: str
) -> None:
    copy_run(v4, *(f"m/{name}" for name in pair))
    found = sorted(plans(v4 / opened), key=describe)
    assert [describe(plan) for plan in found] == [("m", (name,)) for name in sorted(pair)]
    for plan in found:
        assert [
            Path(plan.run.path).name in str(path) for path in (*plan.results, *plan.scores)
        ] == [True, True]
        assert official_verdicts(items(plan)[0]) == OFFICIAL


def test_repetitions_of_different_categories_are_several_runs(
    v4: Path, plans: Any, write_lines: Any, result: Any
) -> None:
    copy_run(v4, "m/run1")
    write_lines(v4 / "result/m/run2/BFCL_v4_multiple_result.json", result("multiple_0"))
    assert [describe(plan) for plan in plans(v4)] == [("m", ("run1",)), ("m", ("run2",))]


def test_repetition_beside_results_of_model(v4: Path, plans: Any) -> None:
    copy_run(v4, "m", "m/run2")
    found = plans(v4)
    assert [describe(plan) for plan in found] == [("m", ()), ("m", ("run2",))]
    assert [len(plan.results) + len(plan.scores) for plan in found] == [2, 2]
    assert not any(plan.issues for plan in found)


def test_repetitions_of_flat_version(
    tmp_path: Path, plans: Any, write_lines: Any, result: Any, header: Any
) -> None:
    for run in ("run1", "run2"):
        write_lines(tmp_path / f"result/m/{run}/BFCL_v3_simple_result.json", result("simple_0"))
        write_lines(tmp_path / f"score/m/{run}/BFCL_v3_simple_score.json", header(1, 1))
    found = plans(tmp_path)
    assert [describe(plan) for plan in found] == [("m", ("run1",)), ("m", ("run2",))]
    assert all(plan.scores[0].parent.name == plan.results[0].parent.name for plan in found)


def test_suffixes_of_results_and_scores_belong_together() -> None:
    found = discover([CASES / "16b-suffix-pairs"]).plans
    places = [(plan.results[0].parts[-4], plan.scores[0].parts[-4]) for plan in found]
    assert sorted(places) == [("result", "score"), ("result_v1", "score_v1")]


@pytest.mark.parametrize("other", ["score_v1", "score_2025", "scores", "score-old", "my_score"])
def test_two_evaluations_of_results_are_two_runs(
    v4: Path, plans: Any, items: Any, write_lines: Any, header: Any, other: str
) -> None:
    (v4 / other / "m").mkdir(parents=True)
    write_lines(v4 / other / "m" / Path(SCORE).name, header(2, 2))
    first, second = plans(v4)
    assert [describe(plan) for plan in (first, second)] == [("m", ("score",)), ("m", (other,))]
    assert (first.run.path, second.run.path) == (str(v4 / "result/m"), str(v4 / other / "m"))
    assert first.results == second.results
    assert official_verdicts(items(first)[0]) == OFFICIAL
    assert set(official_verdicts(items(second)[0]).values()) == {True}
    assert not first.issues and not second.issues


def test_both_evaluations_are_found_from_results(v4: Path, plans: Any) -> None:
    shutil.copytree(v4 / "score", v4 / "score_2025")
    assert [plan.run.name_parts for plan in plans(v4 / "result")] == [["score"], ["score_2025"]]


def test_scores_of_other_replies_are_no_evaluation(
    v4: Path, plans: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    other = failure(f"{CATEGORY}_1", model_result_raw=[{"area": '{"base": 7, "height": 5}'}])
    write_lines(v4 / "score_v1/m" / Path(SCORE).name, header(1, 2), other)
    first, second = plans(v4)
    assert first.scores == [v4 / SCORE]
    assert (second.results, second.scores) == ([], [v4 / "score_v1/m" / Path(SCORE).name])
    assert [plan.run.name_parts for plan in (first, second)] == [[], []]


def test_scores_with_results_of_their_own_stay_with_them(v4: Path, plans: Any) -> None:
    for kind in ("result", "score"):
        shutil.copytree(v4 / kind, v4 / f"{kind}_v1")
    assert len(plans(v4)) == 2
    assert len(plans(v4 / "result")) == 1


Find = Callable[..., DiscoveredRuns]


@pytest.fixture
def find_with_scores(v4: Path) -> Find:
    """Open `result` with folders of --score, and with folders that earlier commands named."""

    def find(*folders: str, remembered: dict[str, list[str]] | None = None) -> DiscoveredRuns:
        earlier = {
            v4 / path: tuple(v4 / each for each in paths)
            for path, paths in (remembered or {}).items()
        }
        search = SearchOptions(tuple(v4 / folder for folder in folders), remembered_scores=earlier)
        return discover([v4 / "result"], search=search)

    return find


@pytest.mark.parametrize(
    "named", ["elsewhere", "elsewhere/other-name", "elsewhere/other-name/non_live"]
)
def test_named_scores_may_have_other_model_name(
    v4: Path, items: Any, find_with_scores: Find, named: str
) -> None:
    (v4 / "score/m").rename(v4 / "score/other-name")
    (v4 / "score").rename(v4 / "elsewhere")
    found = find_with_scores(named)
    (plan,) = found.plans
    assert found.issues == []
    assert (plan.run.model, plan.run.path) == ("m", str(v4 / "result/m"))
    assert (plan.results_folder, plan.named_score_folder) == (v4 / "result/m", v4 / named)
    assert official_verdicts(items(plan)[0]) == OFFICIAL


def test_named_scores_are_another_evaluation_beside_own(v4: Path, find_with_scores: Find) -> None:
    shutil.copytree(v4 / "score/m", v4 / "elsewhere/n")
    first, second = find_with_scores("elsewhere").plans
    assert [plan.named_score_folder for plan in (first, second)] == [None, v4 / "elsewhere"]
    assert second.run.path == str(v4 / "elsewhere/n")


def change_reply(path: Path, base: int) -> None:
    path.write_text(path.read_text().replace("11", str(base)))


def test_named_scores_are_assigned_by_replies(v4: Path, find_with_scores: Find) -> None:
    shutil.copytree(v4 / "result/m", v4 / "result/n")
    change_reply(v4 / RESULT.replace("/m/", "/n/"), 77)
    for model, base in (("a", 77), ("b", 11)):
        shutil.copytree(v4 / "score/m", v4 / "elsewhere" / model)
        change_reply(v4 / "elsewhere" / model / "non_live" / Path(SCORE).name, base)
    shutil.rmtree(v4 / "score")
    found = {
        plan.run.model: plan.scores[0].parts[-3] for plan in find_with_scores("elsewhere").plans
    }
    assert found == {"m": "b", "n": "a"}


def test_named_scores_of_own_name_come_first(v4: Path, find_with_scores: Find) -> None:
    shutil.copytree(v4 / "score/m", v4 / "elsewhere/m")
    shutil.copytree(v4 / "score/m", v4 / "elsewhere/a")
    shutil.rmtree(v4 / "score")
    (plan,) = find_with_scores("elsewhere").plans
    assert plan.scores[0].parts[-3] == "m"


def test_named_scores_of_other_category_are_error(v4: Path, find_with_scores: Find) -> None:
    name = Path(SCORE).name.replace(CATEGORY, "multiple")
    (v4 / "elsewhere/n").mkdir(parents=True)
    (v4 / SCORE).rename(v4 / "elsewhere/n" / name)
    found = find_with_scores("elsewhere")
    (plan,) = found.plans
    assert plan.scores == []
    (issue,) = [issue for issue in found.issues if issue.severity == "error"]
    assert issue.file == str(v4 / "elsewhere")
    assert "no score file in this folder of --score fits the results" in issue.what


def test_remembered_scores_are_joined_again(v4: Path, items: Any, find_with_scores: Find) -> None:
    (v4 / "score/m").rename(v4 / "elsewhere")
    shutil.copytree(v4 / "result/m", v4 / "result/n")
    found = find_with_scores(remembered={"result/m": ["elsewhere"]})
    assert {plan.run.model: len(plan.scores) for plan in found.plans} == {"m": 1, "n": 0}
    (plan,) = [plan for plan in found.plans if plan.run.model == "m"]
    assert official_verdicts(items(plan)[0]) == OFFICIAL


def test_damaged_scores_in_other_folder_do_not_stop_search(v4: Path, plans: Any) -> None:
    (v4 / "score_v1/m").mkdir(parents=True)
    (v4 / "score_v1/m" / Path(SCORE).name).write_text(
        json.dumps({"total_count": None}) + "\n{broken"
    )
    assert plans(v4)[0].scores == [v4 / SCORE]
