"""Format verdicts, error types, metrics, rates and table columns as text for commands and
screens.
"""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.model.incident import describe_incident
from fcreview.model.json_value import to_json_text
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.verdict import PASS_FAIL, PASS_FAIL_CRITERIA, SCALES, YES_NO, Scale

if TYPE_CHECKING:
    from fcreview.model.metric import MetricUnit


def get_scale_words(criterion: str) -> dict[str, Any]:
    """Map the words of a criterion's scale to verdicts.

    Without a scale, the words are pass, fail and unsure.
    """
    return dict(SCALES.get(criterion, Scale(PASS_FAIL)).words)


def format_answer(criterion: str, value: Any) -> str:
    """Return the word for a verdict, such as `pass` or `2`, or JSON if the criterion's scale has
    no word for it.
    """
    for word, verdict in get_scale_words(criterion).items():
        if type(verdict) is type(value) and verdict == value:
            return word
    return to_json_text(value)


def parse_answer(criterion: str, word: str) -> Any:
    """Return the verdict for a text from `format_answer`. Raises ValueError for any other text."""
    words = get_scale_words(criterion)
    if word in words:
        return words[word]
    try:
        return json.loads(word)
    except ValueError:
        allowed = ", ".join(words)
        message = f"{word!r} is not a valid verdict on {criterion} (allowed: {allowed})"
        raise ValueError(message) from None


def describe_scale_error(criterion: str, value: Any) -> str | None:
    """Describe why a criterion's scale does not allow a verdict. Returns None if the verdict is
    allowed. Yes/no criteria also allow a list, because HammerBench lists the hallucinated
    arguments.
    """
    scale = SCALES.get(criterion)
    if scale is None or _has_word_for(scale, value):
        return None
    allows_list = scale.labels or scale.words is YES_NO
    if isinstance(value, list) and allows_list:
        return None
    if scale.is_number_allowed(value):
        return None

    allowed = scale.describe_answers()
    return f"{to_json_text(value)} is not a valid verdict on {criterion} (allowed: {allowed})"


def _has_word_for(scale: Scale, value: Any) -> bool:
    # The types are compared too, because 1 equals true in Python.
    return any(
        type(verdict) is type(value) and verdict == value for verdict in scale.words.values()
    )


COLUMN_GAP = 2


def compute_column_widths(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    max_width: int | None = None,
    table_width: int | None = None,
    min_widths: Sequence[int] = (),
) -> list[int]:
    """Compute the width of each column of a table, in terminal cells, so that its title and texts
    fit, and the whole table is at most `table_width` wide.

    Args:
        titles: Titles of the columns.
        rows: The sanitized texts of each row.
        max_width: Largest width of every column except the last.
        table_width: Width of the whole table; columns are shortened if necessary.
        min_widths: Widths below which columns are not shortened. A title is never shortened.
    """
    widths = [_measure_column(title, rows, column) for column, title in enumerate(titles)]
    if max_width is not None:
        for column in range(len(widths) - 1):
            widths[column] = min(widths[column], max_width)
    if table_width is None:
        return widths

    smallest_widths = [display_width(title) for title in titles]
    for column, min_width in enumerate(min_widths[: len(titles)]):
        smallest_widths[column] = max(smallest_widths[column], min_width)
    room = table_width - COLUMN_GAP * (len(widths) - 1)
    return _shorten_columns(widths, smallest_widths, room)


def _measure_column(title: str, rows: Sequence[Sequence[str]], column: int) -> int:
    """Return the width of the widest text of a column, in terminal cells."""
    width = display_width(title)
    for row in rows:
        width = max(width, display_width(row[column]))
    return width


