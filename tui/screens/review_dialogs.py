"""Show the dialogs of a review, and record what the annotator enters: fault, tags, note, labels and
override reason.

A review from a dialog is about the item that was on screen when the key of the dialog was pressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Static, TextArea

from fcreview.model.address import RESPONSE, describe_address
from fcreview.model.review import Fault
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import SCALES
from fcreview.store.drafts import DraftKind, DraftSlot
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.tui.actions import (
    FAULT_ACTIONS,
    NOTE_ACTIONS,
    OVERRIDE_REASON_ACTIONS,
    PROMPT_HELP_ACTIONS,
    TAG_ACTIONS,
    Action,
)
from fcreview.tui.keymap import find_action_key_names, list_key_hints, list_keys, make_bindings
from fcreview.tui.review.item_reviewer import ItemView
from fcreview.tui.review.prefetch import ItemPrefetcher
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.status import Override
from fcreview.tui.screens.pager import query_if_item_stays
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.session import Session
from fcreview.tui.text.layout import DOCUMENT_START
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    key_hints_line,
    line_width,
    make_line,
    truncate_middle,
)
from fcreview.tui.text.messages import StatusMessage
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import BottomDialog, sanitize_strip, work
from fcreview.tui.widgets.document_view import DocumentView, LineBar, LineBlock


class FaultScreen(BottomDialog[Fault | None]):
    """Prompt for the fault, which the user answers with one letter.

    The result is None after Esc.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FAULT_ACTIONS, PROMPT_HELP_ACTIONS)

    def __init__(self, name: str = "") -> None:
        """Create the prompt.

        `name`: name to show, such as the id of an item that is not on screen.
        """
        super().__init__()
        self._name = name

    def compose(self) -> ComposeResult:
        yield LineBlock(id="fault")

    def on_resize(self) -> None:
        """Show the question and all letters on one line, or on two lines if they do not fit."""
        cells = self.app.size.width
        question = LineBuilder()
        question.add(" fault?", "strong")
        if self._name:
            question.add(f" {truncate_middle(self._name, 30)}", "warn")

        hints = list_key_hints(self)
        room = cells - question.width
        letters = key_hints_line(hints, room, n_always_shown=len(hints))
        fits_on_one_line = line_width(letters) <= room
        if fits_on_one_line:
            lines: list[Line] = [(*question.build(), *letters)]
        else:
            lines = [question.build(), key_hints_line(hints, cells, n_always_shown=0)]
        self.query_one(LineBlock).show(lines)


class SafeTextArea(TextArea):
    """Multi-line input that sanitizes what it draws.

    The keys of `ACTIONS` run actions and insert no text.
    """

    ACTIONS: ClassVar[Sequence[Action]] = ()

    cursor_blink = reactive(False, init=False)

    def render_line(self, y: int) -> Strip:
        return sanitize_strip(super().render_line(y))

    def on_key(self, event: events.Key) -> None:
        if event.key in list_keys(self.app, self.ACTIONS):
            # the text area must not insert the key; the binding still handles it
            event.prevent_default()


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
    """Prompt for a note. The result is the note, or None if the user cancelled or changed nothing.

    An empty note removes an earlier note.
    """

    takes_text = True
    CSS = f"""{BottomDialog.CSS}
    NoteScreen > Vertical {{ height: 6; }}
    NoteScreen Static {{ height: 1; width: 1fr; }}
    NoteScreen NoteBox {{ height: 4; border: none; padding: 0 1; background: $background; }}
    NoteScreen NoteBox:focus {{ border: none; }}
    """

    def __init__(self, about: str, note: str = "", draft: DraftSlot | None = None) -> None:
        """Create the prompt.

        Args:
            about: Name of what the note is about.
            note: The saved note.
            draft: Draft of the note, which then replaces the saved note in the text box.
        """
        super().__init__()
        self._about = about
        self._note = note
        self._draft = draft
        draft_text = draft.read() if draft is not None else None
        self._continues_draft = draft_text is not None
        self._initial_text = note if draft_text is None else draft_text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._format_title_with_keys(self.app.size.width), markup=False)
            yield NoteBox(
                self._initial_text,
                soft_wrap=True,
                show_line_numbers=False,
                tab_behavior="indent",
                compact=True,
            )

    def _format_title_with_keys(self, width: int) -> str:
        """Return the title and the keys: ` note on turn 2   ^S saves   Esc cancels`.

        If `width` is small, the name in the title is shortened.
        """
        hint_templates = {
            "note.save": "{} saves",
            "note.line": "{}: new line",
            "note.cancel": "{} cancels",
        }
        key_names = find_action_key_names(self.app)
        hints = ""
        for action_id, template in hint_templates.items():
            if action_id in key_names:
                hints += "   " + template.format(key_names[action_id])

        title = " draft of the note on " if self._continues_draft else " note on "
        room_for_name = max(width - len(title) - display_width(hints), MIN_NAME_WIDTH)
        return title + truncate_middle(self._about, room_for_name) + hints

    def on_resize(self) -> None:
        self.query_one(Static).update(self._format_title_with_keys(self.app.size.width))

    def on_mount(self) -> None:
        self._box.move_cursor(self._box.document.end)
        self._box.focus()

    @property
    def _box(self) -> NoteBox:
        return self.query_one(NoteBox)

    @property
    def unsaved_input(self) -> str:
        return "" if self._box.text == self._note else "the note"

    def on_text_area_changed(self) -> None:
        self.keep_draft_after_pause()

    def keep_draft(self) -> str:
        if self._draft is None:
            return ""
        if self.unsaved_input:
            return self._draft.keep(self._box.text)
        self._draft.remove()
        return ""

    def action_save(self) -> None:
        self.dismiss(self._box.text if self._box.text != self._note else None)

    def action_cancel(self) -> None:
        if self._draft is not None:
            self._draft.remove()
        self.dismiss(None)


