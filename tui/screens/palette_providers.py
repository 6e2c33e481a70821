"""Providers of the command palette: one for each kind of command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, cast

from textual.command import Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from fcreview.exporters.base import FORMATS
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of
from fcreview.store.filters.saved import SIGN
from fcreview.store.queries.run_lists import folder_of
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS, queue_orders
from fcreview.tui.text.fuzzy import FuzzyMatch, match_words
from fcreview.tui.text.lines import cut

if TYPE_CHECKING:
    from textual.types import IgnoreReturnCallbackType

    from fcreview.tui.screens.palette_target import PaletteTarget

MAX_HITS = 300
"""Hits of one provider."""
KIND_CELLS = 8
MAX_CELLS = 200
"""Cells of a name or help text that are drawn."""
EXACT_ITEM = 10_000
"""Score of an item whose whole id was typed. All other items come last."""
HIDDEN = "hidden in blind mode, it tells what others found"


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    kind: str
    label: str
    """Sanitised, like `help` and `key`: what the query is matched with."""
    run: Callable[..., object]
    """Called without arguments, or with what was typed behind the label if the command takes an argument."""
    help: str = ""
    key: str = ""
    argument: str = ""
    """`FILE` or `NAME` if the command takes an argument."""

    def argument_in(self, query: str) -> str:
        """What was typed behind the label."""
        head = f"{self.label} ".lower()
        return query[len(head) :].strip() if self.argument and query.lower().startswith(head) else ""

    def display(self, match: FuzzyMatch, match_style: Style, argument: str = "") -> Content:
        """One line: kind, key, label and help. Never parsed as markup."""
        start = f" {self.kind:7}{self.key:>6}  "
        label = cut(self.label, MAX_CELLS)
        behind = visible(argument) or self.argument
        text = start + label + (f" {behind}" if behind else "")
        content = Content(f"{text}  {cut(self.help, MAX_CELLS)}").stylize("dim", 0, KIND_CELLS)
        content = content.stylize("bold", KIND_CELLS, len(start)).stylize("dim", len(text))
        for at in match.positions:
            content = content.stylize(match_style, len(start) + at, min(len(start) + at + 1, len(start + label)))
        return content


class PaletteProvider(Provider):
    """Base class: lists the commands of one kind and matches them with the query."""

    RANK: ClassVar[int]
    """Place among the providers before anything is typed. Textual itself orders them at random."""

    def __init__(self, target: PaletteTarget, screen: Screen[object], match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self.target = target

    def commands(self) -> Iterable[PaletteCommand]:
        raise NotImplementedError

    async def discover(self) -> Hits:
        for at, command in enumerate(islice(self.commands(), MAX_HITS)):
            yield self._hit(command, -float(self.RANK * MAX_HITS + at), FuzzyMatch(0))

    async def search(self, query: str) -> Hits:
        found: list[Hit] = []
        for command in self.commands():
            if argument := command.argument_in(query):
                found.append(self._hit(command, EXACT_ITEM, FuzzyMatch(0), argument))
            elif match := match_words(command.label, query, command.help):
                found.append(self._hit(command, match.score, match))
        for hit in sorted(found, key=lambda hit: -hit.score)[:MAX_HITS]:
            yield hit

    def _hit(self, command: PaletteCommand, score: float, match: FuzzyMatch, argument: str = "") -> Hit:
        display = command.display(match, self.match_style or Style(), argument)
        run = partial(command.run, argument) if command.argument else command.run
        return Hit(score, display, cast("IgnoreReturnCallbackType", run), text=command.label)

    def disabled(self, kind: str, label: str, reason: str) -> PaletteCommand:
        """A command that only says why it is not available."""
        return PaletteCommand(kind, label, partial(self.target.say, f"{label}: {reason}"), reason)


class ActionProvider(PaletteProvider):
    """The actions available on the screen, with their keys."""

    RANK = 0
    SHARED = False

    def commands(self) -> Iterable[PaletteCommand]:
        for action in self.target.actions:
            if action.shared == self.SHARED:
                yield PaletteCommand("action", action.says, action.do, key=action.key)


class SharedActionProvider(ActionProvider):
    """Actions that many screens have, such as moving in a list."""

    RANK = 6
    SHARED = True


class FilterProvider(PaletteProvider):
    """Saved filters."""

    RANK = 1

    def commands(self) -> Iterable[PaletteCommand]:
        target, saved = self.target, self.target.session.typed
        for name, where in saved.saved.items():
            if reason := saved.problem(where):
                yield self.disabled("filter", visible(SIGN + name), visible(reason))
            else:
                apply = partial(target.change_queue, "where", where)
                yield PaletteCommand("filter", visible(SIGN + name), apply, visible(where))
        if where := target.state.combined_filter():
            save = partial(target.with_filter_name, "save filter", lambda name: target.save_filter(name, where))
            yield PaletteCommand("filter", "save filter", save, visible(where), argument="NAME")
        for name in saved.saved:
            forget = partial(target.forget_filter, name)
            yield PaletteCommand("filter", visible(f"forget {SIGN}{name}"), forget)


class OrderProvider(PaletteProvider):
    """Orders of the queue."""

    RANK = 2

    def commands(self) -> Iterable[PaletteCommand]:
        for name, help_text in queue_orders(self.target.state.blind, self.target.state.file).items():
            run = partial(self.target.change_queue, "order", name)
            yield PaletteCommand("order", f"order {visible(name)}", run, help_text)


class QueueProvider(PaletteProvider):
    """The workspace's queue files."""

    RANK = 3

    def commands(self) -> Iterable[PaletteCommand]:
        for name, has_share in self.target.queue_files.items():
            if name == self.target.state.file:
                continue
            label, run = f"queue {visible(name)}", partial(self.target.change_queue, "file", name)
            if has_share:
                yield PaletteCommand("queue", label, run, "your share of the queue file")
            else:
                yield self.disabled("queue", label, "it has no share for you")