def _shorten_columns(widths: Sequence[int], smallest_widths: Sequence[int], room: int) -> list[int]:
    """Shorten columns until their sum is at most `room`, or each has its smallest width.

    The last column gives way first, because it has the longest texts, and then always the widest.
    """
    shortened = list(widths)
    last_column = len(widths) - 1
    while sum(shortened) > room:
        can_be_shortened = [
            column for column, width in enumerate(shortened) if width > smallest_widths[column]
        ]
        if not can_be_shortened:
            break

        if last_column in can_be_shortened:
            column_to_shorten = last_column
        else:
            column_to_shorten = max(can_be_shortened, key=lambda column: shortened[column])
        shortened[column_to_shorten] -= 1
    return shortened


def align_row(
    texts: Sequence[str], widths: Sequence[int], right_columns: Container[int] = ()
) -> list[str]:
    """Shorten the sanitized texts of a row to the column widths, or fill them with spaces. Each
    text but the first begins with the column gap. `right_columns` are the indexes of columns that
    are aligned to the right.
    """
    gap = " " * COLUMN_GAP
    aligned = []
    for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
        cell = pad(text, width, align_right=column in right_columns)
        is_first = column == 0
        aligned.append(cell if is_first else gap + cell)
    return aligned


_MEANINGS = {
    "string is not an accepted value": "value_error:string",
    "value is not accepted": "value_error:others",
    "list is not an accepted value": "value_error:list/tuple",
    "object has missing or unexpected fields": "value_error:dict_key",
    "object has a field with a value that is not accepted": "value_error:dict_value",
    "fields of the object differ from those of the golden object": "value_error:dict_items",
    "list of objects has the wrong length": "value_error:list_dict_count",
    "argument value is not accepted": "value_error, wrong_value",
    "list element has the wrong type": "type_error:nested",
    "value has the wrong type": "type_error",
    "answer could not be decoded into calls": (
        "ast_decoder:decoder_failed, executable_decoder:decoder_failed, wrong_output_format"
    ),
    "answer does not follow the format for calls": "ast_decoder",
    "no function fits, but one was called": "irrelevance_error, relevance_error:decoder_success",
    "no function fits the question, but the model did not decline": "not_declined",
    "no call was made, but one was expected": "relevance_error",
    "model answered in words, but a call was expected": "text",
    "model declined, but a call was expected": "refused",
    "another function was called": (
        "wrong_func_name, wrong function name, function name error, func_error, wrong_function,"
        " function_mismatch"
    ),
    "another function was called first": "wrong_first_function",
    "required argument is missing": "missing_required, lack_args",
    "argument of the golden call is missing": "missing_optional, param_missing, missing_parameter,"
    " missing_argument",
    "function does not have this argument": "unexpected_param",
    "argument is not in the golden call": (
        "addition_args, param_hallucination, hallucination, hallucinated_parameter, extra_argument"
    ),
    "no call matches a golden call": "cannot_find_match, simple_function_checker:unclear",
    "either the call or the golden call has no arguments": "wrong_param",
    "golden call was not made": "missing_call",
    "call is not in the golden answer": "extra_call",
    "wrong number of calls": "wrong_count, wrong functions number",
    "model stopped before all golden calls were made": "stop_early",
    "final state differs from the golden state": "multi_turn:instance_state_mismatch",
    "final state differs from the expected one": "class attributes wrong",
    "changed objects differ from the expected ones": "wrong number of class",
    "results of the golden calls are missing": "multi_turn:execution_response_mismatch",
    "result of the call differs from the golden result": "executable_checker",
    "a turn that requires calls has none": "multi_turn:empty_turn_model_response",
    "model was stopped because it took too many steps": "multi_turn:force_terminated",
    "inference failed, so there is no answer": "multi_turn:inference_error",
    "final answer does not contain an accepted answer": "agentic:answer_not_found",
    "model did not report what is missing or wrong in the question": "error_detection",
    "reply does not name the argument that is missing or wrong": "error_correction",
    "reply has none of the golden reply's labels": "no_overlap",
    "scorer did not accept the answer": "incorrect",
    "answer gets only partial credit": "partial",
    "model gave no answer": "no_answer",
    "a call's arguments are not JSON": "invalid_arguments, decode_error",
    "the model reached a limit of the run": "limit",
    "reply was cut off or withheld": "stopped",
    "a tool reported an error": "tool_error",
    "task compares the text of a Java or JavaScript value; BFCL passes it": "task:typed_value",
    "task compares whole objects, not their fields; BFCL passes it": "task:object_value",
    "task counts a call whose arguments are not JSON; BFCL does not": "task:undecodable_call",
    "task accepts whole numbers in a list of floats": "task:number_in_list",
    "task accepts a typed value instead of Java or JavaScript code": "task:typed_reply",
    "task accepts a default value": "task:default_value",
    "task accepts a different spelling of a name": "task:name_spelling",
    "task's rules differ from those of BFCL": "task:other",
    "a call changes something that the golden actions do not": "wrong_write",
    "a call differs from its golden call": "wrong_call",
    "a call was refused and not made correctly later": "refused_call",
    "no call could be decoded from a reply": "undecodable_call",
    "the model repeated a call until it was stopped": "repeated_call",
    "a golden call was never made": "missing_call",
    "a golden action came too late and was refused": "wrong_order",
    "numbers in a calculation differ from the golden calculation": "wrong_calculation",
    "a reply states a different value than expected": "wrong_answer",
    "an expected text was only in a message with a call, which the user does not"
    " see": "unseen_answer",
    "no reply contains an expected text": "missing_answer",
    "the user chose a value that no golden action has": "user_choice",
    "the user withdrew a value that a golden action needs": "user_retraction",
    "the user never stated a value that a golden action needs": "user_omission",
    "the model declined to perform a golden action": "refused_request",
    "the model handed the conversation over too early": "early_end",
    "a golden action was never made": "missing_action",
    "final database differs from the expected one": "db_mismatch, DB",
    "no call matches a golden action": "action_not_made, ACTION",
    "model did not give the user an expected text": "not_communicated, COMMUNICATE",
    "an assertion about the environment is not met": "env_assertion_failed, ENV_ASSERTION",
    "an assertion in plain language is not met": "nl_assertion_failed, NL_ASSERTION",
    "a test failed": "failed_test",
    "the called function is not available": "name_error",
    "model made a call after the last golden call": "func_hallucination",
    "conversation did not end within the limit of steps": "max_steps, not_ended",
    "too many errors ended the conversation": "too_many_errors",
    "an error of the agent ended the conversation": "agent_error",
    "an error of the simulated user ended the conversation": "user_error",
    "an error ended the conversation": "error, unexpected_error",
    "the conversation took too long": "timeout",
    "the conversation was longer than the model can read": "context_window_exceeded",
    "the benchmark's infrastructure failed, so nothing was checked": "infrastructure_error",
}
_ERROR_TYPES = {
    error_type: meaning for meaning, types in _MEANINGS.items() for error_type in types.split(", ")
}


