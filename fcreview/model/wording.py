"""Values of verdicts as the words of their criterion's scale, and back. For formats that know words only.

How wide the columns of a table are, and text filled up to them. Pure: visible text in, cells out.

What error types mean, in one plain line. The types are those that benchmarks write in their score files; a type that
is not known here has no words.

Figures as people read them: the same in commands and on screens. Pure.

What a score file says of a category whose results are not there.

Score files list failures only. Where the results are missing, every item that is known has failed, and a rate over them
would be 0 whatever the model did: then the figure of the file's header is all that is known.

Counts, rates and verdicts in words: the same in commands and on screens. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.model.json_value import to_json_text
from fcreview.model.metric import MetricUnit
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.verdict import PASS_FAIL, PASS_FAIL_CRITERIA, SCALES, YES_NO, Scale


def scale_words(criterion: str) -> dict[str, Any]:
    """The words of the criterion's scale and what they mean: pass and fail where it has no scale of its own."""
    return dict(SCALES.get(criterion, Scale(PASS_FAIL)).words)


def format_answer(criterion: str, value: Any) -> str:
    """The word for a value: `pass`, `yes`, `2`; JSON text for what the scale has no word for."""
    for word, meant in scale_words(criterion).items():
        if type(meant) is type(value) and meant == value:
            return word
    return to_json_text(value)


def parse_answer(criterion: str, word: str) -> Any:
    """What `answer` gave the word for. ValueError for what is neither a word of the scale nor JSON."""
    words = scale_words(criterion)
    if word in words:
        return words[word]
    try:
        return json.loads(word)
    except ValueError:
        raise ValueError(f"no verdict {word!r} on {criterion}: there are {', '.join(words)}") from None


def describe_scale_error(criterion: str, value: Any) -> str | None:
    """What is wrong with a value that the criterion's scale does not have, in a few words; None if nothing is, or the
    criterion has no scale. Where yes or no is asked, a list may say of what: so HammerBench does."""
    scale = SCALES.get(criterion)
    if scale is None or any(type(meant) is type(value) and meant == value for meant in scale.words.values()):
        return None
    if isinstance(value, list) and (scale.labels or scale.words is YES_NO):
        return None
    if scale.numbers is not None and type(value) in (int, float) and scale.numbers[0] <= value <= scale.numbers[1]:
        return None
    return f"no verdict {to_json_text(value)} on {criterion}: there are {scale.describe_answers()}"


COLUMN_GAP = 2
"""Blanks between columns."""


def compute_column_widths(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    widest: int | None = None,
    cells: int | None = None,
    least: Sequence[int] = (),
) -> list[int]:
    """Cells per column: what its title and texts need, at most `widest` in all columns but the last.

    With `cells` for the whole table, the last column gives first where that is too much, then whichever is widest; none
    goes below its `least` or its title.
    """
    sizes = [max([display_width(title), *(display_width(row[at]) for row in rows)]) for at, title in enumerate(titles)]
    last = len(sizes) - 1
    if widest is not None:
        sizes = [min(size, widest) if at < last else size for at, size in enumerate(sizes)]
    if cells is None:
        return sizes
    lowest = [max([display_width(title), *least[at : at + 1]]) for at, title in enumerate(titles)]
    while sum(sizes) + COLUMN_GAP * last > cells:
        givers = [at for at, size in enumerate(sizes) if size > lowest[at]]
        if not givers:
            break
        sizes[last if last in givers else max(givers, key=sizes.__getitem__)] -= 1
    return sizes


def pad_cell(text: str, cells: int, *, right: bool = False) -> str:
    """Text that fits, with blanks up to its column's width; `right` for numbers."""
    blanks = " " * (cells - display_width(text))
    return blanks + text if right else text + blanks


