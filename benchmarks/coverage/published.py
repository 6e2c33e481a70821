"""Verdicts of published runs: one source taken for the truth, another for the automatic verdict."""

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
    """Items with two verdicts; one entry an item."""

    name: str
    truth: Flags
    automatic: Flags
    category: NDArray[np.int64]
    rows: list[ScoredItem]
    figures: MetricFunction
    """The benchmark's own, of such rows."""
    weights: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """By figure: what one item more that passes adds, by category."""
    varies: bool = False
    """Whether the error of the automatic verdict differs much between categories."""


@dataclass(frozen=True, slots=True)
class Published:
    """A run that is there, and what is made of it."""

    name: str
    folder: str
    data: str
    chosen: Callable[[Run], bool]
    truth: str
    figure: MetricKey | None = None
    """A weighted figure that is linear in the items of each category."""
    automatic: str = ""
    """A source that the benchmark has besides."""
    unchecked: bool = False
    """Whether a checker that lets every value pass is tried."""
    flipped: Sequence[float] = (0.05, 0.2)
    """Shares of the verdicts that are inverted."""
    differs: Sequence[Sequence[float]] = ()
    """Shares of passes that are right, by category: judges whose error differs between categories."""
    alone: Sequence[str] = ()
    """Categories whose pass rate is a figure."""


AST: MetricKey = ("accuracy", 1, "ast")
BINARY: MetricKey = ("function calling", 0, "binary accuracy")
RUNS = (
    Published("BFCL V3 Claude 3.5", "bfcl_families/v3", "bfcl_families/v3_data",
              lambda run: run.model.startswith("claude-3-5"), "official", AST, unchecked=True),
    Published("BFCL V3 Gemini 1.5", "bfcl_families/v3", "bfcl_families/v3_data",
              lambda run: run.model.startswith("gemini-1.5"), "official", AST, unchecked=True),
    Published("HammerBench GPT-4o", "hammerbench", "",
              lambda run: run.model == "GPT-4o", "judge", automatic="official"),
    Published("CONFETTI", "confetti", "", lambda run: bool(run.model), "official", BINARY,
              differs=((0.87, 0.98), (0.98, 0.87)), alone=("dialogacts",)),
    Published("BFCL V1 yi-large", "bfcl_families/v1", "bfcl_v1/data",
              lambda run: run.model == "yi-large-fc", "official", AST,
              unchecked=True, flipped=(), alone=("javascript",)),
    Published("BFCL V1 granite", "bfcl_families/v1", "bfcl_v1/data",
              lambda run: "granite" in run.model, "official", AST,
              unchecked=True, flipped=(), alone=("javascript",)),
    Published("ACEBench en", "acebench", "", lambda run: run.language == "en", "official",
              ("result.xlsx", 0, "atom")),
)  # fmt: skip
VALUES = ("value_error", "type_error", "missing_optional")
"""How error types begin of failures in which function and required arguments are right."""


def settings(bench: Path, folder: Path, only: str) -> Iterator[Setting]:
    """Those that have `only` in their name. Runs are imported into workspaces below `folder`."""
    for published in RUNS:
        names = [published.automatic] if published.automatic else []
        names += ["values unchecked"] if published.unchecked else []
        names += [f"{100 * part:.0f} % flipped" for part in published.flipped]
        names += [f"passes right in {' and '.join(map(str, rates))}" for rates in published.differs]
        names = [f"{published.name}, {name}" for name in names]
        if not any(only.lower() in name.lower() for name in names):
            continue
        rows, truth, automatic, run = _read(bench, folder, published)
        words, category = np.unique([row.category for row in rows], return_inverse=True)
        weights = _weights(rows, run, published.figure, words)
        alone = dict[str, NDArray[np.float64]]()
        for name in published.alone:
            alone[name] = (words == name) / np.count_nonzero(category == words.tolist().index(name))
        made = [automatic] if published.automatic else []
        made += [unchecked(truth, rows)] if published.unchecked else []
        made += [flipped(truth, category, part) for part in published.flipped]
        truths = [truth] * len(made) + [overturned(truth, category, rates) for rates in published.differs]
        made += [truth] * len(published.differs)
        for name, right, flags in zip(names, truths, made, strict=True):
            if only.lower() in name.lower():
                varies = right is not truth or bool(published.alone and published.unchecked)
                figures = weights | alone if varies else weights
                yield Setting(name, right, flags, category, rows, partial(_figures, run), figures, varies)


def unchecked(truth: Flags, rows: Sequence[ScoredItem]) -> Flags:
    """A checker that looks at names only: what failed for a value passes."""
    return truth | np.array([(row.error_type or "").startswith(VALUES) for row in rows])


def flipped(truth: Flags, category: NDArray[np.int64], part: float) -> Flags:
    """Return the verdicts with about this share inverted, in some categories several times as many as in others."""
    generator = np.random.default_rng(1)
    chance = generator.gamma(2.0, 0.5, category.max() + 1)[category]
    flags: Flags = truth ^ (generator.random(len(truth)) < np.minimum(part * chance / chance.mean(), 0.5))
    return flags


def overturned(verdicts: Flags, category: NDArray[np.int64], rates: Sequence[float]) -> Flags:
    """The truth where verdicts are the automatic ones: in each category this share of passes is right, and 95 % of the
    failures."""
    generator = np.random.default_rng(5)
    truth = verdicts.copy()
    for number, rate in enumerate(rates):
        for verdict, right in ((True, rate), (False, 0.95)):
            items = np.flatnonzero((category == number) & (verdicts == verdict))
            truth[generator.choice(items, round((1 - right) * len(items)), replace=False)] = not verdict
    return truth


def _read(bench: Path, folder: Path, published: Published) -> tuple[list[ScoredItem], Flags, Flags, Run]:
    workspace = find_workspace(folder, folder / published.folder.replace("/", "_"), create=True)
    if not workspace.store.exists():
        data = [bench / published.data] if published.data else []
        import_runs(workspace, discover([bench / published.folder], data=data).plans, read_items)
    with Store.open(workspace) as store:
        row: RunRow = next(each for each in store.fetch_runs() if published.chosen(each.info))
        said = store.connection.execute(
            f"SELECT {published.truth}, {published.automatic or published.truth}"  # noqa: S608 - our own names
            " FROM item_rows WHERE run = ? ORDER BY seq",
            [row.run],
        ).fetchall()
        rows = store.analysis.fetch_items_before_reviews(row.run)
    known = [at for at, both in enumerate(said) if None not in both]
    truth, automatic = (np.array([said[at][side] for at in known], dtype=bool) for side in (0, 1))
    return [rows[at] for at in known], truth, automatic, row.info


def _figures(run: Run, rows: Sequence[ScoredItem]) -> list[Metric]:
    return compute_metrics(rows, run)


def _weights(
    rows: list[ScoredItem], run: Run, figure: MetricKey | None, words: NDArray[np.str_]
) -> dict[str, NDArray[np.float64]]:
    if figure is None:
        return {}
    outcomes = MetricCalculator(rows, rows, partial(_figures, run))
    found = np.zeros(len(words))
    for number, category in enumerate(words):
        places = [at for at, row in enumerate(rows) if row.category == category]
        more, less = (outcomes.with_same_verdict(places, verdict)[figure] for verdict in (True, False))
        found[number] = (more - less) / len(places)
    return {figure[2]: found}
