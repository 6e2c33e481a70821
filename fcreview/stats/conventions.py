"""Compute the accuracy, pass^k and pass@k of one run by the conventions of several tools.

Tools differ in how they treat trials that were not run, trials that ended with an error, and tasks
with missing trials, so their figures differ. For each figure, this module lists the value by each
convention and the items that cause differences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Literal, NamedTuple

from fcreview.model.wording import NO_ANSWERS, NO_VALUE, format_metric_value

Ending = Literal["graded", "error", "not run"]
Treatment = Literal["failure", "left out"]
Denominator = Literal["run", "file", "planned"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at a task. Each item of the run is a trial."""

    item: str
    task: str
    passed: bool
    ending: Ending = "graded"
    """`error`: the trial ended with an error and has no verdict. `not run`: the infrastructure
    failed or the trial has no score, so the trial says nothing about the model.
    """


@dataclass(frozen=True, slots=True)
class TrialTable:
    """All trials of a run, and the convention of the tool that produced the run."""

    trials: Sequence[Trial]
    own: str
    """Key in `CONVENTIONS` of the convention of the tool that produced the run."""
    planned: int | None = None
    """Planned number of trials per task; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Convention:
    name: str
    rule: str
    not_run: Treatment
    errors: Treatment
    trials: Denominator = "run"
    """Number of trials per task from which pass^k is computed. `run`: the number of counted trials
    of the task. `file`: the largest number of counted trials of any task. `planned`: the planned
    number, where missing trials are failures.
    """
    by_task: bool = False
    """Whether accuracy is the mean of the tasks' pass rates instead of the pass rate of all
    trials.
    """
    has_repeats: bool = True
    """Whether the convention applies to runs with several trials per task."""


CONVENTIONS: Mapping[str, Convention] = {
    each.name: each
    for each in (
        Convention(
            "tau2-bench",
            rule="infrastructure errors do not count, other errors are failures",
            not_run="left out",
            errors="failure",
        ),
        Convention(
            "tau-bench v1",
            rule="all trials count, pass^k assumes equal trial counts",
            not_run="failure",
            errors="failure",
            trials="file",
        ),
        Convention(
            "Harbor",
            rule="all trials count, pass^k uses each task's own trials",
            not_run="failure",
            errors="failure",
        ),
        Convention(
            "BFCL", rule="every item counts", not_run="failure", errors="failure", has_repeats=False
        ),
        Convention(
            "Inspect",
            rule="trials without a score do not count, mean of tasks",
            not_run="left out",
            errors="left out",
            by_task=True,
        ),
        Convention(
            "planned trials",
            rule="missing trials are failures",
            not_run="failure",
            errors="failure",
            trials="planned",
        ),
        Convention(
            "errors left out",
            rule="only graded trials count",
            not_run="left out",
            errors="left out",
        ),
    )
}
"""Name -> convention. The sources are `agent_metrics.py` of tau2-bench 1.0.1, `run.py` of
tau-bench, `metrics/base.py` of Harbor 0.24, and `scorer/_reducer` of Inspect 0.3, which combines
the epochs of a sample before it computes the mean of all samples. `planned trials` and `errors left
out` are not from a tool. They are the two extremes: missing trials are failures, or trials with an
error are omitted.
"""


@dataclass(frozen=True, slots=True)
class ConventionRow:
    """Value of one figure, with the conventions that give this value."""

    figure: str
    """`accuracy`, `pass^2` (all of 2 trials pass) or `pass@2` (at least one of 2 trials passes)."""
    convention: str
    rule: str
    value: float | None
    """Share, from 0 to 1. None if the convention does not define the figure for this run."""
    n: int
    n_tasks: int
    is_own: bool
    """Whether this is the convention of the tool that produced the run."""
    note: str
    items: tuple[str, ...]
    """Ids of the items that cause the difference from the value of the run's own tool. In the row
    of this tool, ids of the items whose tasks `note` mentions.
    """
    incidents: int = 0
    """Number of incidents of the run. If it is 0, the next two fields are None."""
    value_without_incidents: float | None = None
    n_without_incidents: int | None = None
    """Number of trials without incidents from which the value is computed.

    None if it is unknown.
    """


@dataclass(frozen=True, slots=True)
class Spread:
    """Lowest and highest value of a figure over all conventions."""

    figure: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunConventions:
    """Figures of one run, each computed by the convention of every tool.

    `rows` is empty if fcreview knows no convention for the benchmark.
    """

    name: str
    rows: list[ConventionRow]
    numbers: Mapping[str, list[int]]
    """Item id -> numbers of the items with this id in the store."""

    def find_item_numbers(self, row: ConventionRow) -> tuple[int, ...]:
        return tuple(number for item_id in row.items for number in self.numbers.get(item_id, ()))


Tasks = dict[str, list[bool]]
"""Task -> whether each counted trial of the task passed."""


def compare_conventions(table: TrialTable) -> list[ConventionRow]:
    """Compute accuracy, pass^k and pass@k by each convention. The first row of each figure shows
    the convention of the run's own tool. Conventions with the same value share a row.
    """
    names = list_conventions(table)
    # `_merge_rows` joins the names like this if all conventions have the same value.
    all_names = ", ".join(names)
    rows = []
    for row in _compute_distinct_rows(table, names):
        if row.convention == all_names and len(names) > 1:
            short_name = f"{table.own} and all other conventions"
            rows.append(replace(row, convention=short_name))
        else:
            rows.append(row)
    return sorted(rows, key=lambda row: (_get_figure_sort_key(row.figure), not row.is_own))


def list_conventions(table: TrialTable) -> list[str]:
    """Return the names of the conventions that apply to a run, that of its own tool first."""
    names = [table.own]
    for name, convention in CONVENTIONS.items():
        if name != table.own and _is_applicable(convention, table):
            names.append(name)
    return names


@dataclass(frozen=True, slots=True)
class TaskTerm:
    """Points and weight that a task adds to a figure.

    The figure is the sum of all points, divided by the sum of all weights.
    """

    points: float
    weight: float


TaskTerms = dict[str, TaskTerm]


def compute_task_terms(table: TrialTable, convention: Convention) -> dict[str, TaskTerms]:
    """Return figure -> task -> term of the task, for each figure that the convention defines. Tasks
    without a counted trial have no term.
    """
    tasks = _collect_counted_tasks(table, convention)
    terms_by_figure: dict[str, TaskTerms] = {}
    for figure in _compute_figures(table, tasks, convention):
        if figure.value is None:
            continue
        terms = {}
        for task, passes in tasks.items():
            terms[task] = _compute_task_term(figure, passes, convention)
        terms_by_figure[figure.name] = terms
    return terms_by_figure


def _compute_task_term(figure: _Figure, passes: Sequence[bool], convention: Convention) -> TaskTerm:
    """Return the points and the weight that a task adds to a figure by a convention.

    The figure is the sum of the points of all tasks, divided by the sum of their weights.
    """
    if figure.name == "accuracy" and convention.by_task:
        return TaskTerm(points=sum(passes) / len(passes), weight=1)
    # Missing trials count as failed if a number of trials is assumed for every task.
    n_trials = figure.trials_per_task or len(passes)
    if figure.name == "accuracy":
        return TaskTerm(points=sum(passes), weight=n_trials)

    # All other figures are named `pass^K` or `pass@K`, and are means over tasks.
    k = int(figure.name.removeprefix("pass^").removeprefix("pass@"))
    if figure.name.startswith("pass^"):
        chance = _compute_chance_that_all_pass(passes, k, n_trials)
    else:
        chance = _compute_chance_that_any_passes(passes, k, n_trials)
    return TaskTerm(points=chance, weight=1)


def _compute_distinct_rows(table: TrialTable, names: Iterable[str]) -> Iterable[ConventionRow]:
    """Compute the rows of all conventions, and merge those of one figure with the same value."""
    row_by_value: dict[tuple[str, str], ConventionRow] = {}
    for name in names:
        for row in _compute_rows(table, CONVENTIONS[name]):
            value = "" if row.value is None else f"{row.value:.12f}"
            key = (row.figure, value)
            if key in row_by_value:
                row_by_value[key] = _merge_rows(row_by_value[key], row)
            else:
                row_by_value[key] = row
    return row_by_value.values()


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure by one convention."""

    name: str
    value: float | None
    trials_per_task: int | None
    """Number of trials that is assumed for every task; None to use each task's own number."""
    no_value_reason: str = ""
    """Why the figure has no value; empty if it has one."""


