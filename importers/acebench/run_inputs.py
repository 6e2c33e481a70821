"""Load all files of an ACEBench run, and settle its official verdicts and the version of its
rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fcreview.importers.acebench.inputs import (
    CategoryInputs,
    discard_official_verdicts,
    load_category_inputs,
    settle_official_verdicts,
)
from fcreview.importers.acebench.rule_choice import (
    RuleSetChoice,
    choose_rule_set,
    compare_quoted_replies,
)
from fcreview.importers.common.quoted_replies import QuotedReplies
from fcreview.model.item import ImportIssue, Run, RunFact
from fcreview.run_plan import RunPlan


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Content of the files of a run, category by category."""

    categories: list[CategoryInputs]
    choice: RuleSetChoice
    quoted_replies: QuotedReplies
    issues: list[ImportIssue]

    def list_facts(self) -> Iterator[RunFact]:
        yield self.choice.make_fact()
        if self.quoted_replies.are_scores_of_other_replies:
            yield self.quoted_replies.make_fact()


def load_run_inputs(plan: RunPlan) -> RunInputs:
    """Load the files of a run, and set the official metrics of `plan.run`.

    The score files quote replies of the model. If these differ from the replies in the result
    files, the scores are of another run. The run then has no official verdicts and metrics.
    """
    categories = [load_category_inputs(plan, result_file) for result_file in plan.results]
    issues = [issue for inputs in categories for issue in inputs.issues]

    # The evaluator changed its rules. The version that reproduces the scores is used.
    quoted_replies = compare_quoted_replies(categories)
    are_other_replies = quoted_replies.are_scores_of_other_replies
    choice = choose_rule_set(plan, categories, scores_are_of_other_replies=are_other_replies)
    if not choice.fits_scores:
        issues.append(choice.make_issue(plan.run))
    for inputs in categories:
        issues += settle_official_verdicts(inputs, choice.rule_set)

    if are_other_replies:
        issues.append(quoted_replies.make_issue(plan.run))
        plan.run.official_metrics.clear()
        for inputs in categories:
            discard_official_verdicts(inputs)
    else:
        _set_official_metrics(plan.run, categories)
    return RunInputs(categories, choice=choice, quoted_replies=quoted_replies, issues=issues)


def _set_official_metrics(run: Run, categories: Sequence[CategoryInputs]) -> None:
    """Set the headers of the score files, which state the metrics of their categories."""
    for inputs in categories:
        if inputs.scored.header:
            run.official_metrics[inputs.category] = inputs.scored.header
