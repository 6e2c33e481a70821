"""`fcreview review`: review items one by one, in the app or line by line."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

from fcreview.cli.app_start import OpenOptions, show_queue
from fcreview.cli.item_text import format_item_heading
from fcreview.cli.options import (
    PATHS_ARGUMENT,
    BlindOption,
    OrderSeedOption,
    QueueOrDefaultOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import can_show_app, emit, emit_lines
from fcreview.cli.team_sync import sync_team_in_background, warn_of_ignored_team_files
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError
from fcreview.model.review import FAULTS
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.queue.loader import QueueNavigator
from fcreview.tui.review.recorder import (
    NewReview,
    Refusal,
    ReviewNotSavedError,
    ReviewRecorder,
    ReviewSubject,
)
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.verdict_keys import VERDICT_KEYS

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.rows import ItemDetail, QueueRow, View
    from fcreview.store.store import Store


@workspace_command("annotator", path_argument=PATHS_ARGUMENT)
def review(
    options: WorkspaceOptions,
    plain: Annotated[
        bool, option("--plain", "Review line by line, for screen readers and simple terminals.")
    ] = False,
    queue: QueueOrDefaultOption = None,
    seed: OrderSeedOption = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
) -> None:
    """Review items one by one.

    Opens the app on a terminal. With --plain, or without a terminal, fcreview prints each item as
    text and reads a one-letter answer from standard input. It saves the answer before it prints the
    next item.

    Example: fcreview review runs/gpt4o --plain --where 'official:fail -reviewed'
    """
    from fcreview.store.queue_file import is_blind_queue

    with open_workspace(options) as session:
        if can_show_app() and not plain:
            show_queue(
                session,
                OpenOptions(None, queue=queue, seed=seed, where=where, run=run, blind=blind),
            )
            return

        blind = blind or is_blind_queue(session.workspace, queue)
        view = session.build_review_view(where, queue=queue, seed=seed, run=run, blind=blind)
        _review_line_by_line(session, view, blind=blind)


WIDTH = 100
HORIZONTAL_RULE = re.compile("[─-]{2,} ?")
STATE_TEXTS = {
    "=": "equal",
    "~": "equal after normalisation",
    "!": "differs",
    "-": "missing in prediction",
    "+": "not in golden answer",
}
VERDICT_NAME_BY_LETTER = {key.default_key: key.name for key in VERDICT_KEYS}
TABLE_HEADERS = ["argument", "golden", "predicted"]
PROMPT = f"verdict? [{' '.join(VERDICT_NAME_BY_LETTER)} s q, ? for help] "
ANSWER_HELP = (
    "p: pass · f: fail · g: pass, because the golden answer is wrong · u: unsure · 0, 1, 2: score",
    "s: skip the item · b: go back · n TEXT: add a note · w FAULT: set the fault · z: undo",
    "t: print the item in full · q: quit",
)


def _review_line_by_line(session: WorkspaceSession, view: View, *, blind: bool) -> None:
    """Review items on standard input and output, until the queue or the input ends.

    Raises CommandError if a review could not be saved.
    """
    from fcreview.store.reviewer import Reviewer
    from fcreview.store.store import Store

    # This closes the store of the session, which is opened again below, blind if needed. Whatever
    # else the session has stays usable.
    session.close()
    warn_of_ignored_team_files(session.workspace)

    with (
        sync_team_in_background(session),
        Store.open(session.workspace, session.annotator, blind=blind) as store,
    ):
        if view.queue_file is not None:
            store.load_queue(view.queue_file)
        reviewer = Reviewer(store, session.open_journal())
        reviews = Session(None, session.annotator, store, reviewer, blind=blind)
        reviews.queue_file = view.queue_file
        try:
            loop = ReviewLoop(store, view, reviews)
            loop.review_items()
        finally:
            reviews.close()

    emit(f"{format_count(loop.n_saved, 'review')} saved")


class Answer(NamedTuple):
    letter: str  # first letter of the line, or an empty string
    text: str  # rest of the line


class ReviewLoop:
    """Prints items, reads the user's answers and records them."""

    def __init__(self, store: Store, view: View, reviews: Session) -> None:
        self._store = store
        self._view = view
        self._reviews = reviews
        self._recorder = ReviewRecorder(
            reviews, lambda _: "", is_judged_queue=view.queue == "judged"
        )
        # Number of saved reviews.
        self.n_saved = 0
        self._navigator: QueueNavigator | None = None
        self._is_finished = False

    def review_items(self) -> None:
        """Review items until the queue or the input ends."""
        rows = self._store.fetch_page(self._view, 0, 1)
        if not rows:
            emit("No items match the filter.")
            return
        start = self._find_first_unreviewed(rows[0])
        if start is None:
            emit("You have reviewed every item of the queue.")
            return

        self._show_item(start)
        while not self._is_finished:
            answer = self._read_answer()
            if answer is None:
                return
            self._process_answer(answer)

    def _find_first_unreviewed(self, first_row: QueueRow) -> int | None:
        """Return the number of the first item of the queue that this annotator has not reviewed."""
        if first_row.you is None:
            return first_row.item
        navigator = QueueNavigator.locate_item(self._store, self._view, first_row.item)
        return navigator.find_next_unreviewed(self._store)

    def _read_answer(self) -> Answer | None:
        """Read a line of input. Return None at the end of the input."""
        sys.stdout.write(PROMPT)
        sys.stdout.flush()
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            emit()
            return None
        text = line.strip()
        return Answer(text[:1], text[1:].strip())

    def _process_answer(self, answer: Answer) -> None:
        """Do what the letter of an answer means, or print the help.

        `n TEXT` and `w FAULT` need a text after the letter. A verdict or a score must have no text.
        The other letters ignore a text.
        """
        subject = self._current_subject
        match answer.letter:
            case "n" if answer.text:
                self._save_and_print(self._recorder.compose_note(subject, answer.text))
            case "w" if answer.text:
                self._record_fault(subject, answer.text)
            case "0" | "1" | "2" if not answer.text:
                score = int(answer.letter)
                self._record_and_continue(self._recorder.compose_score(subject, score))
            case letter if letter in VERDICT_NAME_BY_LETTER and not answer.text:
                verdict_key = VERDICT_NAME_BY_LETTER[letter]
                self._record_and_continue(self._recorder.compose_verdict(subject, verdict_key))
            case "z":
                self._undo_and_print()
            case "t":
                self._show_item(subject.item, full=True)
            case "s":
                self._show_adjacent_item(1)
            case "b":
                self._show_adjacent_item(-1)
            case "q":
                self._is_finished = True
            case _:
                emit_lines(ANSWER_HELP)

    @property
    def _current_navigator(self) -> QueueNavigator:
        if self._navigator is None:
            raise RuntimeError("no item has been printed yet")
        return self._navigator

    @property
    def _current_subject(self) -> ReviewSubject:
        return ReviewSubject(
            self._current_navigator.item, self._store.read_detail(self._current_navigator.item)
        )

    def _record_fault(self, subject: ReviewSubject, fault_prefix: str) -> None:
        """Record the first fault whose name begins with a text, or print the choices."""
        for fault in FAULTS:
            if fault.startswith(fault_prefix):
                self._save_and_print(self._recorder.compose_fault(subject, fault))
                return
        emit(f"Choose a fault: {', '.join(FAULTS)}")

    def _save_and_print(self, review: NewReview | Refusal) -> None:
        """Write a review, count it, and print what was saved.

        Raises CommandError if it could not be saved.
        """
        if isinstance(review, Refusal):
            emit(review.text)
            return
        with self._report_failed_write():
            saved = asyncio.run(self._recorder.save(review))
        emit(saved.message)
        self.n_saved += 1

    def _undo_and_print(self) -> None:
        """Undo the latest review, and print which one it was.

        Raises CommandError if the undo could not be saved.
        """
        with self._report_failed_write():
            undone = asyncio.run(self._recorder.undo())
        emit("nothing to undo" if undone is None else undone.message)

    @contextmanager
    def _report_failed_write(self) -> Iterator[None]:
        """Print why a review could not be written, and end the command."""
        try:
            yield
        except ReviewNotSavedError as error:
            emit(str(error))
            raise CommandError(
                "fcreview could not save the review and has stopped. Solve the problem and start"
                " again."
            ) from None

    def _record_and_continue(self, review: NewReview | Refusal) -> None:
        """Record an answer. If it completes the item, show the next unreviewed item.

        At the end of the queue, say how many earlier items are not reviewed.
        """
        self._save_and_print(review)
        if isinstance(review, Refusal) or not review.completes_item:
            return
        next_item = self._current_navigator.find_next_unreviewed(self._store)
        if next_item is not None:
            self._show_item(next_item)
            return

        self._is_finished = True
        remaining = self._current_navigator.count_remaining_items(self._store)
        if remaining.count:
            emit(f"End of the queue. Unreviewed items before this item: {remaining}.")
        else:
            emit("Queue complete.")

    def _show_adjacent_item(self, offset: int) -> None:
        """Show the next item (offset 1) or the previous one (-1)."""
        item = self._current_navigator.find_neighbour_item(self._store, offset)
        if item is None:
            emit("This is the last item." if offset > 0 else "This is the first item.")
        else:
            self._show_item(item)

    def _show_item(self, item: int, *, full: bool = False) -> None:
        """Print an item, which the next answer reviews."""
        self._navigator = QueueNavigator.locate_item(self._store, self._view, item, self._navigator)
        detail = self._store.read_detail(item)
        emit()
        emit(f"item {_format_title(detail, self._navigator)}")

        # In blind mode, the verdicts are printed after the annotator's own review.
        hide_verdicts = self._store.blind and detail.row.you is None
        emit_lines(
            format_plain_item_lines(
                detail, self._reviews.annotator, hide_verdicts=hide_verdicts, full=full
            )
        )