def add_values_without_incidents(
    rows: Iterable[ConventionRow], answered: TrialTable | None, n_incidents: int
) -> list[ConventionRow]:
    """Add to each row the value that it has if incidents are left out. An incident is a trial that
    broke off for a reason outside the model.

    If a row stands for several conventions with the same value, the first convention is used.

    Args:
        rows: Accuracy, pass^k and pass@k by different conventions.
        answered: The trials that are no incidents.
        n_incidents: The number of incidents.
    """
    rows_with_incidents = [replace(row, incidents=n_incidents) for row in rows]
    if answered is None or not answered.trials:
        return [replace(row, n_without_incidents=0) for row in rows_with_incidents]

    names = {_get_first_convention(row) for row in rows_with_incidents}
    answered_rows = {name: _compute_answered_rows(answered, name) for name in names}
    new_rows = []
    for row in rows_with_incidents:
        without_incidents = answered_rows[_get_first_convention(row)].get(row.figure)
        if without_incidents is None:
            # Without the incidents, there are too few trials for this figure.
            new_rows.append(row)
            continue
        new_row = replace(
            row,
            value_without_incidents=without_incidents.value,
            n_without_incidents=without_incidents.n,
        )
        new_rows.append(new_row)
    return new_rows


def _compute_answered_rows(answered: TrialTable, convention_name: str) -> dict[str, ConventionRow]:
    """Return the row of each figure by one convention, from the trials that are no incidents.

    Incidents are left out and are no failures, so each task counts only its own trials, even if the
    convention assumes the same number for all tasks.
    """
    convention = replace(CONVENTIONS[convention_name], trials="run")
    return {row.figure: row for row in _compute_rows(answered, convention)}


