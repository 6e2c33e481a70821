"""`fcreview estimate` gives an interval only for a random sample, and `queue extend` extends the
sample.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands.estimate import _explain_missing_intervals
from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import build_report_services
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.review import UNSURE, Annotation
from fcreview.stats import estimation
from fcreview.stats.estimation import MetricEstimate
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from tests.cli.conftest import RIGHT, weather_call, write_dataset, write_model
from tests.sources import ROOT

Cli = Callable[..., Any]
ITEMS = 60
PATH = "simple_python_{}"
BENCHMARKS = ("acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as often as for a large run. These runs are small, and would be drawn more often."""
    fewest = estimation.choose_n_draws(10**9)
    monkeypatch.setattr(estimation, "choose_n_draws", lambda _: fewest)


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Path:
    """A run with sixty items, of which every third fails officially."""
    wrong = dict.fromkeys(range(0, ITEMS, 3), "value_error:string")
    write_dataset(tmp_path / "many", ITEMS)
    answers = [weather_call("Rome") if at in wrong else RIGHT for at in range(ITEMS)]
    write_model(tmp_path / "many", "maple", answers, wrong)
    return tmp_path / "many"


def create_queue(
    cli: Cli,
    run: Path,
    *,
    size: int,
    name: str = "pilot",
    annotators: str = "ann",
    seed: int | None = 3,
    where: str = "",
) -> Any:
    """Draw a sample of items with `queue create`. With the seed None, it differs each time."""
    options = ["--name", name, "--size", str(size), "--annotators", annotators]
    if seed is not None:
        options += ["--seed", str(seed)]
    if where:
        options += ["--where", where]
    return cli("queue", "create", run, *options)


def label_items(cli: Cli, run: Path, tmp_path: Path, verdicts: dict[str, str]) -> None:
    lines = "".join(
        json.dumps({"id": name, "value": verdict == "pass"}) + "\n"
        for name, verdict in verdicts.items()
    )
    (tmp_path / "labels.jsonl").write_text(lines)
    done = cli("label", run, "--from", tmp_path / "labels.jsonl", "--annotator", "ann")
    assert done.code == 0, done.err


def true_verdict(name: str) -> str:
    """Return the true verdict: the official verdict, inverted for every fifth item."""
    at = int(name.rpartition("_")[2])
    return "pass" if (at % 3 != 0) is not (at % 5 == 0) else "fail"


def queue_items(cli: Cli, run: Path, queue: str) -> list[str]:
    _, *items = cli("queue", "show", run, queue, "--json").objects
    return [item["id"] for item in items]


async def estimate_own_metric_in_the_app(run: Path) -> MetricEstimate:
    """Return the estimate that the screens show. It comes from a process of its own."""
    with open_workspace(WorkspaceOptions([run])) as session:
        estimate = build_report_services(session).estimate_own_metric
        assert estimate is not None
        (row,) = session.select_runs(None)
        found = await estimate(row)
    assert found is not None
    return found


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_figures_without_reviews_are_unchanged(cli: Cli, tmp_path: Path, benchmark: str) -> None:
    place = shutil.copytree(ROOT / "sample_runs" / benchmark, tmp_path / benchmark)
    found = cli("estimate", place, "--json").objects
    assert found
    for one in found:
        assert (
            one["corrected"] == one["automatic"] and one["low"] is None and one["high"] is None
        ), one
        assert one["n_random"] == one["n_known"] == 0 and one["needed"] is None


@pytest.mark.sweep
def test_reviewed_failures_give_no_interval(cli: Cli, run: Path, tmp_path: Path) -> None:
    label_items(cli, run, tmp_path, {PATH.format(at): "pass" for at in range(0, ITEMS, 3)})
    found = cli("estimate", run, "--json").objects
    for one in found:
        assert (
            one["low"] is None
            and one["high"] is None
            and one["n_random"] == 0
            and one["method"] != "posterior"
        )
    assert max(one["corrected"] or 0 for one in found if one["name"] == "simple_python") == 1.0
    shown = cli("estimate", run).out
    assert "queue create" in shown and "the reviewed items are not from a random sample" in shown


