"""Summarize groups of runs, for `fcreview report --group`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fcreview.cli.output import emit, emit_json, print_figure
from fcreview.cli.run_ranking import RankedSource, choose_source, fetch_official_outcomes
from fcreview.stats.repeats import GroupSummary, RunGroup, summarize_groups
from fcreview.stats.run_comparison import align_runs
from fcreview.tables.repeats import GroupTitle, build_repeat_table

if TYPE_CHECKING:
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.rows import RunRow

GroupKind = Literal["model", "name"]
GROUP_KINDS: tuple[GroupKind, ...] = ("model", "name")
_REPEAT_NUMBER = re.compile(
    r"[\s._·-]*(?:run|seed|trial|repeat|rep|repetition|attempt)[\s._#-]*\d+$", re.IGNORECASE
)
"""End of a name that numbers a repeat, such as `-run2`, `_seed_13` or ` · trial 4`."""


@dataclass(frozen=True, slots=True)
class _Benchmark:
    """The runs of one benchmark, version and language, whose questions can be the same."""

    title: str
    sources: list[RankedSource]


def print_run_groups(
    analysis: UnblindedAnalysis, rows: Sequence[RunRow], kind: GroupKind, *, as_json: bool
) -> None:
    """Print the figures of each group of repeated runs, benchmark by benchmark.

    `kind` says whether runs of one group have the same model, or the same name without the number
    of a repeat. Raises UsageError for a run with neither official nor recomputed verdicts.
    """
    for benchmark in _list_benchmarks(rows):
        groups = _build_groups(benchmark, kind)
        outcomes = [fetch_official_outcomes(analysis, source) for source in benchmark.sources]
        summaries = summarize_groups(align_runs(outcomes).items, groups)
        titles = [_make_title(summary.group, benchmark) for summary in summaries]
        if as_json:
            for summary, title in zip(summaries, titles, strict=True):
                emit_json(_build_json(summary, title, benchmark, groups))
            continue
        emit(benchmark.title)
        print_figure(build_repeat_table(summaries, titles))
        emit()


def _list_benchmarks(rows: Sequence[RunRow]) -> list[_Benchmark]:
    """Divide runs by their benchmark, with its version and language."""
    benchmarks: dict[str, _Benchmark] = {}
    for row in rows:
        info = row.info
        parts = [info.benchmark, info.generation, info.language]
        title = " · ".join(part for part in parts if part)
        benchmarks.setdefault(title, _Benchmark(title, [])).sources.append(choose_source(row))
    return list(benchmarks.values())


def _build_groups(benchmark: _Benchmark, kind: GroupKind) -> list[RunGroup]:
    """Return the groups of the runs of a benchmark, in order of first appearance."""
    runs_by_name: dict[str, list[int]] = {}
    for index, source in enumerate(benchmark.sources):
        runs_by_name.setdefault(_name_group(source.row, kind), []).append(index)
    return [RunGroup(name, runs) for name, runs in runs_by_name.items()]


def _name_group(row: RunRow, kind: GroupKind) -> str:
    if kind == "model":
        return row.info.model
    return remove_repeat_number(row.info.name or row.info.model)


def remove_repeat_number(name: str) -> str:
    """Return a name without the number of a repeat: `maple-8b` for `maple-8b-run2`.

    A number without a word, as in `gpt-4`, belongs to the name.
    """
    return _REPEAT_NUMBER.sub("", name) or name


def _make_title(group: RunGroup, benchmark: _Benchmark) -> GroupTitle:
    """Return the name of a group with the names and numbers of its runs."""
    rows = [benchmark.sources[index].row for index in group.runs]
    return GroupTitle(
        group.name,
        run_names=[row.run_name for row in rows],
        run_numbers=[row.run for row in rows],
    )


def _build_json(
    summary: GroupSummary,
    title: GroupTitle,
    benchmark: _Benchmark,
    groups: Sequence[RunGroup],
) -> dict[str, Any]:
    """Build the JSON object of a group. All values are shares from 0 to 1."""
    info = benchmark.sources[summary.group.runs[0]].row.info
    return {
        "group": title.name,
        "benchmark": info.benchmark,
        "generation": info.generation,
        "language": info.language,
        "runs": list(title.run_numbers),
        "run_names": list(title.run_names),
        "values": list(summary.run_values),
        "spread": summary.spread,
        "figures": _build_figures_json(summary),
        "questions": summary.n_questions,
        "left_out": summary.n_left_out,
        "unstable": summary.n_unstable,
        "clusters": summary.n_clusters,
        "versus": _build_versus_json(summary, groups),
    }


def _build_figures_json(summary: GroupSummary) -> list[dict[str, Any]]:
    figures = []
    for figure in summary.figures:
        figures.append(
            {"figure": figure.name, "value": figure.value, "low": figure.low, "high": figure.high}
        )
    return figures


def _build_versus_json(summary: GroupSummary, groups: Sequence[RunGroup]) -> dict[str, Any] | None:
    """Build the comparison of a group with the best group. None for the best group itself."""
    versus = summary.versus_best
    if versus is None:
        return None
    return {
        "group": groups[versus.best].name,
        "questions": versus.n_questions,
        "difference": versus.difference.value,
        "low": versus.difference.low,
        "high": versus.difference.high,
        "p": versus.difference.p,
        "p_holm": versus.p_holm,
        "test": versus.difference.test,
    }
