"""`fcreview queue` creates and shows review queues, and commands take `--queue`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
MAKE = (
    "--size",
    "6",
    "--stratify",
    "category",
    "--overlap",
    "2",
    "--annotators",
    "ann,bob",
    "--repeats",
    "1",
)


def create_queue(cli: Cli, run: Path, name: str = "pilot", *more: str) -> Any:
    return cli("queue", "create", run, "--name", name, *MAKE, "--seed", "7", *more)


def read_queue(run: Path, name: str = "pilot") -> dict[str, Any]:
    queue: dict[str, Any] = json.loads((run / ".fcreview" / "queues" / f"{name}.json").read_text())
    return queue


def test_queue_is_created_listed_and_shown(cli: Cli, imported_run: Path) -> None:
    done = create_queue(cli, imported_run)
    assert done.code == 0, done.err
    assert (
        "pilot: 6 of 6 items, stratified by category, seed 7" in done.out
        and "probability" in done.out
    )
    assert "2 annotators" in done.err
    listed = cli("queue", "list", imported_run, "--json").objects
    assert [
        (each["annotator"], each["done"], each["total"]) for each in listed[0]["annotators"]
    ] == [
        ("ann", 0, 5),
        ("bob", 0, 5),
    ]
    head, *items = cli("queue", "show", imported_run, "pilot", "--json").objects
    assert head["strata"][0]["probability"] == 1.0 and len(items) == 6
    assert sorted(map(len, (item["annotators"] for item in items))) == [1, 1, 1, 1, 2, 2]
    assert "0 of 5" in cli("queue", "list", imported_run).out


def test_same_seed_creates_same_queue(cli: Cli, imported_run: Path) -> None:
    create_queue(cli, imported_run)
    again = create_queue(cli, imported_run)
    assert again.code == 1 and "already" in again.err
    create_queue(cli, imported_run, "other", "--allow-overlap")
    one, other = read_queue(imported_run), read_queue(imported_run, "other")
    for each in (one, other):
        del each["name"], each["created"]
    assert one == other


def test_queue_without_seed_records_a_random_one(cli: Cli, imported_run: Path) -> None:
    draw = (
        "queue",
        "create",
        imported_run,
        "--size",
        "2",
        "--annotators",
        "ann",
        "--allow-overlap",
        "--json",
    )
    seeds = {cli(*draw, "--name", f"sample-{number}").objects[0]["seed"] for number in range(3)}
    assert len(seeds) == 3


def test_second_queue_draws_no_item_of_the_first(cli: Cli, imported_run: Path) -> None:
    draw = ("queue", "create", imported_run, "--annotators", "ann")
    cli(*draw, "--name", "pilot", "--size", "2")
    second = cli(*draw, "--name", "more", "--size", "3")
    assert second.code == 0, second.err
    assert (
        "more: 3 of 4 items" in second.out
        and "2 items of earlier queues (pilot) cannot be drawn again" in second.out
    )
    drawn = [
        {item["key"]["id"] for item in read_queue(imported_run, name)["items"]}
        for name in ("pilot", "more")
    ]
    assert not drawn[0] & drawn[1]

    third = cli(*draw, "--name", "too-many", "--size", "2")
    assert (
        third.code == 1 and "only 1 of 6 items are in no earlier queue (more, pilot)" in third.err
    )
    assert cli(*draw, "--name", "overlapping", "--size", "2", "--allow-overlap").code == 0


@pytest.mark.sweep
def test_invalid_queue_is_reported_in_one_line(cli: Cli, imported_run: Path) -> None:
    for more, why in (
        (("--size", "9"), "because 6 items match"),
        (("--where", "category:none_such"), "no items match"),
        (("--stratify", "colour"), "Available keys: benchmark, language"),
        (("--annotators", "ann,Ann"), "each named exactly once"),
        (("--repeats", "3"), "Use at most 1"),
        (("--overlap", "7"), "overlap"),
    ):
        done = create_queue(cli, imported_run, "pilot", *more)
        assert done.code != 0 and why in done.err and len(done.err.splitlines()) == 1, done.err
    assert not (imported_run / ".fcreview" / "queues").exists()


@pytest.mark.sweep
def test_open_needs_share_of_queue(cli: Cli, imported_run: Path) -> None:
    create_queue(cli, imported_run)
    stranger = cli("open", imported_run, "--queue", "pilot", "--annotator", "carol")
    assert (
        stranger.code == 1
        and "assigns no items to carol" in stranger.err
        and "ann, bob" in stranger.err
    )
    opened = cli("open", imported_run, "--queue", "pilot", "--annotator", "ann")
    assert opened.code == 0 and "5 items" in opened.err
    assert len(cli("items", imported_run, "--queue", "pilot", "--json").objects) == 6
    unknown = cli("items", imported_run, "--queue", "nonsense")
    assert unknown.code == 2 and "pilot" in unknown.err and "judged" in unknown.err


def test_blind_queues_by_verdict_are_refused(cli: Cli, imported_run: Path) -> None:
    for queue in ("failures", "disagreement", "judged", "uncertain"):
        done = cli("open", imported_run, "--blind", "--queue", queue)
        assert done.code == 2 and "reveals verdicts" in done.err and "stratified" in done.err
    for queue in ((), ("--queue", "random"), ("--queue", "stratified")):
        assert "needs a terminal" in cli("open", imported_run, "--blind", *queue).err


def test_queue_of_a_blind_sample_is_opened_blind(cli: Cli, imported_run: Path) -> None:
    assert create_queue(cli, imported_run, "pilot", "--blind").code == 0
    assert read_queue(imported_run)["design"]["blind"] is True
    assert "The items are reviewed blind." in cli("queue", "show", imported_run, "pilot").out
    done = cli("open", imported_run, "--queue", "pilot", "--annotator", "ann")
    assert done.code == 1 and "--blind needs a terminal" in done.err
    printed = cli("review", imported_run, "--queue", "pilot", "--annotator", "ann", stdin="q\n").out
    assert "official" not in printed.partition("verdict?")[0].replace("official hidden", "")


def test_export_takes_items_of_queue(cli: Cli, imported_run: Path) -> None:
    create_queue(cli, imported_run, "few", "--size", "2", "--overlap", "0", "--repeats", "0")
    labels = cli("export", imported_run, "--queue", "few").objects
    assert {label["id"] for label in labels} == {
        item["key"]["id"] for item in read_queue(imported_run, "few")["items"]
    }
    refused = cli("export", imported_run, "--queue", "failures")
    assert refused.code == 2 and "only orders items" in refused.err


@pytest.mark.sweep
def test_merge_reports_queues(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    import shutil

    create_queue(cli, imported_run)
    other = shutil.copytree(imported_run, tmp_path / "other")
    (other / ".fcreview" / "queues" / "pilot.json").unlink()
    create_queue(cli, other, "pilot", "--seed", "8")
    create_queue(cli, other, "more", "--allow-overlap")
    out = cli("merge", imported_run, other).out
    assert "queue more: imported as more" in out and "the imported queue is saved as pilot-2" in out
    assert "queue pilot-2" not in cli("merge", imported_run, other).out
    assert cli("queue", "show", imported_run, "pilot-2").code == 0


def test_filter_by_verdict_says_what_it_cannot_estimate(cli: Cli, imported_run: Path) -> None:
    draw = (
        "queue",
        "create",
        imported_run,
        "--annotators",
        "ann",
        "--size",
        "1",
        "--allow-overlap",
    )
    by_verdict = cli(*draw, "--name", "failures-only", "--where", "official:fail")
    assert by_verdict.code == 0 and "represents only items with this verdict" in by_verdict.err
    by_category = cli(*draw, "--name", "all-verdicts", "--where", "turns:1")
    assert by_category.code == 0 and "represents only" not in by_category.err