def describe_verdict_failure(source: str, failure: str) -> str:
    """Explain a verdict that is missing because the judge or scorer failed.

    The text is sanitized.
    """
    name = "judge" if source == "judge" else "scorer"
    return f"unknown: the {name} failed ({sanitize(failure)})"


INCIDENT_PREFIX = "incident:"


def describe_error_type(error_type: str) -> str:
    """Describe an error type in words, such as `string is not an accepted value` for
    `value_error:string`.

    Returns an empty text for an unknown type. The filter term of a kind of incidents, such as
    `incident:rate_limit`, is described too.
    """
    if error_type.startswith(INCIDENT_PREFIX):
        return describe_incident(error_type.removeprefix(INCIDENT_PREFIX), None)

    joined_types = error_type.split(" + ")
    if len(joined_types) > 1:
        meanings = [describe_error_type(joined_type) for joined_type in joined_types]
        # A part of the meaning would mislead.
        return " and ".join(meanings) if all(meanings) else ""

    # The whole type is looked up first, then its last and its first part.
    first_part, _, _ = error_type.partition(":")
    _, _, last_part = error_type.rpartition(":")
    for name in (error_type, last_part, first_part):
        if name in _ERROR_TYPES:
            return _ERROR_TYPES[name]
    return ""


def format_metric_value(value: float | None, unit: MetricUnit, digits: int = 1) -> str:
    """Format the value of a metric with its unit: `57.1 %`, `12`, `0.734`, `0.02 s`, `6.56 $`;
    `–` for None.

    `digits` is the number of decimals, except for counts and scores.
    """
    if value is None:
        return NO_VALUE
    if unit == "share":
        return f"{100 * value:.{digits}f} %"
    if unit == "percent":
        return f"{value:.{digits}f} %"
    if unit == "seconds":
        return f"{value:.{digits}f} s"
    if unit == "dollars":
        return f"{value:.{digits}f} $"
    if unit == "count":
        return f"{value:,.0f}"
    return f"{value:.3f}"


