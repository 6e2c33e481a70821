"""The palette: everything that can be done or gone to from a screen, found by typing. Without Textual.

What the palette asks of the store and of what it was lent: queue files, ids, the report, exports.

How well a name fits what was typed, and which of its letters do. Pure.

What the palette lists, and in which order for what was typed. Pure.

Where the palette's entries come from: keys in force, saved filters, queue_orders, queue files, runs, exports. Pure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.errors import FcreviewError
from fcreview.exporters.base import FORMATS
from fcreview.model.sanitize import visible, width
from fcreview.model.wording import count_of, filled
from fcreview.store.filters.saved import SIGN
from fcreview.store.queries.run_lists import folder_of
from fcreview.store.rows import Found, RunRow
from fcreview.store.workspace import at_home
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS, FilterHistory, QueueState, queue_orders
from fcreview.tui.text.lines import Line, Part, cut

if TYPE_CHECKING:
    from fcreview.exporters.base import Benchmarks
    from fcreview.store.rows import View
    from fcreview.store.store import Store


WHOLE_RUNS = ("native", "golden-patch")
"""Formats that write whole runs, whatever the filter."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What the command line lends to the screens: no screen knows an importer."""

    report: Callable[[Store, Sequence[int], Callable[[], bool]], str]
    """The tables of these runs (none: all) as text; what is there so far once the last says that nobody waits any more.
    StoreError in blind mode."""
    benchmarks: Callable[[Callable[[str], None]], Benchmarks]
    """Takes what hears of what could not be written."""


@dataclass(frozen=True, slots=True)
class QueueFiles:
    names: Sequence[str]
    mine: set[str]
    """Those with a share for the annotator who asks."""


def queue_files(store: Store) -> QueueFiles:
    from fcreview.store.queues.queue_file import QueueError, queue_names, read_queue

    names, mine = queue_names(store.workspace), set()
    for name in names:
        try:
            if read_queue(store.workspace, name).share_of(store.annotator):
                mine.add(name)
        except QueueError:
            continue
    return QueueFiles(names, mine)


def is_there(path: str) -> bool:
    return bool(path) and os.path.exists(at_home(Path(path)))  # noqa: PTH110 - a name may be too long


@dataclass(frozen=True, slots=True)
class Export:
    format: str
    path: str
    view: View


def write(store: Store, wanted: Export, lent: Lent | None) -> str:
    """What was written, in words. FcreviewError says why nothing was."""
    from fcreview.exporters.base import ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, export

    if wanted.path == STANDARD_OUTPUT:
        raise FcreviewError("the screen is no place for an export: name a file")
    told: list[str] = []
    benchmarks = lent.benchmarks(told.append) if lent is not None else None
    whole = wanted.format in WHOLE_RUNS
    view = replace(wanted.view, where="", queue="dataset", share=False) if whole else wanted.view
    path = at_home(Path(wanted.path))
    try:
        counts = export(store, wanted.format, path, view, benchmarks=benchmarks)
    except ExportError as error:  # the reason first: the line may be short
        raise FcreviewError(f"not written: {str(error).removeprefix(f'{path}: ')}: {path}") from error
    said = " and ".join(count_of(number, noun) for noun, number in counts.items()) or "nothing"
    more = f"; {told[0]}" + (f", and {len(told) - 1} more" if len(told) > 1 else "") if told else ""
    return f"{said} of {'whole runs' if whole else 'the items shown'} in {wanted.path}{more}"


WHOLE, START, WORD, INSIDE, ACROSS, SAID = 1000, 300, 100, 50, 20, 5
"""The name is what was typed, begins with it; a word of it begins with a word that was typed, or holds it; its letters
come one after the other in it; they stand in what is said of it."""


LONGEST = 300
"""Letters of a name that are looked at: what it takes grows with their square, and this is done at each key."""


@dataclass(frozen=True, slots=True)
class Fit:
    score: int
    marks: tuple[int, ...] = ()
    """Places of the letters that fit, in order."""
    loose: bool = False
    """Some word is there letter by letter only."""


