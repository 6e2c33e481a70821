"""Choose the columns of the queue that fit the width of the list, and format the cells of a row."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fcreview.model.incident import WEAK_NOTE, describe_incident, format_incident_title
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import INCIDENT_PREFIX, describe_error_type
from fcreview.store.rows import SUSPECTS_QUEUE, ColumnWidths, QueueRow, Suspicion
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    center_text,
    fit_line,
    line_width,
    pad_text,
    truncate,
    truncate_difference,
    truncate_middle,
)
from fcreview.tui.text.run_names import use_own_separator
from fcreview.tui.text.styles import get_verdict_style, symbols

EQUAL_CALLS = "calls are equal"
CALLED_FUNCTION = re.compile(r"(.+) called \(golden (.+)\)")
DIFFERENCE_TEXTS = (
    re.compile(r"(?P<predicted>\S+) called \(golden (?P<golden>.+)\)"),
    re.compile(r"(?P<predicted>a call that cannot be decoded) \(golden (?P<golden>.+)\)"),
    re.compile(r"(?P<predicted>\S+) called, not in golden"),
    re.compile(r"(?P<golden>\S+) not called"),
    re.compile(r"(?P<what>\S+) (?P<predicted>.+?) \((?:golden (?P<golden>.+)|not in golden)\)"),
)
NAME = re.compile(r"[\w.]+")
MIN_VALUE_CELLS = 4
ABSENT = ("missing", "not called")
"""Words for an argument or call that the prediction lacks."""
WORD_BOUNDARY = re.compile(r"[\W_]")
MIN_COMMON_CHARS = 3


@dataclass(slots=True, kw_only=True)
class SuspectRow(QueueRow):
    """Row of the queue of suspects."""

    suspicion: Suspicion
    is_first_weak: bool
    """Whether the rows above are strong suspects, and this row and the rows below are not."""


def find_displayed_error_type(row: QueueRow) -> str:
    """Return the official error type, else the recomputed one if the recomputed verdict is a
    failure.
    """
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def difference_line(row: QueueRow) -> Line:
    """Return why the item has no answer, else the first difference (argument, golden value,
    predicted value), else explain the error type.
    """
    if row.is_incident:
        return ((describe_incident(row.incident or "", row.incident_certainty), "warn"),)
    text, function, argument = (
        row.first_difference or "",
        row.diff_function or "",
        row.diff_argument,
    )
    what, golden, predicted = "", "", ""
    if not text:
        error = find_displayed_error_type(row)
        if meaning := describe_error_type(error):
            return ((meaning, ""),)
        fails_with_equal_calls = row.official is False and row.n_golden > 0 and row.n_predicted > 0
        return ((EQUAL_CALLS, "dim"),) if fails_with_equal_calls and not error else ()
    if argument and (row.diff_golden or row.diff_predicted):
        path = text.partition(" ")[0]
        what = path if path.startswith((f"{argument}.", f"{argument}[")) else argument
        golden, predicted = row.diff_golden or "none", row.diff_predicted or "missing"
    elif function and text == f"{function} not called":
        golden, predicted = function, "not called"
    elif function and text == f"{function} called, not in golden":
        golden, predicted = "no call", function
    elif match := CALLED_FUNCTION.fullmatch(text):
        what, golden, predicted = "function", match[2], match[1]
    else:
        return ((sanitize(text), ""),)
    return _value_pair_line(what, golden, predicted)


def _value_pair_line(argument: str | None, golden: str, predicted: str) -> Line:
    head: Line = ((f"{sanitize(argument)}  ", ""),) if argument else ()
    return (
        *head,
        (sanitize(golden), "golden"),
        (f" {symbols().arrow} ", "dim"),
        (sanitize(predicted), "predicted"),
    )


def parse_difference_line(text: str) -> Line:
    """Return the text of a first difference as a line of `difference_line`.

    A text of unknown form stays one part.
    """
    for pattern in DIFFERENCE_TEXTS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            return _value_pair_line(
                parts.get("what"),
                parts.get("golden") or "none",
                parts.get("predicted") or "not called",
            )
    return ((sanitize(text), ""),)


def shorten_difference_line(line: Line, width: int) -> Line:
    """Shorten a line of `difference_line` to `width` cells.

    The common beginning of the two values is cut first.
    """
    if line_width(line) <= width:
        return line
    if len(line) < 3:
        text, style = line[0]
        return ((truncate_difference(text, width), style),)
    *head, (golden, _), arrow, (predicted, _) = line
    if predicted in ABSENT:
        return _shorten_line_without_prediction(
            tuple(head), golden, (arrow, (predicted, "predicted")), width
        )
    start = _find_differing_word_start(golden, predicted, (width - line_width((*head, arrow))) // 2)
    golden, predicted = (
        symbols().ellipsis + text[start:] if start else text for text in (golden, predicted)
    )
    room = width - line_width((*head, arrow))
    needed = min(display_width(golden) + display_width(predicted), MIN_VALUE_CELLS * 2)
    if room < needed and head:
        name_cells = max(line_width(tuple(head)) - 2 + room - needed, MIN_VALUE_CELLS)
        head = [(truncate(head[0][0].rstrip(), name_cells) + "  ", "")]
        room = width - line_width((*head, arrow))
    if room < needed:
        return fit_line((*head, (golden, "golden"), arrow, (predicted, "predicted")), width)
    half = room // 2
    golden_cells = max(half, room - display_width(predicted))
    golden = _truncate_value(golden, min(golden_cells, display_width(golden)))
    predicted = _truncate_value(predicted, room - display_width(golden))
    return (*head, (golden, "golden"), arrow, (predicted, "predicted"))


def _shorten_line_without_prediction(
    name_part: Line, golden: str, absent_part: Line, width: int
) -> Line:
    """Shorten the line of a golden value or call that the prediction lacks. If the golden value of
    an argument does not fit beside the name of the argument, omit it.
    """
    room = width - line_width((*name_part, *absent_part))
    if room >= MIN_VALUE_CELLS:
        return (*name_part, (_truncate_value(golden, room), "golden"), *absent_part)
    first = (name_part[0][0].rstrip(), "") if name_part else (golden, "golden")
    name_cells = max(width - line_width(absent_part), MIN_VALUE_CELLS)
    return fit_line(((truncate(first[0], name_cells), first[1]), *absent_part), width)


def _find_differing_word_start(golden: str, predicted: str, width: int) -> int:
    """Return the start of the first differing word, or a later position if the word does not fit
    into `width`.
    """
    if golden == predicted:
        return 0
    common = _measure_common_prefix((golden, predicted))
    start = max((found.end() for found in WORD_BOUNDARY.finditer(golden, 0, common)), default=0)
    # two characters of context
    start = start if common - start + MIN_COMMON_CHARS < width else common - 2
    return start if start >= MIN_COMMON_CHARS else 0


def _truncate_value(text: str, width: int) -> str:
    if NAME.fullmatch(text) and display_width(text) > width:
        return truncate_middle(text, width, 0)
    return truncate(text, width)


VERDICT_TITLES = {"official": "official", "rule": "recomp.", "judge": "judge", "you": "you"}
NARROW_TITLES = {"official": "offic."}
"""Titles of verdict columns in a list that has no room for the whole words."""
DIFFERENCE_TITLE = "first difference: golden {arrow} predicted"
SUSPICION_TITLE = "reason for suspicion"
SCORE_CELLS = 5
FIRST_WEAK = "weak evidence from here"
MIN_DIFFERENCE_CELLS = 18
PREFERRED_DIFFERENCE_CELLS = 36
"""Preferred width, in cells, of the first difference, for which long ids and run names are cut."""
PREFERRED_SUSPICION_CELLS = 28
MIN_ID_CELLS = 12
COMFORTABLE_DIFFERENCE_CELLS = 28
"""Minimum width, in cells, of the first difference, for which verdict columns and the category
are omitted.
"""
MIN_COLUMN_CELLS = 8
NARROW_CELLS = 60
"""Width of the list, in cells, below which run names are cut to `MIN_MODEL_CELLS`."""
MIN_MODEL_CELLS = 5
LEAD_CELLS = 3
"""Width, in cells, of the cursor, the flag and a blank before the columns."""
MIN_TAIL_CELLS = 3
CATEGORY_MIN_CELLS = 90


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Columns of the list of items, from left to right."""

    columns: tuple[tuple[str, int], ...]
    """(name, width in cells) of each column. The width excludes the blank before the column."""
    shows_question: bool = False
    """Whether the column `difference` shows the question instead of the first difference."""
    has_narrow_titles: bool = False
    """Whether titles of verdict columns are shortened."""

    @classmethod
    def fit_to_width(cls, width: int, widths: ColumnWidths, *, blind: bool = False) -> QueueColumns:
        """Choose the columns for a list that is `width` wide. Omit columns with the same value in
        all rows. In a narrow list, omit the recomputed, judge and official verdicts, in this order,
        before ids are cut.
        """
        size = 0 if width < 100 else 1 if width < 140 else 2
        omitted = {
            name
            for name, exists in (("rule", widths.has_rule), ("judge", widths.has_judge))
            if not exists
        }
        hides_verdicts = blind or widths.has_score
        names = (
            {"official", "rule", "judge"} - omitted - widths.constant
            if not hides_verdicts
            else set()
        )
        model = min(max(widths.model, MIN_COLUMN_CELLS), (16, 24, 30)[size]) if widths.model else 0
        least_model = min(MIN_COLUMN_CELLS if width >= NARROW_CELLS else MIN_MODEL_CELLS, model)
        least_id = 22 if width < NARROW_CELLS and not model else (18, 30, 34)[size]
        least_id = min(max(widths.item, 4), least_id)
        preferred = PREFERRED_SUSPICION_CELLS if widths.has_score else PREFERRED_DIFFERENCE_CELLS
        score = SCORE_CELLS + 1 if widths.has_score else 0
        for name in ("", "title", "rule", "judge", "official"):
            names.discard(name)
            titles = _choose_verdict_titles(is_narrow=name != "")
            verdicts = [
                (each, len(title))
                for each, title in titles.items()
                if each in names or each == "you"
            ]
            rest = (
                width
                - LEAD_CELLS
                - sum(size + 1 for _, size in verdicts)
                - 1
                - (model + 1 if model else 0)
                - score
            )
            if rest + model - least_model - least_id - 1 >= COMFORTABLE_DIFFERENCE_CELLS:
                break
        spare = min(max(preferred - (rest - least_id - 1), 0), model - least_model)
        rest, model = rest + spare, model - spare
        if widths.run_names:
            labels = shorten_run_names(widths.run_names, model)
            least = max(display_width(labels.get(name, name)) for name in widths.run_names)
            rest, model = rest + model - least, least
        item = min(max(widths.item, 4), max(rest - 1 - preferred, least_id))
        item = min(item, max(rest - 1 - MIN_DIFFERENCE_CELLS, MIN_ID_CELLS))
        columns = [("item", item)] + ([("model", model)] if model else [])
        rest -= item + 1
        category = min(
            max(widths.category, 8), (14, 20, 22)[size], rest - COMFORTABLE_DIFFERENCE_CELLS - 3
        )
        has_category = widths.category and not widths.id_repeats_category
        if has_category and width >= CATEGORY_MIN_CELLS and category >= MIN_COLUMN_CELLS:
            columns.append(("category", category))
            rest -= category + 1
        columns += ([("score", SCORE_CELLS)] if score else []) + verdicts
        if rest >= MIN_COLUMN_CELLS:
            columns.append(("difference", rest))
        shows_question = blind or not (widths.has_difference or widths.error)
        return cls(tuple(columns), shows_question, has_narrow_titles=name != "")


