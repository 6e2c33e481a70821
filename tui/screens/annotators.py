"""List the annotators of a workspace, and continue as another annotator.

For this, the app ends and starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.app import App

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.queue.loader import KnownAnnotator, read_other_annotators
from fcreview.tui.queue.state import AnnotatorSwitch, first_unreviewed_position
from fcreview.tui.screens.prompts import AskScreen, ConfirmScreen, PickerScreen
from fcreview.tui.text.lines import ChoiceTable, TextColumn

if TYPE_CHECKING:
    from fcreview.tui.queue.state import QueueProgress
    from fcreview.tui.session import Session


MAX_DEFAULT_ANNOTATORS = 4
NEW_NAME = ""
"""Value of the row that asks for another name."""


def build_annotator_table(
    annotators: Sequence[KnownAnnotator], current_annotator: str
) -> ChoiceTable[str]:
    """Return the table of annotators. The last row asks for another name."""
    return ChoiceTable(
        title="review as another annotator",
        noun="other annotator",
        columns=(TextColumn("annotator"), TextColumn("items")),
        rows=[
            *([(sanitize(each.name), "people"), (each.facts, "")] for each in annotators),
            [("another name ...", ""), (f"you are {sanitize(current_annotator)}", "dim")],
        ],
        values=[*(each.name for each in annotators), NEW_NAME],
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
    return next(
        (
            each
            for each in queue_progress
            if each.n_reviews_left and each.share.annotator != own_name
        ),
        None,
    )


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
    if reason := find_switch_obstacle(app, session):
        app.notify(sanitize(reason), markup=False)
        return

    screen = app.screen

    async def load_and_show() -> None:
        known = await session.read(read_other_annotators)
        names = [each.name for each in known]

        def switch_or_ask_name(name: str | None) -> None:
            if name == NEW_NAME:
                app.push_screen(
                    AskScreen("annotator name:"),
                    lambda typed: switch_or_ask_name((typed or "").strip() or None),
                )
            elif name is not None:
                _request_switch(app, session, AnnotatorSwitch(name), is_known=name in names)

        if app.screen is screen:  # the user has not gone to another screen in the meantime
            app.push_screen(
                PickerScreen(build_annotator_table(known, session.annotator)), switch_or_ask_name
            )

    app.run_worker(load_and_show(), group="annotator", exclusive=True)


def switch_annotator(app: App[Any], session: Session, name: str) -> None:
    """Continue as an annotator of the workspace, or show why that is not possible now."""
    if reason := find_switch_obstacle(app, session):
        app.notify(sanitize(reason), markup=False)
    else:
        _request_switch(app, session, AnnotatorSwitch(name), is_known=True)


def ask_to_continue_as(app: App[Any], session: Session, progress: QueueProgress) -> None:
    """Ask whether to continue as the annotator of `progress`, who has items left in a queue
    file.
    """
    switch = AnnotatorSwitch(progress.share.annotator, first_unreviewed_position(progress.queue))
    name, items = sanitize(progress.share.annotator), format_count(progress.n_reviews_left, "item")
    question = (
        f"You have no items left. {name} has {items} left in queue {sanitize(progress.queue)}."
        f" Review as {name}?"
    )
    _call_if_confirmed(app, question, lambda: _request_switch(app, session, switch, is_known=True))


def _call_if_confirmed(app: App[Any], question: str, action: Callable[[], object]) -> None:
    def call_action(is_confirmed: bool | None) -> None:
        if is_confirmed:
            action()

    app.push_screen(ConfirmScreen(question), call_action)


def _request_switch(
    app: App[Any], session: Session, switch: AnnotatorSwitch, *, is_known: bool
) -> None:
    """Continue as another annotator.

    Without `is_known` (a new name in the workspace), ask the user first.
    """

    screen = app.screen

    async def check_and_switch() -> None:
        try:
            checked = replace(switch, annotator=await session.normalize_annotator(switch.annotator))
        except FcreviewError as error:
            app.notify(sanitize(str(error)), severity="error", markup=False)
            return
        name = sanitize(checked.annotator)
        if checked.annotator == session.annotator:
            app.notify(f"You already review as {name}", markup=False)
        elif is_known:
            session.request_switch(checked)
        elif app.screen is screen:  # the user has not gone to another screen in the meantime
            question = f"{name} has no reviews and no assigned items here. Review as {name}?"
            _call_if_confirmed(app, question, lambda: session.request_switch(checked))

    app.run_worker(check_and_switch(), group="annotator", exclusive=True)
