"""All surfaces show the same effective verdicts: report = runs = items = export = SQL.

Random overrides are on every target and criterion: items, turns, calls, arguments, responses and
parts of rewards.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from fcreview.cli.report_data import compute_run_metrics, load_scored_runs
from fcreview.model.address import parse_address
from fcreview.model.derivation import DECLINE_KEY
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.item import Run
from fcreview.model.verdict import DECISIVE_STEP, SCALES
from fcreview.store.rows import View
from tests.examples import LONG, only_long, split_by_form
from tests.labels import fetch_labels
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Label = Mapping[str, Any]
SQL = """
SELECT i.item, CAST(l.effective AS BOOLEAN) FROM labels l JOIN items i USING (run, category, id)
WHERE l.target = 'item' AND l.criterion = 'correct' ORDER BY i.item
"""
DECLINED = (
    f"SELECT run, id FROM items WHERE json_extract(extra, '$.more.{DECLINE_KEY}') IS NOT NULL"
)
SAMPLE_RUNS = (
    "bfcl",
    "acebench",
    "hammerbench",
    "confetti",
    "complexfuncbench",
    "tau",
    "atif",
    "inspect",
    "generic",
)
SAMPLE_RUNS_OF_SWEEP = ("evalscope", "mapping", "mcp_atlas", "nemo_gym", "verifiers")
BENCHMARKS = (
    *SAMPLE_RUNS,
    *(pytest.param(name, marks=pytest.mark.sweep) for name in SAMPLE_RUNS_OF_SWEEP),
)
SINGLE_OVERRIDES = (
    *SAMPLE_RUNS,
    *(
        pytest.param(name, marks=[pytest.mark.sweep, only_long])
        for name in SAMPLE_RUNS_OF_SWEEP[:-1]
    ),
    pytest.param("verifiers", marks=pytest.mark.sweep),
)
"""Benchmarks whose kinds of overrides are tested one by one. Those with the kinds of `verifiers`
are tested in the long form.
"""
MAX_SINGLE_OVERRIDES = 15 if LONG else 7
"""Kinds of overrides of a benchmark that are tested one after the other."""
DRAWS_OF_SAMPLE_RUN = 8 if LONG else 4
"""Draws of random reviews of a sample run."""
DRAWS_BY_BENCH_RUN = {
    "acebench": 5 if LONG else 3,
    "atif": 25,
    "complexfuncbench": 25,
    "confetti": 8,
    "hammerbench": 5,
    "harbor_job": 25,
    "inspect": 8,
    "tau2": 12 if LONG else 6,
    "tau_v1": 8,
}
"""Folder of the test runs -> number of draws of reviews.

Together, more than 5,000 figures are compared in the long form.
"""
QUICK_BENCH_RUNS = ("acebench", "tau2")
"""The other folders are tested in the long form, and all of them by `benchmarks/surfaces.py`."""


@dataclass(frozen=True)
class ExportedFigure:
    """A figure of the report that is a mean of exported verdicts."""

    table: str
    name: str
    is_counted: Callable[[Label], bool]
    """Whether a label counts in the mean."""
    digits: int | None = None
    """Decimals to which the benchmark rounds the figure."""
    factor: float = 1.0


def is_about(criterion: str, category: str = "") -> Callable[[Label], bool]:
    """Return a function that selects the automatic verdicts on whole items and their effective
    values.
    """

    def is_selected(label: Label) -> bool:
        is_on_whole_item = label["target"] == "item" or (
            label["target"] == "response" and criterion != "correct"
        )
        return (
            is_on_whole_item
            and label["criterion"] == criterion
            and label["category"].startswith(category)
        )

    return is_selected


def list_exported_figures(run: Run, declined_ids: Collection[str]) -> list[ExportedFigure]:
    """Return the figures of a run's report that are means of verdicts on one criterion."""
    if run.benchmark == "acebench":
        agent = ("agent_multi_turn", "agent_multi_step")
        special = ("special_incomplete", "special_error_param", "special_irrelevant")
        figures = [ExportedFigure("accuracy", name, is_about("correct", name), 3) for name in agent]
        figures += [ExportedFigure("accuracy", name, is_about("correct", name)) for name in special]
        figures += [
            ExportedFigure("process accuracy", name, is_about("process_accuracy", name), digits=3)
            for name in agent
        ]
        return figures
    if run.benchmark == "tau":
        return [ExportedFigure("reward", "average reward", is_about("reward"))]
    if run.benchmark == "confetti":
        return [
            ExportedFigure(
                "function calling", "binary accuracy", is_about("correct", "conversationsclean")
            ),
            ExportedFigure("function calling", "soft accuracy, per call", is_about("soft_score")),
            ExportedFigure(
                "response quality", "dialog act accuracy", is_about("correct", "dialogacts")
            ),
        ]
    if run.benchmark == "complexfuncbench":
        name = "Overall Success Rate"
        return [ExportedFigure("over the records present", name, is_about("correct"), factor=100)]
    if run.benchmark == "hammerbench" and run.generation != "conversation":
        by_criterion = {"func_ok": "Func_Acc", "args_ok": "Args_Acc", "rejected": "Rejection rate"}
        return [
            ExportedFigure("mQmA", name, is_about(criterion, "mQmA"))
            for criterion, name in by_criterion.items()
        ] + [
            ExportedFigure(
                "IS",
                "declined",
                lambda label: is_about("correct", "IS")(label) and label["id"] in declined_ids,
            )
        ]
    if run.benchmark == "atif":
        return [ExportedFigure("accuracy of verified trials", "all items", is_about("correct"))]
    if run.benchmark == "helpdesk":
        return [ExportedFigure("accuracy", "all items", is_about("correct"))]
    return []