def align_row(texts: Sequence[str], sizes: Sequence[int], right: Container[int] = ()) -> list[str]:
    """One line of a table as texts to join: each padded to its column, with the gap before all but the first.

    Longer texts are clipped.

    Args:
        right: columns to align right, such as numbers.
    """
    cells = enumerate(zip(texts, sizes, strict=True))
    return [
        " " * (COLUMN_GAP * (at > 0)) + pad_cell(clip(text, size), size, right=at in right)
        for at, (text, size) in cells
    ]


_WORDS = {
    # BFCL: its checkers' error types
    "value_error:string": "a text is none of the accepted ones",
    "value_error:others": "a value is none of the accepted ones",
    "value_error:list/tuple": "a list is none of the accepted ones",
    "value_error:dict_key": "an object has a field too many, too few, or of another name",
    "value_error:dict_value": "a field of an object has a value that is not accepted",
    "value_error:dict_items": "an object has other fields than the golden one",
    "value_error:list_dict_count": "a list of objects is longer or shorter than the golden one",
    "value_error": "the right argument with a value that is not accepted",
    "type_error:nested": "an element of a list has the wrong type",
    "type_error": "a value has the wrong type",
    "ast_decoder:decoder_failed": "the answer could not be read as calls",
    "ast_decoder": "the answer is not in the form that calls are read from",
    "relevance_error:decoder_success": "no function fits the question, and one was called all the same",  # V1 and V2
    "relevance_error": "a call was expected, and none was made",
    "irrelevance_error": "no function fits the question, and one was called all the same",
    "wrong_func_name": "another function was called than the golden one",
    "missing_required": "a required argument was left out",
    "missing_optional": "an argument that the golden call has was left out",
    "unexpected_param": "an argument was given that the function does not have",
    "cannot_find_match": "a golden call has no call that matches it",
    "wrong_count": "more or fewer calls than golden ones",
    "multi_turn:instance_state_mismatch": "the calls ended in another state than the golden ones",
    "multi_turn:execution_response_mismatch": "the calls did not bring up what the golden ones did",
    "multi_turn:empty_turn_model_response": "a turn that needs calls has none",
    "multi_turn:force_terminated": "the model went on until it was stopped",
    "multi_turn:inference_error": "the model's answer could not be had",
    "agentic:answer_not_found": "the final answer holds none of the accepted ones",
    "executable_checker": "what the call gave differs from the golden result",
    # ACEBench
    "wrong_output_format": "the answer could not be read as calls",
    "wrong functions number": "more or fewer calls than golden ones",
    "wrong function name": "another function was called than the golden one",
    "function name error": "another function was called than the golden one",
    "lack_args": "a required argument was left out",
    "addition_args": "an argument was given that the golden call does not have",
    "class attributes wrong": "the calls ended in another state than expected",
    "wrong number of class": "other objects were changed than expected",
    "error_detection": "the model did not say what is missing or wrong in the question",
    "error_correction": "the model did not name the argument that is wrong",
    # ComplexFuncBench
    "func_error": "another function was called than the golden one",
    "param_missing": "an argument that the golden call has was left out",
    "hallucination": "an argument was given that nothing asked for",
    "stop_early": "the model stopped before all golden calls were made",
    # HammerBench: our words for what its scripts count
    "not_declined": "no function fits, and the model did not decline",
    "refused": "the model declined where a call was expected",
    "text": "the model answered in words where a call was expected",
    "wrong_first_function": "the first function called is another than the golden one",
    "hallucinated_parameter": "an argument was given that the golden call does not have",
    "missing_parameter": "an argument that the golden call has was left out",
    # CONFETTI: dialog acts
    "no_overlap": "none of the labels of the reply is a golden one",
    # the generic format: our words
    "missing_call": "a golden call was not made",
    "extra_call": "a call was made that the golden answer does not have",
    "wrong_function": "another function was called than the golden one",
    "missing_argument": "an argument that the golden call has was left out",
    "extra_argument": "an argument was given that the golden call does not have",
    "wrong_value": "the right argument with a value that is not accepted",
}


