"""A run as files of newline-delimited JSON: items and function documents, ready to be loaded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from fcreview.model import ImportIssue, Item
from fcreview.store.importing.lines import FunctionDocuments, Shared, dump, item_line
from fcreview.text.redact import text_without_keys, without_credentials, without_keys

REPORT_EVERY = 500
"""Items between two reports of progress."""


@dataclass(slots=True)
class Part:
    """One run as files, ready to load."""

    run: int
    items: Path
    functions: Path
    n_items: int = 0
    longest: int = 0
    """Bytes of the longest line of `items`."""
    longest_document: int = 0
    """Bytes of the longest line of `functions`."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """{file, line, what, raw, item, severity} and `seq`, the item's number in the run, or null."""


def write_part(
    read: Iterable[Item | ImportIssue],
    run: int,
    stem: Path,
    short: Callable[[str], str],
    shared: Shared,
    report: Callable[[int], None] | None = None,
) -> Part:
    """Writes `stem`.items and `stem`.functions. `short` gives a path as the store keeps it; `report` is told the bytes
    of the result files that were read so far. What `read` raises is passed on."""
    part = Part(run, stem.with_suffix(".items"), stem.with_suffix(".functions"))
    paths: dict[str, str] = {}
    n_bytes = seq = 0
    with part.items.open("wb") as lines, part.functions.open("wb") as documents:
        functions = FunctionDocuments(documents, shared)
        for item in read:
            if isinstance(item, ImportIssue):
                part.issues.append(_issue(item, None, None))
                continue
            file = paths.get(item.file)
            if file is None:
                file = paths[item.file] = short(item.file) if item.file else ""
            item.file = file
            line = item_line(run, seq, item, functions)
            lines.write(line)
            if len(line) > part.longest:
                part.longest = len(line)
            if item.issues:
                part.issues.extend(_issue(issue, item.id, seq) for issue in item.issues)
            seq += 1
            n_bytes += item.length
            if report is not None and not seq % REPORT_EVERY:
                report(n_bytes)
        part.longest_document = functions.longest
    part.n_items = seq
    return part


def read_line(part: Part, number: int) -> dict[str, Any] | None:
    """A line of `part.items`, from 1; None if there is none."""
    with part.items.open("rb") as lines:
        for line in itertools.islice(lines, number - 1, number):
            found: dict[str, Any] = orjson.loads(line)
            return found
    return None


def settings_without_keys(value: dict[str, Any]) -> Any:
    """Of a run. What names it (model, benchmark, path) stays as it is: it is known by that."""
    return orjson.loads(without_keys(dump(without_credentials(value))))


def _issue(issue: ImportIssue, item: str | None, seq: int | None) -> dict[str, Any]:
    what, raw = text_without_keys(issue.what), issue.raw and text_without_keys(issue.raw)
    return {**asdict(issue), "what": what, "raw": raw, "item": issue.item or item, "seq": seq}


def issue_rows(issues: Iterable[dict[str, Any]], run: int | None, short: Callable[[str], str]) -> Iterator[bytes]:
    """Lines for the table `import_issues`."""
    for issue in issues:
        seq = issue.get("seq")
        row = {k: issue[k] for k in ("line", "what", "raw", "severity")}
        row["file"] = short(issue["file"]) if issue["file"] else ""
        row |= {"run": run, "item": None if seq is None or run is None else (run << 32) + seq, "id": issue["item"]}
        yield dump(row)