def list_tag_choices(
    configured: Sequence[str],
    error_types: Sequence[str | None],
    taxonomy: Sequence[str],
    selected: Sequence[str],
) -> list[str]:
    """Return all tags that an annotator can choose from, each once.

    Configured tags come first, so that each has the same digit key for every item. The error types
    of the item, the tags of the benchmark's taxonomy and the selected tags follow.
    """
    known_error_types = [error_type for error_type in error_types if error_type]
    tags = [*configured, *known_error_types, *taxonomy, *selected]
    # A dictionary keeps the first place of each tag.
    return list(dict.fromkeys(tags))


class TagSource:
    """Document with a line for each tag: check box, key and name."""

    def __init__(
        self, tags: list[str], selected: set[str], new_key: str = "", keys: Mapping[int, str] = {}
    ) -> None:
        """Create the document.

        `new_key`: key that adds a tag. `keys`: maps the number of a tag, from 1, to the key that
        toggles it.
        """
        self.tags = tags
        self.selected = selected
        self._new_key = new_key
        self._keys = keys

    def __len__(self) -> int:
        return max(len(self.tags), 1)

    def lines(self, index: int, cells: int) -> Sequence[Line]:  # noqa: ARG002 - a `Source`
        """Return the line of a tag, or a hint if there are no tags."""
        if not self.tags:
            return [make_line(f"no tags yet; press {self._new_key} to add one", "dim")]

        tag = self.tags[index]
        check_mark = "x" if tag in self.selected else " "
        key = self._keys.get(index + 1, "")
        line = LineBuilder()
        line.add(f" [{check_mark}] ", "strong")
        line.add(f"{key:1} ", "key")
        line.add(sanitize(tag))
        return [line.build()]


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

        Args:
            load_used: Loads the tags of earlier reviews.
            name: Name to show, such as the id of an item that is not on screen.
            label: Title. A title other than `tags` means that the list has response labels, which
                are a verdict. If the user saves them unchanged, the result is the list. For
                unchanged tags, it is None.
        """
        super().__init__()
        self._about = name
        self._tags = list(tags)
        self._selected_before = list(selected)
        self._load_used = load_used
        self._label = label
        self._source = TagSource(self._tags, set(selected))

    def compose(self) -> ComposeResult:
        with Vertical():
            yield DocumentView(id="tags")
            yield LineBar(id="tag-keys")

    def on_mount(self) -> None:
        """Draw the tags with their keys, and load the tags of earlier reviews."""
        self._source = self._make_tag_source()
        self._draw(0)
        self._load_used_tags()
        self.query_one(LineBar).show(self._title_and_key_line())

    def _make_tag_source(self) -> TagSource:
        """Return the list of tags with their keys. The first nine tags have digit keys."""
        key_names = find_action_key_names(self.app)
        key_by_number = {}
        for number in range(1, 10):
            action_id = f"tags.set_{number}"
            if action_id in key_names:
                key_by_number[number] = key_names[action_id]
        new_key = key_names.get("tags.new", "")
        return TagSource(self._tags, set(self._selected_before), new_key, key_by_number)

    def _title_and_key_line(self) -> Line:
        line = LineBuilder()
        line.add(f" {sanitize(self._label)} ", "strong")
        if self._about:
            line.add(f"{self._about} ", "warn")
        for key, label in list_key_hints(self):
            line.add(f" {key}", "key")
            line.add(f" {label} ")
        return line.build()

    @work()
    async def _load_used_tags(self) -> None:
        used = await self._load_used() if self._load_used is not None else []
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
        """Select a tag that the user typed. A new tag is added to the list."""
        tag = (text or "").strip()
        if not tag:
            return
        if tag not in self._tags:
            self._tags.append(tag)
        self._source.selected.add(tag)
        self._draw(self._tags.index(tag))

    @property
    def unsaved_input(self) -> str:
        return "" if self._source.selected == set(self._selected_before) else f"the {self._label}"

    def action_save(self) -> None:
        selected = [tag for tag in self._tags if tag in self._source.selected]
        self.dismiss(
            selected
            if self._label != "tags" or set(selected) != set(self._selected_before)
            else None
        )


def ask_fault(view: ItemView, subject: ReviewSubject, item_name: str = "") -> None:
    """Ask for the fault. `item_name`: name to show if the item is not on screen."""
    name = item_name or _name_if_not_displayed(view, subject) or subject.part_name

    def record(fault: Fault | None) -> None:
        if fault is not None:
            view.item_reviewer.record_fault(subject, fault)

    view.app.push_screen(FaultScreen(name), record)


def ask_tags(
    view: ItemView,
    subject: ReviewSubject,
    session: Session,
    prefetcher: ItemPrefetcher,
    item_name: str = "",
) -> None:
    """Ask for error tags, and record the chosen ones as a review of `subject`.

    `item_name`: name to show if the item is not on screen.
    """
    # The tags of the annotator's last review are chosen at first.
    own_review = view.item_reviewer.recorder.find_own_opinion(subject)
    chosen: list[str] = []
    if own_review is not None and own_review.tags:
        chosen = own_review.tags

    tags = list_tag_choices(
        session.vocabulary.tags,
        _list_shown_error_types(subject.detail.row, session),
        subject.detail.run.tags,
        chosen,
    )

    def record(selected: list[str] | None) -> None:
        # None: the screen was closed without a choice.
        if selected is not None:
            view.item_reviewer.record_tags(subject, selected)

    shown_name = item_name or _name_if_not_displayed(view, subject) or subject.part_name
    screen = TagsScreen(tags, chosen, prefetcher.read_used_tags, shown_name)
    view.app.push_screen(screen, record)


def _list_shown_error_types(row: QueueRow, session: Session) -> list[str | None]:
    """Return the error types that the benchmark found. Blind review hides them before the
    annotator's verdict.
    """
    if session.blind and row.you is None:
        return []
    return [row.error_type, row.rule_error_type]


def make_draft_slot(session: Session, kind: DraftKind, subject: ReviewSubject) -> DraftSlot:
    return DraftSlot(
        session.drafts, kind, subject.detail, target=subject.target, criterion=subject.criterion
    )


def ask_note(view: ItemView, session: Session, subject: ReviewSubject, item_name: str = "") -> None:
    """Ask for a note. `item_name`: name to show if the item is not on screen.

    The typed text is kept as a draft until the note is recorded.
    """
    recorder = view.item_reviewer.recorder
    own_review = recorder.find_own_opinion(subject)
    saved_note = (own_review.note if own_review is not None else None) or ""
    shown_name = item_name or _name_if_not_displayed(view, subject)
    if not shown_name:
        shown_name = sanitize(describe_address(subject.target))
    draft = make_draft_slot(session, "note", subject)

    def record(note: str | None) -> None:
        if note is not None:
            view.item_reviewer.record_note(subject, note, draft)

    view.app.push_screen(NoteScreen(shown_name, saved_note, draft), record)


def _name_if_not_displayed(view: ItemView, subject: ReviewSubject) -> str:
    """Return the id of the item and the name of its reviewed part.

    Empty if the item is on screen.
    """
    if subject.item == view.item_reviewer.displayed.navigator.item:
        return ""
    return f"{sanitize(subject.detail.row.id)} {subject.part_name}".rstrip()


async def ask_response_labels(view: ItemView, session: Session, subject: ReviewSubject) -> None:
    """Ask for the correct labels of the response, such as dialogue acts.

    Only some benchmarks have criteria with labels. The first one is asked for.
    """
    item = subject.item
    criteria = await query_if_item_stays(
        view, session, item, lambda store: store.fetch_multi_label_criteria(item)
    )
    if criteria is None:
        return
    if not criteria:
        view.show_message(StatusMessage("this benchmark has no response labels", "warn"))
        return

    criterion = criteria[0]
    choices = find_label_choices(subject.detail, session.annotator, criterion)
    title = criterion.replace("_", " ")
    prompt = TagsScreen(choices.labels, choices.selected, name=RESPONSE, label=title)

    def record(labels: list[str] | None) -> None:
        if labels is not None:
            view.item_reviewer.record_labels(subject, criterion, labels)

    view.app.push_screen(prompt, record)


class LabelChoices(NamedTuple):
    labels: list[str]
    selected: list[str]


def find_label_choices(detail: ItemDetail, annotator: str, criterion: str) -> LabelChoices:
    """Return the labels of a response to choose from, and those that are selected at first.

    These are the annotator's own labels or, before the first review, the automatic ones.
    """
    automatic = _find_automatic_labels(detail, criterion)
    own = _find_own_labels(detail, annotator, criterion)
    selected = automatic if own is None else own

    labels: list[str] = []
    scale = SCALES.get(criterion)
    if scale is not None:
        labels += scale.known_labels
    labels += [str(label) for label in detail.item.extra.golden_labels or []]
    labels += [str(label) for label in automatic]
    labels += selected
    return LabelChoices(list(dict.fromkeys(labels)), list(selected))


def _find_automatic_labels(detail: ItemDetail, criterion: str) -> list[Any]:
    """Return the labels of the benchmark's first verdict on the response that is a list."""
    for verdict in detail.item.verdicts:
        is_about_response = verdict.target == RESPONSE and verdict.criterion == criterion
        if is_about_response and isinstance(verdict.value, list):
            return verdict.value
    return []