def fit(name: str, typed: str, says: str = "") -> Fit | None:
    """None where some word that was typed is in neither text. Every word counts, in whatever order they stand."""
    name = name[:LONGEST]
    low, parts = name.lower(), typed.lower().split()
    if len(low) != len(name):  # a letter that becomes two: places would be off
        low = name
    score, marks, loose = 0, set[int](), False
    for part in parts:
        found = _word(low, part)
        if found is None and len(part) > 1 and part in says.lower():
            found = Fit(SAID)
        if found is None:
            return None
        score, loose = score + found.score, loose or found.loose
        marks.update(found.marks)
    whole = " ".join(parts)
    score += WHOLE if low == whole else START if parts and low.startswith(whole) else 0
    return Fit(score - min(len(name), 40) // 4, tuple(sorted(marks)), loose)


def _word(name: str, part: str) -> Fit | None:
    starts = [at for at in range(len(name)) if name.startswith(part, at)]
    at_word = next((at for at in starts if _begins(name, at)), None)
    if at_word is not None:
        return Fit(WORD - min(at_word, 30), tuple(range(at_word, at_word + len(part))))
    if starts:
        return Fit(INSIDE - min(starts[0], 30), tuple(range(starts[0], starts[0] + len(part))))
    return _across(name, part)


def _across(name: str, part: str) -> Fit | None:
    """From the beginning of a word on, letter by letter: `fw` in `failures, worst`. Gaps count against it."""
    for start in (at for at in range(len(name)) if name[at] == part[0] and _begins(name, at)):
        marks, at = [start], start + 1
        for letter in part[1:]:
            found = next((p for p in range(at, len(name)) if name[p] == letter and _begins(name, p)), -1)
            near = name.find(letter, at)
            found = near if near == at or found < 0 else found
            if found < 0:
                break
            marks.append(found)
            at = found + 1
        else:
            gaps = marks[-1] - marks[0] + 1 - len(part)
            return Fit(max(ACROSS - gaps, 1), tuple(marks), loose=True) if gaps <= 3 * len(part) + 6 else None
    return None


def _begins(name: str, at: int) -> bool:
    return at == 0 or (name[at].isalnum() and not name[at - 1].isalnum())


KEY = 5
"""Cells for the key of an action."""
MOST = 300
"""Lines that are shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str
    """`action`, `filter`, `item`, `run`, `order`, `queue`, `report`, `export`, `save` or `forget`: what is done."""
    text: str
    """Visible; what is typed is looked for in it, then in `says`."""
    says: str = ""
    key: str = ""
    value: Any = None
    wants: str = ""
    """What is typed behind its text, `FILE` or `NAME`: nothing is done without."""
    usable: bool = True
    """Else `says` is why not."""


@dataclass(frozen=True, slots=True)
class Match:
    entry: Entry
    marks: tuple[int, ...] = ()
    """Places in the entry's text that fit what was typed."""
    argument: str = ""
    """What was typed behind its text."""


def ranked(entries: Iterable[Entry], typed: str) -> list[Match]:
    """The best first; those that fit equally well, and all where nothing was typed, as they were handed in. What fits
    letter by letter only is left out where something fits better."""
    if not typed.strip():
        return [Match(entry) for entry in entries][:MOST]
    found: list[tuple[Fit, Match]] = []
    for entry in entries:
        argument = argument_of(entry, typed)
        if argument is not None:
            found.append((Fit(10_000), Match(entry, tuple(range(len(entry.text))), argument)))
        elif (fitted := fit(entry.text, typed, entry.says)) is not None:
            found.append((fitted, Match(entry, fitted.marks)))
    loose = all(fitted.loose for fitted, _ in found)
    found = [each for each in found if each[0].loose == loose]
    return [match for _, match in sorted(found, key=lambda each: -each[0].score)][:MOST]


def argument_of(entry: Entry, typed: str) -> str | None:
    """What was typed behind the text of an entry that wants something; None if its text was not typed."""
    head = entry.text + " "
    if not entry.wants or not typed.lstrip().lower().startswith(head.lower()):
        return None
    return typed.lstrip()[len(head) :].strip()


def merged(first: Sequence[Match], items: Sequence[Match], typed: str) -> list[Match]:
    """Items behind the rest: they come later, and what stands under the cursor stays there. The one whose id was typed
    comes first: it is what was meant."""
    meant = [match for match in items if match.entry.text.lower() == typed.strip().lower()]
    return [*meant, *first, *(match for match in items if match not in meant)][:MOST]


def line_of(match: Match, cells: int) -> Line:
    """`   f  filter   what it means   action`, `cells` wide."""
    entry = match.entry
    kind = f" {entry.kind}"
    room = cells - KEY - 2 - width(kind)
    text = cut(entry.text, room)
    style = "" if entry.usable else "dim"
    parts: list[Part] = [(f"{cut(entry.key, KEY):>{KEY}}  ", "key"), *_marked(text, match.marks, style)]
    wanted = f" {match.argument or entry.wants}" if entry.wants else ""
    left = room - width(text)
    if wanted and left > 3:
        wanted = cut(visible(wanted), left)
        parts.append((wanted, "strong" if match.argument else "dim"))
        left -= width(wanted)
    said = cut("  " + entry.says, left) if entry.says and left > 6 else ""
    parts.append((filled(said, left), "dim" if entry.usable else "warn"))
    return (*parts, (kind, "dim"))


def _marked(text: str, marks: Sequence[int], style: str) -> list[Part]:
    parts: list[Part] = []
    for at, letter in enumerate(text):
        look = "match" if at in marks else style
        if parts and parts[-1][1] == look:
            parts[-1] = (parts[-1][0] + letter, look)
        else:
            parts.append((letter, look))
    return parts


def unusable(entry: Entry, why: str) -> Entry:
    return replace(entry, says=why, usable=False)


HIDDEN = "hidden in blind mode, it tells what others found"


class Doable(Protocol):
    """A key that is in force."""

    @property
    def key(self) -> str: ...

    @property
    def says(self) -> str: ...


def action_entries(keys: Iterable[Doable]) -> list[Entry]:
    return [Entry("action", each.says, key=each.key, value=each) for each in keys]


def filter_entries(typed: FilterHistory) -> list[Entry]:
    """Those that are not understood any more stand there with the reason."""
    made = []
    for name, text in typed.saved.items():
        entry = Entry("filter", SIGN + name, visible(text), value=text)
        why = typed.problem(text)
        made.append(unusable(entry, visible(why)) if why else entry)
    return made


def order_entries(state: QueueState) -> list[Entry]:
    named = queue_orders(state.blind, state.file)
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


def keeping_entries(state: QueueState, typed: FilterHistory) -> list[Entry]:
    where = state.combined_filter()
    made = [Entry("save", "save filter", visible(where), value=where, wants="NAME")] if where else []
    return made + [Entry("forget", f"forget {SIGN}{name}", value=name) for name in typed.saved]


def item_matches(found: Sequence[Found], typed: str) -> list[Match]:
    made = []
    for each in found:
        many = f", in {count_of(each.runs, 'run')}" if each.runs > 1 else ""
        entry = Entry("item", visible(each.id), visible(each.category) + many, value=each.item)
        fitted = fit(entry.text, typed)
        made.append(Match(entry, fitted.marks if fitted else ()))
    return made


def argument_problem(match: Match, typed: FilterHistory, there: Any) -> str:
    """What is asked before something is replaced; `there(path)`: whether that file exists. Empty if nothing is."""
    entry, name = match.entry, match.argument.removeprefix(SIGN)
    if entry.kind == "save" and name in typed.saved:
        return f"it is there: enter again replaces {SIGN}{visible(name)}"
    if entry.kind == "export" and there(match.argument):
        return f"it is there: enter again replaces {visible(match.argument)}"
    return ""