def _choose_verdict_titles(*, is_narrow: bool) -> dict[str, str]:
    return VERDICT_TITLES | (NARROW_TITLES if is_narrow else {})


_WORD_END = re.compile("[-_ /:@]")
EMPTY_COLUMNS = QueueColumns(())
NO_LABELS: Mapping[str, str] = {}


def queue_heading_line(columns: QueueColumns, queue_name: str = "") -> Line:
    difference = (
        "question" if columns.shows_question else DIFFERENCE_TITLE.format(arrow=symbols().arrow)
    )
    difference = SUSPICION_TITLE if queue_name == SUSPECTS_QUEUE else difference
    titles = {
        **_choose_verdict_titles(is_narrow=columns.has_narrow_titles),
        "difference": difference,
    }
    cells = "".join(
        " " + pad(truncate(titles.get(name, name), size), size) for name, size in columns.columns
    )
    return ((" " * (LEAD_CELLS - 1) + cells, "dim"),)


def queue_row_line(
    row: QueueRow, columns: QueueColumns, short_names: Mapping[str, str] = NO_LABELS
) -> Line:
    """Return a row as a line: a flag (`i` for import issues, or the symbol of a stale review) and
    the cells. `short_names`: short forms of ids and run names, by the full forms.
    """
    flag: StyledText = (
        ("i", "warn") if row.n_issues else (symbols().stale, "warn") if row.stale else (" ", "")
    )
    parts: list[StyledText] = [flag]
    for name, size in columns.columns:
        parts.append((" ", ""))
        if name == "difference":
            parts += _make_difference_cell(row, size, columns.shows_question)
        else:
            parts.append(_make_column_cell(row, name, size, short_names))
    return tuple(parts)


