"""`fcreview report --ranking` ranks the runs of one benchmark."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done
from tests.incidents import (
    RATE_LIMIT,
    generic_record,
    import_changed,
    set_incidents,
    write_generic_run,
)

Cli = Callable[..., Done]
N = 40
QUESTION = "simple_python_4"
FIX = {
    "ground_truth": [
        {"alarm.set": {"time": ["06:45"], "days": [["Monday", "Wednesday"]], "label": [""]}}
    ]
}


def select_ranking(done: Done, kind: str) -> dict[str, dict[str, Any]]:
    """Return the lines of a ranking by model."""
    assert done.code == 0, done.err
    return {line["model"]: line for line in done.objects if line["ranking"] == kind}


def write_weather_run(folder: Path, model: str, n_passed: int, n_items: int = N) -> None:
    records = [generic_record(f"weather_{at}", passes=at < n_passed) for at in range(n_items)]
    write_generic_run(folder, records, model)


def test_two_runs(cli: Cli, two_imported_runs: Path) -> None:
    lines = select_ranking(cli("report", two_imported_runs, "--ranking", "--json"), "official")
    assert (lines["birch"]["rank"], lines["maple"]["rank"]) == (1, 2)
    assert (lines["birch"]["value"], lines["birch"]["questions"]) == (1, 6)
    assert (lines["birch"]["left_out"], lines["birch"]["clusters"]) == (0, 6)
    assert (lines["birch"]["draws"], lines["birch"]["seed"]) == (2000, 0)
    assert (lines["birch"]["rank_low"], lines["birch"]["rank_high"]) == (1, 1)

    text = cli("report", two_imported_runs, "--ranking").out
    assert "official · 6 items, 0 left out" in text
    assert re.search(r"birch +1 +1 +\[1, 1\] +100\.00 % +1", text)
    assert "2,000 bootstrap draws" in text and "seed 0" in text
    assert "few clusters (6 clusters)" in text
    again = cli("report", two_imported_runs, "--ranking").out
    assert again == text


def test_incidents_of_any_run_are_left_out(cli: Cli, tmp_path: Path) -> None:
    """The first ten items of `oak` are incidents, which `maple` passes."""
    folder = tmp_path / "runs"
    write_weather_run(folder, "maple", n_passed=30)
    passing = [generic_record(f"weather_{at}", passes=10 <= at < 39) for at in range(N)]
    write_generic_run(folder, passing, "oak")
    incidents = {f"weather_{at}": RATE_LIMIT for at in range(10)}

    def mark_failing(item: Any) -> None:
        if item.verdicts[0].value is False:
            set_incidents(incidents)(item)

    import_changed(folder, mark_failing)
    done = cli("report", folder, "--ranking", "--json")
    official = select_ranking(done, "official")
    assert (official["maple"]["rank"], official["oak"]["rank"]) == (1, 2)
    without_incidents = select_ranking(done, "without incidents")
    assert (without_incidents["oak"]["rank"], without_incidents["maple"]["rank"]) == (1, 2)
    assert (without_incidents["oak"]["questions"], without_incidents["oak"]["left_out"]) == (30, 10)
    assert without_incidents["oak"]["value"] == 29 / 30


def test_accepted_fix_changes_only_the_ranking_with_errata(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    runs = shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    before = cli("report", runs, "--ranking", "--json")
    fix = ("--golden-fix", json.dumps(FIX), "--accept")
    assert cli("label", runs, QUESTION, "--run", "maple-8b-FC", *fix).code == 0
    after = cli("report", runs, "--ranking", "--json")

    old_lines = [line for line in before.objects if line["ranking"] != "with errata"]
    new_lines = [line for line in after.objects if line["ranking"] != "with errata"]
    assert old_lines == new_lines and old_lines
    old = select_ranking(before, "with errata")
    new = select_ranking(after, "with errata")
    n_questions = old["maple-8b"]["questions"]
    gained = new["maple-8b"]["value"] - old["maple-8b"]["value"]
    assert round(gained * n_questions, 6) == 1
    others = old.keys() - {"maple-8b"}
    assert others and all(old[name]["value"] == new[name]["value"] for name in others)
    assert (old["maple-8b"]["changed"], new["maple-8b"]["changed"]) == (0, 1)
    assert "1 verdict changed" in cli("report", runs, "--ranking").out


@pytest.mark.parametrize("has_scores", [True, False], ids=["official", "recomputed"])
def test_errata_file_changes_only_the_ranking_with_errata(
    cli: Cli, samples: Path, tmp_path: Path, has_scores: bool
) -> None:
    """Without scores, the recomputed verdicts of the store are by the errata file."""
    ignored = shutil.ignore_patterns("__pycache__")
    reviewed = shutil.copytree(samples / "bfcl", tmp_path / "reviewed", ignore=ignored)
    fix = ("--golden-fix", json.dumps(FIX), "--accept")
    assert cli("label", reviewed, QUESTION, "--run", "maple-8b-FC", *fix).code == 0
    errata = tmp_path / "errata.jsonl"
    assert cli("errata", "create", reviewed, "-o", errata).code == 0

    runs = shutil.copytree(samples / "bfcl", tmp_path / "runs", ignore=ignored)
    if not has_scores:
        shutil.rmtree(runs / "score")
    before = cli("report", runs, "--ranking", "--json")
    after = cli("report", runs, "--ranking", "--json", "--errata", errata)
    old_lines = [line for line in before.objects if line["ranking"] != "with errata"]
    new_lines = [line for line in after.objects if line["ranking"] != "with errata"]
    assert old_lines == new_lines and old_lines
    old = select_ranking(before, "with errata")
    new = select_ranking(after, "with errata")
    assert old["maple-8b"]["source"] == ("official" if has_scores else "rule")
    assert (old["maple-8b"]["changed"], new["maple-8b"]["changed"]) == (0, 1)
    assert new["maple-8b"]["value"] > old["maple-8b"]["value"]


def test_missing_items_are_counted(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    write_weather_run(folder, "maple", n_passed=30)
    write_weather_run(folder, "oak", n_passed=30, n_items=35)
    lines = select_ranking(cli("report", folder, "--ranking", "--json"), "official")
    assert {line["rank"] for line in lines.values()} == {1}
    assert {line["left_out"] for line in lines.values()} == {5}
    assert lines["maple"]["not_told_apart"] == [lines["oak"]["run"]]
    text = cli("report", folder, "--ranking").out
    assert "official · 35 items, 5 left out" in text
    assert "no other counting conventions" in text


def test_runs_without_a_common_item_are_not_ranked(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    write_weather_run(folder, "maple", n_passed=1, n_items=1)
    write_generic_run(folder, [generic_record("weather_9", passes=True)], "oak")
    text = cli("report", folder, "--ranking").out
    assert "no item has a verdict in every run. Choose fewer runs with --run" in text
    assert "official · 0 items, 2 left out" in text
    assert re.search(r"maple +\d +– +– +– +–", text)


def test_runs_of_different_benchmarks_are_refused(cli: Cli, samples: Path, tmp_path: Path) -> None:
    runs = shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    write_weather_run(runs / "other", "oak", n_passed=3, n_items=4)
    done = cli("report", runs, "--ranking")
    assert done.code == 2
    assert "a ranking needs runs of one benchmark, not of bfcl, weather-bench" in done.err
    assert not done.out

    models = {row["model"] for row in cli("runs", runs, "--json").objects} - {"oak"}
    rows = [row for row in cli("runs", runs, "--json").objects if row["model"] in models][:2]
    selected = [option for row in rows for option in ("--run", str(row["run"]))]
    done = cli("report", runs, "--ranking", "--json", *selected)
    assert done.code == 0, done.err
    assert {line["run"] for line in done.objects} == {row["run"] for row in rows}


def test_unsuitable_options_are_refused(cli: Cli, two_imported_runs: Path) -> None:
    done = cli("report", two_imported_runs, "--ranking", "--run", "1")
    assert done.code == 2 and "needs two or more runs" in done.err
    done = cli("report", two_imported_runs, "--ranking", "--markdown")
    assert done.code == 2 and "Omit the other one, --html, --markdown" in done.err
    done = cli("report", two_imported_runs, "--run", "1", "--run", "2")
    assert done.code == 2 and "several runs need --ranking" in done.err


def test_each_run_names_its_rival_and_the_items_that_decide(
    cli: Cli, two_imported_runs: Path
) -> None:
    lines = select_ranking(cli("report", two_imported_runs, "--ranking", "--json"), "official")
    birch, maple = lines["birch"], lines["maple"]
    assert (birch["against"], maple["against"]) == (maple["run"], birch["run"])
    assert (birch["only_run"], birch["only_other"]) == (maple["only_other"], maple["only_run"])
    difference = birch["only_run"] - birch["only_other"]
    assert difference == round(birch["questions"] * (birch["value"] - maple["value"]))


def test_deciding_questions_are_drawn_with_the_items_of_both_runs(
    cli: Cli, two_imported_runs: Path
) -> None:
    runs = two_imported_runs
    birch = select_ranking(cli("report", runs, "--ranking", "--json"), "official")["birch"]
    n_deciding = birch["only_run"] + birch["only_other"]
    draw = ("queue", "create", runs, "--annotators", "ann", "--seed", "1", "--decides", "birch")
    done = cli(*draw, "maple", "--name", "close")
    assert done.code == 0, done.err
    assert "whether the verdicts that decide the ranks are right" in done.err
    head, *items = cli("queue", "show", runs, "close", "--json").objects
    assert (head["decides"], head["same_questions"], head["size"]) == (True, True, n_deciding)
    assert len(items) == 2 * n_deciding
    verdicts: dict[str, set[bool]] = {}
    for item in cli("items", runs, "--queue", "close", "--json").objects:
        verdicts.setdefault(item["id"], set()).add(item["official"])
    assert len(verdicts) == n_deciding
    assert all(values == {True, False} for values in verdicts.values())

    # The questions were selected by verdicts, so they represent no run.
    for item in items:
        label = ("label", runs, item["id"], "--verdict", "pass", "--annotator", "ann")
        assert cli(*label, "--run", item["model"]).code == 0
    assert "0 of them in a random sample" in cli("calibrate", runs).out
    assert "There is no confidence interval" in cli("estimate", runs).out


def test_deciding_questions_need_two_runs_that_differ(cli: Cli, two_imported_runs: Path) -> None:
    draw = ("queue", "create", two_imported_runs, "--name", "close", "--annotators", "ann")
    same = cli(*draw, "--decides", "birch", "birch")
    assert same.code == 2 and "fewer than two runs" in same.err
    both = cli(*draw, "--decides", "birch", "maple", "--compare", "birch,maple")
    assert both.code == 2 and "exclude each other" in both.err
