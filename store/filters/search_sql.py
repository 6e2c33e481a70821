"""Build the SQL conditions of filter terms, over the tables `item_rows i LEFT JOIN human h`.

Values from the user are always bound parameters, never part of the SQL text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fcreview.model.address import ITEM
from fcreview.model.incident import INCIDENT_KINDS
from fcreview.model.review import CORRECT
from fcreview.model.verdict import (
    JUDGE_NOTE_CRITERIA,
    PASS_FAIL_CRITERIA,
    TRUE_MEANS_FAILURE,
    ZERO_TO_TWO_CRITERIA,
)
from fcreview.store.filters.tokens import FilterTerm, FilterValue
from fcreview.store.review_sql import AUTOMATIC_VERDICT

# an SQL condition and the values of its question marks, in order
SqlCondition = tuple[str, list[object]]
# raises InvalidValueError for a value that the key forbids
ConditionBuilder = Callable[[FilterTerm], SqlCondition]

_TRUE_MEANS_PASS = ", ".join(
    f"'{name}'" for name in PASS_FAIL_CRITERIA if name not in JUDGE_NOTE_CRITERIA
)
_TRUE_MEANS_FAILURE = ", ".join(f"'{criterion}'" for criterion in TRUE_MEANS_FAILURE)
_JUDGE_NOTES = ", ".join(f"'{criterion}'" for criterion in JUDGE_NOTE_CRITERIA)
_ZERO_TO_TWO = ", ".join(f"'{criterion}'" for criterion in ZERO_TO_TWO_CRITERIA)
VERDICT_VALUE = 'CAST(v."value" AS VARCHAR)'


def _has_verdict_sql(condition: str) -> str:
    return f"len([v FOR v IN coalesce(i.verdicts, []) IF {condition}]) > 0"


def _has_judge_verdict_sql(value: str, value_if_true_is_failure: str) -> str:
    regular = f"v.criterion IN ({_TRUE_MEANS_PASS}) AND {VERDICT_VALUE} = '{value}'"
    inverse = (
        f"v.criterion IN ({_TRUE_MEANS_FAILURE}) AND {VERDICT_VALUE} = '{value_if_true_is_failure}'"
    )
    return _has_verdict_sql(f"v.source = 'judge' AND (({regular}) OR ({inverse}))")


HAS_JUDGE_VERDICT = _has_verdict_sql(
    f"v.source = 'judge' AND v.criterion NOT IN ({_JUDGE_NOTES})"
    f" AND (v.target <> '{ITEM}' OR v.criterion = '{CORRECT}')"
)
_JUDGE_FAILED_PART = _has_judge_verdict_sql("false", "true")
_JUDGE_PASSED_PART = _has_judge_verdict_sql("true", "false")
JUDGE_CONDITIONS = {
    "pass": f"(i.judge OR (i.judge IS NULL AND {_JUDGE_PASSED_PART} AND NOT {_JUDGE_FAILED_PART}))",
    "fail": f"(NOT i.judge OR {_JUDGE_FAILED_PART})",
    "unknown": f"(i.judge IS NULL AND NOT {HAS_JUDGE_VERDICT})",
    "none": f"(i.judge IS NULL AND NOT {HAS_JUDGE_VERDICT})",
    "any": f"(i.judge IS NOT NULL OR {HAS_JUDGE_VERDICT})",
}
"""SQL condition for each value of the key `judge`, over the judge verdicts on the item or its
parts. One failing part is enough for `fail`.
"""

_N_DIFFERENCES = (
    "list_sum([CASE WHEN p.golden IS NULL OR p.predicted IS NULL THEN 2"
    " ELSE len([d FOR d IN coalesce(p.diff, []) IF d.state IN ('!', '-', '+')]) END"
    " FOR p IN coalesce(i.pairs, [])])"
)
"""SQL for the number of arguments that differ in an item.

