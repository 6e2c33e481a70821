"""Incidents say first that there is no answer, and stay out of clusters, samples, calibration
and training rows.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.incident import Incident
from fcreview.model.item import Item, Verdict
from tests.incidents import (
    EMPTY,
    RATE_LIMIT,
    TIMEOUT,
    generic_record,
    import_changed,
    set_incidents,
    write_generic_run,
)

Cli = Callable[..., Any]
N = 20
SENTENCE = "The API returned an error; the model gave no answer: rate limit exceeded"
INCIDENTS: Mapping[str, Incident] = {
    "weather_1": RATE_LIMIT,
    "weather_3": RATE_LIMIT,
    "weather_5": TIMEOUT,
    "weather_0": TIMEOUT,
    "weather_7": EMPTY,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty items, of which those with even numbers pass.

    Three failing and one passing item are incidents.
    """
    place = tmp_path / "runs"
    records = []
    for number in range(N):
        record = generic_record(f"weather_{number}", passes=number % 2 == 0)
        if f"weather_{number}" in INCIDENTS:
            record["messages"][-1] = {
                "role": "assistant",
                "content": "Error: Sorry, too many requests.",
            }
        records.append(record)
    write_generic_run(place, records)
    import_changed(place, set_incidents(dict(INCIDENTS)))
    return place


def test_failing_incidents_are_clusters_of_their_own_before_model_faults(
    cli: Cli, folder: Path
) -> None:
    clusters = cli("triage", folder, "--json").objects
    assert [(each.get("incident"), each["count"]) for each in clusters] == [
        ("rate_limit", 2),
        ("timeout", 1),
        (None, 7),
    ]
    for each in clusters:
        found = cli("items", folder, "--where", each["where"], "--json").objects
        assert len(found) == each["count"]
    text = cli("triage", folder).out
    assert text.index(SENTENCE) < text.index("get_weather not called")
    assert "4 incidents, of which 1 pass" in text


@pytest.mark.parametrize("by", ["function", "argument", "category", "value", "decisive"])
def test_every_grouping_puts_incidents_first(cli: Cli, folder: Path, by: str) -> None:
    clusters = cli("triage", folder, "--by", by, "--json").objects
    assert [each.get("incident") for each in clusters[:2]] == ["rate_limit", "timeout"]
    assert sum(each["count"] for each in clusters) == 10


def test_cleared_mark_moves_the_item_to_model_faults(cli: Cli, folder: Path) -> None:
    cli("label", folder, "weather_5", "--criterion", "incident", "--verdict", "no")
    clusters = cli("triage", folder, "--json").objects
    assert [(each.get("incident"), each["count"]) for each in clusters] == [
        ("rate_limit", 2),
        (None, 8),
    ]


def test_item_says_first_why_it_has_no_answer(cli: Cli, folder: Path) -> None:
    lines = cli("show", folder, "weather_1").out.splitlines()
    assert SENTENCE in lines[1]
    assert RATE_LIMIT.text in lines[2]
    page = folder / "item.html"
    assert cli("show", folder, "weather_1", "--html", page).code == 0
    assert SENTENCE in page.read_text()
    listed = cli("items", folder, "--where", "id:weather_1").out
    assert SENTENCE in listed and "incident:rate_limit" in listed and "not called" not in listed
    detail = cli("show", folder, "weather_1", "--json").objects[0]
    assert detail["row"]["first_difference"] == detail["item"]["first_difference"] == SENTENCE
    assert detail["item"]["incident"] == "rate_limit"


def test_weak_mark_is_a_quiet_note_beside_the_usual_explanation(cli: Cli, folder: Path) -> None:
    text = cli("show", folder, "weather_7").out
    assert "empty reply" in text and "no answer" not in text
    assert "Why it fails" in text


def test_cleared_mark_restores_the_explanation(cli: Cli, folder: Path) -> None:
    cli("label", folder, "weather_1", "--criterion", "incident", "--verdict", "no")
    text = cli("show", folder, "weather_1").out
    assert SENTENCE not in text and "Why it fails" in text


def test_undecoded_failure_text_is_not_explained_as_prose(cli: Cli, one_run: Path) -> None:
    def mark_last_but_one(item: Item) -> None:
        if item.id == "simple_python_4":
            item.set_incident(RATE_LIMIT)

    import_changed(one_run, mark_last_but_one)
    text = cli("show", one_run, "simple_python_4").out
    assert SENTENCE in text and "prose" not in text
    listed = cli("items", one_run, "--json").objects[4]
    assert listed["first_difference"] == SENTENCE