def format_convention_without_incidents(row: ConventionRow) -> str:
    """Format the value without incidents and the number of its trials: `41.67 % (36)`."""
    if row.n_without_incidents == 0:
        return NO_ANSWERS
    if row.value_without_incidents is None:
        return NO_VALUE
    value = format_metric_value(row.value_without_incidents, "share", 2)
    return f"{value} ({row.n_without_incidents:,})"


def _get_first_convention(row: ConventionRow) -> str:
    """Return the name with which the text of the row's conventions begins."""
    for name in CONVENTIONS:
        if row.convention.startswith(name):
            return name
    raise ValueError(f"unknown convention {row.convention}")


def _is_applicable(convention: Convention, table: TrialTable) -> bool:
    if convention.trials == "planned":
        return table.planned is not None
    return convention.has_repeats or _find_highest_k(table) == 1


def _get_figure_sort_key(figure: str) -> tuple[int, int]:
    kind, _, k = figure.replace("^", "@").partition("@")
    return ("accuracy", "pass").index(kind) + ("@" in figure), int(k or 0)


def _merge_rows(first: ConventionRow, second: ConventionRow) -> ConventionRow:
    """Return one row for two conventions (ways to count trials) by which a figure, such as pass@2,
    has the same value.
    """
    items = first.items
    # The row of the run's own convention lists only what its note is about.
    if not first.is_own:
        items = tuple(dict.fromkeys((*first.items, *second.items)))
    return replace(first, convention=f"{first.convention}, {second.convention}", items=items)


def find_spreads(rows: Iterable[ConventionRow]) -> list[Spread]:
    """Find the lowest and highest value of each figure over the conventions that define the
    figure.
    """
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.value is not None:
            values[row.figure].append(row.value)
    return [Spread(figure, low=min(found), high=max(found)) for figure, found in values.items()]


def _compute_rows(table: TrialTable, convention: Convention) -> Iterator[ConventionRow]:
    """Yield the row of each figure by one convention."""
    tasks = _collect_counted_tasks(table, convention)
    for figure in _compute_figures(table, tasks, convention):
        yield _build_row(table, tasks, convention=convention, figure=figure)


def _collect_counted_tasks(table: TrialTable, convention: Convention) -> Tasks:
    tasks: Tasks = {}
    for trial in table.trials:
        if _is_counted(trial, convention):
            tasks.setdefault(trial.task, []).append(trial.passed)
    return tasks


def _compute_figures(table: TrialTable, tasks: Tasks, convention: Convention) -> Iterator[_Figure]:
    """Yield accuracy, pass^k and pass@k by one convention of counting trials. A run with one trial
    per task has only the accuracy.
    """
    n_trials, max_k = _find_trials_per_task(table, tasks, convention)

    # Missing trials change the accuracy only if they are planned, and then they are failures.
    planned = n_trials if convention.trials == "planned" else None
    accuracy = _compute_accuracy(tasks, convention, planned)
    yield _Figure("accuracy", value=accuracy, trials_per_task=planned)

    highest_k = _find_highest_k(table)
    if highest_k <= 1:
        return
    for k in range(1, highest_k + 1):
        if k <= max_k:
            figures = _compute_figures_of_k(tasks, k, n_trials)
        else:
            # The convention counts fewer than k trials of some task.
            reason = _explain_missing_trials(tasks, highest_k)
            figures = _make_figures_of_k(k, n_trials, no_value_reason=reason)
        yield from figures


