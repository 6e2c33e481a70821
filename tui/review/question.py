"""Read the answers of all runs to a question, group equal answers, and draw the groups with their
differences from the golden answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fcreview.matching.first_difference import ArgumentRow, build_argument_rows
from fcreview.model.address import ITEM, RESPONSE
from fcreview.model.item import ABSENT, Call, CallPair, DiffState, Item, StateDifference
from fcreview.model.json_value import to_json_text
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import describe_error_type, format_count
from fcreview.store.queries.item_detail import Prediction
from fcreview.store.rows import ItemDetail, QueueRow, View, strip_duplicate_mark
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DIFFERING_STATES, Block, DisplayOptions, IndexedItem
from fcreview.tui.item_view.call_diff import (
    ONE_SIDED_LABELS,
    argument_lines,
    column_headings,
    compute_argument_columns,
    format_call,
    undecoded_call_lines,
)
from fcreview.tui.item_view.function_docs import find_function, function_docs_lines
from fcreview.tui.item_view.other_runs import get_automatic_verdict
from fcreview.tui.text.graphics import verdict_badge
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    StyledText,
    justify_line,
    line_width,
    make_line,
    truncate,
    wrap_first_rows,
    wrap_sanitized,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import STATE_STYLES, get_verdict_style, symbols


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Runs that gave the same answer to a question."""

    key: str
    """Text that equal answers have in common."""
    rows: Sequence[QueueRow]
    detail: ItemDetail
    """The item of the first run."""
    has_other_golden: bool = False
    """Whether these runs have another golden answer than the displayed one."""

    @property
    def lacks_golden(self) -> bool:
        """Whether the golden answer is unknown.

        BFCL's score files have the golden answers of failing items only. So passing items have none
        if the dataset is missing.
        """
        return self.detail.run.lacks_dataset and not self.detail.displayed_item.golden

    @property
    def items(self) -> list[int]:
        return [row.item for row in self.rows]

    @property
    def unreviewed_items(self) -> list[int]:
        """Items that this annotator has not reviewed, or whose review is stale."""
        return [row.item for row in self.rows if row.you is None]

    @property
    def verdicts(self) -> Counter[bool]:
        """Number of runs that pass and that fail, by their automatic verdicts."""
        verdicts = (get_automatic_verdict(row) for row in self.rows)
        return Counter(verdict for verdict in verdicts if verdict is not None)

    @property
    def has_mixed_verdicts(self) -> bool:
        """Whether some of the runs pass and others fail, so that more than the calls differs."""
        return len(self.verdicts) > 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the answers of all runs, the most frequent answer first."""

    detail: ItemDetail
    """Item whose question and golden answer are shown."""
    groups: Sequence[AnswerGroup]

    @property
    def items(self) -> set[int]:
        """Items of all runs."""
        return {item for group in self.groups for item in group.items}

    @property
    def is_reviewed(self) -> bool:
        """Whether the annotator has reviewed the question in a run."""
        return any(row.you is not None for group in self.groups for row in group.rows)

    @property
    def view(self) -> View:
        """The items of all runs, in the order in which the runs are listed."""
        items = [str(item) for group in self.groups for item in group.items]
        return View(f"item:{','.join(items)}", "dataset")


def read_question(
    store: Store,
    item_number: int,
    compare: Callable[[ItemDetail], ItemDetail] = lambda detail: detail,
) -> Question:
    """Read the question of an item with the answers of all runs.

    Runs with equal answers are one group. The largest group comes first. `compare` compares an item
    with the golden answer that annotators accepted, if there is one.

    Raises: StoreError if the item does not exist, or the store is damaged.
    """
    # A hidden duplicate is the same item with a mark in its number, which the store does not know.
    number_in_store = strip_duplicate_mark(item_number)
    predictions = store.fetch_predictions_of_same_question(number_in_store)
    detail_by_item = {}
    for detail in store.read_details([prediction.item for prediction in predictions]):
        detail_by_item[detail.row.item] = compare(detail)
    displayed = detail_by_item.get(number_in_store) or compare(store.read_detail(number_in_store))
    return Question(displayed, _group_answers(predictions, detail_by_item, displayed))


def _group_answers(
    predictions: Sequence[Prediction],
    detail_by_item: Mapping[int, ItemDetail],
    displayed: ItemDetail,
) -> list[AnswerGroup]:
    """Group the runs by their answers, the largest group first."""
    # Equal answers have the same key.
    details_by_answer: dict[str, list[ItemDetail]] = {}
    for prediction in predictions:
        detail = detail_by_item.get(prediction.item)
        if detail is not None:
            answer_key = _make_answer_key(detail.item, prediction.calls)
            details_by_answer.setdefault(answer_key, []).append(detail)

    groups = []
    for answer_key, details in details_by_answer.items():
        groups.append(_make_answer_group(answer_key, details, displayed))
    return sorted(groups, key=lambda group: len(group.rows), reverse=True)


def _make_answer_group(
    answer_key: str, details: Sequence[ItemDetail], displayed: ItemDetail
) -> AnswerGroup:
    """Return the group of the runs that gave the same answer, with the first run as its example."""
    first = details[0]
    return AnswerGroup(
        answer_key,
        rows=[detail.row for detail in details],
        detail=first,
        has_other_golden=first.item.golden_hash != displayed.item.golden_hash,
    )


def _make_answer_key(item: Item, calls: str) -> str:
    """Return a text that is equal for two runs if they gave the same answer to the same golden
    answer.

    The calls are compared and, if the benchmark judges the reply, the reply too. Golden answers
    differ if a run was imported with another version of the dataset.
    """
    reply = _join_replies(item) if _is_reply_judged(item) else ""
    return f"{item.golden_hash} {calls} {reply}"


def _is_reply_judged(item: Item) -> bool:
    """Whether a verdict depends on the text of the reply, and not only on the calls."""
    extra = item.extra
    has_golden_reply = extra.golden_reply is not None or extra.accepted_answers is not None
    is_judged = any(
        verdict.source == "judge" or verdict.target == RESPONSE for verdict in item.verdicts
    )
    return has_golden_reply or is_judged or extra.final_answer is not None


def _join_replies(item: Item) -> str:
    """Return all texts that the model wrote."""
    return "\n".join(each.content for each in item.messages if each.role == "assistant")


def summarize_groups(groups: Sequence[AnswerGroup], *, hides_verdicts: bool) -> str:
    """Summarize the answers of runs to a question: `3 of 4 runs fail · 2 different answers`.

    Without verdicts, or if they are hidden, only the number of runs is given.
    """
    parts = []
    verdicts: Counter[bool] = Counter()
    for group in groups:
        verdicts += group.verdicts
    n_runs = sum(len(group.rows) for group in groups)
    if verdicts and not hides_verdicts:
        parts.append(f"{verdicts[False]} of {format_count(verdicts.total(), 'run')} fail")
    else:
        parts.append(format_count(n_runs, "run"))
    is_one = len(groups) == 1
    parts.append("one answer" if is_one else f"{len(groups)} different answers")
    return f" {symbols().separator} ".join(parts)


MAX_CALLS_ABOVE = 40


def question_lines(item: Item, cells: int, max_rows: int) -> list[Line]:
    """Return the question of the user, and below it the golden answer, in at most `max_rows` lines.

    If there is no room for both, the question is cut first, because the golden answer is what a
    reviewer compares with.
    """
    golden = _golden_lines(item, cells)
    max_question_rows = max(max_rows - len(golden), max_rows // 3, 1)
    question = _user_question_lines(item, cells, max_question_rows)

    # A very long golden answer is cut too. Its last line says how much is missing.
    n_free = max_rows - len(question)
    if len(golden) > n_free:
        n_shown = max(n_free - 1, 0)
        more = f"{symbols().ellipsis} {format_count(len(golden) - n_shown, 'more line')}"
        golden = [*golden[:n_shown], make_line(more, "dim")]
    return question + golden


def _user_question_lines(item: Item, cells: int, max_rows: int) -> list[Line]:
    """Return the messages of the user without blank lines, in at most `max_rows` lines."""
    messages = [message.content for message in item.messages if message.role == "user"]
    full_text = "\n".join(messages) or item.question
    text_without_blank_lines = "\n".join(line for line in full_text.split("\n") if line.strip())
    rows, has_more = wrap_first_rows(text_without_blank_lines, cells, max_rows)
    if has_more and rows:
        rows[-1] = _add_ellipsis(rows[-1], cells)
    return [make_line(row.rstrip()) for row in rows]


def _add_ellipsis(row: str, cells: int) -> str:
    """Return a row with an ellipsis at its end, which says that more text follows."""
    ending = f" {symbols().ellipsis}"
    return truncate(row.rstrip(), cells - display_width(ending)) + ending


def docs_lines(item: Item, cells: int, max_rows: int) -> list[Line]:
    """Return the docs of the functions that the golden answer calls, as many rows as fit."""
    lines: list[Line] = []
    for name in dict.fromkeys(call.name for call in item.golden):
        function = find_function(item.functions, name)
        if function is not None:
            lines.append(BLANK_LINE)
            lines += function_docs_lines(name, function, None, cells)
    return lines[: max(max_rows, 0)]


GOLDEN_LABEL = "golden  "
MAX_GOLDEN_ROWS = 60
"""Maximum number of rows of a golden call. The item has the rest."""


def _golden_lines(item: Item, cells: int) -> list[Line]:
    """Return the golden answer: its calls, its reply and the final answers that count as right.

    Example: `golden turn 1 get_weather(city="Rome")`. The label stands only on the first line.
    """
    lines: list[Line] = []
    label = GOLDEN_LABEL
    text_cells = max(cells - len(GOLDEN_LABEL), 1)
    for text in _list_golden_texts(item) or ["no call"]:
        for row in wrap_sanitized(text, text_cells, MAX_GOLDEN_ROWS):
            lines.append(((label, "dim"), (row, "golden")))
            label = " " * len(GOLDEN_LABEL)
    return lines


def _list_golden_texts(item: Item) -> list[str]:
    """Return a text for each golden call, for the golden reply and for the accepted answers."""
    texts = []
    has_several_turns = any(call.turn > 0 for call in item.golden)
    for call in item.golden[:MAX_CALLS_ABOVE]:
        turn = f"turn {call.turn + 1}  " if has_several_turns else ""
        texts.append(turn + format_call(call))
    if item.extra.golden_reply is not None:
        texts.append(f"reply: {sanitize(item.extra.golden_reply)}")
    if item.extra.accepted_answers is not None:
        answers = " or ".join(to_json_text(answer) for answer in item.extra.accepted_answers)
        texts.append(f"answer: {sanitize(answers)}")
    return texts


BODY_INDENT = 2
MAX_GROUP_ROWS = 60
"""Maximum number of rows of an answer. The item has the rest."""
MAX_NAME_ROWS = 3


def build_answer_blocks(question: Question, *, blind: bool) -> list[Block]:
    """Return a block for each group of equal answers. `blind`: hide automatic verdicts of items
    that the annotator has not reviewed.
    """
    blocks = []
    for number, group in enumerate(question.groups):
        render = partial(_group_lines, group, blind=blind)
        blocks.append(Block(f"answer:{number}", render, is_heading=True))
    return blocks


def _group_lines(group: AnswerGroup, cells: int, *, blind: bool) -> list[Line]:
    """Return a group of equal answers: a heading with its runs, and the differences from the golden
    answer.

    Blind review hides verdicts until the annotator has reviewed one of the items.
    """
    hides_verdicts = blind and all(row.you is None for row in group.rows)
    lines = _group_heading_lines(group, cells, hides_verdicts=hides_verdicts)
    body = _difference_lines(group, cells - BODY_INDENT, hides_verdicts=hides_verdicts)
    if len(body) > MAX_GROUP_ROWS:
        n_hidden = len(body) - MAX_GROUP_ROWS
        hint = f"{symbols().ellipsis} {n_hidden} more lines, enter opens the item"
        body = [*body[:MAX_GROUP_ROWS], make_line(hint, "dim")]
    margin: StyledText = (" " * BODY_INDENT, "")
    lines += [(margin, *line) for line in body]
    return [*lines, BLANK_LINE]


def _group_heading_lines(group: AnswerGroup, cells: int, *, hides_verdicts: bool) -> list[Line]:
    """Return the heading of a group: number of runs, automatic verdict, run names, annotator's
    verdict.

    Example: `3 runs fail gpt-4o, qwen3, llama3` and `you ✗` at the right. Names that do not fit on
    this line follow below it.
    """
    line = LineBuilder()
    line.add_padded(format_count(len(group.rows), "run"), 8, "strong")
    line.add_line(_verdict_line(group, hides_verdicts=hides_verdicts))
    own_verdict = _own_verdict_line(group.rows)

    names = [format_run_name(row) for row in group.rows]
    # At least two blanks stand before the annotator's verdict.
    free_cells = cells - line.width - 2 - line_width(own_verdict)
    text_beside = "  " + ", ".join(names)
    if display_width(text_beside) <= free_cells:
        line.add(text_beside)
        return [justify_line(line.build(), own_verdict, cells)]

    lines = [justify_line(line.build(), own_verdict, cells)]
    for row in _name_rows(names, cells - BODY_INDENT):
        lines.append(make_line(" " * BODY_INDENT + row))
    return lines


def _name_rows(names: Sequence[str], cells: int) -> list[str]:
    """Lay out run names on rows, with commas between them.

    A name is never divided between rows. If there are too many rows, the last one counts the names
    that do not fit: `gpt-4o, qwen3 and 12 more`.
    """
    rows = [""]
    for index, name in enumerate(names):
        is_last_name = index + 1 == len(names)
        text = name if is_last_name else f"{name}, "
        is_first_of_row = not rows[-1]
        fits = display_width(rows[-1] + text.rstrip()) <= cells
        if is_first_of_row or fits:
            rows[-1] += text
        elif len(rows) < MAX_NAME_ROWS:
            rows.append(text)
        else:
            rows[-1] = f"{rows[-1].rstrip()} and {len(names) - index} more"
            break

    # A single name and the number of further ones can be wider than a row.
    return [truncate(row.rstrip(), cells) for row in rows]


def _verdict_line(group: AnswerGroup, *, hides_verdicts: bool) -> Line:
    """Return the automatic verdict of a group, or `✓ 2 ✗ 1` if some of its runs pass and others
    fail.
    """
    if hides_verdicts:
        return make_line("hidden", "dim")
    verdicts = group.verdicts
    if not verdicts:
        return make_line("no verdict", "dim")
    if not group.has_mixed_verdicts:
        (verdict,) = verdicts
        return (verdict_badge(verdict),)
    return (
        (f"{symbols().passed} {verdicts[True]}", get_verdict_style(True)),
        (" ", ""),
        (f"{symbols().failed} {verdicts[False]}", get_verdict_style(False)),
    )


def _own_verdict_line(rows: Sequence[QueueRow]) -> Line:
    """Return `you ✓`, or `you ✓ 1 of 3` if the annotator reviewed some of the runs."""
    verdicts = [row.you for row in rows if row.you is not None]
    if not verdicts:
        return BLANK_LINE
    # Several verdicts, such as different numbers, can have the same sign.
    signs: list[StyledText] = []
    for verdict in verdicts:
        signs.append((symbols().verdict_symbol(verdict), get_verdict_style(verdict)))

    line = LineBuilder()
    line.add("you", "people")
    count_by_sign = Counter(signs)
    for (sign, style), count in count_by_sign.items():
        line.add(f" {sign}", style)
        if len(count_by_sign) > 1:
            line.add(f" {count}")
    if len(verdicts) < len(rows):
        line.add(f" {len(verdicts)} of {len(rows)}", "dim")
    line.add(" ")
    return line.build()


def _difference_lines(group: AnswerGroup, cells: int, *, hides_verdicts: bool) -> list[Line]:
    """Return how an answer differs from the golden answer.

    The differences are in the calls, in the final state of the environment, and in further criteria
    of the benchmark. The last two tell the verdict, so they are omitted if it is hidden.
    """
    item = group.detail.displayed_item
    lines: list[Line] = []
    if group.lacks_golden:
        lines.append(make_line("the files of these runs have no golden answer", "dim"))
        lines += _unpaired_call_lines(item, (), cells)
    else:
        if group.has_other_golden:
            lines.append(
                make_line("compared with another golden answer, of its own dataset", "warn")
            )
            lines += _golden_lines(item, cells)
        lines += _call_lines(item, cells)

    if hides_verdicts:
        return lines
    lines += _state_lines(item, cells)
    lines += _criterion_lines(item, cells)
    return lines


def _call_lines(item: Item, cells: int) -> list[Line]:
    """Return the lines of an answer's calls, compared with the golden calls.

    Calls that differ from a golden call come first, with their arguments. Equal calls follow, then
    calls that are compared with nothing. If the answer has no calls, the beginning of the reply is
    shown.
    """
    indexed = IndexedItem(item)
    pairs = [pair for turn in sorted(indexed.pairs) for pair in indexed.pairs[turn]]
    different_pairs = [pair for pair in pairs if pair.state in DIFFERING_STATES]
    lines: list[Line] = []
    for pair in different_pairs:
        lines += _pair_lines(indexed, pair, cells)

    # "=" is an equal pair, and "~" one that differs only in form.
    equal_pairs = [pair for pair in pairs if pair.state in "=~"]
    lines += _equal_call_lines(indexed, equal_pairs, cells)
    lines += _unpaired_call_lines(item, pairs, cells)
    if not item.predicted:
        lines += _reply_lines(item, cells)
    return lines


MAX_LISTED_EQUAL_CALLS = 3
MAX_EQUAL_CALL_ROWS = 2


def _equal_call_lines(indexed: IndexedItem, pairs: Sequence[CallPair], cells: int) -> list[Line]:
    """Return the predicted calls that the golden answer accepts, in dim text, a few lines each.

    They are shown because they can differ in optional arguments and in form. If there are many,
    they are only counted.
    """
    if len(pairs) > MAX_LISTED_EQUAL_CALLS:
        count = format_count(len(pairs), "call")
        return [_equal_line("=", f"{count} as in the golden answer")]

    lines: list[Line] = []
    for pair in pairs:
        _, predicted = indexed.golden_and_predicted_call(pair)
        if predicted is None:
            continue
        text = _turn_prefix(indexed, pair) + format_call(predicted)
        lines += _wrap_equal_text(pair.state, text, cells)
    return lines


def _wrap_equal_text(state: DiffState, text: str, cells: int) -> list[Line]:
    """Return a text about equal values on at most `MAX_EQUAL_CALL_ROWS` lines. The first one has
    the sign of the state.
    """
    text_cells = cells - 2
    rows, has_more = wrap_first_rows(text, text_cells, MAX_EQUAL_CALL_ROWS)
    if has_more:
        rows[-1] = _add_ellipsis(rows[-1], text_cells)
    lines = []
    sign = state
    for row in rows:
        lines.append(_equal_line(sign, row.rstrip()))
        sign = " "
    return lines


def _equal_line(state: DiffState, text: str) -> Line:
    """Return a line with the sign of a state and a dim text: `= get_weather(city="Rome")`."""
    return ((f"{symbols().state_symbol(state)} ", STATE_STYLES[state]), (text, "dim"))


def _unpaired_call_lines(item: Item, pairs: Iterable[CallPair], cells: int) -> list[Line]:
    """Return the predicted calls that the benchmark compares with nothing."""
    # A pair with a blank state contains a call that is compared with nothing.
    paired = {(pair.turn, pair.predicted) for pair in pairs if pair.state != " "}
    lines: list[Line] = []
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            rows = wrap_sanitized(format_call(call), cells - 2, MAX_CALL_ROWS)
            lines += [make_line(f"  {row}", "predicted") for row in rows]
    return lines


MAX_REPLY_ROWS = 3
MAX_CALL_ROWS = 3


def _reply_lines(item: Item, cells: int) -> list[Line]:
    """Return the beginning of the reply of a model that made no call."""
    replies = [message.content for message in item.messages if message.role == "assistant"]
    lines = [make_line("no call", "dim")]
    if replies:
        rows, has_more = wrap_first_rows(replies[-1], cells, MAX_REPLY_ROWS)
        if has_more:
            rows[-1] = _add_ellipsis(rows[-1], cells)
        lines += [make_line(row.rstrip(), "predicted") for row in rows]
    return lines


def _pair_lines(indexed: IndexedItem, pair: CallPair, cells: int) -> list[Line]:
    """Return the lines of two calls that differ: a heading, the arguments that differ and the names
    of the equal ones.

    If one of the calls is missing, the other one is shown in full.
    """
    golden, predicted = indexed.golden_and_predicted_call(pair)
    if golden is None or predicted is None:
        return _one_sided_lines(pair, golden or predicted, _turn_prefix(indexed, pair), cells)

    lines = [_pair_heading_line(indexed, pair, cells)]
    # A call that could not be parsed has no arguments to compare, only its text.
    for call in (golden, predicted):
        if call.arguments is None:
            return lines + undecoded_call_lines(call, cells, DisplayOptions())
    rows = build_argument_rows(golden, predicted, pair.diff)
    return lines + _different_argument_lines(rows, cells) + _equal_argument_lines(rows, cells)


def _pair_heading_line(indexed: IndexedItem, pair: CallPair, cells: int) -> Line:
    """Return `≠ turn 2 · get_weather`."""
    heading = LineBuilder()
    heading.add(f"{symbols().differs} ", STATE_STYLES["!"])
    heading.add(_turn_prefix(indexed, pair), "dim")
    heading.add(truncate(sanitize(pair.name), max(cells - heading.width, 1)), "strong")
    return heading.build()


def _different_argument_lines(rows: Sequence[ArgumentRow], cells: int) -> list[Line]:
    """Return a table of the arguments that differ. Empty without any."""
    different_rows = [row for row in rows if row.state != "="]
    if not different_rows:
        return []
    widths = compute_argument_columns(different_rows, cells)
    lines = [column_headings(widths)]
    for row in different_rows:
        lines += argument_lines(row, widths)
    return lines


def _equal_argument_lines(rows: Sequence[ArgumentRow], cells: int) -> list[Line]:
    """Return the equal arguments with their values, on at most `MAX_EQUAL_CALL_ROWS` lines. Empty
    without any.

    Two answers can differ only in such a value, because a golden answer can accept several.
    """
    # A deeper row is a part of a nested value.
    texts = [_format_equal_argument(row) for row in rows if row.state == "=" and row.depth == 0]
    if not texts:
        return []
    text = f"{len(texts)} equal: {', '.join(texts)}"
    return _wrap_equal_text("=", text, cells)


def _format_equal_argument(row: ArgumentRow) -> str:
    """Return `city="Rome"`, or `city omitted` for an optional argument without a value."""
    if row.predicted is None:
        return f"{row.path} omitted"
    return f"{row.path}={row.predicted}"


def _turn_prefix(indexed: IndexedItem, pair: CallPair) -> str:
    """Return `turn 2 · ` for a pair of an item with several turns, else an empty text."""
    return f"turn {pair.turn + 1} {symbols().separator} " if indexed.n_turns > 1 else ""


def _one_sided_lines(pair: CallPair, call: Call | None, turn_prefix: str, cells: int) -> list[Line]:
    """Return a golden call without a predicted one or the reverse: `- turn 2 · missing: f(a=1)`.

    The label stands only on the first line.
    """
    sign = symbols().state_symbol(pair.state)
    label = f"{sign} {turn_prefix}{ONE_SIDED_LABELS[pair.state]}: "
    text = sanitize(pair.name) if call is None else format_call(call)
    rows = wrap_sanitized(text, max(cells - display_width(label), 20), MAX_CALL_ROWS)
    lines: list[Line] = []
    for row in rows:
        lines.append(((label, STATE_STYLES[pair.state]), (row, "")))
        label = " " * display_width(label)
    return lines


def _format_state_count(n_values: int) -> str:
    count = format_count(n_values, "value")
    verb = "differs" if n_values == 1 else "differ"
    return f"final state: {count} {verb} from the golden state"


MAX_STATE_VALUES = 6


def _state_lines(item: Item, cells: int) -> list[Line]:
    """Return which values of the environment differ from those that the golden calls would lead to.

    Some benchmarks compare this final state, for example a database, instead of the calls.
    """
    differences = item.extra.state_differences
    if not differences:
        return []
    lines = [make_line(_format_state_count(len(differences)), "strong")]
    for path, difference in list(differences.items())[:MAX_STATE_VALUES]:
        text = describe_state_difference(path, difference)
        rows = wrap_sanitized(sanitize(text), cells - 2, MAX_CALL_ROWS)
        lines += [make_line(f"  {row}", "diff") for row in rows]
    n_hidden = len(differences) - MAX_STATE_VALUES
    if n_hidden > 0:
        more = f"  {symbols().ellipsis} {format_count(n_hidden, 'more value')}"
        lines.append(make_line(more, "dim"))
    return lines


def describe_state_difference(path: str, difference: StateDifference) -> str:
    """Describe a difference of the state in words: `order.status is "open" instead of
    "cancelled"`.
    """
    if difference.predicted == ABSENT:
        return f"{path} does not exist; golden {_to_text(difference.golden)}"
    if difference.golden == ABSENT:
        return f"{path} is {_to_text(difference.predicted)}; the golden state has no such value"
    predicted = _to_text(difference.predicted)
    return f"{path} is {predicted} instead of {_to_text(difference.golden)}"


def _to_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else to_json_text(value)


def _criterion_lines(item: Item, cells: int) -> list[Line]:
    """Return the further criteria that the item fails, and what its error type means.

    A criterion is for example the state of the database in tau-bench. The error type is explained
    only if no difference between the calls is shown, which would say more.
    """
    lines: list[Line] = []
    for criterion in _list_failed_criteria(item):
        # The benchmark's names of criteria are also its names of errors.
        words = describe_error_type(criterion.upper()) or "criterion failed"
        text = f"{words}  {sanitize(criterion)}"
        lines += [make_line(row, "bad") for row in wrap_sanitized(text, cells)]

    meaning = describe_error_type(item.error_type or item.rule_error_type or "")
    has_call_differences = any(pair.state in DIFFERING_STATES for pair in item.pairs)
    if meaning and not has_call_differences:
        lines += [make_line(row) for row in wrap_sanitized(meaning, cells)]
    return lines


def _list_failed_criteria(item: Item) -> list[str]:
    """Return the criteria other than `correct` that the item as a whole fails, each once."""
    failed = []
    for verdict in item.verdicts:
        is_further_criterion = verdict.target == ITEM and verdict.criterion != CORRECT
        if is_further_criterion and verdict.value is False and verdict.criterion not in failed:
            failed.append(verdict.criterion)
    return failed