def is_item_verdict(label: Label) -> bool:
    return (label["target"], label["criterion"]) == ("item", "correct")


class Surfaces:
    """Reads the effective verdicts of all surfaces and compares them."""

    def __init__(self, runs: ReviewedRuns) -> None:
        self.runs, self.n_compared = runs, 0
        self.store = runs.store
        self.declined: dict[int, set[str]] = defaultdict(set)
        """Run -> ids of the HammerBench items that the model should decline."""
        for run, item_id in runs.store.run_sql(DECLINED)[1]:
            self.declined[run].add(item_id)

    def compare(self) -> None:
        by_sql: dict[int, bool | None] = dict(self.store.run_sql(SQL)[1])
        rows = {row.item: row.effective for row in self.store.fetch_rows(list(by_sql))}
        labels = fetch_labels(self.store, View())
        exported = [label["effective"] for label in labels if is_item_verdict(label)]

        assert rows == by_sql
        assert exported == list(by_sql.values())
        self.n_compared += 2 * len(by_sql)
        self._compare_runs(by_sql)
        self._compare_report(by_sql, labels)

    def _compare_runs(self, by_sql: Mapping[int, bool | None]) -> None:
        passes: dict[int, list[bool]] = defaultdict(list)
        for item, verdict in by_sql.items():
            if verdict is not None:
                passes[item >> 32].append(verdict)
        for row in self.store.fetch_runs():
            assert row.effective_pass == sum(passes[row.run])
            assert row.effective_known == len(passes[row.run])
            self.n_compared += 2

    def _compare_report(self, by_sql: Mapping[int, bool | None], labels: Sequence[Label]) -> None:
        labels_by_run: dict[int, list[Label]] = defaultdict(list)
        for label in labels:
            labels_by_run[label["run"]].append(label)
        by_run: dict[int, list[bool | None]] = defaultdict(list)
        for item, verdict in by_sql.items():
            by_run[item >> 32].append(verdict)
        for part in load_scored_runs(self.store.analysis, self.store.fetch_runs()):
            scored = [(item.valid, item.n_items) for item in part.items["corrected"]]
            for verdict in (True, False, None):
                n_scored = sum(n_items for valid, n_items in scored if valid is verdict)
                assert n_scored == by_run[part.row.run].count(verdict)
                self.n_compared += 1
            values = {
                (row.table, row.name): row.values.get("corrected")
                for row in compute_run_metrics(part.items, part.row.info)
            }
            for figure in list_exported_figures(part.row.info, self.declined[part.row.run]):
                self._compare_figure(
                    figure, values.get((figure.table, figure.name)), labels_by_run[part.row.run]
                )

    def _compare_figure(
        self, figure: ExportedFigure, reported: float | None, labels: Sequence[Label]
    ) -> None:
        verdicts = [label["effective"] for label in labels if figure.is_counted(label)]
        known = [verdict for verdict in verdicts if verdict is not None]
        if not known:
            return
        expected = mean(map(float, known)) * figure.factor
        # ACEBench prints rounded values of process accuracy, so that a mean of them can differ in
        # the last decimal.
        tolerance = 1e-9 if figure.digits is None else 0.5001 * 10**-figure.digits + 5e-4
        assert reported == pytest.approx(expected, abs=tolerance), (figure.table, figure.name)
        self.n_compared += 1


def list_overrides(runs: ReviewedRuns) -> list[ItemVerdict]:
    """Return a contradicting verdict for each automatic verdict, and verdicts on the parts of
    each item.
    """
    overrides = []
    known = runs.automatic_verdicts()
    for own in known:
        for value in list_other_values(own.criterion, own.value):
            overrides.append(ItemVerdict(own.item, own.target, own.criterion, value))
    have_verdict = {own.item for own in known}
    for item, turn, call in runs.store.run_sql(
        "SELECT item, turn, row_number() OVER (PARTITION BY item, turn) FROM pairs"
    )[1]:
        if item not in have_verdict:
            continue
        targets = (
            f"turn:{turn + 1}",
            f"turn:{turn + 1}/call:{call}",
            f"turn:{turn + 1}/call:{call}/arg:x",
        )
        for target in targets:
            overrides += [ItemVerdict(item, target, "correct", value) for value in (True, False)]
            overrides += [ItemVerdict(item, target, "equivalent", value) for value in (True, False)]
    for item in have_verdict:
        overrides += [ItemVerdict(item, "response", "correct", value) for value in (True, False)]
    return sorted(
        overrides,
        key=lambda verdict: (verdict.item, verdict.target, verdict.criterion, repr(verdict.value)),
    )


