"""`fcreview compare` compares verdicts of two or more runs and refuses invalid combinations."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands.compare import print_matrix_items
from fcreview.stats.run_comparison import build_run_matrix
from tests.cli.conftest import ANSWERS, ERRORS, Cli, write_two
from tests.commands import Done
from tests.stats.comparison_cases import make_outcomes


@pytest.mark.sweep
def test_two_runs_as_json(cli: Cli, two_imported_runs: Path) -> None:
    """`maple` passes one of six items, `birch` passes all."""
    done = cli("compare", two_imported_runs, "maple", "birch", "--json")
    assert done.code == 0, done.err
    overall, *rest = done.objects
    assert {
        name: overall[name]
        for name in ("kind", "of", "n", "both_pass", "both_fail", "only_a", "only_b")
    } == {
        "kind": "overall",
        "of": 6,
        "n": 6,
        "both_pass": 1,
        "both_fail": 0,
        "only_a": 0,
        "only_b": 5,
    }
    assert (overall["a"]["model"], overall["b"]["model"], overall["a"]["source"]) == (
        "maple",
        "birch",
        "official",
    )
    assert (overall["p"], overall["test"], overall["clusters"]) == (1 / 32, "mcnemar mid-p", 6)
    assert overall["difference"] == pytest.approx(-5 / 6)
    assert -1 <= overall["low"] < -5 / 6 < overall["high"] < 0
    assert (overall["method"], overall["design_effect"]) == ("tango", 1.0)
    assert overall["standard_error_a"] == pytest.approx((1 / 6 * 5 / 6 / 5) ** 0.5)
    assert [each["category"] for each in rest if each["kind"] == "category"] == ["simple_python"]
    flips = {each["id"]: each for each in rest if each["kind"] == "flip"}
    assert flips.keys() == {f"simple_python_{at}" for at in ERRORS}
    flip = flips["simple_python_1"]
    assert (flip["passes"], flip["a"]["verdict"], flip["b"]["verdict"]) == ("b", False, True)
    assert flip["a"]["first_difference"] == 'city "Rome" (golden "Oslo")'
    assert flip["cause"] == 'A: city "Rome" (golden "Oslo")'


def test_two_runs_as_text(cli: Cli, two_imported_runs: Path, raw: tuple[str, ...]) -> None:
    out = cli("compare", two_imported_runs, "1", "2", "--limit", "3").out
    assert "A  run 1  birch  (official)" in out
    assert re.search(r"all items +6 +100\.0 +16\.7 +\+83\.3 \[", out)
    assert "Tango 1998" in out and "McNemar" in out
    assert 'B: city "Rome" (golden "Oslo")' in out
    assert "… 2 more items. Use --limit 5 to list all" in out
    whole = cli("compare", two_imported_runs, "1", "2").out
    assert not any(char in whole for char in raw)
    assert "[bold red]x[/]" in whole
    assert "only B passes: 5 items" in cli("compare", two_imported_runs, "2", "1").out


def test_official_against_rule_of_one_run(cli: Cli, tmp_path: Path) -> None:
    """The score file fails an item that the rules pass."""
    root = tmp_path / "runs"
    write_two(root)
    score = next((root / "score" / "birch").rglob("*.json"))
    entry = {
        "id": "simple_python_2",
        "valid": False,
        "error": ["no"],
        "error_type": "value_error:string",
    }
    head = {"accuracy": 5 / 6, "correct_count": 5, "total_count": len(ANSWERS)}
    score.write_text("".join(json.dumps(each) + "\n" for each in (head, entry)))
    done = cli(
        "compare", root, "birch", "birch", "--source", "official", "--against", "rule", "--json"
    )
    assert done.code == 0, done.err
    overall, *rest = done.objects
    assert (overall["only_a"], overall["only_b"], overall["both_pass"]) == (0, 1, 5)
    (flip,) = [each for each in rest if each["kind"] == "flip"]
    assert (flip["id"], flip["same_prediction"], flip["golden_differs"]) == (
        "simple_python_2",
        True,
        False,
    )
    assert flip["cause"] == "same prediction; A: value_error:string, no"


def test_reviews_of_one_run_leave_no_p_value(cli: Cli, two_imported_runs: Path) -> None:
    def compare(*options: str) -> str:
        return cli(
            "compare", two_imported_runs, "maple", "birch", "--source", "effective", *options
        ).out

    assert (
        cli(
            "label", two_imported_runs, "simple_python_1", "--run", "maple", "--verdict", "pass"
        ).code
        == 0
    )
    text = compare()
    assert "reviewed: 1 item of A, 0 of B" in text
    assert "no p and no interval: 1 override of A on items that are not reviewed in B" in text
    assert "McNemar" not in text
    overall = json.loads(compare("--json").splitlines()[0])
    assert (overall["p"], overall["low"], overall["reviewed_a"], overall["reviewed_b"]) == (
        None,
        None,
        1,
        0,
    )
    assert "not reviewed in B" in overall["p_reason"]

    assert (
        cli(
            "label", two_imported_runs, "simple_python_1", "--run", "birch", "--verdict", "pass"
        ).code
        == 0
    )
    overall = json.loads(compare("--json").splitlines()[0])
    assert (overall["p"], overall["p_reason"], overall["reviewed_b"]) == (1 / 16, None, 1)


def test_joint_sample_estimates_the_difference(cli: Cli, two_imported_runs: Path) -> None:
    """Four of six questions are drawn, each with the items of both runs."""
    runs = two_imported_runs

    def compare(*options: str) -> Done:
        return cli("compare", runs, "maple", "birch", "--source", "effective", *options)

    def find_estimate() -> dict[str, Any]:
        return next(each for each in compare("--json").objects if each["kind"] == "estimate")

    assert "no joint sample" in find_estimate()["why"]
    assert "Draw one with fcreview queue create --compare" in compare().out

    draw = ("queue", "create", runs, "--name", "joint", "--annotators", "ann", "--seed", "1")
    done = cli(*draw, "--compare", "maple,birch", "--size", "4")
    assert done.code == 0, done.err
    assert "joint: 4 of 6 questions, seed 1" in done.out
    head, *items = cli("queue", "show", runs, "joint", "--json").objects
    assert head["same_questions"] is True and len(items) == 8
    models_by_question: dict[str, list[str]] = {}
    for item in items:
        models_by_question.setdefault(item["id"], []).append(item["model"])
    assert [sorted(models) for models in models_by_question.values()] == [["birch", "maple"]] * 4
    assert "no question of the joint sample is reviewed in both runs" in compare().out

    for number, (question, models) in enumerate(models_by_question.items()):
        for model in models:
            verdict = "pass" if model == "birch" or number == 0 else "fail"
            label = ("label", runs, question, "--run", model, "--annotator", "ann")
            assert cli(*label, "--verdict", verdict).code == 0
    found = find_estimate()
    assert (found["of"], found["reviewed"], found["headline"]) == (6, 4, "interval")
    assert found["difference"] == pytest.approx(-0.75)
    assert found["low"] < -0.75 < found["high"]
    assert "estimated A - B if all 6 pairs were reviewed: -75.0 [" in compare().out

    official = cli("compare", runs, "maple", "birch", "--json").objects
    assert not [each for each in official if each["kind"] == "estimate"]
    extension = cli("queue", "extend", runs, "--name", "joint")
    assert extension.code == 1 and "fcreview queue create --compare" in extension.err
    assert cli(*draw, "--name", "one", "--compare", "maple").code == 2


def test_wrong_golden_answer_is_left_out_of_both_runs(cli: Cli, two_imported_runs: Path) -> None:
    label = (
        "label",
        two_imported_runs,
        "simple_python_1",
        "--run",
        "maple",
        "--verdict",
        "pass",
        "--fault",
        "golden",
    )
    assert cli(*label).code == 0
    done = cli("compare", two_imported_runs, "maple", "birch", "--source", "effective", "--json")
    overall = done.objects[0]
    assert (overall["wrong_golden"], overall["n"], overall["only_b"], overall["p"]) == (
        1,
        5,
        4,
        1 / 16,
    )
    matrix = cli("compare", two_imported_runs, "1", "2", "1", "--source", "effective")
    assert "1 item left out, because reviews found the golden answer wrong" in matrix.out
    assert cli("compare", two_imported_runs, "maple", "birch", "--json").objects[0]["n"] == 6


@pytest.mark.sweep
def test_review_changes_only_effective_verdicts(cli: Cli, two_imported_runs: Path) -> None:
    done = cli("label", two_imported_runs, "simple_python_1", "--run", "maple", "--verdict", "pass")
    assert done.code == 0, done.err

    def only_b(source: str) -> object:
        return cli(
            "compare", two_imported_runs, "maple", "birch", "--source", source, "--json"
        ).objects[0]["only_b"]

    assert (only_b("official"), only_b("rule"), only_b("effective")) == (5, 5, 4)


def test_filter_selects_items(cli: Cli, two_imported_runs: Path) -> None:
    done = cli("compare", two_imported_runs, "1", "2", "--where", "id:simple_python_1", "--json")
    assert done.objects[0]["n"] == 1


def test_runs_as_matrix(cli: Cli, two_imported_runs: Path, tmp_path: Path) -> None:
    done = cli("compare", two_imported_runs, "1", "2", "1", "--json")
    runs = [each for each in done.objects if each["kind"] == "run"]
    items = [each for each in done.objects if each["kind"] == "item"]
    assert [(each["rank"], each["model"], each["rate"]) for each in runs] == [
        (1, "birch", 1.0),
        (2, "maple", 1 / 6),
    ]
    assert [each["to_best"] for each in runs] == [None, pytest.approx(-5 / 6)]
    assert (runs[1]["to_best_p"], runs[1]["tied_with_best"]) == (1 / 32, False)
    assert runs[1]["low"] < 1 / 6 < runs[1]["high"]
    assert [each["passing"] for each in items] == [1, 1, 1, 1, 1, 2]
    assert items[0]["verdicts"] == {"1": True, "2": False}


@pytest.fixture
def one_without_scores(tmp_path: Path) -> Path:
    """`maple` has official verdicts and passes one of six items; `birch` has no official
    verdicts and passes all.
    """
    root = tmp_path / "runs"
    write_two(root)
    shutil.rmtree(root / "score" / "birch")
    return root


def test_run_without_official_verdicts_uses_recomputed_ones(
    cli: Cli, one_without_scores: Path
) -> None:
    done = cli("compare", one_without_scores, "1", "2", "1", "--json")
    runs = {each["model"]: each for each in done.objects if each["kind"] == "run"}
    assert {model: (each["source"], each["source_reason"]) for model, each in runs.items()} == {
        "maple": ("official", "official verdicts"),
        "birch": ("rule", "no official verdicts"),
    }
    overall = cli("compare", one_without_scores, "maple", "birch", "--json").objects[0]
    assert [overall[side]["source"] for side in "ab"] == ["official", "rule"]
    assert (overall["n"], overall["comparable"], overall["complete_categories"]) == (6, True, None)
    overall = cli(
        "compare", one_without_scores, "maple", "birch", "--source", "rule", "--json"
    ).objects[0]
    assert [overall[side]["source_reason"] for side in "ab"] == ["option", "option"]
    birch = runs["birch"]["run"]
    assert (
        f"official, or recomputed for 1 run without official verdicts ({birch})"
        in cli("compare", one_without_scores, "1", "2", "1").out
    )


def test_matrix_as_text(cli: Cli, two_imported_runs: Path) -> None:
    out = cli("compare", two_imported_runs, "1", "2", "2").out
    assert "ranked by the 6 items that have a verdict in every run" in out
    assert "✓✗" in out


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["maple", "birch", "--source", "judge"], 2, "invalid source 'judge'"),
        (["maple", "maple"], 2, "both sides are the same"),
        (["maple"], 1, "compare needs two runs"),
        (["maple", "oak"], 1, "no run 'oak'. Choose "),
        (["1", "2", "1", "--against", "rule"], 2, "--against needs two runs"),
    ],
)
def test_invalid_comparison_is_reported(
    cli: Cli, two_imported_runs: Path, arguments: list[str], code: int, why: str
) -> None:
    done = cli("compare", two_imported_runs, *arguments)
    assert done.code == code
    assert why in done.err
    assert done.out == ""


@pytest.mark.parametrize(("runs", "marks"), [(60, 60), (61, 40), (300, 40)])
def test_matrix_marks_best_and_weakest_of_many_runs(
    capsys: pytest.CaptureFixture[str], runs: int, marks: int
) -> None:
    found = build_run_matrix([make_outcomes("F" if at % 3 else "P") for at in range(runs)])
    print_matrix_items("hardest items first", found.items, 5)
    heading, _, item = capsys.readouterr().out.split("\n")[1:4]
    assert item.count("✓") + item.count("✗") == marks
    assert item.split()[-1].endswith("✗") and ("✓ … ✗" in item) == (marks < runs)
    assert ("20 best and weakest runs" in heading) == (marks < runs)
