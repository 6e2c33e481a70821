"""Show dialogs at the bottom of the screen that ask for a line of text, the fault, a note or error tags."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Input, Static, TextArea

from fcreview.model.review import Fault
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.actions import (
    CONFIRM_ACTIONS,
    FAULT_ACTIONS,
    NOTE_ACTIONS,
    PROMPT_ACTIONS,
    PROMPT_HELP_ACTIONS,
    TAG_ACTIONS,
    Action,
)
from fcreview.tui.key_bindings import active_key_names, find_keys, key_hints, make_bindings
from fcreview.tui.text.layout import DOCUMENT_START
from fcreview.tui.text.lines import Line, key_hints_line, line_width, make_line, truncate_middle, wrap_text
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import BottomDialog, SafeInput, sanitize_strip, work
from fcreview.tui.widgets.document_view import DocumentView, LineBar, LineBlock


class AskScreen(BottomDialog[str | None]):
    """Prompt for one line of text. The result is the text, or None after Esc."""

    takes_text = True
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PROMPT_ACTIONS)
    CSS = f"""{BottomDialog.CSS}
    AskScreen > Horizontal {{ height: 1; width: 1fr; background: $background; }}
    AskScreen Static {{ width: auto; text-style: bold; }}
    AskScreen Input {{ width: 1fr; height: 1; border: none; padding: 0; background: $background; }}
    AskScreen Input:focus {{ border: none; background: $background; }}
    """

    def __init__(self, prompt: str, value: str = "") -> None:
        super().__init__()
        self._prompt, self._value = prompt, value

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(f" {self._prompt} ", markup=False)
            yield SafeInput(self._value, select_on_focus=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class FaultScreen(BottomDialog[Fault | None]):
    """Prompt for the fault, which the user answers with one letter. The result is None after Esc."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FAULT_ACTIONS, PROMPT_HELP_ACTIONS)

    def __init__(self, name: str = "") -> None:
        """Create the prompt. `name`: name of the item, if it is not obvious."""
        super().__init__()
        self._about = name

    def compose(self) -> ComposeResult:
        yield LineBlock(id="fault")

    def on_resize(self) -> None:
        """Show the question and all letters on one line, or on two lines if they do not fit."""
        hints, cells = key_hints(self), self.app.size.width
        question: Line = (
            (" fault?", "strong"),
            (f" {truncate_middle(self._about, 30)}" if self._about else "", "warn"),
        )
        room = cells - line_width(question)
        letters = key_hints_line(hints, room, len(hints))
        fits = line_width(letters) <= room
        self.query_one(LineBlock).show([(*question, *letters)] if fits else [question, key_hints_line(hints, cells, 0)])


