"""A text for a benchmark's maintainers: wrong golden answers by category, each with question, old and new answer,
reason, who settled it, and what the runs here make of it. Markdown, in which nothing that comes from data is read as
markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.exporters.base import Label
from fcreview.exporters.marking import block, code
from fcreview.plan import GoldenFixed
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.text.words import count_of

MODELS = 12
"""Models that are named."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A golden answer that people settled, with what is known of the item."""

    detail: ItemDetail
    label: Label
    fixed: GoldenFixed
    rows: Sequence[QueueRow]
    """The item in every run of the dataset."""

    def as_json(self, root: Path) -> dict[str, Any]:
        """`{"benchmark", "generation", "language", "category", "id", "file", "old", "new", "decided_by", "settled_by",
        "reasons", "runs", "runs_passed"}`; `runs_passed` by the benchmark's own verdict."""
        key = {name: self.label[name] for name in ("benchmark", "generation", "language", "category", "id")}
        return key | {
            "file": self.fixed.path.relative_to(root).as_posix(),
            "old": self.fixed.old,
            "new": self.fixed.new,
            "decided_by": self.label["decided_by"],
            "settled_by": settled_by(self.label),
            "reasons": reasons(self.label),
            "runs": len(self.rows),
            "runs_passed": sum(_own(row) is True for row in self.rows),
        }


def _own(row: QueueRow) -> bool | None:
    return row.official if row.official is not None else row.rule


def settled_by(label: Label) -> list[str]:
    """Who gave the fix: the adjudicators, where they did."""
    same = [said for said in label["opinions"] if said["golden_fix"] == label["golden_fix"]]
    rulers = [said for said in same if said["act"] == "adjudicate"]
    return sorted({said["annotator"] for said in rulers or same})


def reasons(label: Label) -> list[str]:
    return [said["note"] for said in label["opinions"] if said["note"]]


def issue_text(fixes: Sequence[Fix]) -> str:
    categories: dict[tuple[str, str], list[Fix]] = {}
    for fix in fixes:
        categories.setdefault((fix.detail.run.kind, fix.label["category"]), []).append(fix)
    lines = ["# Golden answers that look wrong", ""]
    many = count_of(len(fixes), "golden answer")
    lines += [f"{many} in {count_of(len(categories), 'category', 'categories')}, reviewed by hand."]
    lines += ["Each has a correction; the patch applies to the dataset's files.", ""]
    for (kind, category), part in categories.items():
        lines += [f"## {code(kind)}: {code(category)} ({len(part)})", ""]
        for fix in part:
            lines += [*_section(fix), ""]
    return "\n".join(lines)


def _section(fix: Fix) -> Iterator[str]:
    label, passed = fix.label, [row for row in fix.rows if _own(row) is True]
    yield f"### {code(label['id'])}"
    yield ""
    yield from _part("Question", block(_question(fix.detail)))
    yield from _part("Golden answer now", block(_json(fix.fixed.old), "json"))
    yield from _part("Should be", block(_json(fix.fixed.new), "json"))
    said = reasons(label)
    if said:
        yield from _part("Reason", block("\n\n".join(said)))
    how = "settled by an adjudicator" if label["decided_by"] == "adjudication" else "all who reviewed it agree"
    if label["decided_by"] == "majority":
        how = "more than half of those who reviewed it agree"
    yield f"**Settled**: {how}: {', '.join(map(code, settled_by(label)))}"
    yield ""
    failed = [row.model for row in fix.rows if _own(row) is False]
    named = ", ".join(map(code, failed[:MODELS])) + (
        f" and {len(failed) - MODELS} more" if len(failed) > MODELS else ""
    )
    yield f"**Runs**: {len(passed)} of {len(fix.rows)} pass now" + (f"; failed: {named}" if failed else "")


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"**{title}**"
    yield ""
    yield from lines
    yield ""


def _question(detail: ItemDetail) -> str:
    """What users say; else the one line that lists show."""
    said = [message.content for message in detail.item.messages if message.role == "user"]
    return "\n\n".join(said) or detail.item.question


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