def format_with_interval(
    value: float | None, low: float | None, high: float | None, unit: MetricUnit, decimals: int
) -> tuple[str, str]:
    """Format a value and its interval: `91.2 %`, `[85.0, 95.1]`.

    The second text is empty without an interval.
    """
    value_text = _format_rounded(value, unit, decimals)
    if low is None:
        return value_text, ""

    low_text = _format_rounded(low, unit, decimals).removesuffix(" %")
    high_text = _format_rounded(high, unit, decimals).removesuffix(" %")
    return value_text, f"[{low_text}, {high_text}]"


def _format_rounded(value: float | None, unit: MetricUnit, decimals: int) -> str:
    if value is None:
        return format_metric_value(None, unit)
    # A small negative value becomes -0.0, and -0.0 + 0.0 is 0.0, without a sign.
    rounded = round(value, decimals) + 0.0
    return format_metric_value(rounded, unit)


@dataclass(frozen=True, slots=True)
class HeaderAccuracy:
    """Accuracy of a category as the header of its score file states it."""

    passed: int
    total: int

    @property
    def message(self) -> str:
        share = f"{100 * self.passed / self.total:.2f} %"
        counts = f"{self.passed} of {self.total}"
        return (
            f"the score file states {share} ({counts}); without the result file, only failed items"
            " are known"
        )


def read_header_accuracy(
    header: Any, n_known_items: int, n_known_passed: int
) -> HeaderAccuracy | None:
    """Read the accuracy of a category from the header of its score file, `{"correct_count": 344,
    "total_count": 400}`.

    The header is needed if the result file is missing, because score files list only failed items.
    Returns None if the header does not fit what is known.

    Args:
        header: The header of the score file.
        n_known_items: Number of known items. They must all be failures that the header counts.
        n_known_passed: Number of known items that pass.
    """
    if not isinstance(header, dict):
        return None
    if n_known_passed:
        # Passed items are only known from the result file, so it is not missing.
        return None
    passed = header.get("correct_count")
    total = header.get("total_count")
    if not isinstance(passed, int) or not isinstance(total, int):
        return None

    # If no item passes, the score file lists all items, so that none is unknown. If all pass, it
    # lists none.
    has_passes_and_failures = 0 < passed < total
    n_failed = total - passed
    if not has_passes_and_failures or n_known_items > n_failed:
        return None
    return HeaderAccuracy(passed, total)


NO_VALUE = "–"
NO_DATASET_MESSAGE = "no dataset, so questions and golden answers are missing. Pass --data DIR."


def get_source_name(source: str) -> str:
    """Return the displayed name of a source of verdicts: `recomputed` for the key `rule`."""
    return "recomputed" if source == "rule" else source


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Format a number with a noun: `1 item`, `1,234 items`.

    `plural` is needed if it is not the noun with an s.
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or noun + 's'}"


def format_dataset_name(benchmark: str, generation: str, language: str) -> str:
    """Format the name of a benchmark's dataset: `acebench v1 zh`."""
    return " ".join(word for word in (benchmark, generation, language) if word)


def format_rate(n_passed: int, n_verdicts: int) -> str:
    """Format a pass rate: `71.3 %`, or `–` if there are no verdicts."""
    if not n_verdicts:
        return NO_VALUE
    return f"{100 * n_passed / n_verdicts:.1f} %"


