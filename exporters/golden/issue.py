"""A text for a benchmark's maintainers: wrong golden answers by category, each with question, old and new answer,
reason, who settled it, and what the runs here make of it. Markdown, in which nothing that comes from data is read as
markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.errata.entry import Entry
from fcreview.exporters.marking import block, code, titled
from fcreview.text.words import count_of

MODELS = 12
"""Models that are named."""


def issue_text(entries: Sequence[Entry], *, patch: bool) -> str:
    """`patch`: a patch of the dataset's files goes with it."""
    categories: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        categories.setdefault((entry.title or entry.benchmark, entry.category), []).append(entry)
    lines = ["# Golden answers that look wrong", ""]
    many = count_of(len(entries), "golden answer")
    lines += [f"{many} in {count_of(len(categories), 'category', 'categories')}, reviewed by hand."]
    lines += ["Each has a correction; the patch applies to the dataset's files." if patch else "Each has a correction."]
    lines += [""]
    for (kind, category), part in categories.items():
        lines += [f"## {code(kind)}: {code(category)} ({len(part)})", ""]
        for entry in part:
            lines += [*_section(entry), ""]
    return "\n".join(lines)


def _section(entry: Entry) -> Iterator[str]:
    yield f"### {code(entry.id)}"
    yield ""
    yield from titled("Question", block(entry.question))
    yield from titled("Golden answer now", block(_json(entry.old), "json"))
    yield from titled("Should be", block(_json(entry.new), "json"))
    if entry.reasons:
        yield from titled("Reason", block("\n\n".join(entry.reasons)))
    how = "settled by an adjudicator" if entry.decided_by == "adjudication" else "all who reviewed it agree"
    if entry.decided_by == "majority":
        how = "more than half of those who reviewed it agree"
    yield f"**Settled**: {how}: {', '.join(map(code, entry.settled_by))}"
    yield ""
    seen, failed = entry.evidence, entry.evidence.failed
    named = ", ".join(map(code, failed[:MODELS])) + (
        f" and {len(failed) - MODELS} more" if len(failed) > MODELS else ""
    )
    yield f"**Runs**: {seen.passed} of {seen.runs} pass now" + (f"; failed: {named}" if failed else "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