@pytest.mark.sweep
def test_other_reviews_do_not_enlarge_sample(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20)
    label_items(
        cli, run, tmp_path, {name: true_verdict(name) for name in queue_items(cli, run, "pilot")}
    )
    alone = next(
        one for one in cli("estimate", run, "--json").objects if one["name"] == "simple_python"
    )
    assert (
        alone["n_random"] == 20
        and alone["low"] < alone["estimated"] < alone["high"]
        and alone["needed"] > 0
    )
    picked = [
        PATH.format(at)
        for at in range(0, ITEMS, 3)
        if PATH.format(at) not in queue_items(cli, run, "pilot")
    ]
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in picked})
    both = next(
        one for one in cli("estimate", run, "--json").objects if one["name"] == "simple_python"
    )
    assert both["n_random"] == 20 and both["n_known"] == 20 + len(picked)
    assert both["high"] - both["low"] < alone["high"] - alone["low"]
    right = sum(true_verdict(PATH.format(at)) == "pass" for at in range(ITEMS)) / ITEMS
    assert both["low"] <= right <= both["high"]


@pytest.mark.sweep
def test_skipped_sample_items_widen_headline(cli: Cli, run: Path, tmp_path: Path) -> None:
    """Only failing items of the sample are labelled. The others count as skipped."""
    create_queue(cli, run, size=20)
    picked = {PATH.format(at) for at in range(0, ITEMS, 3)} & set(queue_items(cli, run, "pilot"))
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in picked})
    one = estimate_simple_python(cli, run)
    sample = one["sample"]
    assert sample["decided"] == one["n_random"] == len(picked) and sample["skipped"] > 5
    assert one["headline"] == "bounds"
    assert one["bounds_low"] < one["low"] < one["high"] <= one["bounds_high"]


def test_labels_in_queue_order_count_before_completion(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20)
    queue = json.loads((run / ".fcreview" / "queues" / "pilot.json").read_text())
    order = [queue["items"][at]["key"]["id"] for at in queue["shares"][0]["order"]]
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in order[:12]})
    one = estimate_simple_python(cli, run)
    assert one["n_random"] == one["sample"]["decided"] == 12 and one["headline"] == "interval"
    assert one["sample"]["skipped"] == 0 and one["sample"]["not_reviewed"] == 8


def test_two_queues_are_one_sample_with_joint_probabilities(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    for name in ("pilot", "more"):
        create_queue(cli, run, name=name, size=20)
        label_items(
            cli, run, tmp_path, {item: true_verdict(item) for item in queue_items(cli, run, name)}
        )
    one = estimate_simple_python(cli, run)
    assert one["n_random"] == one["sample"]["decided"] == 40 and one["headline"] == "interval"
    right = sum(true_verdict(PATH.format(at)) == "pass" for at in range(ITEMS)) / ITEMS
    assert one["low"] <= right <= one["high"]

    (run / ".fcreview" / "queues" / "pilot.json").unlink()
    shown = cli("estimate", run)
    assert "queue more is ignored: its earlier queue pilot is missing" in shown.err


def test_sample_disagreements_are_undecided_until_adjudicated(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    create_queue(cli, run, size=20)
    names = queue_items(cli, run, "pilot")
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in names})
    for name in names[:2]:
        other = "fail" if true_verdict(name) == "pass" else "pass"
        assert cli("label", run, name, "--verdict", other, "--annotator", "bob").code == 0
    one = estimate_simple_python(cli, run)
    assert one["sample"]["in_disagreement"] == 2 and one["sample"]["decided"] == 18
    assert one["headline"] == "bounds" and one["low"] is not None
    for name in names[:2]:
        done = cli(
            "label",
            run,
            name,
            "--adjudicate",
            "--verdict",
            true_verdict(name),
            "--annotator",
            "eve",
        )
        assert done.code == 0, done.err
    assert estimate_simple_python(cli, run)["headline"] == "interval"


def mark_unsure(run: Path, names: Sequence[str]) -> None:
    workspace = find_workspace(run)
    with Store.open(workspace, "ann") as store:
        reviewer = Reviewer(store, Journal(workspace, "ann"))
        for name in names:
            reviewer.review(store.find_items(name)[0], Annotation(verdict=UNSURE))


def estimate_simple_python(cli: Cli, run: Path) -> dict[str, Any]:
    return next(
        one for one in cli("estimate", run, "--json").objects if one["name"] == "simple_python"
    )


