"""Compare the replies that failing score entries quote with the replies in the result files.

If results are written anew and the scores are kept, the entries quote other replies, and the official verdicts say
nothing about the results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.bfcl.dataset import to_json_text
from fcreview.importers.bfcl.joining import Results, is_same_reply
from fcreview.importers.bfcl.scores import ScoreEntry, ScoreFile
from fcreview.importers.common.jsonl import make_excerpt
from fcreview.model.item import ImportIssue, Run, RunFact
from fcreview.model.wording import format_count

MAX_QUOTED_REPLY = 160
"""Maximum length of a reply in an issue."""


@dataclass(slots=True)
class QuotedReplies:
    """The comparison of all failing score entries of a run with its results. Filled category by category."""

    n_compared: int = 0
    """Number of items whose score entry quotes a reply and that have a reply in the result file."""
    others: dict[str, set[str]] = field(default_factory=dict)
    """Category -> ids of the items whose score entry quotes another reply."""

    def add_category(self, name: str, results: Results, scores: ScoreFile) -> None:
        for item_id, entry in scores.failing.items():
            if item_id not in results.records or find_quoted_reply(entry) is None:
                continue
            record = results.read_record(item_id)
            if not isinstance(record, dict) or "result" not in record:
                continue
            self.n_compared += 1
            if not is_same_reply(find_quoted_reply(entry), record["result"]):
                self.others.setdefault(name, set()).add(item_id)

    @property
    def n_others(self) -> int:
        return sum(len(item_ids) for item_ids in self.others.values())

    @property
    def are_scores_of_other_replies(self) -> bool:
        """Whether more than half of the comparable entries quote another reply."""
        return self.n_others * 2 > self.n_compared

    def is_other_reply(self, category: str, item_id: str) -> bool:
        return item_id in self.others.get(category, ())

    def make_fact(self) -> RunFact:
        """Return why the official verdicts of the run are unknown."""
        entries = format_count(self.n_compared, "failing score entry", "failing score entries")
        reason = f"{self.n_others:,} of {entries} with a result quote another reply"
        return RunFact("scores_of_other_replies", self.n_others, reason)

    def make_issue(self, run: Run) -> ImportIssue:
        """Return the issue for a run whose scores belong to other replies."""
        what = f"the scores belong to other replies: {self.make_fact().reason}. The official verdicts of this run are"
        what += " unknown. Score the results again, or restore the results that were scored"
        return ImportIssue(run.path, None, what, severity="error")


def find_quoted_reply(entry: ScoreEntry) -> Any:
    """Return the reply that a score entry quotes; None if it quotes none."""
    for key in ("model_result_raw", "model_result"):
        if key in entry.record:
            return entry.record[key]
    return None


def make_other_reply_issue(scores: ScoreFile, entry: ScoreEntry) -> ImportIssue:
    """Return the issue for an item whose score entry quotes another reply than its result record."""
    reply = make_excerpt(to_json_text(find_quoted_reply(entry)), MAX_QUOTED_REPLY)
    what = f"the replies in the result file and the score file differ. The official verdict refers to {reply}"
    return ImportIssue(str(scores.path), entry.line, what, severity="error")
