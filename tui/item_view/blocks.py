"""Define the display options, the indexed item, and the blocks of the document that shows an item.

Each block renders its lines for a given width, and only when it scrolls into view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from fcreview.matching.conversation import RepeatedCalls, build_chat_messages
from fcreview.model.effective_verdict import find_agreed_verdict
from fcreview.model.incident import NO_ANSWER
from fcreview.model.item import (
    GOLDEN_CALL,
    Call,
    CallPair,
    Item,
    Message,
    Verdict,
    assign_step_numbers,
)
from fcreview.model.review import Opinion
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.store.rows import Suspicion
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    format_size,
    justify_line,
    make_line,
    prefix_rows_with_label,
    wrap_first_rows,
)
from fcreview.tui.text.styles import symbols


@dataclass(frozen=True, slots=True)
class DecisiveStepMark:
    """Mark of the decisive step, which annotators chose or fcreview guessed."""

    message_number: int
    """Number of the message of the decisive step, from 1."""
    people: tuple[str, ...]
    """Annotators who chose this message. The annotator of the session is `you`."""
    guessed_number: int | None = None
    """Number of the message that fcreview guessed, from 1.

    None if there is no guess or if it is hidden.
    """
    guess_kind: str = ""
    guess_reason: str = ""


def find_decisive_step_mark(
    item: Item, opinions: Sequence[Opinion], annotator: str, *, hide_verdicts: bool
) -> DecisiveStepMark | None:
    """Return the decisive step to show: the message with which the model failed the item.

    Annotators can mark this message, and fcreview guesses it. The mark of the adjudicator counts
    first, then that of `annotator`, then one on which all agree, then the guess. In blind review
    (`hide_verdicts`), there is no guess. Returns None without a mark and a guess.
    """
    marks = [opinion for opinion in opinions if _is_decisive_step(opinion)]
    guess = None if hide_verdicts else _find_guessed_step(item)

    message_number = _choose_marked_step(marks, annotator)
    if message_number is None and guess is not None:
        message_number = guess.value
    if message_number is None:
        return None

    people_who_agree = []
    for mark in marks:
        if mark.verdict == message_number:
            name = "you" if mark.annotator == annotator else mark.annotator
            people_who_agree.append(name)

    decisive_step = DecisiveStepMark(int(message_number), tuple(people_who_agree))
    if guess is None:
        return decisive_step
    # The guess is shown beside the mark, also if it is another message.
    return replace(
        decisive_step,
        guessed_number=int(guess.value),
        guess_kind=guess.error_type or "",
        guess_reason=guess.rationale or "",
    )


def _is_decisive_step(opinion: Opinion) -> bool:
    """Whether an annotator currently marks a message as the decisive step."""
    is_current = opinion.criterion == DECISIVE_STEP and not opinion.stale
    return is_current and _is_number(opinion.verdict)


def _find_guessed_step(item: Item) -> Verdict | None:
    for verdict in item.verdicts:
        if verdict.criterion == DECISIVE_STEP and isinstance(verdict.value, (int, float)):
            return verdict
    return None


def _choose_marked_step(marks: Sequence[Opinion], annotator: str) -> Any:
    """Return the number of the message that annotators marked as the decisive step.

    The adjudicator's mark counts first, then that of `annotator`, then one on which all agree.
    Returns None if no mark counts.
    """
    adjudicated = [opinion.verdict for opinion in marks if opinion.is_adjudication]
    own = [opinion.verdict for opinion in marks if opinion.annotator == annotator]
    chosen = adjudicated or own
    if chosen:
        return chosen[0]
    # Without an agreement, this is no number of a message.
    agreed = find_agreed_verdict(opinion.verdict for opinion in marks)
    return agreed if _is_number(agreed) else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


INCIDENT_KEY = "incident"
"""Key of the block that says why an item has no answer."""
DIFFERING_STATES = "!-+"
"""States of a call pair or argument that is different, missing or unexpected."""
UNLIMITED_ROWS = 10_000
MAX_INLINE_CHARS = 8000
"""Maximum length, in characters, of a text that unfolds in place.