def test_headline_covers_truth_with_unsure_wrong_items(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=40)
    names = queue_items(cli, run, "pilot")
    label_items(
        cli, run, tmp_path, {name: "pass" for name in names if true_verdict(name) == "pass"}
    )
    mark_unsure(run, [name for name in names if true_verdict(name) != "pass"])
    one = estimate_simple_python(cli, run)
    right = sum(true_verdict(PATH.format(at)) == "pass" for at in range(ITEMS)) / ITEMS
    assert one["low"] > right
    assert one["headline"] == "bounds" and one["bounds_low"] <= right <= one["bounds_high"]
    unsure = sum(true_verdict(name) != "pass" for name in names)
    assert one["sample"] == {
        "drawn": 40,
        "decided": 40 - unsure,
        "unsure": unsure,
        "skipped": 0,
        "in_disagreement": 0,
        "not_reviewed": 0,
    }
    text = cli("estimate", run).out
    assert (
        f"sample: 40 drawn · {40 - unsure} decided · {unsure} unsure · 0 skipped · 0 in"
        " disagreement" in text
    )
    assert (
        f"{unsure} of 40 reviewed items of the sample ({100 * unsure / 40:.0f} %) are undecided. At"
        " the low" in text
    )
    low, high = (f"{100 * one[name]:.2f}" for name in ("bounds_low", "bounds_high"))
    assert f"{low} to {high} %" in text


def test_single_undecided_item_of_a_small_sample_gives_a_range(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    create_queue(cli, run, size=40)
    names = queue_items(cli, run, "pilot")
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in names[1:]})
    mark_unsure(run, names[:1])
    one = estimate_simple_python(cli, run)
    assert one["sample"]["unsure"] == 1
    assert (
        one["high"] - one["low"]
    ) / 2 / 4 < 1 / 40  # the undecided share exceeds a quarter of the half-width
    assert one["headline"] == "bounds"
    assert one["bounds_low"] <= one["low"] < one["estimated"] < one["high"] <= one["bounds_high"]
    assert one["estimated"] != one["corrected"]


def test_undecided_sample_explains_missing_interval(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=5)
    mark_unsure(run, queue_items(cli, run, "pilot"))
    one = estimate_simple_python(cli, run)
    assert one["low"] is None and one["method"] == "undecided"
    assert "unsure, skipped or in disagreement" in one["why"]
    assert one["headline"] == "bounds" and one["bounds_low"] < one["bounds_high"]


def test_report_and_estimate_show_same_figures(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20)
    label_items(
        cli, run, tmp_path, {name: true_verdict(name) for name in queue_items(cli, run, "pilot")}
    )
    estimated = {
        (one["table"], one["level"], one["name"]): one
        for one in cli("estimate", run, "--json").objects
    }
    reported = {
        (one["table"], one["level"], one["name"]): one
        for one in cli("report", run, "--json").objects
    }
    shared = [
        key for key in estimated if key in reported and reported[key]["corrected"] is not None
    ]
    assert shared
    for key in shared:
        for name in ("corrected", "estimated", "low", "high"):
            assert reported[key][name] == pytest.approx(estimated[key][name]), (key, name)
    (listed,) = cli("runs", run, "--json").objects
    first = next(one for one in estimated.values() if one["name"] == "simple_python")
    assert listed["effective_pass"] / listed["effective_known"] == pytest.approx(first["corrected"])
    text, tables = cli("report", run).out, cli("estimate", run).out
    assert "estimated [95 % CI]" in text and "20 sampled" in text
    own, *_ = [line for line in tables.splitlines() if "own metric" in line]
    assert own.startswith("overall accuracy (the benchmark's own metric): automatic ")
    (only_own,) = cli("estimate", run, "--own", "--json").objects
    assert only_own == estimated["accuracy", 0, "overall"] and only_own["digits"] == 2
    shown = asyncio.run(estimate_own_metric_in_the_app(run))
    assert (shown.key, shown.corrected) == (("accuracy", 0, "overall"), only_own["corrected"])
    assert shown.low is not None and shown.needed == pytest.approx(only_own["needed"], rel=0.2)
    heads = next(line for line in tables.splitlines() if line.startswith("accuracy "))
    assert "corrected" in heads and "estimated [95 % CI]" in heads