class ConfirmScreen(BottomDialog[bool]):
    """Question that the user answers with yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CONFIRM_ACTIONS, PROMPT_HELP_ACTIONS)

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        yield LineBlock()

    def on_resize(self) -> None:
        """Show the question on as many lines as it needs, with the keys on the last line."""
        cells = self.app.size.width
        rows = [make_line(f" {row}", "strong") for row in wrap_text(self._question, cells - 2)]
        hints = key_hints(self)
        if line_width(rows[-1]) + line_width(key_hints_line(hints, cells, len(hints))) > cells:
            rows.append(())
        keys = key_hints_line(hints, cells - line_width(rows[-1]), len(hints))
        self.query_one(LineBlock).show([*rows[:-1], (*rows[-1], *keys)])


class SafeTextArea(TextArea):
    """Multi-line input that sanitizes what it draws. Keys of its `ACTIONS` are not inserted as text."""

    ACTIONS: ClassVar[Sequence[Action]] = ()

    cursor_blink = reactive(False, init=False)

    def render_line(self, y: int) -> Strip:
        return sanitize_strip(super().render_line(y))

    def on_key(self, event: events.Key) -> None:
        if event.key in find_keys(self.app, self.ACTIONS):
            event.prevent_default()  # the text area must not insert the key; the binding still handles it


MIN_NAME_WIDTH = 5
"""Smallest width, in cells, of the name of the item in the title of the note dialog."""


class NoteBox(SafeTextArea):
    """Text box of the note dialog. Pasted text keeps its line breaks."""

    ACTIONS = NOTE_ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(NOTE_ACTIONS)

    def action_new_line(self) -> None:
        """Move down, or start a new line if the cursor is in the last line."""
        line = self.cursor_location[0]
        if line == self.document.line_count - 1 and self.document.get_line(line):
            self.move_cursor(self.document.end)
            self.insert("\n")
        else:
            self.action_cursor_down()


class NoteScreen(BottomDialog[str | None]):
    """Prompt for a note.

    The result is the note (empty to clear it), or None if the user cancelled or changed nothing.
    """

    takes_text = True
    CSS = f"""{BottomDialog.CSS}
    NoteScreen > Vertical {{ height: 6; }}
    NoteScreen Static {{ height: 1; width: 1fr; }}
    NoteScreen NoteBox {{ height: 4; border: none; padding: 0 1; background: $background; }}
    NoteScreen NoteBox:focus {{ border: none; }}
    """

    def __init__(self, about: str, note: str = "") -> None:
        super().__init__()
        self._about, self._note = about, note

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._title_with_keys(self.app.size.width), markup=False)
            yield NoteBox(self._note, soft_wrap=True, show_line_numbers=False, tab_behavior="indent", compact=True)

    def _title_with_keys(self, width: int) -> str:
        """Return the title with the keys. The name is shortened to make room for the keys."""
        keys = active_key_names(self.app)
        templates = {"note.save": "{} saves", "note.line": "{}: new line", "note.cancel": "{} cancels"}
        hints = "".join("   " + templates[action].format(keys[action]) for action in templates if action in keys)
        title = " note on "
        return (
            title + truncate_middle(self._about, max(width - len(title) - display_width(hints), MIN_NAME_WIDTH)) + hints
        )

    def on_resize(self) -> None:
        self.query_one(Static).update(self._title_with_keys(self.app.size.width))

    def on_mount(self) -> None:
        self._box.move_cursor(self._box.document.end)
        self._box.focus()

    @property
    def _box(self) -> NoteBox:
        return self.query_one(NoteBox)

    def action_save(self) -> None:
        self.dismiss(self._box.text if self._box.text != self._note else None)


def tag_choices(
    configured: Sequence[str], error_types: Sequence[str | None], taxonomy: Sequence[str], selected: Sequence[str]
) -> list[str]:
    """Return the tags to choose from: configured tags, error types of the item, and the taxonomy of the benchmark.

    Each tag occurs once. The configured tags come first, so that each configured tag has the same digit for every item.
    Chosen tags that are not in these lists come last.
    """
    return list(dict.fromkeys([*configured, *(error for error in error_types if error), *taxonomy, *selected]))


class TagSource:
    """Tags as a document with a check box, a key and a name in each line."""

    def __init__(self, tags: list[str], selected: set[str], new_key: str = "", keys: Mapping[int, str] = {}) -> None:
        """Create the document. `keys` maps the number of a tag, from 1, to the key that toggles it."""
        self.tags, self.selected, self._new_key, self._keys = tags, selected, new_key, keys

    def __len__(self) -> int:
        return max(len(self.tags), 1)

    def lines(self, index: int, cells: int) -> Sequence[Line]:  # noqa: ARG002 - a `Source`
        """Return the line of a tag, or a hint if there are no tags."""
        if not self.tags:
            return [((f"no tags yet; press {self._new_key} to add one", "dim"),)]
        tag = self.tags[index]
        key = self._keys.get(index + 1, "")
        return [((f" [{'x' if tag in self.selected else ' '}] ", "strong"), (f"{key:1} ", "key"), (sanitize(tag), ""))]


class TagsScreen(BottomDialog[list[str] | None]):
    """List of tags to set or clear. The result is the list of set tags, or None if nothing changed.

    Tags from earlier reviews are appended when they have been loaded.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(TAG_ACTIONS, PROMPT_HELP_ACTIONS)
    has_unsaved_input = True
    CSS = f"{BottomDialog.CSS} TagsScreen > Vertical {{ height: 10; }}"

    def __init__(
        self,
        tags: Sequence[str],
        selected: Sequence[str],
        load_used: Callable[[], Awaitable[Sequence[str]]] | None = None,
        name: str = "",
        *,
        label: str = "tags",
    ) -> None:
        """Create the list.

        `load_used` loads the tags of earlier reviews. `name` is the name of the reviewed item if it is not on screen.

        If `label` is not `tags`, the list shows the labels of a response. Labels are a verdict, so saving them
        unchanged confirms them and returns the list. Saving unchanged tags returns None.
        """
        super().__init__()
        self._about = name
        self._tags, self._before, self._used, self._label = list(tags), list(selected), load_used, label
        self._source = TagSource(self._tags, set(selected))

    def compose(self) -> ComposeResult:
        with Vertical():
            yield DocumentView(id="tags")
            yield LineBar(id="tag-keys")

    def on_mount(self) -> None:
        names = active_key_names(self.app)
        keys = {at: names[f"tags.set_{at}"] for at in range(1, 10) if f"tags.set_{at}" in names}
        self._source = TagSource(self._tags, set(self._before), names.get("tags.new", ""), keys)
        self._draw(0)
        self._load_used_tags()
        parts: Line = ((f" {sanitize(self._label)} ", "strong"), (f"{self._about} " if self._about else "", "warn"))
        for key, name in key_hints(self):
            parts += ((f" {key}", "key"), (f" {name} ", ""))
        self.query_one(LineBar).show(parts)

    @work()
    async def _load_used_tags(self) -> None:
        used = await self._used() if self._used is not None else []
        self._tags += [tag for tag in used if tag not in self._tags]
        self._draw(self._cursor)

    def _draw(self, cursor: int) -> None:
        view = self.query_one(DocumentView)
        top = view.document_layout.top if view.document_layout else DOCUMENT_START
        view.show(self._source, top=top, cursor=cursor)
        view.reveal(cursor)

    @property
    def _cursor(self) -> int:
        return self.query_one(DocumentView).cursor or 0

    def action_move(self, by: int) -> None:
        self._draw(min(max(self._cursor + by, 0), len(self._source) - 1))

    def action_toggle_tag(self) -> None:
        self.action_toggle_number(self._cursor + 1)

    def action_toggle_number(self, number: int) -> None:
        """Set or clear the tag with this number, from 1."""
        if number <= len(self._tags):
            self._source.selected ^= {self._tags[number - 1]}
            self._draw(number - 1)

    def action_enter_new_tag(self) -> None:
        self.app.push_screen(AskScreen(f"new tag {symbols().arrow}"), self._add_tag)

    def _add_tag(self, text: str | None) -> None:
        tag = (text or "").strip()
        if not tag:
            return
        if tag not in self._tags:
            self._tags.append(tag)
        self._source.selected.add(tag)
        self._draw(self._tags.index(tag))

    def action_save(self) -> None:
        selected = [tag for tag in self._tags if tag in self._source.selected]
        self.dismiss(selected if self._label != "tags" or set(selected) != set(self._before) else None)
