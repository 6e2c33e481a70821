"""Compare the replies that failing score entries quote with the replies in the result files.

If results are written anew and the scores are kept, the entries quote other replies, and the
official verdicts say nothing about the results.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.dataset import to_json_text
from fcreview.importers.bfcl.joining import Results, is_same_reply
from fcreview.importers.bfcl.scores import ScoreEntry, ScoreFile
from fcreview.importers.common import quoted_replies
from fcreview.importers.common.jsonl import make_excerpt
from fcreview.model.item import ImportIssue

MAX_QUOTED_REPLY = 160
"""Maximum length of a reply in an issue."""


class QuotedReplies(quoted_replies.QuotedReplies):
    """Comparison of the replies that the failing score entries of a BFCL run quote with the replies
    in the result files.

    `add_category` adds the entries of one category.
    """

    def add_category(self, name: str, results: Results, scores: ScoreFile) -> None:
        """Compare the replies that score entries quote with those in the result file. Different
        ones show that the scores belong to another run.
        """
        for item_id, entry in scores.failing.items():
            if item_id not in results.records or find_quoted_reply(entry) is None:
                continue
            record = results.read_record(item_id)
            if not isinstance(record, dict) or "result" not in record:
                continue
            is_same = is_same_reply(find_quoted_reply(entry), record["result"])
            self.add(name, item_id, is_same=is_same)


def find_quoted_reply(entry: ScoreEntry) -> Any:
    """Return the reply that a score entry quotes; None if it quotes none."""
    for key in ("model_result_raw", "model_result"):
        if key in entry.record:
            return entry.record[key]
    return None


def make_other_reply_issue(scores: ScoreFile, entry: ScoreEntry) -> ImportIssue:
    """Return the issue for an item whose score entry quotes another reply than its result
    record.
    """
    reply = make_excerpt(to_json_text(find_quoted_reply(entry)), MAX_QUOTED_REPLY)
    what = (
        "the replies in the result file and the score file differ. The official verdict refers to"
        f" {reply}"
    )
    return ImportIssue(str(scores.path), entry.line, what=what, severity="error")