@pytest.mark.sweep
def test_sample_is_extended_to_target_width(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20, annotators="ann,bob")
    first = queue_items(cli, run, "pilot")
    refused = cli("queue", "extend", run, "--name", "pilot")
    assert refused.code == 1 and "the queue has no reviewed items" in refused.err
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in first})
    before = next(
        one
        for one in cli("estimate", run, "--half-width", "6", "--json").objects
        if one["name"] == "simple_python"
    )
    done = cli(
        "queue",
        "extend",
        run,
        "--name",
        "pilot",
        "--target",
        "BFCL simple_python",
        "--half-width",
        "6",
        "--seed",
        "1",
        "--json",
    )
    assert done.code == 0, done.err
    (made,) = done.objects
    assert (made["queue"], made["extends"], made["target"]) == ("pilot-2", "pilot", "simple_python")
    second = queue_items(cli, run, "pilot-2")
    assert (
        len(second) == made["size"]
        and abs(len(second) - before["needed"]) <= 3
        and not set(second) & set(first)
    )
    head, *items = cli("queue", "show", run, "pilot-2", "--json").objects
    assert {stratum["name"] for stratum in head["strata"]} <= {"all, pass", "all, fail"}
    assert all(0 < item["probability"] <= 1 for item in items)
    assert [share["annotator"] for share in head["annotators"]] == ["ann", "bob"]
    label_items(cli, run, tmp_path, {name: true_verdict(name) for name in second})
    after = next(
        one for one in cli("estimate", run, "--json").objects if one["name"] == "simple_python"
    )
    assert after["n_random"] == len(first) + len(second)
    assert (after["high"] - after["low"]) / 2 < 0.08 < (before["high"] - before["low"]) / 2
    right = sum(true_verdict(PATH.format(at)) == "pass" for at in range(ITEMS)) / ITEMS
    assert after["low"] <= right <= after["high"]


@pytest.mark.sweep
def test_invalid_extension_is_reported_in_one_line(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20)
    label_items(
        cli, run, tmp_path, {name: true_verdict(name) for name in queue_items(cli, run, "pilot")}
    )
    for more, why in (
        (("--name", "none"), "queue not found"),
        (("--name", "pilot", "--target", "nothing"), "Choose "),
        (("--name", "pilot", "--half-width", "0"), "points between"),
    ):
        done = cli("queue", "extend", run, *more)
        assert done.code != 0 and why in done.err and len(done.err.splitlines()) == 1, done.err
    assert (
        "is within ±90" in cli("queue", "extend", run, "--name", "pilot", "--half-width", "90").err
    )


@pytest.mark.sweep
def test_changed_population_is_no_random_sample(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20, seed=None, where="-human:any")
    label_items(
        cli, run, tmp_path, {name: true_verdict(name) for name in queue_items(cli, run, "pilot")}
    )
    done = cli("estimate", run, "--json")
    assert (
        all(one["low"] is None for one in done.objects)
        and "it was drawn from have changed" in done.err
    )


