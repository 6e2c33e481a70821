"""Runs have unique and short names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.item import Run
from fcreview.model.run_name import MAX_MODEL_CELLS, build_run_names
from fcreview.model.sanitize import display_width, sanitize


def make_run(model: str = "oak", path: str = "/x/result/oak", **fields: Any) -> Run:
    values: dict[str, Any] = {
        "benchmark": "bfcl",
        "generation": "V4",
        "language": "en",
        "title": "BFCL",
        **fields,
    }
    return Run(model=model, path=path, **values)


def name_runs(*runs: Run) -> list[str]:
    return list(build_run_names(dict(enumerate(runs, 1))).values())


def test_a_model_with_one_run_is_named_by_its_model() -> None:
    assert name_runs(make_run("oak"), make_run("elm", language="zh", name_parts=["x"])) == [
        "oak",
        "elm",
    ]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"generation": "V3"}, {"generation": "V4"}, ["oak · V3", "oak · V4"]),
        ({"language": "zh"}, {}, ["oak · zh", "oak · en"]),
        (
            {"benchmark": "acebench", "title": "ACEBench", "generation": "v1"},
            {},
            ["oak · ACEBench v1", "oak · BFCL V4"],
        ),
        (
            {"name_parts": ["provider-a"]},
            {"name_parts": ["provider-b"]},
            ["oak · provider-a", "oak · provider-b"],
        ),
        (
            {"path": "/x/2024-07-24/result/oak"},
            {"path": "/x/now/result/oak"},
            ["oak · 2024-07-24", "oak · now"],
        ),
        ({"path": "/x/result/oak"}, {"path": "/x/result_v1/oak"}, ["oak", "oak · result_v1"]),
        ({"path": "/x/sim_1.json"}, {"path": "/x/sim_2.json"}, ["oak · sim_1", "oak · sim_2"]),
        ({"path": "/x/a.eval"}, {"path": "/x/b.json.jsonl"}, ["oak · a", "oak · b"]),
        ({}, {}, ["oak · #1", "oak · #2"]),
        ({"name": "baseline"}, {}, ["baseline", "oak"]),
        ({"name": "same", "generation": "V3"}, {"name": "same"}, ["same · V3", "same · V4"]),
        ({"name": "elm"}, {"model": "elm"}, ["elm", "elm · oak"]),
    ],
)
def test_runs_of_one_model_are_named_by_what_differs(
    first: dict[str, Any], second: dict[str, Any], names: list[str]
) -> None:
    assert name_runs(make_run(**first), make_run(**second)) == names


def test_a_name_has_only_the_parts_that_it_needs() -> None:
    runs = [
        make_run(generation="V3", name_parts=["gov", "t=0"]),
        make_run(generation="V4", name_parts=["gov", "t=0"]),
        make_run(generation="V4", name_parts=["gov", "t=1"]),
    ]
    assert name_runs(*runs) == ["oak · V3", "oak · V4 · t=0", "oak · V4 · t=1"]


def test_another_run_does_not_rename_runs_that_it_is_not_like() -> None:
    runs = [make_run(generation="V3"), make_run(generation="V4"), make_run("elm")]
    before = name_runs(*runs)
    assert name_runs(*runs, make_run(generation="V4", name_parts=["gov"]))[:3] == before
    assert name_runs(*runs, make_run("birch"))[:3] == before


def test_parts_at_different_positions_are_compared_by_content() -> None:
    runs = [
        make_run(name_parts=["task a", "x"]),
        make_run(name_parts=["x"]),
        make_run(name_parts=["task b", "x"]),
    ]
    assert name_runs(*runs) == ["oak · task a", "oak", "oak · task b"]


def test_long_names_keep_what_differs() -> None:
    long = "organisation/" + "very-long-model-name-" * 8
    names = name_runs(
        make_run(long + "left" + "-tail" * 20), make_run(long + "right" + "-tail" * 20)
    )
    assert all(display_width(name) <= MAX_MODEL_CELLS for name in names)
    assert "left" in names[0] and "right" in names[1]

    start = "airline_10tasks_"
    paths = [f"/x/{start}two_trials_context_agent_{n}.json" for n in ("gpt", "claude")]
    names = name_runs(*(make_run(path=path) for path in paths))
    assert names == ["oak · gpt", "oak · claude"]


def test_a_short_model_stays_complete_beside_a_long_one() -> None:
    assert name_runs(make_run("gpt-4o"), make_run("gpt-" + "x" * 300))[0] == "gpt-4o"


def test_hostile_texts_are_sanitised() -> None:
    run = make_run("\x1b[31mred\n\u202eevil", name_parts=["a\x00b"])
    names = name_runs(run, make_run("\x1b[31mred\n\u202eevil", name_parts=["c\x07d"]))
    assert len(set(names)) == 2
    assert all(name == sanitize(name) and "\n" not in name for name in names)


def test_a_run_without_model_has_a_name() -> None:
    assert name_runs(make_run(" ")) == ["unnamed"]


TEXTS = st.text(alphabet="ab· #1\u202e界", max_size=6)
RUNS = st.builds(
    lambda model, name, parts, generation, path: make_run(
        model, f"/{path}/result", name=name, name_parts=parts, generation=generation
    ),
    TEXTS,
    st.one_of(st.just(""), TEXTS),
    st.lists(TEXTS, max_size=3),
    st.sampled_from(["V3", "V4"]),
    TEXTS,
)


@given(st.lists(RUNS, max_size=8))
def test_names_are_unique(runs: list[Run]) -> None:
    names = name_runs(*runs)
    assert len(set(names)) == len(runs)
    assert all(name and name == sanitize(name) for name in names)


@given(st.lists(RUNS, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_names_do_not_depend_on_the_order_of_runs(runs: list[Run], random: Any) -> None:
    numbered = list(enumerate(runs, 1))
    names = build_run_names(dict(numbered))
    random.shuffle(numbered)
    assert build_run_names(dict(numbered)) == names
