"""HammerBench's verdict files by what people say: `badcase.csv`, and a judge's flags and replies beside it.

Only the per-conversation generation has such files. A flat log holds answers and labels, and what the script prints of
them stands nowhere: there is no place in it for what people say. What the scripts printed is not copied.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.common.jsonfile import read_json
from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.said import Key, own, without_place
from fcreview.importers.hammerbench.files import split_id, type_of_folder
from fcreview.importers.hammerbench.judged import JUDGE, SAME_NAMES, snapshot
from fcreview.importers.hammerbench.legacy import Companions, companions
from fcreview.importers.hammerbench.writing.badcase import Flags, with_flags
from fcreview.plan import NoPlace, Rewritten, RunPlan
from fcreview.review import CORRECT
from fcreview.targets import ITEM

BADCASE, FLAGS, REPLIES = "badcase.csv", "turn_flags_res.json", "LLM_check_response.json"
BY_JUDGE = {JUDGE, "equivalent"}
Place = tuple[int, int]
"""(conversation, snapshot), both from 0."""


def rewrite(plan: RunPlan, rows: Sequence[Scored]) -> Iterator[Rewritten | NoPlace]:
    found: list[Rewritten] = []
    named: dict[str, bool] = {}
    for path in plan.results:
        if path.name != "MT_res.json" or not any(row.overruled for row in rows):
            continue
        results = read_json(path, [], list) or []
        part = placed(path, results, rows)
        beside = companions(path.parent, results, [])
        flags = [_flags(c, before, part) for c, before in enumerate(beside.scores)]
        named |= {row.id: flags[c].named for (c, _), row in part.items() if c < len(flags)}
        found += _files(path.parent, part, beside, flags)
    yield from without_place(rows, lambda row, key: _held(row, key, named.get(row.id)))
    right = [row for row in rows if row.id in named and own(row) is True]
    if refused := sum(JUDGE in row.values and not row.more.get(SAME_NAMES) for row in right):
        yield NoPlace("the judge's yes to right answers with other names than the golden ones", refused)
    if rejecting := sum(row.values.get("rejected") is True for row in right):
        yield NoPlace("that right answers are no rejections: the script looks for the word itself", rejecting)
    yield from found


def summaries(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.results if path.name == "MT_res.json")
    return [path for folder in folders for path in sorted(folder.glob("evaluate_stdout_*.txt"))]


def _held(row: Scored, key: Key, named: bool | None) -> bool:
    """The name counts in the first snapshot only; the evaluator takes no judge's yes for other names of arguments.
    `named` is the file's word on the conversation's function, None without a file: no snapshot is right without it."""
    target, criterion = key
    if target != ITEM:
        return False
    if criterion in BY_JUDGE:
        return SAME_NAMES in row.more and (row.overruled[key] is False or bool(row.more[SAME_NAMES]))
    if named is None:
        return False
    if criterion == "func_ok":
        return split_id(row.id)[2] == 1
    return criterion == "args_ok" or (criterion == CORRECT and (named or row.overruled[key] is False))


def placed(path: Path, results: Sequence[Any], rows: Sequence[Scored]) -> dict[Place, Scored]:
    """The items of one `MT_res.json` by their place in it: named as `read` names them."""
    kind = type_of_folder(path.parent) or path.parent.name
    source = path.parent / "MT_0.json"
    known = (read_json(source, [], list) or []) if source.is_file() else []
    by_id: dict[str, list[Scored]] = defaultdict(list)
    for row in rows:
        if row.category == kind:
            by_id[row.id].append(row)
    found: dict[Place, Scored] = {}
    for c, entry in enumerate(results):
        snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
        record = known[c] if c < len(known) and isinstance(known[c], dict) else {}
        for s in range(len(snapshots) if isinstance(snapshots, list) else 0):
            same = by_id.get(f"{kind}_{record.get('id', c)}_{s + 1}")
            if same:
                found[c, s] = same.pop(0)
    return found


def _files(
    folder: Path, rows: Mapping[Place, Scored], beside: Companions, flags: Sequence[Flags]
) -> Iterator[Rewritten]:
    if flags:
        path = folder / BADCASE
        new = with_flags(read_whole(path), flags)
        if new is not None:
            yield Rewritten(path, new)
    said = {place: value for place, row in rows.items() if (value := _judge(row)) is not None}
    changed = {place: value for place, value in said.items() if _stated(beside, place) not in (None, value)}
    if changed and beside.flags:
        replied = [list(row) for row in beside.flags]
        for (conversation, at), value in changed.items():
            replied[conversation][at] = value
        yield Rewritten(folder / FLAGS, _indented(replied, read_whole(folder / FLAGS)))
    if changed and beside.replies:
        replies = [list(row) for row in beside.replies]
        for (conversation, at), value in changed.items():
            replies[conversation][at] = f" {value}"
        flat = [reply for row in replies for reply in row]
        yield Rewritten(folder / REPLIES, _indented(flat, read_whole(folder / REPLIES)))


def _flags(conversation: int, before: tuple[bool, list[bool]], rows: Mapping[Place, Scored]) -> Flags:
    named, flags = before
    first = rows.get((conversation, 0))
    if first is not None and first.overruled:
        said = snapshot(first).func_ok
        named = named if said is None else said
    new = list(flags)
    for at in range(len(flags)):
        row = rows.get((conversation, at))
        said = snapshot(row).args_ok if row is not None and row.overruled else None
        new[at] = flags[at] if said is None else said
    return Flags(named, new)


def _judge(row: Scored) -> bool | None:
    """What the judge would have replied for the verdict that people's words come to."""
    if not row.overruled or JUDGE not in row.values:
        return None
    said = snapshot(row, JUDGE).args_ok
    if (ITEM, "equivalent") in row.overruled and isinstance(row.overruled[ITEM, "equivalent"], bool):
        return bool(row.overruled[ITEM, "equivalent"])
    return None if said is None or (not said and not row.more.get(SAME_NAMES)) else said


def _stated(beside: Companions, place: Place) -> bool | None:
    conversation, at = place
    rows: list[list[Any]] = beside.flags or beside.replies
    row = rows[conversation] if conversation < len(rows) else []
    if at >= len(row):
        return None
    return bool(row[at]) if beside.flags else "True" in row[at]


def _indented(value: Any, like: bytes) -> bytes:
    """JSON indented as the file was."""
    second = like.split(b"\n", 2)[1] if b"\n" in like else b""
    indent = len(second) - len(second.lstrip(b" ")) or None
    text = json.dumps(value, ensure_ascii=like.isascii(), indent=indent)
    return text.encode("utf-8", "backslashreplace") + (b"\n" if like.endswith(b"\n") else b"")
