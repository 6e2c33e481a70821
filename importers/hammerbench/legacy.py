"""What lies beside MT_res.json: the scorer's badcase.csv, and a judge's recorded replies and flags."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonfile import read_json
from fcreview.importers.hammerbench.judged import SAME_NAMES
from fcreview.model import ImportIssue, Item, Verdict


@dataclass(slots=True)
class Companions:
    scores: list[tuple[bool, list[bool]]] = field(default_factory=list)
    """A conversation each, from badcase.csv: the first snapshot's name is right, and args_ok of every snapshot."""
    replies: list[list[str]] = field(default_factory=list)
    flags: list[list[bool]] = field(default_factory=list)

    def add(self, item: Item, conversation: int, snapshot: int) -> None:
        """The official and judge verdicts of one snapshot, where they were recorded."""
        if conversation < len(self.scores):
            named, flags = self.scores[conversation]
            if snapshot < len(flags):
                item.official = named and flags[snapshot]
                official = Verdict("official", item.official, by="badcase.csv")
                item.verdicts.insert(0, official)
                item.verdicts.append(Verdict("official", named, criterion="func_ok", by="badcase.csv, first snapshot"))
                item.verdicts.append(Verdict("official", flags[snapshot], criterion="args_ok", by="badcase.csv"))
        reply = _at(self.replies, conversation, snapshot)
        flag = _at(self.flags, conversation, snapshot)
        if flag is None and reply is not None:
            flag = "True" in reply
        if flag is not None:
            same = item.extra.more[SAME_NAMES] = _same_names(item)
            item.judge = bool(flag) and same
            text = reply.strip() if reply is not None else None
            item.verdicts.append(Verdict("judge", item.judge, rationale=text, by="recorded judge"))
            item.verdicts.append(Verdict("judge", item.judge, criterion="args_ok_llm", by="recorded judge"))
            item.verdicts.append(
                Verdict("judge", bool(flag), criterion="equivalent", rationale=text, by="recorded judge, as replied")
            )


def _same_names(item: Item) -> bool:
    """The evaluator's condition on a judge's yes: same function, same set of arguments."""
    if not item.golden or not item.predicted or item.predicted[0].arguments is None:
        return False
    golden, predicted = item.golden[0], item.predicted[0]
    return golden.name == predicted.name and (golden.arguments or {}).keys() == (predicted.arguments or {}).keys()


def _at(rows: list[list[Any]], conversation: int, snapshot: int) -> Any:
    row = rows[conversation] if conversation < len(rows) else []
    return row[snapshot] if snapshot < len(row) else None


def _size(entry: Any) -> int:
    snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
    return len(snapshots) if isinstance(snapshots, list) else 0


def companions(folder: Path, results: list[Any], issues: list[ImportIssue]) -> Companions:
    found = Companions()
    sizes = [_size(entry) for entry in results]
    if (folder / "badcase.csv").is_file():
        found.scores = _badcase(folder / "badcase.csv", sizes, issues)
    if (folder / "turn_flags_res.json").is_file():
        flags = read_json(folder / "turn_flags_res.json", issues, list) or []
        found.flags = [row if isinstance(row, list) else [] for row in flags]
    if (folder / "LLM_check_response.json").is_file() and (folder / "LLM_check_L.json").is_file():
        replies = read_json(folder / "LLM_check_response.json", issues, list) or []
        offsets = read_json(folder / "LLM_check_L.json", issues, list) or []
        cuts = [int(offset) for offset in offsets if isinstance(offset, int)]
        rows = [[str(r) for r in replies[a:b]] for a, b in pairwise(cuts)]
        if [len(row) for row in rows] == sizes:
            found.replies = rows
        else:
            text = "judge replies do not line up with the snapshots (a filtered copy): only turn_flags_res.json is used"
            issues.append(ImportIssue(str(folder / "LLM_check_response.json"), None, text))
    return found


def _badcase(path: Path, sizes: list[int], issues: list[ImportIssue]) -> list[tuple[bool, list[bool]]]:
    csv.field_size_limit(1 << 27)
    rows: list[tuple[bool, list[bool]]] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                flags = json.loads((row.get("Args") or "[]").lower())
                rows.append((row.get("Func Name") == "True", [bool(flag) for flag in flags]))
    except (OSError, csv.Error, ValueError) as error:
        issues.append(ImportIssue(str(path), len(rows) + 2, f"cannot be read further: {error}"))
    if [len(flags) for _, flags in rows] != sizes:
        issues.append(ImportIssue(str(path), None, "does not line up with MT_res.json: its verdicts are left out"))
        return []
    return rows
