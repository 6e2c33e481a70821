"""Exported Inspect logs have reviews as score edits, and results that equal the corrected
metrics.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.base import ExportError
from fcreview.exporters.inspect_log import check_and_count_log_copies
from fcreview.importers.inspect.log import open_log
from fcreview.importers.inspect.sample import LogSample
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.safe_files import import_zipfile
from tests.commands import Done, run_in_this_process

Cli = Callable[..., Done]
REVIEWS = [
    ("light_2", "pass", "alice"),
    ("heat_2#2", "fail", "alice"),
    ("light_1", "fail", "bob"),
    ("heat_2", "pass", "bob"),
]
"""Reviews of the log. The second one confirms the official verdict."""
TURN = ("light_1#2", "turn:1")
"""Reviewed as fail by alice, so that the item fails."""
N_EDITS = len(REVIEWS) + 2
"""Number of score edits in the log, including those for the review of a turn and for the
model-graded score.
"""


@pytest.fixture(scope="module", params=[pytest.param("json", marks=pytest.mark.sweep), "eval"])
def log(
    request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The sample log as JSON and as an archive, without dana's edit."""
    (source,) = (samples / "inspect").glob("*.json")
    content = json.loads(source.read_text())
    for sample in content["samples"]:
        for score in sample["scores"].values():
            if len(score["history"]) > 1:
                score["value"], score["history"] = score["history"][0]["value"], []
    path = tmp_path_factory.mktemp("log") / f"log.{request.param}"
    if request.param == "json":
        path.write_text(json.dumps(content))
        return path
    members = {
        "_journal/start.json": {name: content[name] for name in ("version", "eval", "plan")},
        **{f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in content.pop("samples")},
        "summaries.json": [],
        "reductions.json": content.pop("reductions"),
        "header.json": content,
    }
    with import_zipfile().ZipFile(path, "w", 93) as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value))
    return path


