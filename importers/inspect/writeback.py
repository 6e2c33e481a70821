"""Write reviewed verdicts as edits of the scores in an Inspect log. Golden answers in a log cannot be corrected.

A verdict on the item edits the main score, and a verdict on `SCORER` or `SCORER.KEY` edits that score. A verdict on a
part, such as a call, becomes a new score, see `part_score_name`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.inspect.columns import LogFigures, load_figures
from fcreview.importers.inspect.leaderboard import reviewed_value
from fcreview.importers.inspect.log_edits import LogEditError, PlannedEdit, edit_log
from fcreview.importers.inspect.scores import parse_part_score, part_score_name
from fcreview.model.address import ITEM
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import ReviewedVerdict, RewrittenFile, RunPlan, Unrepresentable

NO_DATASET = "an Inspect log has no dataset whose golden answers can be corrected"
SampleKey = tuple[str, type, Any]
"""Sample id as text, its type, and the epoch."""


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:  # noqa: ARG001
    return NO_DATASET


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:  # noqa: ARG001
    return None


def recheck(run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:  # noqa: ARG001
    return None


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield a copy of each log of a run with the reviewed verdicts as edits of its scores.

    `plan.run` must contain the score columns of the log, and `items` the effective verdicts.
    """
    figures = load_figures(plan.run)
    if figures.primary is None:
        yield Unrepresentable("verdicts on a log without scores", len(verdicts))
        return
    by_item: dict[str, list[ReviewedVerdict]] = {}
    for verdict in verdicts:
        by_item.setdefault(verdict.item_id, []).append(verdict)
    edits: dict[SampleKey, list[PlannedEdit]] = {}
    n_unscored = 0
    for item in items:
        if item.id in by_item:
            planned = list(_plan_edits(item, by_item[item.id], figures))
            sample = item.metadata.get("sample")
            edits[str(sample), type(sample), item.metadata.get("epoch")] = [
                each for each in planned if each.value is not None
            ]
            n_unscored += sum(each.value is None for each in planned)
    if n_unscored:
        yield Unrepresentable("reviews of samples without a score", n_unscored)

    def find(sample: Mapping[str, Any]) -> Sequence[PlannedEdit]:
        return edits.get((str(sample.get("id")), type(sample.get("id")), sample.get("epoch", 1)), ())

    for path in plan.results:
        try:
            yield RewrittenFile(path, edit_log(path, find))
        except LogEditError as error:
            yield Unrepresentable(f"verdicts on {error}", len(verdicts))


def _plan_edits(item: ScoredItem, verdicts: Sequence[ReviewedVerdict], figures: LogFigures) -> Iterator[PlannedEdit]:
    """Yield one edit for each reviewed score. The corrected metrics are computed from the same value."""
    by_score: dict[str, list[ReviewedVerdict]] = {}
    for verdict in verdicts:
        by_score.setdefault(_score_name(item, verdict, figures), []).append(verdict)
    for name, decided in by_score.items():
        value = decided[0].value if parse_part_score(name) else reviewed_value(item, name, figures)
        yield PlannedEdit(name, value, decided[0])


def _score_name(item: ScoredItem, verdict: ReviewedVerdict, figures: LogFigures) -> str:
    question = verdict.target, verdict.criterion
    if question == ITEM_CORRECT:
        return figures.primary or ""
    scores = item.metadata.get("scores")
    for name, value in scores.items() if isinstance(scores, dict) and verdict.target == ITEM else ():
        keys = value if isinstance(value, dict) else ()
        if verdict.criterion == name or verdict.criterion in [f"{name}.{key}" for key in keys]:
            return str(name)
    return part_score_name(verdict.target, verdict.criterion)
