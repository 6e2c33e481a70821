"""One line typed at the bottom of the screen: search terms, new tags.

Who is wrong? One letter answers.

A note on an item: a few lines at the bottom of the screen.

Error tags: a list to choose from, one's own first, then the item's error types and the benchmark's own taxonomy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from fcreview.model.review import Fault
from fcreview.model.sanitize import visible, width
from fcreview.tui.actions import ASK, FAULT, NOTE, TAGS
from fcreview.tui.key_bindings import bindings, key_hints, key_names, keys_of
from fcreview.tui.text.layout import START
from fcreview.tui.text.lines import Line, cut_middle, hints_line, line_width
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import DocumentView, LineBar, LineBlock
from fcreview.tui.widgets.safe_input import SafeInput
from fcreview.tui.widgets.safe_text_area import SafeTextArea


class AskScreen(ModalScreen[str | None]):
    """Gives the text, or None if Esc was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ASK)
    CSS = """
    AskScreen { background: transparent; align: left bottom; }
    AskScreen > Horizontal { height: 1; width: 1fr; background: ansi_default; }
    AskScreen Static { width: auto; text-style: bold; }
    AskScreen Input { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
    AskScreen Input:focus { border: none; background: ansi_default; }
    """

    def __init__(self, prompt: str, value: str = "") -> None:
        super().__init__()
        self._prompt, self._value = prompt, value

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(f" {self._prompt} ", markup=False)
            box = SafeInput(self._value, select_on_focus=True)
            box.cursor_blink = False
            yield box

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        self.dismiss(None)


class FaultScreen(ModalScreen[Fault | None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FAULT)
    CSS = """
    FaultScreen { background: transparent; align: left bottom; }
    FaultScreen LineBlock { background: ansi_default; }
    """

    def __init__(self, name: str = "") -> None:
        """`name`: of the item that is not on screen."""
        super().__init__()
        self._about = name

    def compose(self) -> ComposeResult:
        yield LineBlock(id="fault")

    def on_mount(self) -> None:
        self.query_one(LineBlock).show(self._lines(key_hints(self), self.app.size.width))

    def on_resize(self) -> None:
        self.on_mount()

    def _lines(self, hints: list[tuple[str, str]], cells: int) -> list[Line]:
        """Every letter there is, on one line with the question or, where that is too little room, on a second one."""
        who: Line = ((" who?", "strong"), (f" {cut_middle(self._about, 30)}" if self._about else "", "warn"))
        room = cells - line_width(who)
        letters = hints_line(hints, room, len(hints))
        return [(*who, *letters)] if line_width(letters) <= room else [who, hints_line(hints, cells, 0)]

    def action_take(self, fault: Fault) -> None:
        self.dismiss(fault)

    def action_cancel(self) -> None:
        self.dismiss(None)


LEAST_NAME = 5
"""Cells of what a note is on, however little room there is."""


class NoteBox(SafeTextArea):
    """Takes no key that has a meaning here; pasted lines stay lines."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(NOTE)

    def on_key(self, event: events.Key) -> None:
        if event.key in keys_of(self.app, NOTE):
            event.prevent_default()  # of the box below; as a binding it is looked up further up

    def action_line(self) -> None:
        """Down in the last line starts another one."""
        line = self.cursor_location[0]
        if line == self.document.line_count - 1 and self.document.get_line(line):
            self.move_cursor(self.document.end)
            self.insert("\n")
        else:
            self.action_cursor_down()


class NoteScreen(ModalScreen[str | None]):
    """Gives the note (empty clears it), or None if it was cancelled or left as it was."""

    CSS = """
    NoteScreen { background: transparent; align: left bottom; }
    NoteScreen > Vertical { height: 6; width: 1fr; background: ansi_default; border-top: solid ansi_default; }
    NoteScreen Static { height: 1; width: 1fr; }
    NoteScreen NoteBox { height: 4; border: none; padding: 0 1; background: ansi_default; }
    NoteScreen NoteBox:focus { border: none; }
    """

    def __init__(self, about: str, note: str = "") -> None:
        super().__init__()
        self._about, self._note = about, note

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._hint(self.app.size.width), markup=False)
            box = NoteBox(self._note, soft_wrap=True, show_line_numbers=False, tab_behavior="indent", compact=True)
            box.cursor_blink = False
            yield box

    def _hint(self, cells: int) -> str:
        """What it is on is cut for the keys' sake."""
        keys = key_names(self.app)
        what = {"note.save": "{} saves", "note.line": "{}: new line", "note.cancel": "{} cancels"}
        said = "".join("   " + what[id_].format(keys[id_]) for id_ in what if id_ in keys)
        before = " note on "
        return before + cut_middle(self._about, max(cells - len(before) - width(said), LEAST_NAME)) + said

    def on_resize(self) -> None:
        self.query_one(Static).update(self._hint(self.app.size.width))

    def on_mount(self) -> None:
        self._box.move_cursor(self._box.document.end)
        self._box.focus()

    @property
    def _box(self) -> NoteBox:
        return self.query_one(NoteBox)

    def action_save(self) -> None:
        self.dismiss(self._box.text if self._box.text != self._note else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


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