@pytest.fixture(scope="module")
def exported_logs(log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Return paths of the original, a copy without reviews and a copy with reviews."""
    place = tmp_path_factory.mktemp("export")
    original = Path(shutil.copy(log, place / log.name))

    def run(*arguments: str | Path) -> Done:
        done = run_in_this_process(arguments, place, {**os.environ, "HOME": str(place)})
        assert done.code == 0, done.err
        return done

    run("export", original, "--format", "inspect", "-o", place / "before")
    for item, verdict, annotator in REVIEWS:
        run(
            "label",
            original,
            item,
            "--verdict",
            verdict,
            "--annotator",
            annotator,
            "--note",
            f"note on {item}",
        )
    run(
        "label", original, TURN[0], "--target", TURN[1], "--verdict", "fail", "--annotator", "alice"
    )
    run(
        "label",
        original,
        "heat_2",
        "--criterion",
        "model_graded_qa",
        "--verdict",
        "1",
        "--annotator",
        "bob",
    )
    run("export", original, "--format", "inspect", "-o", place / "after")
    (place / "report.jsonl").write_text(run("report", original, "--json").out)
    (before,), (after,) = ((place / name).iterdir() for name in ("before", "after"))
    assert before.name == after.name == f"log-reviewed{log.suffix}"
    return original, before, after


def read_samples(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    with open_log(path) as log:
        return {
            (s.value["id"], s.value["epoch"]): s.value
            for s in log.read_samples()
            if isinstance(s, LogSample)
        }


def test_log_without_reviews_is_copied_byte_for_byte(
    exported_logs: tuple[Path, Path, Path], log: Path
) -> None:
    original, before, _ = exported_logs
    assert original.read_bytes() == before.read_bytes() == log.read_bytes()


def test_each_reviewed_item_has_one_edit(exported_logs: tuple[Path, Path, Path]) -> None:
    original, _, after = exported_logs
    unchanged, edited = read_samples(original), read_samples(after)
    expected = {
        ("light_2", 1): "C",
        ("heat_2", 2): "I",
        ("light_1", 1): "I",
        ("heat_2", 1): "C",
        ("light_1", 2): "I",
    }
    for key, sample in edited.items():
        score = sample["scores"]["device_state"]
        if key not in expected:
            assert sample == unchanged[key]
            continue
        assert score["value"] == expected[key]
        first, edit = score["history"]
        assert (
            first["value"] == unchanged[key]["scores"]["device_state"]["value"]
            and "provenance" not in first
        )
        reason = edit["provenance"]["reason"]
        assert edit["provenance"]["author"] in ("alice", "bob")
        assert reason is None if key == ("light_1", 2) else reason.startswith("note on")
        assert len(edit["provenance"]["metadata"]["fcreview"]["events"]) == 1
        judged = sample["scores"]["model_graded_qa"]
        if key == ("heat_2", 1):
            assert [each["value"] for each in judged["history"]] == ["P", "C"]
        else:
            assert judged == unchanged[key]["scores"]["model_graded_qa"]


def test_verdict_on_a_part_has_its_own_score(exported_logs: tuple[Path, Path, Path]) -> None:
    added = {
        (key, name): score["history"]
        for key, sample in read_samples(exported_logs[2]).items()
        for name, score in sample["scores"].items()
        if name.startswith("fcreview")
    }
    ((place, (entry,)),) = added.items()
    assert place == (("light_1", 2), "fcreview/turn:1")
    assert entry["value"] is False and entry["provenance"]["author"] == "alice"


def test_export_of_a_copy_adds_no_edits(
    exported_logs: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """The copy has the same items, so it can use the workspace of the original."""
    original, _, after = exported_logs
    (tmp_path / "copy").mkdir()
    shutil.copytree(
        original.parent / ".fcreview" / "reviews", tmp_path / "copy" / ".fcreview" / "reviews"
    )
    copy = Path(shutil.copy(after, tmp_path / "copy"))
    done = run_in_this_process(
        ["export", copy, "--format", "inspect", "-o", tmp_path / "out"],
        tmp_path,
        {**os.environ, "HOME": str(tmp_path)},
    )
    assert done.code == 0, done.err
    (again,) = (tmp_path / "out").iterdir()
    assert read_samples(again) == read_samples(copy)


def test_edit_event_is_in_the_last_scorer_span(exported_logs: tuple[Path, Path, Path]) -> None:
    after = exported_logs[2]
    if after.suffix == ".json":
        events = next(s for s in json.loads(after.read_text())["samples"] if s["id"] == "light_2")[
            "events"
        ]
    else:
        with import_zipfile().ZipFile(after) as archive:
            assert len(archive.namelist()) == len(set(archive.namelist()))
            events = json.loads(archive.read("samples/light_2_epoch_1.json"))["events"]
    kinds = [event["event"] for event in events]
    assert kinds[-2:] == ["score_edit", "span_end"]
    assert events[-2]["span_id"] == events[-1]["id"]


def test_written_values_give_the_corrected_metrics(exported_logs: tuple[Path, Path, Path]) -> None:
    """The expected metrics are computed here from the values of the copy."""
    original, _, after = exported_logs
    values: dict[str, list[float]] = {}
    for (name, _), sample in read_samples(after).items():
        values.setdefault(name, []).append(
            {"C": 1.0, "I": 0.0}[sample["scores"]["device_state"]["value"]]
        )
    means = [sum(each) / len(each) for each in values.values()]
    rows = map(json.loads, (original.parent / "report.jsonl").read_text().splitlines())
    corrected = {(row["table"], row["name"]): row["corrected"] for row in rows}
    assert corrected["device_state · mean", "accuracy"] == pytest.approx(
        sum(means) / len(means), abs=1e-12
    )
    with open_log(after) as log:
        for entry in log.header["results"]["scores"]:
            table = f"{entry['name']} · {entry['reducer']}"
            for key, metric in entry["metrics"].items():
                assert metric["value"] == pytest.approx(corrected[table, key], abs=1e-12), (
                    table,
                    key,
                )


def test_import_of_the_copy_reads_edits_as_recorded_reviews(
    exported_logs: tuple[Path, Path, Path],
) -> None:
    original, _, after = exported_logs
    items = {}
    for path in (original, after):
        (plan,) = discover([path]).plans
        items[path] = {item.id: item for item in read_items(plan) if isinstance(item, Item)}
    assert {k: i.official for k, i in items[after].items()} == {
        k: i.official for k, i in items[original].items()
    }
    reviews = [(k, r) for k, item in items[after].items() for r in item.extra.recorded_reviews]
    assert {(k, r.author, r.target, r.criterion, r.verdict) for k, r in reviews} == {
        *((k, who, "item", "correct", v == "pass") for k, v, who in REVIEWS),
        (TURN[0], "alice", "item", "correct", False),
        (*TURN[:1], "alice", TURN[1], "correct", False),
        ("heat_2", "bob", "item", "model_graded_qa", 1.0),
    }


def test_check_requires_inspect_ai(
    exported_logs: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(ExportError, match=r"fcreview\[inspect\]"):
        check_and_count_log_copies(exported_logs[2].parent)


def test_inspect_ai_computes_the_same_results(exported_logs: tuple[Path, Path, Path]) -> None:
    """Runs only if `inspect_ai` is installed, as in `make packages`."""
    library = pytest.importorskip(
        "inspect_ai.log", reason="the package inspect_ai is not installed"
    )
    log = library.read_eval_log(str(exported_logs[2]))
    assert (
        sum(len(score.history) == 2 for sample in log.samples for score in sample.scores.values())
        == N_EDITS
    )
    assert check_and_count_log_copies(exported_logs[2].parent) == 1