An unpaired call counts as two arguments.
"""
_HAS_MIDDLE_SCORE = _has_verdict_sql(
    f"v.source = 'judge' AND v.criterion IN ({_ZERO_TO_TWO}) AND {VERDICT_VALUE} = '1'"
)
NEAR_MISS = f"(({AUTOMATIC_VERDICT} = false AND {_N_DIFFERENCES} = 1) OR {_HAS_MIDDLE_SCORE})"
"""SQL condition of the queue `uncertain`: the automatic verdict is fail although all calls are
paired and only one argument differs, or a judge gave the score 1 on a scale from 0 to 2.
"""

ERROR_TYPE_SQL = (
    "coalesce(nullif(i.error_type, ''), CASE WHEN i.official IS NOT TRUE THEN i.rule_error_type"
    " END)"
)
"""SQL for the official error type or, without one, the recomputed error type unless the official
verdict is pass.
"""
COMPUTED_COLUMNS = {
    "has_judge_verdict": ("BOOLEAN", HAS_JUDGE_VERDICT),
    "judge_passed_part": ("BOOLEAN", _JUDGE_PASSED_PART),
    "judge_failed_part": ("BOOLEAN", _JUDGE_FAILED_PART),
    "near_miss": ("BOOLEAN", NEAR_MISS),
    "automatic": ("BOOLEAN", AUTOMATIC_VERDICT),
    "failure_type": ("VARCHAR", ERROR_TYPE_SQL),
}
"""SQL expressions that a lake's index stores as columns: column name -> (SQL type, expression over
`item_rows i`). An expression comes before the expressions that it contains.
"""
AUTOMATIC_DISAGREEMENT_SQL = (
    "((i.official IS NOT NULL AND i.rule IS NOT NULL AND i.official <> i.rule)"
    " OR (i.judge IS NOT NULL AND i.judge <> coalesce(i.official, i.rule)))"
)
"""SQL condition for items whose automatic verdicts differ. The judge verdict is compared with the
official verdict or, if there is none, with the recomputed verdict.
"""


def build_incident_conditions(is_incident: str, kind: str, certainty: str) -> dict[str, str]:
    """Return the SQL condition for each value of the filter key `incident`.

    `any` selects the incidents that figures without incidents leave out, and `none` all other
    items. A kind of incident also selects items that figures keep: those with a used-up limit or a
    weak mark. `weak` selects all items with a weak mark. The arguments are SQL expressions.
    """
    by_kind = {name: f"({kind}) = '{name}'" for name in INCIDENT_KINDS}
    return by_kind | {
        "any": is_incident,
        "none": f"NOT {is_incident}",
        "weak": f"({certainty}) = 'weak'",
    }


MAX_SEARCH_LENGTH = (
    10_000  # Limit in characters. DuckDB rejects expressions of a million characters.
)


def escape_regex(text: str) -> str:
    """Return a DuckDB regular expression that matches the text.

    A case-insensitive regular expression is three to four times as fast as `lower` on long texts.
    As with `lower`, the letters İ and i match each other.
    """
    # These ranges are all punctuation characters of ASCII.
    without_operators = re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)
    return re.sub("[iIİ]", "[iİ]", without_operators)


class InvalidValueError(ValueError):
    """Raised if a filter key does not allow a value. The message is for the user."""

    def __init__(self, message: str, value: FilterValue) -> None:
        super().__init__(message)
        self.value = value


def compare_text(column: str, value: FilterValue) -> SqlCondition:
    """Build a condition that compares a text column with a filter value.

    A quoted value and a hash match exactly, and `none` matches empty texts. Any other value ignores
    case, and `*` matches any characters. A value without `*` also matches longer texts that
    continue with a colon: `value_error` matches `value_error:string`.
    """
    if value.quoted:
        return f"{column} = ?", [value.text]
    if value.md5_digest:
        return f"md5({column}) = ?", [value.md5_digest]
    if value.text.lower() == "none":
        return f"({column} IS NULL OR {column} = '')", []
    if "*" in value.text:
        return f"lower({column}) LIKE lower(?) ESCAPE '\\'", [_to_like_pattern(value.text)]
    return f"(lower({column}) = lower(?) OR starts_with(lower({column}), lower(?)))", [
        value.text,
        value.text + ":",
    ]


def compare_leading_words(column: str, value: FilterValue) -> SqlCondition:
    """Build a condition that compares the first words of a text column with a filter value: `live`
    matches `live` and `live_simple`, but not `liver`.

    For the other forms of a value, such as a quoted one, this is `compare_text`.
    """
    is_plain = not value.quoted and not value.md5_digest and "*" not in value.text
    if not is_plain or value.text.lower() == "none":
        return compare_text(column, value)
    text_after_value = f"substr({column}, {len(value.text) + 1})"
    ends_a_word = f"NOT regexp_matches({text_after_value}, '^[A-Za-z0-9]')"
    return f"(starts_with(lower({column}), lower(?)) AND {ends_a_word})", [value.text]


def combine_value_conditions(
    term: FilterTerm, compare: Callable[[FilterValue], SqlCondition]
) -> SqlCondition:
    """Combine the conditions of a term's values, such as `city:Rome|Paris`, into one SQL condition.

    It is true if any value (for `!=`: no value) matches.

    Args:
        term: The term with its values.
        compare: Returns the SQL condition of one value.
    """
    conditions = [compare(value) for value in term.values]
    any_matches = "(" + " OR ".join(sql for sql, _ in conditions) + ")"
    params = collect_params(conditions)
    if term.op == "!=":
        # An empty column matches no value. A comparison with it is NULL, not false.
        return f"NOT coalesce({any_matches}, false)", params
    if term.op not in (":", "="):
        raise InvalidValueError(
            f"{term.op} compares only numbers. Use {term.key}:VALUE", term.values[0]
        )
    return any_matches, params


def collect_params(conditions: Iterable[SqlCondition]) -> list[object]:
    """Return the parameters of several conditions, in their order."""
    all_params: list[object] = []
    for _, params in conditions:
        all_params += params
    return all_params


def match_text(
    column: str, compare: Callable[[str, FilterValue], SqlCondition] = compare_text
) -> ConditionBuilder:
    return lambda term: combine_value_conditions(term, partial(compare, column))


def match_json(column: str) -> ConditionBuilder:
    """Return a builder of conditions on a column of JSON text.

    The value `km` also matches the JSON string `"km"`.
    """
    without_quotes = f"trim({column}, '\"')"

    def compare_json(value: FilterValue) -> SqlCondition:
        return compare_text(column if value.quoted or value.md5_digest else without_quotes, value)

    return lambda term: combine_value_conditions(term, compare_json)


def match_subquery(subquery: str, build_condition: ConditionBuilder) -> ConditionBuilder:
    """Return a condition builder that replaces `{}` in the subquery by the condition from
    `build_condition`.
    """

    def build_subquery_condition(term: FilterTerm) -> SqlCondition:
        condition, params = build_condition(term)
        return subquery.format(condition), params

    return build_subquery_condition


def build_run_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition that selects runs by their number or by a part of their path."""

    def compare_run(value: FilterValue) -> SqlCondition:
        # A bare number is that of a run. In quotes, it is a part of a path.
        if not value.quoted and _is_number(value.text, max_digits=9):
            return "i.run = ?", [int(value.text)]
        return "i.run IN (SELECT run FROM runs WHERE contains(lower(path), lower(?)))", [value.text]

    return combine_value_conditions(term, compare_run)


