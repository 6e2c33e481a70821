"""Read verdicts of published runs, with one source as the truth and another as the automatic
verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricKey, ScoredItem
from fcreview.stats.answer_model import MetricCalculator, MetricFunction
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import RunRow
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Setting:
    """Items with a true and an automatic verdict. Each array has one entry per item."""

    name: str
    truth: Flags
    automatic: Flags
    category: NDArray[np.int64]
    rows: list[ScoredItem]
    figures: MetricFunction
    """Computes the benchmark's metrics from scored items."""
    weights: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Figure -> effect of one more passing item on it, by category."""
    varies: bool = False
    """Whether the error of the automatic verdict differs much between categories."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published run and the settings that are made from it."""

    name: str
    folder: str
    data: str
    is_wanted: Callable[[Run], bool]
    truth: str
    figure: MetricKey | None = None
    """A weighted figure that is linear in the items of each category."""
    automatic: str = ""
    """Another source of verdicts of the benchmark."""
    without_value_check: bool = False
    """Whether to add a checker that accepts every value."""
    flipped_shares: Sequence[float] = (0.05, 0.2)
    """Shares of the verdicts that are inverted."""
    differs: Sequence[Sequence[float]] = ()
    """Fractions of passes that are right, by category, for judges whose error differs between
    categories.
    """
    alone: Sequence[str] = ()
    """Categories whose pass rate is a figure."""


AST: MetricKey = ("accuracy", 1, "ast")
BINARY: MetricKey = ("function calling", 0, "binary accuracy")
RUNS = (
    Published(
        "BFCL V3 Claude 3.5",
        folder="bfcl_families/v3",
        data="bfcl_families/v3_data",
        is_wanted=lambda run: run.model.startswith("claude-3-5"),
        truth="official",
        figure=AST,
        without_value_check=True,
    ),
    Published(
        "BFCL V3 Gemini 1.5",
        folder="bfcl_families/v3",
        data="bfcl_families/v3_data",
        is_wanted=lambda run: run.model.startswith("gemini-1.5"),
        truth="official",
        figure=AST,
        without_value_check=True,
    ),
    Published(
        "HammerBench GPT-4o",
        folder="hammerbench",
        data="",
        is_wanted=lambda run: run.model == "GPT-4o",
        truth="judge",
        automatic="official",
    ),
    Published(
        "CONFETTI",
        folder="confetti",
        data="",
        is_wanted=lambda run: bool(run.model),
        truth="official",
        figure=BINARY,
        differs=((0.87, 0.98), (0.98, 0.87)),
        alone=("dialogacts",),
    ),
    Published(
        "BFCL V1 yi-large",
        folder="bfcl_families/v1",
        data="bfcl_v1/data",
        is_wanted=lambda run: run.model == "yi-large-fc",
        truth="official",
        figure=AST,
        without_value_check=True,
        flipped_shares=(),
        alone=("java", "javascript"),
    ),
    Published(
        "BFCL V1 granite",
        folder="bfcl_families/v1",
        data="bfcl_v1/data",
        is_wanted=lambda run: "granite" in run.model,
        truth="official",
        figure=AST,
        without_value_check=True,
        flipped_shares=(),
        alone=("java", "javascript"),
    ),
    Published(
        "ACEBench en",
        folder="acebench",
        data="",
        is_wanted=lambda run: run.language == "en",
        truth="official",
        figure=("result.xlsx", 0, "atom"),
    ),
)
VALUES = ("value_error", "type_error", "missing_optional")
"""Prefixes of the error types of failures with the right function and the required arguments."""