def format_rate_with_count(n_passed: int, n_verdicts: int, n_items: int) -> str:
    """Format a pass rate: `71.3 %`.

    If some items have no verdict, add the number of verdicts: `71.3 % of 998`.
    """
    rate = format_rate(n_passed, n_verdicts)
    if 0 < n_verdicts < n_items:
        return f"{rate} of {n_verdicts:,}"
    return rate


def format_corrected_rate(n_passed: int, n_verdicts: int, n_items: int, n_disputed: int) -> str:
    """Format the corrected pass rate and the open disagreements, if any: `35.9 % · 13 open`."""
    rate = format_rate_with_count(n_passed, n_verdicts, n_items)
    return f"{rate} · {n_disputed:,} open" if n_disputed else rate


NEARLY_COMPLETE = 0.9
"""Share of the items that must have a recomputed verdict, so that their rate represents all
items of a metric.
"""


def is_nearly_complete(n_verdicts: int, n_items: int) -> bool:
    """Whether all items, all but one, or at least `NEARLY_COMPLETE` of them have a verdict."""
    return n_items - n_verdicts <= 1 or n_verdicts >= NEARLY_COMPLETE * n_items


def format_recomputed_rate(
    n_passed: int,
    n_verdicts: int,
    n_items: int,
    placeholder: str = NO_VALUE,
    *,
    lacks_dataset: bool = False,
) -> str:
    """Format the pass rate of recomputed verdicts, with their number if some items have none: `71.3
    % of 998`.

    Without a dataset, only failed items can be recomputed, so their pass rate would mislead. Then,
    or if fewer than half of the items have a verdict, only the number is shown: `– (61 of 1,000)`.
    """
    if n_verdicts in (0, n_items):
        return format_rate(n_passed, n_verdicts)
    has_few_verdicts = n_verdicts * 2 < n_items
    if lacks_dataset or has_few_verdicts:
        return f"{placeholder} ({n_verdicts:,} of {n_items:,})"
    return format_rate_with_count(n_passed, n_verdicts, n_items)


def format_official_rate(
    n_passed: int, n_verdicts: int, n_items: int, *, stated_pass: int = 0, stated_of: int = 0
) -> str:
    """Format the official pass rate: `71.3 % of 998`, or, from the headers of the score files,
    `86.0 % stated`.
    """
    if n_verdicts or not stated_of:
        return format_rate_with_count(n_passed, n_verdicts, n_items)
    return f"{format_rate(stated_pass, stated_of)} stated"


def format_judge_rate(n_passed: int, n_verdicts: int, n_items: int) -> str:
    """Format the pass rate of a run that has only judge verdicts: `83.0 % judge`."""
    return f"{format_rate_with_count(n_passed, n_verdicts, n_items)} judge"


NO_ANSWERS = "no item has an answer"
"""Text instead of a figure without incidents, if all items are incidents."""


def format_rate_without_incidents(n_passed: int, n_verdicts: int, n_answered: int) -> str:
    """Format a pass rate without incidents and the number of its items: `46.9 % (211)`, or `–`
    without a verdict.
    """
    if not n_answered:
        return NO_ANSWERS
    if not n_verdicts:
        return NO_VALUE
    return f"{format_rate(n_passed, n_verdicts)} ({n_verdicts:,})"


def format_not_run(n_items: int, n_expected: int) -> str:
    """State how many items have a result: `results for 3 of 400 items`."""
    return f"results for {n_items:,} of {format_count(n_expected, 'item')}"


def format_verdict(value: Any, criterion: str = CORRECT) -> str:
    """Format a verdict as sanitized text: `pass`, `fail`, `yes`, `no`, a number, a word or
    labels; `–` for None.
    """
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        if criterion in PASS_FAIL_CRITERIA:
            return "pass" if value else "fail"
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        labels = ", ".join(str(label) for label in value)
        return sanitize(labels)
    return sanitize(str(value))
