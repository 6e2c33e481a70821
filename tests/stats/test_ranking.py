"""Rankings of runs equal an independent program, and small cases that are known exactly."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fcreview.stats.conventions import (
    CONVENTIONS,
    Trial,
    TrialTable,
    compare_conventions,
    compute_task_terms,
)
from fcreview.stats.ranking import (
    NamedRanking,
    Ranking,
    RunTrials,
    find_deciding_items,
    find_rival,
    rank_by_conventions,
    rank_by_verdicts,
)
from fcreview.stats.run_comparison import ItemOutcome, align_runs
from tests.stats.comparison_cases import make_outcome, make_outcomes, make_trials

N_DRAWS = 2000


def rank(runs: Sequence[Sequence[ItemOutcome]]) -> NamedRanking:
    return rank_by_verdicts("official", align_runs(runs).items, len(runs))


def list_ranks(ranking: Ranking) -> list[tuple[int, int | None]]:
    return [(each.run, each.rank) for each in ranking.ranks]


def make_groups(verdicts: Sequence[Sequence[bool]]) -> list[ItemOutcome]:
    """Return the items of conversations: one list of verdicts for each conversation."""
    outcomes = []
    for group, verdicts_of_group in enumerate(verdicts):
        for turn, verdict in enumerate(verdicts_of_group):
            name = f"{group:03}-{turn}"
            outcomes.append(make_outcome(name, verdict, group=f"{group:03}"))
    return outcomes


def bootstrap_in_plain_python(
    runs: Sequence[Sequence[Sequence[bool]]],
) -> list[dict[str, Any]]:
    """Rank runs with fractions. A run is a list of conversations, in sorted order."""
    n_clusters = len(runs[0])
    generator = np.random.default_rng(0)
    ranks: list[list[int]] = [[] for _ in runs]
    wins: dict[tuple[int, int], int] = {}
    for _ in range(N_DRAWS):
        chosen = [int(each) for each in generator.integers(n_clusters, size=n_clusters)]
        rates = []
        for run in runs:
            verdicts = [verdict for cluster in chosen for verdict in run[cluster]]
            rates.append(Fraction(sum(verdicts), len(verdicts)))
        for number, rate in enumerate(rates):
            ranks[number].append(1 + sum(other > rate for other in rates))
            for other_number, other in enumerate(rates):
                wins[number, other_number] = wins.get((number, other_number), 0) + (rate > other)

    expected = []
    for number, drawn in enumerate(ranks):
        drawn.sort()
        tied = []
        for other_number in range(len(runs)):
            most = max(wins[number, other_number], wins[other_number, number])
            if other_number != number and most <= 0.975 * N_DRAWS:
                tied.append(other_number)
        # of 2,000 sorted ranks, 2.5 % of the way to the last one, and outwards
        expected.append({"low": drawn[49], "high": drawn[1950], "tied": tied})
    return expected


def test_ranks_and_intervals_equal_a_plain_bootstrap_over_clusters() -> None:
    source = random.Random(3)
    sizes = [source.randint(1, 4) for _ in range(60)]
    runs = []
    for rate in (0.5, 0.55, 0.8, 0.6):
        runs.append([[source.random() < rate for _ in range(size)] for size in sizes])

    ranking = rank([make_groups(run) for run in runs]).ranking
    assert ranking.n_clusters == 60
    expected = bootstrap_in_plain_python(runs)
    rates = [Fraction(sum(map(sum, run)), sum(sizes)) for run in runs]
    for each in ranking.ranks:
        assert each.value == pytest.approx(float(rates[each.run]))
        assert each.rank == 1 + sum(rate > rates[each.run] for rate in rates)
        found = {"low": each.low, "high": each.high, "tied": list(each.not_told_apart)}
        assert found == expected[each.run]
    assert any(each.not_told_apart for each in ranking.ranks)
    assert not all(len(each.not_told_apart) == 3 for each in ranking.ranks)


def test_each_pair_has_a_common_group_exactly_if_it_cannot_be_told_apart() -> None:
    source = random.Random(5)
    runs = []
    for step in range(9):
        letters = "".join("P" if source.random() < 0.3 + step * 0.05 else "F" for _ in range(120))
        runs.append(make_outcomes(letters))
    ranks = rank(runs).ranking.ranks
    n_tied = 0
    for a in ranks:
        for b in ranks:
            if a.run == b.run:
                continue
            is_tied = b.run in a.not_told_apart
            n_tied += is_tied
            assert is_tied == bool(set(a.groups) & set(b.groups))
    assert 0 < n_tied < 72


def test_runs_with_equal_verdicts_have_the_same_rank_in_every_draw() -> None:
    letters = "PF" * 20
    ranking = rank([make_outcomes("F" * 40), make_outcomes(letters), make_outcomes(letters)])
    assert list_ranks(ranking.ranking) == [(1, 1), (2, 1), (0, 3)]
    first, second, last = ranking.ranking.ranks
    assert (first.low, first.high, second.low, second.high) == (1, 1, 1, 1)
    assert (last.low, last.high, last.groups) == (3, 3, ())
    assert first.groups == second.groups == (0,)


def test_order_of_runs_changes_no_interval() -> None:
    source = random.Random(1)
    runs = [make_outcomes("".join(source.choices("PF", k=50))) for _ in range(4)]
    forward = {each.run: each for each in rank(runs).ranking.ranks}
    backward = {3 - each.run: each for each in rank(runs[::-1]).ranking.ranks}
    for run, expected in forward.items():
        found = backward[run]
        assert (found.rank, found.low, found.high) == (expected.rank, expected.low, expected.high)


def test_only_items_with_verdicts_of_all_runs_count() -> None:
    ranking = rank([make_outcomes("PPF.P"), make_outcomes("FPPP")])
    assert (ranking.n_questions, ranking.n_left_out) == (3, 2)
    assert [each.value for each in ranking.ranking.ranks] == pytest.approx([2 / 3, 2 / 3])
    assert ranking.ranking.is_too_small


def test_runs_without_a_common_item_have_no_rank() -> None:
    ranking = rank([make_outcomes("P"), make_outcomes(".P")])
    assert (ranking.n_questions, ranking.n_left_out) == (0, 2)
    assert all(each.rank is None and each.value is None for each in ranking.ranking.ranks)


def test_trials_of_a_task_are_one_cluster() -> None:
    ranking = rank([make_trials(["PPF", "PFF"]), make_trials(["FFF", "PPP"])])
    assert ranking.ranking.n_clusters == 2
    assert ranking.n_questions == 6


def make_table(tasks: Sequence[str], planned: int | None = None) -> TrialTable:
    """Return trials: P passes, F fails, E ends with an error, N was not run."""
    endings = {"E": "error", "N": "not run"}
    trials = []
    for task, letters in enumerate(tasks):
        for number, letter in enumerate(letters):
            ending: Any = endings.get(letter, "graded")
            trials.append(
                Trial(f"{task}_trial_{number}", str(task), passed=letter == "P", ending=ending)
            )
    return TrialTable(trials, "tau2-bench", planned=planned)


@pytest.mark.parametrize("planned", [None, 3])
def test_terms_of_tasks_give_the_figures_of_each_convention(planned: int | None) -> None:
    table = make_table(["PPF", "PEN", "FF", "NNN", "PP"], planned=planned)
    expected = {}
    for row in compare_conventions(table):
        for name in row.convention.split(", "):
            expected[row.figure, name] = row.value
    n_compared = 0
    for name, convention in CONVENTIONS.items():
        for figure, terms in compute_task_terms(table, convention).items():
            if (figure, name) not in expected:
                continue
            points = sum(term.points for term in terms.values())
            weights = sum(term.weight for term in terms.values())
            assert points / weights == pytest.approx(expected[figure, name])
            n_compared += 1
    assert n_compared >= 10


def make_run(tasks: Sequence[str], first_item: int) -> tuple[list[ItemOutcome], RunTrials]:
    """Return the outcomes and trials of a run. Errors fail, and trials that were not run have no
    verdict.
    """
    letters = [task.replace("E", "F").replace("N", ".") for task in tasks]
    outcomes = []
    for position, outcome in enumerate(make_trials(letters)):
        outcomes.append(outcome._replace(item=first_item + position))
    trials = RunTrials(make_table(tasks), [outcome.item for outcome in outcomes])
    return outcomes, trials


def test_conventions_rank_runs_in_different_orders() -> None:
    """The second run fails only by errors, which one convention leaves out."""
    first, first_trials = make_run(["PP", "PF", "PF", "PP"], first_item=0)
    second, second_trials = make_run(["PE", "PE", "EP"], first_item=100)
    rankings = rank_by_conventions(align_runs([first, second]).items, [first_trials, second_trials])

    accuracies = [each for each in rankings if each.figure == "accuracy"]
    assert all((each.n_questions, each.n_left_out) == (3, 1) for each in rankings)
    failure, mean_of_tasks, left_out = accuracies
    assert mean_of_tasks.convention == "Inspect"
    assert "tau2-bench" in failure.convention and "errors left out" in left_out.convention
    assert list_ranks(failure.ranking) == [(0, 1), (1, 2)]
    assert [each.value for each in failure.ranking.ranks] == pytest.approx([4 / 6, 3 / 6])
    assert list_ranks(left_out.ranking) == [(1, 1), (0, 2)]
    assert left_out.ranking.ranks[0].value == 1
    assert {each.figure for each in rankings} == {"accuracy", "pass^1", "pass^2", "pass@2"}


def test_deciding_items_are_passed_by_exactly_one_run() -> None:
    verdicts = {
        "a": (True, False, True),
        "b": (False, True, True),
        "c": (True, True, False),
        "d": (False, False, True),
        "e": (True, None, True),
        "f": (None, None, True),
    }
    runs = []
    for run in range(3):
        runs.append([make_outcome(name, values[run]) for name, values in verdicts.items()])
    items = align_runs(runs).items

    deciding = find_deciding_items(items, 0, 1)
    assert [item.question_key.id for item in deciding.only_first] == ["a", "e"]
    assert [item.question_key.id for item in deciding.only_second] == ["b"]
    swapped = find_deciding_items(items, 1, 0)
    assert (swapped.only_first, swapped.only_second) == (deciding.only_second, deciding.only_first)


def test_the_difference_of_two_ranked_runs_is_that_of_their_deciding_items() -> None:
    generator = random.Random(5)
    names = [f"q{at}" for at in range(60)]
    runs = [[make_outcome(name, generator.random() < 0.6) for name in names] for _ in range(4)]
    named = rank(runs)
    for position, run_rank in enumerate(named.ranking.ranks):
        rival = find_rival(named.ranking, position)
        assert rival is not None and rival.run != run_rank.run
        assert run_rank.value is not None and rival.value is not None
        deciding = find_deciding_items(named.items, run_rank.run, rival.run)
        difference = len(deciding.only_first) - len(deciding.only_second)
        assert difference == round(60 * (run_rank.value - rival.value))


def test_the_rival_is_the_next_better_run() -> None:
    runs = [[make_outcome(f"q{at}", at < passed) for at in range(9)] for passed in (3, 9, 6)]
    ranking = rank(runs).ranking
    rivals = [find_rival(ranking, position) for position in range(3)]
    assert [rival and rival.run for rival in rivals] == [2, 1, 2]
    assert find_rival(rank(runs[:1]).ranking, 0) is None