class ExportProvider(PaletteProvider):
    """The report and the export formats."""

    RANK = 4

    def commands(self) -> Iterable[PaletteCommand]:
        target = self.target
        names = (["report"] if target.session.services else []) + [f"export {each.name}" for each in FORMATS]
        if target.state.blind:
            yield from (self.disabled(name.partition(" ")[0], name, HIDDEN) for name in names)
            return
        if target.session.services:
            yield PaletteCommand("report", "report", target.show_report, "figures of the runs shown")
        for each in FORMATS:
            label = f"export {each.name}"
            export = partial(target.with_file, label, partial(target.export, each.name))
            yield PaletteCommand("export", label, export, each.help, argument="FILE")


class RunProvider(PaletteProvider):
    """The runs, without their rates: a blind annotator sees the same."""

    RANK = 5

    def commands(self) -> Iterable[PaletteCommand]:
        runs = self.target.runs
        if len(runs) < 2:
            return
        models = Counter(run.info.model for run in runs)
        show_all = partial(self.target.change_queue, "runs", ALL_RUNS)
        yield PaletteCommand("run", "all runs", show_all, count_of(len(runs), "run"))
        for run in runs:
            folder = visible(folder_of(run)) if models[run.info.model] > 1 else ""
            help_text = ", ".join(filter(None, (run_title(run), folder, count_of(run.n_items, "item"))))
            show = partial(self.target.change_queue, "runs", run.run)
            yield PaletteCommand("run", visible(run.info.model), show, help_text)


class ItemProvider(PaletteProvider):
    """Items whose id contains the query. The palette searches them in the store while the other hits are shown."""

    RANK = 7

    def commands(self) -> Iterable[PaletteCommand]:
        return ()

    async def search(self, query: str) -> Hits:
        for item in self.target.items:
            runs = f", in {count_of(item.runs, 'run')}" if item.runs > 1 else ""
            run = partial(self.target.open_item, item.item)
            command = PaletteCommand("item", visible(item.id), run, visible(item.category) + runs)
            match = match_words(command.label, query) or FuzzyMatch(0)
            yield self._hit(command, EXACT_ITEM if item.id.lower() == query.lower() else 0, match)


QUEUE_PROVIDERS = (FilterProvider, OrderProvider, QueueProvider, ExportProvider, RunProvider, ItemProvider)
