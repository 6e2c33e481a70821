"""HammerBench's figures from scored snapshots, as the generation of its script that fits the log prints them; and the
paper's tables that no script prints.

The same answers give different figures in the two generations, so the generation goes with every figure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter

from fcreview.importers.hammerbench.discovery import TYPES, split_id
from fcreview.importers.hammerbench.judge import DECLINES, JUDGE, declined, snapshot
from fcreview.importers.hammerbench.metrics import OTHER, Conversation, Conversations, Row, flat, per_conversation
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, MetricUnit, cached_on_item

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
FIRST = itemgetter(0)
NO_SCRIPT = "printed by no script: names right, a value wrong, among snapshots of the right function"


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Overall and by type. Text-labelled snapshots (intent shifts) only count for the rejection rate, as nothing
    else is defined."""
    types: dict[str, list[ScoredItem]] = defaultdict(list)
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


def _unit(name: str) -> MetricUnit:
    return "score" if name.startswith("Average") else "share"


def _figure(table: str, name: str, value: float, note: str = "") -> Metric:
    return Metric(table, name, value, _unit(name), note=NO_SCRIPT if name == OTHER else note)


@cached_on_item
def _by_script(item: ScoredItem) -> Row | None:
    """None for a snapshot without a verdict, unless it had one before people differed."""
    return snapshot(item) if _asked(item, "func_ok") and _asked(item, "args_ok") else None


@cached_on_item
def _by_judge(item: ScoredItem) -> Row | None:
    return snapshot(item, JUDGE) if _asked(item, "func_ok") and _asked(item, JUDGE) else None


Seen = Callable[[ScoredItem], Row | None]


def _rows(part: Iterable[ScoredItem], seen: Seen = _by_script) -> Conversation:
    return tuple([row for item in part if (row := seen(item)) is not None])


def _asked(item: ScoredItem, criterion: str) -> bool:
    return criterion in item.values


def _flat(table: str, part: Sequence[ScoredItem]) -> list[Metric]:
    return [_figure(table, name, value) for name, value in flat(_rows(part)).items()]


def _declined(table: str, part: Sequence[ScoredItem]) -> list[Metric]:
    known = [valid for row in part if DECLINES in row.metadata and (valid := declined(row)) is not None]
    note = "the right answer is to decline; the program counts a call to the absent function as right"
    return [Metric(table, "declined", sum(known) / len(known), note=note)] if known else []


def _progress(kind: str, part: Sequence[ScoredItem]) -> list[Metric]:
    """PR and SR (Tables 5 and 9), first and last snapshots (Table 6), and where something is overridden (Table 13)."""
    conversations = _alike(_by_conversation(part).values())
    values = per_conversation(conversations)
    found = [_figure(kind, name, values[name], EARLIER) for name in ("PR", "SR") if values]
    for which, names in (("0", ENDS), ("-1", ENDS), ("mid", MOMENTS)):
        values = per_conversation(conversations, which) if which != "mid" or kind in SHIFTS else {}
        found += [_figure(f"{kind}, {WORDS[which]}", name, values[name], EARLIER) for name in names if values]
    return found


def _conversations(kind: str, part: Sequence[ScoredItem]) -> list[Metric]:
    groups = _by_conversation(part).values()
    rows, judged = _alike(groups), _alike(groups, _by_judge)
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
        found += [Metric(table, f"{name} LLM", by_judge[name]) for name in names]
    return found


def _alike(conversations: Iterable[Sequence[ScoredItem]], seen: Seen = _by_script) -> Conversations:
    return Conversations(_rows(items, seen) for items in conversations)


def _by_conversation(part: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Conversation number -> its snapshots in order."""
    groups: dict[str, list[tuple[int, ScoredItem]]] = defaultdict(list)
    for item in part:
        name, number = _place(item)
        if name is not None:
            groups[name].append((number, item))
    return {name: [item for _, item in sorted(items, key=FIRST)] for name, items in groups.items()}


@cached_on_item
def _place(item: ScoredItem) -> tuple[str | None, int]:
    """(conversation, number in it)"""
    name = None if item.group is None else item.group.rpartition("_")[2]
    return name, split_id(item.id.partition("#")[0])[2]


def _against_base(types: dict[str, list[ScoredItem]], *, single: bool) -> list[Metric]:
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
            found.append(Metric(table, f"{name}, {BASE}", theirs[name], note=note))
            found.append(Metric(table, f"{name}, change", ours[name] - theirs[name], level=1))
    return found


def _ablation(conversations: Sequence[Sequence[ScoredItem]], *, single: bool) -> dict[str, float]:
    """PR and SR by the earlier script; the rest by the one that fits the log, `single` snapshots each for itself."""
    values = per_conversation(_alike(conversations))
    each = flat(_rows(chain(*conversations))) if single else {}
    return values | each if values else {}