A longer text opens in the pager.
"""
LABEL_CELLS = 8
EARLIER_DIALOGUE_KEY = "before"
DIALOGUE_KEYS = ("turn:", EARLIER_DIALOGUE_KEY)
"""Beginnings of the keys of the blocks of the dialogue."""

DocsChoice = Literal["", "golden", "predicted", "all"]
"""Function docs that are shown: of the golden or predicted call, of all functions, or none."""
LineRenderer = Callable[[int], list[Line]]
"""Renders the lines of a block for a width in cells."""


@dataclass(slots=True)
class Block:
    """A piece of an item's document, such as a message, a call or an argument."""

    key: str
    """Identifier that does not change while the item is open, such as `turn:2/call:1/arg:city`."""
    lines: LineRenderer
    target: str | None = None
    """Address of the part that a verdict at this block applies to. If None, the verdict applies to
    the enclosing turn or the item.
    """
    criterion: str = ""
    """Criterion of the verdict keys at this block, if it shows a scorer's verdict on the item;
    else empty.
    """
    is_heading: bool = False
    """Whether the cursor stops at this block although it cannot be folded."""
    is_argument: bool = False
    """Whether the block is an argument.

    The cursor stops at arguments only after the user moved it to an argument.
    """
    differs: bool = False
    """Whether the golden answer and the prediction differ in this block."""
    is_judged: bool = False
    """Whether the benchmark judges this block."""
    foldable: bool = False
    folded: bool = False
    parent: str | None = None
    """Key of the enclosing block, such as the block of the turn. None at the top level."""
    title: str = ""
    opens_pager: bool = False
    full_text: Callable[[], str] | None = None
    """Returns the full text, unsanitized, for the pager and for search."""
    copied_value: Callable[[], Any] | None = None
    """Returns the JSON value that the copy action puts on the clipboard."""
    function: str = ""
    """Name of the function in the golden call, if the block is the heading of a call pair.

    Empty if there is none.
    """
    frame: str = ""
    """Key of the first block of the call in whose frame the block is drawn. Empty without one."""
    frame_footer: Line = ()
    """Text for the bottom right of the frame that begins with this block."""
    message_number: int | None = None
    """Number of the message that the block shows, from 1.

    None if the item is not a conversation.
    """
    is_decisive: bool = False
    is_suspect: bool = False
    """Whether the block is an argument with the reasons why its golden value looks wrong."""

    @property
    def is_cursor_stop(self) -> bool:
        """Whether the cursor stops at this block when it moves to the next or previous block."""
        return self.foldable or self.is_heading


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """Options for the display of an item."""

    folds: Mapping[str, bool] = field(default_factory=dict)
    """Maps the key of a block to the reader's choice: true for folded, false for unfolded."""
    full_dialogue: bool = False
    """Whether the dialogue also contains system messages, logs and raw replies, and is unfolded
    unless the reader folds a part of it.
    """
    hide_verdicts: bool = False
    """Whether blind review hides automatic verdicts, reasons and the reviews of other
    annotators.
    """
    marked_argument: str | None = None
    """Path of the argument under the cursor, which is marked in the function docs."""
    docs_choice: DocsChoice = ""
    docs_call: str = ""
    """Address of the call for which the reader chose function docs.

    They are shown below the call.
    """
    unfold_all: bool = False
    """Whether every block is unfolded, as during a search."""
    group_keys: str = ""
    """Displayed names of the keys that move to other items of the conversation."""
    open_key: str = "enter"
    confirm_key: str = ""
    frames: bool = False
    """Whether to draw frames around unfolded calls, and to fold functions and metadata, as on
    screen.
    """
    panels: bool = False
    """Whether to draw a frame around every section, as on a large screen."""
    suspicion: Suspicion | None = None
    """Why the golden answer of the item looks wrong. None outside the queue of suspects."""
    print_hint: str = ""
    """Hint after a folded text in printed output, such as `use --full for the full text`.

    Empty on screen.
    """

    def is_folded(self, block_key: str, by_default: bool) -> bool:
        """Whether a block is folded: the reader's choice, else `by_default`. In printed output,
        top-level blocks such as turns are always unfolded.
        """
        if self.unfold_all:
            return False
        if self.print_hint:
            is_top_level = "/" not in block_key
            return by_default and not is_top_level
        if self.full_dialogue and block_key.startswith(DIALOGUE_KEYS):
            by_default = False
        return self.folds.get(block_key, by_default)

    @property
    def unfold_hint(self) -> str:
        return self.print_hint or f"{self.open_key} to open"

    def get_row_limit(self, default_limit: int) -> int:
        """Return `default_limit`, or no limit in printed output with all blocks unfolded."""
        prints_everything = self.print_hint and self.unfold_all
        return UNLIMITED_ROWS if prints_everything else default_limit