def read_settings(bench: Path, folder: Path, only: str) -> Iterator[Setting]:
    """Yield the settings that have `only` in their name.

    Runs are imported into workspaces below `folder`.
    """
    for published in RUNS:
        names = [published.automatic] if published.automatic else []
        names += ["values unchecked"] if published.without_value_check else []
        names += [f"{100 * part:.0f} % flipped" for part in published.flipped_shares]
        names += [f"passes right in {' and '.join(map(str, rates))}" for rates in published.differs]
        names = [f"{published.name}, {name}" for name in names]
        if not any(only.lower() in name.lower() for name in names):
            continue
        rows, truth, automatic, run = _read(bench, folder, published)
        categories, category = np.unique([row.category for row in rows], return_inverse=True)
        weights = _weights(rows, run, published.figure, categories)
        alone = dict[str, NDArray[np.float64]]()
        for name in published.alone:
            alone[name] = (categories == name) / np.count_nonzero(
                category == categories.tolist().index(name)
            )
        automatic_verdicts = [automatic] if published.automatic else []
        automatic_verdicts += (
            [accept_all_values(truth, rows)] if published.without_value_check else []
        )
        automatic_verdicts += [
            flip_verdicts(truth, category, part) for part in published.flipped_shares
        ]
        truths = [truth] * len(automatic_verdicts) + [
            overturn_verdicts(truth, category, rates) for rates in published.differs
        ]
        automatic_verdicts += [truth] * len(published.differs)
        for name, right, flags in zip(names, truths, automatic_verdicts, strict=True):
            if only.lower() in name.lower():
                varies = right is not truth or bool(
                    published.alone and published.without_value_check
                )
                figures = weights | alone if varies else weights
                yield Setting(
                    name,
                    truth=right,
                    automatic=flags,
                    category=category,
                    rows=rows,
                    figures=partial(_figures, run),
                    weights=figures,
                    varies=varies,
                )


def accept_all_values(truth: Flags, rows: Sequence[ScoredItem]) -> Flags:
    """Return the verdicts of a checker that only looks at names: items that failed for a value
    pass.
    """
    return truth | np.array([(row.error_type or "").startswith(VALUES) for row in rows])


def flip_verdicts(truth: Flags, category: NDArray[np.int64], part: float) -> Flags:
    """Return the verdicts with about this share inverted, in some categories several times as
    many as in others.
    """
    generator = np.random.default_rng(1)
    chance = generator.gamma(2.0, 0.5, category.max() + 1)[category]
    flags: Flags = truth ^ (
        generator.random(len(truth)) < np.minimum(part * chance / chance.mean(), 0.5)
    )
    return flags


def overturn_verdicts(
    verdicts: Flags, category: NDArray[np.int64], rates: Sequence[float]
) -> Flags:
    """Return true verdicts for these automatic ones: in each category this share of passes is
    right, and 95 % of the failures.
    """
    generator = np.random.default_rng(5)
    truth = verdicts.copy()
    for number, rate in enumerate(rates):
        for verdict, right in ((True, rate), (False, 0.95)):
            items = np.flatnonzero((category == number) & (verdicts == verdict))
            truth[
                generator.choice(items, round((1 - right) * len(items)), replace=False)
            ] = not verdict
    return truth


def _read(
    bench: Path, folder: Path, published: Published
) -> tuple[list[ScoredItem], Flags, Flags, Run]:
    """Import a published run, and return its items that have both verdicts.

    The result is (items, true verdicts, automatic verdicts, run).
    """
    workspace = find_workspace(folder, folder / published.folder.replace("/", "_"), create=True)
    if not workspace.store.exists():
        data = [bench / published.data] if published.data else []
        import_runs(workspace, discover([bench / published.folder], data=data).plans, read_items)
    with Store.open(workspace) as store:
        row: RunRow = next(each for each in store.fetch_runs() if published.is_wanted(each.info))
        verdicts_of_sources = store.connection.execute(
            f"SELECT {published.truth},"  # noqa: S608 - our own names
            f" {published.automatic or published.truth}"
            " FROM item_rows WHERE run = ? ORDER BY seq",
            [row.run],
        ).fetchall()
        rows = store.analysis.fetch_automatically_scored_items(row.run)
    known = [at for at, both in enumerate(verdicts_of_sources) if None not in both]
    truth, automatic = (
        np.array([verdicts_of_sources[at][side] for at in known], dtype=bool) for side in (0, 1)
    )
    return [rows[at] for at in known], truth, automatic, row.info


def _figures(run: Run, rows: Sequence[ScoredItem]) -> list[Metric]:
    return compute_metrics(rows, run)


def _weights(
    rows: list[ScoredItem], run: Run, figure: MetricKey | None, categories: NDArray[np.str_]
) -> dict[str, NDArray[np.float64]]:
    """Return how much an item of each category counts in a score of the benchmark, by the score's
    name.

    It is the change of the score if all items of the category pass instead of fail, divided by
    their number.
    """
    if figure is None:
        return {}
    outcomes = MetricCalculator(rows, rows, partial(_figures, run))
    effects = np.zeros(len(categories))
    for number, category in enumerate(categories):
        positions = [at for at, row in enumerate(rows) if row.category == category]
        more, less = (
            outcomes.compute_with_same_verdict(positions, verdict)[figure]
            for verdict in (True, False)
        )
        effects[number] = (more - less) / len(positions)
    return {figure[2]: effects}