def _find_own_labels(detail: ItemDetail, annotator: str, criterion: str) -> list[Any] | None:
    """Return the labels of the annotator's review. None without a review."""
    for opinion in detail.opinions:
        subject = (opinion.annotator, opinion.target, opinion.criterion)
        if subject == (annotator, RESPONSE, criterion):
            return opinion.verdict if isinstance(opinion.verdict, list) else None
    return None


class OverrideReasonScreen(BottomDialog[int | None]):
    """Prompt for the reason of an override.

    The result is the number of the reason, from 1, or None.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(
        OVERRIDE_REASON_ACTIONS, PROMPT_HELP_ACTIONS
    )

    def __init__(self, override: Override, reasons: Sequence[str]) -> None:
        super().__init__()
        self._override = override
        self._reasons = override.choose_reasons(reasons)

    def compose(self) -> ComposeResult:
        yield LineBlock(id="why")

    def on_resize(self) -> None:
        """Ask why the annotator contradicts a verdict, with a key for each of the reasons."""
        cells = self.app.size.width
        key_names = find_action_key_names(self.app)
        hints = []
        for number, reason in enumerate(self._reasons, 1):
            key = key_names.get(f"why.take_{number}", "")
            if key:
                hints.append((key, self._override.format_reason_label(reason)))
        hints += list_key_hints(self)

        question = make_line(f" {self._override.format_question(cells - 2)}", "strong")
        self.query_one(LineBlock).show([question, key_hints_line(hints, cells, 1)])

    def action_answer(self, answer: int | None) -> None:
        if answer is not None and answer <= len(self._reasons):
            self.dismiss(answer)


def ask_override_reason(view: ItemView, session: Session) -> None:
    """Ask why the annotator's last verdict overrides an automatic verdict, and record the
    reason.
    """
    reasons = session.vocabulary.reasons

    def ask_reason(override: Override) -> None:
        view.app.push_screen(OverrideReasonScreen(override, reasons), record_reason)

    def record_reason(number: int | None) -> None:
        if number is not None:
            view.item_reviewer.record_override_reason(number)

    view.item_reviewer.prompt_about_last_override(ask_reason)
