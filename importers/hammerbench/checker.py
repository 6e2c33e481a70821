"""Parse HammerBench predictions, check snapshots by the rules of the released evaluator, and read
recorded verdicts.

The files next to `MT_res.json` contain recorded verdicts: `badcase.csv` those of the evaluator, and
other files the replies and flags of a judge. There are four parsers of predictions. As in the
evaluator, the path of the log determines the parser.

Texts are compared by ROUGE-L as in the PyPI package `rouge` 1.0.1 (summary level), which the
evaluator uses. Equal texts score 0.999999995 instead of 1, and a full stop inside a number splits
it into two sentences. The package fails for texts of about a thousand words, and the evaluator
scores them 0. fcreview compares such texts like all others.

Source of the rules: the released `evaluate.py` and `utils` (March 2025).
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import make_excerpt
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.hammerbench.discovery import (
    BADCASE_FILE,
    JUDGE_FLAGS_FILE,
    JUDGE_OFFSETS_FILE,
    JUDGE_REPLIES_FILE,
)
from fcreview.model.item import ImportIssue, Item, Verdict

ParsedCall = dict[str, Any]
"""A call `{"name": str, "arguments": {...}}`.

The optional key `"blank"` lists arguments that were removed as empty.
"""


def choose_parser_name(log_path: str) -> str:
    """Return `ministral`, `xlam` or `toolace` if the path of the log contains it, else
    `default`.
    """
    lower_path = log_path.lower()
    for name in ("ministral", "xlam", "toolace"):
        if name in lower_path:
            return name
    return "default"


def parse_prediction(prediction: Any, parser_name: str = "default") -> ParsedCall | None:
    """Return the call in a prediction, or None for text without a call.

    An object with a name already is a call.
    """
    if isinstance(prediction, dict):
        return prediction if isinstance(prediction.get("name"), str) else None
    if not isinstance(prediction, str):
        return None
    parsers = {
        "ministral": _parse_ministral_reply,
        "xlam": _parse_xlam_reply,
        "toolace": _parse_toolace_reply,
    }
    parse = parsers.get(parser_name, _parse_default_reply)
    try:
        return parse(prediction)
    except (ValueError, RecursionError, MemoryError):
        return None


def _parse_default_reply(text: str) -> ParsedCall | None:
    """Parse the call in a reply: a JSON call, JSON calls in code fences, or a text that ends with a
    JSON call. Return None if there is none.

    As in the evaluator, only the first call counts, and none counts if a part cannot be parsed.
    """
    whole_reply = _parse_json_object(text.strip())
    if whole_reply is not None and "name" in whole_reply and "parameters" in whole_reply:
        return _make_parsed_call(whole_reply)

    calls = []
    for block in _find_call_blocks(text):
        # A block can have several calls, one a line. The evaluator takes the last one then
        # (`parse_response` in `process_output.py`).
        last_line = block.split("\n")[-1]
        call = _parse_json_object(block) or _parse_json_object(last_line)
        if call is None:
            return None
        calls.append(call)
    return _make_parsed_call(calls[0]) if calls else None


def _find_call_blocks(text: str) -> list[str]:
    """Return the parts of a reply that can be calls, without blank ones: the code fences with the
    language `json` or, without such fences, the text from the first `{"name"` to the end.
    """
    if "```json" in text:
        # The last fence can lack its end.
        blocks = re.findall(r"```json(.*?)(?:```|\Z)", text, re.DOTALL)
    else:
        blocks = re.findall(r'\{"name".*', text, re.DOTALL)
    return [block.strip() for block in blocks if block.strip()]


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _make_parsed_call(json_call: dict[str, Any]) -> ParsedCall | None:
    """Make a call from its JSON, with the name and the arguments that are not empty. None without a
    name.

    The evaluator drops arguments that are empty or a single backslash (`convert_label_back` in
    `process_output.py`). Their names are kept under `blank` for display.
    """
    name = json_call.get("name")
    if name is None:
        return None
    arguments = json_call.get("arguments")
    if not isinstance(arguments, dict):
        arguments = as_object(json_call.get("parameters"))

    filled = {}
    blank = []
    for key, value in arguments.items():
        if isinstance(value, str) and value in ("", "\\"):
            blank.append(key)
        else:
            filled[key] = value
    call: ParsedCall = {"name": name, "arguments": filled}
    if blank:
        call["blank"] = blank
    return call


def _parse_ministral_reply(text: str) -> ParsedCall | None:
    """Parse the first list after `[TOOL_CALLS]`."""
    _, _, after_mark = text.partition("[TOOL_CALLS]")
    _, bracket, rest = after_mark.partition("[")
    return _parse_first_listed_call(bracket + rest)


def _parse_xlam_reply(text: str) -> ParsedCall | None:
    """Parse the last list in the line after `"tool_calls":`."""
    _, _, after_mark = text.partition('"tool_calls":')
    line, _, _ = after_mark.partition("\n")
    _, bracket, rest = line.rpartition("[")
    if not bracket:
        return None
    return _parse_first_listed_call(bracket + rest)


def _parse_first_listed_call(json_list: str) -> ParsedCall | None:
    """Parse the first call in a list, which ends at the first `]`, as in the evaluator."""
    end = json_list.find("]")
    if end < 0:
        return None
    calls = json.loads(json_list[: end + 1])
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return None
    return _make_parsed_call(calls[0])


def _parse_toolace_reply(text: str) -> ParsedCall | None:
    """Parse a call in Python syntax, with named arguments. None if the text is no such call.

    As in the evaluator, empty arguments stay, which the other parsers drop. Raises ValueError for
    an argument that is no literal, with which the reply counts as text too.
    """
    expression = text.strip("[]'")
    if len(expression) > MAX_TOOLACE_LENGTH:
        return None
    try:
        node = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.Call):
        return None

    arguments = {}
    for keyword in node.keywords:
        if keyword.arg:
            arguments[keyword.arg] = ast.literal_eval(keyword.value)
    return {"name": ast.unparse(node.func), "arguments": arguments}


def compute_rouge_l(prediction: str, golden: str, language: str) -> float:
    """Compute the F value of ROUGE-L for two texts, from 0 to 1. It is 0 if a text is blank."""
    hypothesis = _normalize_text(prediction, language)
    reference = _normalize_text(golden, language)
    if not hypothesis.strip() or not reference.strip():
        return 0.0
    predicted_sentences = _split_sentences(hypothesis)
    golden_sentences = _split_sentences(reference)
    if not predicted_sentences or not golden_sentences:
        return 0.0
    return _compute_rouge_f(predicted_sentences, golden_sentences)


def _normalize_text(text: str, language: str) -> str:
    """Return a text in the form in which the evaluator compares it: Chinese characters as separate
    words, other text in lower case.
    """
    if language == "zh":
        return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text.strip("。！ "))
    return text.strip(".?! ").lower()


def _split_sentences(text: str) -> list[list[str]]:
    """Split a text at full stops into sentences, and each sentence into words.

    A sentence that consists of spaces has one empty word.
    """
    return [part.split() or [""] for part in text.split(".") if part]


def _compute_rouge_f(
    predicted_sentences: Sequence[list[str]], golden_sentences: Sequence[list[str]]
) -> float:
    """Return the similarity of two texts from 0 to 1, as the package `rouge` computes ROUGE-L.

    Each text is a list of sentences, and each sentence is a list of words. A word is common if it
    is in the longest common subsequence of a golden and a predicted sentence. The result is the
    harmonic mean of two shares: that of the golden words which are common, and that of the
    predicted words which are common. Repeated words count once.
    """
    golden_words = set(chain.from_iterable(golden_sentences))
    predicted_words = set(chain.from_iterable(predicted_sentences))
    common_words: set[str] = set()
    for reference, hypothesis in product(golden_sentences, predicted_sentences):
        common_words.update(_longest_common_subsequence(reference, hypothesis))

    recall = len(common_words) / len(golden_words)
    precision = len(common_words) / len(predicted_words)
    return 2.0 * precision * recall / (precision + recall + ROUGE_EPSILON)


def _longest_common_subsequence(reference: list[str], hypothesis: list[str]) -> list[str]:
    """Return the longest common subsequence of two lists of words.

    If there are several, the result is that of the package `rouge`. It goes back from the ends of
    both lists, and skips a word of the reference only if skipping a word of the hypothesis instead
    would give a shorter subsequence.
    """
    lengths = _compute_subsequence_lengths(reference, hypothesis)
    # How many words of both lists are left.
    n_reference = len(reference)
    n_hypothesis = len(hypothesis)

    common_words = []
    while n_reference > 0 and n_hypothesis > 0:
        word = reference[n_reference - 1]
        if word == hypothesis[n_hypothesis - 1]:
            common_words.append(word)
            n_reference -= 1
            n_hypothesis -= 1
        elif lengths[n_reference - 1][n_hypothesis] > lengths[n_reference][n_hypothesis - 1]:
            n_reference -= 1
        else:
            n_hypothesis -= 1

    common_words.reverse()
    return common_words


def _compute_subsequence_lengths(x: list[str], y: list[str]) -> list[list[int]]:
    """Return a table whose element [i][j] is the length of the longest common subsequence of the
    first i words of `x` and the first j words of `y`.
    """
    lengths = [[0] * (len(y) + 1)]
    for x_word in x:
        above = lengths[-1]
        row = [0]
        for j, y_word in enumerate(y, 1):
            if x_word == y_word:
                row.append(above[j - 1] + 1)
            else:
                row.append(max(above[j], row[j - 1]))
        lengths.append(row)
    return lengths


MIN_SIMILARITY = 0.7
"""Minimum ROUGE-L of each argument for which the arguments count as correct."""
ROUGE_EPSILON = 1e-8
"""Number that the package `rouge` adds to the denominator of F."""
MAX_TOOLACE_LENGTH = 100_000
MAX_CSV_FIELD_LENGTH = 1 << 27


@dataclass(slots=True)
class SnapshotCheck:
    """Result of the rules for one snapshot. The fields have the names of the criteria."""

    is_text: bool
    """Whether the prediction contains no call."""
    func_ok: bool
    """Whether the function name is the golden one."""
    args_ok: bool
    """Whether the arguments are equal or similar enough. The function name does not matter."""
    rejected: bool
    """Whether `func_ok` is false and the prediction contains "sorry"."""
    hallucinated: list[str]
    """Names of the predicted arguments that the golden call does not have."""
    missing: list[str]
    """Names of the golden arguments that the prediction does not have."""
    lowest_similarity: float | None = None
    """Lowest similarity of an argument, from 0 to 1, or None if the check needed no
    similarities.
    """
    lowest_argument: str | None = None
    """Name of the argument with the lowest similarity."""


def check_snapshot(
    predicted_call: ParsedCall | None, prediction: Any, label: Any, language: str
) -> SnapshotCheck:
    """Check the prediction of a snapshot, one step of a conversation, against its label.

    Args:
        predicted_call: The parsed call, or None if the prediction is text.
        prediction: The prediction as logged.
        label: The golden call, or the expected refusal as text. With a refusal, only `is_text` and
            `rejected` can be true.
        language: `en` or `zh`.
    """
    golden_arguments = as_object(as_object(label).get("arguments"))
    # The evaluator takes a text with "sorry" for a refusal.
    if predicted_call is None or not isinstance(label, dict):
        return SnapshotCheck(
            is_text=predicted_call is None,
            func_ok=False,
            args_ok=False,
            rejected=_contains_sorry(prediction),
            hallucinated=[],
            missing=list(golden_arguments),
        )

    func_ok = predicted_call.get("name") == label.get("name")
    predicted_arguments = as_object(predicted_call.get("arguments"))
    comparison = compare_arguments(predicted_call.get("arguments"), golden_arguments, language)
    return SnapshotCheck(
        is_text=False,
        func_ok=func_ok,
        args_ok=comparison.args_ok,
        rejected=not func_ok and _contains_sorry(prediction),
        hallucinated=[name for name in predicted_arguments if name not in golden_arguments],
        missing=[name for name in golden_arguments if name not in predicted_arguments],
        lowest_similarity=comparison.lowest_similarity,
        lowest_argument=comparison.lowest_argument,
    )


def _contains_sorry(prediction: Any) -> bool:
    """Whether the evaluator takes a prediction for a refusal, also in Chinese."""
    return "sorry" in str(prediction).lower()


class ArgumentComparison(NamedTuple):
    args_ok: bool
    """Whether the arguments are equal or similar enough."""
    lowest_similarity: float | None = None
    """Lowest similarity of an argument, from 0 to 1, or None if no similarity was computed."""
    lowest_argument: str | None = None
    """Name of the argument with the lowest similarity."""


def compare_arguments(predicted: Any, golden: dict[str, Any], language: str) -> ArgumentComparison:
    """Compare the predicted arguments of a call with the golden ones, as text.

    The predicted call may have no argument that the golden call lacks. If the texts differ, their
    similarity decides, which depends on the language. As in the evaluator, empty arguments are
    ignored, and so is the argument `kwargs` if the golden call has it.
    """
    if not isinstance(predicted, dict):
        return ArgumentComparison(False)
    predicted_texts = {name: str(value) for name, value in predicted.items() if value != ""}
    golden_texts = {name: str(value) for name, value in golden.items() if value != ""}
    if any(name not in golden_texts for name in predicted_texts):
        return ArgumentComparison(False)

    if "kwargs" in golden_texts:
        golden_texts.pop("kwargs")
        predicted_texts.pop("kwargs", None)
    if predicted_texts == golden_texts:
        return ArgumentComparison(True)
    if not golden_texts:
        return ArgumentComparison(False)
    return _find_lowest_similarity(predicted_texts, golden_texts, language)


def _find_lowest_similarity(
    predicted_texts: dict[str, str], golden_texts: dict[str, str], language: str
) -> ArgumentComparison:
    """Compare each golden argument with the predicted one. A missing argument is not similar."""
    similarities = {}
    for name, golden_text in golden_texts.items():
        similarities[name] = 0.0
        if name in predicted_texts:
            similarities[name] = compute_rouge_l(predicted_texts[name], golden_text, language)

    lowest_argument = min(similarities, key=lambda name: similarities[name])
    lowest = similarities[lowest_argument]
    return ArgumentComparison(
        lowest >= MIN_SIMILARITY, lowest_similarity=lowest, lowest_argument=lowest_argument
    )


class ConversationFlags(NamedTuple):
    """Verdicts on a conversation, from its row in `badcase.csv`."""

    name_ok: bool
    """Whether the first predicted call has the name of the golden function."""
    arguments: list[bool]
    """Whether the arguments of each snapshot are correct."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What the judge said on the arguments of a snapshot."""

    accepts_arguments: bool
    reply: str | None
    """Text of the judge, or None if only the flag is recorded."""