def list_other_values(criterion: str, automatic: Any) -> list[Any]:
    if criterion == DECISIVE_STEP:
        return []
    if isinstance(automatic, list):
        return [["agent_other"], []]
    scale = SCALES.get(criterion)
    if scale is not None and scale.numbers is not None:
        values: list[Any] = [0.0, 0.5, 1.0]
    elif isinstance(automatic, bool):
        values = [True, False]
    elif scale is not None:
        values = list(scale.words.values())
    else:
        values = [0.0, 1.0]
    return [
        value for value in values if is_definite(value) and not is_same_verdict(value, automatic)
    ]


def draw_reviews(
    runs: ReviewedRuns, overrides: Sequence[ItemVerdict], generator: random.Random
) -> Iterator[Any]:
    """Yield the events of random reviews by two annotators. They often review the same items."""
    items = sorted({verdict.item for verdict in overrides})
    chosen = set(generator.sample(items, k=min(len(items), generator.randint(1, 12))))
    candidates = [verdict for verdict in overrides if verdict.item in chosen]
    for annotator in ("ann", "bob"):
        n_reviews = min(len(candidates), generator.randint(0, 3 * len(chosen)))
        by_question = {
            (verdict.item, verdict.target, verdict.criterion): verdict
            for verdict in generator.sample(candidates, k=n_reviews)
        }
        yield from runs.make_events(by_question.values(), annotator)


def compare_after_random_reviews(runs: ReviewedRuns, n_draws: int, seed: int) -> int:
    """Compare all surfaces after each draw of reviews. Return the number of compared figures."""
    surfaces, generator = Surfaces(runs), random.Random(seed)
    overrides = list_overrides(runs)
    for _ in range(n_draws):
        runs.store.reviews.rebuild(list(draw_reviews(runs, overrides, generator)))
        surfaces.compare()
    runs.store.reviews.rebuild([])
    return surfaces.n_compared


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_surfaces_agree_on_sample_runs(samples: Path, open_runs: OpenRuns, benchmark: str) -> None:
    assert (
        compare_after_random_reviews(
            open_runs([samples / benchmark]), n_draws=DRAWS_OF_SAMPLE_RUN, seed=7
        )
        > 50
    )


@pytest.mark.parametrize("benchmark", SINGLE_OVERRIDES)
def test_single_override_is_the_same_on_all_surfaces(
    samples: Path, open_runs: OpenRuns, benchmark: str
) -> None:
    """Each override of each criterion on one item of each category."""
    runs = open_runs([samples / benchmark])
    surfaces = Surfaces(runs)
    kinds: dict[tuple[str, str, str], ItemVerdict] = {}
    for verdict in list_overrides(runs):
        place = (
            verdict.target
            if parse_address(verdict.target) is None
            else verdict.target.rpartition("/")[2]
        )
        kinds.setdefault((place, verdict.criterion, repr(verdict.value)), verdict)
    for verdict in list(kinds.values())[:MAX_SINGLE_OVERRIDES]:
        runs.store.reviews.rebuild(runs.make_events([verdict]))
        surfaces.compare()
    runs.store.reviews.rebuild([])


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_confirmations_change_no_effective_verdict(
    samples: Path, open_runs: OpenRuns, benchmark: str
) -> None:
    runs = open_runs([samples / benchmark])
    runs.store.reviews.rebuild([])
    before = read_effective_verdicts(runs)
    confirmations = [
        verdict for verdict in runs.automatic_verdicts() if verdict.criterion != DECISIVE_STEP
    ]
    runs.store.reviews.rebuild(runs.make_events(confirmations))
    assert read_effective_verdicts(runs) == before
    Surfaces(runs).compare()
    runs.store.reviews.rebuild([])


def read_effective_verdicts(runs: ReviewedRuns) -> dict[tuple[int, str, str, str], Any]:
    """Return the effective verdict on each exported target and criterion."""
    return {
        (
            label["run"],
            f"{label['category']} {label['id']}",
            label["target"],
            label["criterion"],
        ): label["effective"]
        for label in fetch_labels(runs.store, View())
    }


@pytest.mark.sweep
@pytest.mark.parametrize("name", split_by_form(DRAWS_BY_BENCH_RUN, quick=QUICK_BENCH_RUNS))
def test_surfaces_agree_on_bench(bench: Path, open_runs: OpenRuns, name: str) -> None:
    runs = open_runs([bench / name])
    n_draws = DRAWS_BY_BENCH_RUN[name]
    assert compare_after_random_reviews(runs, n_draws=n_draws, seed=11) > 150
