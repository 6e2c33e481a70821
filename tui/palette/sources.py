"""Where the palette's entries come from: keys in force, saved filters, orders, queue files, runs, exports. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from fcreview.exporters.registry import FORMATS
from fcreview.sanitise import visible
from fcreview.store.comparing.run_lists import folder_of
from fcreview.store.filters.saved import SIGN
from fcreview.store.rows import Found, RunRow
from fcreview.text.words import count_of
from fcreview.tui.palette.entries import Entry, Match, unusable
from fcreview.tui.palette.fuzzy import fit
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.history import Typed
from fcreview.tui.queue.state import ALL_RUNS, QueueState, orders

HIDDEN = "hidden in blind mode, it tells what others found"


class Doable(Protocol):
    """A key that is in force."""

    @property
    def key(self) -> str: ...

    @property
    def says(self) -> str: ...


def action_entries(keys: Iterable[Doable]) -> list[Entry]:
    return [Entry("action", each.says, key=each.key, value=each) for each in keys]


def filter_entries(typed: Typed) -> list[Entry]:
    """Those that are not understood any more stand there with the reason."""
    made = []
    for name, text in typed.every.items():
        entry = Entry("filter", SIGN + name, visible(text), value=text)
        why = typed.problem(text)
        made.append(unusable(entry, visible(why)) if why else entry)
    return made


def order_entries(state: QueueState) -> list[Entry]:
    named = orders(state.blind, state.file)
    return [Entry("order", f"order {visible(name)}", says, value=name) for name, says in named.items()]


def queue_entries(names: Sequence[str], mine: set[str], state: QueueState) -> list[Entry]:
    """Queue files; of those that have no share for this annotator, that."""
    made = []
    for name in names:
        if name != state.file:
            entry = Entry("queue", f"queue {visible(name)}", "your share of the queue file", value=name)
            made.append(entry if name in mine else unusable(entry, "it has no share for you"))
    return made


def run_entries(runs: Sequence[RunRow]) -> list[Entry]:
    """Nothing of their rates: a blind annotator sees the same."""
    if len(runs) < 2:
        return []
    models = Counter(run.info.model for run in runs)
    made = [Entry("run", "all runs", count_of(len(runs), "run"), value=ALL_RUNS)]
    for run in runs:
        where = folder_of(run) if models[run.info.model] > 1 else ""
        said = ", ".join(filter(None, (run_title(run), visible(where), count_of(run.n_items, "item"))))
        made.append(Entry("run", visible(run.info.model), said, value=run.run))
    return made


def leaving_entries(state: QueueState, *, can_report: bool) -> list[Entry]:
    """What is taken away: the report, and exports of what is shown."""
    made = [Entry("report", "report", "figures of the runs that are shown")] if can_report else []
    made += [Entry("export", f"export {each.name}", each.help, value=each.name, wants="FILE") for each in FORMATS]
    return [unusable(entry, HIDDEN) for entry in made] if state.blind else made


def keeping_entries(state: QueueState, typed: Typed) -> list[Entry]:
    where = state.combined()
    made = [Entry("save", "save filter", visible(where), value=where, wants="NAME")] if where else []
    return made + [Entry("forget", f"forget {SIGN}{name}", value=name) for name in typed.every]


def item_matches(found: Sequence[Found], typed: str) -> list[Match]:
    made = []
    for each in found:
        many = f", in {count_of(each.runs, 'run')}" if each.runs > 1 else ""
        entry = Entry("item", visible(each.id), visible(each.category) + many, value=each.item)
        fitted = fit(entry.text, typed)
        made.append(Match(entry, fitted.marks if fitted else ()))
    return made


def argument_problem(match: Match, typed: Typed, there: Any) -> str:
    """What is asked before something is replaced; `there(path)`: whether that file exists. Empty if nothing is."""
    entry, name = match.entry, match.argument.removeprefix(SIGN)
    if entry.kind == "save" and name in typed.every:
        return f"it is there: enter again replaces {SIGN}{visible(name)}"
    if entry.kind == "export" and there(match.argument):
        return f"it is there: enter again replaces {visible(match.argument)}"
    return ""