def _make_column_cell(
    row: QueueRow, column_name: str, width: int, short_names: Mapping[str, str]
) -> StyledText:
    match column_name:
        case "item" | "model":
            text = row.id if column_name == "item" else row.run_name
            short_name = short_names.get(text) or truncate_middle(sanitize(text), width)
            if column_name == "item":
                return pad(short_name, width), ""
            return pad(use_own_separator(short_name), width), "dim"
        case "score":
            return pad(
                f"{row.suspicion.score:.2f}" if isinstance(row, SuspectRow) else "", width
            ), ""
        case "category":
            return pad(truncate_middle(sanitize(row.category), width), width), "dim"
        case _:
            value = getattr(row, column_name)
            is_own = column_name == "you"
            symbol = (
                symbols().annotator_symbol(value, row.your_parts)
                if is_own
                else symbols().verdict_symbol(value)
            )
            if is_own and row.is_own_verdict_contradicted:
                return center_text(f"({symbol})", width), "dim"
            return center_text(symbol, width), get_verdict_style(value)


def _make_difference_cell(row: QueueRow, width: int, shows_question: bool) -> Line:
    # An incident comes first, whatever the column shows. It reveals no verdict, so blind review
    # shows it too.
    if shows_question and not row.is_incident:
        return (pad_text(truncate(sanitize(row.question), width), width, "dim"),)
    if isinstance(row, SuspectRow):
        line = fit_line(_suspicion_line(row), width)
        return (*line, (" " * max(width - line_width(line), 0), ""))
    line = difference_line(row)
    code = _find_difference_code(row)
    if row.is_incident and line_width(line) > width:
        line = ((format_incident_title(row.incident or ""), "warn"),)
    room = width - line_width(line)
    if room < 0:
        line = shorten_difference_line(line, width)
    elif code and room >= display_width(code) + 3:
        line = (*line, ("   ", ""), (code, "dim"))
    return (*line, (" " * max(width - line_width(line), 0), ""))


