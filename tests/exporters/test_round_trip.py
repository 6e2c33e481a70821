"""Exported labels of several annotators are imported unchanged in every readable format."""

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
from fcreview.model.effective_verdict import Policy
from fcreview.model.review import FAULTS, Annotation
from fcreview.store.label_fields import JSON, LABEL_FIELDS, DuckDBType
from fcreview.store.label_import import LabelImportResult, ReviewFile, import_reviews
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.exporters.export_fixtures import ROWS
from tests.store.factory import Imported

pytestmark = pytest.mark.slow  # Each test creates two workspaces.

PEOPLE = ("alice", "bob", "carol", "judy")
HARD = '=1+1 "two"\n; \u202e東京 \x00 \U0001f600'
ACTS: list[tuple[str, int, Annotation]] = [
    ("alice", 0, Annotation(verdict=True, fault="golden", tags=["=a", HARD], note=HARD)),
    ("bob", 0, Annotation(verdict=False, fault="model", note="b")),
    (
        "carol",
        0,
        Annotation(
            verdict="unsure",
            golden_fix={"get_weather": {"city": ["Rome", HARD], "days": [1, 2.5, None]}},
        ),
    ),
    (
        "judy",
        0,
        Annotation(
            act="adjudicate", verdict=True, fault="checker", golden_fix={"f": {}}, note="settled"
        ),
    ),
    ("alice", 1, Annotation(verdict=False, target="turn:1/call:1/arg:city", fault="question")),
    ("bob", 1, Annotation(verdict=2, target="response", criterion="completeness")),
    ("carol", 1, Annotation(verdict=["inform", "request"], criterion="dialog_act", tags=[])),
    ("carol", 1, Annotation(tags=["only a tag"])),
    ("bob", 2, Annotation(verdict=True)),
    ("bob", 2, Annotation(tags=["later"])),
    ("bob", 2, Annotation(verdict=False)),
    ("alice", 3, Annotation(verdict=True, criterion="hallucinated")),
]


def record_reviews(workspace: Workspace, acts: list[tuple[str, int, Annotation]]) -> None:
    with Store.open(workspace, "alice") as store:
        for annotator, row, annotation in acts:
            Reviewer(store, Journal(workspace, annotator)).review(
                store.find_items(ROWS[row]["id"])[0], annotation
            )


def export_labels(
    workspace: Workspace, out: Path, name: str = "jsonl", policy: Policy = "unanimous"
) -> Any:
    with Store.open(workspace, policy=policy) as store:
        export(store, name, out)
    return (
        [json.loads(line) for line in out.read_text().split("\n") if line]
        if name == "jsonl"
        else None
    )


def import_labels(workspace: Workspace, name: str, path: Path, annotator: str) -> LabelImportResult:
    read = getattr(EXPORTERS[name], "read")()  # noqa: B009
    with Store.open(workspace, annotator) as store:
        return import_reviews(
            store,
            Journal(workspace, annotator),
            ReviewFile(path.name, list(read(path.read_bytes()))),
        )


def check_round_trip(
    imported: Imported, place: Path, name: str, acts: list[tuple[str, int, Annotation]]
) -> None:
    """Export the labels, import them for each annotator into a workspace without reviews, and
    compare both.
    """
    here, there = (imported(place / side, {"maple-8b": ROWS}) for side in ("here", "there"))
    record_reviews(here, acts)
    before = export_labels(here, place / "before.jsonl")
    export_labels(here, place / "labels", name)
    people = {opinion["annotator"] for label in before for opinion in label["opinions"]}
    for annotator in sorted(people):
        assert import_labels(there, name, place / "labels", annotator).written
    assert export_labels(there, place / "after.jsonl") == before
    for annotator in sorted(people):
        assert not import_labels(there, name, place / "labels", annotator).written
        assert not import_labels(here, name, place / "labels", annotator).written


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["jsonl", "labelstudio"])
def test_labels_round_trip_and_second_import_adds_nothing(
    imported: Imported, tmp_path: Path, name: str
) -> None:
    check_round_trip(imported, tmp_path, name, ACTS)