@dataclass(slots=True)
class CompanionVerdicts:
    """Verdicts from the files next to `MT_res.json`, by conversation and snapshot."""

    scores: list[ConversationFlags] = field(default_factory=list)
    """The evaluator's verdicts on each conversation."""
    replies: list[list[str]] = field(default_factory=list)
    """One list per conversation: the judge's reply on each snapshot."""
    flags: list[list[bool]] = field(default_factory=list)
    """One list per conversation: for each snapshot, whether the judge accepts its arguments."""
    issues: list[ImportIssue] = field(default_factory=list)

    def add_official_verdicts(
        self, item: Item, conversation_index: int, snapshot_index: int
    ) -> None:
        """Add the evaluator's verdicts on a snapshot to its item, if its file has them.

        The evaluator has one verdict on the function name of a conversation, that of the first
        snapshot, and one on the arguments of each snapshot. A snapshot passes if both are right.
        """
        if conversation_index >= len(self.scores):
            return
        name_ok, arguments_ok = self.scores[conversation_index]
        if snapshot_index >= len(arguments_ok):
            return

        args_ok = arguments_ok[snapshot_index]
        item.official = name_ok and args_ok
        item.verdicts.insert(0, Verdict("official", item.official, by=BADCASE_FILE))
        by = f"{BADCASE_FILE}, first snapshot"
        item.verdicts.append(Verdict("official", name_ok, criterion="func_ok", by=by))
        verdict = Verdict("official", args_ok, criterion="args_ok", by=BADCASE_FILE)
        item.verdicts.append(verdict)

    def find_judge_answer(self, conversation_index: int, snapshot_index: int) -> JudgeAnswer | None:
        """Return the judge's answer on a snapshot. Without a flag, the reply states it."""
        reply = get_snapshot_value(self.replies, conversation_index, snapshot_index)
        flag = get_snapshot_value(self.flags, conversation_index, snapshot_index)
        text = None if reply is None else reply.strip()
        if flag is not None:
            return JudgeAnswer(bool(flag), text)
        if reply is not None:
            return JudgeAnswer("True" in reply, text)
        return None


