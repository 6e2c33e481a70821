"""Error tags: a list to choose from, one's own first, then the item's error types and the benchmark's own taxonomy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from fcreview.sanitise import visible
from fcreview.tui.keys import bindings, key_hints, key_names
from fcreview.tui.keytable import TAGS
from fcreview.tui.screens.ask import AskScreen
from fcreview.tui.text.layout import START
from fcreview.tui.text.lines import Line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import DocumentView, LineBar
from fcreview.tui.widgets.work import work


def tag_choices(
    own: Sequence[str], errors: Sequence[str | None], preset: Sequence[str], chosen: Sequence[str]
) -> list[str]:
    """One's own of the configuration file, whose digits are the same at every item; the item's error types, the
    benchmark's own error taxonomy, then what is set already; each once."""
    return list(dict.fromkeys([*own, *(error for error in errors if error), *preset, *chosen]))


class TagSource:
    def __init__(self, tags: list[str], chosen: set[str], new_key: str = "", keys: Mapping[int, str] = {}) -> None:
        """`keys`: what sets or clears a tag, by its number from 1."""
        self.tags, self.chosen, self._new_key, self._keys = tags, chosen, new_key, keys

    def __len__(self) -> int:
        return max(len(self.tags), 1)

    def lines(self, index: int, cells: int) -> Sequence[Line]:  # noqa: ARG002 - a `Source`
        if not self.tags:
            return [((f"no tag has been used yet; {self._new_key} makes one", "dim"),)]
        tag = self.tags[index]
        key = self._keys.get(index + 1, "")
        return [((f" [{'x' if tag in self.chosen else ' '}] ", "strong"), (f"{key:1} ", "key"), (visible(tag), ""))]


class TagsScreen(ModalScreen[list[str] | None]):
    """Gives the tags that are set, or None if nothing was changed. Tags that were used before follow when they are
    known."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(TAGS)
    CSS = """
    TagsScreen { background: transparent; align: left bottom; }
    TagsScreen > Vertical { height: 10; width: 1fr; background: ansi_default; border-top: solid ansi_default; }
    """

    def __init__(
        self,
        tags: Sequence[str],
        chosen: Sequence[str],
        used: Callable[[], Awaitable[Sequence[str]]] | None = None,
        name: str = "",
        *,
        what: str = "tags",
    ) -> None:
        """`name`: of the item that is not on screen. `what` they are: of labels, which are a verdict, those that were
        there are given too when they are saved."""
        super().__init__()
        self._about = name
        self._tags, self._before, self._used, self._what = list(tags), list(chosen), used, what
        self._source = TagSource(self._tags, set(chosen))

    def compose(self) -> ComposeResult:
        with Vertical():
            yield DocumentView(id="tags")
            yield LineBar(id="tag-keys")

    def on_mount(self) -> None:
        names = key_names(self.app)
        keys = {at: names[f"tags.set_{at}"] for at in range(1, 10) if f"tags.set_{at}" in names}
        self._source = TagSource(self._tags, set(self._before), names.get("tags.new", ""), keys)
        self._draw(0)
        self._load()
        parts: Line = ((f" {visible(self._what)} ", "strong"), (f"{self._about} " if self._about else "", "warn"))
        for key, name in key_hints(self):
            parts += ((f" {key}", "key"), (f" {name} ", ""))
        self.query_one(LineBar).show(parts)

    @work()
    async def _load(self) -> None:
        used = await self._used() if self._used is not None else []
        self._tags += [tag for tag in used if tag not in self._tags]
        self._draw(self._cursor)

    def _draw(self, cursor: int) -> None:
        view = self.query_one(DocumentView)
        top = view.layout_.top if view.layout_ else START
        view.show(self._source, top=top, cursor=cursor)
        view.reveal(cursor)

    @property
    def _cursor(self) -> int:
        return self.query_one(DocumentView).cursor or 0

    def action_move(self, by: int) -> None:
        self._draw(min(max(self._cursor + by, 0), len(self._source) - 1))

    def action_set(self) -> None:
        if self._tags:
            self._source.chosen ^= {self._tags[self._cursor]}
            self._draw(self._cursor)

    def action_number(self, number: int) -> None:
        """Sets or clears the tag of this number, from 1."""
        if number <= len(self._tags):
            self._source.chosen ^= {self._tags[number - 1]}
            self._draw(number - 1)

    def action_new(self) -> None:
        self.app.push_screen(AskScreen(f"new tag {symbols().arrow}"), self._add)

    def _add(self, text: str | None) -> None:
        tag = (text or "").strip()
        if not tag:
            return
        if tag not in self._tags:
            self._tags.append(tag)
        self._source.chosen.add(tag)
        self._draw(self._tags.index(tag))

    def action_save(self) -> None:
        chosen = [tag for tag in self._tags if tag in self._source.chosen]
        self.dismiss(chosen if self._what != "tags" or set(chosen) != set(self._before) else None)

    def action_cancel(self) -> None:
        self.dismiss(None)
