"""Count the failing score entries that quote another reply than the result file contains.

If results are written anew and the scores are kept, the entries quote other replies, and the
official verdicts say nothing about the results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fcreview.model.item import ImportIssue, Run, RunFact
from fcreview.model.wording import format_count


@dataclass(slots=True)
class QuotedReplies:
    """Comparison of the replies that the failing score entries of a run quote with the replies in
    the result files.

    The entries are added one by one.
    """

    n_compared: int = 0
    """Number of items whose score entry quotes a reply and that have a reply in the result file."""
    others: dict[str, set[str]] = field(default_factory=dict)
    """Category -> ids of the items whose score entry quotes another reply."""

    def add(self, category: str, item_id: str, *, is_same: bool) -> None:
        self.n_compared += 1
        if not is_same:
            self.others.setdefault(category, set()).add(item_id)

    def add_all(self, other: QuotedReplies) -> None:
        """Add the comparison of other categories."""
        self.n_compared += other.n_compared
        for category, item_ids in other.others.items():
            self.others.setdefault(category, set()).update(item_ids)

    @property
    def n_others(self) -> int:
        return sum(len(item_ids) for item_ids in self.others.values())

    @property
    def are_scores_of_other_replies(self) -> bool:
        """Whether more than half of the comparable entries quote another reply."""
        return self.n_others * 2 > self.n_compared

    def make_fact(self) -> RunFact:
        """Return why the official verdicts of the run are unknown."""
        entries = format_count(self.n_compared, "failing score entry", "failing score entries")
        reason = f"{self.n_others:,} of {entries} with a result quote another reply"
        return RunFact("scores_of_other_replies", value=self.n_others, reason=reason)

    def make_issue(self, run: Run) -> ImportIssue:
        """Return the issue for a run whose scores belong to other replies."""
        what = (
            f"the scores belong to other replies: {self.make_fact().reason}. The official verdicts"
            " of this run are"
        )
        what += " unknown. Score the results again, or restore the results that were scored"
        return ImportIssue(run.path, what=what, severity="error")