def _format_title(detail: ItemDetail, navigator: QueueNavigator) -> str:
    """Return the id of an item, its position in the queue, and its run."""
    position = ""
    if navigator.position is not None:
        position = f", {navigator.position + 1} of {navigator.count}"
    run = f"{sanitize(detail.run.full_title)}, {detail.row.run_name}"
    return f"{sanitize(detail.row.id)}{position}, {run}"


def format_plain_item_lines(
    detail: ItemDetail, annotator: str, *, hide_verdicts: bool, full: bool = False
) -> Iterator[str]:
    """Format an item as lines of plain text, for screen readers and simple terminals.

    There are no columns and no rules. With `full`, messages and long texts are complete.
    """
    if not hide_verdicts:
        yield format_item_heading(detail)
    options = DisplayOptions(
        hide_verdicts=hide_verdicts,
        full_dialogue=full,
        unfold_all=full,
        print_hint="enter t for the full text",
    )
    for block in build_document(detail, annotator, options):
        lines = [plain_text(line) for line in block.lines(WIDTH)]
        if block.is_argument and block.copied_value is not None:
            # The first character of the line is the state of the argument.
            state = lines[0][:1]
            yield _format_argument_difference(state, block.copied_value())
            continue
        for line in lines:
            text = HORIZONTAL_RULE.sub("", line).strip()
            if text and text.split() != TABLE_HEADERS:
                yield text


def _format_argument_difference(state: str, values: Mapping[str, str | None]) -> str:
    """Format an argument as a sentence: `days, differs. golden: [1, 2]. predicted: [1]`.

    `state` is a key of `STATE_TEXTS`, such as `!`.
    """
    name = sanitize(values["argument"] or "function")
    golden = values["golden"]
    predicted = values["predicted"]
    if state == "=":
        # An omitted optional argument is equal if the golden answer allows it.
        value = "omitted" if predicted is None else sanitize(predicted)
        return f"{name}, equal: {value}"

    golden_text = "none" if golden is None else sanitize(golden)
    predicted_text = "none" if predicted is None else sanitize(predicted)
    difference = STATE_TEXTS.get(state, "differs")
    return f"{name}, {difference}. golden: {golden_text}. predicted: {predicted_text}"