def set_parent_block(blocks: Sequence[Block], parent_key: str) -> Sequence[Block]:
    for block in blocks:
        block.parent = parent_key
    return blocks


class BlockSource:
    """List of blocks as the `DocumentSource` of a `DocumentLayout`."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        return self.blocks[index].lines(cells)


def set_message_number(
    blocks: Sequence[Block], number: int | None, *, stops_cursor: bool = False
) -> Sequence[Block]:
    """Set the message number of blocks and return the blocks. `stops_cursor`: whether the cursor
    stops at each block that has a number.
    """
    for block in blocks:
        block.message_number = number
        if stops_cursor and number is not None:
            block.is_heading = True
    return blocks


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def group_by(values: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


@dataclass(frozen=True, slots=True)
class CallOrder:
    """Numbers of the calls in a turn, and whether the model changed the order of the golden calls.

    It is computed once, because a turn can have thousands of calls.
    """

    n_pairs: int
    n_golden: int
    """Number of pairs with a golden call."""
    is_other_than_golden: bool
    """Whether the calls of the model have another order than the pairs, in which the golden calls
    come first.
    """
    number_by_golden_index: Mapping[int, int]
    """Index of a golden call -> number of its pair, from 1."""


def find_call_order(pairs: Sequence[CallPair]) -> CallOrder:
    """Find out whether the model made the calls of a turn in another order than the pairs have.

    A pair is a golden call and the predicted call that is compared with it. One of them is missing
    in a pair with a missing or an extra call.
    """
    n_golden = 0
    number_by_golden_index: dict[int, int] = {}
    predicted_indexes = []
    for number, pair in enumerate(pairs, 1):
        if pair.golden is not None:
            n_golden += 1
            number_by_golden_index.setdefault(pair.golden, number)
        if pair.predicted is not None:
            predicted_indexes.append(pair.predicted)

    # Usually the pairs of golden calls come first, in the order of the golden answer, and those of
    # extra calls follow. Where a benchmark lists them otherwise, the order says nothing.
    golden_come_first = all(pair.golden is not None for pair in pairs[:n_golden])
    # The indexes of the model's calls increase if it kept the order of the golden calls, and made
    # extra calls only after them.
    is_order_changed = predicted_indexes != sorted(predicted_indexes)
    return CallOrder(
        n_pairs=len(pairs),
        n_golden=n_golden,
        is_other_than_golden=golden_come_first and is_order_changed,
        number_by_golden_index=number_by_golden_index,
    )


def _select_visible_reviews(
    reviews: Sequence[Opinion], annotator: str, *, hide_verdicts: bool
) -> Sequence[Opinion]:
    """Return the reviews that the annotator may see. In blind review, these are only their own."""
    if not hide_verdicts:
        return reviews
    return [review for review in reviews if review.annotator == annotator]


class IndexedItem:
    """Item whose calls, messages, verdicts and reviews are indexed for display.

    Turns and steps count from 0.
    """

    def __init__(
        self,
        item: Item,
        opinions: Sequence[Opinion] = (),
        annotator: str = "",
        *,
        hide_verdicts: bool = False,
    ):
        self.item = item
        self.annotator = annotator
        self.hide_verdicts = hide_verdicts

        # Reviews and automatic verdicts, by their target: the item or a part such as a call.
        self.opinions = _select_visible_reviews(opinions, annotator, hide_verdicts=hide_verdicts)
        self.opinions_by_target = group_by(self.opinions, lambda opinion: opinion.target)
        self.verdicts = group_by(item.verdicts, lambda verdict: verdict.target)
        """Maps a target to its verdicts. An item may have a million targets, because arguments can
        have verdicts.
        """
        self.argument_verdicts = _group_argument_verdicts_by_call(item.verdicts)

        # Calls, and the pairs of a golden and a predicted call. To adjust the state of a pair, the
        # indexed calls and the states that do not count must be known.
        self.golden_calls = _index_calls(item.golden)
        self.predicted_calls = _index_calls(map(self._explain_missing_call, item.predicted))
        self.uncounted_states = item.extra.uncounted_states or ""
        """States of call pairs, such as `+`, that the benchmark does not count as errors."""
        pairs = [self._adjust_extra_call_state(pair) for pair in item.pairs]
        self.pairs = group_by(pairs, lambda pair: pair.turn)
        """Maps a turn to its pairs of golden and predicted calls."""
        self.user_calls = {(turn, index) for turn, index in item.extra.user_calls or ()}
        """(turn, call index) of the predicted calls that the simulated user made."""

        # Messages, and the steps of each turn.
        self.messages = group_by(item.messages, lambda message: message.turn)
        self.step_numbers = assign_step_numbers(item)
        """Maps (turn, step) to the displayed number of the step, which counts from 1."""
        self.step_counts = Counter(turn for turn, _ in self.step_numbers)
        """Maps a turn to the number of its steps."""

        # Facts about the whole item, which depend on the indexes above.
        self.n_turns = self._count_turns()
        self.failing_turn = self._find_visible_failing_turn()
        """Turn at which the benchmark's evaluation stopped. None if the turn is unknown or
        hidden.
        """
        self.only_last_turn_judged = self._is_only_last_turn_judged()
        """Whether the benchmark supplies the earlier dialogue and judges only the last turn."""
        self.is_trajectory = self._is_trajectory()
        """Whether the item has several turns, several steps or tool results, rather than one
        question and one answer.
        """

    def _count_turns(self) -> int:
        """Return the number of turns: what the item states, or more if calls or messages are in
        later turns.
        """
        used_turns = self.pairs.keys() | self.messages.keys()
        last_used_turn = max(used_turns, default=0)
        return max(self.item.n_turns, last_used_turn + 1)

    def _find_visible_failing_turn(self) -> int | None:
        failing_turn = self.item.extra.failing_turn
        if self.hide_verdicts or failing_turn is None:
            return None
        return failing_turn if 0 <= failing_turn < self.n_turns else None

    def _is_trajectory(self) -> bool:
        has_tool_results = any(message.role == "tool" for message in self.item.messages)
        return self.n_turns > 1 or has_tool_results or self._has_unpaired_steps()

    def _explain_missing_call(self, call: Call) -> Call:
        """Return a call with the decoding error to show.

        In an incident, such as a failed request, the model gave no reply. The decoder's error is
        then about the text of the failure, so a sentence about the missing reply replaces it.
        """
        if self.item.has_incident and call.decode_error is not None:
            return replace(call, decode_error=NO_ANSWER)
        return call

    def _adjust_extra_call_state(self, pair: CallPair) -> CallPair:
        """Return a pair of calls, with another state if its extra call does not count as an error.

        An extra call is a predicted call without a golden call. Its state is `+`.
        """
        if pair.state != "+":
            return pair
        if "+" in self.uncounted_states:
            return replace(pair, state=" ")

        _, predicted = self.golden_and_predicted_call(pair)
        is_undecoded = predicted is not None and predicted.arguments is None
        if not is_undecoded or self.golden_calls:
            return pair
        # Without golden calls, an answer that cannot be decoded as a call is no extra call. It is
        # marked as wrong (`!`) only if the item fails, and never while verdicts are hidden.
        return replace(pair, state="!" if self._is_failure_visible() else " ")

    def _is_failure_visible(self) -> bool:
        """Whether the item fails, and the annotator may see it.

        The recomputed verdict counts if the benchmark has none.
        """
        if self.hide_verdicts:
            return False
        verdict = self.item.official
        if verdict is None:
            verdict = self.item.rule
        return verdict is False

    def _has_unpaired_steps(self) -> bool:
        """Whether the model made calls in several steps, and the benchmark compares none of
        them.
        """
        if self.item.pairs or not self.item.predicted:
            return False
        return self.step_counts[self.item.predicted[0].turn] > 1

    def _is_only_last_turn_judged(self) -> bool:
        """Whether the benchmark judges only the last turn, because it supplied the turns before it.

        This is so if the messages contain golden calls, or if the model did nothing in earlier
        turns.
        """
        has_golden_messages = any(message.name == GOLDEN_CALL for message in self.item.messages)
        if has_golden_messages:
            return True
        # Only benchmarks that judge whole conversations say which states they do not count.
        if self.item.extra.uncounted_states is not None:
            return False

        last_turn = self.n_turns - 1
        if last_turn == 0:
            return False
        has_earlier_calls = any(turn < last_turn for turn in self.turns_with_calls())
        return not has_earlier_calls and not self._has_actions_before(last_turn)

    def _has_actions_before(self, turn: int) -> bool:
        """Whether the messages of earlier turns record that the model did something."""
        for message in self.item.messages:
            is_of_model = message.role in ("tool", "log", "state") and message.step >= 0
            if is_of_model and message.turn < turn:
                return True
        return False

    @cached_property
    def _message_number_by_object_id(self) -> dict[int, int]:
        """Map the messages and calls of a conversation, by object id, to the displayed number of
        the message.

        Items that are no conversation have no numbers.
        """
        if not self.is_trajectory or self.only_last_turn_judged:
            return {}
        numbers = {}
        for number, chat_message in enumerate(build_chat_messages(self.item), 1):
            for part in (*chat_message.sources, *chat_message.calls):
                numbers[id(part)] = number
        return numbers

    def message_number(self, message_or_call: Message | Call | None) -> int | None:
        """Return the number, from 1, of the chat message that contains `message_or_call`. None if
        no message contains it, or if the item is not a conversation.
        """
        return self._message_number_by_object_id.get(id(message_or_call))

    @cached_property
    def decisive_step(self) -> DecisiveStepMark | None:
        return find_decisive_step_mark(
            self.item, self.opinions, self.annotator, hide_verdicts=self.hide_verdicts
        )

    @cached_property
    def decisive_turn(self) -> int | None:
        """Turn of the message with which the model failed the item, or None if it is unknown."""
        mark = self.decisive_step
        if mark is None:
            return None
        parts: list[Message | Call] = [*self.item.messages, *self.item.predicted]
        for part in parts:
            if self.message_number(part) == mark.message_number:
                return part.turn
        return None

    @cached_property
    def call_orders(self) -> dict[int, CallOrder]:
        """Maps a turn to the order of its calls."""
        return {turn: find_call_order(pairs) for turn, pairs in self.pairs.items()}

    @cached_property
    def repeated_calls(self) -> RepeatedCalls:
        return RepeatedCalls(self.item)

    def golden_and_predicted_call(self, pair: CallPair) -> tuple[Call | None, Call | None]:
        """Return (golden call, predicted call) of a pair. A missing call is None."""
        golden = None
        if pair.golden is not None:
            golden = self.golden_calls.get((pair.turn, pair.golden))
        predicted = None
        if pair.predicted is not None:
            predicted = self.predicted_calls.get((pair.turn, pair.predicted))
        return golden, predicted

    def turns_with_calls(self) -> list[int]:
        return [turn for turn in range(self.n_turns) if self.pairs.get(turn)]

    def turns_with_differences(self) -> list[int]:
        """Return the turns in which a call is missing, unexpected or different."""
        turns = []
        for turn, pairs in sorted(self.pairs.items()):
            if any(pair.state in DIFFERING_STATES for pair in pairs):
                turns.append(turn)
        return turns

    def step_label(self, turn: int, step: int) -> str:
        """Return the label of a step, such as `step 2`.

        Steps without messages and calls are not counted.
        """
        return f"step {self.step_numbers[turn, step]}"

    def has_several_steps(self, turn: int) -> bool:
        return self.step_counts[turn] > 1

    def is_earlier_dialogue(self, turn: int) -> bool:
        """Whether the turn is part of the earlier dialogue, which the benchmark does not judge."""
        return self.only_last_turn_judged and turn < self.n_turns - 1

    def calls_of_unpaired_turn(self, turn: int) -> list[Call]:
        """Return the predicted calls of a turn without call pairs, for which the benchmark defines
        no golden calls. Empty if the turn has call pairs.
        """
        if self.pairs.get(turn):
            return []
        return self.calls_of_turn(turn)

    def calls_of_turn(self, turn: int) -> list[Call]:
        """Return the predicted calls of a turn."""
        return [call for call in self.predicted_calls.values() if call.turn == turn]


def _index_calls(calls: Iterable[Call]) -> dict[tuple[int, int], Call]:
    """Map (turn, index in the turn) to each call."""
    return {(call.turn, call.index): call for call in calls}


def _group_argument_verdicts_by_call(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Map the address of each call to the verdicts on its arguments."""
    by_call: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        call_address, separator, _ = verdict.target.partition("/arg:")
        if separator:
            by_call.setdefault(call_address, []).append(verdict)
    return by_call