def test_failed_judge_leaves_the_verdict_unknown_and_says_why(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "judged"
    write_generic_run(place, [generic_record("a", passes=False)])

    def fail_judge(item: Item) -> None:
        item.verdicts.append(Verdict("judge", None, by="gpt-4o", failure="the reply is not JSON"))
        item.flags = ["judge_failed"]

    import_changed(place, fail_judge)
    assert "unknown: the judge failed (the reply is not JSON)" in cli("show", place, "a").out
    (run,) = cli("runs", place, "--json").objects
    assert (run["incidents"], run["official_known"], run["judge_known"]) == (0, 1, 0)
    assert cli("queue", "create", place, "--name", "q", "--annotators", "ann").code == 0, (
        "the item stays in samples"
    )
    assert len(cli("triage", place, "--json").objects) == 1, "and in clusters"


def create_queue(cli: Cli, folder: Path, *options: str) -> Any:
    return cli(
        "queue", "create", folder, "--name", "pilot", "--annotators", "ann", "--seed", "1", *options
    )


def test_sample_leaves_incidents_out_and_records_its_frame(cli: Cli, folder: Path) -> None:
    done = create_queue(cli, folder)
    assert "sampling frame: 16 of 20 items; 4 incidents left out" in done.out
    head, *items = cli("queue", "show", folder, "pilot", "--json").objects
    assert (head["population"], head["n_incidents"], len(items)) == (16, 4, 16)
    assert not {item["id"] for item in items} & {"weather_0", "weather_1", "weather_3", "weather_5"}
    design = json.loads((folder / ".fcreview" / "queues" / "pilot.json").read_text())["design"]
    assert len(design["incident_hashes"]) == design["n_incidents"] == 4


def test_sample_has_incidents_if_asked_for(cli: Cli, folder: Path) -> None:
    done = create_queue(cli, folder, "--include-incidents")
    assert "sampling frame" not in done.out and "pilot: 20 of 20 items" in done.out
    refused = cli(
        "queue",
        "create",
        folder,
        "--name",
        "only",
        "--annotators",
        "ann",
        "--where",
        "incident:any",
    )
    assert refused.code == 1 and "--include-incidents" in refused.err


def review_sample(cli: Cli, folder: Path, *, passes: bool = True) -> None:
    for item in cli("queue", "show", folder, "pilot", "--json").objects[1:]:
        number = int(item["id"].rpartition("_")[2])
        verdict = "pass" if number % 2 == 0 and passes else "fail"
        done = cli("label", folder, item["id"], "--verdict", verdict, "--annotator", "ann")
        assert done.code == 0, done.err


def fetch_estimates(cli: Cli, folder: Path) -> dict[str, dict[str, Any]]:
    done = cli("estimate", folder, "--json")
    assert done.code == 0, done.err
    return {line["name"]: line for line in done.objects if line["table"] == "accuracy"}


def test_estimate_keeps_the_official_value_of_incidents_without_a_sampling_error(
    cli: Cli, folder: Path
) -> None:
    create_queue(cli, folder)
    review_sample(cli, folder)
    estimates = fetch_estimates(cli, folder)
    own, without = estimates["all items"], estimates["all items, without incidents"]
    # All 16 other items have a human verdict, so nothing is left to estimate: 9 of 16 pass, and 1
    # of 4 incidents.
    assert own["method"] == without["method"] == "all known"
    assert (own["automatic"], own["corrected"]) == (10 / 20, 10 / 20)
    assert without["corrected"] == 9 / 16
    assert (
        own["n_known"],
        without["n_known"],
        own["without_incidents"],
        without["without_incidents"],
    ) == (16, 16, False, True)
    assert "all items, without incidents" in cli("estimate", folder).out


def test_mark_that_is_set_later_keeps_the_sample_usable(cli: Cli, folder: Path) -> None:
    create_queue(cli, folder, "--size", "10")
    review_sample(cli, folder)
    before = fetch_estimates(cli, folder)["all items"]
    sampled = [item["id"] for item in cli("queue", "show", folder, "pilot", "--json").objects[1:]]
    cli("label", folder, sampled[0], "--criterion", "incident", "--verdict", "yes")
    after = fetch_estimates(cli, folder)
    assert "ignored" not in cli("estimate", folder).err
    assert after["all items"]["method"] == before["method"] == "posterior"
    assert after["all items"]["sample"]["drawn"] == before["sample"]["drawn"] - 1
    assert after["all items"]["corrected"] == before["corrected"]
    assert "all items, without incidents" in after


def test_confirmed_mark_changes_no_estimate(cli: Cli, folder: Path) -> None:
    create_queue(cli, folder, "--size", "10")
    review_sample(cli, folder)
    before = cli("estimate", folder, "--json").out
    cli("label", folder, "weather_1", "--criterion", "incident", "--verdict", "yes")
    assert cli("estimate", folder, "--json").out == before


def test_calibration_leaves_incidents_out(cli: Cli, folder: Path) -> None:
    for name in ("weather_1", "weather_2"):
        cli("label", folder, name, "--verdict", "pass")
    before = cli("calibrate", folder, "--json").objects
    assert {
        line["n"]
        for line in before
        if line.get("scope") == "overall" and line["source"] == "official"
    } == {1}
    cli("label", folder, "weather_1", "--criterion", "incident", "--verdict", "no")
    after = cli("calibrate", folder, "--json").objects
    assert {
        line["n"]
        for line in after
        if line.get("scope") == "overall" and line["source"] == "official"
    } == {2}


def test_training_rows_leave_incidents_out_unless_asked_for(cli: Cli, folder: Path) -> None:
    for name in ("weather_0", "weather_2"):
        cli("label", folder, name, "--verdict", "pass")
    done = cli("export", folder, "--format", "sft")
    assert len(done.objects) == 1
    assert "1 incident left out" in done.err
    assert len(cli("export", folder, "--format", "sft", "--include-incidents").objects) == 2


def test_exported_labels_have_fields_of_incidents(cli: Cli, folder: Path) -> None:
    cli("label", folder, "weather_3", "--criterion", "incident", "--verdict", "no")
    labels = {
        each["id"]: each for each in cli("export", folder).objects if each["criterion"] == "correct"
    }
    assert (labels["weather_1"]["incident"], labels["weather_1"]["incident_certainty"]) == (
        "rate_limit",
        "rule",
    )
    assert labels["weather_1"]["incident_text"] == RATE_LIMIT.text
    assert (labels["weather_3"]["incident"], labels["weather_2"]["incident"]) == (None, None)
    table = list(csv.DictReader(cli("export", folder, "--format", "csv").out.splitlines()))
    assert {row["incident"] for row in table} == {"", "rate_limit", "timeout", "empty_reply"}