def _compute_figures_of_k(tasks: Tasks, k: int, n_trials: int | None) -> list[_Figure]:
    """Return pass^k and pass@k with their values. `n_trials` is as in `_TrialsPerTask`."""
    return _make_figures_of_k(
        k,
        n_trials,
        pass_hat_k=_compute_pass_hat_k(tasks, k, n_trials),
        pass_at_k=_compute_pass_at_k(tasks, k, n_trials),
    )


def _make_figures_of_k(
    k: int,
    n_trials: int | None,
    *,
    pass_hat_k: float | None = None,
    pass_at_k: float | None = None,
    no_value_reason: str = "",
) -> list[_Figure]:
    """Return pass^k and pass@k. There is no pass@1, because it is the same as pass^1."""
    figures = [_Figure(f"pass^{k}", pass_hat_k, n_trials, no_value_reason)]
    if k > 1:
        figures.append(_Figure(f"pass@{k}", pass_at_k, n_trials, no_value_reason))
    return figures


def _build_row(
    table: TrialTable, tasks: Tasks, *, convention: Convention, figure: _Figure
) -> ConventionRow:
    """Return the row of a figure. `tasks` contains the trials that the convention counts."""
    is_own = convention.name == table.own
    if is_own:
        # No item is counted differently from the own convention, so the row lists the items of
        # which its notes say that trials are missing.
        items = _find_items_of_notes(table, tasks, figure)
    else:
        items = list(_find_differently_counted_items(table, convention, figure.name))

    if figure.trials_per_task is None:
        n_trials = sum(len(passes) for passes in tasks.values())
    else:
        n_trials = figure.trials_per_task * len(tasks)
    return ConventionRow(
        figure.name,
        convention=convention.name,
        rule=convention.rule,
        value=figure.value,
        n=n_trials,
        n_tasks=len(tasks),
        is_own=is_own,
        note="; ".join(_list_notes(table, tasks, figure)),
        items=tuple(items),
    )


def _list_notes(table: TrialTable, tasks: Tasks, figure: _Figure) -> list[str]:
    """Return what is missing in a figure."""
    notes = []
    n_all_tasks = len({trial.task for trial in table.trials})
    n_vanished = n_all_tasks - len(tasks)
    if n_vanished:
        verb = "has" if n_vanished == 1 else "have"
        notes.append(f"{n_vanished} of {n_all_tasks} tasks {verb} no counted trial")
    if figure.no_value_reason:
        notes.append(figure.no_value_reason)
    return notes


def _find_items_of_notes(table: TrialTable, tasks: Tasks, figure: _Figure) -> list[str]:
    """Return the items of the tasks that the notes of a figure are about (see `_list_notes`).

    These tasks have no counted trial. If the figure has no value, because some task has too few
    trials, those with the fewest trials are added.
    """
    incomplete = {trial.task for trial in table.trials if trial.task not in tasks}
    if figure.no_value_reason:
        fewest = min((len(passes) for passes in tasks.values()), default=0)
        incomplete |= {task for task, passes in tasks.items() if len(passes) == fewest}
    return [trial.item for trial in table.trials if trial.task in incomplete]


def _explain_missing_trials(tasks: Tasks, highest_k: int) -> str:
    if not tasks:
        return "this convention counts no trial"
    fewest, name = min((len(passes), task) for task, passes in tasks.items())
    return f"{name} has {fewest} of {highest_k} trials"


def _is_counted(trial: Trial, convention: Convention) -> bool:
    if trial.ending == "not run":
        return convention.not_run == "failure"
    return trial.ending == "graded" or convention.errors == "failure"


def _find_highest_k(table: TrialTable) -> int:
    """Return the largest k of any figure: the largest number of trials of a task, but at most
    the planned number.
    """
    counts: defaultdict[str, int] = defaultdict(int)
    for trial in table.trials:
        counts[trial.task] += 1
    most = max(counts.values(), default=0)
    return min(most, table.planned) if table.planned else most


class _TrialsPerTask(NamedTuple):
    n_trials: int | None
    """Number of trials that is assumed for every task; None to use each task's own number of
    trials.
    """
    max_k: int
    """Largest k for which pass^k and pass@k have a value."""