def _is_number(text: str, *, max_digits: int) -> bool:
    """Whether a text consists of digits, and of so few that the number fits its column."""
    return text.isascii() and text.isdigit() and len(text) <= max_digits


_SHOWN_VALUE_LENGTH = 40  # number of characters of a value in an error message
_MAX_ITEM_DIGITS = 18  # an item number fits 64 bits


def build_item_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition that selects items by number.

    All numbers are one list parameter, because there can be many.
    """
    items = []
    for value in term.values:
        if not _is_number(value.text, max_digits=_MAX_ITEM_DIGITS):
            shown_text = value.text[:_SHOWN_VALUE_LENGTH]
            raise InvalidValueError(f"{shown_text!r} is not a valid item number", value)
        items.append(int(value.text))
    text = "i.item IN (SELECT unnest(?::BIGINT[]))"
    return f"NOT {text}" if term.op == "!=" else text, [items]


IN_QUESTIONS = "i.question_hash IN (SELECT hash FROM questions WHERE {})"


def match_choice(column: str, sql_by_choice: dict[str, str]) -> ConditionBuilder:
    """Return a function that builds the SQL condition of a filter term whose values are keys of
    `sql_by_choice`.

    In these SQL conditions, `{}` stands for the column.
    """

    def find_condition(value: FilterValue) -> SqlCondition:
        condition = sql_by_choice.get(value.text.lower())
        if condition is None:
            raise InvalidValueError(f"use one of {', '.join(sql_by_choice)}", value)
        return "(" + condition.format(column) + ")", []

    return lambda term: combine_value_conditions(term, find_condition)


def match_number(column: str) -> ConditionBuilder:
    """Return a function that builds the SQL condition of a term on a number column, such as
    `tokens>100` or `step:none`.
    """

    def build_condition(term: FilterTerm) -> SqlCondition:
        """Return the condition that compares the column with each number of the term, such as
        `>100`, `=1|2` or `=none` (no number).
        """
        op = "=" if term.op == ":" else term.op
        comparisons = []
        params: list[object] = []
        for value in term.values:
            if value.text.lower() == "none" and op == "=":
                comparisons.append(f"{column} IS NULL")
            else:
                params.append(_parse_number(value))
                comparisons.append(f"{column} {op} ?")
        # `steps!=1|2` excludes both numbers. Other comparisons hold if one of their values does.
        joined = " AND ".join(comparisons) if op == "!=" else " OR ".join(comparisons)
        return f"({joined})", params

    return build_condition


def match_substring(columns: Sequence[str], list_column: str = "") -> ConditionBuilder:
    """Return a function that builds the SQL condition of a filter term that searches columns for a
    text, ignoring case.

    With `list_column`, the names in `columns` are fields of the structs in this list column. This
    takes a third less time than a join with `unnest`.
    """
    names = [f"element.{name}" for name in columns] if list_column else columns
    any_matches = " OR ".join(f"regexp_matches({name}, ?, 'i')" for name in names)
    condition = f"({any_matches})"
    if list_column:
        condition = f"len(list_filter({list_column}, lambda element: {any_matches})) > 0"

    def build_value_condition(value: FilterValue) -> SqlCondition:
        """Return the condition that one of the columns contains the value."""
        if len(value.text) > MAX_SEARCH_LENGTH:
            raise InvalidValueError(
                f"the text has more than {MAX_SEARCH_LENGTH:,} characters", value
            )
        params: list[object] = [escape_regex(value.text)] * len(columns)
        return condition, params

    return lambda term: combine_value_conditions(term, build_value_condition)


def build_search_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition that searches the question, messages, calls and sections of the task.

    Texts that several items share are in the table `questions`, in which DuckDB searches each text
    only once.
    """

    def build_value_condition(value: FilterValue) -> SqlCondition:
        single = FilterTerm(term.key, op=":", values=(value,), position=value.position)
        conditions = [search(single) for search in _SEARCHES]
        any_matches = " OR ".join(sql for sql, _ in conditions)
        return any_matches, collect_params(conditions)

    return combine_value_conditions(term, build_value_condition)