def add_judge_verdicts(item: Item, answer: JudgeAnswer, *, has_golden_names: bool) -> None:
    """Add the verdicts of the LLM that judged whether the arguments mean the same as the golden
    ones.

    The evaluator counts its answer only if the function and argument names are the golden ones
    (`has_golden_names`).
    """
    judge_name = "recorded judge"
    # The judge failed if it replied without saying whether the arguments mean the same.
    if has_golden_names and answer.reply is not None and not _states_flag(answer.reply):
        _add_failed_judge_verdicts(item, answer.reply, judge_name)
        return

    item.judge = answer.accepts_arguments and has_golden_names
    item.verdicts += [
        Verdict("judge", item.judge, rationale=answer.reply, by=judge_name),
        Verdict("judge", item.judge, criterion="args_ok_llm", by=judge_name),
        # The judge's answer itself, whatever the names are.
        Verdict(
            "judge",
            answer.accepts_arguments,
            criterion="equivalent",
            rationale=answer.reply,
            by=f"{judge_name}, as replied",
        ),
    ]


def _states_flag(judge_reply: str) -> bool:
    """Return whether a judge's reply contains one of the two words that it should answer with."""
    return "True" in judge_reply or "False" in judge_reply


def _add_failed_judge_verdicts(item: Item, judge_reply: str, by: str) -> None:
    """Add verdicts without a value for a reply that cannot be read. The evaluator counts such a
    reply as False.

    A reply about a call with other names is not read at all, because the names alone decide.
    """
    failure = f"the judge's reply is neither True nor False: {make_excerpt(judge_reply)}"
    add_failed_verdict(item, "judge", failure=failure, by=by)
    add_failed_verdict(item, "judge", failure=failure, by=by, criterion="args_ok_llm")
    add_failed_verdict(
        item, "judge", failure=failure, by=f"{by}, as replied", criterion="equivalent"
    )


