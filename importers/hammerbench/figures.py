"""HammerBench's figures from scored snapshots, as the generation of its script that fits the log prints them; and the
paper's tables that no script prints.

The same answers give different figures in the two generations, so the generation goes with every figure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from fcreview.figures import Figure, Scored, Unit
from fcreview.importers.hammerbench.files import TYPES, split_id
from fcreview.importers.hammerbench.judged import DECLINES, JUDGE, declined, snapshot
from fcreview.importers.hammerbench.metrics import OTHER, Row, flat, per_conversation
from fcreview.model import Run

FROM_BADCASE = ("Func_Acc", "Args_Acc", "PR", "SR")
"""What badcase.csv is enough for."""
BASE = "Based"
MULTI_TURN = tuple(name for name in TYPES if name != "IS")
WORDS = {"all": "all snapshots", "0": "first snapshot", "-1": "last snapshot", "mid": "override moment"}
"""The earlier script's selectors."""
ENDS = ("Func_Acc", "PN_FP", "PN_FN", OTHER, "Args_Acc")
"""Of single snapshots of a flat log: the paper's Table 6."""
SHIFTS = ("SO_case1", "SO_case2", "mSv", "External")
"""Where something is overridden or referred to."""
MOMENTS = (*ENDS, "PR", "SR")
"""Table 13."""
ABLATION = ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc", "PR", "SR")
"""Tables 10 and 12."""
EARLIER = "by the earlier script's rule: after a wrong function in the first snapshot nothing counts"
NO_SCRIPT = "printed by no script: names right, a value wrong, among snapshots of the right function"


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """Overall and by type. Text-labelled snapshots (intent shifts) only count for the rejection rate, as nothing
    else is defined."""
    types: dict[str, list[Scored]] = defaultdict(list)
    for row in rows:
        types[row.category].append(row)
    if run.generation == "conversation":
        found = [figure for name, part in types.items() for figure in _conversations(name, part)]
        return found + _against_base(types, single=False)
    plain = [row for row in rows if row.category != "IS"]
    found = _flat("all types", plain)
    for name, part in types.items():
        found += _declined(name, part) if name == "IS" or name.startswith("ir_") else []
        found += _flat(name, part) if name != "IS" else []
        found += _progress(name, part) if name in MULTI_TURN else []
    return found + _against_base(types, single=True)


def _unit(name: str) -> Unit:
    return "score" if name.startswith("Average") else "share"


def _figure(table: str, name: str, value: float, note: str = "") -> Figure:
    return Figure(table, name, value, _unit(name), note=NO_SCRIPT if name == OTHER else note)


def _rows(part: Sequence[Scored], criterion: str = "args_ok") -> list[Row]:
    """The snapshots that have a verdict on the criterion, or had one before people differed."""
    return [snapshot(item, criterion) for item in part if _asked(item, "func_ok") and _asked(item, criterion)]


def _asked(item: Scored, criterion: str) -> bool:
    return criterion in item.values


def _flat(table: str, part: Sequence[Scored]) -> list[Figure]:
    return [_figure(table, name, value) for name, value in flat(_rows(part)).items()]


def _declined(table: str, part: Sequence[Scored]) -> list[Figure]:
    known = [valid for row in part if DECLINES in row.more and (valid := declined(row)) is not None]
    note = "the right answer is to decline; the program counts a call to the absent function as right"
    return [Figure(table, "declined", sum(known) / len(known), note=note)] if known else []


def _progress(kind: str, part: Sequence[Scored]) -> list[Figure]:
    """PR and SR (Tables 5 and 9), first and last snapshots (Table 6), and where something is overridden (Table 13)."""
    conversations = _grouped(part)
    values = per_conversation(conversations)
    found = [_figure(kind, name, values[name], EARLIER) for name in ("PR", "SR") if values]
    for which, names in (("0", ENDS), ("-1", ENDS), ("mid", MOMENTS)):
        values = per_conversation(conversations, which) if which != "mid" or kind in SHIFTS else {}
        found += [_figure(f"{kind}, {WORDS[which]}", name, values[name], EARLIER) for name in names if values]
    return found


def _conversations(kind: str, part: Sequence[Scored]) -> list[Figure]:
    rows, judged = _grouped(part), _grouped(part, JUDGE)
    recorded = any(_asked(item, "hallucinated") for item in part)
    found = []
    for which, word in WORDS.items():
        table = f"{kind}, {word}"
        if which == "mid" and kind not in SHIFTS:
            continue
        values = per_conversation(rows, which)
        found += [_figure(table, name, value) for name, value in values.items() if recorded or name in FROM_BADCASE]
        by_judge = per_conversation(judged, which)
        names = FROM_BADCASE[1:] if by_judge else ()
        found += [Figure(table, f"{name} LLM", by_judge[name]) for name in names]
    return found


def _grouped(part: Sequence[Scored], criterion: str = "args_ok") -> list[list[Row]]:
    return [_rows(items, criterion) for items in _by_conversation(part).values()]


def _by_conversation(part: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Conversation number -> its snapshots in order."""
    groups: dict[str, list[Scored]] = defaultdict(list)
    for item in part:
        if item.group is not None:
            groups[item.group.rpartition("_")[2]].append(item)
    return {name: sorted(items, key=_number) for name, items in groups.items()}


def _number(item: Scored) -> int:
    return split_id(item.id.partition("#")[0])[2]


def _against_base(types: dict[str, list[Scored]], *, single: bool) -> list[Figure]:
    """The base set on the same conversations, and the change to it (Tables 10 and 12)."""
    found = []
    base = _by_conversation(types.get(BASE, []))
    for kind in MULTI_TURN if base else ():
        own = _by_conversation(types.get(kind, []))
        both = [name for name in own if name in base]
        if kind == BASE or not both:
            continue
        ours = _ablation([own[name] for name in both], single=single)
        theirs = _ablation([base[name] for name in both], single=single)
        note = f"{len(both)} conversations that both have"
        for name in ABLATION if ours and theirs else ():
            table = f"{kind} against {BASE}"
            found.append(Figure(table, f"{name}, {BASE}", theirs[name], note=note))
            found.append(Figure(table, f"{name}, change", ours[name] - theirs[name], level=1))
    return found


def _ablation(conversations: Sequence[Sequence[Scored]], *, single: bool) -> dict[str, float]:
    """PR and SR by the earlier script; the rest by the one that fits the log, `single` snapshots each for itself."""
    rows = [_rows(items) for items in conversations]
    values = per_conversation(rows)
    return values | {name: value for name, value in flat([*chain(*rows)]).items() if single} if values else {}
