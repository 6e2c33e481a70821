"""Compute the metrics that a run would have if unreviewed items had other verdicts or answers.

For the criterion `correct`, random verdicts replace the verdicts of unreviewed items. The module
then computes the benchmark's own metrics.

For all other criteria, such as scores from 0 to 2 and labels, the module first draws whether the
automatic answer of an item is right, as `posterior` draws verdicts. Items whose automatic answers
have the same kind form a pool. A pool is divided into cells as in `posterior`, and also by the
other answers in the item's chain.

If the automatic answer is wrong, the module draws the right answer from the human answers that
replaced answers of this kind. The draw is a Bayesian bootstrap (Rubin 1981) with one additional
answer as its prior (a Dirichlet process, Ferguson 1973). The additional answer is drawn from the
human answers to items of other kinds or, less often, from the whole scale. Answers that no
annotator has given are therefore possible, even if annotators gave only a few answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.metric import Metric, MetricKey, ScoredItem, get_chain_id
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import SCALES, Scale, find_scale
from fcreview.stats.posterior import (
    JEFFREYS,
    SEED,
    AutomaticOutcome,
    FloatArray,
    IntArray,
    ItemStatus,
    Population,
    PosteriorDraws,
    build_population,
    draw_posterior,
)

PRIOR_ANSWERS = 1.0
"""Weight of the prior, expressed as a number of human answers."""
PRIOR_ATOMS = 12
"""Number of answers from the prior in each draw. Together, they have the weight `PRIOR_ANSWERS`."""
_MIN_WEIGHT = 1e-300
PLACEHOLDER_NAME = "·"
"""Name that fills a drawn list of names. Only the length of the list matters."""


@dataclass(frozen=True, slots=True)
class CriterionAnswers:
    """Human answers on one criterion for all items of a run.

    Each sequence has one entry per item.
    """

    criterion: str
    human: Sequence[Any]
    """Answer of the annotators; None if there is no answer or the annotators disagree."""
    is_reviewed: Sequence[bool]
    has_sample_verdict: Sequence[bool]
    """Whether the answer of the annotators is from the review of a random sample."""


class AnswerModel:
    """Model of the right answers on one criterion for a run's items. `scale` is None if answers
    cannot be drawn. `n_unanswered` is the number of reviewed sample items without a human answer on
    the criterion. If it is not 0, annotators may have chosen what to answer, so the answers are not
    a random sample.
    """

    def __init__(
        self,
        automatic_items: Sequence[ScoredItem],
        statuses: Sequence[ItemStatus],
        human_answers: CriterionAnswers,
    ) -> None:
        """Collect the automatic and the human answers on one criterion, item by item. `statuses`
        have the verdicts on whether the items pass.
        """
        self.criterion = human_answers.criterion
        self.human_answers = human_answers
        self.automatic = [item.values.get(self.criterion) for item in automatic_items]
        self.scale = find_answer_scale(self.criterion, self.automatic)

        # The same items, with verdicts on whether the automatic answer to the criterion is right.
        contexts = describe_chain_contexts(automatic_items, self.automatic)
        self.statuses: list[ItemStatus] = []
        for position, (status, context) in enumerate(zip(statuses, contexts, strict=True)):
            self.statuses.append(self._build_answer_status(position, status, context))
        self.n_unanswered = self._count_unanswered(statuses)
        self.population: Population = build_population(self.statuses)

    def _count_unanswered(self, item_statuses: Sequence[ItemStatus]) -> int:
        """Count the reviewed items of the sample of which reviewers did not check the answer."""
        n_unanswered = 0
        for position, item_status in enumerate(item_statuses):
            has_answer = self.statuses[position].automatic is not None
            is_answer_reviewed = self.human_answers.is_reviewed[position]
            if item_status.is_sample_reviewed and has_answer and not is_answer_reviewed:
                n_unanswered += 1
        return n_unanswered

    def _build_answer_status(self, position: int, status: ItemStatus, context: str) -> ItemStatus:
        """Return the status of an item with the kind of its automatic answer, and with a human
        verdict on whether this answer is right. `context` describes the item's chain of calls.
        """
        # Sources judge whether an item passes, which says little about other answers.
        status = replace(status, context=context, source_stratum="")
        answer = self.automatic[position]
        stratum = status.stratum
        if stratum is not None:
            # Items with equal answers can have different inclusion probabilities, because an
            # extension of a sample draws items by verdict.
            stratum = (*stratum, f"{status.inclusion_probability:.6f}")
        if answer is None or self.scale is None:
            return replace(
                status, automatic=None, stratum=stratum, human=None, has_sample_verdict=False
            )

        human_answer = self.human_answers.human[position]
        is_right = None if human_answer is None else is_same_verdict(human_answer, answer)
        return replace(
            status,
            automatic=classify_answer(answer, self.scale),
            stratum=stratum,
            human=is_right,
            has_sample_verdict=self.human_answers.has_sample_verdict[position],
        )

    @property
    def is_sampled(self) -> bool:
        """Whether the human answers are a random sample, so that right answers can be drawn from
        them.
        """
        return self.scale is not None and bool(self.population.n_random) and not self.n_unanswered

    def draw_right_answers(self, n_draws: int, seed: int = SEED) -> Iterator[Mapping[int, Any]]:
        """Draw which automatic answers are wrong. Each draw maps the positions of wrong answers to
        the right answers.

        A cell contains the items with the same automatic answer in the same category.
        """
        # The length of the criterion's name makes most criteria differ in their random numbers.
        generator = np.random.default_rng([seed, len(self.criterion)])
        wrong_answers_by_cell = self._draw_wrong_answers_by_cell(n_draws, seed, generator)
        for draw in range(n_draws):
            right_answers: dict[int, Any] = {}
            for wrong_answers in wrong_answers_by_cell:
                right_answers.update(wrong_answers.list_right_answers(draw))
            yield right_answers

    def _draw_wrong_answers_by_cell(
        self, n_draws: int, seed: int, generator: np.random.Generator
    ) -> list[_WrongAnswers]:
        """Draw for each cell how many of its unreviewed answers are wrong, which ones, and the
        right answers.
        """
        posterior: PosteriorDraws = draw_posterior(self.population.cells, n_draws, seed)
        # The verdicts of this population say whether an answer is right, so "passes" means right.
        # Later draws only widen the intervals of metrics of verdicts.
        n_right_by_draw = posterior.passes[:n_draws]
        pools = self._build_pools(n_draws, generator)

        wrong_answers_by_cell = []
        for cell, unreviewed in enumerate(self.population.unreviewed):
            n_wrong = len(unreviewed) - n_right_by_draw[:, cell]
            pool = pools[self.population.cell_keys[cell].automatic]
            wrong_answers = _draw_wrong_answers(unreviewed, n_wrong, pool, generator)
            wrong_answers_by_cell.append(wrong_answers)
        return wrong_answers_by_cell

    def _build_pools(
        self, n_draws: int, generator: np.random.Generator
    ) -> dict[AutomaticOutcome, _AnswerPool]:
        """Build the pool of possible right answers for each kind of automatic answer."""
        example_by_kind: dict[AutomaticOutcome, Any] = {}
        for status, answer in zip(self.statuses, self.automatic, strict=True):
            if status.automatic is not None:
                example_by_kind[status.automatic] = answer
        return {
            kind: self._build_pool(kind, example, n_draws, generator)
            for kind, example in example_by_kind.items()
        }

    def _build_pool(
        self, kind: AutomaticOutcome, automatic: Any, n_draws: int, generator: np.random.Generator
    ) -> _AnswerPool:
        """Build the pool of answers that may be right for items with a kind of automatic answer.
        Right answers are drawn from those that annotators gave to such items and, with little
        weight, from a prior (the atoms).

        `automatic` is an example of the automatic answers.
        """
        observed, answers_of_other_kinds = self._collect_human_answers(kind)
        n_atoms = n_draws * PRIOR_ATOMS
        scale_answers = _draw_from_scale(automatic, self.scale or Scale(), n_atoms, generator)
        atoms = _mix_answers(answers_of_other_kinds, scale_answers, generator)
        cumulative_weights = _draw_cumulative_weights(len(observed), n_draws, generator)
        return _AnswerPool(observed, atoms=atoms, cumulative_weights=cumulative_weights)

    def _collect_human_answers(self, kind: AutomaticOutcome) -> tuple[list[Any], list[Any]]:
        """Return the human answers in the sample: those that correct automatic answers of this
        kind, and those to other items that are of another kind.
        """
        scale = self.scale or Scale()
        corrections = []
        answers_of_other_kinds = []
        for human_answer, status in zip(self.human_answers.human, self.statuses, strict=True):
            if not status.has_sample_verdict:
                continue
            if status.automatic == kind:
                if status.human is False:
                    corrections.append(human_answer)
            elif classify_answer(human_answer, scale) != kind:
                answers_of_other_kinds.append(human_answer)
        return corrections, answers_of_other_kinds


def _mix_answers(
    given_answers: Sequence[Any], scale_answers: Sequence[Any], generator: np.random.Generator
) -> list[Any]:
    """Return as many answers as `scale_answers` has. Each of them is one of the given answers or
    the next answer of the scale, all with the same probability.
    """
    n_given = len(given_answers)
    # The number after that of the last given answer stands for the scale.
    drawn_numbers = generator.integers(n_given + 1, size=len(scale_answers)).tolist()
    answers = []
    for number, scale_answer in zip(drawn_numbers, scale_answers, strict=True):
        is_from_scale = number == n_given
        answers.append(scale_answer if is_from_scale else given_answers[number])
    return answers


@dataclass(frozen=True, slots=True)
class _AnswerPool:
    """Possible right answers to items with the same kind of automatic answer, with weights in
    each draw.
    """

    observed: Sequence[Any]
    atoms: Sequence[Any]
    """Answers from the prior, `PRIOR_ATOMS` for each draw."""
    cumulative_weights: FloatArray
    """Cumulative weights of `observed` and of the answers of the draw in `atoms`, of shape
    (draws, answers).
    """

    def draw_answer_numbers(self, n: int, generator: np.random.Generator) -> IntArray:
        """Choose `n` answers in each draw, each answer with a probability that is its weight.

        Returns numbers for `get_answer`, of the shape (draws, n).

        An answer is found by searching a random number from 0 to 1 in the cumulative weights. One
        search in one sorted list is made for all draws: the weights and the random numbers of draw
        r are moved to the range r to r + 1.
        """
        n_draws, n_answers = self.cumulative_weights.shape
        draw_numbers = np.arange(n_draws)[:, np.newaxis]
        all_weights = (self.cumulative_weights + draw_numbers).ravel()
        targets = (generator.random((n_draws, n)) + draw_numbers).ravel()
        places = np.searchsorted(all_weights, targets, "right").reshape(n_draws, n)

        # The answers of the draws before come first in the list.
        n_before = draw_numbers * n_answers
        # The last cumulative weight can be just below 1, so a target can be above it.
        numbers: IntArray = np.clip(places - n_before, 0, n_answers - 1)
        return numbers

    def get_answer(self, draw: int, number: int) -> Any:
        """Return the answer for a number from `draw_answer_numbers`."""
        if number < len(self.observed):
            return self.observed[number]
        return self.atoms[draw * PRIOR_ATOMS + number - len(self.observed)]


def _draw_cumulative_weights(
    n_observed: int, n_draws: int, generator: np.random.Generator
) -> FloatArray:
    """Draw the cumulative weights of the observed answers and of the atoms of the prior, from a
    Dirichlet distribution, of shape (draws, answers).
    """
    observed_shape = np.ones(n_observed)
    prior_shape = np.full(PRIOR_ATOMS, PRIOR_ANSWERS / PRIOR_ATOMS)
    shape = np.concatenate([observed_shape, prior_shape])
    weights = generator.gamma(shape, size=(n_draws, len(shape)))
    # Gamma variates with a small shape can all be 0.
    weights[:, -1] += _MIN_WEIGHT
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.cumsum(shares, axis=1)


@dataclass(frozen=True, slots=True)
class _WrongAnswers:
    """Which answers of a cell are wrong in each draw, and what the right answers are."""

    pool: _AnswerPool
    n_wrong: IntArray
    """Number of wrong answers in each draw."""
    positions: IntArray
    """Positions of items in random order, of shape (draws, answers). The first `n_wrong` are
    wrong.
    """
    numbers: IntArray
    """Numbers of right answers in `pool`, of the same shape."""

    def list_right_answers(self, draw: int) -> Iterator[tuple[int, Any]]:
        """Yield the position and the right answer of each wrong answer of a draw."""
        n_wrong = self.n_wrong[draw]
        positions = self.positions[draw, :n_wrong].tolist()
        numbers = self.numbers[draw, :n_wrong].tolist()
        for position, number in zip(positions, numbers, strict=True):
            yield position, self.pool.get_answer(draw, number)


def _draw_wrong_answers(
    unreviewed: Sequence[int], n_wrong: IntArray, pool: _AnswerPool, generator: np.random.Generator
) -> _WrongAnswers:
    """Draw which unreviewed answers of a cell are wrong in each draw, and the right answers.

    Args:
        unreviewed: Positions of the items whose answers nobody reviewed.
        n_wrong: How many of the answers are wrong, one number per draw.
        pool: Possible right answers.
        generator: Source of random numbers.
    """
    max_wrong = int(n_wrong.max(initial=0))
    numbers = pool.draw_answer_numbers(max_wrong, generator)

    # Sorting random numbers shuffles the answers of each draw. The first ones are wrong.
    sort_keys = generator.random((len(n_wrong), len(unreviewed)))
    shuffled_indexes = np.argsort(sort_keys, axis=1)
    positions = np.asarray(unreviewed, dtype=np.int64)[shuffled_indexes[:, :max_wrong]]
    return _WrongAnswers(pool, n_wrong=n_wrong, positions=positions, numbers=numbers)


def describe_chain_contexts(items: Sequence[ScoredItem], answers: Sequence[Any]) -> list[str]:
    """Describe for each item whether another answer in its chain of calls is 0.

    An answer of 0 is more often wrong if no other answer is 0. The text is empty if there is no
    other answer.
    """
    contexts = [""] * len(items)
    for positions in _group_numbers_by_chain(items, answers):
        for position in positions:
            other_answers = [answers[other] for other in positions if other != position]
            if not other_answers:
                continue
            is_any_zero = not all(other_answers)
            contexts[position] = "another answer is 0" if is_any_zero else "no other answer is 0"
    return contexts


def _group_numbers_by_chain(
    items: Sequence[ScoredItem], answers: Sequence[Any]
) -> Collection[list[int]]:
    """Return the positions of the items of each chain of calls whose answers are numbers."""
    positions_by_chain: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        chain = get_chain_id(item)
        if chain is not None and isinstance(answers[position], (int, float)):
            positions_by_chain.setdefault(chain, []).append(position)
    return positions_by_chain.values()


def replace_answer(item: ScoredItem, criterion: str, answer: Any) -> ScoredItem:
    overrides = {**item.overrides, **{(target, criterion): answer for target in WHOLE_TARGETS}}
    return replace(item, values={**item.values, criterion: answer}, overrides=overrides)


def find_answer_scale(criterion: str, automatic: Iterable[Any]) -> Scale | None:
    """Return the scale from which the answers on a criterion are drawn.

    Returns None if the scale is unknown or a range of numbers without bounds.
    """
    scale = SCALES.get(criterion)
    if scale is None or not scale.known_labels:
        # The automatic answers may tell the scale.
        scale = find_scale(criterion, automatic)
    if scale is None:
        return None

    has_listed_answers = bool(scale.labels or _list_scale_values(scale))
    has_finite_range = scale.numbers is not None and np.isfinite(scale.numbers).all()
    return scale if has_listed_answers or has_finite_range else None


def classify_answer(answer: Any, scale: Scale) -> str:
    """Return the kind of an automatic answer: its range of numbers (`least`, `low`, `high` or
    `most`), its labels, or its number of names (`2` means 2 or more). Answers of one kind are
    assumed to be wrong equally often.
    """
    if scale.numbers is not None and isinstance(answer, (int, float)):
        return _classify_number(answer, scale.numbers)
    if isinstance(answer, list) and scale.known_labels:
        return ",".join(sorted(map(str, answer)))
    if isinstance(answer, list):
        return str(min(len(answer), 2))
    return str(answer)


def _classify_number(number: float, ends: tuple[float, float]) -> str:
    """Return where a number stands on its scale: at an end, or in the lower or upper half."""
    low, high = ends
    if number <= low:
        return "least"
    if number >= high:
        return "most"
    return "low" if number < (low + high) / 2 else "high"


def get_scale_ends(scale: Scale) -> tuple[Any, Any]:
    """Return two answers at opposite ends of a scale, such as its lowest and highest number."""
    if scale.numbers is not None:
        return scale.numbers
    if scale.labels:
        labels = scale.known_labels
        if not labels:
            return [], [PLACEHOLDER_NAME]
        return [labels[0]], [labels[-1]]
    values = _list_scale_values(scale)
    return values[0], values[-1]


def _draw_from_scale(
    automatic: Any, scale: Scale, n: int, generator: np.random.Generator
) -> list[Any]:
    """Draw `n` answers from a scale: numbers, lists of names or words.

    Lists and words differ from the automatic answer, unless the scale has no other.
    """
    if scale.numbers is not None:
        # Jeffreys prior of a share, stretched to the scale. A drawn number is almost surely another
        # one than the automatic answer.
        low, high = scale.numbers
        shares = generator.beta(JEFFREYS, JEFFREYS, n)
        numbers: list[Any] = (low + (high - low) * shares).tolist()
        return numbers
    if scale.labels and not scale.known_labels:
        # Of unknown names, only the number counts: some if there are none, and none if there are.
        opposite_answer = [] if automatic else [PLACEHOLDER_NAME]
        return [opposite_answer] * n

    answers = _list_other_answers(automatic, scale)
    return [answers[index] for index in generator.integers(len(answers), size=n).tolist()]


def _list_other_answers(automatic: Any, scale: Scale) -> list[Any]:
    """Return all answers of a scale of names or words but the automatic one. A list of names is
    taken to have one name.
    """
    if scale.labels:
        answers: list[Any] = [[label] for label in scale.known_labels]
    else:
        answers = _list_scale_values(scale)
    others = [answer for answer in answers if not is_same_verdict(answer, automatic)]
    return others or [automatic]


def _list_scale_values(scale: Scale) -> list[Any]:
    """Return the definite values of a scale, each once, in their order."""
    values: list[Any] = []
    for value in scale.words.values():
        is_listed = any(is_same_verdict(value, other) for other in values)
        if is_definite(value) and not is_listed:
            values.append(value)
    return values


MetricFunction = Callable[[Sequence[ScoredItem]], Sequence[Metric]]
MetricValues = Mapping[MetricKey, float]
AssumedVerdict = tuple[int, bool]
"""Position of an item, and the verdict that is assumed for the item."""


class MetricCalculator:
    """Computes the metrics that a run has with assumed verdicts on its items."""

    def __init__(
        self,
        automatic_items: Sequence[ScoredItem],
        reviewed_items: Sequence[ScoredItem],
        compute_metrics: MetricFunction,
    ) -> None:
        """Create a calculator.

        `reviewed_items` are the same items as `automatic_items`, with human verdicts.
        """
        self._items = list(reviewed_items)
        self._compute_metrics = compute_metrics
        self._automatic = [item.valid for item in automatic_items]
        self._cache: dict[tuple[int, bool], ScoredItem] = {}

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def compute_with_verdicts(self, verdicts: Iterable[AssumedVerdict]) -> MetricValues:
        """Compute the metrics with these verdicts. All other items keep their verdict."""
        return collect_metric_values(
            self._compute_metrics(self.build_items_with_verdicts(verdicts))
        )

    def build_items_with_verdicts(self, verdicts: Iterable[AssumedVerdict]) -> list[ScoredItem]:
        items = self._items.copy()
        for at, verdict in verdicts:
            items[at] = self._get_item_with_verdict(at, verdict)
        return items

    def compute_with_same_verdict(self, positions: Iterable[int], verdict: bool) -> MetricValues:
        return self.compute_with_verdicts((at, verdict) for at in positions)

    def compute_draws(
        self, population: Population, posterior: PosteriorDraws, seed: int
    ) -> dict[MetricKey, FloatArray]:
        """Compute the metrics of each draw, with random passing items in each cell. Metrics without
        a value in a draw are omitted.
        """
        generator = np.random.default_rng(seed)
        draws = []
        for passes in posterior.passes:
            verdicts: list[AssumedVerdict] = []
            for key, unreviewed, n_passes in zip(
                population.cell_keys, population.unreviewed, passes.tolist(), strict=True
            ):
                verdicts += _draw_cell_verdicts(key.automatic, unreviewed, n_passes, generator)
            draws.append(self.compute_with_verdicts(verdicts))
        return _stack_draws(draws)

    def _get_item_with_verdict(self, position: int, verdict: bool) -> ScoredItem:
        """Return the item at a position as if annotators had decided this verdict on it."""
        cached_item = self._cache.get((position, verdict))
        if cached_item is not None:
            return cached_item

        item = self._items[position]
        overrides = dict(item.overrides)
        overrides.pop(ITEM_CORRECT, None)
        if verdict is not self._automatic[position]:
            # An override is a human verdict that contradicts the automatic one.
            overrides[ITEM_CORRECT] = verdict
        is_changed = item.valid is not verdict or dict(item.overrides) != overrides
        if is_changed:
            error_type = None if verdict else item.error_type
            item = replace(item, valid=verdict, overrides=overrides, error_type=error_type)
        self._cache[position, verdict] = item
        return item


def _draw_cell_verdicts(
    automatic: AutomaticOutcome,
    unreviewed: Sequence[int],
    n_passes: int,
    generator: np.random.Generator,
) -> Iterator[AssumedVerdict]:
    """Draw which unreviewed items of a cell pass, and yield the verdicts that have to change. The
    other items keep their automatic verdict.

    Items without an automatic verdict are assumed to pass at first. For those that are drawn to
    fail, a second verdict follows, and a later verdict replaces an earlier one.
    """
    assumes_pass = automatic is not False
    if automatic is None:
        for position in unreviewed:
            yield position, True

    n_changed = len(unreviewed) - n_passes if assumes_pass else n_passes
    if not n_changed:
        return
    changed_indexes = generator.choice(len(unreviewed), n_changed, replace=False)
    for index in changed_indexes:
        yield unreviewed[index], not assumes_pass


def draw_answer_metrics(
    reviewed_items: Sequence[ScoredItem],
    compute_metrics: MetricFunction,
    models: Sequence[AnswerModel],
    n_draws: int,
    seed: int,
) -> dict[MetricKey, FloatArray]:
    """Compute the metrics of each draw, with the right answers that the models draw."""
    draws_by_model = [model.draw_right_answers(n_draws, seed) for model in models]
    values = []
    for answers_by_model in zip(*draws_by_model, strict=True):
        items = list(reviewed_items)
        for model, right_answers in zip(models, answers_by_model, strict=True):
            for position, answer in right_answers.items():
                items[position] = replace_answer(items[position], model.criterion, answer)
        values.append(collect_metric_values(compute_metrics(items)))
    return _stack_draws(values)


def collect_metric_values(metrics: Iterable[Metric]) -> dict[MetricKey, float]:
    return {metric.key: float(metric.value) for metric in metrics if metric.value is not None}


def _stack_draws(draws: Sequence[MetricValues]) -> dict[MetricKey, FloatArray]:
    """Return the values of each metric that has one in every draw."""
    if not draws:
        return {}
    keys = [key for key in draws[0] if all(key in values for values in draws)]
    return {key: np.array([values[key] for values in draws]) for key in keys}
