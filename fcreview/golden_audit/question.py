"""Define the data of the golden audit, which looks for wrong golden answers: questions with the
answers of all runs, run profiles, and reasons to suspect the benchmark.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from fcreview.matching.diff import get_type_name
from fcreview.matching.first_difference import (
    NO_VALUE,
    describe_hidden_difference,
    find_values_at,
)
from fcreview.model.item import (
    AcceptedValues,
    ArgumentDiff,
    Call,
    CallPair,
    DiffState,
    GoldenObject,
)
from fcreview.model.json_value import abbreviate, split_path, to_json_text
from fcreview.model.review import QuestionKey

_PUNCTUATION = re.compile(r"[^a-z0-9+<>=%]+")
MAX_DIFFERENCES = 30
MAX_LABEL_LENGTH = 80
"""Maximum length of the predicted value in a label, in characters."""
MAX_GOLDEN_LABEL_LENGTH = 60
CHARACTERS_BEFORE_DIFFERENCE = 20
"""Equal characters that a label shows before the difference of two long texts."""


@lru_cache(1 << 16)
def normalize_text(text: str) -> str:
    """Convert a text to lower case, remove accents, and keep only letters, digits and `+<>=%`."""
    if text.isascii():
        return _PUNCTUATION.sub("", text.lower())
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in decomposed if char.isalnum() or char in "+<>=%")


@dataclass(frozen=True)
class AnswerDifference:
    turn: int
    golden_index: int
    """`Call.index` of the golden call, or -1 if the predicted call has no golden call."""
    function: str
    path: str
    """Path of the argument or nested value; empty if a call is missing, unexpected or of another
    function.
    """
    state: str
    predicted: Any
    golden: Any
    """Golden value: `AcceptedValues`, a plain value, or `NO_VALUE` if there is none."""
    reason: str = ""
    """Why the two values count as different. Empty for a difference of a whole call."""

    @cached_property
    def match_key(self) -> tuple[Any, ...]:
        """Key that two differences share if they are the same difference in two answers."""
        place = (self.turn, self.golden_index, self.function, self.path)
        if self.predicted is NO_VALUE:
            return (*place, "-", "")
        json_text = to_json_text(self.predicted)
        # A value such as `"*"` has no letters that could be compared.
        text = normalize_text(json_text) or json_text
        return (*place, "", text)

    @property
    def label(self) -> str:
        """Description of the prediction: `unit: "km"`, `without unit`, `no call of f`,
        `f(unit="km")`.
        """
        if not self.path:
            if self.state == "-":
                return f"no call of {self.function}"
            return f"{self.function}({_format_arguments(self.predicted)})"
        if self.predicted is NO_VALUE:
            return f"without {self.path}"
        text = _abbreviate_from_difference(self.predicted, self._first_golden, MAX_LABEL_LENGTH)
        return f"{self.path}: {text}"

    @property
    def golden_label(self) -> str:
        """Description of the golden value: `"km" or 2 more`, `no value`."""
        if self._first_golden is NO_VALUE:
            return "no value"
        text = _abbreviate_from_difference(
            self._first_golden, self.predicted, MAX_GOLDEN_LABEL_LENGTH
        )
        n_other_values = len(self._accepted_values) - 1
        return f"{text} or {n_other_values} more" if n_other_values else text

    @property
    def _accepted_values(self) -> Sequence[Any]:
        """Golden values that are accepted. Empty if the golden answer has no value here."""
        if self.golden is NO_VALUE:
            return ()
        if isinstance(self.golden, AcceptedValues):
            return self.golden.any_of
        return (self.golden,)

    @property
    def _first_golden(self) -> Any:
        """The golden value that `golden_label` shows, or `NO_VALUE`."""
        return self._accepted_values[0] if self._accepted_values else NO_VALUE

    @property
    def hidden_difference(self) -> str:
        """What differs between two values that look alike: `type differs: string instead of
        list`.

        Empty if the labels show the difference, and if one of the values is missing.
        """
        golden = self._first_golden
        predicted = self.predicted
        if golden is NO_VALUE or predicted is NO_VALUE:
            return ""
        if isinstance(golden, str) and isinstance(predicted, str):
            return describe_hidden_difference(golden, predicted) or ""

        golden_words = normalize_text(to_json_text(golden))
        predicted_words = normalize_text(to_json_text(predicted))
        if golden_words != predicted_words:
            return ""
        golden_type = get_type_name(golden)
        predicted_type = get_type_name(predicted)
        if golden_type != predicted_type:
            return f"type differs: {predicted_type} instead of {golden_type}"

        predicted_text = abbreviate(predicted)
        if abbreviate(golden) != predicted_text:
            return ""
        # The texts are equal, so only the benchmark's rule says why the answer fails. The reason
        # may begin with the predicted value, which the label shows too.
        return self.reason.removeprefix(f"{predicted_text} is ")


def _abbreviate_from_difference(value: Any, other: Any, max_length: int) -> str:
    """Format a value with `abbreviate`. If the shortened text would be that of the other value too,
    begin shortly before the first character that differs: `…ort": "asc"}`.
    """
    text = abbreviate(value, max_length)
    is_cut = text.endswith("…")
    if other is NO_VALUE or not is_cut or text != abbreviate(other, max_length):
        return text

    full_text = to_json_text(value)
    n_equal = _count_equal_characters(full_text, to_json_text(other))
    # Both values begin with the shortened text, so the difference comes after more characters than
    # are shown before it.
    text_from_difference = "…" + full_text[n_equal - CHARACTERS_BEFORE_DIFFERENCE :]
    if len(text_from_difference) <= max_length:
        return text_from_difference
    return text_from_difference[: max_length - 1] + "…"


def _count_equal_characters(text: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    for index, (char, other_char) in enumerate(zip(text, other, strict=False)):
        if char != other_char:
            return index
    return min(len(text), len(other))


def _format_arguments(arguments: Any) -> str:
    """Format the arguments of a call for one line: the first ones, with shortened values."""
    if not isinstance(arguments, dict):
        return "…"
    text = ", ".join(
        f"{name}={abbreviate(value, 30)}" for name, value in list(arguments.items())[:6]
    )
    return text if len(text) <= 100 else text[:99] + "…"


def find_differences(
    golden_calls: Sequence[Call], predicted_calls: Sequence[Call], pairs: Sequence[CallPair]
) -> list[AnswerDifference]:
    """Return the differences between the golden calls and the predicted calls, at most
    `MAX_DIFFERENCES`.

    Values that are equal after the benchmark's normalisation are no differences. `pairs` says
    which golden call belongs to which predicted call.
    """
    # A pair names its calls by their turn and their index in the turn.
    golden_by_place = {(call.turn, call.index): call for call in golden_calls}
    predicted_by_place = {(call.turn, call.index): call for call in predicted_calls}

    differences: list[AnswerDifference] = []
    for pair in pairs:
        golden_call = None
        if pair.golden is not None:
            golden_call = golden_by_place.get((pair.turn, pair.golden))
        predicted_call = None
        if pair.predicted is not None:
            predicted_call = predicted_by_place.get((pair.turn, pair.predicted))
        differences += _find_pair_differences(pair, golden_call, predicted_call)
        if len(differences) > MAX_DIFFERENCES:
            break
    return differences[:MAX_DIFFERENCES]


def _find_pair_differences(
    pair: CallPair, golden: Call | None, predicted: Call | None
) -> list[AnswerDifference]:
    """Return how a predicted call differs from the golden call with which it was paired.

    If a call is missing, is extra or calls another function, there is one difference of the whole
    call. Else, there is one for each argument, or for each field inside an argument.

    Args:
        pair: The pair and its differences.
        golden: The golden call, or None for an extra call.
        predicted: The predicted call, or None for a missing call.
    """
    if predicted is None:
        return [_build_call_difference(pair, pair.name, state=pair.state, arguments=NO_VALUE)]
    arguments = predicted.arguments
    if golden is None:
        return [_build_call_difference(pair, pair.name, state=pair.state, arguments=arguments)]
    if _has_other_function(pair):
        return [_build_call_difference(pair, predicted.name, state="!", arguments=arguments)]

    difference_by_path: dict[str, AnswerDifference] = {}
    for diff in pair.diff:
        # Equal after the benchmark's normalisation.
        is_equivalent = diff.state == "~"
        if is_equivalent:
            continue
        difference = _build_argument_difference(pair, diff, golden=golden, predicted=predicted)
        # Several differences inside one argument can become one difference of the argument.
        difference_by_path.setdefault(difference.path, difference)
    return list(difference_by_path.values())


def _has_other_function(pair: CallPair) -> bool:
    """Whether the two calls of a pair have different functions."""
    return any(diff.path == "" and diff.state == "!" for diff in pair.diff)


def _get_golden_index(pair: CallPair) -> int:
    """Return `AnswerDifference.golden_index` of a pair."""
    return -1 if pair.golden is None else pair.golden


def _build_call_difference(
    pair: CallPair, function: str, *, state: DiffState, arguments: Any
) -> AnswerDifference:
    """Return a difference of the call as a whole. `arguments` are those of the predicted call."""
    return AnswerDifference(
        pair.turn,
        golden_index=_get_golden_index(pair),
        function=function,
        path="",
        state=state,
        predicted=arguments,
        golden=NO_VALUE,
    )


def _build_argument_difference(
    pair: CallPair, diff: ArgumentDiff, *, golden: Call, predicted: Call
) -> AnswerDifference:
    """Return the difference of an argument, or of a field inside an argument."""
    name, *inner_path = split_path(diff.path)
    path = str(name)
    golden_value = (golden.arguments or {}).get(path, NO_VALUE)
    predicted_value = (predicted.arguments or {}).get(path, NO_VALUE)

    # Each field of an object is a separate difference.
    exists_in_both = diff.state not in "+-"
    if inner_path and exists_in_both and _has_nested_objects(golden_value):
        path = diff.path
        golden_value, predicted_value = find_values_at(golden_value, predicted_value, inner_path)
    return AnswerDifference(
        pair.turn,
        golden_index=_get_golden_index(pair),
        function=pair.name,
        path=path,
        state=diff.state,
        predicted=predicted_value,
        golden=golden_value,
        reason=diff.reason,
    )


def _has_nested_objects(golden: Any) -> bool:
    """Whether a golden value is an object with accepted values, or a list with objects."""
    values = golden.any_of if isinstance(golden, AcceptedValues) else [golden]
    for value in values:
        if isinstance(value, GoldenObject):
            return True
        if isinstance(value, list) and _contains_object(value):
            return True
    return False


def _contains_object(elements: Iterable[Any]) -> bool:
    return any(isinstance(element, (GoldenObject, dict)) for element in elements)


@dataclass(slots=True)
class DistinctAnswer:
    """An answer to a question, with the runs that gave this answer."""

    runs: list[int]
    passed: bool | None
    """Official verdict, else the recomputed verdict, else the judge verdict; None if there is no
    verdict.
    """
    has_verdict_conflict: bool = False
    is_decoded: bool = True
    differences: Sequence[AnswerDifference] = ()
    """Differences from the golden answer. Answers with the same calls share one list object."""
    items: list[int] = field(default_factory=list)
    """Numbers of the items with this answer, one for each run."""


@dataclass(slots=True)
class AuditedQuestion:
    """A question with its golden answer and the answers of all runs."""

    key: QuestionKey
    text: str
    golden: list[Call]
    functions: list[dict[str, Any]]
    group: str | None = None
    """Id of the conversation that contains the question; None if there is none."""
    is_self_contained: bool = True
    """Whether the question contains all values for the golden calls.

    False if the golden calls use tool results.
    """
    answers: list[DistinctAnswer] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    """Fault -> number of items on which annotators agreed on this fault, or an adjudicator
    decided on it.
    """

    @property
    def runs(self) -> list[int]:
        return [run for answer in self.answers for run in answer.runs]

    @property
    def content_key(self) -> Hashable:
        """Key that two questions share if they have the same text and the same golden calls.

        Benchmarks repeat questions, for example in a later version or in another prompt format. If
        the question has no text, `key` is used instead.
        """
        if not self.text:
            return self.key
        return self.text, repr([(call.name, call.arguments) for call in self.golden])

    @property
    def failing_answers(self) -> list[DistinctAnswer]:
        return [answer for answer in self.answers if answer.passed is False]

    @property
    def n_failing(self) -> int:
        return sum(len(answer.runs) for answer in self.failing_answers)


_NAMES_OF_FAMILY = {
    "gpt": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci"),
    "claude": ("claude",),
    "gemini": ("gemini", "gemma", "palm", "bison"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "pixtral"),
    "llama": ("llama",),
    "qwen": ("qwen", "qwq"),
    "cohere": ("command", "aya", "c4ai"),
    "nova": ("nova", "titan"),
}
_FAMILY_OF_NAME = {name: family for family, names in _NAMES_OF_FAMILY.items() for name in names}
_WORD = re.compile(r"[a-z]+(?:\d(?=[-_.]|$))?")
_MAKERS = (
    "meta",
    "open",
    "openai",
    "anthropic",
    "google",
    "nvidia",
    "databricks",
    "cohere",
    "amazon",
    "microsoft",
)


@lru_cache(1 << 12)
def find_model_family(model: str) -> str:
    """Return the family of a model: `gpt` for `gpt-4o-2024-08-06-FC`. For an unknown family, return
    the first word of the model name that is not the name of a company: `functionary` for
    `meetkai/functionary-small`.
    """
    # The part before the first slash or underscore is often the name of a company.
    name = re.split(r"[/_]", model.lower(), maxsplit=1)[-1]
    words = [word for word in _WORD.findall(name) if word not in _MAKERS]
    if not words:
        return name or "unnamed"

    word: str = words[0]
    word_without_digits = word.rstrip("0123456789")
    # Some names, such as `o1`, are names of families only with their digit.
    if word in _FAMILY_OF_NAME:
        return _FAMILY_OF_NAME[word]
    return _FAMILY_OF_NAME.get(word_without_digits, word_without_digits)


@dataclass(frozen=True, slots=True)
class RunProfile:
    model: str
    family: str
    pass_rate: float
    """Share of passing verdicts, from 0 to 1, smoothed by `smooth_pass_rate`."""
    pass_rate_by_category: Mapping[str, float] = field(default_factory=dict)
    conflict_rate: float = 0.0
    """Share, from 0 to 1, of the run's items on which the official and the recomputed verdict
    differ.
    """
    n_passed: int = 0
    n_verdicts: int = 0


def smooth_pass_rate(n_passed: int, n_verdicts: int) -> float:
    """Return the pass rate after adding one passing and one failing item, so that it is never 0
    or 1.
    """
    return (n_passed + 1) / (n_verdicts + 2)


@dataclass(frozen=True, slots=True)
class AlternativeAnswer:
    """An answer that may be right instead of the golden answer."""

    answer: str
    """Difference from the golden answer, not sanitized: `unit: "km"`, `without mode`."""
    models: tuple[str, ...] = ()
    """Models that gave the answer; empty if fcreview derived the answer from the golden answer."""
    families: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        call = "the call " if self.answer.startswith("without ") else ""
        return f"this answer may be right: {call}{self.answer}"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason to suspect the golden answer, the question, the function docs or the checker."""

    kind: str
    """Key of `REASON_CHANCES`, or `settled` if annotators decided on a fault."""
    _: KW_ONLY
    strength: float
    text: str
    """The problem in a few words, then the details: `wrong type: x is boolean, but documented as
    string`.
    """
    alternative: AlternativeAnswer | None = None
    function: str = ""
    """Function of the golden call that the reason is about; empty if there is none or `text`
    contains it.
    """

    @property
    def full_text(self) -> str:
        """`text` with the function."""
        return f"{self.text} ({self.function})" if self.function else self.text