def has_golden_function_and_argument_names(item: Item) -> bool:
    """Return whether the function and argument names are the golden ones.

    If not, the evaluator ignores the judge.
    """
    if not item.golden or not item.predicted:
        return False
    golden = item.golden[0]
    predicted = item.predicted[0]
    if predicted.arguments is None or golden.name != predicted.name:
        return False
    return (golden.arguments or {}).keys() == predicted.arguments.keys()


def get_snapshot_value(
    values_by_conversation: list[list[Any]], conversation_index: int, snapshot_index: int
) -> Any:
    """Return the value of a snapshot, or None without one."""
    if conversation_index >= len(values_by_conversation):
        return None
    values = values_by_conversation[conversation_index]
    return values[snapshot_index] if snapshot_index < len(values) else None


def count_snapshots(conversation_result: Any) -> int:
    return len(as_list(as_object(conversation_result).get("FC_res")))


def load_companion_verdicts(folder: Path, conversation_results: list[Any]) -> CompanionVerdicts:
    """Load the verdicts in the files beside `MT_res.json`: those of the evaluator, and the answers
    of the judge.

    `conversation_results` are the conversations in `MT_res.json`. A file with other numbers of
    conversations or snapshots is ignored, with an issue.
    """
    companions = CompanionVerdicts()
    snapshot_counts = [count_snapshots(result) for result in conversation_results]
    badcase_file = folder / BADCASE_FILE
    if badcase_file.is_file():
        _load_badcase_flags(companions, badcase_file, snapshot_counts)

    flags_file = folder / JUDGE_FLAGS_FILE
    if flags_file.is_file():
        rows = read_json(flags_file, companions.issues, list) or []
        companions.flags = [as_list(row) for row in rows]

    if (folder / JUDGE_REPLIES_FILE).is_file() and (folder / JUDGE_OFFSETS_FILE).is_file():
        _load_judge_replies(companions, folder, snapshot_counts)
    return companions


