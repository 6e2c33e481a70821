"""A confirmed verdict on one criterion keeps its metric, whatever the verdicts on other criteria of
the same target.

A value that an annotator recorded takes precedence over a value derived from another criterion.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fcreview.importers.registry import IMPORTERS, list_importer_names
from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.effective_verdict import ROLL_UP_CRITERIA, is_definite, is_same_verdict
from fcreview.model.review import Event
from fcreview.model.verdict import DECISIVE_STEP, SCALES
from tests.examples import LONG, examples, only_long
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
FIGURES: dict[str, dict[str, tuple[str, ...]]] = {
    "bfcl": {"correct": ("overall",)},
    "acebench": {
        "correct": ("agent_summary", "normal_summary"),
        "process_accuracy": ("agent_multi_turn_process", "agent_multi_step_process"),
    },
    "hammerbench": {
        "correct": ("declined",),
        "func_ok": ("Func_Acc",),
        "args_ok": ("Args_Acc",),
        "args_ok_llm": ("Args_Acc LLM",),
        "rejected": ("Rejection rate",),
        "is_text": ("Output string ratio",),
        "hallucinated": ("Average number of parameter hallucinations",),
        "missing": ("Average number of missing parameters",),
    },
    "confetti": {
        "correct": ("binary accuracy", "dialog act accuracy"),
        "soft_score": ("soft accuracy, per call",),
        "hallucinated": ("valid parameters",),
        "dialog_act": ("precision", "recall"),
    },
    "complexfuncbench": {
        "correct": ("Overall Success Rate",),
        "equivalent": ("Overall Call Accuracy",),
        "completeness": ("Complete Score",),
        "correctness": ("Correct Score",),
    },
    "inspect": {"correct": ("light", "heating", "all")},
    "atif": {"correct": ("all items",), "reward": ("mean",)},
    "mcp_atlas": {"correct": ("all items",), "coverage": ("mean_coverage",)},
    "verifiers": {"correct": ("all items",), "total_reward": ("mean",)},
    "nemo_gym": {"correct": ("all items",), "total_reward": ("mean/reward",)},
    "generic": {
        "correct": ("all items",),
        "completeness": ("completeness",),
        "helpful": ("helpful",),
    },
}
"""Names of the metrics that each criterion determines, by benchmark and criterion."""


def contradicting_values(criterion: str, automatic: Any) -> list[Any]:
    """Return the values that contradict an automatic verdict, or all values of the scale without
    one.
    """
    if isinstance(automatic, list):
        return [[], ["agent_other"]]
    scale = SCALES.get(criterion)
    values = (
        [0.0, 1.0]
        if scale is not None and scale.numbers
        else [*scale.words.values()]
        if scale
        else [True, False]
    )
    return [
        value for value in values if is_definite(value) and not is_same_verdict(value, automatic)
    ]


def verdicts_on_other_criteria(
    one: ItemVerdict, known: dict[tuple[int, str, str], Any]
) -> Iterator[ItemVerdict]:
    """Yield verdicts on other criteria of the same target.

    A whole item and its response are one target.
    """
    targets = WHOLE_TARGETS if one.target in WHOLE_TARGETS else (one.target,)
    questions = {key[1:] for key in known if key[0] == one.item and key[1] in targets}
    questions |= {(one.target, criterion) for criterion in ROLL_UP_CRITERIA}
    for target, criterion in questions - {(one.target, one.criterion)}:
        for value in contradicting_values(criterion, known.get((one.item, target, criterion))):
            yield ItemVerdict(one.item, target, criterion, value)


def is_separate(
    one: ItemVerdict, other: ItemVerdict, known: dict[tuple[int, str, str], Any]
) -> bool:
    """Return whether a verdict on the other criterion leaves this metric unchanged.

    The HammerBench script for conversations counts arguments only if the function is right, so a
    verdict on the function changes the metrics of the arguments.
    """
    is_argument_metric = one.criterion in ("args_ok", "args_ok_llm")
    return not is_argument_metric or (
        other.criterion != "func_ok" and known.get((one.item, "item", "func_ok")) is True
    )


Kind = tuple[str, str, str, str]
"""Other target kind, criterion and verdict; confirmed criterion."""


def find_pairs(
    runs: ReviewedRuns, benchmark: str
) -> dict[Kind, list[tuple[ItemVerdict, ItemVerdict]]]:
    """Return (verdict on another criterion, confirmed verdict) pairs of all items, by kind."""
    every = runs.automatic_verdicts()
    known = {(one.item, one.target, one.criterion): one.value for one in every}
    found: dict[Kind, list[tuple[ItemVerdict, ItemVerdict]]] = {}
    for one in every:
        # The metric belongs to the item.
        is_rolled_up = one.criterion == "correct" and one.target != "item"
        if (
            is_rolled_up
            or one.criterion not in FIGURES[benchmark]
            or (one.item, "item", "correct") not in known
        ):
            continue
        for other in verdicts_on_other_criteria(one, known):
            if is_separate(one, other, known):
                place = other.target if other.target in WHOLE_TARGETS else "part"
                kind = (place, other.criterion, repr(other.value), one.criterion)
                found.setdefault(kind, []).append((other, one))
    return found


@pytest.mark.parametrize("share", [pytest.param(1, marks=[pytest.mark.sweep, only_long]), 12])
@pytest.mark.parametrize("benchmark", FIGURES)
def test_confirmed_criterion_keeps_its_metric(
    samples: Path, open_runs: OpenRuns, benchmark: str, share: int
) -> None:
    """Test one in `share` of all kinds."""
    runs = open_runs([samples / benchmark])
    before = runs.compute_metrics()
    kinds = find_pairs(runs, benchmark)
    wrong = []
    for number, ((place, criterion, value, confirmed), verdicts) in list(enumerate(kinds.items()))[
        ::share
    ]:
        others, own = [other for other, _ in verdicts], [one for _, one in verdicts]
        orders: list[tuple[str, list[Event]]] = [
            ("ann, then ann", [*runs.make_events(others), *runs.make_events(own)]),
            ("ann, before ann", [*runs.make_events(own), *runs.make_events(others)]),
            ("bob", [*runs.make_events(others), *runs.make_events(own, annotator="bob")]),
        ]
        for who, events in orders if LONG else [orders[number % 3]]:
            moved = find_changes(before, runs.compute_metrics(*events))
            wrong += [
                f"{place} {criterion} {value}, then {confirmed} confirmed by {who}: {key[2]}"
                f" {values}"
                for (_, key), values in moved.items()
                if key[2] in FIGURES[benchmark][confirmed]
            ]
    assert kinds
    assert wrong == []


OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
WITHOUT_TAGS = (
    "atif",
    "evalscope",
    "generic",
    "inspect",
    "mapping",
    "nemo_gym",
    "sessions",
    "verifiers",
)
"""Importers of formats that do not name kinds of errors."""
BENCH = (
    "acebench",
    "atif",
    "bfcl_v1",
    "bfcl_v4",
    "complexfuncbench",
    "confetti",
    "hammerbench",
    "harbor_job",
    "inspect",
)

WITHOUT_VERDICTS = {"sessions"}
"""Importers of files that contain no automatic verdict."""


def confirm_subsets(runs: ReviewedRuns, times: float) -> None:
    before = runs.compute_metrics()
    every = runs.automatic_verdicts()
    assert every
    assert find_changes(before, runs.compute_metrics(*runs.make_events(every))) == {}

    @examples(times, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.floats(0, 1), st.booleans())
    def confirm_random_subset(seed: int, share: float, two: bool) -> None:
        chosen = [one for one in every if random.Random(f"{seed} {one}").random() < share]
        events = runs.make_events(chosen)
        if two:
            events += runs.make_events(chosen[::2], annotator="bob")
        assert find_changes(before, runs.compute_metrics(*events)) == {}

    confirm_random_subset()


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*list_importer_names()} - WITHOUT_VERDICTS))
def test_confirming_changes_no_metric_of_sample_runs(
    samples: Path, open_runs: OpenRuns, name: str
) -> None:
    confirm_subsets(open_runs([samples / name]), 0.25)


@pytest.mark.sweep
@pytest.mark.parametrize("name", BENCH)
def test_confirming_changes_no_metric_of_published_runs(
    bench: Path, open_runs: OpenRuns, name: str
) -> None:
    confirm_subsets(open_runs([bench / name]), 0.02)


def test_published_benchmarks_have_tags_and_their_runs_carry_them(
    samples: Path, open_runs: OpenRuns
) -> None:
    for importer in IMPORTERS:
        name = importer.name
        assert bool(importer.tags) == (name not in WITHOUT_TAGS)
        assert len(set(importer.tags)) == len(importer.tags)
        for row in open_runs([samples / name]).store.fetch_runs():
            assert row.info.tags == list(importer.tags)


def test_items_are_counted_once_by_tag_in_benchmark_order(
    samples: Path, open_runs: OpenRuns
) -> None:
    runs = open_runs([samples / "acebench"])
    ids = ["agent_multi_step_0", "agent_multi_turn_0", "normal_atom_list_0"]
    items = [runs.find_item(name, 1) for name in ids]
    whole = runs.make_events([ItemVerdict(item, "item", "correct", False) for item in items])
    part = runs.make_events([ItemVerdict(items[0], "turn:1/call:1", "correct", False)])
    tagged = [
        replace(event, tags=tags)
        for event, tags in zip(whole, (["rule violation"], ["odd"], []), strict=True)
    ]
    also = [replace(event, tags=["rule violation", "function call error"]) for event in part]
    values = runs.compute_metrics(*tagged, *also)
    counts = [
        (key[2], value)
        for (run, source, key), value in values.items()
        if key[0] == "tags" and run == 1
    ]
    assert counts == [("function call error", 1), ("rule violation", 1), ("odd", 1)]
    assert {source for _, source, key in values if key[0] == "tags"} == {"corrected"}


def test_moving_every_decisive_step_changes_no_metric(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "tau"])
    steps = [each for each in runs.automatic_verdicts() if each.criterion == DECISIVE_STEP]
    assert {each.target for each in steps} == {"item"}
    assert len(steps) == 7
    before = runs.compute_metrics()
    moved = [ItemVerdict(each.item, each.target, each.criterion, each.value + 1) for each in steps]
    assert (
        find_changes(
            before,
            runs.compute_metrics(
                *runs.make_events(moved), *runs.make_events(steps, annotator="bob")
            ),
        )
        == {}
    )


def test_stored_steps_have_a_kind_and_a_rationale(samples: Path, open_runs: OpenRuns) -> None:
    rows = open_runs([samples / "tau"]).store.run_sql(
        "SELECT i.official, v.source, v.error_type, v.rationale FROM verdicts v JOIN items i USING"
        " (item)"
        f" WHERE criterion = '{DECISIVE_STEP}'"
    )[1]
    assert {(official, source) for official, source, *_ in rows} == {(False, "rule")}
    assert all(kind and sentence.endswith(".") for *_, kind, sentence in rows)