@pytest.mark.sweep
def test_soft_score_interval_needs_all_sampled_calls(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "confetti"
    shutil.copytree(samples / "confetti", runs)
    options = ("--size", "4", "--stratify", "category", "--annotators", "ann")
    assert cli("queue", "create", runs, "--name", "pilot", *options).code == 0
    items = cli("queue", "show", runs, "pilot", "--json").objects[1:]
    label_items(cli, runs, tmp_path, {item["id"]: "pass" for item in items})

    def estimate_soft_accuracy() -> dict[str, Any]:
        found: list[dict[str, Any]] = cli("estimate", runs, "--json").objects
        return next(one for one in found if one["name"] == "soft accuracy, per call")

    one = estimate_soft_accuracy()
    assert one["method"] == "not asked" and "soft_score" in one["why"] and one["low"] is None
    calls = [item["id"] for item in items if item["id"].startswith("conversationsclean")]
    assert 1 < len(calls) < len(items)
    for many in (calls[:-1], calls):
        labels = [
            json.dumps({"id": name, "criterion": "soft_score", "value": 0.5}) for name in many
        ]
        (tmp_path / "soft.jsonl").write_text("\n".join(labels))
        assert cli("label", runs, "--from", tmp_path / "soft.jsonl", "--annotator", "ann").code == 0
        one = estimate_soft_accuracy()
        if many != calls:
            assert one["low"] is None and one["method"] == "not asked"
    assert one["method"] == "posterior" and one["n_random"] == len(calls) and one["why"] == ""
    assert one["low"] < one["estimated"] < one["high"]
    assert "soft accuracy, per call" in cli("estimate", runs).out
    for target, why in (
        ("soft accuracy, per call", "depends on soft_score"),
        ("valid parameters", "does not depend on item verdicts"),
    ):
        done = cli("queue", "extend", runs, "--name", "pilot", "--target", target)
        assert done.code == 1 and why in done.err and len(done.err.splitlines()) == 1, done.err


@pytest.mark.sweep
def test_acebench_languages_have_combined_interval(cli: Cli, samples: Path, tmp_path: Path) -> None:
    """The combined interval needs samples of both languages."""
    runs = tmp_path / "acebench"
    shutil.copytree(samples / "acebench", runs)
    for run, size in (("1", "8"), ("2", "3")):
        options = (
            "--run",
            run,
            "--name",
            f"q{run}",
            "--size",
            size,
            "--annotators",
            "ann",
            "--seed",
            "0",
        )
        assert cli("queue", "create", runs, *options).code == 0
        for item in cli("queue", "show", runs, f"q{run}", "--json").objects[1:]:
            options = ("--run", run, "--verdict", "pass", "--annotator", "ann")
            assert cli("label", runs, item["id"], *options).code == 0
    lines = cli("estimate", runs, "--json").objects
    both = [each for each in lines if each["run"] is None]
    assert both and {each["method"] for each in both} >= {"posterior"}
    for each in both:
        if each["method"] == "posterior":
            assert each["low"] <= each["corrected"] <= each["high"] and each["low"] < each["high"]
            assert 0 < each["n_random"] <= 11
    assert "combined   acebench  v1  en+zh  maple-8b   20 items" in cli("estimate", runs).out
    assert all(each["run"] == 1 for each in cli("estimate", runs, "--run", "1", "--json").objects)


def test_signing_sheet_names_figure_design_and_hashes(cli: Cli, run: Path, tmp_path: Path) -> None:
    create_queue(cli, run, size=20)
    label_items(
        cli, run, tmp_path, {name: true_verdict(name) for name in queue_items(cli, run, "pilot")}
    )
    sheet = cli("report", run, "--sign")
    assert sheet.code == 0, sheet.err
    first = cli("estimate", run, "--json").objects[0]
    assert f"estimated {100 * first['estimated']:.2f} %" in sheet.out
    assert (
        "queue pilot: 20 of 60 items" in sheet.out.replace("\n                ", " ")
        and "seed 3" in sheet.out
    )
    assert (
        "20 drawn, 20 decided" in sheet.out
        and "no item has the verdicts of two annotators" in sheet.out
    )
    assert (
        "result: 1 file, hash" in sheet.out
        and "1 journal, hash" in sheet.out
        and "fcreview 0." in sheet.out
    )
    assert max(map(len, sheet.out.splitlines())) <= 100
    text = " ".join(sheet.out.split())
    assert "simple random sample without replacement" in text
    assert "95 % credible interval" in text and "20 labels of the sample" in text
    assert "20 reviews of sampled items: " in text

    before = sheet.out.split("1 journal, hash ")[1].split()[0]
    cli("label", run, PATH.format(0), "--verdict", "fail", "--annotator", "ann")
    after = cli("report", run, "--sign").out.split("1 journal, hash ")[1].split()[0]
    assert before != after
    assert cli("report", run, "--sign", "--json").code == 2


def test_category_with_few_reviewed_items_says_so() -> None:
    category = MetricEstimate(
        "accuracy",
        level=1,
        name="javascript",
        unit="share",
        digits=1,
        automatic=0.7,
        corrected=0.7,
        estimated=None,
        low=None,
        high=None,
        n_random=3,
        n_known=3,
        method="few items",
        needed=None,
    )
    (line,) = _explain_missing_intervals([category], {"drawn": 100})
    assert line.startswith("There is no confidence interval for javascript: fewer than 10 items")
    assert line.endswith("Draw more with fcreview queue extend --target")