def fold_symbol(folded: bool) -> Line:
    symbol = symbols().folded if folded else symbols().unfolded
    return make_line(f"{symbol} ", "primary")


def pad_label(label: str) -> str:
    """Pad or cut a label to the width of the label column. The last cell stays blank."""
    return sanitize(label)[: LABEL_CELLS - 1].ljust(LABEL_CELLS)


ESTIMATED_ROW_CELLS = 70


def is_longer_than(text: str, max_rows: int) -> bool:
    """Estimate, in constant time, whether a text needs more than `max_rows` rows of
    `ESTIMATED_ROW_CELLS`.
    """
    max_chars = max_rows * ESTIMATED_ROW_CELLS
    return len(text) > max_chars or text.count("\n", 0, max_chars) >= max_rows


MIN_TEXT_CELLS = 8


def text_block(
    key: str,
    label: str,
    text: str,
    options: DisplayOptions,
    *,
    folded_rows: int = 4,
    style: str = "",
    title: str = "",
) -> Block:
    """Return the block of a labelled text, such as a message.

    A long text is folded to `folded_rows` rows and shows its size. A very long one can only be read
    in the pager, which is a screen of its own.
    """
    is_long = is_longer_than(text, folded_rows)
    needs_pager = len(text) > MAX_INLINE_CHARS
    folded = is_long and (needs_pager or options.is_folded(key, by_default=True))
    max_rows = folded_rows if folded else UNLIMITED_ROWS

    def render_lines(cells: int) -> list[Line]:
        text_cells = max(cells - LABEL_CELLS, MIN_TEXT_CELLS)
        rows, has_more = wrap_first_rows(text, text_cells, max_rows)
        if has_more and folded_rows == 1:
            # The block keeps its only row: the size is at the end of this row, not below it.
            return [_first_row_with_size(label, rows[0], text, cells=cells, style=style)]

        lines = prefix_rows_with_label(pad_label(label), rows, style)
        if has_more:
            lines.append(_size_line(text, options.unfold_hint))
        return lines

    return Block(
        key,
        render_lines,
        foldable=is_long,
        folded=folded,
        opens_pager=needs_pager,
        title=title or label,
        full_text=lambda: text,
    )