def _find_difference_code(row: QueueRow) -> str:
    """Return the code after the first difference: the kind of an incident, the note on an empty
    reply, or the error type.
    """
    if row.is_incident:
        return f"{INCIDENT_PREFIX}{row.incident}"
    if row.incident_certainty == "weak":
        return WEAK_NOTE
    return sanitize(find_displayed_error_type(row))


def _suspicion_line(row: SuspectRow) -> Line:
    """Return why a golden answer looks wrong.

    Weak reasons are dim, and the first weak suspect is marked.
    """
    title, _, details = sanitize(row.suspicion.summary).partition(":")
    mark: Line = ((f"{FIRST_WEAK} {symbols().separator} ", "warn"),) if row.is_first_weak else ()
    is_strong = row.suspicion.is_strong
    return (
        *mark,
        (f"{title}:", "strong" if is_strong else "dim"),
        (details, "" if is_strong else "dim"),
    )


def shorten_ids(ids: Sequence[str], width: int) -> dict[str, str]:
    """Return short forms of the ids that are wider than `width`, by id.

    They keep the end of the id and are unique.
    """
    wide = {each: text for each in ids if display_width(text := sanitize(each)) > width}
    groups: dict[str, list[str]] = {}
    for each, text in wide.items():
        groups.setdefault(truncate_middle(text, width), []).append(each)
    labels = {group[0]: label for label, group in groups.items() if len(group) == 1}
    used = {*labels.values(), *(sanitize(each) for each in ids if each not in wide)}
    for label, group in groups.items():
        start = _measure_common_prefix([wide[each] for each in group]) if len(group) > 1 else 0
        for each in group if len(group) > 1 else ():
            forms = _list_short_forms(wide[each], start, width)
            labels[each] = next((form for form in forms if form not in used), label)
            used.add(labels[each])
    return labels


