"""Labels leave and come back unchanged: what three annotators and an adjudicator said, in every format that is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fcreview.exporters.base import EXPORTERS
from fcreview.exporters.export import export
from fcreview.model.review import FAULTS, Annotation
from fcreview.model.verdict import Policy
from fcreview.store.labels.fields import JSON, LABEL_FIELDS, DuckDBType
from fcreview.store.labels.import_labels import LabelImportResult, ReviewFile, import_reviews
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.exporters.exported import ROWS
from tests.store.factory import Imported

pytestmark = pytest.mark.slow  # two workspaces each

PEOPLE = ("alice", "bob", "carol", "judy")
HARD = '=1+1 "two"\n; \u202e東京 \x00 \U0001f600'
ACTS: list[tuple[str, int, Annotation]] = [
    ("alice", 0, Annotation(verdict=True, fault="golden", tags=["=a", HARD], note=HARD)),
    ("bob", 0, Annotation(verdict=False, fault="model", note="b")),
    (
        "carol",
        0,
        Annotation(verdict="unsure", golden_fix={"get_weather": {"city": ["Rome", HARD], "days": [1, 2.5, None]}}),
    ),
    ("judy", 0, Annotation(act="adjudicate", verdict=True, fault="checker", golden_fix={"f": {}}, note="settled")),
    ("alice", 1, Annotation(verdict=False, target="turn:1/call:1/arg:city", fault="question")),
    ("bob", 1, Annotation(verdict=2, target="response", criterion="completeness")),
    ("carol", 1, Annotation(verdict=["inform", "request"], criterion="dialog_act", tags=[])),
    ("carol", 1, Annotation(tags=["only a tag"])),
    ("bob", 2, Annotation(verdict=True)),
    ("bob", 2, Annotation(tags=["later"])),
    ("bob", 2, Annotation(verdict=False)),
    ("alice", 3, Annotation(verdict=True, criterion="hallucinated")),
]


def say(workspace: Workspace, acts: list[tuple[str, int, Annotation]]) -> None:
    with Store.open(workspace, "alice") as store:
        for who, row, said in acts:
            Reviewer(store, Journal(workspace, who)).review(store.find_items(ROWS[row]["id"])[0], said)


def exported(workspace: Workspace, out: Path, name: str = "jsonl", policy: Policy = "unanimous") -> Any:
    with Store.open(workspace, policy=policy) as store:
        export(store, name, out)
    return [json.loads(line) for line in out.read_text().split("\n") if line] if name == "jsonl" else None


def taken_in(workspace: Workspace, name: str, path: Path, who: str) -> LabelImportResult:
    read = getattr(EXPORTERS[name], "read")()  # noqa: B009
    with Store.open(workspace, who) as store:
        return import_reviews(store, Journal(workspace, who), ReviewFile(path.name, list(read(path.read_bytes()))))


def come_back(imported: Imported, place: Path, name: str, acts: list[tuple[str, int, Annotation]]) -> None:
    """In a copy of the workspace without reviews, from a file of that format, for each annotator in it."""
    here, there = (imported(place / side, {"maple-8b": ROWS}) for side in ("here", "there"))
    say(here, acts)
    before = exported(here, place / "before.jsonl")
    exported(here, place / "labels", name)
    people = {said["annotator"] for label in before for said in label["opinions"]}
    for who in sorted(people):
        assert taken_in(there, name, place / "labels", who).written
    assert exported(there, place / "after.jsonl") == before
    for who in sorted(people):
        assert not taken_in(there, name, place / "labels", who).written
        assert not taken_in(here, name, place / "labels", who).written


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["jsonl", "labelstudio"])
def test_labels_come_back_unchanged_and_twice_is_once(imported: Imported, tmp_path: Path, name: str) -> None:
    come_back(imported, tmp_path, name, ACTS)


VALUES = st.one_of(
    st.tuples(st.just("correct"), st.sampled_from([True, False, "unsure"])),
    st.tuples(st.just("completeness"), st.sampled_from([0, 1, 2, "unsure"])),
    st.tuples(st.just("func_ok"), st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(min_size=1))),
    st.tuples(st.just("dialog_act"), st.lists(st.text())),
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
SAID = st.builds(
    lambda value, fault, tags, note, fix, target, act: Annotation(
        act=act, target=target, criterion=value[0], verdict=value[1], fault=fault, tags=tags, note=note, golden_fix=fix
    ),
    VALUES,
    st.none() | st.sampled_from(FAULTS),
    st.none() | st.lists(TEXTS, min_size=1),
    st.none() | TEXTS,
    st.none()
    | st.dictionaries(TEXTS, st.lists(st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS)), min_size=1),
    st.sampled_from(["item", "response", "turn:1", "turn:1/call:1", "turn:1/call:1/arg:a/b"]),
    st.sampled_from(["review", "adjudicate"]),
)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.tuples(st.sampled_from(PEOPLE), st.integers(0, 3), SAID), min_size=1, max_size=8))
@pytest.mark.parametrize("name", ["jsonl", "labelstudio"])
@pytest.mark.sweep
def test_whatever_is_said_comes_back(
    imported: Imported, tmp_path_factory: pytest.TempPathFactory, name: str, acts: list[tuple[str, int, Annotation]]
) -> None:
    come_back(imported, tmp_path_factory.mktemp("trip"), name, acts)


def back(value: Any, shape: DuckDBType) -> Any:
    """A value of a Parquet file with its JSON read."""
    if value is None:
        return None
    if isinstance(shape, dict):
        return {name: back(value[name], each) for name, each in shape.items()}
    if isinstance(shape, list):
        return [back(each, shape[0]) for each in value]
    return json.loads(value) if shape == JSON else value


def of_parquet(path: Path) -> Iterator[dict[str, Any]]:
    found = duckdb.read_parquet(str(path))
    for row in found.fetchall():
        label = dict(zip(found.columns, row, strict=True))
        yield {name: back(label[name], each.duckdb_type) for name, each in LABEL_FIELDS.items()}


@pytest.mark.sweep
def test_parquet_and_the_folder_hold_what_json_lines_hold(imported: Imported, tmp_path: Path) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    say(workspace, ACTS)
    labels = exported(workspace, tmp_path / "labels.jsonl")
    assert {said["annotator"] for label in labels for said in label["opinions"]} == set(PEOPLE)
    exported(workspace, tmp_path / "labels.parquet", "parquet")
    assert list(of_parquet(tmp_path / "labels.parquet")) == labels
    exported(workspace, tmp_path / "folder", "hf")
    assert list(of_parquet(tmp_path / "folder" / "data" / "labels.parquet")) == labels


def test_a_label_says_what_each_source_and_each_person_said(imported: Imported, tmp_path: Path) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    say(workspace, ACTS)
    first = exported(workspace, tmp_path / "labels.jsonl")[0]
    assert (first["human"], first["decided_by"], first["policy"]) == (True, "adjudication", "unanimous")
    assert (first["fault"], first["golden_fix"]) == ("checker", {"f": {}})
    assert [(said["source"], said["value"], said["error_type"]) for said in first["automatic"]] == [
        ("official", False, "value_error:string"), ("rule", False, None),
    ]  # fmt: skip
    told = {said["annotator"]: (said["act"], said["value"], said["fault"], said["note"]) for said in first["opinions"]}
    assert told["alice"] == ("review", True, "golden", HARD)
    assert told["judy"] == ("adjudicate", True, "checker", "settled")
    assert all(said["time"].endswith("Z") and said["blind"] is False for said in first["opinions"])


@pytest.mark.parametrize(
    ("verdicts", "settled"),
    [
        ([True, True, False], True),
        ([False, False, "unsure", True], False),
        ([True, False], None),
        ([True, "unsure"], True),
        ([True, True, False, False], None),
    ],
)
def test_the_majority_counts_only_where_it_is_asked_for(
    imported: Imported, tmp_path: Path, verdicts: list[Any], settled: bool | None
) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    say(workspace, [(who, 0, Annotation(verdict=value)) for who, value in zip(PEOPLE, verdicts, strict=False)])
    usual = exported(workspace, tmp_path / "usual")[0]
    most = exported(workspace, tmp_path / "most", policy="majority")[0]
    whole = len({value for value in verdicts if value != "unsure"}) == 1
    assert usual["effective"] == (settled if whole else usual["official"])
    assert most["effective"] == (usual["official"] if settled is None else settled)
    assert most["policy"] == "majority"
    assert most["decided_by"] == ("unanimous" if whole else "disputed" if settled is None else "majority")