def _size_line(text: str, unfold_hint: str) -> Line:
    """Return the line below the first rows of a folded text: its size, and how to unfold it."""
    return ((" " * LABEL_CELLS, ""), (f"… {format_size(text)}, {unfold_hint}", "dim"))


def other_role_block(key: str, message: Message, options: DisplayOptions) -> Block:
    """Return the block of a message whose role the format does not define.

    The text begins with the role.
    """
    text = f"{message.name}: {message.content}"
    return text_block(key, "other", text, options, title=f"message of the role {message.name}")


def _first_row_with_size(
    label: str, first_row: str, full_text: str, *, cells: int, style: str
) -> Line:
    """Return a label, the beginning of a text, and the size of the text at the right end."""
    size = f"  {format_size(full_text)}"
    room = max(cells - LABEL_CELLS, MIN_TEXT_CELLS) - len(size)
    left: Line = ((pad_label(label), "dim"), (clip(first_row, room), style))
    return justify_line(left, make_line(size, "dim"), cells)


def state_snapshot_block(key: str, name: str, text: str) -> Block:
    """Return the block of a snapshot of the environment's state: one line with the size of the
    text. The pager shows the whole text.
    """

    def render_lines(cells: int) -> list[Line]:
        beginning = text[: cells * 2]
        if name:
            beginning = f"{name} {beginning}"
        return [_first_row_with_size("state", sanitize(beginning), text, cells=cells, style="dim")]

    return Block(
        key,
        render_lines,
        foldable=True,
        folded=True,
        opens_pager=True,
        title=f"state {name}",
        full_text=lambda: text,
    )


def one_line_block(
    key: str, label: str, text: str, *, style: str = "dim", suffix: str = "", title: str = ""
) -> Block:
    """Return the block of a text that is cut to one line. `suffix` follows the text and is never
    cut.
    """

    def render_lines(cells: int) -> list[Line]:
        room = cells - LABEL_CELLS - display_width(suffix)
        line = LineBuilder()
        line.add(pad_label(label), "dim")
        line.add(clip(sanitize(text[: cells * 2]), room), style)
        line.add(suffix, "dim")
        return [line.build()]

    return Block(key, render_lines, title=title or label, full_text=lambda: text)