def build_called_function_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition that selects items with a golden or predicted call of a function.

    The call is one of the item, or of one of its questions.
    """
    is_searched_call, params = match_text("one.name")(term)
    in_item = f"len(list_filter(i.calls, lambda one: {is_searched_call})) > 0"
    in_question = f"len(list_filter(calls, lambda one: {is_searched_call})) > 0"
    # Both conditions contain the parameters.
    return f"({in_item} OR {IN_QUESTIONS.format(in_question)})", [*params, *params]


_METADATA = "json_extract(i.extra, '$.more')"
"""SQL for the metadata of an item: a JSON object of which some fields are objects, such as a
sample's metadata.
"""
_METADATA_VALUES = (
    "list_append([json_extract_string(part, ?) FOR part IN coalesce(json_extract(i.extra,"
    " '$.more.*'), [])],"
    f" json_extract_string({_METADATA}, ?))"
)
"""SQL for the values that a field has in the metadata and in its objects.

The two parameters are JSON pointers.
"""


def build_metadata_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition on the metadata of an item, a JSON object of any form: `NAME=VALUE` for one
    field, or a text that occurs anywhere in it.
    """

    def compare_metadata(value: FilterValue) -> SqlCondition:
        """Return the condition for a value `NAME=TEXT`, or for a text to find in all metadata."""
        if len(value.text) > MAX_SEARCH_LENGTH:
            raise InvalidValueError(
                f"the text has more than {MAX_SEARCH_LENGTH:,} characters", value
            )
        name, equals, wanted = value.text.partition("=")
        is_about_field = name and equals
        if not is_about_field:
            occurs = f"regexp_matches(CAST({_METADATA} AS VARCHAR), ?, 'i')"
            return occurs, [escape_regex(value.text)]

        # A JSON pointer: `~` and `/` in names have their own notation.
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        matches = "lower(value) LIKE lower(?) ESCAPE '\\'"
        condition = f"len(list_filter({_METADATA_VALUES}, lambda value: {matches})) > 0"
        # `_METADATA_VALUES` contains the pointer twice.
        return condition, [pointer, pointer, _to_like_pattern(wanted)]

    return combine_value_conditions(term, compare_metadata)