def _find_trials_per_task(
    table: TrialTable, tasks: Tasks, convention: Convention
) -> _TrialsPerTask:
    """Return how many trials of a task a convention counts, and the highest k of pass^k that it
    allows. `tasks` contains the trials that the convention counts.
    """
    counts = [len(passes) for passes in tasks.values()]
    most = max(counts, default=0)
    fewest = min(counts, default=0)
    # The file's tool assumes that all tasks have as many trials as the largest one.
    if convention.trials == "file":
        return _TrialsPerTask(most, max_k=most)
    # Planned trials that are missing count too.
    if convention.trials == "planned" and table.planned:
        planned = max(table.planned, most)
        return _TrialsPerTask(planned, max_k=planned)

    # Each task counts its own trials, and k of them exist in every task only up to the fewest.
    # Figures beyond the planned number of trials are not published.
    max_k = min(fewest, table.planned) if table.planned else fewest
    return _TrialsPerTask(None, max_k=max_k)


def _compute_accuracy(tasks: Tasks, convention: Convention, n_trials: int | None) -> float | None:
    """Compute the accuracy: the mean of the tasks, or the share of all trials that pass.

    `n_trials`: number of trials that each task should have. Missing trials then count as failed.
    """
    if not tasks:
        return None
    if convention.by_task:
        rates = [sum(passes) / len(passes) for passes in tasks.values()]
        return sum(rates) / len(tasks)

    n_passing = sum(sum(passes) for passes in tasks.values())
    if n_trials:
        return n_passing / (n_trials * len(tasks))
    return n_passing / sum(len(passes) for passes in tasks.values())


def _compute_pass_hat_k(tasks: Tasks, k: int, n_trials: int | None) -> float | None:
    """Return the mean probability that all of k random trials of a task pass.

    `n_trials` is as in `_TrialsPerTask`.
    """
    if not tasks:
        return None
    chances = []
    for passes in tasks.values():
        chances.append(_compute_chance_that_all_pass(passes, k, n_trials or len(passes)))
    return sum(chances) / len(tasks)


def _compute_chance_that_all_pass(passes: Sequence[bool], k: int, n_trials: int) -> float:
    """Return the probability that k trials all pass, drawn without replacement from the `n_trials`
    trials of a task. Trials that are not in `passes` are missing, and count as failed.
    """
    n_passed = sum(passes)
    return comb(n_passed, k) / comb(n_trials, k)


def _compute_pass_at_k(tasks: Tasks, k: int, n_trials: int | None) -> float | None:
    """Return the mean probability that at least one of k random trials of a task passes.

    `n_trials` is as in `_TrialsPerTask`.
    """
    if not tasks:
        return None
    chances = []
    for passes in tasks.values():
        chances.append(_compute_chance_that_any_passes(passes, k, n_trials or len(passes)))
    return sum(chances) / len(tasks)


def _compute_chance_that_any_passes(passes: Sequence[bool], k: int, n_trials: int) -> float:
    """Return the probability that at least one of k trials passes, drawn without replacement from
    the `n_trials` trials of a task. Trials that are not in `passes` are missing, and count as
    failed.
    """
    n_failed = n_trials - sum(passes)
    chance_that_none_passes = comb(n_failed, k) / comb(n_trials, k)
    return 1 - chance_that_none_passes


def _find_differently_counted_items(
    table: TrialTable, convention: Convention, figure: str
) -> Iterator[str]:
    """Yield the ids of the items that cause the difference from the figure of the run's own
    tool.

    Only one of both conventions counts the item, or both count it but average its task differently.
    Averages over trials and over tasks, or over planned trials, are equal if all tasks have the
    same number of trials, so only tasks with fewer trials cause a difference.
    """
    own = CONVENTIONS[table.own]
    if convention == own:
        return

    counted_trials: defaultdict[str, int] = defaultdict(int)
    for trial in table.trials:
        counted_trials[trial.task] += _is_counted(trial, convention)
    full_number = max([table.planned or 0, *counted_trials.values()])

    is_averaged_differently = _get_averaging(convention, figure) != _get_averaging(own, figure)
    for trial in table.trials:
        is_counted_differently = _is_counted(trial, convention) != _is_counted(trial, own)
        has_missing_trials = counted_trials[trial.task] < full_number
        if is_counted_differently or (is_averaged_differently and has_missing_trials):
            yield trial.item


def _get_averaging(convention: Convention, figure: str) -> tuple[bool, Denominator]:
    """Return how a figure is averaged: whether by task, and over which number of trials."""
    if figure == "accuracy":
        return convention.by_task, "planned" if convention.trials == "planned" else "run"
    return True, convention.trials