def shorten_run_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Return unique short forms of the run names that are wider than `width`, by name.

    A short form has the first words of the name and, if another name begins with these words, also
    the last word. In a narrow column, it has only the last word if the last words of all names
    differ.
    """
    labels, texts = shorten_ids(names, width), sorted(map(sanitize, names))
    used = {*labels.values(), *texts}
    last_words = {
        text: symbols().ellipsis + text[max(_find_word_ends(text), default=len(text)) :]
        for text in texts
    }
    if (
        width < MIN_COLUMN_CELLS
        and len({*last_words.values()}) == len(last_words)
        and max(map(display_width, last_words.values()), default=0) <= width
    ):
        return {name: last_words[sanitize(name)] for name in labels}
    for name in labels:
        text = sanitize(name)
        cuts, last = _find_word_ends(text), last_words[text]
        heads = [text[:at].rstrip(f" {symbols().separator}") for at in reversed(cuts)]
        forms = [head + symbols().ellipsis for head in heads if _is_unique_prefix(texts, head)]
        forms += [head + last for head in (*heads, text[: max(width - display_width(last), 1)])]
        fitting = (form for form in forms if display_width(form) <= width and form not in used)
        labels[name] = next(fitting, labels[name])
        used.add(labels[name])
    return labels


def _find_word_ends(text: str) -> list[int]:
    return [found.start() for found in _WORD_END.finditer(text) if found.start()]


def _is_unique_prefix(sorted_texts: Sequence[str], prefix: str) -> bool:
    second = bisect_left(sorted_texts, prefix) + 1
    return second >= len(sorted_texts) or not sorted_texts[second].startswith(prefix)


def _list_short_forms(text: str, kept_index: int, width: int) -> Iterator[str]:
    """Yield short forms of an id, the best first. The first forms keep the character at
    `kept_index`, where the id begins to differ from other ids.
    """

    def cut_middle(head_cells: int) -> str:
        return truncate_middle(text, width, (head_cells + 0.5) / max(width - 1, 1))

    yield from map(cut_middle, range(kept_index + 1, width - MIN_TAIL_CELLS))
    yield truncate(symbols().ellipsis + text[max(kept_index - 1, 0) :], width)
    yield from map(cut_middle, range(width - 1))
    yield from (truncate(symbols().ellipsis + text[at:], width) for at in range(1, len(text)))


def _measure_common_prefix(texts: Sequence[str]) -> int:
    return next(
        (at for at, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1),
        min(map(len, texts)),
    )
