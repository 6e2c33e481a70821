"""Items with an incident: filters, JSON, ids to run again, and reviews of the mark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Item, MissingItem
from tests.incidents import (
    EMPTY,
    LIMIT,
    RATE_LIMIT,
    TIMEOUT,
    generic_record,
    import_changed,
    write_generic_run,
)

Cli = Callable[..., Any]
INCIDENTS = {"a": RATE_LIMIT, "b": TIMEOUT, "c": LIMIT, "d": EMPTY}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with one item each of two incidents, a used-up limit, an empty reply, and two
    ordinary replies.
    """
    place = tmp_path / "runs"
    passing = {"a", "e"}
    write_generic_run(place, [generic_record(name, passes=name in passing) for name in "abcdef"])

    def change(item: Item) -> None:
        item.set_incident(INCIDENTS.get(item.id))
        if item.id == "f":
            item.flags = ["undecoded", "scored_twice"]

    import_changed(place, change, [MissingItem("x", "weather"), MissingItem("y", "weather")])
    return place


def list_ids(cli: Cli, folder: Path, where: str, *options: str) -> list[str]:
    done = cli("items", folder, "--where", where, "--ids", *options)
    assert done.code == 0, done.err
    return str(done.out).split()


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("incident:any", "a b"),
        ("incident:none", "c d e f"),
        ("-incident:any", "c d e f"),
        ("incident:rate_limit", "a"),
        ("incident:rate_limit,timeout", "a b"),
        ("incident:limit", "c"),
        ("incident:weak", "d"),
        ("incident:empty_reply", "d"),
        ("incident:server", ""),
        ("flag:undecoded", "f"),
        ("flag:any", "f"),
        ("flag:none", "a b c d e"),
        ("flag:judge_failed", ""),
    ],
)
def test_filter_selects_incidents_and_flags(cli: Cli, folder: Path, where: str, ids: str) -> None:
    assert list_ids(cli, folder, where) == ids.split()


def test_unknown_kind_of_incident_is_refused_with_the_known_ones(cli: Cli, folder: Path) -> None:
    done = cli("items", folder, "--where", "incident:nonsense")
    assert done.code == 2
    assert "rate_limit" in done.err


def test_json_has_fields_of_incidents(cli: Cli, folder: Path) -> None:
    items = {item["id"]: item for item in cli("items", folder, "--json").objects}
    names = (
        "incident",
        "incident_text",
        "incident_where",
        "incident_certainty",
        "is_incident",
        "flags",
    )
    assert [items["a"][name] for name in names] == [
        "rate_limit",
        RATE_LIMIT.text,
        "result",
        "rule",
        True,
        [],
    ]
    assert [items["c"][name] for name in names] == [
        "limit",
        "30 steps",
        "termination_reason",
        "marked",
        False,
        [],
    ]
    assert [items["f"][name] for name in names] == [
        None,
        None,
        None,
        None,
        False,
        ["undecoded", "scored_twice"],
    ]


def test_ids_to_run_again_include_items_that_were_not_run(cli: Cli, folder: Path) -> None:
    assert list_ids(cli, folder, "incident:any", "--not-run") == ["a", "b", "x", "y"]
    missing = [
        item for item in cli("items", folder, "--not-run", "--json").objects if item.get("not_run")
    ]
    assert [(item["id"], item["category"], item["model"]) for item in missing] == [
        ("x", "weather", "maple"),
        ("y", "weather", "maple"),
    ]
    assert "x  weather  not run" in cli("items", folder, "--not-run").out


def test_ids_and_json_exclude_each_other(cli: Cli, folder: Path) -> None:
    assert cli("items", folder, "--ids", "--json").code == 2


def test_review_sets_and_clears_the_mark_without_a_verdict_on_the_item(
    cli: Cli, folder: Path
) -> None:
    before = {item["id"]: item for item in cli("items", folder, "--json").objects}
    assert cli("label", folder, "a", "--criterion", "incident", "--verdict", "no").code == 0
    assert cli("label", folder, "e", "--criterion", "incident", "--verdict", "yes").code == 0
    assert cli("label", folder, "d", "--criterion", "incident", "--verdict", "yes").code == 0

    assert list_ids(cli, folder, "incident:any") == ["b", "d", "e"]
    assert list_ids(cli, folder, "incident:unknown") == ["e"]
    assert list_ids(cli, folder, "incident:weak") == []
    after = {item["id"]: item for item in cli("items", folder, "--json").objects}
    assert (after["a"]["incident"], after["a"]["is_incident"]) == (None, False)
    assert (after["e"]["incident"], after["e"]["incident_certainty"]) == ("unknown", "human")
    for name in ("official", "human", "effective", "you", "parts", "your_parts"):
        assert [after[each][name] for each in "abcdef"] == [before[each][name] for each in "abcdef"]
    assert list_ids(cli, folder, "human:any OR reviewed") == []
    (run,) = cli("runs", folder, "--json").objects
    assert (run["reviewed"], run["in_part"]) == (0, 0)


def test_undone_review_of_the_mark_restores_the_automatic_mark(cli: Cli, folder: Path) -> None:
    cli("label", folder, "a", "--criterion", "incident", "--verdict", "no")
    cli("label", folder, "--undo")
    assert list_ids(cli, folder, "incident:any") == ["a", "b"]


def test_disagreement_on_the_mark_keeps_the_automatic_mark_until_adjudication(
    cli: Cli, folder: Path
) -> None:
    cli("label", folder, "a", "--criterion", "incident", "--verdict", "no", "--annotator", "ada")
    cli("label", folder, "a", "--criterion", "incident", "--verdict", "yes", "--annotator", "bob")
    assert list_ids(cli, folder, "incident:any") == ["a", "b"]
    cli(
        "label",
        folder,
        "a",
        "--criterion",
        "incident",
        "--verdict",
        "no",
        "--annotator",
        "eve",
        "--adjudicate",
    )
    assert list_ids(cli, folder, "incident:any") == ["b"]


@pytest.mark.parametrize(
    "arguments", [("--verdict", "pass"), ("--verdict", "yes", "--target", "turn:1")]
)
def test_mark_takes_only_yes_or_no_on_the_whole_item(
    cli: Cli, folder: Path, arguments: tuple[str, ...]
) -> None:
    assert cli("label", folder, "a", "--criterion", "incident", *arguments).code == 2
