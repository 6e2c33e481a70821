"""`fcreview audit` lists every event of an item in the order of time, including retracted ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviews.journal import hash_event

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]
NAME = "simple_python_1"


def label_item(cli: Cli, run: Path, who: str, *options: str) -> str:
    done = cli("label", run, NAME, *options, "--annotator", who, "--json")
    assert done.code == 0, done.err
    return str(done.objects[0]["event"])


def change_event(journal: Path, **fields: Any) -> None:
    """Change fields of the only event of the journal."""
    content = json.loads(journal.read_bytes()) | fields
    content = {name: value for name, value in content.items() if value is not None}
    journal.write_text(json.dumps(content | {"hash": hash_event(content)}) + "\n")


@pytest.fixture
def reviews(cli: Cli, imported_run: Path) -> list[str]:
    """Event ids: alice's has no blind flag, bob's is retracted, carol's is blind and earliest,
    judy's adjudicates.
    """
    events = [
        label_item(
            cli, imported_run, "alice", "--verdict", "pass", "--fault", "golden", "--tag", "city"
        )
    ]
    events.append(
        label_item(cli, imported_run, "bob", "--verdict", "fail", "--target", "turn:1/call:1")
    )
    assert cli("label", imported_run, "--undo", "--annotator", "bob").code == 0
    events.append(
        label_item(cli, imported_run, "carol", "--verdict", "2", "--criterion", "completeness")
    )
    events.append(
        label_item(
            cli,
            imported_run,
            "judy",
            "--verdict",
            "pass",
            "--adjudicate",
            "--reason",
            "Rome will do",
        )
    )
    folder = imported_run / ".fcreview" / "reviews"
    change_event(folder / "carol.jsonl", blind=True, time="2020-01-01T00:00:00.000Z")
    change_event(folder / "alice.jsonl", blind=None)
    return events


@pytest.mark.sweep
def test_events_are_listed_by_time(cli: Cli, imported_run: Path, reviews: list[str]) -> None:
    acts = cli("audit", imported_run, NAME, "--json").objects
    assert [(each["annotator"], each["act"], each["blind"]) for each in acts] == [
        ("carol", "review", "yes"),
        ("alice", "review", "unknown"),
        ("bob", "review", "no"),
        ("bob", "retract", "unknown"),
        ("judy", "adjudicate", "no"),
    ]
    carol, alice, bob, retraction, judy = acts
    assert (carol["criterion"], carol["value"], carol["time"]) == (
        "completeness",
        2,
        "2020-01-01T00:00:00.000Z",
    )
    assert (alice["value"], alice["fault"], alice["tags"], alice["note"]) == (
        True,
        "golden",
        ["city"],
        None,
    )
    assert (bob["event"], bob["target"], bob["retracts"]) == (reviews[1], "turn:1/call:1", None)
    assert bob["retracted_by"] == retraction["event"]
    assert retraction["retracts"] == bob["event"]
    assert [each["retracted_by"] for each in (carol, alice, retraction, judy)] == [None] * 4
    assert (judy["note"], judy["stale"]) == ("Rome will do", False)
    assert cli("audit", imported_run, "simple_python_2", "--json").out == ""


@pytest.mark.sweep
def test_text_shows_same_events(cli: Cli, imported_run: Path, reviews: list[str]) -> None:
    done = cli("audit", imported_run, NAME)
    assert done.code == 0
    assert done.err == f"5 events on {NAME}\n"
    shown = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", done.out)
    for number, event in enumerate(reviews):
        shown = shown.replace(event[:8], f"E{number}")
    retraction = cli("audit", imported_run, NAME, "--json").objects[3]["event"]
    assert shown.replace(retraction[:8], "R").splitlines() == [
        "TIME  carol   event E2, blind: yes",
        "           item · completeness 2",
        "TIME  alice   event E0, blind: unknown",
        "           item · correct pass · fault: golden · tags city",
        "TIME  bob   event E1, blind: no, retracted by R",
        "           turn 1 call 1 · correct fail",
        "TIME  bob   event R, blind: unknown",
        "           retracts E1",
        "TIME  judy   event E3, blind: no",
        "           adjudicates item · correct pass",
        "           note  Rome will do",
    ]
    none = cli("audit", imported_run, "simple_python_2")
    assert (none.code, none.out, none.err) == (0, "", "simple_python_2 has no reviews\n")


@pytest.mark.sweep
def test_stale_reviews_are_marked(cli: Cli, imported_run: Path, reviews: list[str]) -> None:
    results = imported_run / "result/maple/non_live/BFCL_v4_simple_python_result.json"
    results.write_text(results.read_text().replace("Rome", "Bergen"))
    label_item(cli, imported_run, "alice", "--verdict", "fail")
    acts = cli("audit", imported_run, NAME, "--json").objects
    assert [each["stale"] for each in acts] == [True] * 5 + [False]
    assert cli("audit", imported_run, NAME).out.count("STALE") == 5


@pytest.mark.sweep
def test_annotator_cannot_retract_reviews_of_others(
    cli: Cli, imported_run: Path, reviews: list[str]
) -> None:
    from fcreview.model.review import Annotation, ItemKey
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.workspace import Workspace

    mallory = Journal(Workspace(imported_run / ".fcreview"), "mallory")
    event = mallory.append(
        ItemKey("bfcl", "V4", "en", "maple", "simple_python", NAME), Annotation(verdict=False)
    )
    event.event = reviews[0]
    mallory.retract(event)
    acts = cli("audit", imported_run, NAME, "--json").objects
    (alice,) = [each for each in acts if each["annotator"] == "alice"]
    assert alice["retracted_by"] is None
    assert [each["blind"] for each in acts if each["annotator"] == "mallory"] == [
        "unknown",
        "unknown",
    ]


def test_hostile_texts_are_harmless(
    cli: Cli, imported_run: Path, hostile: str, raw: tuple[str, ...]
) -> None:
    label_item(
        cli, imported_run, "alice", "--verdict", "fail", "--reason", hostile, "--tag", hostile
    )
    name = hostile.replace("/", "")[:60]
    journal = (imported_run / ".fcreview/reviews/alice.jsonl").rename(
        imported_run / f".fcreview/reviews/{name}.jsonl"
    )
    change_event(journal, annotator=name, criterion=hostile, time=hostile)
    for arguments in ([], ["--json"]):
        done = cli("audit", imported_run, NAME, *arguments)
        assert done.code == 0
        assert done.out.count("evil") >= 4
        assert not any(char in done.out for char in raw)