_IN_JUDGEMENTS = "i.item IN (SELECT item FROM visible_judgements v WHERE {})"
_JUDGEMENT_CONDITIONS = {"pass": "v.verdict", "fail": "NOT v.verdict", "any": "true"}


def build_judgement_condition(term: FilterTerm) -> SqlCondition:
    """Build a condition on the visible verdicts of `fcreview judge`: a verdict of any judge, or
    `NAME=VERDICT` of one judge.
    """

    def compare_judgement(value: FilterValue) -> SqlCondition:
        """Return the condition for `pass`, `fail`, `any` or `none`, with `NAME=` of only one judge."""
        name, equals, word = value.text.rpartition("=")
        by_judge = "true"
        params: list[object] = []
        if equals:
            by_judge = "lower(v.judge) = lower(?)"
            params.append(name)

        if word.lower() == "none":
            return f"NOT ({_IN_JUDGEMENTS.format(by_judge)})", params
        verdict = _JUDGEMENT_CONDITIONS.get(word.lower())
        if verdict is None:
            raise InvalidValueError("use pass, fail, any, none or NAME=pass", value)
        return _IN_JUDGEMENTS.format(f"{by_judge} AND {verdict}"), params

    return combine_value_conditions(term, compare_judgement)


_SEARCHES = (
    match_substring(["i.question"]),
    match_substring(["content"], "i.messages"),
    match_substring(["name", "arguments", "raw"], "i.calls"),
    match_substring(["text"], "i.task_sections"),
    match_subquery(IN_QUESTIONS, match_substring(["content"], "messages")),
    match_subquery(IN_QUESTIONS, match_substring(["name", "arguments", "raw"], "calls")),
)


def _parse_number(value: FilterValue) -> float:
    """Parse a finite number. Raises InvalidValueError for other texts, also for `nan` and `inf`."""
    try:
        number = float(value.text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        shown_text = value.text[:_SHOWN_VALUE_LENGTH]
        raise InvalidValueError(f"{shown_text!r} is not a number", value)
    return number


def _to_like_pattern(text: str) -> str:
    """Return a LIKE pattern in which `*` is any text, and other characters are themselves."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")
