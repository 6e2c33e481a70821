"""List the annotators of a workspace, and continue as another annotator.

For this, the app ends and starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import BindingType

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.actions import ANNOTATOR_PICKER_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.loader import KnownAnnotator, read_other_annotators
from fcreview.tui.queue_state import AnnotatorSwitch, first_unreviewed_position
from fcreview.tui.screens.prompts import AskScreen, ConfirmScreen, PickerScreen
from fcreview.tui.text.lines import ChoiceTable, TextColumn

if TYPE_CHECKING:
    from fcreview.tui.queue_state import QueueProgress
    from fcreview.tui.session import Session


MAX_DEFAULT_ANNOTATORS = 4
REVIEWS_OF_OTHERS_REASON = "Adjudication shows the reviews of others."
"""Why adjudication is not available in a blind review."""
NEW_NAME = ""
"""Value of the row that asks for another name."""


class AnnotatorPickerScreen(PickerScreen[str], inherit_bindings=False):
    """List of the annotators of the workspace."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(
        ANNOTATOR_PICKER_ACTIONS, MODAL_HELP_ACTIONS
    )


def build_annotator_table(
    annotators: Sequence[KnownAnnotator], current_annotator: str
) -> ChoiceTable[str]:
    """Return the table of annotators. The value of a row is the name of the annotator.

    The last row, with the value `NEW_NAME`, asks for another name.
    """
    rows = []
    names = []
    for annotator in annotators:
        rows.append([(sanitize(annotator.name), "people"), (annotator.facts, "")])
        names.append(annotator.name)
    rows.append([("new name ...", ""), ("type the name of an annotator", "dim")])
    names.append(NEW_NAME)

    return ChoiceTable(
        title=f"you review as {sanitize(current_annotator)}: choose another annotator",
        noun="other annotator",
        columns=(TextColumn("annotator"), TextColumn("work in this workspace")),
        rows=rows,
        values=names,
        compact=True,
        total=len(annotators),
    )


def format_sample_annotators(annotators: Sequence[KnownAnnotator], current_annotator: str) -> str:
    """Return the initial annotators of a new sample, separated by commas.

    These are the user and, if the workspace has fewer than `MAX_DEFAULT_ANNOTATORS` others, all
    others.
    """
    others = [each.name for each in annotators]
    return ", ".join([current_annotator, *(others if len(others) < MAX_DEFAULT_ANNOTATORS else [])])


def find_other_with_items_left(
    queue_progress: Sequence[QueueProgress], own_name: str
) -> QueueProgress | None:
    """Return the queue file and progress of the first other annotator who has items left.

    None if nobody has any.
    """
    for progress in queue_progress:
        is_other = progress.share.annotator != own_name
        if is_other and progress.n_reviews_left:
            return progress
    return None


def find_switch_obstacle(app: App[Any], session: Session) -> str:
    """Return why the user cannot switch to another annotator now.

    Empty if switching is possible.
    """
    if session.fixed_annotator_reason:
        return session.fixed_annotator_reason
    if any(getattr(screen, "has_unsaved_input", False) for screen in app.screen_stack):
        return "Save or cancel your input before you change the annotator"
    return ""


def open_annotator_list(app: App[Any], session: Session) -> None:
    """Show the annotators of the workspace, and continue as the one whom the user chooses."""
    obstacle = find_switch_obstacle(app, session)
    if obstacle:
        app.notify(sanitize(obstacle), markup=False)
        return

    screen = app.screen

    async def load_and_show() -> None:
        known = await session.read(read_other_annotators)
        # The user may have gone to another screen in the meantime.
        if app.screen is screen:
            _show_annotator_list(app, session, known)

    app.run_worker(load_and_show(), group="annotator", exclusive=True)


def _show_annotator_list(app: App[Any], session: Session, known: Sequence[KnownAnnotator]) -> None:
    """Show the annotators. The user chooses one of them, or types a new name."""
    known_names = [annotator.name for annotator in known]

    def switch_to(name: str) -> None:
        switch = AnnotatorSwitch(name)
        _request_switch(app, session, switch, is_known=name in known_names)

    def switch_to_typed_name(typed: str | None) -> None:
        name = (typed or "").strip()
        if name:
            switch_to(name)

    def apply_choice(name: str | None) -> None:
        if name == NEW_NAME:
            app.push_screen(AskScreen("annotator name:"), switch_to_typed_name)
        elif name is not None:
            switch_to(name)

    table = build_annotator_table(known, session.annotator)
    app.push_screen(AnnotatorPickerScreen(table), apply_choice)


def switch_annotator(app: App[Any], session: Session, name: str) -> None:
    """Continue as an annotator of the workspace, or show why that is not possible now."""
    if reason := find_switch_obstacle(app, session):
        app.notify(sanitize(reason), markup=False)
    else:
        _request_switch(app, session, AnnotatorSwitch(name), is_known=True)


def ask_to_continue_as(
    app: App[Any], session: Session, progress: QueueProgress, opened_from: str
) -> None:
    """Ask whether to continue as the annotator of `progress`, who has items left in a queue
    file.

    `opened_from`: place to which the key for back returns from the queue file.
    """
    annotator = progress.share.annotator
    switch = AnnotatorSwitch(annotator, first_unreviewed_position(progress.queue, opened_from))

    name = sanitize(annotator)
    queue = sanitize(progress.queue)
    items = format_count(progress.n_reviews_left, "item")
    question = (
        f"You have no items left. {name} has {items} left in queue {queue}. Review as {name}?"
    )

    def request_switch() -> None:
        _request_switch(app, session, switch, is_known=True)

    _call_if_confirmed(app, question, request_switch)


def _call_if_confirmed(app: App[Any], question: str, action: Callable[[], object]) -> None:
    def call_action(is_confirmed: bool | None) -> None:
        if is_confirmed:
            action()

    app.push_screen(ConfirmScreen(question), call_action)


def _request_switch(
    app: App[Any], session: Session, switch: AnnotatorSwitch, *, is_known: bool
) -> None:
    """Continue the session as another annotator.

    A name that is new in the workspace (not `is_known`) may be a typing error, so the user is asked
    first.
    """
    screen = app.screen

    async def check_and_switch() -> None:
        """Switch to the annotator, after a question if the name is new. An invalid name gives a
        message.
        """
        try:
            annotator = await session.normalize_annotator(switch.annotator)
        except FcreviewError as error:
            app.notify(sanitize(str(error)), severity="error", markup=False)
            return

        name = sanitize(annotator)
        if annotator == session.annotator:
            app.notify(f"You already review as {name}", markup=False)
            return

        checked_switch = replace(switch, annotator=annotator)
        if is_known:
            session.request_switch(checked_switch)
            return
        # The user may have gone to another screen in the meantime.
        if app.screen is screen:
            question = f"{name} has no reviews and no assigned items here. Review as {name}?"
            _call_if_confirmed(app, question, lambda: session.request_switch(checked_switch))

    app.run_worker(check_and_switch(), group="annotator", exclusive=True)


def ask_to_end_blind_review(app: App[Any], session: Session, reason: str, place: str) -> bool:
    """Ask whether to end a blind review that a queue started, to open a screen that shows
    verdicts.

    Return False if the review was started as blind by the user, so that it stays blind.

    Args:
        reason: A sentence that says why the screen is not available in a blind review.
        place: Place of this screen, which opens after the blind review has ended.
    """
    if not session.can_end_blind_review:
        return False
    switch = AnnotatorSwitch(session.annotator, blind=False, opens=place)
    question = f"{reason} End the blind review?"
    _call_if_confirmed(app, question, lambda: session.request_switch(switch))
    return True