def _load_judge_replies(
    companions: CompanionVerdicts, folder: Path, snapshot_counts: list[int]
) -> None:
    """Load the judge's replies into `companions`, with a list of them for each conversation.

    If the numbers of replies differ from the numbers of snapshots, the replies are ignored. This is
    so in the released folders `MT0`, whose conversations were filtered later.
    """
    replies_file = folder / JUDGE_REPLIES_FILE
    replies = read_json(replies_file, companions.issues, list) or []
    recorded_offsets = read_json(folder / JUDGE_OFFSETS_FILE, companions.issues, list) or []
    offsets = [int(offset) for offset in recorded_offsets if isinstance(offset, int)]

    # The replies are one list over all conversations. A conversation begins at each offset.
    replies_by_conversation = []
    for start, end in pairwise(offsets):
        replies_by_conversation.append([str(reply) for reply in replies[start:end]])

    if [len(row) for row in replies_by_conversation] == snapshot_counts:
        companions.replies = replies_by_conversation
    else:
        what = "the judge's replies do not match the snapshots. Only turn_flags_res.json is used."
        companions.issues.append(ImportIssue(str(replies_file), what=what))


def _load_badcase_flags(
    companions: CompanionVerdicts, badcase_file: Path, snapshot_counts: list[int]
) -> None:
    """Load the evaluator's verdicts from `badcase.csv`, which has a row for each conversation.

    Args:
        companions: Gets the verdicts, and issues.
        badcase_file: The file.
        snapshot_counts: The number of snapshots of each conversation. If the file does not have a
            verdict for each snapshot, it is not used.
    """
    conversations: list[ConversationFlags] = []
    try:
        # The rows before a damaged one are kept.
        for conversation in _iterate_badcase_rows(badcase_file):
            conversations.append(conversation)
    except (OSError, csv.Error, ValueError) as error:
        what = f"the rest of the file cannot be read: {error}"
        # Rows count from 1, and the first one is the heading.
        row_number = len(conversations) + 2
        companions.issues.append(ImportIssue(str(badcase_file), row_number, what=what))

    if [len(conversation.arguments) for conversation in conversations] == snapshot_counts:
        companions.scores = conversations
    else:
        what = "the file does not match MT_res.json, so its verdicts were skipped"
        companions.issues.append(ImportIssue(str(badcase_file), what=what))


def _iterate_badcase_rows(badcase_file: Path) -> Iterator[ConversationFlags]:
    csv.field_size_limit(MAX_CSV_FIELD_LENGTH)
    with badcase_file.open(encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            yield _parse_badcase_row(row)


def _parse_badcase_row(row: Mapping[str, str | None]) -> ConversationFlags:
    name_ok = row.get("Func Name") == "True"
    # The cell is a Python list, such as `[True, False]`.
    arguments_ok = json.loads((row.get("Args") or "[]").lower())
    return ConversationFlags(name_ok, [bool(flag) for flag in arguments_ok])
