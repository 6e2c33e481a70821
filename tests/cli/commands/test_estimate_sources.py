"""Runs with verdicts of several judges: plans before the first label, samples by Neyman allocation,
estimates that use the judges, and the table that compares them.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.judging.records import ItemContent, JudgeIncident, Judgement, serialize_record
from fcreview.model.review import ItemKey

Cli = Callable[..., Any]
N_ITEMS = 120
JUDGES = ("ash", "elm", "oak")
MAPPING = """
[map]
version = 1
benchmark = "panel"

[[source]]
files = "verdicts.csv"

[item]
id = "id"
category = "category"
model = { const = "agent" }
question = "id"
verdict = "official"
"""
JUDGE_MAPPING = """
[[judge]]
name = {{ const = "{name}" }}
verdict = "{name}"
"""


OWN_JUDGE = "judge own (fcreview)"
JUDGE_PROGRAM = """
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    item_id = request["id"].rpartition("/")[2]
    truth = random.Random(f"truth {item_id}").random() < 0.6
    is_right = random.Random(f"own {item_id}").random() < 0.95
    verdict = "pass" if truth is is_right else "fail"
    print(json.dumps({"id": request["id"], "verdict": verdict}), flush=True)
"""


def find_truth(item_id: str) -> bool:
    return random.Random(f"truth {item_id}").random() < 0.6


def give_verdict(source: str, item_id: str, right: float) -> int:
    is_right = random.Random(f"{source} {item_id}").random() < right
    return int(find_truth(item_id) is is_right)


@pytest.fixture(scope="module")
def imported_panel(module_cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 120 items with an official verdict and three judges."""
    folder = tmp_path_factory.mktemp("panel") / "run"
    folder.mkdir()
    with (folder / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "category", "official", *JUDGES])
        for number in range(N_ITEMS):
            item_id = f"item-{number}"
            verdicts = [give_verdict(judge, item_id, right=0.9) for judge in JUDGES]
            official = give_verdict("official", item_id, right=0.75)
            writer.writerow([item_id, f"c{number % 2}", official, *verdicts])
    judges = "".join(JUDGE_MAPPING.format(name=judge) for judge in JUDGES)
    (folder / "fcreview-map.toml").write_text(MAPPING + judges, encoding="utf-8")
    done = module_cli("import", folder)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def panel(imported_panel: Path, tmp_path: Path) -> Path:
    return shutil.copytree(imported_panel, tmp_path / "run")