VALUES = st.one_of(
    st.tuples(st.just("correct"), st.sampled_from([True, False, "unsure"])),
    st.tuples(st.just("completeness"), st.sampled_from([0, 1, 2, "unsure"])),
    st.tuples(
        st.just("func_ok"),
        st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(min_size=1)),
    ),
    st.tuples(st.just("dialog_act"), st.lists(st.text())),
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
ANNOTATIONS = st.builds(
    lambda value, fault, tags, note, fix, target, act: Annotation(
        act=act,
        target=target,
        criterion=value[0],
        verdict=value[1],
        fault=fault,
        tags=tags,
        note=note,
        golden_fix=fix,
    ),
    VALUES,
    st.none() | st.sampled_from(FAULTS),
    st.none() | st.lists(TEXTS, min_size=1),
    st.none() | TEXTS,
    st.none()
    | st.dictionaries(
        TEXTS, st.lists(st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS)), min_size=1
    ),
    st.sampled_from(["item", "response", "turn:1", "turn:1/call:1", "turn:1/call:1/arg:a/b"]),
    st.sampled_from(["review", "adjudicate"]),
)


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    acts=st.lists(
        st.tuples(st.sampled_from(PEOPLE), st.integers(0, 3), ANNOTATIONS), min_size=1, max_size=8
    )
)
@pytest.mark.parametrize("name", ["jsonl", "labelstudio"])
@pytest.mark.sweep
def test_random_reviews_round_trip(
    imported: Imported,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    acts: list[tuple[str, int, Annotation]],
) -> None:
    check_round_trip(imported, tmp_path_factory.mktemp("trip"), name, acts)


def parse_json_fields(value: Any, shape: DuckDBType) -> Any:
    """Return a value of a Parquet file with its JSON text parsed."""
    if value is None:
        return None
    if isinstance(shape, dict):
        return {name: parse_json_fields(value[name], each) for name, each in shape.items()}
    if isinstance(shape, list):
        return [parse_json_fields(each, shape[0]) for each in value]
    return json.loads(value) if shape == JSON else value


def read_parquet_labels(path: Path) -> Iterator[dict[str, Any]]:
    found = duckdb.read_parquet(str(path))
    for row in found.fetchall():
        label = dict(zip(found.columns, row, strict=True))
        yield {
            name: parse_json_fields(label[name], each.duckdb_type)
            for name, each in LABEL_FIELDS.items()
        }


@pytest.mark.sweep
def test_parquet_and_folder_equal_jsonl(imported: Imported, tmp_path: Path) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    record_reviews(workspace, ACTS)
    labels = export_labels(workspace, tmp_path / "labels.jsonl")
    assert {opinion["annotator"] for label in labels for opinion in label["opinions"]} == set(
        PEOPLE
    )
    export_labels(workspace, tmp_path / "labels.parquet", "parquet")
    assert list(read_parquet_labels(tmp_path / "labels.parquet")) == labels
    export_labels(workspace, tmp_path / "folder", "hf")
    assert list(read_parquet_labels(tmp_path / "folder" / "data" / "labels.parquet")) == labels


def test_label_has_verdicts_of_all_sources_and_annotators(
    imported: Imported, tmp_path: Path
) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    record_reviews(workspace, ACTS)
    first = export_labels(workspace, tmp_path / "labels.jsonl")[0]
    assert (first["human"], first["decided_by"], first["policy"]) == (
        True,
        "adjudication",
        "unanimous",
    )
    assert (first["fault"], first["golden_fix"]) == ("checker", {"f": {}})
    assert [
        (verdict["source"], verdict["value"], verdict["error_type"])
        for verdict in first["automatic"]
    ] == [
        ("official", False, "value_error:string"),
        ("rule", False, None),
    ]
    reviews = {
        opinion["annotator"]: (opinion["act"], opinion["value"], opinion["fault"], opinion["note"])
        for opinion in first["opinions"]
    }
    assert reviews["alice"] == ("review", True, "golden", HARD)
    assert reviews["judy"] == ("adjudicate", True, "checker", "settled")
    assert all(
        opinion["time"].endswith("Z") and opinion["blind"] is False for opinion in first["opinions"]
    )


@pytest.mark.parametrize(
    ("verdicts", "agreed"),
    [
        ([True, True, False], True),
        ([False, False, "unsure", True], False),
        ([True, False], None),
        ([True, "unsure"], True),
        ([True, True, False, False], None),
    ],
)
def test_majority_counts_only_with_majority_policy(
    imported: Imported, tmp_path: Path, verdicts: list[Any], agreed: bool | None
) -> None:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    record_reviews(
        workspace,
        [
            (annotator, 0, Annotation(verdict=value))
            for annotator, value in zip(PEOPLE, verdicts, strict=False)
        ],
    )
    usual = export_labels(workspace, tmp_path / "usual")[0]
    most = export_labels(workspace, tmp_path / "most", policy="majority")[0]
    whole = len({value for value in verdicts if value != "unsure"}) == 1
    assert usual["effective"] == (agreed if whole else usual["official"])
    assert most["effective"] == (usual["official"] if agreed is None else agreed)
    assert most["policy"] == "majority"
    assert most["decided_by"] == (
        "unanimous" if whole else "disputed" if agreed is None else "majority"
    )