def describe_error_type(error_type: str) -> str:
    """`value_error:string` -> `a text is none of the accepted ones`: by the whole type, its end, then its beginning."""
    names = (error_type, error_type.rpartition(":")[2], error_type.partition(":")[0])
    return next((_WORDS[name] for name in names if name in _WORDS), "")


def format_metric_value(value: float | None, unit: MetricUnit, digits: int = 1) -> str:
    """A value in its unit: `57.1 %`, `12`, `0.734`, `0.02 s`, `6.56 $`; `·` for none."""
    if value is None:
        return "·"
    if unit == "share":
        return f"{100 * value:.{digits}f} %"
    if unit == "percent":
        return f"{value:.{digits}f} %"
    if unit in ("seconds", "dollars"):
        return f"{value:.{digits}f} {'s' if unit == 'seconds' else '$'}"
    return f"{value:,.0f}" if unit == "count" else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class HeaderAccuracy:
    """Passes out of the items that were scored, by the header."""

    passed: int
    total: int

    @property
    def message(self) -> str:
        """`the score file says 86.00 % (344 of 400); without results only what failed is known`"""
        share = f"{100 * self.passed / self.total:.2f} %"
        return f"the score file says {share} ({self.passed} of {self.total}); without results only what failed is known"


def read_header_accuracy(header: Any, items: int, passed: int) -> HeaderAccuracy | None:
    """The header's figure, `{"correct_count": 344, "total_count": 400, ...}`, if the items of the category, none of
    which passed, are no more than the failures that it counts; else None."""
    correct, total = (header.get("correct_count"), header.get("total_count")) if isinstance(header, dict) else (0, 0)
    if not isinstance(correct, int) or not isinstance(total, int) or passed:
        return None
    return HeaderAccuracy(correct, total) if 0 < correct < total and items <= total - correct else None


NO_VALUE = "-"
NO_DATASET_MESSAGE = "no dataset: golden answers and questions missing; --data DIR"
_WORD_PATTERN = {True: "pass", False: "fail", None: NO_VALUE}


def format_count(number: int, noun: str, plural: str = "") -> str:
    """`1 item`, `1,234 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_dataset_name(benchmark: str, generation: str, language: str) -> str:
    """Of which dataset a run is, as commands name it: `acebench v1 zh`."""
    return " ".join(word for word in (benchmark, generation, language) if word)


def format_rate(passed: int, known: int) -> str:
    """`71.3 %`, or `-` where nothing is known."""
    return f"{100 * passed / known:.1f} %" if known else NO_VALUE


def format_rate_of_known(passed: int, known: int, items: int) -> str:
    """`71.3 %`, and where some items have no such verdict the number of those that have: `71.3 % of 998`."""
    return format_rate(passed, known) + (f" of {known:,}" if 0 < known < items else "")


def format_recomputed_rate(passed: int, known: int, items: int, unknown: str = "·") -> str:
    """A rate only where every item could be judged anew, else how many could: `34.3 %`, `· (61 of 1,000)`. Which those
    are is no accident (without a dataset only failing items carry a golden answer), so that a rate misleads."""
    return format_rate(passed, known) if known in (0, items) else f"{unknown} ({known:,} of {items:,})"


def format_official_rate(passed: int, known: int, items: int, *, stated_pass: int = 0, stated_of: int = 0) -> str:
    """As `rate_of`; `86.0 % stated` where only the headers of score files say it, the results being missing."""
    if known or not stated_of:
        return format_rate_of_known(passed, known, items)
    return f"{format_rate(stated_pass, stated_of)} stated"


def format_verdict(value: Any, criterion: str = CORRECT) -> str:
    """A verdict: pass, fail, or yes, no where true does not mean right; `-` for none, unsure, disputed, a number or
    labels. Visible text."""
    if isinstance(value, bool) and criterion not in PASS_FAIL_CRITERIA:
        return "yes" if value else "no"
    if value is None or isinstance(value, bool):
        return _WORD_PATTERN[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    return sanitize(", ".join(map(str, value)) if isinstance(value, list) else str(value))