@pytest.fixture(scope="module")
def sampled_panel(
    module_cli: Cli, imported_panel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The run with a reviewed Neyman sample of 60 items."""
    folder = shutil.copytree(imported_panel, tmp_path_factory.mktemp("sampled") / "run")
    done = module_cli(
        *("queue", "create", folder, "--name", "pilot", "--size", "60", "--seed", "3"),
        *("--annotators", "ann", "--allocation", "neyman"),
    )
    assert done.code == 0, done.err
    review(module_cli, folder, "pilot")
    return folder


def read_queue(folder: Path, name: str) -> dict[str, Any]:
    queue: dict[str, Any] = json.loads((folder / f".fcreview/queues/{name}.json").read_bytes())
    return queue


def review(cli: Cli, folder: Path, queue_name: str) -> None:
    """Give all items of a queue their true verdict."""
    labels = folder / "labels.jsonl"
    lines = []
    for item in read_queue(folder, queue_name)["items"]:
        hashes = {name: item[name] for name in ("prediction_hash", "golden_hash")}
        value = find_truth(item["key"]["id"])
        review_fields = {"value": value, "annotator": "ann", "target": "item"}
        lines.append(item["key"] | hashes | review_fields | {"criterion": "correct"})
    labels.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = cli("import-labels", folder, labels, "--annotator", "ann")
    assert done.code == 0, done.err


def test_plan_before_the_first_label_needs_fewer_labels_with_judges(
    cli: Cli, imported_panel: Path
) -> None:
    estimates = cli("estimate", imported_panel, "--plan", "--json").objects
    goals = {goal["half_width"]: goal for goal in estimates[0]["plan"]}
    for half_width in (2.0, 3.0, 5.0):
        goal = goals[half_width]
        assert goal["assumed"] is True
        assert 0 < goal["with_judges"] < goal["labels"] <= N_ITEMS

    text = cli("estimate", imported_panel, "--plan").out
    assert "with judges" in text
    assert "the plan rests on assumptions" in text
    assert "(j + 1/2) / (k + 1)" in text


def test_neyman_sample_has_strata_by_sources_with_stored_probabilities(sampled_panel: Path) -> None:
    queue = read_queue(sampled_panel, "pilot")
    design = queue["design"]
    assert (design["stratify"], design["allocation"]) == ("sources", "neyman")
    assert len(design["sources"]) == 3
    strata = {stratum["name"]: stratum for stratum in queue["strata"]}
    assert set(strata) == {f"{count} of 3 sources pass" for count in range(4)}
    assert (
        strata["1 of 3 sources pass"]["probability"] > strata["3 of 3 sources pass"]["probability"]
    )
    for item in queue["items"]:
        assert item["probability"] == strata[item["stratum"]]["probability"]


def test_estimate_uses_the_sources_of_the_sample_and_names_them(
    cli: Cli, sampled_panel: Path
) -> None:
    overall = cli("estimate", sampled_panel, "--json").objects[0]
    sources = overall["sources"]
    assert sources["used"] == read_queue(sampled_panel, "pilot")["design"]["sources"]
    assert sources["why"] == "The sample was drawn by these sources."
    assert [source["name"] for source in sources["not_used"]]
    assert sum(stratum["n_reviewed"] for stratum in sources["strata"]) == 60

    truth = sum(find_truth(f"item-{number}") for number in range(N_ITEMS)) / N_ITEMS
    assert overall["low"] <= truth <= overall["high"]
    text = cli("estimate", sampled_panel).out
    assert "sources: items are divided by how many sources pass them: " in text
    assert "sources: not used: " in text


def test_signing_sheet_names_strata_and_sources(cli: Cli, sampled_panel: Path) -> None:
    text = " ".join(cli("report", sampled_panel, "--sign").out.split())
    sources = read_queue(sampled_panel, "pilot")["design"]["sources"]
    assert "stratified random sample without replacement" in text
    names = ", ".join(sources)
    assert f"4 strata by how many of these sources pass: {names}, Neyman allocation" in text
    assert f"items are divided by how many sources pass them: {names}." in text


def test_confirmed_automatic_verdicts_change_no_figure(cli: Cli, panel: Path) -> None:
    """The corrected figures stay, and nothing is estimated from items chosen by hand."""
    before = cli("estimate", panel, "--json").objects
    for number in (1, 2, 3):
        verdict = "pass" if give_verdict("official", f"item-{number}", 0.75) else "fail"
        assert cli("label", panel, f"item-{number}", "--verdict", verdict).code == 0
    after = cli("estimate", panel, "--json").objects
    figures = ("name", "automatic", "corrected", "estimated", "low", "high")
    for old, new in zip(before, after, strict=True):
        assert [new[name] for name in figures] == [old[name] for name in figures]


def test_calibrate_compares_sources_and_counts_independent_judges(
    cli: Cli, sampled_panel: Path
) -> None:
    lines = cli("calibrate", sampled_panel, "--json").objects
    trusts = [line for line in lines if line["kind"] == "trust"]
    assert {line["judge"] or line["source"] for line in trusts} == {*JUDGES, "official"}
    saved = [line["labels_saved"]["value"] for line in trusts]
    assert saved == sorted(saved, reverse=True)
    (judges,) = (line for line in lines if line["kind"] == "judges")
    assert judges["n_judges"] == 3 and 1 <= judges["value"] <= 3

    text = cli("calibrate", sampled_panel, "--by", "overall").out
    assert "which judge can I trust" in text
    assert "Effective number of independent judges" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--allocation", "optimal"), "--allocation"),
        (("--allocation", "neyman", "--stratify", "category"), "without --stratify"),
        (("--allocation", "neyman", "--cluster", "task"), "single items"),
        (("--stratify", "sources,category"), "or sources alone"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    cli: Cli, panel: Path, options: tuple[str, ...], message: str
) -> None:
    done = cli(
        *("queue", "create", panel, "--name", "q", "--size", "20", "--annotators", "ann"), *options
    )
    assert done.code in (1, 2)
    assert message in done.err
    assert not (panel / ".fcreview/queues/q.json").exists()


def test_sample_in_proportion_to_strata_by_sources(cli: Cli, panel: Path) -> None:
    done = cli(
        *("queue", "create", panel, "--name", "even", "--size", "60", "--annotators", "ann"),
        *("--stratify", "sources", "--json"),
    )
    (queue,) = done.objects
    assert (queue["stratify"], queue["allocation"]) == ("sources", "")
    for stratum in read_queue(panel, "even")["strata"]:
        assert stratum["probability"] == pytest.approx(0.5, abs=0.1)


def ask_own_judge(cli: Cli, folder: Path, *options: str) -> None:
    """Ask a judge that is right on 95 % of the items."""
    program = folder.parent / "judge.py"
    program.write_text(JUDGE_PROGRAM, encoding="utf-8")
    done = cli(
        *("judge", folder, "--command", f"{sys.executable} {program}", "--name", "own", "--yes"),
        *options,
    )
    assert done.code == 0, done.err


def test_own_judge_divides_the_items_without_telling_its_verdicts(cli: Cli, panel: Path) -> None:
    ask_own_judge(cli, panel)
    created = cli(
        *("queue", "create", panel, "--name", "own", "--size", "30", "--seed", "3"),
        *("--annotators", "ann", "--allocation", "neyman"),
    )
    assert created.code == 0, created.err
    queue = read_queue(panel, "own")
    assert OWN_JUDGE in queue["design"]["sources"]
    # Each of these fields would tell how many judges pass the item.
    details, *shown = cli("queue", "show", panel, "own", "--json").objects
    assert details["strata"] is None and len(shown) == 30
    assert "sources pass" not in cli("queue", "show", panel, "own").out
    for item in (*queue["items"], *shown):
        assert item["stratum"] == "" and item["probability"] is None

    review(cli, panel, "own")
    overall = cli("estimate", panel, "--json").objects[0]
    assert OWN_JUDGE in overall["sources"]["used"]
    truth = sum(find_truth(f"item-{number}") for number in range(N_ITEMS)) / N_ITEMS
    assert overall["low"] <= truth <= overall["high"]
    sheet = " ".join(cli("report", panel, "--sign").out.split())
    assert "judges asked by fcreview: 1 file, hash " in sheet
    assert OWN_JUDGE.removeprefix("judge ") in cli("calibrate", panel, "--annotator", "ann").out


def test_judge_that_was_not_asked_about_every_item_is_not_used(cli: Cli, panel: Path) -> None:
    ask_own_judge(cli, panel, "--limit", "100")
    cli(
        *("queue", "create", panel, "--name", "plain", "--size", "60", "--seed", "3"),
        *("--annotators", "ann"),
    )
    review(cli, panel, "plain")
    sources = cli("estimate", panel, "--json").objects[0]["sources"]
    reasons = {source["name"]: source["why"] for source in sources["not_used"]}
    assert reasons[OWN_JUDGE] == (
        "It was not asked about 20 items. Ask it about all items with `fcreview judge`."
    )


def test_later_verdict_on_a_failed_request_does_not_change_the_strata(
    cli: Cli, panel: Path
) -> None:
    ask_own_judge(cli, panel)
    judge_file = panel / ".fcreview/judgements/own.jsonl"
    lines = [json.loads(line) for line in judge_file.read_text(encoding="utf-8").splitlines()]
    last_verdict = lines.pop()
    assert last_verdict["act"] == "verdict"
    kept = {name: last_verdict[name] for name in ("setup", "key", "prediction_hash", "golden_hash")}
    failure = JudgeIncident(
        kept["setup"],
        content=ItemContent(
            ItemKey(**kept["key"]),
            prediction_hash=kept["prediction_hash"],
            golden_hash=kept["golden_hash"],
        ),
        kind="timeout",
        text="",
        time="2026-01-01T00:00:00Z",
    )
    content = "".join(json.dumps(line) + "\n" for line in lines)
    judge_file.write_bytes(content.encode() + serialize_record(failure))
    cli(
        *("queue", "create", panel, "--name", "own", "--size", "60", "--seed", "3"),
        *("--annotators", "ann", "--allocation", "neyman"),
    )
    created = read_queue(panel, "own")["created"]
    review(cli, panel, "own")
    before = cli("estimate", panel, "--json").objects[0]
    assert before["n_random"] == 60

    later = Judgement(
        kept["setup"],
        content=failure.content,
        criterion="correct",
        verdict=last_verdict["verdict"],
        rationale="",
        model="",
        prompt_hash=last_verdict["prompt_hash"],
        time=created.replace("20", "21", 1),
    )
    with judge_file.open("ab") as file:
        file.write(serialize_record(later))
    assert cli("estimate", panel, "--json").objects[0]["n_random"] == 60
